"""What a run keeps is read again only as it was written; one run at a time in a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import fairtrial
from fairtrial import InputError
from inside.ground import FileStore, checksum
from inside.trial import FOLDER, LOCK, MADE_FROM, Keeper, locked, mentioned

ROOT = Path(__file__).parents[2]


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(bytes(content))


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("harm", [flip, shorten, empty])
def test_a_damaged_batch_is_computed_again(harm, tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    store.save("one", {"x": np.arange(5.0)})
    kept = store.load("one")
    assert kept is not None
    np.testing.assert_array_equal(kept["x"], np.arange(5.0))
    harm(tmp_path / "one.npz")
    assert store.load("one") is None
    assert store.damaged == 1


def test_a_batch_in_the_place_of_another_is_not_read(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    store.save("one", {"x": np.arange(5.0)})
    shutil.copy(tmp_path / "one.npz", tmp_path / "two.npz")
    assert store.load("two") is None
    assert store.load("three") is None
    assert store.damaged == 1, "an absent file is no damaged one"


@pytest.fixture
def unfinished(tmp_path: Path):
    """A folder in which the first of two questions is kept: the second was stopped."""
    generator = np.random.default_rng(0)
    people = pd.DataFrame(
        {"team": np.repeat(["a", "b"], 300), "hired": generator.random(600) < np.repeat([0.2, 0.5], 300)}
    )
    people["hired"] = people["hired"].astype(int)
    spec = {
        "data": {"source": "people.csv", "decision": "hired", "groups": ["team"]},
        "measure": {"metric": "selection_rate"},
        "certify": {"metric": "selection_rate", "tolerance": 0.05},
    }
    ends = iter([False, True])
    stopped = fairtrial.run(spec, data=people, out=tmp_path, cancel=lambda: next(ends, True))
    assert stopped.stopped
    return spec, people, tmp_path


def test_what_was_kept_is_used(unfinished) -> None:
    spec, people, folder = unfinished
    trial = fairtrial.run(spec, data=people, out=folder, resume=True)
    assert trial.run["kept"] == ["measure"]
    assert not any("computed again" in note for note in trial.notes)


def edit(path: Path) -> None:
    """One digit of a published rate."""
    text = path.read_text(encoding="utf-8")
    place = text.index('"rate": 0.') + len('"rate": 0.')
    digit = "9" if text[place] != "9" else "1"
    path.write_text(text[:place] + digit + text[place + 1 :], encoding="utf-8")


@pytest.mark.parametrize("harm", [edit, flip, shorten, empty])
def test_a_changed_answer_is_computed_again_and_said(harm, unfinished) -> None:
    spec, people, folder = unfinished
    kept = next((folder / FOLDER).glob("measure*.json"))
    harm(kept)
    trial = fairtrial.run(spec, data=people, out=folder, resume=True)
    undisturbed = fairtrial.run(spec, data=people)
    assert trial.run["kept"] == []
    assert trial.results["measure"].estimates == undisturbed.results["measure"].estimates
    assert any("1 kept file was not as written" in note for note in trial.notes)


def test_a_keeper_reads_only_its_own(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, resume=False)
    assert keeper.load("measure-1") is None
    assert keeper.said == []


def test_two_runs_in_one_folder(tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(InputError, match=f"used by another run .process {os.getpid()}"),
        locked(tmp_path),
    ):
        pass
    assert not (tmp_path / LOCK).exists()


HOLD = """
import sys, time
from pathlib import Path
from inside.trial import locked

with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(300)
"""


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    """Also where every run has the same process number, as in a container: the file then names the run itself."""
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        ) as holder:
            try:
                assert holder.stdout is not None
                assert holder.stdout.readline() == "held\n"
                with (
                    pytest.raises(InputError, match=f"used by another run .process {holder.pid}"),
                    locked(tmp_path),
                ):
                    pass
            finally:
                holder.kill()
        assert (tmp_path / LOCK).read_text() == str(holder.pid)
        (tmp_path / LOCK).write_text(str(os.getpid()))
    with locked(tmp_path), pytest.raises(InputError, match="used by another run"), locked(tmp_path):
        pass
    assert not (tmp_path / LOCK).exists()


@pytest.fixture
def scored(tmp_path: Path):
    """A stopped run whose first question, of a score and of a column that only it names, is kept."""
    generator = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "team": np.repeat(["a", "b"], 300),
            "mark": generator.random(600),
            "pay": generator.normal(9, 1, 600),
        }
    )
    spec = {
        "data": {"source": "people.csv", "score": "mark", "groups": ["team"]},
        "measure": {"metric": ["mean_score", {"name": "pay", "value": "pay"}]},
        "certify": {"metric": "mean_score", "tolerance": 0.05},
    }
    ends = iter([False, True])
    stopped = fairtrial.run(spec, data=people, out=tmp_path, cancel=lambda: next(ends, True))
    assert stopped.stopped, [answer.error for answer in stopped.answers]
    return spec, people, tmp_path


@pytest.mark.parametrize("column", ["mark", "pay", "order"])
def test_other_values_are_computed_anew_and_said(column: str, scored) -> None:
    spec, people, folder = scored
    other = people.iloc[::-1] if column == "order" else people.assign(**{column: -people[column] + 1})
    trial = fairtrial.run(spec, data=other, out=folder, resume=True)
    assert trial.run["kept"] == []
    assert trial.results["measure"].estimates == fairtrial.run(spec, data=other).results["measure"].estimates
    assert (
        "Not as in the run that was to go on: the data. What depends on it is computed anew." in trial.notes
    )


def test_the_same_values_are_kept(scored) -> None:
    spec, people, folder = scored
    trial = fairtrial.run(spec, data=people.copy(), out=folder, resume=True)
    assert trial.run["kept"] == ["measure"]
    assert trial.notes == fairtrial.run(spec, data=people).notes


@pytest.mark.parametrize("library", ["numpy", "scipy", "scikit-learn", "numba", "narwhals", "duckdb"])
def test_other_versions_are_computed_anew_and_said(library: str, scored, monkeypatch) -> None:
    spec, people, folder = scored
    from inside.results import versions

    assert versions()[library] == version(library)
    monkeypatch.setattr("fairtrial._trial.running.result_versions", lambda: {**versions(), library: "0.1"})
    trial = fairtrial.run(spec, data=people, out=folder, resume=True)
    assert trial.run["kept"] == []
    assert any("the versions installed" in note for note in trial.notes)


def test_another_question_and_another_seed_are_said(scored) -> None:
    spec, people, folder = scored
    other = {**spec, "measure": {"metric": "mean_score"}}
    trial = fairtrial.run(other, data=people, out=folder, resume=True, cancel=lambda: True)
    assert any("the question measure." in note for note in trial.notes)
    trial = fairtrial.run(other, data=people, out=folder, resume=True, seed=3)
    assert trial.run["kept"] == []
    assert any("the columns' roles or the seed" in note for note in trial.notes)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"parts": 3}', b"[" * 100_000])
def test_a_damaged_record_of_what_the_run_was_made_from(content: bytes, scored) -> None:
    spec, people, folder = scored
    (folder / FOLDER / MADE_FROM).write_bytes(content)
    trial = fairtrial.run(spec, data=people, out=folder, resume=True)
    assert trial.run["kept"] == ["measure"], "the answer itself is behind its own checksum"
    assert any("1 kept file was not as written" in note for note in trial.notes)


def test_columns_that_a_condition_names_count() -> None:
    said = [{"data": {"define": {"young": "age<25, sex=F"}}}, {"by": [{"team": "a"}], "within": "job"}]
    columns = ["age", "sex", "team", "job", "F", "other"]
    assert mentioned(said, columns) == ["age", "sex", "team", "job", "F"]


ODD = {"deep": b"[" * 100_000, "a list": b"[]", "no result": b'{"a": 1}', "no JSON": b"{", "no text": b"\xff"}


@pytest.mark.parametrize("kind", ODD)
def test_odd_content_behind_a_right_checksum_is_computed_again(kind: str, unfinished) -> None:
    spec, people, folder = unfinished
    kept = next((folder / FOLDER).glob("measure*.json"))
    kept.write_bytes(checksum(kept.stem, ODD[kind]).hex().encode() + b"\n" + ODD[kind])
    trial = fairtrial.run(spec, data=people, out=folder, resume=True)
    assert trial.complete
    assert trial.run["kept"] == []
    assert any("1 kept file was not as written" in note for note in trial.notes)
    store = FileStore(folder)
    (folder / "one.npz").write_bytes(checksum("one", ODD[kind]) + ODD[kind])
    assert store.load("one") is None
    assert store.damaged == 1


def decisions_of(share: float) -> np.ndarray:
    """What coalitions of one feature decide for 600 people: longer than what an array prints of itself."""
    decided = np.zeros((600, 2))
    decided[200:400, 1] = np.arange(200) < 200 * share
    return decided


def fitted(positive: int) -> LogisticRegression:
    values = np.arange(20.0)[:, None]
    return LogisticRegression().fit(pd.DataFrame(values, columns=["mark"]), (values[:, 0] > 9) == positive)


GIVEN = {
    "an array": (decisions_of, [0.3, 0.6], {"features": ["mark"], "sensitive": "absent"}, "coalitions"),
    "a fitted model": (fitted, [1, 0], {"features": ["mark"], "coalitions": "marginal"}, "model"),
    "a function": (lambda cut: lambda rows: rows["mark"] > cut, [0.3, 0.6], {"features": ["mark"]}, "model"),
}


@pytest.mark.parametrize("again", ["the same", "another"])
@pytest.mark.parametrize("kind", GIVEN)
def test_what_is_given_in_python_counts_by_its_content(kind: str, again: str, tmp_path: Path) -> None:
    """An array and a fitted model are known again, a function never is."""
    make, (first, other), arguments, name = GIVEN[kind]
    random = np.random.default_rng(0)
    people = pd.DataFrame(
        {"team": np.tile(["a", "b"], 300), "mark": random.random(600), "d": random.integers(0, 2, 600)}
    )

    def asked(value: Any) -> dict[str, Any]:
        return {
            "data": {"source": "people.csv", "decision": "d", "outcome": "d", "groups": ["team"]},
            "explain": {"metric": "selection_rate", "by": "team", **arguments, name: make(value)},
            "improve": {"by": "team", "candidates": {"fixed": "d"}, "bootstrap": 100},
        }

    done: list[str] = []

    def listen(event: Any) -> None:
        done.extend([event.section] if event.status in ("done", "failed") else [])

    stopped = fairtrial.run(
        asked(first), data=people, out=tmp_path, progress=listen, cancel=lambda: bool(done)
    )
    assert stopped.stopped
    assert next(answer.error for answer in stopped.answers) == ""
    wanted = asked(first if again == "the same" else other)
    trial = fairtrial.run(wanted, data=people, out=tmp_path, resume=True)
    known = again == "the same" and kind != "a function"
    assert trial.run["kept"] == (["explain"] if known else [])
    assert any("the question explain" in note for note in trial.notes) is not known
    assert (
        trial.results["explain"].estimates == fairtrial.run(wanted, data=people).results["explain"].estimates
    )
