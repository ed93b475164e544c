"""Roles as expressions and numbers: what counts as 1, the decision at its threshold, derived values."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from fairtrial._audit.cells import Floats, WeightPowers
from fairtrial._audit.columns import Columns
from fairtrial._audit.engine import collect, read_floats, read_ints
from fairtrial._audit.expressions import (
    EXPRESSIONS,
    ROWS_FOR_CENTRE,
    ValueRange,
    clean_number,
    ends,
    infinite,
    one_or_zero,
    present,
)
from fairtrial._errors import Fault, Faults, InputError, Note, Set, Words
from fairtrial._labels import MISSING, canonical, is_number
from fairtrial._metrics.values import Role

OTHER = 2.0  # stands for a number that is neither 0 nor 1 in the key of a binary role
LABELS = 2  # a decision of more numbers than this is an amount
_BINARY_LABELS = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0, MISSING: np.nan}


def role_key(columns: Columns, name: str) -> nw.Expr:
    """A binary role as a grouping key: 0, 1, null, OTHER for other numbers; raw labels for text."""
    if name == "decision" and columns.decision is None:
        assert columns.threshold is not None
        score = role_number(columns, "score")
        decided = one_or_zero(score >= columns.threshold, score < columns.threshold)
        return nw.when(infinite(score)).then(nw.lit(OTHER)).otherwise(decided)
    column = str(getattr(columns, name))
    kind = columns.kind(column)
    if kind == "other":
        raise InputError("Audit", columns.roles.fault([name], "must hold 0 and 1, two labels or numbers"))
    if kind != "float":
        return nw.col(column)  # grouped as it is: engines are fastest so
    if name in columns.positive:
        return _which_positive(columns, name, column)
    number = clean_number(column, kind)
    return (
        nw.when((number == 0) | (number == 1))
        .then(number)
        .otherwise(nw.when((number != 0) & (number != 1)).then(nw.lit(OTHER)))
    )


def _is_positive(columns: Columns, name: str, column: str) -> nw.Expr:
    return (
        nw.when(_which_positive(columns, name, column) > 0)
        .then(nw.lit(1.0))
        .otherwise(nw.when(~clean_number(column, columns.kind(column)).is_null()).then(nw.lit(0.0)))
    )


def _which_positive(columns: Columns, name: str, column: str) -> nw.Expr:
    """Which of the labels that count as 1 a number is, from 1 on; 0 for any other."""
    number = clean_number(column, columns.kind(column))
    which: nw.Expr = nw.when(~number.is_null()).then(nw.lit(0.0))
    for place, label in reversed(list(enumerate(columns.roles.counted(name), start=1))):
        which = nw.when(number == label_number(label)).then(nw.lit(float(place))).otherwise(which)
    return which


def role_number(columns: Columns, name: str) -> nw.Expr:
    """A role as a real number; text labels as 0 and 1."""
    if name == "decision" and columns.decision is None:
        return role_key(columns, "decision")
    column = str(getattr(columns, name))
    kind = columns.kind(column)
    if kind in ("text", "other"):
        if name in ("score", "weight"):
            raise InputError("Audit", columns.not_numbers(column, name))
        raw = _positive_labels(columns, name, column)
        return one_or_zero(nw.col(column).is_in(raw), present(column, kind))
    return _is_positive(columns, name, column) if name in columns.positive else clean_number(column, kind)


def _positive_labels(columns: Columns, name: str, column: str) -> list[Any]:
    answer = collect(columns.lazy([column]).select(nw.col(column).alias("x")).unique())
    faults = Faults("Audit")
    values = text_role(columns, name, answer["x"], faults)
    faults.raise_any()
    return [raw for raw, value in zip(answer["x"].to_pylist(), values, strict=True) if value == 1]


def role_value(columns: Columns, part: Role) -> nw.Expr:
    """A role's value as an expression."""
    expression: nw.Expr = part.of({need: role_number(columns, need) for need in part.needs}, EXPRESSIONS)
    return expression


def column_number(columns: Columns, who: str, name: str) -> nw.Expr:
    """A column of numbers as a float."""
    columns.check_column(who, "metric", name)
    if columns.kind(name) not in ("bool", "int", "float"):
        raise InputError(who, columns.not_numbers(name, "value"))
    return clean_number(name, columns.kind(name))


def text_role(columns: Columns, name: str, column: Any, faults: Faults) -> Floats:
    """The labels of a binary role as 0, 1 and NaN."""
    encoded = column.dictionary_encode()
    labels = [canonical(value) for value in encoded.dictionary.to_pylist()]
    if name in columns.positive:
        counted = columns.roles.counted(name)
        numbers = [np.nan if label == MISSING else float(label in counted) for label in labels]
    else:
        numbers = [_BINARY_LABELS.get(label, 0.0) for label in labels]
        strange = sorted({label for label in labels if label not in _BINARY_LABELS})
        if strange:
            faults.add(_labels_fault(columns, name, strange, len(strange) < len(labels)))
    indices = np.asarray(encoded.indices.fill_null(len(numbers)), dtype=np.int64)
    return np.array([*numbers, np.nan])[indices]


def _labels_fault(columns: Columns, name: str, strange: list[str], others: bool) -> Fault:
    shown = ", ".join(repr(label) for label in strange[:6])
    cure, example = "say which counts as 1, e.g. {}", Set("positive", {name: strange[-1]}, of="Audit")
    if others:
        shown, cure = f"{shown} besides 0 and 1", f"leave them empty where they mean missing, or {cure}"
    return columns.roles.fault([name], f"has the labels {shown}", Words(cure, example))


def constant_note(columns: Columns) -> Note | None:
    """What to say of a decision that was read and is the same for everybody."""
    value = columns.source.found.get(("constant decision", *columns.decision_key))
    if value is None:
        return None
    why = f"{columns.decision!r} does not vary"
    if columns.decision is None:
        low, high = columns.source.once(("scores", columns.score), lambda: _score_range(columns))
        side = f"at or below the smallest score {low:g}" if value else f"above the largest score {high:g}"
        why = f"threshold {columns.threshold:g} is {side}"
    return Note("constant-decision", f"Every decision is {value}: {why}.")


def _score_range(columns: Columns) -> tuple[float, float]:
    score, frame = nw.col("x"), columns.lazy([str(columns.score)])
    frame = frame.select(role_number(columns, "score").alias("x"))
    answer = collect(frame.select(score.min().alias("low"), score.max().alias("high")))
    return float(answer["low"][0].as_py()), float(answer["high"][0].as_py())


def count_scores(columns: Columns, rows: int) -> int:
    """How many different scores some rows have."""
    people = columns.lazy([str(columns.score)], each=True)
    frame = people.select(role_number(columns, "score").alias("x")).head(rows)
    return int(collect(frame.select(nw.col("x").n_unique()))["x"][0].as_py())


def count_numbers(columns: Columns, name: str) -> int:
    """How many different values a column of numbers has."""
    number = clean_number(name, columns.kind(name)).alias("x")
    distinct = columns.lazy([name]).select(number).filter(~nw.col("x").is_null()).unique()
    return int(collect(distinct.select(nw.len().alias("n")))["n"][0].as_py())


def decision_is_real(columns: Columns) -> bool:
    """Whether what was decided is a number: pay, a price, a limit, a sentence."""
    name = columns.decision
    if name is None or columns.order is not None or "decision" in columns.positive:
        return False
    if columns.kind(name) not in ("int", "float"):
        return False
    return bool(columns.source.once(("real decision", name), lambda: count_numbers(columns, name) > LABELS))


def label_number(label: object) -> float:
    """A positive label of a numeric or boolean column as a number; NaN, which equals nothing, when it is none."""
    text = {"true": "1", "false": "0"}.get(canonical(label), canonical(label))
    return float(text) if is_number(text) else float("nan")


# -- Sums of powers of the rows' weights, in the one grouping query: what weighted rates are inferred
# from. Powers are of the distance to a number amid the weights, in units of their spread there, so that
# they lose no digits where weights are large and lie close together. A row that lacks its weight is in
# none of the sums.

WEIGHT = "weight"  # the alias of the weights among a query's columns
POWERS = 7
# Weights in so many parts of about the largest one add up exactly, whatever their order and the engine.
PARTS = 2.0**24
ROUNDING = (
    1.5 * 2.0**52
)  # added and taken away again leaves the nearest whole number, faster than rounding does


def _weight(roles: Columns) -> nw.Expr:
    """The weights as they are: NaN makes its sums NaN, which tells that they are of no use, and needs no condition."""
    column = nw.col(str(roles.weight))
    whole = roles.kind(str(roles.weight)) == "bool"
    return (column.cast(nw.Int64) if whole else column).cast(nw.Float64)


def find_scale(roles: Columns) -> tuple[float, float]:
    """A number amid the first weights, and how far they lie from it at most."""
    column = str(roles.weight)
    values = roles.source.first(column, ROWS_FOR_CENTRE) if roles.source.counted is None else None
    if values is None:
        frame = (
            roles.source.lazy([column]) if roles.source.counted is None else roles.lazy([column], each=True)
        )
        frame = frame.select(_weight(roles).alias(WEIGHT)).head(ROWS_FOR_CENTRE)
        found = ends(frame.filter(nw.col(WEIGHT) > 0), [WEIGHT])[WEIGHT]
    else:
        first = read_floats(values)
        found = ValueRange.of(first[first > 0])
    if found is None:
        return 1.0, 1.0
    return found.middle, max(found.high - found.middle, found.middle - found.low) or found.middle


def weight_columns(roles: Columns, centre: float, spread: float) -> dict[str, nw.Expr]:
    """The weights, how far they lie from the centre, and what their fingerprint is made of."""
    weight = _weight(roles)
    whole = 2.0 ** np.ceil(np.log2(centre + spread))  # a power of two: dividing by it loses no digit
    parts = weight * nw.lit(float(PARTS / whole))
    return {
        WEIGHT: weight,
        "power_1": (weight - nw.lit(centre)) / nw.lit(spread),
        "weight_mark": (parts + nw.lit(ROUNDING)) - nw.lit(ROUNDING),
    }


def with_powers(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The frame with the higher powers, in few steps of short products: long ones take longer to write than to sum."""
    one, two, three = (nw.col(f"power_{power}") for power in (1, 2, 3))
    frame = frame.with_columns((one * one).alias("power_2"), (one * one * one).alias("power_3"))
    products = {4: two * two, 5: two * three, 6: three * three, 7: three * three * one}
    return frame.with_columns(*(product.alias(f"power_{power}") for power, product in products.items()))


def power_aggregates() -> list[nw.Expr]:
    sums = [nw.col(f"power_{power}").sum().alias(f"power_{power}") for power in range(1, POWERS + 1)]
    weight = nw.col(WEIGHT)
    return [
        *sums,
        nw.col("power_1").count().alias("power_0"),
        weight.min().alias("weight_min"),
        weight.max().alias("weight_max"),
        nw.col("weight_mark").sum().alias("weight_mark"),
    ]


def read_powers(answer: dict[str, Any], centre: float, spread: float) -> WeightPowers:
    count = read_ints(answer["power_0"]).astype(np.float64)
    sums = [read_floats(answer[f"power_{power}"]) for power in range(1, POWERS + 1)]
    low, high = read_floats(answer["weight_min"]), read_floats(answer["weight_max"])
    return WeightPowers(
        centre, spread, np.stack([count, *sums], axis=1),
        np.where(np.isnan(low), np.inf, low), np.where(np.isnan(high), -np.inf, high),
        np.nan_to_num(read_floats(answer["weight_mark"])),
    )  # fmt: skip
