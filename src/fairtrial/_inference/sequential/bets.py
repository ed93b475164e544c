"""Bets on a mean: what one side of a gap adds to the logarithm of an e-process.

For values x in [0, 1] with mean p, any centre y that was known before and any bet |e| < 1, the product of
1 + e(x - y) has an expected value of at most exp(e n (p - y)) (Waudby-Smith and Ramdas, 2024), also when p changes from
row to row. `term` is its logarithm with e n y added, so that the mean itself is all that is left to subtract.
"""

from __future__ import annotations

import math

import numpy as np

from fairtrial._inference.numeric.roots import Floats, Integers
from fairtrial._work.compiled import njit

# -- Change: an e-detector (Shin, Ramdas and Rinaldo, 2024) against the interval that a gap had in a reference period.
# The chance of an alarm is not bounded for ever, which no detector of change can promise; the average number of
# periods to a false alarm is at least the one chosen.
FADES = 0.8  # what the centre keeps of earlier blocks


@njit
def edge_centres(n_a: float, n_b: float, pooled: float, edge: float) -> tuple[float, float]:
    """Rates of both sides that differ by the edge and have the pooled mean, inside [0, 1]."""
    other = pooled - edge * n_a / (n_a + n_b)
    other = min(max(other, 0.0, -edge), 1.0, 1.0 - edge)
    return other + edge, other


@njit
def watch_change(
    block: Floats, pooled: Floats, change: Floats, alarm: Integers, reference: Floats, period: int, run: float,
    binary: bool,
) -> None:  # fmt: skip
    """One more block: upwards against the interval's upper end, downwards against its lower one."""
    n_a, n_b = block[0, 0], block[1, 0]
    alone = n_b == 0.0  # against a known target
    weight = n_a if alone else n_a * n_b / (n_a + n_b)
    mean = (pooled[1] + 1.0) / (pooled[0] + 2.0)
    for direction in range(2):
        sign = 1.0 if direction == 0 else -1.0
        edge = reference[1] if direction == 0 else reference[0]
        q_a, q_b = (min(max(edge, 0.0), 1.0), 0.0) if alone else edge_centres(n_a, n_b, mean, edge)
        for j in range(change.shape[2]):
            bet = sign * BETS[j]
            x = gain(bet * weight / n_a, n_a, block[0, 1], block[0, 2], q_a, binary)
            if not alone:
                x += gain(-bet * weight / n_b, n_b, block[1, 1], block[1, 2], q_b, binary)
            grown = change[direction, 0, j]
            change[direction, 0, j] = x + (math.log1p(math.exp(grown)) if grown < 30.0 else grown)
            if change[direction, 1, j] <= 0.0:
                change[direction, 1, j] = 0.0
                change[direction, 2, j] = period
            change[direction, 1, j] += x
    pooled[0] = FADES * pooled[0] + n_a + n_b
    pooled[1] = FADES * pooled[1] + block[0, 1] + block[1, 1]
    if alarm[0] < 0 and log_detector(change) >= run:
        alarm[0] = period
        alarm[1] = began(change)


@njit
def log_detector(change: Floats) -> float:
    """The logarithm of the mean of the detectors of all bets and both directions."""
    peak = change[:, 0].max()
    if peak == -math.inf:
        return -math.inf
    total = 0.0
    for direction in range(2):
        for j in range(change.shape[2]):
            total += math.exp(change[direction, 0, j] - peak)
    return float(peak) + math.log(total / (2 * change.shape[2]))


@njit
def began(change: Floats) -> int:
    """The period in which the largest cumulative sum began."""
    best, where = -math.inf, -1
    for direction in range(2):
        for j in range(change.shape[2]):
            if change[direction, 1, j] > best:
                best, where = change[direction, 1, j], int(change[direction, 2, j])
    return where


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
