"""Gaps among people alike: rates compared within strata, all groups at once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.compare.gaps import LawGaps, no_ratio
from fairtrial._inference.evidence.atoms import Atoms, Bools, Comparison, as_matrix
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.strata import Heterogeneity, StrataLaw, heterogeneity
from fairtrial._inference.rates.two_rates import TwoRates
from fairtrial._inference.ways import Scale

NOBODY_ALIKE = "no stratum holds people of both the group and the target"


class StrataGaps(LawGaps):
    """Rates of groups and of targets apart from them, by a score over strata with Mantel and Haenszel's weights.

    `compared` is the share of the group's people who have somebody of the target in their stratum.
    """

    law: StrataLaw

    def __init__(
        self, atoms: Atoms, comparison: Comparison, stratum: NDArray[np.int64], scale: Scale = "difference"
    ) -> None:
        self.scale = scale
        self.atoms, self.comparison, self.stratum = atoms, comparison, stratum
        strata = int(stratum.max()) + 1
        inside = np.zeros((stratum.size, strata))
        inside[np.arange(stratum.size), stratum] = 1.0
        events, people = atoms.successes[:, None] * inside, atoms.count[:, None] * inside
        sides = comparison.member, comparison.reference
        self.table = TwoRates(*(side @ of for side in sides for of in (events, people)))
        self.law = law = StrataLaw(self.table, scale)
        there = law.weight > 0
        self.compared = (self.table.n1 * there).sum(axis=1) / np.maximum(self.table.n1.sum(axis=1), 1.0)
        self.estimate, self.error = law.to_gap(law.centre), law.error
        self.df = np.full(self.estimate.shape, np.inf)
        self.rule = np.full(self.estimate.shape, "score within strata (Mantel–Haenszel)")
        self.reason = [self._why_not(index, there[index]) for index in range(self.estimate.size)]

    def _why_not(self, index: int, there: Bools) -> str | None:
        if not there.any():
            return NOBODY_ALIKE
        without = self.scale == "ratio" and self.law.sides[1][index] == 0
        return no_ratio(0.0, False) if without else None

    @cached_property
    def covariance(self) -> Floats:  # type: ignore[override]
        """Of the adjusted differences, from each finest group's part in them and its stratum's rate."""
        atoms, comparison, stratum = self.atoms, self.comparison, self.stratum
        weight = self.law.weight / np.maximum(self.law.weight.sum(axis=1, keepdims=True), 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(self.law.weight > 0, weight / self.table.n1, 0.0)[:, stratum]
            other = np.where(self.law.weight > 0, weight / self.table.n2, 0.0)[:, stratum]
        part: Floats = as_matrix(comparison.member) * own - as_matrix(comparison.reference) * other
        count, events = (np.bincount(stratum, of) for of in (atoms.count, atoms.successes))
        rate = ((events + 0.5) / (count + 1.0))[stratum]
        return np.asarray((part * atoms.count * rate * (1.0 - rate)) @ part.T)

    @cached_property
    def heterogeneity(self) -> Heterogeneity:
        """Whether the gap differs between strata."""
        return heterogeneity(self.law)

    def several_strata(self, index: int) -> bool:
        """Whether two or more strata are compared."""
        return bool((self.law.weight[index] > 0).sum() > 1)

    def one_sided(self, index: int) -> NDArray[np.intp]:
        """Strata with people of the group and nobody to compare them with."""
        return np.flatnonzero((self.table.n1[index] > 0) & (self.law.weight[index] == 0))
