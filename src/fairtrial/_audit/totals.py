"""Tables of totals, such as 120 applicants of whom 30 were hired, and other rows that stand for several people."""

from __future__ import annotations

import re
from typing import Any

import narwhals as nw
import numpy as np

from fairtrial._audit.cells import Floats, Ints
from fairtrial._audit.engine import WHO, collect, connect, read_floats, read_ints, reading, repeated_in_spark
from fairtrial._audit.expressions import clean_number
from fairtrial._audit.roles import Roles
from fairtrial._audit.source import Source
from fairtrial._errors import Fault, InputError
from fairtrial._labels import is_missing
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


# -- Tables of totals, such as 120 applicants of whom 30 were hired: read as people, counted for each
# decision.

CELL = 32.0  # bytes of one value, while the table is read
DIGITS = 12  # of a share, after its point
ROUNDING = 1e-9  # of a number of people, which floats lose
SHARE = re.compile(r"%|(?:^|[\W_])(?:rate|ratio|share|percent|percentage|pct|proportion)(?:$|[\W_])")
WAYS = {"counts": "as numbers of people", "shares": "as shares of it", "percent": "as percent of it"}


def counted_source(source: Source, roles: Roles) -> Source:
    """The source whose rows stand for as many people as the roles say."""
    if roles.total is not None:
        return _people_of_totals(source, roles)
    source.counted = roles.count or source.counted
    return source


def _people_of_totals(source: Source, roles: Roles) -> Source:
    """The table with two rows for each of its own: the people with decision (or outcome) 1, then the others.

    The column of totals becomes the count of each row. A row whose decision is missing keeps its people together.
    """
    import pyarrow as pa

    role = "outcome" if roles.decision is None else "decision"
    chosen, total = str(getattr(roles, role)), str(roles.total)
    source.counted = total
    check_counts(source, "total")
    own = [name for name in source.columns if name not in source.derived]
    check_memory(WHO, CELL * source.count_lines() * len(own), "a table of totals")
    frame = source.lazy(own)
    answer = collect(frame if source.ordered else frame.sort(*own))
    people = read_floats(answer[total]).astype(np.int64)
    subject = f"{role} {chosen!r}"
    values, percent = _numbers(role, subject, answer[chosen])
    told = ~np.isnan(values) & (people > 0)
    way = _way(chosen, values[told], percent)
    ones = np.zeros(people.size, dtype=np.int64)
    ones[told] = _ones(role, subject, values[told], people[told], way)
    line = np.repeat(np.arange(people.size), 2)
    table = {name: column.take(pa.array(line)) for name, column in answer.items()}
    unknown = np.repeat(np.isnan(values), 2)
    table[chosen] = pa.array(np.tile([1, 0], people.size), type=pa.int64(), mask=unknown)
    table[total] = pa.array(np.stack([ones, people - ones], axis=1).reshape(-1))
    read = source.replaced(pa.table(table))
    read.found["totals",] = f"{subject} is read {WAYS[way]}"
    return read


def _numbers(role: str, subject: str, column: Any) -> tuple[Floats, bool]:
    """Counts or shares as numbers, NaN where they are missing; and whether they are texts with a sign of percent."""
    try:
        return read_floats(column), False
    except Exception:  # what Arrow has against a text depends on its release
        texts = [None if is_missing(value) else str(value).strip() for value in column.to_pylist()]
    percent = any(text is not None and text.endswith("%") for text in texts)
    values = np.full(len(texts), np.nan)
    for place, text in enumerate(texts):
        try:
            values[place] = np.nan if text is None else float(text.removesuffix("%"))
        except ValueError:
            required = "must hold numbers of people, or shares of the total"
            raise InputError(WHO, Fault(role, required, got=text, subject=subject)) from None
    return values, percent


def _way(name: str, values: Floats, percent: bool) -> str:
    """Whether the values are numbers of people, shares or percent: whole ones are people, unless they are named so."""
    if percent:
        return "percent"
    if not SHARE.search(name.lower()) and bool((values % 1 == 0).all()):
        return "counts"
    return "shares" if bool((values <= 1).all()) else "percent"


def _ones(role: str, subject: str, values: Floats, people: Ints, way: str) -> Ints:
    """How many of the people of each row have decision 1."""
    scale = {"counts": 0.0, "shares": 1.0, "percent": 100.0}[way]
    most = scale or people
    wrong = ~((values >= 0) & (values <= most))
    if wrong.any():
        worst = np.flatnonzero(wrong)[0]
        required = f"must be between 0 and the total; it is {values[worst]:g} of {people[worst]:,} people"
        raise InputError(
            WHO, Fault(role, required, subject=subject, cure="correct it, or name another total")
        )
    if way == "counts":
        return values.astype(np.int64)
    digits = next(
        (d for d in range(DIGITS) if bool((np.abs(np.round(values, d) - values) < 1e-13).all())), DIGITS
    )
    half = 0.5 * 10.0**-digits / scale * people + ROUNDING * np.maximum(people, 1.0)
    low = np.maximum(np.ceil(values / scale * people - half), 0.0)
    high = np.minimum(np.floor(values / scale * people + half), people)
    if (low != high).any():
        worst = np.flatnonzero(low != high)[0]
        shown = f"{values[worst]:g}{'%' if scale > 1 else ''} of {people[worst]:,} people"
        of = (
            "is no whole number"
            if low[worst] > high[worst]
            else f"may be {low[worst]:,.0f} to {high[worst]:,.0f}"
        )
        required = f"must give a whole number of people within its rounding; {shown} {of}"
        cure = "give the number of people, or the share with more digits"
        raise InputError(WHO, Fault(role, required, subject=subject, cure=cure))
    return low.astype(np.int64)
