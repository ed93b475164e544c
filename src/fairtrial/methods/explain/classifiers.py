"""scikit-learn's classifiers: chosen by name, copied with a seed, and asked for decisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairtrial.errors import Fault, InputError, did_you_mean
from fairtrial.labels import canonical
from fairtrial.methods.explain.metric import WHO
from fairtrial.methods.explain.solver.esl import Floats

MODELS = ("logistic", "tree", "forest", "boosting")
_LISTED = ", ".join(repr(name) for name in MODELS)


def find_classifier(model: Any) -> Any:
    """The classifier that `model` names or is."""
    from sklearn.base import is_classifier

    if model is None:
        cure = f"a scikit-learn classifier, or one of [{_LISTED}]"
        raise InputError(WHO, Fault("model", "is missing", cure=cure))
    found = named_classifier(model) if isinstance(model, str) else model
    if not hasattr(found, "get_params") or not is_classifier(found):
        required = f"must be a scikit-learn classifier, got {type(found).__name__}"
        raise InputError(WHO, Fault("model", required))
    return found


def named_classifier(name: str) -> Any:
    """A scikit-learn classifier with settings that need no tuning."""
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    if name == "tree":
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(max_depth=6, min_samples_leaf=20)
    if name == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(n_estimators=100, min_samples_leaf=5)
    if name == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier()
    required = f"must be a scikit-learn classifier or one of [{_LISTED}]"
    raise InputError(WHO, Fault("model", required, got=name, hint=did_you_mean(name, MODELS)))


def is_fitted(model: Any) -> bool:
    """Whether the caller brought a fitted model."""
    if model is None or isinstance(model, str):
        return False
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def seeded_clone(model: Any, state: int) -> Any:
    """A fresh copy whose unset random states are set, so that one seed gives the same numbers."""
    from sklearn.base import clone

    copy = clone(model)
    unset = {
        name: state
        for name, value in sorted(copy.get_params(deep=True).items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return copy.set_params(**unset) if unset else copy


def decide(fitted: Any, features: Any, scores: bool, positive: str | None = None) -> Floats:
    """Decisions as 0/1, or the probability of 1."""
    if scores:
        if not hasattr(fitted, "predict_proba"):
            required = f"{type(fitted).__name__} gives no probabilities (predict_proba)"
            raise InputError(WHO, Fault("model", required))
        probabilities = fitted.predict_proba(features)
        return np.asarray(probabilities[:, _positive_class(fitted, positive)], dtype=np.float64)
    decided = np.asarray(fitted.predict(features)) == fitted.classes_[_positive_class(fitted, positive)]
    return np.asarray(decided, dtype=np.float64)


def _positive_class(fitted: Any, positive: str | None) -> int:
    """Where the label that counts as 1 is among the model's classes; the last one when the audit names none."""
    labels = [canonical(label) for label in fitted.classes_]
    return labels.index(positive) if positive in labels else -1
