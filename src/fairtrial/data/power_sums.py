"""Central sums of real columns, by group, in one query: distances to a number amid the data, and their cubes.

Sums of cubes about zero lose all their digits where values are large and lie close together; the centre need not be the
mean, since sums about it become those about each group's mean.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from fairtrial.data.cells import Moments
from fairtrial.data.reading import read_floats, read_ints
from fairtrial.data.source import collect

ROWS_FOR_CENTRE = 1_000
POWER_SUMS = ("var", "distances", "cubes")


def find_centres(frame: nw.LazyFrame[Any], values: list[str]) -> dict[str, float]:
    """A number amid each column's first values: cubes of the distances to it lose few digits to rounding."""
    if not values:
        return {}
    answer = collect(frame.select(*values).head(ROWS_FOR_CENTRE))
    centres = {}
    for alias in values:
        first = read_floats(answer[alias])
        finite = first[np.isfinite(first)]
        centres[alias] = float(np.median(finite)) if finite.size else 0.0
    return centres


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
