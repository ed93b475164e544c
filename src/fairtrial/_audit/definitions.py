"""What the caller brings beside a table: groups defined by conditions, masks or functions, and arrays.

A definition is a column of its own with two labels, its name and "not" its name, so that every method takes it as it
takes any other attribute; a row of which it cannot be told lacks a label, as where a column is missing. Defined groups
may overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import narwhals as nw
import numpy as np

from fairtrial._audit.columns import Columns
from fairtrial._audit.engine import collect
from fairtrial._audit.expressions import bin_labels, clean_number, present
from fairtrial._audit.frames import Frame, arrow_of, from_arrow, is_frame, series_kind
from fairtrial._audit.schema import labels_of
from fairtrial._audit.source import Source
from fairtrial._errors import Fault, Faults, InputError, column_fault, did_you_mean
from fairtrial._labels import canonical, is_missing, is_number

RANGES: dict[str, Callable[[Any, float], Any]] = {
    "least": lambda number, edge: number >= edge,
    "most": lambda number, edge: number <= edge,
    "above": lambda number, edge: number > edge,
    "below": lambda number, edge: number < edge,
}
RANGE_WORDS = {"least": "at least", "most": "at most", "above": "above", "below": "below"}


def outside(name: str) -> str:
    """The label of everyone who is not in a defined group."""
    return f"not {name}"


def register(source: Source, data: object, define: object) -> dict[str, Any]:
    """The definitions, each a column of the source from now on; all their faults at once."""
    faults = Faults("Audit")
    if not isinstance(define, Mapping):
        required = "must be a table of group names, each with its conditions, mask or function"
        raise InputError("Audit", Fault("define", required, got=define))
    known = source.columns
    for name, definition in define.items():
        for fault in _faults(name, definition, known):
            faults.add(fault)
    faults.raise_any()
    for name, definition in define.items():
        if isinstance(definition, Mapping):
            source.derive(name, tuple(definition))
        elif isinstance(definition, nw.Expr):
            source.derive(name, known)
        else:
            source.add_labels(name, _mask(source, data, name, definition), outside(name))
        source.orders[name] = (name, outside(name))
    return dict(define)


def _faults(name: object, definition: object, known: tuple[str, ...]) -> Iterator[Fault]:
    subject = f"{name!r}"
    if not isinstance(name, str) or not name.strip():
        yield Fault("define", "must name each group by a text", got=name)
    elif name.lower() in {column.lower() for column in known}:
        yield Fault("define", "is also a column: choose another name", subject=subject)
    if isinstance(definition, Mapping):
        if not definition:
            required = "must name columns and their values, such as sex = Female"
            yield Fault("define", required, subject=subject)
        for column, condition in definition.items():
            fault = column_fault("define", column, known) or _condition_fault(subject, column, condition)
            if fault is not None:
                yield fault


def _condition_fault(subject: str, column: str, condition: object) -> Fault | None:
    if not isinstance(condition, Mapping):
        return (
            None
            if labels_of(condition)
            else Fault("define", f"names no value of {column!r}", subject=subject, cure="name at least one")
        )
    required = f"takes numbers for {', '.join(RANGES)} of {column!r}"
    if not condition or not set(condition) <= set(RANGES):
        cure = f"write one or more of {', '.join(RANGES)}, each with a number"
        return Fault("define", required, got=dict(condition), subject=subject, cure=cure)
    wrong = [edge for edge in condition.values() if not is_number(edge)]
    return Fault("define", required, got=wrong[0], subject=subject, cure="write a number") if wrong else None


def _mask(source: Source, data: object, name: str, definition: object) -> Any:
    """One true or false for each row, null where it is missing."""
    subject = repr(name)
    if not source.rows_in_memory:
        required = "is a mask or a function of rows, and these data are not rows in memory"
        cure = "define it by conditions on columns or by a narwhals expression"
        raise InputError("Audit", Fault("define", required, cure=cure, subject=subject))
    mask: Any = definition(data) if callable(definition) else definition
    if type(mask).__module__.startswith("pandas") and not mask.index.equals(
        getattr(data, "index", mask.index)
    ):
        required = "is a Series whose index is not that of the data"
        cure = "give it the data's index, or turn it into an array with to_numpy()"
        raise InputError("Audit", Fault("define", required, subject=subject, cure=cure))
    return _told(subject, np.asarray(mask), source.count_lines())


def _told(subject: str, values: Any, rows: int) -> Any:
    """The values of a mask, checked."""
    if values.shape != (rows,):
        required = f"must have one true or false for each of {rows:,} rows, got shape {values.shape}"
        raise InputError("Audit", Fault("define", required, subject=subject))
    if values.dtype == bool:
        return values
    told = [None if is_missing(value) else value for value in values.tolist()]
    strange = [value for value in told if not isinstance(value, bool | None)]
    if strange:
        required = "must hold true or false for each row"
        raise InputError("Audit", Fault("define", required, got=strange[0], subject=subject))
    return told


def definition_expression(columns: Columns, name: str) -> nw.Expr:
    """The group's label of each row: its name where every condition holds, "not" it where one does not."""
    definition = columns.define[name]
    if isinstance(definition, nw.Expr):
        holds = [nw.when(definition).then(nw.lit(1)).otherwise(nw.when(~definition).then(nw.lit(0)))]
    else:
        holds = [_holds(columns, name, column, condition) for column, condition in definition.items()]
    result: nw.Expr = nw.lit(name)
    for one in holds:  # only where all hold; null where one cannot be told and none fails
        result = nw.when(one == 1).then(result)
    for one in holds:
        result = nw.when(one == 0).then(nw.lit(outside(name))).otherwise(result)
    return result


def _holds(columns: Columns, name: str, column: str, condition: Any) -> nw.Expr:
    """1 where a column meets its condition, 0 where it does not, null where it is missing."""
    kind = columns.kind(column)
    known = present(column, kind)
    if isinstance(condition, Mapping):
        if kind not in ("bool", "int", "float"):
            raise InputError("Audit", columns.not_numbers(column, "define"))
        number = clean_number(column, kind)
        known = ~number.is_null()
        met = known
        for word, edge in condition.items():
            met = met & RANGES[word](number, float(edge))
    else:
        met = _is_label(columns, name, column, {canonical(label) for label in labels_of(condition)})
    return nw.when(known & met).then(nw.lit(1)).otherwise(nw.when(known).then(nw.lit(0)))


def _is_label(columns: Columns, name: str, column: str, labels: set[str]) -> nw.Expr:
    if column in columns.bins:
        levels = bin_labels(columns.bin_edges(column), columns.kind(column))
        _check_labels(name, column, labels, levels)
        return columns.attribute_expression(column).is_in(sorted(labels))
    written = columns.label_column(column)
    found = collect(columns.lazy([written]).select(nw.col(written).alias("x")).unique())["x"].to_pylist()
    raw = {value: columns.roles.label(column, canonical(value)) for value in found if not is_missing(value)}
    _check_labels(name, column, labels, sorted(set(raw.values())))
    return nw.col(written).is_in([value for value, label in raw.items() if label in labels])


def _check_labels(name: str, column: str, labels: set[str], levels: list[str]) -> None:
    for label in sorted(labels - set(levels)):
        listed = ", ".join(repr(level) for level in levels[:20])
        required = f"names {column} = {label!r}, which is not in the data"
        hint = f"Levels: {listed}.{did_you_mean(label, levels)}"
        raise InputError("Audit", Fault("define", required, hint=hint, subject=repr(name)))


def definition_words(definition: Any) -> str:
    """'sex is Female and age is below 25', or what else the group was defined by."""
    if isinstance(definition, nw.Expr):
        return "as given by an expression"
    if not isinstance(definition, Mapping):
        return (
            "as given by a function of the rows" if callable(definition) else "as given by a mask of the rows"
        )
    return " and ".join(_condition_words(column, condition) for column, condition in definition.items())


def _condition_words(column: str, condition: Any) -> str:
    if isinstance(condition, Mapping):
        bounds = [f"{RANGE_WORDS[word]} {float(edge):g}" for word, edge in condition.items()]
        return f"{column} is {' and '.join(bounds)}"
    return f"{column} is {' or '.join(canonical(label) for label in labels_of(condition))}"


def recorded_definition(definition: Any) -> Any:
    """A definition as results record it."""
    if not isinstance(definition, Mapping):
        return definition_words(definition)
    return {
        column: dict(condition)
        if isinstance(condition, Mapping)
        else [canonical(v) for v in labels_of(condition)]
        for column, condition in definition.items()
    }


# -- An Audit from what scikit-learn users hold: arrays, series and fitted estimators.

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
