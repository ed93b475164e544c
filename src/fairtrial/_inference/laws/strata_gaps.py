"""Two rates among people alike: a score over strata with Mantel and Haenszel's weights, as difference or as ratio.

z = sum w (p1 - p2 - v) / sqrt(sum w^2 V(v)), w = n1 n2/N and V the two-rate score variance of the stratum. At no gap
this is the test of Cochran, Mantel and Haenszel without correction; with one stratum it is the plain score. From strata
of one against three to rare events in large ones it misses .017 to .055 at 95%; Wald's limits with the same weights
.012 to .097. It is never sharper than its skewness allows: of four strata of 10 and 1,000 at half a percent the score
alone rejects .0130 at .001, with it .0001.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial._inference.evidence.atoms import Atoms, Comparison, as_matrix, by_strata
from fairtrial._inference.evidence.row_powers import (
    NARROW,
    SHORT,
    ComparedLines,
    PowerSides,
    RowPowers,
    UnitParts,
    row_parts,
    unit_parts,
)
from fairtrial._inference.evidence.unit_sums import UnitSums
from fairtrial._inference.laws.gaps import (
    LOGARITHM_ENDS,
    DerivedGaps,
    Heterogeneity,
    SearchedGaps,
    no_ratio,
)
from fairtrial._inference.laws.linear_gaps import NO_VARIATION, NOT_POSITIVE, ONE_UNIT, LinearGaps, LinearLaw
from fairtrial._inference.means.weighted_means import UnitBounds, Units, units_apart
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.two_rates import TwoRates, at_null, score_roots, unskewed
from fairtrial._inference.ways import Scale

NOBODY_ALIKE = "no stratum holds people of both the group and the target"


class StrataGaps(SearchedGaps):
    """Gaps of groups (first axis) over strata (last axis) in which both sides have people; others weigh nothing.

    `compared` is the share of the group's people who have somebody of the target in their stratum.
    """

    evidence: tuple[Atoms, Comparison, NDArray[np.int64]]

    def __init__(self, table: TwoRates, scale: Scale = "difference", weight: Floats | None = None) -> None:
        self.scale = scale
        with np.errstate(divide="ignore", invalid="ignore"):
            usual = table.n1 * table.n2 / (table.n1 + table.n2) if weight is None else weight
            self.weight = np.where((table.n1 > 0) & (table.n2 > 0), usual, 0.0)
        # a stratum with one side only holds one person of each here, and weighs nothing
        there = self.weight > 0
        self.table = TwoRates(
            *(np.where(there, column, fill) for column, fill in zip(table, (0.0, 1.0, 0.0, 1.0), strict=True))
        )
        first, second = (
            (self.weight * k / n).sum(axis=-1)
            for k, n in ((self.table.k1, self.table.n1), (self.table.k2, self.table.n2))
        )
        total = np.maximum(self.weight.sum(axis=-1), 1e-300)
        self.sides = first / total, second / total
        half = TwoRates(self.table.k1 + 0.5, self.table.n1 + 1.0, self.table.k2 + 0.5, self.table.n2 + 1.0)
        rates = half.k1 / half.n1, half.k2 / half.n2
        spreads = [
            ((self.weight**2 * rate * (1 - rate) / n).sum(axis=-1)) / total**2
            for rate, n in zip(rates, (half.n1, half.n2), strict=True)
        ]
        if scale == "difference":
            centre, error = (first - second) / total, np.sqrt(spreads[0] + spreads[1])
            end = np.ones(first.shape)
        else:
            means = [(self.weight * rate).sum(axis=-1) / total for rate in rates]
            filled = (first > 0) & (second > 0)
            ratio = np.where(
                filled, np.where(filled, first, 1.0) / np.where(filled, second, 1.0), means[0] / means[1]
            )
            centre = np.log(ratio)
            error = np.sqrt(spreads[0] / means[0] ** 2 + spreads[1] / means[1] ** 2)
            end = np.full(first.shape, LOGARITHM_ENDS)
        super().__init__(centre, error, (-end, end), events=self.sides)
        self.compared = (table.n1 * there).sum(axis=-1) / np.maximum(table.n1.sum(axis=-1), 1.0)
        self.rule = np.full(centre.shape, "score within strata (Mantel–Haenszel)")
        self.alone = (table.n1 > 0) & ~there

    @classmethod
    def of(
        cls, atoms: Atoms, comparison: Comparison, stratum: NDArray[np.int64], scale: Scale = "difference"
    ) -> StrataGaps:
        """Of rates of groups and of targets apart from them; `stratum` is that of each finest group."""
        gaps = cls(strata_table(atoms, comparison, stratum), scale)
        gaps.evidence = atoms, comparison, stratum
        gaps.reason = [gaps._why_not(index) for index in range(gaps.estimate.size)]
        return gaps

    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        null = at_null(self.table, self.to_gap(point)[..., None], self.scale)
        w = self.weight
        distance, variance = (w * null.distance).sum(axis=-1), (w**2 * null.variance).sum(axis=-1)
        third = (w**3 * null.third).sum(axis=-1)
        score, skewed = score_roots(null._replace(distance=distance, variance=variance, third=third))
        return np.minimum(score, skewed), np.maximum(score, skewed)

    def _why_not(self, index: int) -> str | None:
        if not (self.weight[index] > 0).any():
            return NOBODY_ALIKE
        without = self.scale == "ratio" and self.sides[1][index] == 0
        return no_ratio(0.0, False) if without else None

    @cached_property
    def covariance(self) -> Floats:  # type: ignore[override]
        """Of the adjusted differences, from each finest group's part in them and its stratum's rate."""
        atoms, comparison, stratum = self.evidence
        share = self.weight / np.maximum(self.weight.sum(axis=1, keepdims=True), 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(self.weight > 0, share / self.table.n1, 0.0)[:, stratum]
            other = np.where(self.weight > 0, share / self.table.n2, 0.0)[:, stratum]
        part: Floats = as_matrix(comparison.member) * own - as_matrix(comparison.reference) * other
        count, events = (np.bincount(stratum, of) for of in (atoms.count, atoms.successes))
        rate = ((events + 0.5) / (count + 1.0))[stratum]
        return np.asarray((part * atoms.count * rate * (1.0 - rate)) @ part.T)

    @cached_property
    def heterogeneity(self) -> Heterogeneity:
        """Whether the gap differs between strata."""
        return heterogeneity(self)

    def several_strata(self, index: int) -> bool:
        """Whether two or more strata are compared."""
        return bool((self.weight[index] > 0).sum() > 1)

    def one_sided(self, index: int) -> NDArray[np.intp]:
        """Strata with people of the group and nobody to compare them with."""
        return np.flatnonzero(self.alone[index])


def strata_table(atoms: Atoms, comparison: Comparison, stratum: NDArray[np.int64]) -> TwoRates:
    """Events and people of groups (first axis) and of their targets in every stratum (last axis)."""
    inside = np.zeros((stratum.size, int(stratum.max()) + 1))
    inside[np.arange(stratum.size), stratum] = 1.0
    events, people = atoms.successes[:, None] * inside, atoms.count[:, None] * inside
    sides = comparison.member, comparison.reference
    return TwoRates(*(side @ of for side in sides for of in (events, people)))


def heterogeneity(law: StrataGaps, effect: Floats | float = 1.0) -> Heterogeneity:
    """Sum of (d - mean d)^2 / V with V at the common gap: .048 at 40 and 80 people a stratum, less in small ones.

    `effect` is the design effect of the gap, by which the strata's variances are multiplied.
    """
    common = law.to_gap(law.centre)
    null = at_null(law.table, common[..., None], law.scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where((law.weight > 0) & (null.variance > 0), 1.0 / null.variance, 0.0)
    total = np.maximum(precision.sum(axis=-1, keepdims=True), 1e-300)
    mean = (precision * null.distance).sum(axis=-1, keepdims=True) / total
    statistic = (precision * (null.distance - mean) ** 2).sum(axis=-1) / effect
    df = np.maximum((precision > 0).sum(axis=-1) - 1.0, 0.0)
    p = np.where(df > 0, special.chdtrc(np.maximum(df, 1.0), statistic), 1.0)
    return Heterogeneity(statistic, df, p)


# -- Gaps among people alike, of weighted rows and of repeated units: rates and means within strata.

Strata = NDArray[np.int64]


class LinearStrataGaps(DerivedGaps):
    """Weighted gaps within strata, weighted by Mantel and Haenszel's W1 W2/(W1 + W2); Student's t.

    `compared` is the share of the group's weight in strata with somebody of the target.
    """

    def __init__(
        self, sums: UnitSums, comparison: Comparison, stratum: Strata, unadjusted: LinearGaps, scale: Scale
    ) -> None:
        self.sums, self.comparison, self.stratum, self.scale = sums, comparison, stratum, scale
        self.people, self.rates = unadjusted.people, unadjusted.rates
        strata = int(stratum.max()) + 1
        columns = np.stack(
            [
                np.bincount(sums.atom, of * sums.times, sums.atoms).astype(np.float64)
                for of in (sums.weight, sums.total, sums.square)
            ],
            axis=1,
        )
        both = [
            by_strata(side, columns, stratum, strata) for side in (comparison.member, comparison.reference)
        ]
        # weight, weighted sum and sum of squared weights, by group, stratum and side
        self.w, total, square = np.moveaxis(np.stack(both, axis=2), 3, 0)
        w1, w2 = self.w[..., 0], self.w[..., 1]
        self.there = (w1 > 0) & (w2 > 0)
        everyone = np.where(self.there, w1 + w2, 1.0)
        self.weight = np.where(self.there, w1 * w2 / everyone, 0.0)
        share = self.weight / np.maximum(self.weight.sum(axis=1, keepdims=True), 1e-300)
        there = self.there[..., None]
        self.mean = np.where(there, total / np.where(there, self.w, 1.0), 0.0)
        self.sides = np.moveaxis((share[..., None] * self.mean).sum(axis=1), 1, 0)
        gap = self.sides[0] - self.sides[1]
        fitted = (total.sum(axis=2) - gap[:, None] * w1) / everyone
        # what a common difference leaves of each side of each stratum, and how far the side lies from the share
        self.fitted = np.stack([fitted + gap[:, None], fitted], axis=2) * there
        self.x = np.stack([w2 / everyone, -w1 / everyone], axis=2) * there
        self.compared = (w1 * self.there).sum(axis=1) / np.maximum(w1.sum(axis=1), 1e-300)
        self.variances, self.df = self._variances()
        self.df = np.maximum(self.df * unadjusted.uneven, np.minimum(self.df, 1.0))
        self.reason = [self._why_not(index) for index in range(gap.size)]
        sizes = np.where(there, self.w**2 / np.where(square > 0, square, 1.0), 0.0)
        self.inner = self._law(sizes)
        self.error = self.inner.error
        nothing = gap * 0.0 if scale == "difference" else gap * 0.0 + 1.0
        self.estimate = np.where(self.defined, self.inner.to_gap(self.inner.centre), nothing)
        name = "score within strata at effective sizes" if sums.binary else "linearised within strata"
        self.rule = np.full(gap.shape, f"{name}, Student's t")

    # -- variances ----------------------------------------------------------------------------------------------
    def _variances(self) -> tuple[Floats, Floats]:
        groups = self.x.shape[0]
        variances, df, short = np.zeros((3, groups)), np.ones(groups), np.zeros(groups, dtype=bool)
        if self.sums.alone:
            powers = RowPowers(self.sums)
            flat = powers.flat
            both = [
                by_strata(side, flat, self.stratum, self.x.shape[1])
                for side in (self.comparison.member, self.comparison.reference)
            ]
            table = np.stack(both, axis=2).reshape(*self.x.shape, len(powers.table), -1)
            table = np.moveaxis(table, 3, 0)
            squares = powers.squares(table, self.fitted - powers.centre)
            self.parts = row_parts(PowerSides(table[0], squares), self.x)
            variances, df = self.parts.variances, self.parts.df
            short = self.parts.step <= SHORT
            if not self.sums.binary:
                wide = np.abs(self.fitted - powers.centre).max(axis=(1, 2)) ** 2 * NARROW
                short &= variances.sum(axis=0) * (self.w.sum(axis=(1, 2)) / powers.unit) > wide
            self.unit = powers.unit
        if isinstance(self.sums.times, float):
            for index in np.flatnonzero(~short & self.there.any(axis=1)):
                found = self._parts_of(int(index))
                variances[:, index] = (
                    (found.own**2).sum(),
                    (found.other**2).sum(),
                    (found.own * found.other).sum(),
                )
                df[index] = found.df
        self.short = short
        return variances, df

    def _lines(self, index: int) -> ComparedLines:
        """The lines of one group's comparison."""
        sums = self.sums
        member, reference = self.comparison.member[index], self.comparison.reference[index]
        inside = (member | reference)[sums.atom] & self.there[index][self.stratum[sums.atom]]
        chosen = np.flatnonzero(inside)
        atom = sums.atom[chosen]
        stratum, side = self.stratum[atom], np.where(member[atom], 0, 1)
        fitted, x = self.fitted[index, stratum, side], self.x[index, stratum, side]
        residual = sums.total[chosen] - fitted * sums.weight[chosen]
        return ComparedLines(
            sums.unit[chosen], stratum, x, sums.weight[chosen], sums.square[chosen], residual
        )

    def _parts_of(self, index: int) -> UnitParts:
        return unit_parts(self._lines(index), self.sums.units, self.x.shape[1])

    @cached_property
    def covariance(self) -> Floats:  # type: ignore[override]
        """Of the adjusted differences, from the units' parts in them; worked out where it is asked for."""
        parts = np.zeros((len(self.reason), self.sums.units))
        for index in np.flatnonzero(self.defined):
            own, other = self._units_parts(int(index))
            parts[index] = own - other
        return np.asarray((parts * self.sums.times) @ parts.T)

    def _units_parts(self, index: int) -> tuple[Floats, Floats]:
        """Every unit's part in the group's side and in the target's."""
        if not self.short[index]:
            found = self._parts_of(index)
            return found.own, found.other
        lines = self._lines(index)
        side = np.where(lines.x > 0, 0, 1)
        least = self.parts.least[index, lines.stratum, side]
        slope = self.parts.slope[index, lines.stratum, side] / self.unit
        stretch = 1.0 / np.sqrt(least - slope * lines.weight)
        total = (self.x[index] ** 2 * self.w[index]).sum()
        part = stretch * lines.x * lines.residual / total
        both = np.zeros((2, self.sums.units))
        both[side, lines.unit] = np.where(side == 0, part, -part)
        return both[0], both[1]

    def _bounds(self) -> UnitBounds:
        """Of means of groups and targets that share no unit; from sums, as units are not alike over strata."""
        sides: list[tuple[Units, Units] | None] = [None] * len(self.reason)
        for index in [index for index, why in enumerate(self.reason) if why is None]:
            lines = self._lines(index)
            members = [np.unique(lines.unit[lines.x * sign > 0]) for sign in (1.0, -1.0)]
            sides[index] = units_apart(self.sides[:, index], self._units_parts(index), members)
        return UnitBounds(sides, self.df, rows=self.sums.alone, permute=False)

    # -- what is told -------------------------------------------------------------------------------------------
    def _why_not(self, index: int) -> str | None:
        if not self.there[index].any():
            return NOBODY_ALIKE
        if self.scale == "ratio" and self.sides[1][index] == 0:
            return no_ratio(0.0, False)
        if self.scale == "ratio" and not self.sums.binary and self.sides[:, index].min() <= 0:
            return NOT_POSITIVE
        variance = self.variances[0, index] + self.variances[1, index] - 2.0 * self.variances[2, index]
        rounding = 1e-12 * float(np.abs(self.mean[index]).max())
        if not self.sums.binary and variance <= rounding**2:
            return NO_VARIATION
        several = self.sums.alone or np.unique(self._lines(index).unit).size > 1
        return None if several else ONE_UNIT

    def _law(self, sizes: Floats) -> SearchedGaps:
        if not self.sums.binary:
            bounds = self._bounds()
            self.carried_by = bounds.carried_by
            return LinearLaw(
                self.sides, np.ones(self.sides.shape), self.variances, self.df, self.scale, binary=False,
                bounds=bounds,
            )  # fmt: skip
        n1, n2 = sizes[..., 0], sizes[..., 1]
        table = TwoRates(self.mean[..., 0] * n1, n1, self.mean[..., 1] * n2, n2)
        return LinearStrataLaw(table, self.weight, self.variances, self.df, self.scale)

    @cached_property
    def heterogeneity(self) -> Heterogeneity:
        """Whether the gap differs between strata; of rates with weights, and not of repeated units or means."""
        if isinstance(self.inner, LinearStrataLaw) and self.sums.alone:
            return heterogeneity(self.inner, self.inner.effect(self.inner.to_gap(self.inner.centre)))
        none = np.zeros(self.estimate.shape)
        return Heterogeneity(none, none, none + 1.0)

    def several_strata(self, index: int) -> bool:
        """Whether two or more strata are compared."""
        return bool(self.there[index].sum() > 1)

    def one_sided(self, index: int) -> NDArray[np.intp]:
        """Strata with people of the group and nobody to compare them with."""
        return np.flatnonzero((self.w[index, :, 0] > 0) & ~self.there[index])


# -- Two weighted rates among people alike, with their covariance: the score over strata at its own variance.
# As in `linear` the score's variance is multiplied by the design effect of the gap itself: what the units'
# parts say of the contrast, over what counts of the strata's effective sizes would. The score, the score
# corrected for its skewness and the linearised root against Student's t are bounds on each other: the
# largest tail counts. In strata of one against three with a few events in all the score alone rejects .11
# to .15 in place of .05, with the linearised root .01.
class LinearStrataLaw(StrataGaps):
    """Rates of groups (first axis) over strata (last axis) at effective sizes; `covariance` holds, per group, the two
    variances of the standardised rates and their covariance."""

    def __init__(self, table: TwoRates, weight: Floats, covariance: Floats, df: Floats, scale: Scale) -> None:
        super().__init__(table, scale, weight)
        self.variances, self.df = covariance, df
        total = np.maximum(self.weight.sum(axis=-1, keepdims=True), 1e-300)
        self.share = self.weight / total
        common = (self.sides[0] - self.sides[1])[..., None]
        rates = at_null(self.table, common, "difference")
        people = self.table.n1 + self.table.n2
        spread = self.share**2 * people / np.maximum(people - 1.0, 1.0)
        # of plain counts of these sizes, at the rates that a common difference leaves
        self.plain = tuple(
            (spread * rate * (1.0 - rate) / size).sum(axis=-1)
            for rate, size in ((rates.p1, self.table.n1), (rates.p2, self.table.n2))
        )
        self.error = self.error * np.sqrt(self.effect(self.to_gap(self.centre)))

    def variance(self, slope: Floats) -> Floats:
        """Of the group's rate less so many times the target's."""
        own, other, both = self.variances
        return np.asarray(own - 2.0 * slope * both + slope**2 * other)

    def effect(self, value: Floats) -> Floats:
        """The design effect of the contrast at this gap; 1 where it cannot be told."""
        slope = np.ones(value.shape) if self.scale == "difference" else value
        variance, plain = self.variance(slope), self.plain[0] + slope**2 * self.plain[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((variance > 0) & (plain > 0), variance / plain, 1.0)

    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        value = self.to_gap(point)
        null, effect = at_null(self.table, value[..., None], self.scale), self.effect(value)
        distance = (self.share * null.distance).sum(axis=-1)
        spread = effect * (self.share**2 * null.variance).sum(axis=-1)
        third = effect**2 * (self.share**3 * null.third).sum(axis=-1)
        linear = self.variance(np.ones(value.shape) if self.scale == "difference" else value)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(distance == 0, 0.0, distance / np.sqrt(spread))
            skewed = unskewed(score, np.where(spread > 0, third / (6.0 * spread**1.5), 0.0))
            root = np.where(linear > 0, distance / np.sqrt(linear), score)
        found = np.stack([score, skewed, np.where(distance == 0, 0.0, root)])
        return found.min(axis=0), found.max(axis=0)
