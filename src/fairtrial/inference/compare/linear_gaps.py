"""Gaps of weighted rows and of repeated units, all groups at once."""

from __future__ import annotations

import numpy as np
from scipy import special

from fairtrial.inference.compare.gaps import Gaps, blank, no_ratio, nobody
from fairtrial.inference.evidence.atoms import Bools, Comparison
from fairtrial.inference.evidence.unit_sums import Side, UnitSums, degrees_of_freedom
from fairtrial.inference.joint.joint_test import JointTest
from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.rates.binary_gaps import SMALLEST_P
from fairtrial.inference.rates.laws import Law
from fairtrial.inference.rates.linear import LinearKnownLaw, LinearLaw
from fairtrial.inference.rates.two_rates import Scale

# Of the test of all gaps at once; with fewer each group's own test is asked.
LEAST_DF = 5.0
ONE_UNIT = "all its rows belong to one unit, so that there is no variation to infer from"
NO_VARIATION = "no unit's value differs from the others', so that there is no variation to infer from"


class LinearGaps(Gaps):
    """Weighted rates by the score at effective sizes, weighted means by their linearised error; Student's t."""

    def __init__(self, sums: UnitSums, comparison: Comparison, scale: Scale = "difference") -> None:
        self.scale, self.binary = scale, sums.binary
        groups = comparison.member.shape[0]
        self.mean, self.size = np.zeros((2, groups)), np.ones((2, groups))
        self.variances, self.df = np.zeros((3, groups)), np.ones(groups)
        self.people: Floats = np.zeros(groups)
        self.reason: list[str | None] = []
        influences = np.zeros((groups, sums.units))
        known = comparison.known
        for index in range(groups):
            member, reference = comparison.member[index], comparison.reference[index]
            influences[index] = self._one(sums, index, member, reference, known)
        self.known, self.rates = known, self.mean
        self.law = self._law(known)
        self.estimate, self.error = self._estimates(known), self.law.error
        self.covariance = self.together = influences @ influences.T
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
        self.reason.append(self._why_not(first, second))
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
        rounding = 1e-12 * float(np.abs(self.mean[:, index]).max())
        if not self.binary and influence @ influence <= rounding**2:
            self.reason[-1] = NO_VARIATION
        return influence

    def _why_not(self, first: Side, second: Side | None) -> str | None:
        why = nobody(first.everyone == 0, second is not None and second.everyone == 0)
        if why is not None:
            return why
        if first.people == 1 or (second is not None and second.people == 1):
            return ONE_UNIT
        return None if second is None or self.scale == "difference" else self._no_ratio(first, second)

    def _no_ratio(self, first: Side, second: Side) -> str | None:
        if second.mean == 0:
            return no_ratio(0.0, False)
        positive = self.binary or min(first.mean, second.mean) > 0
        return None if positive else "a ratio is for means above zero"

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

    def joint(self) -> JointTest:
        """Hotelling's test that no group has a gap, with the fewest degrees of freedom of the groups; Bonferroni's of
        their own tests where there are too few for it."""
        told = self.defined
        if not told.any():
            return JointTest(np.nan, 0, 1.0, "none", "no group has inference")
        target = self.mean[1] if self.known is None else self.known
        gap = (self.mean[0] - target)[told]
        values, vectors = np.linalg.eigh(self.together[np.ix_(told, told)])
        used = values > 1e-10 * max(float(values.max()), 1e-300)
        rank, df = int(used.sum()), float(self.df[told].min())
        statistic = float(np.sum((vectors[:, used].T @ gap) ** 2 / values[used])) if rank else 0.0
        own = float(min(1.0, told.sum() * self.p_equal()[told].min()))
        if rank == 0 or df - rank + 1.0 < LEAST_DF:
            return JointTest(statistic, rank, own, "Bonferroni over the groups' own tests")
        f = statistic * (df - rank + 1.0) / (df * rank)
        p = float(special.fdtrc(rank, df - rank + 1.0, f))
        return JointTest(
            statistic, rank, max(p, SMALLEST_P), "Hotelling, degrees of freedom of the smallest group"
        )

    def root(self, gap: Floats) -> Floats:
        return np.where(self.defined, self.law.root(gap), 0.0)

    def tails(self, gap: Floats) -> tuple[Floats, Floats]:
        above, below = self.law.tails(gap)
        return self._guard(above), self._guard(below)

    def limits(self, level: float) -> tuple[Floats, Floats]:
        low, high = self.law.limits(level)
        return blank(low, self.defined), blank(high, self.defined)
