"""The models of explain, the features as a classifier takes them, and metrics of decisions not in the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Rows
from fairtrial._errors import Fault, InputError, Named, NotApplicable, Set, Use, Words, did_you_mean
from fairtrial._explain.explained_rows import ExplainedRows
from fairtrial._explain.request import WHO, is_fitted
from fairtrial._explain.solver.coalitions import RowForm
from fairtrial._explain.solver.esl import Floats
from fairtrial._labels import canonical
from fairtrial._metrics.values import ROLES, Metric, Role

MODELS = ("logistic", "tree", "forest", "boosting")
_LISTED = ", ".join(repr(name) for name in MODELS)


class Predictor:
    """A system that only decides: a function of the features, or a fitted model that is no classifier."""

    def __init__(self, model: Any, audit: Audit) -> None:
        self.model = model
        self.ask = getattr(model, "predict", model)
        self.threshold = audit.threshold
        self.positive = {*audit.roles.counted("decision"), *audit.roles.counted("outcome")}

    def __call__(self, features: Any, scores: bool) -> Floats:
        """Decisions as 0/1, or numbers as they are."""
        answers = np.asarray(self.ask(features))
        if answers.shape != (len(features),):
            required = f"must give one number for each of {len(features):,} rows, got shape {answers.shape}"
            raise InputError(WHO, Fault("model", required))
        if answers.dtype.kind not in "biuf":
            return self._labels(answers, scores)
        numbers = answers.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise InputError(
                WHO, Fault("model", "gave missing or infinite values", cure="look at the rows it fails for")
            )
        if scores or np.isin(numbers, (0.0, 1.0)).all():
            return numbers
        if self.threshold is None:
            cure = Words("decide in the function, or give {}", Set("threshold", of="Audit"))
            got = float(numbers[~np.isin(numbers, (0.0, 1.0))][0])
            raise InputError(WHO, Fault("model", "must give decisions, 0 or 1", got=got, cure=cure))
        return np.asarray(numbers >= self.threshold, dtype=np.float64)

    def _labels(self, answers: NDArray[Any], scores: bool) -> Floats:
        labels = [canonical(label) for label in answers.tolist()]
        if scores or not self.positive:
            required = "must give numbers" if scores else "must give 0 and 1"
            cure = (
                "" if scores else Words("or name the label that counts as 1: {}", Set("positive", of="Audit"))
            )
            raise InputError(WHO, Fault("model", required, got=labels[0], cure=cure))
        return np.array([float(label in self.positive) for label in labels])


def find_system(model: Any, audit: Audit, scores: bool) -> Any:
    """What is explained: a scikit-learn classifier by name or as it is, a `Predictor`, or a copy to be learned."""
    from sklearn.base import is_classifier

    if model is None:
        return _copy_of_the_audited(audit, scores)
    found = named_classifier(model) if isinstance(model, str) else model
    if not isinstance(found, type) and hasattr(found, "get_params") and is_classifier(found):
        return found
    if _only_predicts(found):
        return Predictor(found, audit)
    got = f"the class {found.__name__}" if isinstance(found, type) else type(found).__name__
    required = f"must be a scikit-learn classifier or a function of the features, got {got}"
    raise InputError(WHO, Fault("model", required))


def _only_predicts(model: Any) -> bool:
    """A function of the features, or anything with a predict of its own that needs no fitting any more."""
    if isinstance(model, type):
        return False
    if hasattr(model, "get_params"):  # scikit-learn's: a fitted regressor
        return hasattr(model, "predict") and is_fitted(model)
    return callable(getattr(model, "predict", model))


def _copy_of_the_audited(audit: Audit, scores: bool) -> Any:
    """What learns the audited decisions or scores from the features, where no model was given."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if not audit.has("score" if scores else "decision"):
        cure = f"a scikit-learn classifier, a function of the features, or one of [{_LISTED}]"
        raise InputError(WHO, Fault("model", "is missing", cure=cure))
    return HistGradientBoostingRegressor() if scores else HistGradientBoostingClassifier()


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


def decide(fitted: Any, features: Any, scores: bool, positive: frozenset[str] = frozenset()) -> Floats:
    """Decisions as 0/1, or the probability of 1 (or a score)."""
    if isinstance(fitted, Predictor):
        return fitted(features, scores)
    if scores and not hasattr(fitted, "classes_"):  # the copy of audited scores
        return np.asarray(fitted.predict(features), dtype=np.float64)
    if scores:
        if not hasattr(fitted, "predict_proba"):
            required = f"{type(fitted).__name__} gives no probabilities (predict_proba)"
            raise InputError(WHO, Fault("model", required, cure="use a classifier that has predict_proba"))
        probabilities = fitted.predict_proba(features)
        return np.asarray(probabilities[:, _positive_classes(fitted, positive)].sum(axis=1), dtype=np.float64)
    decided = np.isin(
        np.asarray(fitted.predict(features)), fitted.classes_[_positive_classes(fitted, positive)]
    )
    return np.asarray(decided, dtype=np.float64)


def _positive_classes(fitted: Any, positive: frozenset[str]) -> list[int]:
    """Where the labels that count as 1 are among the model's classes; the last one when the audit names none."""
    labels = [canonical(label) for label in fitted.classes_]
    return [place for place, label in enumerate(labels) if label in positive] or [-1]


BY_NAME = "a model that picks columns by name"


class ModelInputs:
    """The features as the model takes them: a number matrix, or a dataframe for pipelines that pick columns by name."""

    def __init__(self, audit: Audit, explained: ExplainedRows, model: Any) -> None:
        self.explained = explained
        self.model = model
        self.threshold = audit.threshold if isinstance(model, Predictor) else None
        # the outcome's labels that count as 1, where the audit names them
        self.positive = frozenset(audit.roles.counted("outcome"))
        self.columns: dict[str, NDArray[Any]] | None = None
        self.codes: dict[str, tuple[NDArray[np.int64], int]] = {}
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

    def distinct(
        self, columns: list[str], rows: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
        """One row of each kind as these columns tell them apart, the kind of every row, and how many are of each."""
        kind = np.zeros(rows.size, dtype=np.int64)
        for name in columns:
            code, levels = self._codes(name)
            _, kind = np.unique(kind * levels + code[rows], return_inverse=True)
        _, first, kind, count = np.unique(kind, return_index=True, return_inverse=True, return_counts=True)
        return rows[first], kind, count.astype(np.float64)

    def _codes(self, name: str) -> tuple[NDArray[np.int64], int]:
        """A column's values numbered, once."""
        if name not in self.codes:
            block = self.explained.blocks[name]
            values = block[:, 0] if block.shape[1] == 1 else block.argmax(axis=1)
            labels, code = np.unique(values, return_inverse=True)
            self.codes[name] = code.astype(np.int64), labels.size
        return self.codes[name]

    def restricted(self, columns: list[str]) -> Any:
        """The model without the named columns it will not see."""
        return self.model if self.columns is None else _without_columns(self.model, set(columns))

    def check_fitted(self, columns: list[str]) -> None:
        """The columns must be those that the caller's model was fitted on."""
        model = self.model.model if isinstance(self.model, Predictor) else self.model
        names = getattr(model, "feature_names_in_", None)
        if names is not None and self.columns is not None and list(names) != columns:
            words = f"must be the columns {{}} was fitted on, in order: {list(names)}"
            raise InputError(WHO, Fault("features", Words(words, Named("model")), got=columns))
        width = sum(self.explained.blocks[name].shape[1] for name in columns)
        if self.columns is None and getattr(model, "n_features_in_", width) != width:
            required = f"was fitted on {model.n_features_in_} columns, the features give {width} (categories one-hot)"
            raise InputError(
                WHO,
                Fault(
                    "model",
                    required,
                    cure="fit it on these features, or give an estimator that is not fitted yet",
                ),
            )


def _wants_names(model: Any) -> bool:
    """Whether the model was fitted on, or picks, columns by name; functions get them by name."""
    if isinstance(model, Predictor):
        model = model.model
        if not hasattr(model, "get_params"):
            return True
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


# -- A metric as a function of decisions that are not in the data: those of each coalition's classifier.

# A loss that grows beyond this at certain errors has no end to speak of.
LARGEST_END = 10.0


def check_metric(metric: Metric, scores: bool) -> None:
    """Refuse a metric that the coalitions' decisions do not move, or whose condition moves with them."""
    if metric.expression is not None:
        raise _refused(metric, "has an expression as 'given', where explain takes a dict", "both")
    if metric.each is not None or ROLES["score_bin"] in metric.conditions:
        why = "conditions on the score's bin, which changes with every coalition"
        raise _refused(metric, why, "one bin")
    moved = "decision" in metric.needs
    if moved and scores:
        raise _refused(metric, "mixes scores and decisions, where explain takes one of them", "both")
    if not moved and not scores:
        raise _refused(metric, "does not depend on the decisions, so no feature of the model can carry it")


def _refused(metric: Metric, why: str, takes: str = "it") -> NotApplicable:
    """The metric is not for explain; certify takes it, or some form of it."""
    cure = Words(f"{{}} takes {takes}", Use("certify"))
    return NotApplicable(WHO, Fault("metric", why, cure=cure, subject=repr(metric.name)))


def row_form(metric: Metric, rows: Rows) -> RowForm:
    """Value and weight of every row if it were decided 0 and if it were decided 1.

    A metric of scores is linear in the value computed from the score: value 0 and value 1 bracket it the same way.
    """
    (value0, weight0), (value1, weight1) = (_at(metric, rows, decision) for decision in (0.0, 1.0))
    ends = (float(min(value0.min(), value1.min(), 0.0)), float(max(value0.max(), value1.max(), 1.0)))
    return RowForm(value0 * weight0, value1 * weight1, weight0, weight1, ends)


def score_values(metric: Metric, scores: Floats, outcome: Floats | None) -> Floats:
    """The metric's value of each row (rows) under each coalition's scores (columns)."""
    assert isinstance(metric.value, Role)
    parts = {"score": scores, "outcome": None if outcome is None else outcome[:, None]}
    values = np.asarray(metric.value.of(parts))
    if metric.value.wants and not np.isfinite(values).all():
        raise _refused(metric, f"needs {metric.value.wants}, but the model gives others")
    return values


def score_ends(metric: Metric, values: Floats) -> tuple[float, float]:
    """The least and the largest value of the metric at scores from 0 to 1, or what the rows show beyond it.

    A log loss has no largest value: there the rows' own must do.
    """
    assert isinstance(metric.value, Role)
    corners = np.array([0.0, 0.0, 1.0, 1.0])
    at = np.asarray(
        metric.value.of({"score": corners, "outcome": np.array([0.0, 1.0, 0.0, 1.0])}), dtype=float
    )
    at = at[at < LARGEST_END]
    return float(min(values.min(), at.min())), float(max(values.max(), at.max()))


def _at(metric: Metric, rows: Rows, decision: float) -> tuple[Floats, Floats]:
    """Value and weight of every row when everybody is decided `decision`."""
    weight = np.ones(rows.n)
    for key, admitted in metric.conditions.items():
        weight = weight * _meets(key, admitted, rows, decision)
    return _value(metric, rows, decision), weight


def _value(metric: Metric, rows: Rows, decision: float) -> Floats:
    if isinstance(metric.value, str):
        return rows.columns[metric.value]
    if "score" in metric.value.needs:
        return np.full(rows.n, decision)
    known = _role(metric.value, rows, decision)
    if known is None:
        raise _refused(metric, f"takes the mean of {metric.value.words}, which explain does not know")
    return known


def _meets(key: Role | str, admitted: Sequence[object], rows: Rows, decision: float) -> NDArray[np.float64]:
    if isinstance(key, str):
        coded = rows.attributes[key]
        allowed = {canonical(value) for value in admitted}
        inside = np.array([label in allowed for label in coded.labels])
        return inside[coded.codes].astype(float)
    numbers = [float(value) for value in admitted]  # type: ignore[arg-type]
    known = _role(key, rows, decision)
    if known is None:
        why = f"conditions on {key.words}, which explain does not know"
        cure = Words("{} does", Use("certify"))
        raise NotApplicable(WHO, Fault("metric", why, cure=cure, subject="'given'"))
    return np.isin(known, numbers).astype(float)


def _role(key: Role, rows: Rows, decision: float) -> Floats | None:
    """What the role is when everyone's decision is this one; None where decisions alone do not tell."""
    if not set(key.needs) <= {"decision", "outcome"}:
        return None
    parts = {"decision": np.full(rows.n, decision), "outcome": rows.roles.get("outcome")}
    return np.asarray(key.of(parts), dtype=np.float64)
