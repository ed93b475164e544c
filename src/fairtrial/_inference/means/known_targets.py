"""Gaps of means to a known value, and to an estimate of the caller that comes with influence values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize

from fairtrial._inference.evidence.atoms import Atoms, Comparison, find_reasons
from fairtrial._inference.laws.gaps import Gaps
from fairtrial._inference.means.empirical_likelihood import (
    CountedValues,
    critical_value,
    el_log_ratio,
    el_mean_limits,
)
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.ways import Refinement

# Distance, in standard deviations, of the balancing points of Emerson and Owen (2009) in one dimension.
BALANCE = 1.9


def bartlett_factor(sample: CountedValues) -> float:
    """1 + b/n with b = kappa4/2 - kappa3^2/3 (DiCiccio, Hall and Romano 1991), moments standardised."""
    deviation = np.sqrt(sample.variance)
    scaled = sample.centred / deviation
    third = float(sample.counts @ scaled**3 / sample.size)
    fourth = float(sample.counts @ scaled**4 / sample.size)
    return 1.0 + max(fourth / 2.0 - third**2 / 3.0, 0.0) / sample.size


def known_log_ratio(sample: CountedValues, mean: float, refinement: Refinement = "none") -> float:
    """Log ratio of 'the mean is `mean`'; with added points it is finite for every value."""
    g = sample.centred + (sample.mean - mean)
    if refinement in ("none", "bartlett"):
        factor = bartlett_factor(sample) if refinement == "bartlett" else 1.0
        return el_log_ratio(g, sample.counts) / factor
    average = sample.mean - mean
    if refinement == "adjusted":
        # Chen, Variyath and Abraham (2008): one artificial point opposite the average.
        added = np.array([-max(1.0, np.log(sample.size) / 2.0) * average])
    else:
        # Emerson and Owen (2009): two points that keep the sample's mean where it is.
        reach = BALANCE * np.sqrt(sample.variance * sample.size / (sample.size - 1.0)) * np.sign(average)
        added = np.array([-reach, 2.0 * average + reach])
    if average == 0.0:
        return 0.0
    return el_log_ratio(np.concatenate([g, added]), np.concatenate([sample.counts, np.ones(added.size)]))


def known_limits(
    sample: CountedValues, critical: float, refinement: Refinement = "none"
) -> tuple[float, float]:
    """The means whose (refined) log ratio is at most `critical`; infinite when the ratio never gets there."""
    if refinement == "none":
        return el_mean_limits(sample, critical)
    if refinement == "bartlett":
        return el_mean_limits(sample, critical * bartlett_factor(sample))
    step = float(np.sqrt(critical * sample.variance / sample.size))
    return tuple(  # type: ignore[return-value]
        _outward(lambda mean: known_log_ratio(sample, mean, refinement) - critical, sample.mean, sign * step)
        for sign in (-1.0, 1.0)
    )


def _outward(excess: Callable[[float], float], start: float, step: float) -> float:
    """First crossing of `excess` going outwards from `start`; the adjusted ratio is bounded in small samples."""
    near, far = start, start + step
    for _ in range(60):
        if excess(far) >= 0.0:
            return float(optimize.brentq(excess, near, far, xtol=1e-14, rtol=8.9e-16))
        near, far = far, far + step
    return float(np.copysign(np.inf, step))


# -- Gaps to an estimate of the caller's own, by orthogonal scores: its influence values carry its
# uncertainty.


@dataclass(frozen=True, slots=True, eq=False)
class ScorePoints:
    """Support points of one group's orthogonal score: score - gap * slope, with counts."""

    score: Floats
    slope: Floats
    counts: Floats

    def log_ratio(self, gap: float) -> float:
        return el_log_ratio(self.score - gap * self.slope, self.counts)


class OrthogonalGaps(Gaps):
    """One-dimensional empirical likelihood of g = 1_G (M - target - gap)/P_G - psi.

    psi is the influence of the target's estimate, so its uncertainty is inside the score. Works for any
    asymptotically linear target.
    """

    def __init__(
        self,
        points: list[ScorePoints | None],
        estimate: Floats,
        error: Floats,
        df: Floats,
        reason: list[str | None],
        covariance: Floats | None = None,
    ) -> None:
        self.points, self.estimate, self.error, self.df = points, estimate, error, df
        self.covariance, self.reason = covariance, reason
        self.rule = np.full(estimate.shape, "orthogonal empirical likelihood")

    def _root(self, gap: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.where(self.defined, (self.estimate - gap) / self.error, 0.0)
        for index, points in enumerate(self.points):
            if points is not None:
                statistic = points.log_ratio(float(gap[index]))
                if np.isfinite(statistic):
                    root[index] = np.copysign(np.sqrt(statistic), root[index])
        return root

    def _limits(self, level: float) -> tuple[Floats, Floats]:
        low, high = np.full(self.estimate.shape, np.nan), np.full(self.estimate.shape, np.nan)
        for index, points in enumerate(self.points):
            if points is not None:
                critical = critical_value(float(self.df[index]), level)
                low[index], high[index] = _limits(
                    points, float(self.estimate[index]), float(self.error[index]), critical
                )
        return low, high


def _limits(points: ScorePoints, centre: float, error: float, critical: float) -> tuple[float, float]:
    """Outwards from the estimate, where the ratio is zero, to a bracket; then Brent's method."""

    def excess(gap: float) -> float:
        # A large finite value stands for 'outside the hull', where Brent's method only needs the sign.
        return min(float(np.sqrt(points.log_ratio(gap))), 1e3) - float(np.sqrt(critical))

    found = []
    for sign in (-1.0, 1.0):
        step = sign * error * float(np.sqrt(critical))
        near, far = centre, centre + step
        for _ in range(60):
            if excess(far) >= 0.0:
                found.append(float(optimize.brentq(excess, near, far, xtol=1e-15, rtol=1e-14)))
                break
            near, far = far, far + step
        else:
            found.append(sign * np.inf)
    return found[0], found[1]


def estimate_gaps(
    atoms: Atoms,
    comparison: Comparison,
    codes: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    values: Floats,
    target: float,
    influence: Floats,
) -> OrthogonalGaps:
    """Orthogonal scores against a caller's own estimate with its influence values, one per row.

    `codes` is each row's atom, -1 where the row does not meet the metric's condition.
    """
    total = float(influence.size)
    centred = influence - influence.mean()
    count, mean, _ = atoms.pooled(comparison.member)
    # The caller's estimate has rows of its own: nothing is asked of it here.
    reason = find_reasons(atoms, replace(comparison, known=np.full(count.shape, target)))
    points: list[ScorePoints | None] = []
    influences = np.zeros((count.size, values.size))
    for index in range(count.size):
        if reason[index] is not None:
            points.append(None)
            continue
        inside = (codes >= 0) & comparison.member[index][np.maximum(codes, 0)]
        slope = inside * (total / count[index])
        filled = np.where(inside, values, 0.0)
        points.append(ScorePoints(slope * (filled - target) - centred, slope, np.ones(values.size)))
        influences[index] = (slope * (filled - mean[index]) - centred) / total
    covariance = influences @ influences.T
    df = np.maximum(count - 1.0, 1.0)
    error = np.sqrt(np.diag(covariance))
    return OrthogonalGaps(points, np.nan_to_num(mean - target), error, df, reason, covariance)
