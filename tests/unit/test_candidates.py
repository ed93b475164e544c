"""Candidates: adapters, thresholds, utilities, the portfolio, fairlearn and the programs."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from fairtrial import METRICS, Audit, Estimator, InputError, Metric, role
from inside.data import Coded
from inside.improve import (
    Inputs,
    Payoff,
    Rule,
    SeenRows,
    Worth,
    capacity_threshold,
    evaluate,
    find_worth,
    reweighing,
)
from inside.papers import LinearProgram
from oracles.improve_data import audit_of, misled_people
from validity.improve_asked import improve

QUICK = {"splits": 2, "bootstrap": 200, "by": "group"}


# -- thresholds and utilities ---------------------------------------------------------------------------------


def test_a_capacity_is_never_exceeded_by_more_than_one_row_whatever_the_ties():
    rng = np.random.default_rng(0)
    for scores in (rng.normal(size=997), rng.integers(0, 5, 997), np.zeros(50)):
        for capacity in (0.03, 0.2, 0.5):
            threshold = capacity_threshold(scores.astype(float), capacity)
            assert np.mean(scores >= threshold) <= capacity + 1 / scores.size


def test_the_threshold_is_the_articles_percentile_without_ties():
    scores = np.random.default_rng(1).normal(size=1000)
    assert capacity_threshold(scores, 0.03) == np.percentile(scores, 97)


@pytest.mark.parametrize("name", sorted(set(METRICS) - {"base_rate", "calibration", "calibration_negative"}))
def test_every_metric_is_a_pair_with_the_level_the_audit_measures(name):
    """Σu/Σw under the status quo equals the mean the audit's own cells give."""
    rng = np.random.default_rng(2)
    rows = 300
    data = pd.DataFrame(
        {
            "y": rng.integers(0, 2, rows),
            "d": rng.integers(0, 2, rows),
            "s": rng.uniform(0.05, 0.95, rows),
            "g": rng.choice(["a", "b"], rows),
        }
    )
    audit = Audit(data, outcome="y", decision="d", score="s", groups="g")
    cells = audit.cells(["g"], [METRICS[name]])
    expected = cells.total[name] / cells.count[name]
    seen = SeenRows(data["y"].to_numpy(float), {}, {})
    worth = find_worth("improve", "fairness", name, accuracy=False)
    u, w = evaluate(worth, seen, data["d"].to_numpy(float), data["s"].to_numpy(float))
    group = (data["g"] == "b").to_numpy(int)
    np.testing.assert_allclose(np.bincount(group, u) / np.bincount(group, w), expected, rtol=1e-12)


def test_payoffs_and_conditions():
    decision = np.array([1.0, 0.0, 1.0, 0.0])
    seen = SeenRows(
        None, {"gain": np.array([5.0, 6.0, 7.0, 8.0])}, {"site": Coded(np.array([0, 0, 1, 1]), ("x", "y"))}
    )
    u, w = evaluate(Worth(Payoff("profit", "gain", -1)), seen, decision, None)
    assert u.tolist() == [5, -1, 7, -1]
    assert w.tolist() == [1, 1, 1, 1]
    metric = Metric("gain at y", value="gain", given={role.decision: 1, "site": "y"})
    u, w = evaluate(Worth(metric), seen, decision, None)
    assert u.tolist() == [0, 0, 7, 0]
    assert w.tolist() == [0, 0, 1, 0]


def test_metrics_of_the_score_compare_scores():
    data = misled_people(800)
    data["old_score"] = np.clip(data["need"] * 0.1 + data["proxy"] * 0.2 + 0.5, 0.01, 0.99)
    audit = audit_of(data, score="old_score")
    result = improve(audit, "tpr", "brier", candidates=[LogisticRegression()], absolute=True, **QUICK)
    row = result.estimates[0]
    assert 0 < row["alternative"] < row["status_quo"]  # a lower Brier score is better, and shown as it is
    assert row["p_value"] < 0.05


# -- adapters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_pipelines_that_name_columns_get_the_frame(frame):
    pipeline = make_pipeline(
        # Not sparse: before 1.8 scikit-learn cannot put a sparse part beside columns of a Polars frame.
        ColumnTransformer(
            [("sector", OneHotEncoder(sparse_output=False), ["sector"])], remainder="passthrough"
        ),
        LogisticRegression(max_iter=500),
    )
    result = improve(
        audit_of(frame(misled_people(800))),
        "tpr",
        candidates=[pipeline],
        rising="need",
        **QUICK,
    )
    assert result.details["candidates"] == ["Pipeline"]


def test_frames_and_files_agree(tmp_path):
    data = misled_people(600)
    path = tmp_path / "people.csv"
    data.to_csv(path, index=False)
    given = {"candidates": [LogisticRegression()], **QUICK}
    values = [
        improve(audit_of(source), "tpr", **given).details["splits"]
        for source in (data, pl.from_pandas(data), str(path))
    ]
    assert values[0] == values[1] == values[2]


def test_a_function_may_return_scores_or_decisions():
    def scored(train):
        return lambda inputs: inputs.matrix[:, 0]

    def decided(train):
        limit = np.quantile(train.matrix[:, 0], 1 - train.decision.mean())
        return lambda inputs: inputs.matrix[:, 0] >= limit

    audit = audit_of(misled_people(800))
    first, second = (improve(audit, "tpr", candidates=[f], **QUICK) for f in (scored, decided))
    assert [s["components"] for s in first.details["splits"]] == [
        s["components"] for s in second.details["splits"]
    ]


def test_faults_of_candidates_are_named():
    audit = audit_of(misled_people(300))

    def no_rule(train):
        return 3

    def wrong_size(train):
        return lambda inputs: np.zeros(3)

    class Broken(LogisticRegression):
        def fit(self, x, y):
            raise RuntimeError("out of luck")

    for candidate, message in (
        (no_rule, "'no_rule' must return a rule"),
        (wrong_size, "'wrong_size' must give one finite number per row"),
        (Broken(), "'Broken' could not be fitted: out of luck"),
        (Estimator(Ridge(), features=("age",)), "uses 'age', which is not a feature of the audit"),
    ):
        with pytest.raises(InputError, match=message):
            improve(audit, "tpr", candidates=[candidate], **QUICK)


def test_a_rule_applies_to_new_people_and_refuses_new_labels():
    audit = audit_of(misled_people(2000))
    result = improve(audit, "tpr", candidates=[LogisticRegression()], **{**QUICK, "splits": 3})
    fresh = misled_people(200, seed=9)
    decisions = result.rule.predict(audit_of(fresh))
    assert set(decisions) == {0.0, 1.0}
    one_sector = fresh[fresh["sector"] == "public"]
    np.testing.assert_array_equal(
        result.rule.predict(audit_of(one_sector)), decisions[(fresh["sector"] == "public").to_numpy()]
    )
    with pytest.raises(InputError, match=r"not fitted with the labels \['church'\] of 'sector'"):
        result.rule.predict(audit_of(fresh.assign(sector="church")))


def test_a_rule_must_decide_by_zero_and_one():
    rule = Rule("odd", lambda inputs: np.full(len(inputs), 0.5))
    with pytest.raises(InputError, match="must give decisions 0 and 1"):
        rule.outcome_of(Inputs(np.zeros((2, 1)), ("x",)))


# -- built-in candidates ----------------------------------------------------------------------------------------


def test_reweighing_makes_group_and_outcome_independent():
    rng = np.random.default_rng(3)
    group = rng.integers(0, 2, 400)
    outcome = (rng.random(400) < np.where(group == 1, 0.3, 0.6)).astype(float)
    weight = reweighing(outcome, group, True)
    rates = [np.average(outcome[group == g], weights=weight[group == g]) for g in (0, 1)]
    assert rates == pytest.approx([outcome.mean()] * 2)


def test_the_portfolio_runs_with_a_capacity_and_a_real_outcome():
    audit = audit_of(misled_people(900), outcome="conditions")
    result = improve(audit, "ppv", "ppv", capacity="status quo", **{**QUICK, "splits": 1})
    assert result.details["claim"]["accuracy_labels"] == ["mean outcome of the selected"]
    assert not any("fairlearn" in name for name in result.details["candidates"])


def test_reductions_where_fairlearn_is_installed():
    pytest.importorskip("fairlearn")
    audit = audit_of(misled_people(900))
    result = improve(audit, "selection_rate", candidates=["reductions"], **QUICK)
    assert all(split["candidate"].startswith("fairlearn reductions") for split in result.details["splits"])
    with pytest.raises(InputError, match="'reductions' needs a binary outcome"):
        improve(audit, "selection_rate", candidates=["reductions"], capacity=0.3, **QUICK)


@pytest.mark.parametrize("program", ["F.5", "F.6"])
def test_the_classification_programs_are_candidates(program):
    audit = audit_of(misled_people(500), features=["need", "proxy"])
    candidate = LinearProgram(program, rows=20, seconds=5)
    result = improve(audit, "accuracy", candidates=[candidate], **{**QUICK, "splits": 1})
    assert "20 rows" in result.details["splits"][0]["proved"]
    assert any(note.code == "time-limit" for note in result.notes)


def test_the_selection_program_is_a_candidate():
    audit = audit_of(misled_people(500), outcome="conditions", features=["need", "proxy"])
    candidate = LinearProgram("P'", rows=16, seconds=10)
    result = improve(audit, "ppv", "ppv", candidates=[candidate], capacity=0.3, **{**QUICK, "splits": 1})
    assert "16 rows" in result.details["splits"][0]["proved"]
