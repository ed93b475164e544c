"""`fairtrial explain`: from a file to text, JSON, CSV and a chart; faults in one line with exit code 2."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest

import fairtrial


@pytest.fixture(scope="module")
def compas(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "compas.csv"
    fairtrial.load("compas", backend="pandas").head(1500).to_csv(path, index=False)
    return str(path)


def run(*arguments):
    command = [sys.executable, "-c", "from fairtrial.cli import main; main()", "explain", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_text_json_csv_and_chart(compas, tmp_path):
    paths = {kind: str(tmp_path / f"result.{kind}") for kind in ("json", "csv", "svg")}
    done = run(
        compas, "--by", "sex", "--feature", "priors_count", "--feature", "age", "--outcome", "two_year_recid",
        "--metric", "fpr", "--target", "sex=Female", "--model", "tree",
        "--json", paths["json"], "--csv", paths["csv"], "--chart", paths["svg"],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "contribution to the gap" in done.stdout
    assert "Feature tests are about drivers" in done.stdout
    with open(paths["json"], encoding="utf-8") as file:
        content = json.load(file)
    assert content["kind"] == "explain"
    with open(paths["csv"], encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(content["estimates"])
    with open(paths["svg"], encoding="utf-8") as file:
        assert "<svg" in file.read()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "fprr"], "--metric is unknown: 'fprr'. Did you mean 'fpr'?"),
        (["--metric", "fpr", "--model", "forrest"], "Did you mean 'forest'?"),
        (["--metric", "fpr", "--target", "Female"], "--target must be"),
    ],
)
def test_faults_are_one_line_and_exit_code_2(compas, arguments, message):
    done = run(compas, "--by", "sex", "--feature", "age", "--outcome", "two_year_recid", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
