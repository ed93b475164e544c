"""The same numbers in one process, in several and on a real Dask cluster, also when its workers are killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairtrial import InputError, run
from fairtrial import _work as work
from inside.ground import cluster
from requirements import require_dask

# Dask says of a worker that was killed, and of one that is closed while it starts, in its own words.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
SPEC = {
    "data": {"dataset": "ricci", "decision": "passed", "groups": ["race"], "features": ["position"]},
    "scan": {"metric": "selection_rate", "protected": {"race": "B"}, "permutations": 199},
}


class Draw:
    """Draws numbers; the first worker to take batch 2 is killed there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.parent = folder, os.getpid()

    def __call__(self, part: range, random: np.random.Generator) -> work.Arrays:
        first = random.normal(size=len(part))
        sign = self.folder / "killed"
        if part.start == 4 and os.getpid() != self.parent and not sign.exists():
            sign.write_text("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return {"x": first + random.normal(size=len(part))}


def test_killed_workers_of_a_cluster_change_no_number(tmp_path: Path) -> None:
    require_dask()
    settings = {"name": "draw", "seed": 3, "batch_size": 2}
    alone = work.map_batches(Draw(tmp_path), 12, jobs=1, **settings)
    with cluster("run", "dask", 2) as jobs:
        assert jobs == 2
        together = work.map_batches(Draw(tmp_path), 12, jobs=jobs, **settings)
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(alone["x"], together["x"])


class Deadly(Draw):
    """No worker survives batch 2."""

    def __call__(self, part: range, random: np.random.Generator) -> work.Arrays:
        if part.start == 4 and os.getpid() != self.parent:
            (self.folder / "killed").write_text("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(part, random)


def test_a_batch_that_no_worker_survives_is_worked_on_here(tmp_path: Path) -> None:
    require_dask()
    import dask

    settings = {"name": "draw", "seed": 3, "batch_size": 2}
    alone = work.map_batches(Draw(tmp_path), 12, jobs=1, **settings)
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), cluster("run", "dask", 2) as jobs:
        together = work.map_batches(Deadly(tmp_path), 12, jobs=jobs, **settings)
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(alone["x"], together["x"])


def test_an_audit_on_a_cluster_has_the_numbers_of_one_process() -> None:
    require_dask()
    from distributed import LocalCluster

    alone = run(SPEC).results["scan"].to_dict()
    assert run(SPEC, parallel="dask", jobs=2).results["scan"].to_dict()["estimates"] == alone["estimates"]
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as made:
        elsewhere = run({**SPEC, "run": {"parallel": made.scheduler_address}}).results["scan"].to_dict()
    assert elsewhere["estimates"] == alone["estimates"]
    assert elsewhere["details"] == alone["details"]


def test_a_cluster_that_does_not_close_costs_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    require_dask()
    from distributed import LocalCluster

    def close(self: LocalCluster, timeout: float | None = None) -> None:
        whole(self, timeout)
        raise TimeoutError

    whole = LocalCluster.close
    monkeypatch.setattr(LocalCluster, "close", close)
    with cluster("run", "dask", 1) as jobs:
        assert jobs == 1


def test_an_address_without_a_scheduler_is_a_fault() -> None:
    require_dask()
    with pytest.raises(InputError, match="no scheduler that answers"):
        run(SPEC, parallel="tcp://127.0.0.1:1")


def test_a_process_killed_while_the_cluster_starts_costs_a_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is raised then depends on how far the process was."""
    require_dask()
    import distributed

    faults: list[Exception] = [OSError("closed"), TimeoutError(), RuntimeError("did not start")]
    make = distributed.LocalCluster

    def started(**settings: Any) -> Any:
        if faults:
            raise faults.pop()
        return make(**settings)

    monkeypatch.setattr(distributed, "LocalCluster", started)
    with cluster("run", "dask", 1) as jobs:
        assert jobs == 1
    assert not faults
