"""Sums of powers of the rows' weights, in the one grouping query: what weighted rates are inferred from.

Powers are of the distance to a number amid the weights, in units of their spread there, so that they lose no digits
where weights are large and lie close together. A row that lacks its weight is in none of the sums.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from fairtrial._audit.cells import WeightPowers
from fairtrial._audit.columns import Columns
from fairtrial._audit.engine import read_floats, read_ints
from fairtrial._audit.expressions import ROWS_FOR_CENTRE, ValueRange, ends

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
