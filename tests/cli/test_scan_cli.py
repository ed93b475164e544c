"""`fairtrial scan` on a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import fairtrial
from inside.cli import program


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scan") / "compas.csv"
    fairtrial.load("compas", backend="pandas").to_csv(path, index=False)
    return path


def command(data: Path, *options: str, name: str = "scan") -> Result:
    roles = ["--outcome", "two_year_recid", "--score", "decile_score", "--threshold", "5"]
    by = [part for name in ("race", "sex", "age_cat") for part in ("--by", name)]
    return CliRunner().invoke(program, [name, str(data), *by, *roles, *options])


def test_one_protected_class(data: Path, tmp_path: Path) -> None:
    chart, table = tmp_path / "scan.png", tmp_path / "scan.csv"
    done = command(
        data, "--protected", "race=African-American", "--metric", "fpr", "--permutations", "99", "--json", "-",
        "--chart", str(chart), "--csv", str(table),
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    content: dict[str, Any] = json.loads(done.stdout)
    assert content["kind"] == "scan"
    assert content["verdict"]["code"] == "found"
    assert content["estimates"][0]["p_value"] == 0.01
    assert chart.stat().st_size > 5_000
    assert table.read_text().startswith("rank,protected,subgroup")


@pytest.mark.filterwarnings("ignore:scan:fairtrial.FairtrialWarning")  # the app alone, not main
def test_every_value(data: Path) -> None:
    done = command(data, "--metric", "fpr", "--permutations", "1999")
    assert done.exit_code == 0, done.output
    assert "African-American" in done.stdout
    assert "adjusted p" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--protected", "rase"], "--protected names the unknown column 'rase'"),
        (["--protected", "race=Martian"], "not in the data"),
        (["--protected", "race=Asian", "--null", "stratifed"], "Did you mean 'stratified'"),
        (["--protected", "race=Asian", "--metric", "fprr"], "Did you mean 'fpr'"),
    ],
)
def test_bad_input_is_one_clear_message(data: Path, options: list[str], message: str) -> None:
    done = command(data, "--metric", "fpr", *options)
    assert message in str(done.exception)


def test_the_protected_attribute_is_no_feature(data: Path) -> None:
    """--by may name it; a --feature is refused, since it cannot tell subgroups of the class apart."""
    done = command(
        data, "--metric", "fpr", "--protected", "race=African-American", "--feature", "race", "--permutations", "19"
    )  # fmt: skip
    assert done.exit_code != 0
    assert str(done.exception).startswith("scan: --feature")
    assert "names 'race' alone, which defines the protected class" in str(done.exception)


def test_options_of_the_search(data: Path) -> None:
    """Controls, ranges of raw numbers, a target; what belongs to the article is no option."""
    roles = ["--outcome", "two_year_recid", "--score", "decile_score", "--threshold", "5", "--by", "race"]
    base = [
        str(data),
        *roles,
        "--metric",
        "fpr",
        "--protected",
        "race=African-American",
        "--permutations",
        "19",
    ]
    features = ["--feature", "sex", "--feature", "age", "--within", "priors_count"]
    done = CliRunner().invoke(program, ["scan", *base, *features, "--json", "-"])
    assert done.exit_code == 0, done.output
    content: dict[str, Any] = json.loads(done.stdout)
    assert content["provenance"]["arguments"]["within"] == ["priors_count"]
    assert {row["attribute"] for row in content["details"]["values"]} == {"sex", "age"}
    assert len([row for row in content["details"]["values"] if row["attribute"] == "age"]) == 8
    other = ["--null", "stratified", "--target", "race=Caucasian"]
    assert CliRunner().invoke(program, ["scan", *base, *features, *other]).exit_code == 0
    wrong = CliRunner().invoke(program, ["scan", *base, "--feature", "sex", "--sigma", "1"])
    assert wrong.exit_code != 0


def test_the_article_has_a_command_of_its_own(data: Path) -> None:
    roles = ["--outcome", "two_year_recid", "--score", "decile_score", "--threshold", "5", "--by", "race"]
    asked = ["--metric", "fpr", "--protected", "race=African-American", "--feature", "sex", "--null", "none"]
    done = CliRunner().invoke(
        program, ["papers", "conditional_bias_scan", "scan", str(data), *roles, *asked, "--json", "-"]
    )
    assert done.exit_code == 0, done.output
    content: dict[str, Any] = json.loads(done.stdout)
    assert content["kind"] == "papers.conditional_bias_scan.scan"
    assert content["details"]["score"] == "article"


def test_the_article_in_an_audit_file(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "audit.toml"
    file.write_text(
        f"""
        [data]
        source = "{data}"
        outcome = "two_year_recid"
        score = "decile_score"
        threshold = 5
        groups = ["race", "sex"]

        [papers.conditional_bias_scan]
        metric = "fpr"
        protected = {{ race = "African-American" }}
        search = "exact"
        permutations = 19
        """
    )
    trial = fairtrial.run(file, trust=True)
    (answer,) = trial.answers
    assert answer.result.kind == "papers.conditional_bias_scan.scan"
    assert answer.result.details["score"] == "article"
    assert answer.result.provenance["arguments"]["sigma"] == 1.0
