"""Two weighted rates among people alike, with the covariance of the two: the score over strata at its own variance.

As in `linear` the score's variance is multiplied by the design effect of the gap itself: what the units' parts say of
the contrast, over what counts of the strata's effective sizes would. The score, the score corrected for its skewness
and the linearised root against Student's t are bounds on each other: the largest tail counts. In strata of one against
three with a few events in all the score alone rejects .11 to .15 in place of .05, with the linearised root .01.
"""

from __future__ import annotations

import numpy as np

from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.rates.strata import StrataLaw
from fairtrial.inference.rates.two_rates import TwoRates, at_null, unskewed
from fairtrial.inference.ways import Scale


class LinearStrataLaw(StrataLaw):
    """Rates of groups (first axis) over strata (last axis) at effective sizes; `covariance` holds, per group, the two
    variances of the standardised rates and their covariance."""

    def __init__(self, table: TwoRates, weight: Floats, covariance: Floats, df: Floats, scale: Scale) -> None:
        super().__init__(table, scale, weight)
        self.covariance, self.df = covariance, df
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
        own, other, both = self.covariance
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
