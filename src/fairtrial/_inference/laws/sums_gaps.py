"""Gaps of means from their sums alone, as difference or as ratio, plain or over strata: the law of skewed means.

A ratio v is the difference of x and v times y (methods/gaps.md, One interface); over strata with Mantel and Haenszel's
weights n1 n2/N a side is a weighted mean of the strata's means, whose error, skewness and largest value's part follow
from the strata's sums. A stratum counts where both sides have at least two people, so that each has a spread.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.evidence.atoms import Atoms, Comparison, as_matrix, find_reasons, gap_errors
from fairtrial._inference.laws.gaps import Gaps, Heterogeneity, agreeing, nobody, quantile_of
from fairtrial._inference.means.skewed_means import SharedSkewness, Sums, TwoMeans, UnsharedSkewness
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.ways import Scale

FEWEST = 2  # people of a side without whom a stratum has no spread
HALVINGS = 60
FURTHEST = 20.0  # of a logarithm's limit from the estimate
NOBODY_ALIKE = "no stratum holds two or more people of both the group and the target"
NO_VARIATION = "one value only in the group or in the target, so that there is no variation to infer from"
NOT_POSITIVE = "a ratio is for values of zero and more with means above zero"


class StudentGaps(Gaps):
    """Distance over its standard error, by Student's t."""

    def __init__(
        self, estimate: Floats, error: Floats, df: Floats, reason: list[str | None], rule: str
    ) -> None:
        self.estimate, self.error, self.df, self.reason = estimate, error, df, reason
        self.rule = np.full(estimate.shape, rule)

    def _root(self, gap: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((self.estimate - gap) / self.error)

    def _limits(self, level: Floats | float) -> tuple[Floats, Floats]:
        half = -quantile_of((1.0 - np.asarray(level)) / 2.0, self.df) * self.error
        return self.estimate - half, self.estimate + half


class EuclideanGaps(StudentGaps):
    """Euclidean likelihood: Welch's test, from counts, means and M2."""

    def __init__(self, atoms: Atoms, comparison: Comparison) -> None:
        target = comparison.known if comparison.known is not None else atoms.pooled(comparison.reference)[1]
        estimate = np.nan_to_num(atoms.pooled(comparison.member)[1] - target)
        reason = find_reasons(atoms, comparison)
        super().__init__(estimate, *gap_errors(atoms, comparison), reason, "euclidean likelihood")


class SumsGaps(Gaps):
    """Two means apart from each other; `plain` is the difference's own test, which a ratio of one shares."""

    heterogeneity: Heterogeneity

    def __init__(self, first: Sums, second: Sums, scale: Scale, plain: Gaps | None = None) -> None:
        self.first, self.second, self.scale, self.plain = first, second, scale, plain
        means = TwoMeans(first, second)
        self.df, self.rates = means.df, np.stack([first.mean, second.mean])
        self.reason = [self._why_not(index) for index in range(first.n.size)]
        if scale == "difference":
            self.estimate, self.error = means.gap, means.error
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                self.estimate = np.where(self.defined, first.mean / second.mean, 1.0)
                self.error = np.hypot(first.error / first.mean, second.error / second.mean)
            self.error = np.where(self.defined, self.error, 1.0)
        self.rule = np.full(first.n.shape, "Student's t of sums, bounded by skewness")

    def _why_not(self, index: int) -> str | None:
        first, second = self.first, self.second
        why = nobody(bool(first.n[index] == 0), bool(second.n[index] == 0))
        if why is None and min(first.m2[index], second.m2[index]) <= 0:
            why = NO_VARIATION
        low, mean = min(first.low[index], second.low[index]), min(first.mean[index], second.mean[index])
        if why is None and self.scale == "ratio" and (low < 0 or mean <= 0):
            why = NOT_POSITIVE
        return why

    def _laws(self, slope: Floats) -> tuple[UnsharedSkewness, SharedSkewness]:
        """Of the difference between the first and so many times the second."""
        second, s = self.second, slope
        moved = replace(second, mean=s * second.mean, m2=s**2 * second.m2, m3=s**3 * second.m3)
        moved = replace(moved, low=s * second.low, high=s * second.high)
        means = TwoMeans(self.first, moved)
        return UnsharedSkewness(means), SharedSkewness(means)

    def _root(self, gap: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = self.estimate - gap if self.scale == "difference" else np.log(self.estimate / gap)
            return np.asarray(distance / self.error)

    def _tails(self, gap: Floats) -> tuple[Floats, Floats]:
        ratio = self.scale == "ratio"
        laws = self._laws(gap if ratio else np.ones(gap.shape))
        at = np.zeros(gap.shape) if ratio else gap
        both = [law.tails(at) for law in laws]
        above, below = (np.maximum(*sides) for sides in zip(*both, strict=True))
        if ratio and self.plain is not None and (same := gap == 1.0).any():
            plain = self.plain.tails(np.zeros(gap.shape))
            above, below = np.where(same, plain[0], above), np.where(same, plain[1], below)
        return above, below

    def _limits(self, level: float) -> tuple[Floats, Floats]:
        tail = (1.0 - level) / 2.0
        if self.scale == "difference":
            return self._contrast(np.ones(self.estimate.shape), tail)
        limits = self._ratio_limit(tail, -1.0), self._ratio_limit(tail, 1.0)
        return agreeing(*limits, 1.0, self.tails(np.ones(self.estimate.shape)), tail)

    def _contrast(self, slope: Floats, tail: float) -> tuple[Floats, Floats]:
        both = [law.limits(tail) for law in self._laws(slope)]
        lows, highs = zip(*both, strict=True)
        return np.minimum(*lows), np.maximum(*highs)

    def _ratio_limit(self, tail: float, sign: float) -> Floats:
        """Where the contrast's limit on this side is zero; none where it never is."""
        near, far = np.zeros(self.estimate.shape), np.full(self.estimate.shape, FURTHEST)
        centre = np.where(self.defined, self.estimate, 1.0)
        for _ in range(HALVINGS):
            middle = 0.5 * (near + far)
            low, high = self._contrast(centre * np.exp(sign * middle), tail)
            inside = high >= 0 if sign > 0 else low <= 0
            near, far = np.where(inside, middle, near), np.where(inside, far, middle)
        limit = centre * np.exp(sign * near)
        open_end = np.inf if sign > 0 else 0.0
        return np.where(near > FURTHEST * (1.0 - 1e-6), open_end, limit)


class MeanStrataGaps(SumsGaps):
    """Means of groups and of targets apart from them, over strata with Mantel and Haenszel's weights."""

    def __init__(
        self, atoms: Atoms, comparison: Comparison, stratum: NDArray[np.int64], scale: Scale = "difference"
    ) -> None:
        strata = int(stratum.max()) + 1
        sides = [
            [atoms.sums(as_matrix(side) & (stratum == place)) for place in range(strata)]
            for side in (comparison.member, comparison.reference)
        ]
        self.n1, self.n2 = (np.stack([one.n for one in side], axis=1) for side in sides)
        with np.errstate(divide="ignore", invalid="ignore"):
            both = (self.n1 >= FEWEST) & (self.n2 >= FEWEST)
            self.weight = np.where(both, self.n1 * self.n2 / (self.n1 + self.n2), 0.0)
        share = self.weight / np.maximum(self.weight.sum(axis=1, keepdims=True), 1e-300)
        self.compared = (self.n1 * both).sum(axis=1) / np.maximum(self.n1.sum(axis=1), 1.0)
        super().__init__(standardised(sides[0], share), standardised(sides[1], share), scale)
        there = np.asarray(both.any(axis=1))
        self.reason = [why if some else NOBODY_ALIKE for why, some in zip(self.reason, there, strict=True)]
        self.estimate = np.where(there, self.estimate, 0.0 if scale == "difference" else 1.0)
        self.rates = None  # the group's own rate stands beside the adjusted gap
        m2, mean = (
            np.stack([[getattr(one, name) for one in side] for side in sides]) for name in ("m2", "mean")
        )
        spread = m2.sum(axis=0).T * both + self.weight * np.where(both, (mean[0] - mean[1]).T, 0.0) ** 2
        weight = np.maximum(self.weight.sum(axis=1), 1e-300)
        # what strata and group leave of the values, over what strata leave of who is in the group
        self.spread = np.sqrt(np.maximum(spread.sum(axis=1) / weight - self.estimate**2, 0.0))
        self.rule = np.full(self.estimate.shape, "means within strata, bounded by skewness")
        self.covariance = self._covariance(atoms, comparison, stratum, share)
        none = np.zeros(self.estimate.shape)
        self.heterogeneity = Heterogeneity(none, none, none + 1.0)

    def _covariance(
        self, atoms: Atoms, comparison: Comparison, stratum: NDArray[np.int64], share: Floats
    ) -> Floats:
        """Of the adjusted differences, from each finest group's part in them about its stratum's mean."""
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(share > 0, share / self.n1, 0.0)[:, stratum]
            other = np.where(share > 0, share / self.n2, 0.0)[:, stratum]
        part: Floats = as_matrix(comparison.member) * own - as_matrix(comparison.reference) * other
        count, total = (np.bincount(stratum, of) for of in (atoms.count, atoms.count * atoms.mean))
        centre = (total / np.maximum(count, 1.0))[stratum]
        spread = atoms.m2 + atoms.count * np.where(atoms.count > 0, atoms.mean - centre, 0.0) ** 2
        return np.asarray((part * spread) @ part.T)

    def one_sided(self, index: int) -> NDArray[np.intp]:
        """Strata with people of the group and too few to compare them with."""
        return np.flatnonzero((self.n1[index] > 0) & (self.weight[index] == 0))


def standardised(strata: list[Sums], share: Floats) -> Sums:
    """The weighted mean of the strata's means as sums that have its error, skewness and largest values' parts."""
    n, mean, m2, m3, low, high = (
        np.stack([getattr(one, name) for one in strata], axis=1)
        for name in ("n", "mean", "m2", "m3", "low", "high")
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        # a person's part in the mean, stretched so that squares are unbiased
        part = np.where(share > 0, share / n * np.sqrt(n / (n - 1.0)), 0.0)
        # unbiased; two people are as skewed to either side
        cubes = np.where((share > 0) & (n > FEWEST), share**3 / (n * (n - 1.0) * (n - 2.0)), 0.0)
    variance, third = (part**2 * m2).sum(axis=1), (cubes * m3).sum(axis=1)
    people = np.where(share > 0, n - 1.0, 0.0).sum(axis=1) + 1.0
    up, down = (part * np.where(share > 0, side, 0.0) for side in (high - mean, mean - low))
    centre = np.sum(share * np.where(share > 0, mean, 0.0), axis=1)
    second = variance * people * (people - 1.0)
    scale = np.sqrt(second / np.where(variance > 0, variance, 1.0))
    cube = scale**3 * (people - 2.0) / np.sqrt(np.maximum(people * (people - 1.0), 1.0))
    some: Bools = np.asarray((share > 0).any(axis=1))
    ends = [
        np.where(some, centre + sign * scale * far.max(axis=1), 0.0)
        for sign, far in ((-1.0, down), (1.0, up))
    ]
    positive = np.where(share > 0, low, np.inf).min(axis=1) >= 0
    ends[0] = np.where(positive, np.maximum(ends[0], 0.0), ends[0])
    return Sums(np.where(some, people, 0.0), centre, second, third * cube, ends[0], ends[1])


# -- Ratios of means: of two samples from their sums, or of one mean to a known number.
def mean_ratios(atoms: Atoms, comparison: Comparison, plain: Gaps) -> Gaps:
    """`plain` are the differences to the same targets, whose test of no gap the ratios share."""
    if comparison.known is not None:
        return KnownMeanRatios(plain, comparison.known, atoms.sums(comparison.member).mean)
    first, second = atoms.sums(comparison.member), atoms.sums(comparison.reference)
    return SumsGaps(first, second, "ratio", plain)


class KnownMeanRatios(Gaps):
    """A mean over a known number: its difference to it, in units of it."""

    def __init__(self, plain: Gaps, known: Floats, mean: Floats) -> None:
        self.scale, self.plain, self.known = "ratio", plain, known
        positive = (known > 0) & (mean > 0)
        self.reason = [
            why or (None if some else NOT_POSITIVE) for why, some in zip(plain.reason, positive, strict=True)
        ]
        with np.errstate(divide="ignore", invalid="ignore"):
            self.estimate = np.where(self.defined, mean / known, 1.0)
            self.error = np.where(self.defined, plain.error / mean, 1.0)
        self.df, self.rule, self.carried_by = plain.df, plain.rule, plain.carried_by

    def _root(self, gap: Floats) -> Floats:
        return self.plain.root(self.known * (gap - 1.0))

    def _tails(self, gap: Floats) -> tuple[Floats, Floats]:
        return self.plain.tails(self.known * (gap - 1.0))

    def _limits(self, level: float) -> tuple[Floats, Floats]:
        low, high = (1.0 + side / self.known for side in self.plain.limits(level))
        return np.maximum(low, 0.0), high
