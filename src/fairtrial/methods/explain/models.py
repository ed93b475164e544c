"""The models of explain: classifiers by name, and the features as a classifier takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.data.audit import Audit
from fairtrial.errors import Fault, InputError, Named, Words, did_you_mean
from fairtrial.labels import canonical
from fairtrial.methods.explain.explained_rows import ExplainedRows
from fairtrial.methods.explain.solver.esl import Floats
from fairtrial.methods.explain.wanted import WHO

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


BY_NAME = "a model that picks columns by name"


class ModelInputs:
    """The features as the model takes them: a number matrix, or a dataframe for pipelines that pick columns by name."""

    def __init__(self, audit: Audit, explained: ExplainedRows, model: Any) -> None:
        self.explained = explained
        self.model = model
        # the outcome's label that counts as 1, where the audit names it
        self.positive = canonical(audit.positive["outcome"]) if "outcome" in audit.positive else None
        self.columns: dict[str, NDArray[Any]] | None = None
        if _wants_names(model):
            if not audit.source.ordered:
                required, cure = "needs rows in a fixed order", "collect the data first"
                raise InputError(WHO, Fault("model", required, cure=cure, subject=BY_NAME))
            names = explained.columns_of((1 << len(explained.players)) - 1)
            frame = audit.features_frame(names)
            if isinstance(frame, np.ndarray):
                required = "needs pandas or Polars, and neither is installed"
                raise InputError(WHO, Fault("model", required, subject=BY_NAME))
            self.make = type(frame)
            self.columns = {name: np.asarray(frame[name]) for name in names}

    def take(self, columns: list[str], rows: NDArray[np.intp]) -> Any:
        return self.mix(columns, [], rows, rows)

    def mix(
        self, columns: list[str], absent: list[str], rows: NDArray[np.intp], other: NDArray[np.intp]
    ) -> Any:
        """`rows`, with the absent columns taken from the rows `other`."""
        source = {name: other if name in absent else rows for name in columns}
        if self.columns is None:
            return np.hstack([self.explained.blocks[name][source[name]] for name in columns])
        return self.make({name: self.columns[name][source[name]] for name in columns})

    def restricted(self, columns: list[str]) -> Any:
        """The model without the named columns it will not see."""
        return self.model if self.columns is None else _without_columns(self.model, set(columns))

    def check_fitted(self, columns: list[str]) -> None:
        """The columns must be those that the caller's model was fitted on."""
        model, names = self.model, getattr(self.model, "feature_names_in_", None)
        if names is not None and self.columns is not None and list(names) != columns:
            words = f"must be the columns {{}} was fitted on, in order: {list(names)}"
            raise InputError(WHO, Fault("features", Words(words, Named("model")), got=columns))
        width = sum(self.explained.blocks[name].shape[1] for name in columns)
        if self.columns is None and getattr(model, "n_features_in_", width) != width:
            required = f"was fitted on {model.n_features_in_} columns, the features give {width} (categories one-hot)"
            raise InputError(WHO, Fault("model", required))


def _wants_names(model: Any) -> bool:
    """Whether the model was fitted on, or picks, columns by name."""
    if getattr(model, "feature_names_in_", None) is not None:
        return True
    parameters = model.get_params(deep=True).values()
    return any(type(part).__name__ == "ColumnTransformer" for part in [model, *parameters])


def _without_columns(model: Any, present: set[str]) -> Any:
    """Take absent columns out of every ColumnTransformer that names its columns."""
    from sklearn.base import clone

    copy = clone(model)
    for part in copy.get_params(deep=True).values():
        if type(part).__name__ == "ColumnTransformer":
            kept = [(*named, _present(columns, present)) for *named, columns in part.transformers]
            part.transformers = [entry for entry in kept if entry[-1] is not None]
    return copy


def _present(columns: Any, present: set[str]) -> Any:
    """Those that are there; None where that is none of them, and columns told by number or rule as they are."""
    named = [columns] if isinstance(columns, str) else columns
    if not isinstance(named, list | tuple) or not all(isinstance(column, str) for column in named):
        return columns
    return [column for column in named if column in present] or None
