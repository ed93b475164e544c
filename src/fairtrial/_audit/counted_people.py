"""Rows that stand for several people: faults of their counts, and such rows written out, one for each person."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from fairtrial._audit.engine import WHO, collect, connect, read_floats, read_ints, reading, repeated_in_spark
from fairtrial._audit.expressions import clean_number
from fairtrial._audit.source import Source
from fairtrial._errors import Fault, InputError
from fairtrial._work.memory import check_memory

LARGEST = 2.0**53  # beyond it floats are not exact
FEW_ROWS = 1_000  # with whole weights may be a table of counts
BYTES = 16  # of one value, while a table is written out


def check_counts(source: Source, role: str) -> None:
    """Refuse counts that are no number of people, once for each source."""
    column = source.counted
    if column is not None:
        source.once(("counts are good", column), lambda: _check(source, role, column))


def _check(source: Source, role: str, column: str) -> bool:
    kind, subject = source.kinds([column])[column], f"{role} {column!r}"
    required = "must hold whole numbers of people, 0 or more"
    if kind not in ("int", "float"):
        cure = "name a column of numbers"
        first = collect(source.lazy([column]).select(nw.col(column).alias("x")).head(1))["x"].to_pylist()
        raise InputError(
            WHO, Fault(role, required, cure=cure, got=first[0] if first else None, subject=subject)
        )
    number = nw.col("x")
    good = (number >= 0) & (number <= LARGEST) & (number % 1 == 0)
    frame = source.lazy([column]).select(clean_number(column, kind).alias("x"))
    frame = frame.with_columns(
        bad=nw.when(good).then(nw.lit(0)).otherwise(nw.lit(1)).cast(nw.Int64),
        people=nw.when(good).then(number).otherwise(nw.lit(0.0)),
    )
    sums = collect(frame.select(nw.col("bad").sum(), nw.col("people").sum()))
    bad, people = (float(sums[name][0].as_py() or 0) for name in ("bad", "people"))
    if bad:
        value = collect(frame.filter(nw.col("bad") == 1).select("x").head(1))["x"][0].as_py()
        shown = "a missing one" if value is None else f"{value:,.15g}"
        rows = "1 row does not" if bad == 1 else f"{bad:,.0f} rows do not"
        cure = "correct them or take those rows out; numbers that correct a sample are a weight, not a count"
        raise InputError(WHO, Fault(role, f"{required}; {rows}, such as {shown}", cure=cure, subject=subject))
    if people > LARGEST:
        required = f"sums to {people:,.4g} people, too many to count exactly"
        raise InputError(WHO, Fault(role, required, cure="check its units", subject=subject))
    return True


def whole_numbers(source: Source, column: str, rows: int) -> tuple[float, float, float] | None:
    """The smallest, the largest and the sum of a column of few whole numbers, some above 1; else None."""
    kind = source.kinds([column])[column]
    if rows > FEW_ROWS or kind not in ("int", "float"):
        return None
    values = read_floats(collect(source.lazy([column]).select(clean_number(column, kind).alias("x")))["x"])
    if not values.size or not (values % 1 == 0).all() or values.min() < 0 or values.max() <= 1:
        return None
    return float(values.min()), float(values.max()), float(values.sum())


def with_people(frame: nw.LazyFrame[Any], column: str, *, each: bool) -> nw.LazyFrame[Any]:
    """The rows that count somebody: with their count, or once for `each` person, one after the other."""
    frame = frame.with_columns(nw.col(column).cast(nw.Int64)).filter(nw.col(column) > 0)
    if not each:
        return frame
    if frame.implementation.is_spark_like():
        return repeated_in_spark(frame, column)
    with reading():
        lines = frame.collect("polars" if frame.implementation.is_polars() else "pyarrow")
    times = read_ints(lines.get_column(column).to_arrow())
    people = int(times.sum())
    check_memory(WHO, float(BYTES * people * len(lines.columns)), f"{people:,} people, a row each")
    written = lines[np.repeat(np.arange(len(lines)), times)]
    if frame.implementation.is_polars():
        return written.lazy()
    relation: nw.LazyFrame[Any] = nw.from_native(connect().from_arrow(written.to_native()))
    return relation
