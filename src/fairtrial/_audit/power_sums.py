"""Central sums of real columns, by group, in one query: distances to a number amid the data, and their cubes.

Sums of cubes about zero lose all their digits where values are large and lie close together; the centre need not be the
mean, since sums about it become those about each group's mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from fairtrial._audit.cells import Floats, Moments
from fairtrial._audit.expressions import LARGEST
from fairtrial._audit.reading import read_floats, read_ints
from fairtrial._audit.source import collect

ROWS_FOR_CENTRE = 1_000
POWER_SUMS = ("var", "distances", "cubes")


def find_centres(frame: nw.LazyFrame[Any], values: list[str]) -> dict[str, float]:
    """A number amid each column's first values: cubes of the distances to it lose few digits to rounding."""
    if not values:
        return {}
    first = frame.select(*values).head(ROWS_FOR_CENTRE)
    return {name: 0.0 if found is None else found.middle for name, found in ends(first, values).items()}


class Ends(NamedTuple):
    """The median, the smallest and the largest of some values."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> Ends | None:
        """Those of the finite values; None where there is none."""
        finite = values[np.isfinite(values)]
        if not finite.size:
            return None
        # Halves: the sum of the two in the middle may be more than a number can be.
        return cls(2.0 * float(np.median(0.5 * finite)), float(finite.min()), float(finite.max()))


def ends(frame: nw.LazyFrame[Any], values: list[str]) -> dict[str, Ends | None]:
    """The ends of a few rows' columns. Spark finds them itself and sends one line: its rows stay there."""
    if not frame.implementation.is_spark_like():
        answer = collect(frame)
        return {name: Ends.of(read_floats(answer[name])) for name in values}
    finite = [nw.when(nw.col(name).abs() <= LARGEST).then(nw.col(name)).alias(name) for name in values]
    asked = [
        part.alias(f"{name} {place}")
        for name in values
        for place, part in enumerate((nw.col(name).median(), nw.col(name).min(), nw.col(name).max()))
    ]
    answer = collect(frame.select(*finite).select(*asked))
    found = {name: [answer[f"{name} {place}"][0].as_py() for place in range(3)] for name in values}
    return {name: None if None in three else Ends(*map(float, three)) for name, three in found.items()}


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


def read_moments(alias: str, answer: dict[str, Any]) -> Moments:
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
    return Moments(count, total, m2, np.where(m2 > 0, third, 0.0), low, high)
