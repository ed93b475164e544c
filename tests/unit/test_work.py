"""Long loops: the same numbers for any number of jobs, and nothing finished is lost."""

from __future__ import annotations

import numpy as np
import pytest

from fairtrial import InputError
from inside.ground import Cancelled, FileStore, MemoryStore, generator, map_batches, session


def draw(part, random):
    return {"x": random.normal(size=len(part)), "at": np.array(part)}


def run(n=23, batch_size=5, seed=3, **options):
    return map_batches(draw, n, name="draws", seed=seed, batch_size=batch_size, **options)


@pytest.mark.parametrize("prefer", ["threads", "processes"])
def test_jobs_do_not_change_the_numbers(prefer):
    def task(part, random):  # local, so that it travels to another process by value
        return {"x": random.normal(size=len(part)), "at": [*part]}

    def run_with(jobs):
        return map_batches(task, 23, name="draws", seed=3, batch_size=5, jobs=jobs, prefer=prefer)

    alone, together = run_with(1), run_with(2)
    assert alone["x"].tolist() == run()["x"].tolist()
    assert together["at"].tolist() == list(range(23))
    assert together["x"].tolist() == alone["x"].tolist()


def test_every_batch_has_its_own_seed():
    assert run()["x"].tolist() != run(seed=4)["x"].tolist()
    assert len(set(run()["x"].tolist())) == 23
    other = map_batches(draw, 23, name="others", seed=3, batch_size=5)
    assert other["x"][0] != run()["x"][0]
    assert run()["x"][5] == generator(3, "draws", 1).normal()


@pytest.mark.parametrize("jobs", [1, 2])
def test_cancelling_loses_no_finished_batch(jobs):
    store, counted = MemoryStore(), []

    def task(part, random):
        counted.append(part.start)
        return draw(part, random)

    def run_with(cancel):
        return map_batches(
            task, 23, name="draws", seed=3, batch_size=5, jobs=jobs, store=store, cancel=cancel
        )

    with pytest.raises(Cancelled, match="draws: stopped after 10 of 23; finished batches are kept"):
        run_with(lambda: len(counted) >= 2)
    assert len(store.batches) == 2
    resumed = run_with(None)
    assert sorted(counted) == [0, 5, 10, 15, 20], "no batch twice"
    assert resumed["x"].tolist() == run()["x"].tolist()


def test_an_error_keeps_the_batches_before_it():
    store = MemoryStore()

    def fails_late(part, random):
        if part.start == 10:
            raise RuntimeError("no more memory")
        return draw(part, random)

    with pytest.raises(RuntimeError, match="no more memory"):
        map_batches(fails_late, 23, name="draws", seed=3, batch_size=5, store=store)
    assert len(store.batches) == 2


def test_files_resume_across_runs(tmp_path):
    seen = []
    first = run(store=FileStore(tmp_path / "new" / "store"))
    again = run(store=FileStore(tmp_path / "new" / "store"), progress=seen.append)
    assert again["x"].tolist() == first["x"].tolist()
    assert [event.done for event in seen] == [23], "everything was found"
    assert len(list((tmp_path / "new" / "store").glob("*.npz"))) == 5


@pytest.mark.parametrize(
    "damage", [lambda content: content[:50], lambda content: b"", lambda content: b"x" * 200]
)
def test_a_damaged_file_is_computed_again(damage, tmp_path):
    store = FileStore(tmp_path)
    first = run(store=store)
    for path in tmp_path.glob("*.npz"):
        path.write_bytes(damage(path.read_bytes()))
    assert run(store=store)["x"].tolist() == first["x"].tolist()


def test_nothing_is_pickled(tmp_path):
    store = FileStore(tmp_path)
    with pytest.raises(TypeError, match="objects"):
        store.save("key", {"x": np.array([{"a": 1}], dtype=object)})
    assert list(tmp_path.iterdir()) == []


def test_a_store_is_never_read_for_other_work():
    store = MemoryStore()
    run(store=store, key="data a")
    for other in ({"key": "data b"}, {"key": "data a", "seed": 4}, {"key": "data a", "n": 24},
                  {"key": "data a", "batch_size": 6}):  # fmt: skip
        seen = []
        run(store=store, progress=seen.append, **other)
        assert seen[0].done == 0


def test_progress_and_session():
    seen, store = [], MemoryStore()
    with session(jobs=2, progress=seen.append, store=store):
        with session(jobs=1):
            inner = run()
        run()
    assert inner["x"].tolist() == run()["x"].tolist()
    assert [event.done for event in seen][:6] == [0, 5, 10, 15, 20, 23]
    assert seen[0].total == 23
    assert seen[0].name == "draws"
    assert seen[-1].done == 23
    with session(cancel=lambda: True), pytest.raises(Cancelled):
        run()
    run()


@pytest.mark.parametrize("seed", [-1, 0.5, True, None, "0"])
def test_seeds_are_whole_numbers(seed):
    with pytest.raises(InputError, match="'seed' must be a whole number of at least 0"):
        run(seed=seed)


@pytest.mark.parametrize("change", [{"n": 0}, {"batch_size": 0}])
def test_there_must_be_something_to_do(change):
    with pytest.raises(InputError, match="draws: a loop needs at least one step"):
        run(**change)
