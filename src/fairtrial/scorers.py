"""Gaps as scikit-learn scorers, and the gap of a cross-validation with its interval.

>>> import fairtrial, sklearn
>>> from fairtrial.scorers import cross_validated, gap_scorer
>>> from sklearn.linear_model import LogisticRegression
>>> people = fairtrial.load("compas", backend="pandas")
>>> X, y = people[["age", "priors_count"]], people["two_year_recid"]
>>> answer = cross_validated(LogisticRegression(), X, y, groups=people["sex"], metric="fpr", target={"sex": "Male"})
>>> print(answer.result.verdict.text)
differs: false positive rate of Female is 7.3 points below Male, 95% interval 4.6 to 10.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._compare.method import measure
from fairtrial._compare.results import MeasureResult
from fairtrial._errors import Fault, InputError
from fairtrial._metrics.table import find_metric
from fairtrial.compat import MetricFrame
from fairtrial.compat.compared_people import columns_of

__all__ = ["CrossValidated", "cross_validated", "gap_score", "gap_scorer"]


def gap_score(y_true: Any, y_pred: Any, *, sensitive_features: Any, metric: Any = "selection_rate") -> float:
    """The largest difference of a metric between two groups.

    Parameters
    ----------
    y_true, y_pred : array-like
        Outcome and decision; for metrics of probabilities or of real values, the prediction.
    sensitive_features : array-like, dataframe or dict
        Who is compared.
    metric : str or Metric
        Whose gap.

    Returns
    -------
    float
        0 where all groups are alike.
    """
    frame = MetricFrame(metrics=metric, y_true=y_true, y_pred=y_pred, sensitive_features=sensitive_features)
    return float(frame.difference())


def gap_scorer(metric: Any = "selection_rate") -> Any:
    """A scorer for GridSearchCV, cross_validate and the like: the smaller the gap, the better.

    Parameters
    ----------
    metric : str or Metric
        Whose gap.

    Returns
    -------
    scorer
        It asks for `sensitive_features` by metadata routing: pass them as `params` of `cross_validate` or of `fit`.

    Examples
    --------
    >>> import fairtrial, sklearn
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> people = fairtrial.load("ricci", backend="pandas")
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     scores = cross_validate(LogisticRegression(), people[["oral"]], people["passed"],
    ...                             scoring=gap_scorer(), params={"sensitive_features": people["race"]}, cv=2)
    >>> bool((scores["test_score"] <= 0).all())
    True
    """
    import sklearn
    from sklearn.metrics import make_scorer

    if not sklearn.get_config()["enable_metadata_routing"]:
        cure = "call sklearn.set_config(enable_metadata_routing=True) first"
        raise InputError("gap_scorer", Fault("", "scikit-learn's metadata routing is off", cure=cure))
    needs_score = "score" in find_metric("gap_scorer", metric).needs
    response = ("predict_proba", "predict") if needs_score else "predict"
    scorer = make_scorer(gap_score, greater_is_better=False, response_method=response, metric=metric)
    return scorer.set_score_request(sensitive_features=True)


@dataclass(frozen=True, slots=True)
class CrossValidated:
    """What `cross_validated` returns.

    Parameters
    ----------
    result : MeasureResult
        Rates, gaps and intervals of the decisions on rows that no model had seen, all folds together.
    folds : tuple of float
        The largest difference between two groups in each fold, for a look at how it varies.
    """

    result: MeasureResult
    folds: tuple[float, ...]


def cross_validated(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any,
    metric: Any = "selection_rate",
    cv: Any = 5,
    **options: Any,
) -> CrossValidated:
    """Each fold is decided by a model that was fitted on the others; the gap over all folds has an interval.

    The interval is of the average gap of the models of these folds, each on new people: it tells of people as yet
    unseen, and not of models fitted to other people.

    Parameters
    ----------
    estimator : estimator
        Of scikit-learn, not fitted; a classifier of two classes or a regressor.
    X, y : array-like
        What it sees, and what really happened.
    groups : array-like, dataframe or dict
        Who is compared.
    metric : str or Metric
        Whose gap.
    cv : int or splitter
        As for scikit-learn.
    **options
        Every other argument of `measure`, such as target and confidence_level.

    Returns
    -------
    CrossValidated
        The answer of `measure`, and each fold's gap.
    """
    from sklearn.base import is_classifier
    from sklearn.model_selection import check_cv, cross_val_predict

    outcome = np.asarray(y)
    splits = list(check_cv(cv, outcome, classifier=is_classifier(estimator)).split(X, outcome))
    held_out = [rows for _, rows in splits]
    if not np.array_equal(np.sort(np.concatenate(held_out)), np.arange(len(outcome))):
        raise InputError("cross_validated", Fault("cv", "must hold out every row exactly once"))
    needs = find_metric("cross_validated", metric).needs
    roles: dict[str, Any] = {}
    if "score" in needs:
        method = "predict_proba" if is_classifier(estimator) else "predict"
        predicted = cross_val_predict(estimator, X, outcome, cv=splits, method=method)
        roles["y_score"] = predicted[:, 1] if predicted.ndim == 2 else predicted
    if "decision" in needs:
        roles["y_pred"] = cross_val_predict(estimator, X, outcome, cv=splits) == np.unique(outcome)[-1]
    if is_classifier(estimator):
        outcome = outcome == np.unique(outcome)[-1]
    columns = columns_of("groups", groups, "group")
    audit = Audit.from_arrays(y_true=outcome, groups=columns, **roles)
    decided = roles["y_pred" if "decision" in needs else "y_score"] if roles else outcome
    gaps = [
        gap_score(
            outcome[rows],
            decided[rows],
            sensitive_features={name: values[rows] for name, values in columns.items()},
            metric=metric,
        )
        for rows in held_out
    ]
    return CrossValidated(measure(audit, metric, **options), tuple(gaps))
