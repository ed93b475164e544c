"""The table of metrics, and metrics that callers make."""

from __future__ import annotations

from typing import get_args

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from fairtrial import (
    CRITERIA,
    METRICS,
    Audit,
    InputError,
    Metric,
    certify,
    flag,
    improve,
    load,
    measure,
    role,
)
from inside.data import EXPRESSIONS
from inside.metrics import ALIASES, ROLES, MetricName, find_metric, find_metrics

NAMES = [
    "selection_rate", "mean_decision", "base_rate", "tpr", "fpr", "tnr", "fnr", "ppv", "npv", "fdr", "for", "accuracy",
    "error_rate", "mean_score", "balance_positive", "balance_negative", "calibration", "calibration_negative", "brier",
    "log_loss", "squared_error", "absolute_error",
]  # fmt: skip


def test_the_table_is_complete():
    assert list(METRICS) == NAMES
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.label
        assert metric.equal
        assert metric.harm, "says which direction hurts whom, or why none does"
        assert metric.needs <= {"decision", "outcome", "score"}


@pytest.mark.parametrize(
    ("name", "needs", "binary"),
    [
        ("selection_rate", {"decision"}, True),
        ("tpr", {"decision", "outcome"}, True),
        ("ppv", {"decision", "outcome"}, None),
        ("base_rate", {"outcome"}, None),
        ("brier", {"score", "outcome"}, False),
        ("mean_score", {"score"}, False),
        ("calibration", {"score", "outcome"}, None),
    ],
)
def test_what_metrics_need(name, needs, binary):
    assert METRICS[name].needs == needs
    assert METRICS[name].binary is binary


def test_who_is_hurt():
    assert METRICS["fpr"].hurts == "above"
    assert METRICS["tpr"].hurts == "below"
    assert METRICS["selection_rate"].hurts is None


def test_a_real_outcome_is_refused_where_it_conditions():
    """npv, fdr average 'no outcome', which a real-valued outcome does not have."""
    refusing = {name for name, metric in METRICS.items() if metric.conditions_on_outcome}
    assert refusing == {"tpr", "fpr", "tnr", "fnr", "npv", "fdr", "accuracy", "error_rate", "balance_positive",
                        "balance_negative", "calibration_negative", "log_loss"}  # fmt: skip


def test_criteria_are_built_from_metrics():
    assert {"equalized_odds", "separation", "sufficiency", "statistical_parity", "equal_opportunity",
            "predictive_parity"} <= set(CRITERIA)  # fmt: skip
    for names in CRITERIA.values():
        assert set(names) <= set(METRICS)
    assert [metric.name for metric in find_metrics("x", ["equalized_odds", "tpr", "brier"])] == [
        "tpr",
        "fpr",
        "brier",
    ]


def test_metrics_of_ones_own():
    made = Metric("late_fee", "fee", {role.decision: 1, "region": ["north", "west"]})
    assert made.label == "late fee"
    assert made.needs == {"decision"}
    assert made.columns == ("fee", "region")
    assert made.binary is None
    again = find_metric("x", made.to_dict())
    assert again.value == "fee"
    assert again.conditions == made.conditions
    expression = Metric("x", role.decision, nw.col("age") > 3)
    assert expression.expression is not None
    assert expression.conditions == {}


def test_metrics_from_files():
    made = find_metric("spec", {"name": "m", "value": "role.decision", "given": {"role.outcome": 1, "sex": "F"},
                                "hurts": "above", "label": "misses"})  # fmt: skip
    assert made.value is role.decision
    assert made.conditions == {role.outcome: (1,), "sex": ("F",)}
    assert made.hurts == "above"


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        ("fprr", "'metric' is unknown: 'fprr'. Did you mean 'fpr'?"),
        (3, "'metric' is unknown: 3."),
        ("equalized_odds", "It is a criterion that joins tpr and fpr: ask for those."),
        ({"name": "m"}, "a metric needs 'name' and 'value'"),
        ({"name": "m", "value": "x", "gven": {}}, "a metric needs 'name' and 'value'"),
        ({"name": "m", "value": "role.decison"}, "unknown role 'role.decison'"),
        ({"name": "m", "value": "x", "given": "age > 3"}, "'given' must be a dict"),
        ({"name": "m", "value": "x", "hurts": "left"}, "'hurts' must be"),
    ],
)
def test_unknown_metrics(metric, text):
    with pytest.raises(InputError) as caught:
        find_metric("certify", metric)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("", role.decision), "'name' must be a non-empty text"),
        ((3, role.decision), "'name' must be a non-empty text, got 3"),
        (("m", 3), "'value' must be a role or a column name, got 3"),
        (("m", "x", [1]), "'given' must be a dict {name: value(s)} or a narwhals expression, got list"),
        (("m", "x", {3: 1}), "'given' must have roles or column names as keys, got 3"),
        (
            ("m", "x", {role.correct: 1}),
            "'given' takes role.decision, role.outcome, role.score or role.score_bin",
        ),
        (("m", role.score_bin), "'value' must be a role with a number"),
    ],
)
def test_faults_of_metrics(arguments, text):
    with pytest.raises(InputError) as caught:
        Metric(*arguments)
    assert text in str(caught.value)


def test_two_metrics_of_one_name():
    one, other = Metric("m", "x"), Metric("m", "y")
    assert find_metrics("x", [one, Metric("m", "x")]) == [one]
    with pytest.raises(InputError, match="two different metrics are both named 'm'"):
        find_metrics("x", [one, other])
    with pytest.raises(InputError, match="'metric' is empty"):
        find_metrics("x", [])
    conditions = [Metric("m", "x", nw.col("a") > limit) for limit in (1, 2)]
    with pytest.raises(InputError, match="two different metrics are both named 'm'"):
        find_metrics("x", conditions)


def test_roles_say_what_they_are():
    assert repr(role.decision) == "role.decision"
    assert all(part.words for part in ROLES.values())


@pytest.mark.parametrize("name", sorted(set(ROLES) - {"score_bin"}))
def test_a_value_is_the_same_of_arrays_and_of_expressions(name):
    parts = {
        "score": np.array([0.0, 1.0, 0.3, 0.8, 1e-20, -0.1, 1.1]),
        "outcome": np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0]),
        "decision": np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0]),
    }
    expression = ROLES[name].of({part: nw.col(part) for part in parts}, EXPRESSIONS)
    frame = nw.from_native(pd.DataFrame(parts)).select(x=expression)
    np.testing.assert_allclose(frame["x"].to_numpy(), ROLES[name].of(parts), rtol=1e-15)


def test_log_loss_of_what_is_no_probability_is_refused_everywhere():
    loss = role.log_loss.of({"score": np.array([-0.1, 1.1, 1.0]), "outcome": np.array([0.0, 1.0, 1.0])})
    assert np.isinf(loss).tolist() == [True, True, False]
    random = np.random.default_rng(0)
    data = pd.DataFrame(
        {"g": ["a", "b"] * 100, "y": random.integers(0, 2, 200), "s": random.normal(size=200)}
    )
    audit = Audit(data, outcome="y", score="s", threshold=0.0, groups="g")
    with pytest.raises(InputError, match="log loss needs scores from 0 to 1, but score 's' has others"):
        measure(audit, "log_loss")
    with pytest.raises(InputError, match="'log_loss' needs scores from 0 to 1"):
        improve(
            audit,
            "log_loss",
            candidates={"fixed": "s"},
            splits=3,
            margin={"absolute": 0.0},
        )


@pytest.mark.parametrize("ask", [measure, certify, flag])
def test_brier_of_what_is_no_probability_is_refused(ask):
    data = pd.DataFrame({"g": list("ab") * 50, "s": np.linspace(0, 100, 100), "y": [0, 1] * 50})
    with pytest.raises(InputError, match="brier needs scores from 0 to 1, but score 's' has others"):
        ask(Audit(data, outcome="y", score="s", groups="g"), "brier")
    audit = Audit(data.assign(s=data["s"] / 100), outcome="y", score="s", groups="g")
    rates = [row["rate"] for row in measure(audit, "brier").estimates]
    assert rates == [row["rate"] for row in measure(audit, "squared_error").estimates]
    raw = Audit(data, outcome="y", score="s", groups="g")
    assert all(row["rate"] > 1_000 for row in measure(raw, "squared_error").estimates)


def test_a_probability_a_hair_above_one_is_one():
    parts = {"score": np.array([1.0 + 1e-12, -1e-12]), "outcome": np.array([1.0, 0.0])}
    assert role.brier.of(parts) == pytest.approx([0.0, 0.0], abs=1e-20)
    assert np.isfinite(role.log_loss.of(parts)).all()


def test_a_criterion_within_strata_is_no_mean_per_group():
    with pytest.raises(InputError, match="within strata: certify, flag and transport take it"):
        find_metrics("measure", "conditional_parity")


def test_names_of_other_packages_are_accepted():
    audit = Audit(load("compas"), outcome="two_year_recid", score="decile_score", threshold=5, groups="sex")
    for alias, name in ALIASES.items():
        assert name in METRICS, alias
        assert alias not in METRICS, alias
        assert alias not in CRITERIA, alias
    assert measure(audit, "false_positive_rate") == measure(audit, "fpr")
    assert certify(audit, "recall").details["label"] == METRICS["tpr"].label


def test_typed_names_are_those_of_the_tables():
    assert set(get_args(MetricName)) == {*METRICS, *ALIASES, *CRITERIA}
