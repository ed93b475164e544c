"""Rates of which some outcomes are unknown: completed tables, or odds within a factor of those of people alike.

The smallest rate gives every unknown outcome the value that lowers it, the largest the one that raises it: a person
adds nothing, a person without an event, or a person with one, and each of these raises the rate above the one before.
So the extremes are tables of whole people, and the ordinary laws apply at both ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.evidence.atoms import Bools, Membership
from fairtrial._inference.numeric.roots import Floats


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
