"""Other ways to treat an estimated target: orthogonal scores, rescaling, and the paper's plug-in."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, special

from fairtrial._inference.compare.gaps import Gaps
from fairtrial._inference.evidence.atoms import Atoms, Comparison, find_reasons, gap_errors
from fairtrial._inference.means.empirical_likelihood import critical_value, el_log_ratio
from fairtrial._inference.numeric.roots import Floats

# A rescaled quantile may lie so far out that its tail is zero in doubles.
THINNEST_TAIL = 1e-14


class PlugInGaps(Gaps):
    """The estimated target taken as known (the paper's Theorem 2), or rescaled by the variance it forgets.

    The plug-in statistic tends to r times chi-square; `scaled` divides it by the estimated r.
    """

    def __init__(self, known: Gaps, honest: Gaps, *, scaled: bool) -> None:
        self.known = known
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = honest.error / known.error
        self.factor = (
            np.where(np.isfinite(ratio) & (ratio > 0), ratio, 1.0) if scaled else np.ones_like(ratio)
        )
        self.estimate, self.df = honest.estimate, known.df
        self.error = honest.error if scaled else known.error
        name = "scaled plug-in" if scaled else "plug-in (not valid: leaves out the target's uncertainty)"
        self.rule = np.full(self.estimate.shape, name)
        self.reason = [a or b for a, b in zip(known.reason, honest.reason, strict=True)]

    def _root(self, gap: Floats) -> Floats:
        return self.known.root(gap) / self.factor

    def _limits(self, level: float) -> tuple[Floats, Floats]:
        low, high = np.full(self.estimate.shape, np.nan), np.full(self.estimate.shape, np.nan)
        for factor in np.unique(self.factor):
            # A root divided by the factor meets the usual quantile where the plain one meets a multiple of it.
            tail = max(float(special.ndtr(special.ndtri((1.0 - level) / 2.0) * factor)), THINNEST_TAIL)
            lows, highs = self.known.limits(1.0 - 2.0 * tail)
            same = self.factor == factor
            low, high = np.where(same, lows, low), np.where(same, highs, high)
        return low, high


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


def orthogonal_gaps(atoms: Atoms, comparison: Comparison) -> OrthogonalGaps:
    """Orthogonal scores for a target that is the mean of some atoms (overall, rest, reference)."""
    member, reference = comparison.member, comparison.reference
    count, mean, _ = atoms.pooled(member)
    target_count, target_mean, _ = atoms.pooled(reference)
    error, df = gap_errors(atoms, comparison)
    reason = find_reasons(atoms, comparison)
    points: list[ScorePoints | None] = []
    for index, why in enumerate(reason):
        if why is not None:
            points.append(None)
            continue
        in_group, in_target = member[index], reference[index]
        values, group, target, counts = _support(atoms, in_group, in_target)
        total = float(counts.sum())
        slope = group * total / count[index]
        score = slope * (values - target_mean[index])
        score = score - target * total / target_count[index] * (values - target_mean[index])
        points.append(ScorePoints(score, slope, counts))
    return OrthogonalGaps(points, np.nan_to_num(mean - target_mean), error, df, reason)


def _support(
    atoms: Atoms,
    in_group: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    in_target: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
) -> tuple[Floats, Floats, Floats, Floats]:
    """Values, membership in group and target, and counts of the support points that matter."""
    used = np.flatnonzero(in_group | in_target)
    if atoms.values is None:
        ones, size = atoms.successes[used], atoms.count[used]
        values = np.repeat([1.0, 0.0], used.size)
        counts = np.concatenate([ones, size - ones])
        group, target = np.tile(in_group[used], 2), np.tile(in_target[used], 2)
    else:
        values = np.concatenate([atoms.values[index] for index in used])
        counts = np.ones(values.size)
        sizes = [atoms.values[index].size for index in used]
        group, target = np.repeat(in_group[used], sizes), np.repeat(in_target[used], sizes)
    present = counts > 0
    columns = (values, group.astype(np.float64), target.astype(np.float64), counts)
    return tuple(column[present] for column in columns)  # type: ignore[return-value]


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
