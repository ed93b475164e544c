"""Change: an e-detector (Shin, Ramdas and Rinaldo, 2024) against the interval that a gap had in a reference period.

The chance of an alarm is not bounded for ever, which no detector of change can promise; the average number of periods
to a false alarm is at least the one chosen.
"""

from __future__ import annotations

import math

from fairtrial._inference.numeric.roots import Floats, Integers
from fairtrial._inference.sequential.bets import BETS, gain
from fairtrial._work.compiled import njit

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
