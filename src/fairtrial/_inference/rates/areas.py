"""Areas under the ROC curve of independent samples: limits and gaps that hold in small samples and near 1.

DeLong's variance from the sample's own placements is zero where all positives are above all negatives, and far too
small near it: its 95% interval misses in 5 to 94% of samples with ten positives. Here each side's interval is that of a
rate at the number of people that the area's variance is worth (Wilson's, with Student's t, and never inside the exact
one); for the variance one more positive and one more negative are placed at the far end of that side, which a small
sample may lack. That one person counts less and less as the sample grows. Gaps join the two limits (Zou and Donner's
method of variance estimates recovery), and the p-value is the level at which their limit reaches 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, stdtrit

Floats = NDArray[np.float64]
SMALLEST = 1e-300
LARGEST_ROOT = 12.0  # no p-value is smaller than its tail, 4e-33


@dataclass(frozen=True, slots=True, eq=False)
class Areas:
    """Areas of several samples: people with and without the outcome, and mean squares of their placements."""

    area: Floats
    positives: Floats
    negatives: Floats
    square_of_positives: Floats
    square_of_negatives: Floats

    def limits(self, level: float) -> tuple[Floats, Floats]:
        """Limits of each area."""
        return self.limits_at(np.full(self.area.shape, 1.0 - level))

    def limits_at(self, error: Floats) -> tuple[Floats, Floats]:
        """Limits of each area that both err so often."""
        low, high = self._side(error, 0.0), self._side(error, 1.0)
        return np.where(self.area > 0, low, 0.0), np.where(self.area < 1, high, 1.0)

    def _side(self, error: Floats, end: float) -> Floats:
        """The lower (end 0) or upper (end 1) limit."""
        people, freedom = self._worth(end)
        z = -stdtrit(freedom, error / 2.0)
        centre = (self.area + z**2 / (2 * people)) / (1 + z**2 / people)
        spread = self.area * (1 - self.area) / people + z**2 / (4 * people**2)
        away = z / (1 + z**2 / people) * np.sqrt(spread)
        k = self.area * people
        with np.errstate(invalid="ignore"):
            if end == 0.0:
                exact = betaincinv(np.maximum(k, 1e-12), people - k + 1.0, error / 2.0)
                return np.asarray(np.minimum(centre - away, exact))
            exact = betaincinv(k + 1.0, np.maximum(people - k, 1e-12), 1.0 - error / 2.0)
            return np.asarray(np.maximum(centre + away, exact))

    def _worth(self, end: float) -> tuple[Floats, Floats]:
        """How many people the area's variance is worth, with one of each kind at the end, and degrees of freedom."""
        means, variances = [], []
        sides = ((self.positives, self.square_of_positives), (self.negatives, self.square_of_negatives))
        for n, square in sides:
            mean = (n * self.area + end) / (n + 1.0)
            means.append(mean)
            variances.append(np.maximum(((n * square + end) / (n + 1.0) - mean**2) / n, 0.0))
        mean, variance = (means[0] + means[1]) / 2.0, variances[0] + variances[1]
        freedom = variance**2 / (
            variances[0] ** 2 / self.positives + variances[1] ** 2 / self.negatives + SMALLEST
        )
        people = np.clip(mean * (1.0 - mean) / np.maximum(variance, SMALLEST), 1.0, 1e12)
        return people, np.maximum(freedom, 1.0)


def gap_limits(first: Areas, second: Areas, level: float) -> tuple[Floats, Floats]:
    """Limits of the difference of two independent areas."""
    return _gap_limits_at(first, second, np.full(first.area.shape, 1.0 - level))


def _gap_limits_at(first: Areas, second: Areas, error: Floats) -> tuple[Floats, Floats]:
    low1, high1 = first.limits_at(error)
    low2, high2 = second.limits_at(error)
    gap = first.area - second.area
    return (
        np.maximum(gap - np.hypot(first.area - low1, high2 - second.area), -1.0),
        np.minimum(gap + np.hypot(high1 - first.area, second.area - low2), 1.0),
    )


def gap_p(first: Areas, second: Areas) -> Floats:
    """Two-sided p-values of no difference: the error at which the limit on the side of 0 reaches it."""
    gap = first.area - second.area
    inner, outer = np.zeros(gap.shape), np.full(gap.shape, LARGEST_ROOT)
    for _ in range(60):
        root = (inner + outer) / 2.0
        low, high = _gap_limits_at(first, second, 2.0 * ndtr(-root))
        beyond = np.where(gap > 0, low > 0, high < 0)
        inner, outer = np.where(beyond, root, inner), np.where(beyond, outer, root)
    return np.asarray(np.where(gap == 0, 1.0, np.clip(2.0 * ndtr(-inner), SMALLEST, 1.0)))
