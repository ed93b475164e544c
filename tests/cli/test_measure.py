"""`fairtrial measure`: table, JSON, CSV, charts, and one message with exit code 2 for bad input."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest

import fairtrial
from fairtrial import Audit, MeasureResult, measure

ROLES = ["--outcome", "two_year_recid", "--score", "decile_score", "--threshold", "5"]


@pytest.fixture(scope="module")
def compas(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "compas.csv"
    columns = ["race", "sex", "age", "two_year_recid", "decile_score", "score_text"]
    fairtrial.load("compas")[columns].to_csv(path, index=False)
    return str(path)


def test_the_table(run, compas):
    code, out, err = run(
        "measure", compas, *ROLES, "--by", "race", "--metric", "fpr", "--target", "race=Caucasian"
    )
    assert code == 0
    assert err == ""
    line = next(line for line in out.splitlines() if "African-American" in line)
    for part in ("1,795", "44.8%", "42.5 to 47.2", "Caucasian", "+21.4", "+18.2 to +24.5", "differs"):
        assert part in line
    assert any("Asian" in line and "not tested: fewer than 30" in line for line in out.splitlines())
    assert "Verdict: differs: false positive rate of African-American is 21.4 points above Caucasian" in out


def test_json_on_the_terminal_is_json_alone(run, compas):
    code, out, _ = run(
        "measure", compas, *ROLES, "--by", "race", "--metric", "fpr", "--metric", "tpr", "--json", "-"
    )
    assert code == 0
    result = MeasureResult.from_dict(json.loads(out))
    audit = Audit(compas, outcome="two_year_recid", score="decile_score", threshold=5, groups="race")
    assert result.to_dict() == measure(audit, ["fpr", "tpr"]).to_dict()


def test_files(run, compas, tmp_path):
    names = {kind: str(tmp_path / f"out.{kind}") for kind in ("json", "csv")}
    code, out, err = run("measure", compas, *ROLES, "--by", "race", "--by", "sex", "--depth", "2",
                         "--json", names["json"], "--csv", names["csv"])  # fmt: skip
    assert code == 0
    assert err.splitlines() == [f"wrote {names['json']}", f"wrote {names['csv']}"]
    result = MeasureResult.from_dict(json.loads((tmp_path / "out.json").read_text(encoding="utf-8")))
    assert result.summary() in out
    with open(names["csv"], encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["group"] for row in rows] == [row["group"] for row in result.estimates]
    assert float(rows[0]["rate"]) == result.estimates[0]["rate"]


@pytest.mark.parametrize(
    ("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("html", b"<!doctype html>")]
)
def test_charts(run, compas, tmp_path, kind, start):
    path = tmp_path / f"chart.{kind}"
    code, _, _ = run("measure", compas, *ROLES, "--by", "race", "--chart", str(path))
    assert code == 0
    assert path.read_bytes().startswith(start)


def test_all_ways_to_say_things(run, compas):
    code, out, _ = run(
        "measure", compas, "--outcome", "two_year_recid", "--decision", "score_text", "--positive", "decision=High",
        "--by", "age", "--bins", "age=25,45", "--metric", "selection_rate", "--target", "overall",
        "--interval", "exact", "--minimum", "10", "--confidence-level", "0.9", "--missing", "drop", "--json", "-",
    )  # fmt: skip
    assert code == 0
    content = json.loads(out)
    assert [row["group"] for row in content["estimates"]] == [
        "age: under 25",
        "age: 25–44",
        "age: 45 and over",
    ]
    assert content["details"]["confidence_level"] == 0.9
    assert content["estimates"][0]["target"] == "overall"


def test_labels_with_signs(run, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("g,d\n" + '"a, b",>=50K\n"a, b",<50K\nc,>=50K\n' * 40, encoding="utf-8")
    code, out, _ = run("measure", str(path), "--decision", "d", "--positive", ">=50K", "--by", "g",
                       "--target", "g=a, b", "--json", "-")  # fmt: skip
    assert code == 0
    rows = {row["group"]: row for row in json.loads(out)["estimates"]}
    assert rows["a, b"]["rate"] == 0.5
    assert rows["c"]["target"] == "a, b"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["none.csv", "--by", "race"], "Audit: DATA names no file: 'none.csv' does not exist"),
        (["DATA", "--by", "rase", *ROLES], "Audit: --by names the unknown column 'rase'. Did you mean 'race'?"),
        (["DATA", "--by", "race", "--metric", "fprr", *ROLES], "--metric is unknown: 'fprr'. Did you mean 'fpr'?"),
        (["DATA", "--by", "race", "--metric", "tpr"], "'tpr' needs the decision: name its column with --decision"),
        (["DATA", "--by", "race", "--target", "race=X", *ROLES], "--target names race = 'X', which is not in the data"),
        (["DATA", "--by", "race", "--target", "rset", *ROLES], "--target must be a number, 'overall', 'rest'"),
        (["DATA", "--by", "age", "--bins", "age", *ROLES], "--bins must look like age=25,45 or age=62 or age=4"),
        (
            ["DATA", "--by", "race", "--metric", "fpr", "--positive", "a", "--positive", "b", *ROLES],
            "--positive labels 'a' and 'b' do not occur",
        ),
        (["DATA", "--by", "race", "--chart", "x.pdf", *ROLES], "the chart's file must end in .html, .svg or .png"),
        (["DATA", "--by", "race", "--missing", "skip", *ROLES], "Audit: --missing must be one of"),
    ],
)  # fmt: skip
def test_bad_input_is_one_message(run, compas, arguments, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("measure", *[compas if word == "DATA" else word for word in arguments])
    assert code == 2
    assert text in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_what_the_parser_refuses(run, compas):
    code, _, err = run("measure", compas, *ROLES)
    assert code == 2
    assert "--by" in err
    assert run("measure", compas, "--by", "race", "--threshold", "high")[0] == 2


@pytest.mark.slow
def test_as_a_program(compas):
    command = [
        sys.executable,
        "-c",
        "from fairtrial.cli import main; main()",
        "measure",
        compas,
        "--by",
        "race",
    ]
    good = subprocess.run([*command, *ROLES], capture_output=True, text=True, encoding="utf-8")
    assert good.returncode == 0
    assert "African-American" in good.stdout
    bad = subprocess.run(
        [*command, *ROLES, "--metric", "no"], capture_output=True, text=True, encoding="utf-8"
    )
    assert bad.returncode == 2
    assert bad.stdout == ""
    assert len(bad.stderr.strip().splitlines()) == 1
