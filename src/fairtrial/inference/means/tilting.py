"""Tilted weights of one large sample by power series: no pass over its values for each tilt.

With x the values minus their mean, a tilt t needs the means of 1/(1 + t x) and of log(1 + t x). Both are power series
in t whose coefficients, the mean powers of x, are summed once. The largest |x| would spoil their convergence, so that
the few farthest values are taken as they are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fairtrial.inference.numeric.roots import Floats

FARTHEST = 1024  # values that are taken one by one
FEWEST = 4 * FARTHEST  # below it passes over all values cost no more
# |t x| of the others is at most REACH. What the series leave out is REACH^(POWERS - 1) = 2^-54 of their leading term.
REACH = 0.25
POWERS = 28
BLOCK = 8192  # values whose powers stay in the processor's cache


class Tilted(NamedTuple):
    """What one tilt gives."""

    excess: float  # mean of 1/(1 + t x), minus one
    squares: float  # mean of 1/(1 + t x)^2


class PowerSums:
    """The sums of one sample; `lowest` and `highest` are its ends, each with its count."""

    def __init__(self, centred: Floats, counts: Floats, size: float) -> None:
        order = np.argpartition(np.abs(centred), centred.size - FARTHEST)
        near, far = order[:-FARTHEST], order[-FARTHEST:]
        self.far, self.far_counts, self.size = centred[far], counts[far] / size, size
        self.radius = float(np.abs(centred[near]).max())
        sums = _power_sums(centred[near] / self.radius, counts[near])
        self.inverse = [sign * total / size for sign, total in zip(_signs(), sums, strict=True)]
        self.logs = [-term / power for power, term in enumerate(self.inverse, start=1)]
        first, last = int(np.argmin(centred)), int(np.argmax(centred))
        self.lowest = float(centred[first]), float(counts[first]) / size
        self.highest = float(centred[last]), float(counts[last]) / size

    def solve(self, multiplier: float, variance: float) -> tuple[float, float] | None:
        """Mean and log ratio as `tilt` of the sample has them; None where the series do not reach.

        The same Newton steps on the harmonic mean, written with what is left of it when one is taken off.
        """
        value, share = self.lowest if multiplier > 0 else self.highest
        limit = 1.0 + multiplier * value - share
        shift = min(-(multiplier**2) * variance, limit)
        for _ in range(200):
            tilted = self._at(multiplier / (1.0 - shift)) if shift < 1.0 else None
            if tilted is None:
                return None
            step = -(shift + tilted.excess) * (1.0 + tilted.excess) / tilted.squares
            proposal = min(shift + step, limit)
            if abs(proposal - shift) <= 1e-15 * abs(shift):
                break
            shift = proposal
        logs = self._mean_log(multiplier / (1.0 - proposal)) + math.log1p(-proposal)
        return proposal / multiplier, max(2.0 * self.size * logs, 0.0)

    def _at(self, tilt: float) -> Tilted | None:
        scaled = tilt * self.radius
        raised = 1.0 + tilt * self.far
        if abs(scaled) > REACH or raised.min() <= 0.0:
            return None
        inverse = 1.0 / raised
        excess = float(self.far_counts @ (inverse - 1.0)) + _series(self.inverse, scaled)
        # d/dt of t times the mean of 1/(1 + t x) is the mean of 1/(1 + t x)^2.
        near = _series([(power + 2) * term for power, term in enumerate(self.inverse)], scaled)
        return Tilted(excess, 1.0 + float(self.far_counts @ (inverse * inverse - 1.0)) + near)

    def _mean_log(self, tilt: float) -> float:
        return float(self.far_counts @ np.log1p(tilt * self.far)) + _series(self.logs, tilt * self.radius)


def _signs() -> list[float]:
    return [(-1.0) ** power for power in range(1, POWERS + 1)]


def _series(terms: list[float], x: float) -> float:
    """The sum of terms[k] x^(k + 1)."""
    total = 0.0
    for term in reversed(terms):
        total = (total + term) * x
    return total


def _power_sums(x: Floats, counts: Floats) -> Floats:
    """Sums of the first powers."""
    sums = np.zeros(POWERS)
    for start in range(0, x.size, BLOCK):
        part, weight = x[start : start + BLOCK], counts[start : start + BLOCK]
        power = weight.copy()
        for index in range(POWERS):
            power *= part
            sums[index] += power.sum()
    return sums
