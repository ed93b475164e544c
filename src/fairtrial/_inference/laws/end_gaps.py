"""Gaps of which only the two ends are known: limits and tests that hold for all that lies between them.

The gap is smallest where the group's rate is smallest and the target's is largest. 'The gap is at most v' is tested at
that end and 'at least v' at the other; an interval covers every gap between the ends (Imbens and Manski 2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial._inference.evidence.atoms import Comparison, Membership
from fairtrial._inference.evidence.probable_groups import (
    InfluenceEstimate,
    ProbableGap,
    ProbableRows,
    probable_gap,
)
from fairtrial._inference.laws.gaps import (
    Gaps,
    JointTest,
    blank,
    no_gap,
    no_ratio,
)
from fairtrial._inference.laws.linear_gaps import LinearKnownLaw, LinearLaw
from fairtrial._inference.laws.sums_gaps import StudentGaps
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.rates.binary_gaps import KnownRateGaps
from fairtrial._inference.rates.two_rates import TwoRateLaw, TwoRates
from fairtrial._inference.ways import Scale


# -- Rates of which some outcomes are unknown: completed tables, or odds within a factor of those of people alike.
# The smallest rate gives every unknown outcome the value that lowers it, the largest the one that raises it: a person
# adds nothing, a person without an event, or a person with one, and each of these raises the rate above the one
# before. So the extremes are tables of whole people, and the ordinary laws apply at both ends.
class RateEnd(NamedTuple):
    """Events, people and the rate's variance at one end, per group."""

    events: Floats
    people: Floats
    variance: Floats

    @property
    def rate(self) -> Floats:
        return np.divide(self.events, self.people, out=np.zeros(self.people.shape), where=self.people > 0)


@dataclass(frozen=True, slots=True, eq=False)
class PartlyLabelled:
    """People alike in all but the outcome, one entry per kind: those with outcome 1, with 0, and unknown.

    `value1` and `given1` are what one with outcome 1 adds to events and people, `value0` and `given0` one with 0. The
    odds of the unknown are within `odds` times those of the labelled of the same kind; infinite: anything.
    """

    atom: NDArray[np.int64]
    ones: Floats
    zeros: Floats
    unknown: Floats
    value1: Floats
    given1: Floats
    value0: Floats
    given0: Floats
    odds: float = np.inf

    @property
    def raises(self) -> Bools:
        """Whether outcome 1 makes the rate larger than outcome 0 does: nothing lies between no event and an event."""
        return np.asarray(2 * self.value1 - self.given1 > 2 * self.value0 - self.given0)

    @property
    def differs(self) -> Bools:
        """Whether the outcome matters to the rate."""
        return np.asarray((self.value1 != self.value0) | (self.given1 != self.given0))

    @property
    def open(self) -> Floats:
        """People whose unknown outcome matters."""
        return np.where(self.differs, self.unknown, 0.0)

    def share(self, *, most: bool) -> Floats:
        """The unknown people's share of outcome 1 at the end where the rate is largest, or smallest."""
        up = self.raises == most
        labelled = self.ones + self.zeros
        rate = (self.ones + 0.5) / (labelled + 1.0)
        factor = np.where(up, self.odds, 1.0 / self.odds)
        with np.errstate(invalid="ignore", over="ignore"):
            within = factor * rate / (1.0 - rate + factor * rate)
        free = (labelled == 0) | np.isinf(self.odds)
        return np.where(free, up.astype(np.float64), within)

    def end(self, member: Membership, *, most: bool) -> RateEnd:
        """The largest or the smallest rate of each group."""
        share = self.share(most=most)
        events, people = self.sums(member, share)
        if np.isinf(self.odds):  # whole people: a binomial's own variance, half a count added
            half = (events + 0.5) / (people + 1.0)
            return RateEnd(events, people, half * (1.0 - half) / (people + 1.0))
        return RateEnd(events, people, self.variance(member, share, events, people))

    def sums(self, member: Membership, share: Floats) -> tuple[Floats, Floats]:
        """Events and people of each group where so large a share of the unknown has outcome 1."""
        ones, zeros = self.ones + self.unknown * share, self.zeros + self.unknown * (1.0 - share)
        kinds = np.stack([ones * self.value1 + zeros * self.value0, ones * self.given1 + zeros * self.given0])
        sums = np.stack([np.bincount(self.atom, of, member.shape[1]) for of in kinds], axis=1)
        events, people = (member @ sums).T
        return events, people

    def variance(self, member: Membership, share: Floats, events: Floats, people: Floats) -> Floats:
        """By the delta method: of how many people there are of each kind, and of the labelled people's outcomes,
        which the unlabelled's are reckoned from."""
        labelled = self.ones + self.zeros
        rate = (self.ones + 0.5) / (labelled + 1.0)
        mean = np.divide(events, people, out=np.zeros(people.shape), where=people > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(labelled > 0, share * (1.0 - share) / (rate * (1.0 - rate)), 0.0)
        reach = 1.0 + self.unknown * slope / (labelled + 1.0)
        # each a weight times the square of (value - mean * given): three sums tell it for any mean
        parts = (
            (labelled, rate, 1.0 - rate),
            (self.unknown, share, 1.0 - share),
            (labelled * rate * (1.0 - rate) * reach**2, 1.0, -1.0),
        )
        squares = np.zeros((member.shape[1], 3))
        for weight, one, zero in parts:
            value, given = (one * a + zero * b for a, b in (
                (self.value1, self.value0), (self.given1, self.given0)))  # fmt: skip
            for place, product in enumerate((value * value, value * given, given * given)):
                squares[:, place] += np.bincount(self.atom, weight * product, member.shape[1])
        first, mixed, second = (member @ squares).T
        total = np.maximum(first - 2.0 * mean * mixed + mean**2 * second, 0.0)
        spread = np.divide(total, people**2, out=np.zeros(people.shape), where=people > 0)
        return np.asarray(spread)


NOBODY_FOR_SURE = "nobody is sure to meet the metric's condition, so that the rate may be anything"
RULE = "both ends of what unknown outcomes allow"
PROBABLE_RULE = "both ends of what the probabilities allow, chosen on one half of the rows, Student's t"
NO_SPREAD = "nothing varies, so that there is nothing to infer from"


class EndGaps(Gaps):
    """Gaps anywhere between two ends; `estimate` is the one between them that is nearest to no gap."""

    def __init__(self, least: Gaps, most: Gaps, reason: list[str | None], scale: Scale) -> None:
        self.least, self.most, self.reason, self.scale = least, most, reason, scale
        nothing = no_gap(scale)
        self.estimate = np.where(self.defined, np.clip(nothing, least.estimate, most.estimate), nothing)
        self.error = np.maximum(least.error, most.error)
        self.df = np.full(self.estimate.shape, np.inf)
        self.rule = np.full(self.estimate.shape, RULE)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = (least.estimate, most.estimate)
            low, high = ends if scale == "difference" else (np.log(ends[0]), np.log(ends[1]))
            width = (high - low) / self.error
        # how far apart the ends are, in standard errors
        self.width = np.where(np.isfinite(width), np.maximum(width, 0.0), np.inf)

    def critical(self, level: float) -> Floats:
        """Imbens and Manski's c, with Φ(c + Δ/se) − Φ(−c) = level: 1.96 for a point at 95%, 1.64 for distant ends."""
        low, high = np.zeros(self.width.shape), np.full(self.width.shape, 40.0)
        for _ in range(80):
            middle = (low + high) / 2.0
            enough = special.ndtr(middle + self.width) - special.ndtr(-middle) >= level
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high

    def _limits(self, level: float) -> tuple[Floats, Floats]:
        """Limits that hold for every gap between the ends."""
        return self._at(1.0 - 2.0 * special.ndtr(-self.critical(level)))

    def certificate_limits(self, level: float) -> tuple[Floats, Floats]:
        """Each end by itself: both one-sided tests of a certificate hold theirs."""
        low, high = self._at(np.full(self.estimate.shape, level))
        return blank(low, self.defined), blank(high, self.defined)

    def _at(self, level: Floats) -> tuple[Floats, Floats]:
        low, high = self.least.limits(level)[0], self.most.limits(level)[1]
        return (low, high) if self.scale == "ratio" else (np.maximum(low, -1.0), np.minimum(high, 1.0))

    def _tails(self, gap: Floats) -> tuple[Floats, Floats]:
        return self.least.tails(gap)[0], self.most.tails(gap)[1]

    def p_equal(self, gap: float | None = None) -> Floats:
        value = no_gap(self.scale) if gap is None else gap
        return self.p_inside(value, value)

    def p_at_most(self, gap: float) -> Floats:
        above, _ = self.tails(np.full(self.estimate.shape, gap))
        return np.where(self.defined & (self.least.estimate > gap), above, 1.0)

    def p_at_least(self, gap: float) -> Floats:
        _, below = self.tails(np.full(self.estimate.shape, gap))
        return np.where(self.defined & (self.most.estimate < gap), below, 1.0)

    def p_inside(self, low: float, high: float) -> Floats:
        """1 where some gap between the ends lies inside; else the near end's tail, and the chance of being as far out
        on the other side, which is the band's width and that of what lies between the ends away."""
        above, below = self.p_at_most(high), self.p_at_least(low)
        p = np.minimum(above, below)
        one_sided = np.isinf(high) or low == (-np.inf if self.scale == "difference" else 0.0)
        if one_sided:
            return below if np.isinf(high) else above
        band = high - low if self.scale == "difference" else np.log(high / low)
        with np.errstate(divide="ignore", invalid="ignore"):
            far = -special.ndtri(np.minimum(p, 0.5)) + self.width + np.where(band > 0, band / self.error, 0.0)
        return self._guard(np.where(p < 1.0, np.minimum(p + special.ndtr(-far), 1.0), 1.0))

    def joint(self) -> JointTest:
        """Bonferroni's test over the groups: the smallest of their p-values times how many there are."""
        groups = int(self.defined.sum())
        if not groups:
            return JointTest(np.nan, 0, 1.0, "none", "no group has inference")
        return JointTest(np.nan, groups, self.bonferroni_p(), "Bonferroni over the groups' own tests")


def label_gaps(labels: PartlyLabelled, comparison: Comparison, scale: Scale = "difference") -> EndGaps:
    """The gaps of groups to targets apart from them, or to known rates, of which some outcomes are unknown."""
    rates = RateEnds(labels, comparison)
    reason: list[str | None] = [NOBODY_FOR_SURE if empty else None for empty in rates.empty]
    if scale == "ratio" and comparison.known is None:
        without = rates.reference[1].events == 0
        reason = [
            why or (no_ratio(0.0, False) if zero else None) for why, zero in zip(reason, without, strict=True)
        ]
    ends = [rates.gap_end(labels, comparison.known, most=most, scale=scale) for most in (False, True)]
    gaps = EndGaps(ends[0], ends[1], reason, scale)
    gaps.rates = np.stack([rates.group[0].rate, rates.reference[0].rate])  # the least that are possible
    return gaps


def probable_gaps(rows: ProbableRows, comparison: Comparison) -> tuple[EndGaps, list[ProbableGap]]:
    """The gaps of groups known with a probability, by their bounds, and every gap by all three answers."""
    found = [probable_gap(rows, comparison, index) for index in range(comparison.member.shape[0])]
    least, most = (_estimates([getattr(gap, name) for gap in found]) for name in ("least", "most"))
    errors = np.maximum(least.error, most.error)
    reason: list[str | None] = [NO_SPREAD if error <= 0 else None for error in errors]
    # a branch that was chosen wrongly may make the ends cross where they are nearly the same
    most.estimate = np.maximum(least.estimate, most.estimate)
    gaps = EndGaps(least, most, reason, "difference")
    gaps.rule = np.full(gaps.estimate.shape, PROBABLE_RULE)
    return gaps, found


def _estimates(found: list[InfluenceEstimate]) -> StudentGaps:
    value, error, df = (np.array([getattr(one, name) for one in found]) for name in ("value", "error", "df"))
    return StudentGaps(value, error, df, [None] * len(found), PROBABLE_RULE)


class RateEnds:
    """The smallest and the largest rate of every group and of its target."""

    def __init__(self, labels: PartlyLabelled, comparison: Comparison) -> None:
        self.group = tuple(labels.end(comparison.member, most=most) for most in (False, True))
        self.reference = tuple(labels.end(comparison.reference, most=most) for most in (False, True))
        self.apart = comparison.known is None

    @property
    def empty(self) -> Bools:
        """Whether an end has nobody."""
        ends = (*self.group, *(self.reference if self.apart else ()))
        return np.asarray(np.min([end.people for end in ends], axis=0) <= 0)

    def _filled(self, end: RateEnd) -> RateEnd:
        """With somebody in every group: laws are asked of all groups, and what has no inference is left out later."""
        nobody = self.empty | (end.people <= 0)
        return RateEnd(
            np.where(nobody, 0.0, end.events),
            np.where(nobody, 1.0, end.people),
            np.where(nobody, 0.0, end.variance),
        )

    def gap_end(self, labels: PartlyLabelled, known: Floats | None, *, most: bool, scale: Scale) -> Gaps:
        """The group's largest rate with the target's smallest, or the other way round."""
        own, other = (self._filled(end) for end in (self.group[most], self.reference[not most]))
        some = own.people, other.people
        df = np.full(own.people.shape, np.inf)
        if known is not None:
            if np.isinf(labels.odds):
                return KnownRateGaps(own.people, own.events, known, scale=scale)
            return LinearKnownLaw(own.rate, some[0], own.variance, df, known, scale, binary=True)
        if np.isinf(labels.odds):
            return TwoRateLaw(TwoRates(own.events, some[0], other.events, some[1]), scale)
        rates, sizes = np.stack([own.rate, other.rate]), np.stack(some)
        covariance = np.stack([own.variance, other.variance, np.zeros(df.shape)])
        return LinearLaw(rates, sizes, covariance, df, scale, binary=True)
