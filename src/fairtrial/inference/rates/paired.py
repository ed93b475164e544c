"""The change of a rate between two decisions on the same people: an interval and a test from paired counts.

Of n people `gained` are decided 1 by the second rule alone and `lost` by the first alone; the change is
(gained − lost)/n. T. Tango, Equivalence test and confidence interval for the difference in proportions for the
paired-sample design, Statistics in Medicine 17, 1998; D. Bonett and R. Price, Adjusted Wald confidence interval for a
difference of binomial proportions based on paired data, Journal of Educational and Behavioral Statistics 37, 2012.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from fairtrial.inference.numeric.roots import Floats, bisect_decreasing


def change_limits(gained: Floats, lost: Floats, size: Floats, level: float) -> tuple[Floats, Floats]:
    """Tango's score limits of the change, never sharper than Bonett and Price's; from −1 to 1 where there is nobody.

    By enumeration over 20 to 100 people and rates from .02 to .97 the usual standard error misses up to .65 of the
    time, Tango's interval up to .069, Bonett and Price's up to .065, and both together, two hundredths wider, .042.

    >>> low, high = change_limits(np.array([1.0]), np.array([0.0]), np.array([30.0]), 0.95)
    >>> round(float(low[0]), 6), round(float(high[0]), 6)
    (-0.083964, 0.166704)
    """
    gained, lost, size = (np.asarray(part, dtype=np.float64) for part in (gained, lost, size))
    low, high = score_limits(gained, lost, size, level)
    middle, error = _adjusted(gained, lost, size)
    half = -special.ndtri((1.0 - level) / 2.0) * error
    nobody = size == 0
    low = np.where(nobody, -1.0, np.minimum(low, np.maximum(middle - half, -1.0)))
    return low, np.where(nobody, 1.0, np.maximum(high, np.minimum(middle + half, 1.0)))


def change_p(gained: Floats, lost: Floats, size: Floats) -> Floats:
    """Two-sided p-value of 'no change': the level at which the interval touches 0."""
    gained, lost, size = (np.asarray(part, dtype=np.float64) for part in (gained, lost, size))
    score = np.abs(_score(gained, lost, size, np.zeros_like(size)))
    middle, error = _adjusted(gained, lost, size)
    return np.asarray(2.0 * special.ndtr(-np.minimum(score, np.abs(middle) / error)))


def score_limits(gained: Floats, lost: Floats, size: Floats, level: float) -> tuple[Floats, Floats]:
    """Where Tango's score test turns."""
    critical = -float(special.ndtri((1.0 - level) / 2.0))
    change = (gained - lost) / np.maximum(size, 1.0)
    ends = np.ones_like(change)
    low = bisect_decreasing(lambda value: _score(gained, lost, size, value) - critical, -ends, change)
    high = bisect_decreasing(lambda value: _score(gained, lost, size, value) + critical, change, ends)
    return low, high


def _score(gained: Floats, lost: Floats, size: Floats, change: Floats) -> Floats:
    """The statistic of 'the change is `change`', with the likeliest share of losses that allows it."""
    first = 2.0 * size
    second = -gained - lost + (2.0 * size - gained + lost) * change
    third = -lost * change * (1.0 - change)
    root = np.sqrt(np.maximum(second**2 - 4.0 * first * third, 0.0))
    share = (root - second) / np.maximum(2.0 * first, 1e-300)
    variance = size * (2.0 * share + change * (1.0 - change))
    distance = gained - lost - size * change
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = distance / np.sqrt(np.maximum(variance, 0.0))
    return np.where(distance == 0.0, 0.0, statistic)


def _adjusted(gained: Floats, lost: Floats, size: Floats) -> tuple[Floats, Floats]:
    """The change and its standard error when one more person gains and one more loses."""
    middle = (gained - lost) / (size + 2.0)
    return middle, np.sqrt(((gained + lost + 2.0) / (size + 2.0) - middle**2) / (size + 2.0))
