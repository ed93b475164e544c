"""Gaps of weighted rows and of repeated units, all groups at once."""

from __future__ import annotations

import numpy as np

from fairtrial.inference.compare.gaps import Gaps, blank, no_ratio, nobody
from fairtrial.inference.evidence.atoms import Bools, Comparison
from fairtrial.inference.evidence.unit_sums import Side, UnitSums, degrees_of_freedom
from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.rates.laws import Law
from fairtrial.inference.rates.linear import LinearKnownLaw, LinearLaw
from fairtrial.inference.rates.two_rates import Scale

ONE_UNIT = "all its rows belong to one unit, so that there is no variation to infer from"
NO_VARIATION = "no unit's value differs from the others', so that there is no variation to infer from"


class LinearGaps(Gaps):
    """Weighted rates by the score at effective sizes, weighted means by their linearised error; Student's t."""

    def __init__(self, sums: UnitSums, comparison: Comparison, scale: Scale = "difference") -> None:
        self.scale, self.binary = scale, sums.binary
        groups = comparison.member.shape[0]
        self.mean, self.size = np.zeros((2, groups)), np.ones((2, groups))
        self.variances, self.df = np.zeros((3, groups)), np.ones(groups)
        self.people = np.zeros(groups)
        self.reason: list[str | None] = []
        influences = np.zeros((groups, sums.units))
        known = comparison.known
        for index in range(groups):
            member, reference = comparison.member[index], comparison.reference[index]
            influences[index] = self._one(sums, index, member, reference, known)
        self.known = known
        self.law = self._law(known)
        self.estimate, self.error = self._estimates(known), self.law.error
        self.covariance = influences @ influences.T
        name = "score at effective sizes, Student's t" if self.binary else "linearised, Student's t"
        self.rule = np.full(groups, name)

    def _one(
        self, sums: UnitSums, index: int, member: Bools, reference: Bools, known: Floats | None
    ) -> Floats:
        """The numbers of one group; returns the units' influences on its gap."""
        first = sums.side(member)
        second = None if known is not None else sums.side(reference)
        shared = sums.side(member & reference) if known is None and (member & reference).any() else None
        self.people[index] = first.people
        self.reason.append(self._why_not(first, second, known is None))
        if self.reason[-1] is not None:
            return np.zeros(sums.units)
        influence = first.influence()
        self.mean[0, index], self.size[0, index] = first.mean, first.size
        self.variances[0, index] = influence @ influence
        if second is not None:
            other = second.influence()
            self.mean[1, index], self.size[1, index] = second.mean, second.size
            self.variances[1:, index] = other @ other, influence @ other
            influence = influence - other
        self.df[index] = degrees_of_freedom(first, second, shared)
        if not self.binary and influence @ influence <= 0:
            self.reason[-1] = NO_VARIATION
        return influence

    def _why_not(self, first: Side, second: Side | None, compared: bool) -> str | None:
        why = nobody(first.everyone == 0, compared and second is not None and second.everyone == 0)
        if why is not None:
            return why
        if first.people == 1 or (second is not None and second.people == 1):
            return ONE_UNIT
        if self.scale == "ratio" and second is not None:
            if second.mean == 0:
                return no_ratio(0.0, False)
            if not self.binary and min(first.mean, second.mean) <= 0:
                return "a ratio is for means above zero"
        return None

    def _law(self, known: Floats | None) -> Law:
        if known is not None:
            return LinearKnownLaw(
                self.mean[0], self.size[0], self.variances[0], self.df, known, self.scale, binary=self.binary
            )
        return LinearLaw(self.mean, self.size, self.variances, self.df, self.scale, binary=self.binary)

    def _estimates(self, known: Floats | None) -> Floats:
        target = self.mean[1] if known is None else known
        if self.scale == "difference":
            return np.where(self.defined, self.mean[0] - target, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.defined, self.mean[0] / target, 1.0)

    @property
    def rate(self) -> Floats:
        """The group's own weighted mean."""
        return np.asarray(self.mean[0])

    def root(self, gap: Floats) -> Floats:
        return np.where(self.defined, self.law.root(gap), 0.0)

    def tails(self, gap: Floats) -> tuple[Floats, Floats]:
        above, below = self.law.tails(gap)
        return self._guard(above), self._guard(below)

    def limits(self, level: float) -> tuple[Floats, Floats]:
        low, high = self.law.limits(level)
        return blank(low, self.defined), blank(high, self.defined)
