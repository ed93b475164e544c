"""What `fairtrial init` reads from labels and names of strangers' files, and where it says that it cannot know."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import fairtrial
from inside.trial import ROWS, cards, good_for_a_person, guess, held_by, meaning_yes, profile_file

Run = Callable[..., tuple[int, str, str]]
Columns = Mapping[str, list[object]]
NUMBERS: list[object] = [round(0.37 * i, 2) for i in range(60)]


def written(folder: Path, columns: Columns, rows: int = 120) -> str:
    """A file in which each column repeats its values."""
    lines = [",".join(str(values[i % len(values)]) for values in columns.values()) for i in range(rows)]
    path = folder / "people.csv"
    path.write_text("\n".join([",".join(columns), *lines]) + "\n", encoding="utf-8")
    return str(path)


def found(run: Run, folder: Path, columns: Columns, *words: str) -> tuple[dict[str, Any], str]:
    """[data] of what is written, and what is told beside it."""
    out = folder / "audit.toml"
    code, _, err = run("init", written(folder, columns), "--yes", "--force", "--out", str(out), *words)
    assert code == 0, err
    return tomllib.loads(out.read_text(encoding="utf-8"))["data"], err


@pytest.mark.parametrize(
    ("labels", "name", "expected"),
    [
        (("not promoted", "promoted"), "decision", "promoted"),
        (("interview", "no_interview"), "outcome", "interview"),
        (("nonsmoker", "smoker"), "habit", "smoker"),
        (("Admitted", "Rejected"), "Admit", "Admitted"),
        (("alive", "dead"), "dead", "dead"),
        (("Loan granted", "Loan refused"), "result", "Loan granted"),
        (("A", "D"), "Accept", None),  # the rarer of two is no more likely to mean yes
        (("Burglary", "Swindle"), "crime", None),
        (("female", "male"), "x", None),
    ],
)
def test_which_of_two_labels_means_yes(labels: tuple[str, str], name: str, expected: str | None) -> None:
    assert meaning_yes(labels, name) == expected
    assert meaning_yes(labels[::-1], name) == expected


@pytest.mark.parametrize(
    ("name", "label", "expected"),
    [
        ("decision", "promoted", 1),
        ("decision", "not promoted", 0),
        ("approved", "no", 0),
        ("approved", "", 1),
        ("not_approved", "", 0),
        ("rejected", "yes", 0),
        ("Admit", "Rejected", 0),
        ("immigrant", "yes", None),  # not a grant
        ("researched", "", None),  # not a search
        ("status", "A", None),
    ],
)
def test_what_is_good_for_a_person(name: str, label: str, expected: int | None) -> None:
    assert good_for_a_person(name, label) == expected


def test_the_named_decision_says_what_is_good_for_a_person(tmp_path: Path, run: Run) -> None:
    columns: Columns = {"sex": ["f", "m"], "hired": [0, 1, 1], "flagged": [1, 0, 0, 0], "x": NUMBERS}
    assert found(run, tmp_path, columns)[0]["favourable"] == 1
    # flagged for an audit, or for help: no word says it, so it is asked
    assert "favourable" not in found(run, tmp_path, columns, "--decision", "flagged")[0]
    denied: Columns = {**columns, "denied": [1, 0, 0, 0]}
    assert found(run, tmp_path, denied, "--decision", "denied")[0]["favourable"] == 0
    assert "favourable" not in found(run, tmp_path, {**columns, "went": [0, 1, 1]}, "--decision", "went")[0]
    labels: Columns = {"sex": ["f", "m"], "decision": ["promoted", "not promoted", "promoted"]}
    data, _ = found(run, tmp_path, labels)
    assert (data["positive"]["decision"], data["favourable"]) == ("promoted", 1)
    data, _ = found(run, tmp_path, labels, "--positive", "not promoted")
    assert (data["positive"]["decision"], data["favourable"]) == ("not promoted", 0)


@pytest.mark.parametrize("name", ["jobclass", "is_911_call", "lowincome", "credit_history", "immigrant"])
def test_a_word_inside_another_says_nothing(name: str, tmp_path: Path, run: Run) -> None:
    columns: Columns = {"sex": ["f", "m"], name: [0, 1, 1], "other": [1, 0, 0, 1], "pulse": NUMBERS}
    code, _, err = run("init", written(tmp_path, columns), "--yes", "--out", str(tmp_path / "audit.toml"))
    assert code == 2
    assert f"Columns of two values: '{name}', 'other'." in err
    assert "An outcome or a score may be a number: 'pulse'." in err


def test_an_outcome_is_not_audited_as_a_decision(tmp_path: Path, run: Run) -> None:
    """Whether somebody earns much was not decided by a lender, whatever else the file holds."""
    columns: Columns = {"sex": ["f", "m"], "class": ["no", "yes", "yes"], "income": NUMBERS, "debt": NUMBERS}
    data, err = found(run, tmp_path, columns)
    assert data["outcome"] == "class"
    assert "decision" not in data
    assert "without a decision" in err


def test_the_only_other_column_is_no_outcome(tmp_path: Path, run: Run) -> None:
    """No name says that smoking is what happened: it is asked for, with the line to add."""
    path = written(tmp_path, {"sex": ["f", "m"], "smokes": ["no", "yes", "yes"], "pulse": NUMBERS})
    code, _, err = run("init", path, "--yes", "--out", str(tmp_path / "audit.toml"))
    assert code == 2
    assert "--decision, --outcome or --score" in err
    assert "Columns of two values: 'smokes'." in err


def test_pay_is_a_decision_where_nothing_else_is_one(tmp_path: Path, run: Run) -> None:
    data, _ = found(run, tmp_path, {"sex": ["f", "m"], "Gehalt": NUMBERS, "x": NUMBERS[::-1]})
    assert (data["decision"], data["favourable"], "positive" in data) == ("Gehalt", "high", False)
    trial = fairtrial.run(tmp_path / "audit.toml")
    assert trial.complete
    assert {answer.section.method for answer in trial.answers} >= {"measure", "tabulate"}
    data, _ = found(run, tmp_path, {"sex": ["f", "m"], "wage": NUMBERS, "hired": [0, 1, 1]})
    assert data["decision"] == "hired"


def test_labels_speak_for_groups(tmp_path: Path, run: Run) -> None:
    columns: Columns = {
        "colour": ["Black", "White", "White"],
        "sex": ["f", "m"],
        "released": ["No", "Yes", "Yes"],
    }
    data, _ = found(run, tmp_path, columns)
    assert data["groups"] == ["sex", "colour"]
    assert (data["decision"], data["favourable"]) == ("released", 1)
    assert held_by(["1. White", "2. Black", "3. Asian", "4. Other"]) == "race"
    assert held_by(["Male", "Female"]) == "sex"
    assert held_by(["black", "white", "red"]) is None  # of a car
    assert held_by(["white", "blue"]) is None  # of a collar


def test_a_code_of_a_group_is_not_compared_twice(tmp_path: Path, run: Run) -> None:
    columns: Columns = {"Sex": ["f", "m", "m"], "SexCode": [1, 0, 0], "hired": [0, 1, 1, 0]}
    data, err = found(run, tmp_path, columns)
    assert data["groups"] == ["Sex"]
    assert "not compared" not in err


def test_a_row_that_may_not_be_one_person_is_announced(tmp_path: Path, run: Run) -> None:
    people: list[object] = [1 + i // 2 for i in range(120)]
    columns: Columns = {
        "gender": ["f", "m"], "hired": [0, 1, 1], "id": people, "Freq": [3, 12, 7],
        "weight": [1.5 + 0.1 * i for i in range(40)], "shop_id": [1, 2, 3],
    }  # fmt: skip
    _, err = found(run, tmp_path, columns)
    assert "Check: 'Freq' may say how many people a row stands for" in err
    assert 'If it does, add count = "Freq" under [data].' in err
    assert (
        "Check: 'weight' may be a survey weight, and people count alike. If it is, add weight = \"weight\""
        in err
    )
    assert (
        "Check: 'id' has 60 values in 120 rows looked at. If it names people, add unit = \"id\" under [data]"
        in err
    )
    assert "'shop_id' has" not in err
    text = (tmp_path / "audit.toml").read_text(encoding="utf-8")
    assert "# CHECK: 'id' has 60 values" in text
    _, err = found(run, tmp_path, {**columns, "id": list(range(120)), "Freq": [0, 1], "weight": [1, 2, 3]})
    assert "Check:" not in err


def test_a_first_line_of_numbers_is_announced(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "people.csv"
    path.write_text("73,f,1700.09,1\n" + "58,m,1053.55,0\n18,f,991.95,1\n" * 40, encoding="utf-8")
    code, _, err = run("init", str(path), "--yes", "--out", str(tmp_path / "audit.toml"))
    assert code == 2
    assert "Note: the first line names columns '73', '1700.09', '1'." in err
    assert "put a line of names above it" in err


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_sorted_file_is_looked_at_throughout(kind: str, tmp_path: Path) -> None:
    rows = 3 * ROWS
    groups, hired = ["f"] * (2 * ROWS) + ["m"] * ROWS, [0] * (rows - 500) + [1] * 500
    path = tmp_path / f"people.{kind}"
    if kind == "csv":
        lines = (f"{one},{other}" for one, other in zip(groups, hired, strict=True))
        path.write_text("\n".join(["sex,hired", *lines]) + "\n", encoding="utf-8")
    else:
        parquet.write_table(pa.table({"sex": groups, "hired": hired}), path)
    profiles = profile_file(str(path))
    assert [profile.rows for profile in profiles] == [ROWS, ROWS]
    assert profiles[0].labels == ("f", "m")
    assert profiles[0].counts[0] == pytest.approx(ROWS * 2 / 3, rel=0.03)
    proposed = guess(profiles)
    assert (proposed.decision, proposed.groups) == ("hired", ["sex"])
    assert profile_file(str(path)) == profiles


def proposed(run: Run, folder: Path, *lines: str) -> tuple[dict[str, Any], str]:
    """[data] of what is written for a file of these lines, and what is told beside it."""
    file, out = folder / "table.csv", folder / "audit.toml"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    code, _, err = run("init", str(file), "--yes", "--force", "--out", str(out))
    assert code == 0, err
    return tomllib.loads(out.read_text(encoding="utf-8"))["data"], err


def test_a_table_of_counts_is_proposed_as_such(tmp_path: Path, run: Run) -> None:
    lines = ["Admitted,Male,A,512", "Rejected,Male,A,313", "Admitted,Female,A,89", "Rejected,Female,A,19"]
    data, err = proposed(run, tmp_path, "Admit,Gender,Dept,Freq", *lines, "Admitted,Male,B,353")
    assert (data["count"], data["decision"], data["groups"]) == ("Freq", "Admit", ["Gender"])
    assert "'Freq' is taken as how many people each row stands for: 5 rows are 1,286 people." in err
    assert '# features = ["Dept"]' in (tmp_path / "audit.toml").read_text(encoding="utf-8")
    profiles = profile_file(str(tmp_path / "table.csv"))
    items = {item.key: item for card in cards(guess(profiles), profiles) for item in card.items}
    assert [(one.value, one.people) for one in items["count"].choices] == [("Freq", 1286), (None, 5)]
    assert [one.value for one in items["groups"].choices] == ["Gender", "Dept"]
    assert items["groups"].choices[0].words == "Gender: Male for 92 of 100, Female for 8 of 100"


@pytest.mark.parametrize(
    "hired", [("30", "10", "25", "12"), ("0.25", "0.125", "0.2", "0.2"), ("30", "30", "20", "20")]
)
def test_a_table_of_totals_is_proposed_as_such(tmp_path: Path, run: Run, hired: tuple[str, ...]) -> None:
    rows = ("f,x,120", "m,x,80", "f,y,90", "m,y,60")
    lines = [f"{row},{number}" for row, number in zip(rows, hired, strict=True)]
    data, err = proposed(run, tmp_path, "Gender,Office,Applicants,Hired", *lines)
    assert (data["total"], data["decision"], data["favourable"]) == ("Applicants", "Hired", 1)
    assert "positive" not in data
    assert "4 rows are 350 people" in err


def test_rows_of_one_person_each_have_no_count(tmp_path: Path, run: Run) -> None:
    lines = [f"{'fm'[i % 2]},{i % 2},{1 + i % 5},{20 + i % 30}" for i in range(90)]
    data, err = proposed(run, tmp_path, "gender,hired,people,age", *lines)
    assert not {"count", "total"} & set(data)
    assert "'people' may say how many people a row stands for" in err
