"""Workers and the main process of a run on a cluster are killed, and its numbers stay the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from properties.soak import LONG, SHORT, soak
from requirements import require_dask

MINUTES = float(
    os.environ.get("FAIRTRIAL_SOAK_MINUTES", "0")
)  # `make soak` runs 20; without it, one short run


@pytest.mark.slow
def test_killed_runs_end_with_the_numbers_of_undisturbed_ones(tmp_path: Path) -> None:
    require_dask()
    if MINUTES:
        done = soak(seed=0, seconds=60 * MINUTES, folder=tmp_path, spec=LONG)
        assert done.mains
        assert done.workers
    else:
        done = soak(seed=0, seconds=30, folder=tmp_path, spec=SHORT, most_runs=1)
        assert done.runs == 1
        assert done.mains + done.workers > 0
    assert not done.wrong, done.wrong
