"""`fairtrial improve` from a file to the terminal, JSON, CSV and charts."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from fairtrial import load_rule
from inside.cli import program

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("improve") / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["race", "need", "proxy", "outcome", "decision", "better"])
        for _ in range(2500):
            group = int(rng.integers(2))
            need, proxy = rng.normal(size=2)
            outcome = int(need + 0.5 * rng.normal() > 0)
            decision = int(need + (0.8 + 0.7 * group) * proxy - 0.6 * group > 0)
            writer.writerow(
                ["White" if group == 0 else "Black", need, proxy, outcome, decision, int(need > 0)]
            )
    return str(path)


QUICK = [
    "--outcome",
    "outcome",
    "--decision",
    "decision",
    "--metric",
    "tpr",
    "--splits",
    "3",
    "--bootstrap",
    "200",
]


def test_a_candidate_column(data, tmp_path):
    files = {kind: str(tmp_path / f"out.{kind}") for kind in ("json", "csv", "svg")}
    outputs = ["--json", files["json"], "--csv", files["csv"], "--chart", files["svg"]]
    command = [data, "--by", "race", "--candidate", "fixed=better", *QUICK, *outputs]
    done = RUNNER.invoke(program, ["improve", *command], catch_exceptions=False)
    assert done.exit_code == 0
    assert "a less discriminatory alternative exists" in done.stdout
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["kind"] == "improve"
    assert content["details"]["p_value"] < 0.05
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 1 + 3 * 3
    assert (tmp_path / "out.svg").read_text().startswith("<svg")


def test_groups_constraints_and_delta(data):
    command = [
        data, "--by", "race=White", "--by", "race=Black", "--feature", "need", "--feature", "proxy",
        "--constraint", "rising=need", "--constraint", "banned=proxy", "--margin", "White=0.02,Black=0.01,gap=-0.1",
        "--json", "-", *QUICK,
    ]  # fmt: skip
    done = RUNNER.invoke(program, ["improve", *command], catch_exceptions=False)
    assert done.exit_code == 0
    content = json.loads(done.stdout)
    assert content["details"]["claim"]["reduction"] == 0.1
    assert content["details"]["claim"]["margins"] == [[0.02, 0.01]]
    assert content["details"]["claim"]["groups"] == ["White", "Black"]
    assert content["provenance"]["arguments"]["constraints"]["banned"] == ["proxy"]


def test_save_and_apply(data, tmp_path):
    rule, out = str(tmp_path / "rule.skops"), tmp_path / "decisions.csv"
    command = [data, "--by", "race", "--candidate", "portfolio", "--feature", "need", "--feature", "proxy"]
    done = RUNNER.invoke(program, ["improve", *command, "--save", rule, *QUICK], catch_exceptions=False)
    assert done.exit_code == 0
    applied = RUNNER.invoke(program, ["apply", rule, data, "--csv", str(out)], catch_exceptions=False)
    assert applied.exit_code == 0
    decisions = [int(row["decision"]) for row in csv.DictReader(out.read_text().splitlines())]
    assert decisions == load_rule(rule).predict(data).tolist()
    assert f"{sum(decisions):,} of 2,500 rows are selected" in applied.stdout
    card = RUNNER.invoke(program, ["apply", rule, data, "--card"], catch_exceptions=False)
    assert json.loads(card.stdout)["rows"] == 2500
    plain = RUNNER.invoke(program, ["apply", rule, data], catch_exceptions=False)
    assert "row,decision,score" in plain.stdout
    refused = RUNNER.invoke(program, ["apply", data, data])
    assert "cannot be read as a rule" in str(refused.exception)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--feature", "need", "--constraint", "rising"], "--constraint"),
        (["--feature", "need", "--margin", "a,b"], "--margin must be"),
        (["--feature", "need", "--constraint", "capacity=lots"], "the capacity must be"),
        (["--candidate", "bettr"], "Did you mean 'better'"),
    ],
)
def test_bad_options_are_one_clear_message(data, extra, message):
    done = RUNNER.invoke(program, ["improve", data, "--by", "race", *QUICK, *extra])
    assert done.exit_code != 0
    assert message in str(done.exception)
