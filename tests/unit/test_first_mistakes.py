"""What people do first: data as they have it, names as files have them, options as they would guess them."""

from __future__ import annotations

import io
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairtrial as ft
from fairtrial import FairtrialWarning, InputError
from inside.cli import Question, main, questions
from inside.ground import cuts
from inside.trial import TOML


def call(*arguments: object) -> int:
    sys.argv = ["fairtrial", *map(str, arguments)]
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0)


@pytest.fixture(autouse=True)
def nobody_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(sys, "argv", ["fairtrial"])


# -- data as people have it -------------------------------------------------------------------------------------------
ROWS = {"sex": ["F", "M"] * 50, "d": [0, 1, 1, 1] * 25}


@pytest.mark.parametrize(
    "data",
    [
        ROWS,
        {name: np.array(column) for name, column in ROWS.items()},
        [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)],
        pd.DataFrame(ROWS).to_records(index=False),
    ],
    ids=["dict of lists", "dict of arrays", "list of dicts", "records"],
)
def test_dicts_and_arrays_are_data(data: object) -> None:
    expected = ft.measure(ft.Audit(pd.DataFrame(ROWS), decision="d"), "selection_rate", by="sex").to_dict()
    found = ft.measure(ft.Audit(data, decision="d"), "selection_rate", by="sex").to_dict()
    assert found["estimates"] == expected["estimates"]


def test_a_plain_array_has_its_places_as_names() -> None:
    audit = ft.Audit(np.array([[0, 1], [1, 0]] * 40), decision="1", groups="0")
    assert [row["group"] for row in ft.measure(audit, "selection_rate").estimates] == ["0: 0", "0: 1"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": [1, 2], "b": [1]}, "must have one value per row in each column, got lengths 'a': 2, 'b': 1"),
        ({"a": 3}, "must have one value per row in each column"),
        ({}, "has no columns"),
        (np.arange(4), "must be a dataframe"),
        (7, "an array of two dimensions or a path"),
    ],
)
def test_what_is_no_data(data: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ft.Audit(data, decision="d")


def test_a_dict_of_mixed_values_is_text() -> None:
    audit = ft.Audit({"g": [1, "b", None, "b"] * 10, "d": [0, 1] * 20}, decision="d", missing="category")
    assert audit.levels("g") == ("(missing)", "1", "b")


def test_a_frame_needs_no_source() -> None:
    spec = {"data": {"decision": "d", "groups": ["sex"]}, "measure": {"metric": "selection_rate"}}
    assert ft.run(spec, data=pd.DataFrame(ROWS)).complete
    assert ft.run(spec, data=ROWS).complete
    with pytest.raises(InputError, match="needs either source"):
        ft.run(spec)


# -- names as files have them -----------------------------------------------------------------------------------------
def written(folder: Path, text: str) -> Path:
    path = folder / "rows.csv"
    path.write_text(text)
    return path


def test_headers_that_differ_in_case_when_one_is_used_or_none(tmp_path: Path) -> None:
    path = written(tmp_path, "Age,age,sex,d\n" + "1,60,F,1\n2,20,M,0\n" * 40)
    assert [row["group"] for row in ft.measure(ft.Audit(path, decision="d"), by="sex").estimates] == [
        "F",
        "M",
    ]
    assert ft.Audit(path, decision="d").levels("age") == ("20", "60")
    assert ft.Audit(path, decision="d").levels("Age") == ("1", "2")
    with pytest.raises(InputError, match="'Age' and 'age', which differ only in case; rename one"):
        ft.measure(ft.Audit(path, decision="d"), by=["Age", "age"])


def test_a_column_that_stands_twice_with_the_same_values(tmp_path: Path) -> None:
    """As decile_score does in ProPublica's file."""
    path = written(tmp_path, "sex,d,sex\n" + "F,1,F\nM,0,M\n" * 40)
    assert ft.Audit(path, decision="d").levels("sex") == ("F", "M")
    path = written(tmp_path, "sex,d,sex\n" + "F,1,F\nM,0,X\n" * 40)
    assert ft.Audit(path, decision="d").count_rows() == 80
    with pytest.raises(InputError, match="has 'sex' twice, with different values"):
        ft.Audit(path, decision="d").levels("sex")


def test_labels_that_differ_by_case_or_blanks_are_announced() -> None:
    frame = pd.DataFrame({"sex": ["Male", "male ", "Female", "Female"] * 40, "d": [0, 1, 0, 1] * 40})
    with pytest.warns(
        FairtrialWarning, match="'sex' has the labels 'Male', 'male ', which differ only by case"
    ):
        result = ft.measure(ft.Audit(frame, decision="d", groups="sex"))
    told = [note.text for note in result.notes if note.code == "alike-labels"]
    assert told == [
        "'sex' has the labels 'Male', 'male ', which differ only by case or blanks: if they mean the same, say so "
        "with `merge`."
    ]


def test_order_is_kept() -> None:
    sizes = ["small", "medium", "large"]
    frame = pd.DataFrame(
        {"size": pd.Categorical(sizes * 30, categories=sizes, ordered=True), "n": [2, 10, 1] * 30}
    )
    for data in (
        frame,
        pl.DataFrame({"size": pl.Series(sizes * 30, dtype=pl.Enum(sizes)), "n": [2, 10, 1] * 30}),
    ):
        audit = ft.Audit(data, score="n", bins={"n": [2, 5]})
        assert audit.levels("size") == tuple(sizes)
        assert audit.levels("n") == ("under 2", "2–4", "5 and over")
        assert [row["group"] for row in ft.measure(audit, "mean_score", by="size").estimates] == sizes
        assert ft.Audit(data, score="n").levels("n") == ("1", "2", "10")
    unordered = frame.assign(size=frame["size"].astype(str).astype("category"))
    assert ft.Audit(unordered, score="n").levels("size") == ("large", "medium", "small")


# -- options as people would guess them -------------------------------------------------------------------------------
def test_one_cut() -> None:
    assert cuts("age=62") == ("age", [62.0])
    assert cuts("age=4") == ("age", 4)
    assert cuts("score=0.5") == ("score", [0.5])


def test_a_cut_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "age,d\n" + "30,1\n70,0\n61,1\n62,0\n" * 20)
    assert (
        call(
            "measure",
            path,
            "--decision",
            "d",
            "--by",
            "age",
            "--bins",
            "age=62",
            "--metric",
            "selection_rate",
        )
        == 0
    )
    assert "age: under 62" in capsys.readouterr().out


def test_messages_name_what_can_be_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "sex,d\n" + "F,1\nM,0\n" * 40)
    assert call("certify", path, "--decision", "d", "--metric", "selection_rate") == 2
    assert capsys.readouterr().err.strip().endswith("--by is missing: name the attribute(s) to compare")
    speech = Question.of(questions()["certify"]).speech
    audit = ft.Audit(path, decision="d", groups="sex")
    with pytest.raises(InputError) as caught:
        ft.certify(audit, "selection_rate", tolerance=[0.1, 0.2, 0.3])
    assert "two numbers, low and high, such as [-0.02, 0.05]" in str(caught.value)
    assert "such as -0.02,0.05" in caught.value.said(speech)
    with pytest.raises(InputError) as caught:
        ft.measure(ft.Audit(path, decision="d"))
    assert str(caught.value).endswith("name the attribute(s) to compare, here or as groups= in the Audit")
    assert "here or as groups under [data]" in caught.value.said(
        TOML
    ) or "[data] groups" in caught.value.said(TOML)


def test_notes_hold_no_syntax() -> None:
    frame = pd.DataFrame({"g": ["a", "b"] * 60, "h": ["x", "x", "y"] * 40, "d": [0, 1, 1, 0] * 30})
    audit = ft.Audit(frame, decision="d", groups=["g", "h"])
    results = [
        ft.measure(audit), ft.flag(audit, "selection_rate", depth=2),
        ft.papers.elfa.certify(audit, "selection_rate", by="g", target="overall", tolerance=0.1),
        ft.papers.elfa.certify(audit, "selection_rate", by="g", target_method="profile"),
    ]  # fmt: skip
    texts = [note.text for result in results for note in result.notes] + [
        text for result in results for text in (*result.assumptions, result.question, result.null)
    ]
    assert not [text for text in texts if "=" in text.replace("p = 1", "")]


# -- init without a terminal ------------------------------------------------------------------------------------------
# headers and first values of public files, as their wheels hold them
PUBLIC = {
    "german": ("status,month,credit_history,age,personal_status,foreign_worker,credit",
               ["A11,6,A34,67,A93,A201,1", "A12,48,A32,22,A92,A202,2"], "credit", ["personal_status"]),
    "credit card": ("ID,LIMIT_BAL,SEX,AGE,PAY_0,default-payment-next-month",
                    ["1,20000,1,24,2,1", "2,120000,0,26,-1,0"], None, ["SEX"]),
    "law school": ("LSAT,UGPA,ZFYA,race,sex,pass_bar", ["33.0,2.7,1.16,white,1,1", "44.0,3.5,0.4,black,2,0"],
                   "pass_bar", ["race", "sex"]),
    "admissions": ("gender,physics,biology,gpa", ["0,454.56,511.66,0", "1,300.1,410.2,1"], None, ["gender"]),
    "stop and frisk": ("perobs,sex,race,age,weapon,frisked", ["1,1,1,48,0,1", "2,0,2,20,1,0"], "frisked",
                       ["race", "sex"]),
    "hmda": ("action_taken,loan_amount,derived_sex,derived_race", ["1,100000,Male,White", "3,50000,Female,Black"],
             "action_taken", ["derived_race", "derived_sex"]),
    "ricci": ("Position,Oral,Written,Race,Combine", ["Captain,89.52,95,W,92.8", "Lieutenant,60.1,70,B,66.04"], None,
              ["Race"]),
    "compas": ("sex,race,decile_score,two_year_recid,decile_score", ["Male,Other,1,0,1", "Female,Caucasian,6,1,6"],
               None, ["race", "sex"]),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC)
def test_init_takes_public_files_without_a_terminal(name: str, tmp_path: Path) -> None:
    header, rows, decision, groups = PUBLIC[name]
    lines = [rows[i % 2] for i in range(120)]
    if name in ("ricci", "compas"):  # a score of more than a few values
        place, twice = (4, []) if name == "ricci" else (2, [4])
        for i, line in enumerate(lines):
            cells = line.split(",")
            for column in (place, *twice):
                cells[column] = str(1 + i % 10)
            lines[i] = ",".join(cells)
    path = written(tmp_path, "\n".join([header, *lines]) + "\n")
    assert call("init", path, "--yes", "--out", tmp_path / "audit.toml") == 0
    content = tomllib.loads((tmp_path / "audit.toml").read_text())["data"]
    assert content.get("decision") == decision
    assert set(groups) <= set(content["groups"])
    # what comes after a decision is an outcome, and is not audited as if it were the decision
    outcome = {"credit card": "default-payment-next-month", "admissions": "gpa"}.get(name)
    assert decision or content.get("score") or (outcome and content.get("outcome") == outcome)


def test_init_takes_what_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "a,b,c,d\n" + "x,1,yes,3\ny,0,no,4\nx,0,no,5\ny,1,yes,6\ny,1,no,7\n" * 20)
    out = tmp_path / "audit.toml"
    arguments = [
        "--decision",
        "c",
        "--outcome",
        "b",
        "--group",
        "a",
        "--favourable",
        "yes",
        "--preset",
        "risk-score",
    ]
    assert call("init", path, *arguments, "--out", out) == 0
    data = tomllib.loads(out.read_text())["data"]
    assert (data["decision"], data["outcome"], data["groups"]) == ("c", "b", ["a"])
    assert data["positive"] == {"decision": "yes"}
    assert data["favourable"] == "yes"
    assert (
        call("init", path, "--score", "d", "--threshold", "5", "--group", "a", "--out", out, "--force") == 0
    )
    data = tomllib.loads(out.read_text())["data"]
    assert (data["score"], data["threshold"]) == ("d", 5.0)
    assert "decision" not in data


def test_init_warns_of_selective_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "sex,approved,repaid\n" + "F,1,1\nF,0,\nM,1,0\nM,0,\nM,1,1\n" * 60)
    assert call("init", path, "--yes", "--out", tmp_path / "audit.toml") == 0
    told = capsys.readouterr().err
    assert "Check: 'repaid' is missing in 40% of the rows" in told
    assert "Check: The outcome is known for 100% of the people decided 1 and 0% of those decided 0" in told
    text = (tmp_path / "audit.toml").read_text()
    assert "# CHECK: The outcome is known for 100%" in text
    assert "favourable = 1" in text
