"""The three commands from files to terminal, JSON, CSV and chart."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import fairtrial
from inside.cli import program

COMPAS = ["--outcome", "two_year_recid", "--score", "decile_score", "--threshold", "5"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "compas.csv"
    fairtrial.load("compas", backend="pandas").to_csv(path, index=False)
    return str(path)


def run(*arguments):
    return CliRunner().invoke(program, [str(argument) for argument in arguments])


def test_certify_prints_and_writes(data, tmp_path):
    chart, table = tmp_path / "c.svg", tmp_path / "c.csv"
    done = run(
        "certify", data, *COMPAS, "--by", "race", "--metric", "ppv", "--target", "race=Caucasian",
        "--tolerance", "0.05", "--chart", chart, "--csv", table,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "undetermined: positive predictive value is certified within 5.0 points" in done.output
    assert chart.read_text(encoding="utf-8").startswith("<svg")
    assert table.read_text(encoding="utf-8").startswith("metric,value_kind,group")


def test_flag_json(data):
    done = run(
        "flag",
        data,
        *COMPAS,
        "--by",
        "race",
        "--by",
        "sex",
        "--metric",
        "fpr",
        "--tolerance",
        "0.05",
        "--favourable",
        "0",
        "--json",
        "-",
    )
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    assert [row["group"] for row in content["estimates"] if row["flagged"]] == [
        "race: African-American", "race: African-American, sex: Male",
    ]  # fmt: skip


def test_plan_prints():
    done = run("plan", "--metric", "fpr", "--rate", "0.2", "--tolerance", "0.05", "--disparity", "0.1")
    assert done.exit_code == 0, done.output
    assert "members per group to certify within 5.0 points" in done.output


def test_bad_input_is_one_message(data):
    done = run("certify", data, *COMPAS, "--by", "race", "--metric", "fpr", "--tolerance", "five")
    assert done.exit_code != 0
    assert "certify: --tolerance must be" in str(done.exception)
    assert "got 'five'" in str(done.exception)
