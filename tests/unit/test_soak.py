"""A short soak: workers and the main process of a run on a cluster are killed, and its numbers stay the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.soak import SHORT, soak
from requirements import require_dask


@pytest.mark.slow
def test_killed_runs_end_with_the_numbers_of_undisturbed_ones(tmp_path: Path) -> None:
    require_dask()
    done = soak(seed=0, seconds=30, folder=tmp_path, spec=SHORT, most_runs=1)
    assert done.runs == 1
    assert done.mains + done.workers > 0
    assert not done.wrong, done.wrong
