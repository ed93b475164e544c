"""An audit from arrays or from an estimator is the audit of the same table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

import fairtrial
from fairtrial import Audit

PEOPLE = fairtrial.load("compas", backend="pandas")
HIGH = (PEOPLE["decile_score"] >= 5).astype(int)
PLAIN = Audit(
    PEOPLE.assign(decision=HIGH, outcome=PEOPLE["two_year_recid"], score=PEOPLE["decile_score"]),
    outcome="outcome",
    decision="decision",
    score="score",
    groups=["race", "sex"],
)
FORMS: dict[str, Any] = {
    "lists": lambda values: values.tolist(),
    "numpy": lambda values: values.to_numpy(),
    "pandas": lambda values: values.sample(frac=1.0, random_state=1).sort_index(),
    "pandas with another index": lambda values: values.set_axis(np.arange(len(values))[::-1]),
    "polars": lambda values: pl.Series(values.to_numpy()),
    "pyarrow": lambda values: pa.chunked_array([pa.array(values)]),
    "a column": lambda values: values.to_numpy()[:, None],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_of_array_gives_the_audit_of_the_table(form: str) -> None:
    as_form = FORMS[form]
    audit = Audit.from_arrays(
        y_true=as_form(PEOPLE["two_year_recid"]),
        y_pred=as_form(HIGH),
        y_score=as_form(PEOPLE["decile_score"]),
        groups={name: PEOPLE[name].tolist() for name in ("race", "sex")},
    )
    assert audit.digest() == PLAIN.digest()
    assert fairtrial.measure(audit, "fpr").estimates == fairtrial.measure(PLAIN, "fpr").estimates
    assert np.array_equal(audit.rows(roles=["score"]).roles["score"], PEOPLE["decile_score"])


def test_the_frame_comes_back_in_the_kind_that_came() -> None:
    groups = pl.Series("race", PEOPLE["race"])
    audit = Audit.from_arrays(y_pred=pl.Series(HIGH.to_numpy()), groups=groups)
    assert isinstance(fairtrial.measure(audit).to_frame(), pl.DataFrame)
    assert audit.groups == ("race",)


def test_weights_and_units_are_arrays() -> None:
    weight, unit = np.linspace(0.5, 2.0, len(PEOPLE)), np.arange(len(PEOPLE)) // 2
    table = PEOPLE.assign(decision=HIGH, weight=weight, unit=unit)
    expected = Audit(table, decision="decision", groups="race", weight="weight", unit="unit")
    audit = Audit.from_arrays(y_pred=HIGH, groups=PEOPLE["race"], weight=weight, unit=unit)
    assert fairtrial.measure(audit).estimates == fairtrial.measure(expected).estimates


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"y_true": [1, 0], "y_pred": [1], "groups": ["a", "b"]}, "y_true: 2, y_pred: 1, groups: 2"),
        ({}, "'y_pred' is missing"),
        ({"y_true": "x"}, "'y_true' must have one value per row"),
        ({"y_true": 3}, "'y_true' must have one value per row"),
        ({"y_true": np.eye(2), "groups": ["a", "b"]}, "'y_true' must have one dimension, got 2"),
        ({"y_true": [1, 0], "groups": {"outcome": ["a", "b"]}}, "a column called 'outcome'"),
    ],
)
def test_what_does_not_fit_is_one_message(given: dict[str, Any], said: str) -> None:
    with pytest.raises(fairtrial.InputError, match=said):
        Audit.from_arrays(**given)


X = PEOPLE[["age", "priors_count"]]
LABELS = PEOPLE["two_year_recid"].map({1: "yes", 0: "no"})


def test_an_estimator_is_audited_by_what_it_predicts() -> None:
    model = LogisticRegression().fit(X[::2], LABELS[::2])
    audit = Audit.from_estimator(model, X[1::2], LABELS[1::2], groups=PEOPLE["race"][1::2])
    table = X[1::2].assign(
        race=PEOPLE["race"][1::2],
        outcome=LABELS[1::2],
        decision=model.predict(X[1::2]),
        score=model.predict_proba(X[1::2])[:, 1],
    )
    expected = Audit(
        table, outcome="outcome", decision="decision", score="score", groups="race", positive="yes"
    )
    asked = ["tpr", "ppv"]
    assert fairtrial.measure(audit, asked).estimates == fairtrial.measure(expected, asked).estimates
    assert audit.features == ("age", "priors_count")


def test_a_threshold_decides_from_the_score() -> None:
    model = LogisticRegression().fit(X, LABELS)
    audit = Audit.from_estimator(
        model, X, LABELS, groups="age", bins={"age": [25, 45]}, threshold=0.4, positive="yes"
    )
    rates = {row["group"]: row["rate"] for row in fairtrial.measure(audit).estimates}
    young = (X["age"] < 25).to_numpy()
    assert rates["age: under 25"] == pytest.approx(
        (model.predict_proba(X)[young, 1] >= 0.4).mean(), abs=1e-12
    )


def test_regressors_and_machines_without_probabilities() -> None:
    audit = Audit.from_estimator(LinearRegression().fit(X, HIGH), X, groups=PEOPLE["sex"])
    assert (audit.score, audit.decision) == ("score", None)
    model = LinearSVC().fit(X, HIGH)
    audit = Audit.from_estimator(model, X, groups=["sex"] * 0 or PEOPLE["sex"])
    assert (audit.score, audit.decision) == ("score", "decision")


def test_groups_of_an_estimator_are_columns_or_values() -> None:
    model = LogisticRegression().fit(X, HIGH)
    with pytest.raises(fairtrial.InputError, match="names 'rac', which X does not have"):
        Audit.from_estimator(model, X, groups=["age", "rac"])
    few = Audit.from_estimator(model, X[:3], groups=["a", "b", "b"])
    assert few.levels("group") == ("a", "b")
    with pytest.raises(fairtrial.InputError, match="two classes, got 3"):
        Audit.from_estimator(LogisticRegression().fit(X, PEOPLE["age_cat"]), X, groups=PEOPLE["race"])


def test_a_frame_of_features_and_an_array_of_them() -> None:
    frame = Audit.from_arrays(y_pred=HIGH, groups=PEOPLE["race"], features=X)
    array = Audit.from_arrays(y_pred=HIGH, groups=PEOPLE["race"], features=X.to_numpy())
    assert frame.features == ("age", "priors_count")
    assert array.features == ("0", "1")
    assert isinstance(frame.features_frame(), pd.DataFrame)
