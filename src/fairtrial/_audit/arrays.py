"""An Audit from what scikit-learn users hold: arrays, series and fitted estimators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np

from fairtrial._audit.frames import Frame, arrow_of, from_arrow, is_frame, series_kind
from fairtrial._errors import Fault, Faults, InputError

# Which role each of scikit-learn's names for arrays plays.
ROLE_OF = {"y_true": "outcome", "y_pred": "decision", "y_score": "score"}
# Arguments of an Audit that name one column, and may be given as that column here.
PER_ROW = ("weight", "unit", "pair", "count", "total")


def from_columns(
    y_true: Any, y_pred: Any, y_score: Any, groups: Any, features: Any, options: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The table of the arrays, and the arguments that name its columns."""
    parts, named = _Parts("Audit.from_arrays"), dict(options)
    for argument, values in {"y_true": y_true, "y_pred": y_pred, "y_score": y_score}.items():
        if values is not None:
            named[ROLE_OF[argument]] = parts.column(argument, values, ROLE_OF[argument])
    for argument in PER_ROW:
        if named.get(argument) is not None:
            named[argument] = parts.column(argument, named[argument], argument)
    named["groups"] = parts.columns("groups", groups, "group")
    if features is not None:
        named["features"] = parts.columns("features", features, "feature")
    return parts.table(), named


def from_model(
    model: Any, X: Any, groups: Any, features: Any, options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays of what a fitted estimator decides, and the other arguments of the audit."""
    who, others = "Audit.from_estimator", dict(options)
    decided, score = _predicted(who, model, X)
    if others.get("threshold") is not None:
        decided = None
    elif decided is not None and "positive" not in others:
        others["positive"] = model.classes_[1]
    groups, own = _named_columns(who, X, groups), X if features is None else features
    return {"y_pred": decided, "y_score": score, "groups": groups, "features": own}, others


def _predicted(who: str, model: Any, X: Any) -> tuple[Any, Any]:
    """The decisions of a classifier, and the score where there is one."""
    from sklearn.base import is_classifier

    if not is_classifier(model):
        return None, np.asarray(model.predict(X), dtype=float)
    classes = getattr(model, "classes_", ())
    if len(classes) != 2:
        required = f"must be fitted and have two classes, got {len(classes)}"
        raise InputError(who, Fault("model", required))
    score = np.asarray(model.predict_proba(X))[:, 1] if hasattr(model, "predict_proba") else None
    if score is None and hasattr(model, "decision_function"):
        score = np.asarray(model.decision_function(X))
    return np.asarray(model.predict(X)), score


def _named_columns(who: str, X: Any, groups: Any) -> Any:
    """Columns of X where groups are names; anything else, as many texts as rows too, as it is."""
    listed = [groups] if isinstance(groups, str) else groups
    if not isinstance(listed, list | tuple) or not all(isinstance(name, str) for name in listed):
        return groups
    columns = _by_name(X, "feature") if is_frame(X) else {}
    lacking = [name for name in listed if name not in columns]
    if not lacking:
        return {name: columns[name] for name in listed}
    if len(listed) == len(X):
        return groups
    cure = "name columns of X, or give the values of the groups, one per row"
    raise InputError(who, Fault("groups", f"names {lacking[0]!r}, which X does not have", cure=cure))


def _by_name(values: Any, unnamed: str) -> dict[str, Any]:
    """Each column by its name."""
    if is_frame(values):
        frame = nw.from_native(values, eager_only=True)
        return {str(name): frame.get_column(name).to_native() for name in frame.columns}
    if isinstance(values, Mapping):
        return {str(name): column for name, column in values.items()}
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return {str(place): values[:, place] for place in range(values.shape[1])}
    return {str(getattr(values, "name", None) or unnamed): values}


class _Parts:
    """Columns of one table, gathered from several arguments."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.arrays: dict[str, Any] = {}
        self.lengths: dict[str, int] = {}
        self.kind: Frame | None = None

    def column(self, argument: str, values: Any, name: str) -> str:
        """One array under a name of ours."""
        self._add(argument, name, values)
        return name

    def columns(self, argument: str, values: Any, unnamed: str) -> list[str]:
        """A frame, a dict, a table of values or one array, under its own names."""
        if isinstance(values, tuple | list) and not len(values):
            return []
        named = _by_name(values, unnamed)
        for name, column in named.items():
            self._add(argument, name, column)
        return list(named)

    def _add(self, argument: str, name: str, values: Any) -> None:
        if isinstance(values, str) or not hasattr(values, "__len__"):
            required = "must have one value per row"
            raise InputError(self.who, Fault(argument, required, got=values))
        array = self._arrow(argument, values)
        if name in self.arrays and not self.arrays[name].equals(array):
            required = (
                f"has a column called {name!r}, and so has another argument, with other values; rename one"
            )
            raise InputError(self.who, Fault(argument, required))
        self.arrays[name] = array
        self.lengths.setdefault(argument, len(array))

    def _arrow(self, argument: str, values: Any) -> Any:
        kind = series_kind(values)
        self.kind = self.kind or kind
        if np.ndim(values) > 1 and kind is None:
            if np.shape(values)[1:] != (1,):
                required = f"must have one dimension, got {np.ndim(values)}"
                raise InputError(self.who, Fault(argument, required))
            values = np.ravel(values)
        return arrow_of(argument, values)

    def table(self) -> Any:
        """All columns as one table, of the kind that the first series came in."""
        import pyarrow as pa

        faults = Faults(self.who)
        if not self.arrays:
            faults.add(Fault("y_pred", "is missing", cure="give y_true, y_pred or y_score, and groups"))
        if len(set(self.lengths.values())) > 1:
            shown = ", ".join(f"{argument}: {length:,}" for argument, length in self.lengths.items())
            faults.add(Fault("", f"every argument must have one value per row, got lengths {shown}"))
        faults.raise_any()
        return from_arrow(pa.table(self.arrays), self.kind or "pyarrow")
