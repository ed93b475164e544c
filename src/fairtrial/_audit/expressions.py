"""Narwhals expressions that mean the same on every engine: missing values, bins, operations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import narwhals as nw

from fairtrial._audit.source import Kind, Source, collect
from fairtrial._labels import INFINITE

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


def missing_counts(source: Source, columns: Sequence[str]) -> tuple[dict[str, int], int]:
    """Missing values per column, and the number of rows, in one pass."""
    kinds = source.kinds(columns)
    one, zero = nw.lit(1).cast(nw.Int64), nw.lit(0).cast(nw.Int64)
    flags = [
        nw.when(present(name, kinds[name])).then(zero).otherwise(one).alias(f"m{i}")
        for i, name in enumerate(columns)
    ]
    sums = [nw.col(f"m{i}").sum() for i in range(len(columns))]
    counts = collect(source.lazy(columns).select(*flags).select(nw.len().alias("n"), *sums))
    missing = {name: int(counts[f"m{i}"][0].as_py() or 0) for i, name in enumerate(columns)}
    return missing, int(counts["n"][0].as_py())


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
