"""Rates under survey weights and repeated rows of one person, by linearisation over persons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial.stats.proportions import rate_interval

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class WeightedMean:
    """A weighted mean with its influence summed per person."""

    mean: float
    influence: Floats
    size: float  # effective number of independent rows if all values were alike

    @property
    def variance(self) -> float:
        return person_variance(self.influence)


def weighted_mean(
    values: Floats, inside: NDArray[np.bool_], weight: Floats, person: NDArray[np.int32]
) -> WeightedMean:
    """Ratio estimator Σwv/Σw over the rows inside; influence w(v − mean)/Σw per row, summed per person."""
    w = np.where(inside, weight, 0.0)
    total = w.sum()
    mean = float((w * values).sum() / total)
    persons = int(person.max()) + 1
    influence = np.asarray(np.bincount(person, w * (values - mean) / total, persons), dtype=np.float64)
    per_person = np.bincount(person, w, persons)
    return WeightedMean(mean, influence, float(total**2 / (per_person**2).sum()))


def person_variance(influence: Floats) -> float:
    """Variance of a sum of independent persons' influences, with the m/(m−1) factor."""
    m = len(influence)
    return float(m / max(m - 1, 1) * ((influence - influence.mean()) ** 2).sum())


def weighted_rate_interval(estimate: WeightedMean, level: float) -> tuple[float, float]:
    """Wilson's interval at the effective sample size (design effect folded in)."""
    spread = estimate.mean * (1 - estimate.mean)
    size = spread / estimate.variance if spread > 0 and estimate.variance > 0 else estimate.size
    low, high = rate_interval(estimate.mean * size, size, level)
    return float(low), float(high)


def linear_interval(value: float, influence: Floats, level: float) -> tuple[float, float, float]:
    """t interval over persons for a linearised estimate, and the two-sided p-value of zero."""
    error = np.sqrt(person_variance(influence))
    persons = int(np.count_nonzero(influence))
    df = max(persons - 1, 1)
    half = float(special.stdtrit(df, (1 + level) / 2)) * error
    p = 2 * float(special.stdtr(df, -abs(value) / error)) if error > 0 else 1.0
    return value - half, value + half, p
