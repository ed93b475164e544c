"""Gaps of weighted rows and repeated units: the score at the size that the gap's own variance is worth.

With c = (1, -v) the design effect is c' cov c over c^2 p q/n, of the gap itself and not clipped: units that hold both
groups make a gap more certain. Score and skewness bound are taken at sizes n/deff, against Student's t. Over 59 designs
of at least 8 units this misses at most .061 at 95%; t with one less than the units .39, CR2 with t .245.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from fairtrial._inference.evidence.atoms import Comparison, as_matrix
from fairtrial._inference.evidence.row_powers import RowPowers
from fairtrial._inference.evidence.unit_sums import (
    UnitSums,
    UnitTotals,
    degrees_of_freedom,
    df_of_uneven_units,
)
from fairtrial._inference.laws.gaps import (
    LOGARITHM_ENDS,
    SMALLEST_P,
    DerivedGaps,
    JointTest,
    SearchedGaps,
    agreeing,
    no_ratio,
    nobody,
    quadratic_form,
    signed_root,
)
from fairtrial._inference.laws.small_counts import NONE_MISSING, AddedUnits, PooledWeights, as_student
from fairtrial._inference.means.weighted_means import KnownBounds, UnitBounds, Units
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.rates.two_rates import Null, TwoRates, at_null, estimate_and_error, score_roots
from fairtrial._inference.ways import Scale

# Of the test of all gaps at once; with fewer each group's own test is asked.
LEAST_DF = 5.0
ONE_UNIT = "all its rows belong to one unit, so that there is no variation to infer from"
NOT_POSITIVE = "a ratio is for means above zero"
NO_VARIATION = "no unit's value differs from the others', so that there is no variation to infer from"


class LinearLaw(SearchedGaps):
    """The gap of two weighted rates, or means, with their covariance: arrays of shape (2, groups) and (3, groups)."""

    def __init__(
        self, mean: Floats, size: Floats, covariance: Floats, df: Floats, scale: Scale, *, binary: bool,
        pooled: PooledWeights | None = None, bounds: UnitBounds | None = None,
    ) -> None:  # fmt: skip
        """`pooled` are the weights of rows that are units of their own; `bounds` are those of means."""
        self.bounds = bounds
        self.mean, self.size, self.variances, self.pooled = mean, size, covariance, pooled
        self.scale, self.binary = scale, binary
        gap = mean[0] - mean[1]
        if scale == "ratio":
            with np.errstate(divide="ignore", invalid="ignore"):
                gap = np.clip(np.log(mean[0] / mean[1]), -LOGARITHM_ENDS, LOGARITHM_ENDS)
        centre = np.nan_to_num(gap)
        error, end = self._error(centre), np.full(df.shape, LOGARITHM_ENDS)
        if scale == "difference":
            end = np.ones(df.shape) if binary else np.abs(centre) + 1e6 * error
        super().__init__(centre, error, (-end, end), df=df, events=mean)

    def _error(self, centre: Floats) -> Floats:
        """The standard error at the estimate, of a ratio on the logarithm; of rates never zero."""
        slope = np.ones(centre.shape) if self.scale == "difference" else np.exp(np.clip(centre, -30.0, 30.0))
        variance = np.maximum(self._variance(slope), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.sqrt(variance) / (1.0 if self.scale == "difference" else self.mean[0])
        if not self.binary:
            return np.asarray(error)
        _, at_counts = estimate_and_error(self._table(slope), self.scale)
        return np.where((error > 0) & np.isfinite(error), error, at_counts)

    def _variance(self, slope: Floats) -> Floats:
        own, other, both = self.variances
        return np.asarray(own - 2.0 * slope * both + slope**2 * other)

    def _table(self, slope: Floats) -> TwoRates:
        """Events and people of two plain samples that know the gap as well."""
        rate, size = self.mean, self.size
        plain = rate[0] * (1 - rate[0]) / size[0] + slope**2 * rate[1] * (1 - rate[1]) / size[1]
        variance = self._variance(slope)
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = np.where((variance > 0) & (plain > 0), variance / plain, 1.0)
        first, second = size[0] / effect, size[1] / effect
        return TwoRates(rate[0] * first, first, rate[1] * second, second)

    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        value = self.to_gap(point)
        slope = np.ones(point.shape) if self.scale == "difference" else value
        if not self.binary:
            distance = self.mean[0] - slope * self.mean[1] - (value if self.scale == "difference" else 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                root = np.where(distance == 0, 0.0, distance / np.sqrt(self._variance(slope)))
            return root, root
        found = [*score_roots(at_null(self._table(slope), value, self.scale))]
        if self.pooled is not None:
            both = (as_student(root, self.df) for root in self.pooled.roots(value, self.scale))
            found += [np.where(np.isfinite(root), root, found[0]) for root in both]
        return np.min(found, axis=0), np.max(found, axis=0)

    def _root(self, gap: Floats) -> Floats:
        return super()._root(gap) if self.bounds is None else signed_root(*self._tails(gap), self.df)

    def _tails(self, gap: Floats) -> tuple[Floats, Floats]:
        above, below = super()._tails(gap)
        if self.bounds is not None:
            same = self.scale == "difference"
            more = self.bounds.tails(gap) if same else self.bounds.ratio_tails(gap)
            above, below = np.fmax(above, more[0]), np.fmax(below, more[1])
        return above, below

    def _limits(self, level: Any) -> tuple[Floats, Floats]:
        low, high = super()._limits(level)
        if self.bounds is None:
            return low, high
        tail = (1.0 - level) / 2.0
        if self.scale == "difference":
            least, most = self.bounds.limits(tail)
            return np.fmin(low, least), np.fmax(high, most)
        least, most = self.bounds.ratio_limits(tail, self.estimate)
        none = self._tails(np.ones(low.shape))
        return agreeing(np.fmin(low, least), np.fmax(high, most), 1.0, none, tail)


class LinearKnownLaw(SearchedGaps):
    """One weighted rate, or mean, against a known number: the gap is its difference to it, or its ratio."""

    def __init__(
        self, mean: Floats, size: Floats, variance: Floats, df: Floats, target: Floats, scale: Scale, *, binary: bool,
        units: tuple[AddedUnits, AddedUnits] | None = None, bounds: KnownBounds | None = None,
    ) -> None:  # fmt: skip
        """`units` with the event and without it, where they are known one by one; `bounds` are those of means."""
        self.bounds = bounds
        self.mean, self.target, self.scale, self.binary = mean, target, scale, binary
        self.units = units
        with np.errstate(divide="ignore", invalid="ignore"):
            plain = mean * (1.0 - mean) / size
            effect = np.where((variance > 0) & (plain > 0), variance / plain, 1.0) if binary else 1.0
        self.effective = size / effect
        half = (self.effective * mean + 0.5) / (self.effective + 1.0)
        spread = (
            np.maximum(variance, half * (1 - half) / self.effective * (variance <= 0)) if binary else variance
        )
        error = np.sqrt(spread)
        far = 1e6 * error
        ends = (np.zeros(df.shape), np.ones(df.shape)) if binary else (mean - far, mean + far)
        few = None if units is None else np.minimum(units[0].showing, units[1].showing) < NONE_MISSING
        super().__init__(mean, error, ends, few, df=df)

    def exact_tail(self, point: Floats, chosen: Bools, *, above: bool) -> Floats:
        """With one more unit: of those without the event where the rate may be lower than it seems."""
        assert self.units is not None
        rate = np.clip(point, 0.0, 1.0)
        groups = np.flatnonzero(chosen)
        return self.units[1].tail(1.0 - rate, groups) if above else self.units[0].tail(rate, groups)

    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        distance = self.mean - point
        if not self.binary:
            with np.errstate(divide="ignore", invalid="ignore"):
                root = np.where(distance == 0, 0.0, distance / self.error)
            return root, root
        rate = np.clip(point, 0.0, 1.0)
        spread = rate * (1.0 - rate) / self.effective
        third = spread * (1.0 - 2.0 * rate) / self.effective
        nothing = np.zeros(point.shape)
        score, skewed = score_roots(Null(rate, nothing, nothing, distance, spread, third))
        return np.minimum(score, skewed), np.maximum(score, skewed)

    def _root(self, gap: Floats) -> Floats:
        return super()._root(gap) if self.bounds is None else signed_root(*self._tails(gap), self.df)

    def _tails(self, gap: Floats) -> tuple[Floats, Floats]:
        above, below = super()._tails(gap)
        if self.bounds is not None:
            more = self.bounds.tails(self.to_point(gap))
            above, below = np.fmax(above, more[0]), np.fmax(below, more[1])
        return above, below

    def _limits(self, level: Any) -> tuple[Floats, Floats]:
        low, high = super()._limits(level)
        if self.bounds is not None:
            least, most = self.bounds.limits((1.0 - level) / 2.0)
            low, high = np.fmin(low, self.to_gap(least)), np.fmax(high, self.to_gap(most))
        return low, high

    def to_point(self, gap: Floats) -> Floats:
        return self.target + gap if self.scale == "difference" else self.target * gap

    def to_gap(self, point: Floats) -> Floats:
        return point - self.target if self.scale == "difference" else point / self.target


class LinearGaps(DerivedGaps):
    """Weighted rates by the score at effective sizes, weighted means by their linearised error; Student's t."""

    def __init__(self, sums: UnitSums, comparison: Comparison, scale: Scale = "difference") -> None:
        self.scale, self.binary = scale, sums.binary
        self.sums, self.comparison, self.known = sums, comparison, comparison.known
        groups = comparison.member.shape[0]
        # of the group and of its target: weight, units and mean, and the effective number of rows
        self.weight, self.units, self.mean = (np.zeros((2, groups)) for _ in range(3))
        self.size = np.ones((2, groups))
        # the variances of both means and their covariance, and the variance of their difference
        self.variances, self.spread, self.df = np.zeros((3, groups)), np.zeros(groups), np.ones(groups)
        self.pooled: PooledWeights | None = None
        self.uneven = np.ones(groups)  # of the degrees of freedom, what units of uneven size leave
        apart = self.known is not None or not np.any(comparison.parts[0] @ np.ones(sums.atoms))
        if sums.alone and apart:
            self._all_at_once()
        else:
            for index in range(groups):
                self._one(index)
        self.people: Floats = self.units[0]
        self.reason = [self._why_not(index) for index in range(groups)]
        told = np.array([why in (None, NO_VARIATION) for why in self.reason], dtype=bool)
        self.rates: Floats = self.mean  # those of a single unit as well, from which nothing is inferred
        self.mean, self.variances = np.where(told, self.mean, 0.0), np.where(told, self.variances, 0.0)
        self.size, self.df = np.where(told, self.size, 1.0), np.where(told, self.df, 1.0)
        self.inner = self._law(self.known)
        self.estimate, self.error = self._estimates(self.known), self.inner.error
        name = "score at effective sizes, Student's t" if self.binary else "linearised, Student's t"
        self.rule = np.full(groups, name)

    @cached_property
    def covariance(self) -> Floats:  # type: ignore[override]
        """Of all gaps, from the units' influences on them; worked out where it is asked for."""
        influences = np.zeros((len(self.reason), self.sums.units))
        for index in np.flatnonzero(self.defined):
            first, second, _ = self._sides(int(index))
            influences[index] = first.influence()
            if second is not None:
                influences[index] -= second.influence()
        return np.asarray((influences * self.sums.times) @ influences.T)

    def _sides(self, index: int) -> tuple[UnitTotals, UnitTotals | None, UnitTotals | None]:
        """The units of one group, of its target, and of what they share."""
        member, reference = self.comparison.member[index], self.comparison.reference[index]
        first = self.sums.side(member)
        if self.known is not None:
            return first, None, None
        both = member & reference
        return first, self.sums.side(reference), self.sums.side(both) if both.any() else None

    def _all_at_once(self) -> None:
        """Rows that are units of their own, in groups and targets apart from each other."""
        powers, comparison = RowPowers(self.sums), self.comparison
        members = (
            (comparison.member,) if self.known is not None else (comparison.member, comparison.reference)
        )
        sides = [powers.side(member) for member in members]
        if self.binary and self.known is None:
            self.pooled = PooledWeights(np.stack([powers.by_event(member) for member in members]))
        for place, side in enumerate(sides):
            self.weight[place], self.units[place], self.mean[place] = (
                side.everyone,
                np.rint(side.people),
                side.mean,
            )
            self.size[place], self.variances[place] = side.size, side.variance
        self.spread = self.variances[:2].sum(axis=0)
        trace, squared = (
            np.sum([getattr(side, name) for side in sides], axis=0) for name in ("trace", "squared")
        )
        usable = (squared > 0) & np.isfinite(squared)
        self.df = np.divide(trace**2, squared, out=np.ones(self.df.size), where=usable)

    def _one(self, index: int) -> None:
        """The numbers of one group."""
        first, second, shared = self._sides(index)
        sides = (first,) if second is None else (first, second)
        for place, side in enumerate(sides):
            self.weight[place, index], self.units[place, index] = side.everyone, side.people
            self.mean[place, index], self.size[place, index] = side.mean, side.size
        if min(side.people for side in sides) < 2:
            return
        influence = first.influence()
        self.variances[0, index] = first.sum(influence**2)
        if second is not None:
            other = second.influence()
            self.variances[1:, index] = first.sum(other**2), first.sum(influence * other)
            influence = influence - other
        self.spread[index] = first.sum(influence**2)
        rows = degrees_of_freedom(first, second, shared)
        self.df[index] = min(rows, df_of_uneven_units(first, second, shared, binary=self.binary))
        self.uneven[index] = self.df[index] / rows

    def _why_not(self, index: int) -> str | None:
        sides = slice(1 if self.known is not None else 2)
        weight, units, mean = (of[sides, index] for of in (self.weight, self.units, self.mean))
        if (weight == 0).any():
            return nobody(bool(weight[0] == 0), True)
        if (units == 1).any():
            return ONE_UNIT
        if self.scale == "ratio" and self.known is None:
            if mean[1] == 0:
                return no_ratio(0.0, False)
            if not self.binary and mean.min() <= 0:
                return NOT_POSITIVE
        rounding = 1e-12 * float(np.abs(mean).max())
        return NO_VARIATION if not self.binary and self.spread[index] <= rounding**2 else None

    def _law(self, known: Floats | None) -> SearchedGaps:
        if known is not None:
            return LinearKnownLaw(
                self.mean[0], self.size[0], self.variances[0], self.df, known, self.scale, binary=self.binary,
                units=self._units(), bounds=self._known_bounds(),
            )  # fmt: skip
        bounds = None if self.binary else self._bounds()
        if bounds is not None:
            self.carried_by = bounds.carried_by
        return LinearLaw(
            self.mean, self.size, self.variances, self.df, self.scale, binary=self.binary, pooled=self.pooled,
            bounds=bounds,
        )  # fmt: skip

    def _bounds(self) -> UnitBounds:
        """Of means of groups and targets that share no unit."""
        told, sides = self.defined, []
        for index in range(told.size):
            first, second, _ = self._sides(index)
            assert second is not None
            apart = told[index] and not np.any((first.weight > 0) & (second.weight > 0))
            both = Units(first.mean, *first.parts()), Units(second.mean, *second.parts())
            sides.append(both if apart else None)
        return UnitBounds(sides, self.df, rows=self.sums.alone)

    def _known_bounds(self) -> KnownBounds | None:
        """Of means of groups beside a known number, where every row is a unit of its own."""
        if self.binary or not self.sums.alone:
            return None
        sides = [self._sides(index)[0] for index in range(self.df.size)]
        error = np.sqrt(np.where(self.defined, self.variances[0], 0.0))
        bounds = KnownBounds([Units(side.mean, *side.parts()) for side in sides], self.df, error)
        self.carried_by = bounds.carried_by
        return bounds

    def _units(self) -> tuple[AddedUnits, AddedUnits] | None:
        """The units of every group for the law of its own rate."""
        if not self.binary:
            return None
        return AddedUnits.both(self.sums, as_matrix(self.comparison.member))

    def _estimates(self, known: Floats | None) -> Floats:
        target = self.mean[1] if known is None else known
        if self.scale == "difference":
            there = np.all(self.weight[: 2 if known is None else 1] > 0, axis=0)
            return np.where(there, self.rates[0] - (self.rates[1] if known is None else known), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.defined, self.mean[0] / target, 1.0)

    def joint(self) -> JointTest:
        """Hotelling's test that no group has a gap, with the fewest degrees of freedom of the groups; Bonferroni's of
        their own tests where there are too few for it."""
        told = self.defined
        if not told.any():
            return JointTest(np.nan, 0, 1.0, "none", "no group has inference")
        target = self.mean[1] if self.known is None else self.known
        gap = (self.mean[0] - target)[told]
        statistic, rank = quadratic_form(gap, self.covariance[np.ix_(told, told)])
        df = float(self.df[told].min())
        if rank == 0 or df - rank + 1.0 < LEAST_DF:
            return JointTest(statistic, rank, self.bonferroni_p(), "Bonferroni over the groups' own tests")
        f = statistic * (df - rank + 1.0) / (df * rank)
        p = float(special.fdtrc(rank, df - rank + 1.0, f))
        return JointTest(
            statistic, rank, max(p, SMALLEST_P), "Hotelling, degrees of freedom of the smallest group"
        )
