"""Bounds on the gaps of real values: never sharper than skewness, permutation and bootstrap allow.

Each side takes the largest p-value and the widest limit of the base law and of an ordered list of bounds, so the level
that was measured of a bound holds for the gap. No bound has a size at which it begins or ends. A side without a limit
is the refusal: too few values carry the mean; its p-value follows from the same formula.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from fairtrial._inference.evidence.atoms import Atoms, Comparison, TwoSides, two_sides
from fairtrial._inference.laws.gaps import Gaps
from fairtrial._inference.means.resampled_means import NUMBERS_DRAWN, ResampledGap
from fairtrial._inference.means.row_gaps import LazyCache
from fairtrial._inference.means.skewed_means import (
    KnownTarget,
    SharedSkewness,
    Sides,
    Sums,
    TwoMeans,
    UnsharedSkewness,
    common_shape,
    shape_of_all,
)
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.ways import ROWS_RULE, SKEWNESS_RULE, SUMS_RULE

# Variances this many times apart, with means this skewed, are said not to hold where tails are heavy.
UNEVEN_VARIANCES = 4.0
UNEVEN_SKEWNESS = 0.3


class Bound(Protocol):
    """Tails at any gap and limits at any tail, of all gaps."""

    def tails(self, gap: Floats) -> Sides: ...

    def limits(self, tail: float) -> Sides: ...


class Resampled:
    """Permutation and bootstrap of every gap that has inference, by its rows."""

    def __init__(self, gaps: Gaps, atoms: Atoms, sides: TwoSides) -> None:
        told = gaps.defined

        def one_gap(index: int) -> ResampledGap | None:
            if not told[index]:
                return None
            first, second = sides.rows(index)
            return ResampledGap(atoms.gather(first), atoms.gather(second))

        self.each = LazyCache(one_gap, told.size, int(atoms.count.sum()) + NUMBERS_DRAWN)

    def _every(self, number: Callable[[ResampledGap, int, float], float], absent: float) -> Sides:
        """Of both sides, the upper tail or lower limit first."""
        found = np.array([
            [absent if one is None else number(one, index, sign) for sign in (-1.0, 1.0)]
            for index, one in enumerate(self.each)
        ]).reshape(-1, 2)  # fmt: skip
        return found[:, 0], found[:, 1]

    def tails(self, gap: Floats) -> Sides:
        return self._every(lambda one, index, sign: one.tail(float(gap[index]), sign), 1.0)

    def limits(self, tail: float) -> Sides:
        return self._every(lambda one, _, sign: one.limit(tail, sign), np.nan)


class BoundedGaps(Gaps):
    """Gaps whose tails are never thinner, and limits never nearer, than every bound allows."""

    def __init__(self, inner: Gaps, bounds: list[Bound], centre: Floats, factor: Floats, rule: str) -> None:
        self.inner, self.bounds = inner, bounds
        self.centre, self.factor = centre, factor
        self.estimate, self.error, self.df = inner.estimate, inner.error, inner.df
        self.reason, self.covariance = inner.reason, inner.covariance
        self.bounded_by = rule
        self.unequal_spreads: Bools = np.zeros(inner.estimate.shape, dtype=bool)
        self.rule = np.where(inner.defined, np.char.add(inner.rule, f", {rule}"), inner.rule)

    def _root(self, gap: Floats) -> Floats:
        return self.inner.root(gap)

    def _tails(self, gap: Floats) -> tuple[Floats, Floats]:
        above, below = self.inner.tails(gap)
        moved = self.centre + (gap - self.estimate) / self.factor
        for bound in self.bounds:
            more_above, more_below = bound.tails(moved)
            above, below = np.fmax(above, more_above), np.fmax(below, more_below)
        return above, below

    def p_inside(self, low: float, high: float) -> Floats:
        return self.p_equal(low) if low == high else super().p_inside(low, high)

    def far_tail(self, far: Floats, above: Bools) -> Floats:
        """The bounded tail on the other side, as far out."""
        endless = ~np.isfinite(far)
        reach = np.where(endless, 0.0, far) * self.error
        tails = self.tails(np.where(above, self.estimate + reach, self.estimate - reach))
        return np.where(endless, 0.0, np.where(above, tails[1], tails[0]))

    def _limits(self, level: float) -> tuple[Floats, Floats]:
        low, high = self.inner.limits(level)
        tail = (1.0 - level) / 2.0
        for bound in self.bounds:
            lower, upper = bound.limits(tail)
            low = np.fmin(low, self.estimate + self.factor * (lower - self.centre))
            high = np.fmax(high, self.estimate + self.factor * (upper - self.centre))
        return low, high


def bounded(gaps: Gaps, atoms: Atoms, comparison: Comparison) -> Gaps:
    """The gaps of real values with their bounds: by rows where they are held, else by sums."""
    if comparison.known is not None:
        return _bounded_to_known(gaps, atoms.sums(comparison.member), comparison.known)
    sides = two_sides(atoms, comparison)
    first, second = sides.first, sides.second
    means = TwoMeans(first, second)
    bounds: list[Bound] = [UnsharedSkewness(means)]
    if atoms.values is None:
        bounds.append(SharedSkewness(means))
    else:
        bounds.append(Resampled(gaps, atoms, sides))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = gaps.error / means.error
    # A group and a target that overlap in part: the same bounds, as wide as the gap's own error says.
    factor = np.where(sides.partly & np.isfinite(ratio) & (ratio > 0), ratio, sides.factor)
    rule = SUMS_RULE if atoms.values is None else ROWS_RULE
    found = BoundedGaps(gaps, bounds, means.gap, factor, rule)
    found.carried_by = np.minimum(
        _carriers(first, common_shape(first, second)), _carriers(second, common_shape(first, second))
    )
    found.unequal_spreads = _uneven(first, second)
    return found


def _bounded_to_known(gaps: Gaps, groups: Sums, known: Floats) -> BoundedGaps:
    common = shape_of_all(groups)
    bound = KnownTarget(groups, known, common, gaps.error)
    found = BoundedGaps(gaps, [bound], bound.gap, np.ones(bound.gap.shape), SKEWNESS_RULE)
    found.carried_by = _carriers(groups, common)
    return found


def _carriers(groups: Sums, common: Floats | float) -> Floats:
    """1/λ², about how many values carry the mean, by the group's own skewness or by that of the common shape."""
    shared = np.abs(common) / np.sqrt(np.maximum(groups.n, 1.0))
    skewness = np.maximum(np.abs(groups.skewness), shared)
    return np.minimum(groups.n, 1.0 / np.maximum(skewness, 1e-9) ** 2)


def _uneven(first: Sums, second: Sums) -> Bools:
    """Unequal spreads of skewed values, where no bound was found to hold."""
    one, two = (sums.m2 / np.maximum(sums.n - 1.0, 1.0) for sums in (first, second))
    apart = np.maximum(one, two) > UNEVEN_VARIANCES * np.minimum(one, two)
    return np.asarray(apart & (np.maximum(np.abs(first.skewness), np.abs(second.skewness)) > UNEVEN_SKEWNESS))
