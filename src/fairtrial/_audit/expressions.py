"""Narwhals expressions that mean the same on every engine: missing values, bins, operations, central sums."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from fairtrial._audit.cells import Floats, MetricMoments
from fairtrial._audit.engine import collect, read_floats, read_ints
from fairtrial._audit.source import Kind
from fairtrial._labels import INFINITE

ROWS_FOR_CENTRE = 1_000
POWER_SUMS = ("var", "distances", "cubes")
LARGEST = 1.7976931348623157e308  # the largest finite float


def clean_number(column: str, kind: Kind) -> nw.Expr:
    """The column as a float; NaN becomes null, since engines disagree on how NaN compares."""
    if kind == "bool":
        return nw.col(column).cast(nw.Int64).cast(nw.Float64)
    number = nw.col(column).cast(nw.Float64)
    return nw.when(~number.is_nan()).then(number) if kind == "float" else number


def present(column: str, kind: Kind) -> nw.Expr:
    """True where the column has a value; an empty text is none."""
    if kind == "float":
        number = nw.col(column).cast(nw.Float64)
        return ~number.is_null() & ~nw.when(number.is_null()).then(nw.lit(0.0)).otherwise(number).is_nan()
    if kind == "text":
        return ~nw.col(column).is_null() & (nw.col(column).cast(nw.String) != "")
    return ~nw.col(column).is_null()


def bin_labels(edges: Sequence[float], kind: Kind) -> list[str]:
    """Readable intervals, closed on the left.

    >>> bin_labels([25, 45], "int"), bin_labels([0.5], "float")
    (['under 25', '25–44', '45 and over'], ['under 0.5', '0.5 and over'])
    """
    whole = kind in ("int", "bool") and all(float(edge).is_integer() for edge in edges)
    texts = [f"{edge:.0f}" for edge in edges] if whole else _edge_texts(edges)
    inner = []
    for i, (low, high) in enumerate(pairwise(edges)):
        if whole:
            inner.append(texts[i] if high - low == 1 else f"{texts[i]}–{high - 1:.0f}")
        else:
            inner.append(f"{texts[i]} to under {texts[i + 1]}")
    return [f"under {texts[0]}", *inner, f"{texts[-1]} and over"]


def _edge_texts(edges: Sequence[float]) -> list[str]:
    """As few digits as tell the edges apart: two bins must never share a label."""
    for digits in range(6, 18):
        texts = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(texts)) == len(texts):
            break
    return texts


def bin_expression(number: nw.Expr, edges: Sequence[float], labels: Sequence[str]) -> nw.Expr:
    """Nested conditions: the one form of binning that every engine has."""
    result: nw.Expr = nw.when(number >= edges[-1]).then(nw.lit(labels[-1]))
    for edge, label in zip(reversed(edges), reversed(labels[:-1]), strict=True):
        result = nw.when(number < edge).then(nw.lit(label)).otherwise(result)
    return nw.when(infinite(number)).then(nw.lit(INFINITE)).otherwise(result)


def one_or_zero(one: nw.Expr, zero: nw.Expr) -> nw.Expr:
    """1 where the first holds, 0 where the second does, null where neither."""
    return nw.when(one).then(nw.lit(1.0)).otherwise(nw.when(zero).then(nw.lit(0.0)))


def infinite(number: nw.Expr) -> nw.Expr:
    """True at ±inf."""
    return (number > LARGEST) | (number < -LARGEST)


class ExpressionOperations:
    """The operations on query expressions."""

    def where(self, condition: Any, then: Any, otherwise: Any) -> nw.Expr:
        return nw.when(condition).then(_operand(then)).otherwise(_operand(otherwise))

    def log(self, operand: Any) -> nw.Expr:
        expression: nw.Expr = operand.log()
        return expression


EXPRESSIONS = ExpressionOperations()


def _operand(value: Any) -> Any:
    return nw.lit(value) if isinstance(value, float) else value


# -- Central sums of real columns in one query: distances to a number amid the data, and their cubes.
# Sums of cubes about zero lose all their digits where values are large and lie close together; the centre need not be
# the mean, since sums about it become those about each group's mean.
def find_centres(frame: nw.LazyFrame[Any], values: list[str]) -> dict[str, float]:
    """A number amid each column's first values: cubes of the distances to it lose few digits to rounding."""
    if not values:
        return {}
    first = frame.select(*values).head(ROWS_FOR_CENTRE)
    return {name: 0.0 if found is None else found.middle for name, found in ends(first, values).items()}


class ValueRange(NamedTuple):
    """The median, the smallest and the largest of some values."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> ValueRange | None:
        """Those of the finite values; None where there is none."""
        finite = values[np.isfinite(values)]
        if not finite.size:
            return None
        # Halves: the sum of the two in the middle may be more than a number can be.
        return cls(2.0 * float(np.median(0.5 * finite)), float(finite.min()), float(finite.max()))


def ends(frame: nw.LazyFrame[Any], values: list[str]) -> dict[str, ValueRange | None]:
    """The ends of a few rows' columns. Spark finds them itself and sends one line: its rows stay there."""
    if not frame.implementation.is_spark_like():
        answer = collect(frame)
        return {name: ValueRange.of(read_floats(answer[name])) for name in values}
    finite = [nw.when(nw.col(name).abs() <= LARGEST).then(nw.col(name)).alias(name) for name in values]
    asked = [
        part.alias(f"{name} {place}")
        for name in values
        for place, part in enumerate((nw.col(name).median(), nw.col(name).min(), nw.col(name).max()))
    ]
    answer = collect(frame.select(*finite).select(*asked))
    found = {name: [answer[f"{name} {place}"][0].as_py() for place in range(3)] for name in values}
    return {name: None if None in three else ValueRange(*map(float, three)) for name, three in found.items()}


def with_cubes(frame: nw.LazyFrame[Any], centres: dict[str, float]) -> nw.LazyFrame[Any]:
    """The frame with each value's distance to its centre, and its cube, as columns of their own."""
    if not centres:
        return frame
    distances = [
        (nw.col(alias) - nw.lit(centre)).alias(f"{alias}_distance") for alias, centre in centres.items()
    ]
    cubes = []
    for alias in centres:
        distance = nw.col(f"{alias}_distance")
        cubes.append((distance * distance * distance).alias(f"{alias}_cube"))
    return frame.with_columns(*distances).with_columns(*cubes)


def power_sums(alias: str) -> list[nw.Expr]:
    """The aggregates named by POWER_SUMS."""
    return [
        nw.col(alias).var(ddof=1).alias(f"{alias}_var"),
        nw.col(f"{alias}_distance").sum().alias(f"{alias}_distances"),
        nw.col(f"{alias}_cube").sum().alias(f"{alias}_cubes"),
    ]


def read_moments(alias: str, answer: dict[str, Any]) -> MetricMoments:
    """Central sums from those about the centre; zeros where there is no value."""
    count, variance = read_ints(answer[f"{alias}_count"]), read_floats(answer[f"{alias}_var"])
    some = count > 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        m2 = np.where(count > 1, np.nan_to_num(variance) * (count - 1), 0.0)
        shift = read_floats(answer[f"{alias}_distances"]) / count
        third = read_floats(answer[f"{alias}_cubes"]) - shift * (3.0 * m2 + count * shift**2)
    total, low, high = (
        np.where(some, read_floats(answer[f"{alias}_{name}"]), 0.0) for name in ("sum", "min", "max")
    )
    return MetricMoments(count, total, m2, np.where(m2 > 0, third, 0.0), low, high)
