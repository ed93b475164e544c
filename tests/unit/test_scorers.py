"""Gaps as scorers of scikit-learn, and of a cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, cross_val_predict, cross_validate

import fairtrial
from fairtrial.scorers import cross_validated, gap_score, gap_scorer

PEOPLE = fairtrial.load("compas", backend="pandas").iloc[:2000]
X, Y, SEX = PEOPLE[["age", "priors_count"]], PEOPLE["two_year_recid"], PEOPLE["sex"]


def test_the_score_is_the_gap_by_hand() -> None:
    decided = (PEOPLE["decile_score"] >= 5).astype(int)
    rates = decided.groupby(SEX).mean()
    assert gap_score(Y, decided, sensitive_features=SEX) == pytest.approx(
        rates.max() - rates.min(), abs=1e-12
    )


def test_scorers_work_in_cross_validation_and_search() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = gap_scorer("fpr")
        found = cross_validate(
            LogisticRegression(), X, Y, scoring={"gap": scorer, "accuracy": "accuracy"}, cv=KFold(3),
            params={"sensitive_features": SEX}, return_estimator=True, return_indices=True,
        )  # fmt: skip
        rows = found["indices"]["test"][0]
        decided = found["estimator"][0].predict(X.iloc[rows])
        expected = gap_score(Y.iloc[rows], decided, sensitive_features=SEX.iloc[rows], metric="fpr")
        assert found["test_gap"][0] == pytest.approx(-expected)
        search = GridSearchCV(LogisticRegression(), {"C": [0.001, 1.0]}, scoring=gap_scorer("brier"), cv=2)
        search.fit(X, Y, sensitive_features=SEX)
        assert search.best_score_ <= 0.0


def test_routing_must_be_on() -> None:
    with pytest.raises(fairtrial.InputError, match="enable_metadata_routing"):
        gap_scorer("fpr")


def test_the_gap_over_all_folds_is_measured_on_rows_held_out() -> None:
    answer = cross_validated(
        LogisticRegression(), X, Y, groups=SEX, metric="fpr", cv=KFold(4), target={"sex": "Male"}
    )
    decided = cross_val_predict(LogisticRegression(), X, Y, cv=KFold(4))
    audit = fairtrial.Audit.from_arrays(y_true=Y, y_pred=decided, groups=SEX)
    expected = fairtrial.measure(audit, "fpr", target={"sex": "Male"})
    assert answer.result.estimates == expected.estimates
    assert len(answer.folds) == 4
    for rows, gap in zip(KFold(4).split(X), answer.folds, strict=True):
        test = rows[1]
        assert gap == gap_score(Y.iloc[test], decided[test], sensitive_features=SEX.iloc[test], metric="fpr")


def test_scores_and_real_values_are_held_out_too() -> None:
    answer = cross_validated(
        LogisticRegression(), X, np.where(Y == 1, "yes", "no"), groups=SEX, metric="log_loss", minimum=5_000
    )
    proba = cross_val_predict(LogisticRegression(), X, Y, method="predict_proba")[:, 1]
    audit = fairtrial.Audit.from_arrays(y_true=Y, y_score=proba, groups=SEX)
    expected = [row["rate"] for row in fairtrial.measure(audit, "log_loss", minimum=5_000).estimates]
    assert [row["rate"] for row in answer.result.estimates] == pytest.approx(expected, abs=1e-12)
    score = PEOPLE["decile_score"]
    real = cross_validated(LinearRegression(), X, score, groups=SEX, metric="absolute_error", minimum=5_000)
    assert len(real.folds) == 5


def test_every_row_is_held_out_once() -> None:
    with pytest.raises(fairtrial.InputError, match="exactly once"):
        cross_validated(LogisticRegression(), X, Y, groups=SEX, cv=ShuffleSplit(2))
