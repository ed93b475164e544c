"""The paper's ways to treat an estimated target: taken as known (plug-in), rescaled, or by orthogonal scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from scipy import special

from fairtrial._inference.evidence.atoms import Atoms, Comparison, find_reasons, gap_errors
from fairtrial._inference.laws.bounded_means import bounded
from fairtrial._inference.laws.choose_gaps import against_known
from fairtrial._inference.laws.gaps import Gaps
from fairtrial._inference.laws.sums_gaps import EuclideanGaps
from fairtrial._inference.means.known_targets import OrthogonalGaps, ScorePoints

# building blocks that the room shows beside its own
from fairtrial._inference.means.known_targets import bartlett_factor as bartlett_factor
from fairtrial._inference.means.known_targets import known_log_ratio as known_log_ratio
from fairtrial._inference.means.row_gaps import RowGaps
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.binary_gaps import BinaryGaps
from fairtrial._inference.ways import Likelihood, RateMethod, Refinement

TargetMethod = Literal["profile", "orthogonal", "scaled", "plug-in"]


def paper_gaps(
    atoms: Atoms,
    comparison: Comparison,
    *,
    likelihood: Likelihood = "empirical",
    target_method: TargetMethod = "plug-in",
    rate_method: RateMethod = "likelihood",
    refinement: Refinement | None = None,
) -> Gaps:
    """Gaps of all groups to their target; plug-in targets and refinements stay as published, without our bounds."""
    gaps = _gaps(atoms, comparison, likelihood, target_method, rate_method, refinement)
    published = refinement is not None or (target_method == "plug-in" and comparison.known is None)
    return gaps if published or atoms.binary else bounded(gaps, atoms, comparison)


def _gaps(
    atoms: Atoms,
    comparison: Comparison,
    likelihood: Likelihood,
    target_method: TargetMethod,
    rate_method: RateMethod,
    refinement: Refinement | None,
) -> Gaps:
    euclidean = likelihood == "euclidean" or (atoms.values is None and not atoms.binary)
    if euclidean and (comparison.known is not None or target_method in ("profile", "orthogonal")):
        return EuclideanGaps(atoms, comparison)
    if comparison.known is not None:
        return against_known(atoms, comparison, rate_method, refinement)
    if target_method == "orthogonal":
        return orthogonal_gaps(atoms, comparison)
    honest: Gaps
    if euclidean:
        honest = EuclideanGaps(atoms, comparison)
    else:
        honest = BinaryGaps(atoms, comparison) if atoms.binary else RowGaps(atoms, comparison)
    if target_method == "profile":
        return honest
    _, target, _ = atoms.pooled(comparison.reference)
    nothing = comparison.member & ~comparison.member
    plugged = replace(comparison, reference=nothing, known=np.nan_to_num(target))
    known: Gaps = (
        EuclideanGaps(atoms, plugged)
        if euclidean
        else against_known(atoms, plugged, "likelihood", refinement)
    )
    return PlugInGaps(known, honest, scaled=target_method == "scaled")


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
