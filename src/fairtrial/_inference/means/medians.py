"""Medians of two groups: each with its order-statistic limits, their difference and ratio from those.

The limits of one median are two of the sorted values, by the binomial law of how many values lie below it: they hold
for any distribution, tied values included. Limits of the difference join them by the square roots of the sums of
squared distances (Zou and Donner, 2008, Statistics in Medicine 27), those of the ratio the same on logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from fairtrial._inference.numeric.roots import Floats


@dataclass(frozen=True, slots=True)
class Median:
    """A median with its limits; without limits where the values are too few for any."""

    value: float
    low: float
    high: float


def median_of(values: Floats, level: float) -> Median:
    """The median of some values.

    Examples
    --------
    >>> median_of(np.arange(1.0, 12.0), 0.95)
    Median(value=6.0, low=2.0, high=10.0)
    >>> median_of(np.arange(1.0, 6.0), 0.95)
    Median(value=3.0, low=nan, high=nan)
    """
    n, ordered = values.size, np.sort(values)
    # how many values may lie outside on either side: P(Bin(n, 1/2) <= outside - 1) <= (1 - level) / 2
    below = special.bdtr(np.arange(n // 2 + 1), n, 0.5)
    outside = int((below <= (1.0 - level) / 2.0).sum())
    value = float(np.median(ordered)) if n else np.nan
    if not outside:
        return Median(value, np.nan, np.nan)
    return Median(value, float(ordered[outside - 1]), float(ordered[n - outside]))


def median_gap(first: Median, second: Median, scale: str = "difference") -> Median:
    """The first median less the second, or over it; a ratio only where all limits are above zero."""
    if scale == "ratio":
        ends = np.array([[one.value, one.low, one.high] for one in (first, second)])
        if not (ends > 0).all():
            least = min(first.value, second.value)
            return Median(first.value / second.value if least > 0 else np.nan, np.nan, np.nan)
        own, theirs = (Median(*map(float, np.log(row))) for row in ends)
        logs = median_gap(own, theirs)
        return Median(*(float(np.exp(end)) for end in (logs.value, logs.low, logs.high)))
    gap = first.value - second.value
    below = np.hypot(first.value - first.low, second.high - second.value)
    above = np.hypot(first.high - first.value, second.value - second.low)
    return Median(gap, float(gap - below), float(gap + above))
