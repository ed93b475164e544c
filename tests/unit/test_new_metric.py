"""A metric with a new loss is one row of METRICS and its value function: every method and front end takes it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from fairtrial import (
    METRICS,
    Audit,
    FairtrialWarning,
    Metric,
    certify,
    explain,
    flag,
    improve,
    measure,
    plan,
    run,
    scan,
    transport,
)
from frames.makers import KINDS, make
from inside.cli import program
from inside.ground import NotApplicable
from inside.metrics import Role

QUANTILE = 0.9


def pinball(ops, score, outcome):
    """The loss of a score as a quantile of the outcome."""
    return ops.where(outcome >= score, QUANTILE * (outcome - score), (1 - QUANTILE) * (score - outcome))


def people(n=400):
    random = np.random.default_rng(5)
    outcome = random.integers(0, 2, n)
    skill = outcome + random.normal(0, 1, n)
    score = np.round(1 / (1 + np.exp(0.5 - skill)), 6)
    return {
        "group": np.array(["a", "b"])[random.integers(0, 2, n)].tolist(),
        "skill": np.round(skill, 6).tolist(),
        "age": random.integers(18, 70, n).tolist(),
        "outcome": outcome.tolist(),
        "score": score.tolist(),
        "decision": (score >= 0.5).astype(int).tolist(),
    }


COLUMNS = people()
ROLES = {"outcome": "outcome", "score": "score", "decision": "decision"}
GROUP, Y, S = (np.array(COLUMNS[name]) for name in ("group", "outcome", "score"))
LOSS = np.where(Y >= S, 0.9 * (Y - S), 0.1 * (S - Y))
MEAN = {name: float(LOSS[name == GROUP].mean()) for name in "ab"}


@pytest.fixture(autouse=True)
def the_row(monkeypatch):
    """One row for the time of a test."""
    loss = Role("pinball", ("score", "outcome"), "the pinball loss of the score", pinball)
    monkeypatch.setitem(METRICS, "pinball", Metric("pinball", loss, label="pinball loss", hurts="above"))


@pytest.fixture
def audit(tmp_path, request):
    return Audit(
        make("pandas", COLUMNS, tmp_path, request), groups="group", features=["skill", "age"], **ROLES
    )


def rates(result):
    return {row["group"]: row["rate"] for row in result.estimates}


@pytest.mark.filterwarnings("ignore:The rows stay in Spark")
@pytest.mark.parametrize("kind", KINDS)
def test_every_engine_gives_the_mean_by_hand(kind, tmp_path, request):
    audit = Audit(make(kind, COLUMNS, tmp_path, request), groups="group", **ROLES)
    assert rates(measure(audit, "pinball")) == pytest.approx(MEAN, rel=1e-12)
    assert certify(audit, "pinball", tolerance=0.1, target=0.2).estimates[0]["group"] == "a"


def test_gaps(audit):
    gap = MEAN["a"] - MEAN["b"]
    certified = certify(audit, "pinball", target={"group": "b"}, tolerance=0.1)
    assert rates(certified)["a"] == pytest.approx(MEAN["a"], rel=1e-12)
    assert certified.estimates[0]["difference"] == pytest.approx(gap, rel=1e-9)
    flagged = flag(audit, "pinball")
    assert {row["group"] for row in flagged.estimates} == {"a", "b"}
    assert plan("pinball", deviation=float(LOSS.std()), tolerance=0.1).estimates[0]["members"] > 0


def test_methods_of_rates_refuse_it_by_name(audit):
    with pytest.raises(NotApplicable, match=r"'pinball' is real-valued.*Use flag or certify"):
        scan(audit, "pinball", protected={"group": "a"})
    with pytest.raises(NotApplicable, match=r"'pinball' is not a rate of decisions.*Use certify"):
        transport(audit, "pinball")


def test_rules_and_models_are_valued_by_it(audit):
    with pytest.warns(FairtrialWarning, match="another system than the audited one"):
        explained = explain(audit, "pinball", model="tree")
    total = sum(row["difference"] for row in explained.estimates if row["part"] == "contribution to the gap")
    (gap,) = [row for row in explained.estimates if row["part"] == "gap of the explained system"]
    assert total == pytest.approx(gap["difference"], abs=1e-10)
    assert explained.gap["difference"] == pytest.approx(MEAN["a"] - MEAN["b"], rel=1e-9)
    improved = improve(
        audit,
        "tpr",
        "pinball",
        by="group",
        candidates=[LogisticRegression()],
        splits=3,
        bootstrap=200,
        margin={"absolute": 0.0},
    )
    old = [
        row["status_quo"] for row in improved.estimates if row["part"] == "accuracy" and row["group"] == "a"
    ]
    assert len(old) == 3
    assert np.abs(np.abs(old) - MEAN["a"]).max() < 0.05  # of halves of the rows


def test_the_file_and_the_command_line(tmp_path, request):
    path = str(make("csv", COLUMNS, tmp_path, request))
    content = {
        "data": {"source": path, "groups": ["group"], **ROLES},
        "measure": {"metric": ["pinball"]},
        "certify": {"metric": "pinball", "tolerance": 0.1},
    }
    assert rates(run(content).results["measure"]) == pytest.approx(MEAN, rel=1e-12)
    asked = [item for name in ROLES for item in (f"--{name}", name)]
    done = CliRunner().invoke(
        program, ["measure", path, "--by", "group", "--metric", "pinball", *asked, "--json", "-"]
    )
    assert done.exit_code == 0, done.output
    assert {row["group"]: row["rate"] for row in json.loads(done.stdout)["estimates"]} == pytest.approx(
        MEAN, rel=1e-12
    )
