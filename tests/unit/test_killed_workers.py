"""Workers that are killed during a parallel loop are replaced, and the numbers are those of an undisturbed one."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from fairtrial import _work as work


class Draw:
    """Draws numbers; the first worker to take batch 2 is killed there, or every worker is."""

    def __init__(self, folder: Path, *, always: bool = False) -> None:
        self.folder, self.always, self.parent = folder, always, os.getpid()

    def __call__(self, part: range, random: np.random.Generator) -> work.Arrays:
        first = random.normal(size=len(part))
        sign = self.folder / "killed"
        if part.start == 4 and os.getpid() != self.parent and (self.always or not sign.exists()):
            sign.write_text("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return {"x": first + random.normal(size=len(part))}


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of the pool, that a worker has gone
@pytest.mark.parametrize("always", [False, True])
def test_the_numbers_are_the_same(always: bool, tmp_path: Path) -> None:
    settings = {"name": "draw", "seed": 3, "batch_size": 2}
    alone = work.map_batches(Draw(tmp_path), 10, jobs=1, **settings)
    together = work.map_batches(Draw(tmp_path, always=always), 10, jobs=2, prefer="processes", **settings)
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(alone["x"], together["x"])
