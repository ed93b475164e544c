"""Bets on a mean: what one side of a gap adds to the logarithm of an e-process.

For values x in [0, 1] with mean p, any centre y that was known before and any bet |e| < 1, the product of
1 + e(x - y) has an expected value of at most exp(e n (p - y)) (Waudby-Smith and Ramdas, 2024), also when p changes from
row to row. `term` is its logarithm with e n y added, so that the mean itself is all that is left to subtract.
"""

from __future__ import annotations

import math

import numpy as np

from fairtrial._inference.numeric.roots import Floats
from fairtrial._work.compiled import njit

# Bets of a third of a doubling from 0.95 down to 0.0006, equally weighted: one of them suits any gap and any size.
BETS: Floats = 0.95 * 2.0 ** (-np.arange(33) / 3.0)
PER_DOUBLING = 3.0
# The first period has no earlier one to learn a centre from: it teaches itself by splits of so many rows at most.
LARGEST_SPLIT = 64
SMALL = 1e-3


@njit
def quadratic(size: float) -> float:
    """-log(1 - size) - size, to full precision also for small sizes."""
    if size > SMALL:
        return -math.log1p(-size) - size
    return size * size * (0.5 + size * (1.0 / 3.0 + size * (0.25 + size * (0.2 + size / 6.0))))


@njit
def gain(bet: float, n: float, total: float, squares: float, centre: float, binary: bool) -> float:
    """Sum of log(1 + e(x - y)); of real values a bound from below by n, sum and squares (Fan et al., 2015)."""
    if binary:
        return total * math.log1p(bet * (1.0 - centre)) + (n - total) * math.log1p(-bet * centre)
    reach = centre if bet > 0 else 1.0 - centre
    curve = quadratic(abs(bet) * reach) / (reach * reach)
    spread = squares - 2.0 * centre * total + n * centre * centre
    return bet * (total - n * centre) - curve * spread


@njit
def term(bet: float, n: float, total: float, squares: float, centre: float, binary: bool) -> float:
    """The gain, with e n y added."""
    return gain(bet, n, total, squares, centre, binary) + bet * n * centre


@njit
def split_term(bet: float, n: float, ones: float) -> float:
    """The term of a first block of binary rows: the mean over all ways to let some rows teach the centre."""
    rows = float(min(LARGEST_SPLIT, math.ceil(math.sqrt(n))))
    if rows >= n:
        return term(bet, n, ones, ones, 0.5, True)
    least, most = max(0.0, rows - (n - ones)), min(rows, ones)
    weight, weights, largest = 0.0, 0.0, -math.inf  # logarithm of the split's, sum relative to `largest`
    summed = 0.0
    found = least
    while found <= most:
        value = weight + term(bet, rows, found, found, 0.5, True)
        value += term(bet, n - rows, ones - found, ones - found, (found + 0.5) / (rows + 1.0), True)
        peak = max(largest, weight, value)
        shrink = math.exp(largest - peak) if largest > -math.inf else 0.0
        weights = weights * shrink + math.exp(weight - peak)
        summed = summed * shrink + math.exp(value - peak)
        largest = peak
        if found < most:
            ways = (ones - found) * (rows - found)
            weight += math.log(ways / ((found + 1.0) * (n - ones - rows + found + 1.0)))
        found += 1.0
    return math.log(summed) - math.log(weights)


@njit
def log_mean_exp(values: Floats) -> float:
    """The logarithm of the mean of exponentials."""
    peak = values.max()
    total = 0.0
    for value in values:
        total += math.exp(value - peak)
    return float(peak) + math.log(total / values.size)
