"""`fairtrial transport` from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fairtrial
from fairtrial import FairtrialError
from inside.cli import program

BASIC = ["--by", "race", "--outcome", "two_year_recid", "--score", "decile_score", "--threshold", "5"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "compas.csv"
    fairtrial.load("compas", backend="polars").drop("days_b_screening_arrest").write_csv(path)
    return str(path)


def _run(*arguments: str) -> str:
    done = CliRunner().invoke(program, ["transport", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_table_in_and_files_out(table: str, tmp_path: Path) -> None:
    saved, chart, lines = tmp_path / "out.json", tmp_path / "out.svg", tmp_path / "out.csv"
    text = _run(
        table, *BASIC[2:], "--metric", "equal_opportunity",
        "--by", "race=African-American", "--by", "race=Caucasian",
        "--json", str(saved), "--chart", str(chart), "--csv", str(lines),
    )  # fmt: skip
    assert "violated: true positive rate" in text
    content = json.loads(saved.read_text())
    assert content["kind"] == "transport"
    audit = fairtrial.Audit(table, outcome="two_year_recid", score="decile_score", threshold=5)
    same = fairtrial.transport(
        audit, "equal_opportunity", by=[{"race": "African-American"}, {"race": "Caucasian"}]
    )
    assert content["details"]["statistic"] == pytest.approx(same.statistic)
    assert chart.read_text().startswith("<svg")
    assert lines.read_text().count("\n") == 3


def test_a_linear_rule_from_a_file(table: str, tmp_path: Path) -> None:
    rule = tmp_path / "rule.json"
    rule.write_text(json.dumps({"coefficients": {"decile_score": 1.0}, "intercept": -4.5}))
    text = _run(table, *BASIC, "--metric", "equalized_odds", "--distance", str(rule), "--norm", "l1")
    assert "units of the features" in text
    rule.write_text("[1, 2]")
    with pytest.raises(FairtrialError, match="--distance"):
        _run(table, *BASIC, "--metric", "equalized_odds", "--distance", str(rule))
    with pytest.raises(FairtrialError, match="--distance"):
        _run(table, *BASIC, "--metric", "equalized_odds", "--distance", str(tmp_path / "none.json"))


def test_conditional_parity_tolerance_and_target(table: str) -> None:
    text = _run(
        table, *BASIC, "--metric", "conditional_parity", "--within", "c_charge_degree", "--tolerance", "0.05",
        "--direction", "above", "--target", "race=Caucasian",
    )  # fmt: skip
    assert "c_charge_degree F" in text


def test_bad_input_is_one_message(table: str) -> None:
    with pytest.raises(FairtrialError, match="certify"):
        _run(table, *BASIC, "--metric", "predictive_parity")
    with pytest.raises(FairtrialError, match="--direction must be one of"):
        _run(table, *BASIC, "--metric", "equalized_odds", "--direction", "both")
