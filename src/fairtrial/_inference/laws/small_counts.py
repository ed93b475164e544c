"""Weighted rates of few people: never surer than with one more unit of events, or with pooled weights.

A score at effective sizes knows the units it saw. Twelve clusters of 50 rows without an event count for it as 600
people without one; where a tenth of such clusters have the event in half of their rows it missed .31 at 95%. Here each
unit is drawn by a Gamma of its own, and so is one unit more: with a row per unit and the added unit in full the tail is
Clopper and Pearson's, of other units it is Gaffke's (2005). What the added unit may hold shrinks with the units that
show events: all of its rows where none does, then ever less beyond the largest share seen; so does how much it counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from fairtrial._inference.evidence.unit_sums import UnitSums
from fairtrial._inference.laws.gaps import quantile_of
from fairtrial._inference.numeric.roots import Bools, Floats, Integers
from fairtrial._inference.rates.two_rates import Null, TwoRates, at_null, score_roots
from fairtrial._inference.ways import Scale

# With fewer units that show events, in effect, the added one counts in full; with more ever less of it.
IN_FULL = 2.0
# With so many it has ceased to matter.
NONE_MISSING = 100.0
STEPS = 100
# A root so close to zero is told by the law's skewness alone.
NEAR = 1e-4
# of a unit's weight: so little of it is none
ROUNDING = 1e-12


Units = tuple[
    Floats, Floats, Floats
]  # weight, weight with the event (or without it), and number of the units


class AddedUnits:
    """The units of every group with the one that is added, for the events or for their absence."""

    def __init__(self, groups: list[Units], everyone: Units) -> None:
        """`everyone` are all units of the groups: those with events may be heavier than others."""
        heavier = _mean(everyone, everyone[1] > 0) / _mean(everyone, everyone[0] > 0)
        lines = [_with_one_more(*units, max(heavier, 1.0)) for units in groups]
        self.showing = np.array([showing(*units) for units in groups])
        self.group = np.repeat(np.arange(len(lines)), [line.shape[1] for line in lines])
        self.weight, self.total, self.times = np.concatenate(lines, axis=1)

    @classmethod
    def both(cls, sums: UnitSums, member: Bools) -> tuple[AddedUnits, AddedUnits]:
        """Of the events, and of their absence."""
        groups, everyone = (
            [_units_of(sums, inside) for inside in member],
            _units_of(sums, np.asarray(member.any(axis=0))),
        )
        return cls(groups, everyone), cls([_without(*units) for units in groups], _without(*everyone))

    def tail(self, rate: Floats, chosen: Integers) -> Floats:
        """How likely the drawn units of each chosen group have a rate of `rate` or more."""
        place = np.full(self.showing.size, -1)
        place[chosen] = np.arange(chosen.size)
        group = place[self.group]
        inside = group >= 0
        group = group[inside]
        distance = self.total[inside] - rate[group] * self.weight[inside]
        return drawn_above(distance, self.times[inside], group, chosen.size)


def _units_of(sums: UnitSums, inside: Bools) -> Units:
    """The units of one group."""
    units = sums.side(inside)
    there = units.weight > 0
    times = np.broadcast_to(np.asarray(units.times, dtype=np.float64), there.shape)
    return units.weight[there], units.total[there], times[there]


def _without(weight: Floats, total: Floats, times: Floats) -> Units:
    """The same units by what they have without the event."""
    left = weight - total
    return weight, np.where(left > ROUNDING * weight, left, 0.0), times


def _mean(units: Units, chosen: Bools) -> float:
    """The mean weight of a unit."""
    weight, _, times = (of[chosen] for of in units)
    people = float(times.sum())
    return float(weight @ times) / people if people > 0 else 1.0


def showing(weight: Floats, total: Floats, times: Floats) -> float:
    """How many units show events, in effect, and so that they differ: the root of the number with events times that of
    units with more of them than the mean."""
    everyone = max(float(times @ weight), 1e-300)
    more = np.maximum(total - float(times @ total) / everyone * weight, 0.0)
    return float(
        np.sqrt(_in_effect(total, times) * _in_effect(np.where(more > ROUNDING * weight, more, 0.0), times))
    )


def _in_effect(part: Floats, times: Floats) -> float:
    """(sum)² over the sum of squares."""
    squares = float(times @ part**2)
    return float(times @ part) ** 2 / squares if squares > 0 else 0.0


def _with_one_more(weight: Floats, total: Floats, times: Floats, heavier: float) -> Floats:
    """The lines of one group, the last of them the unit that is added; its weight is that of units with events."""
    seen = showing(weight, total, times)
    largest = float(np.max(total / weight, initial=0.0))
    share = (1.0 + seen * largest) / (1.0 + seen)
    size = heavier * _mean((weight, total, times), np.ones(weight.shape, dtype=bool))
    part = min(1.0, IN_FULL / max(seen, 1e-9))
    added = np.array([[size], [share * size], [part]])
    return np.concatenate([np.stack([weight, total, times]), added], axis=1)


def drawn_above(distance: Floats, times: Floats, group: Integers, groups: int) -> Floats:
    """The chance that a sum of Gamma(times) x distance is zero or more, by Lugannani and Rice's saddlepoint."""

    def over(of: Floats) -> Floats:
        return np.bincount(group, of, groups).astype(np.float64)

    high, low = np.full(groups, -np.inf), np.full(groups, np.inf)
    np.maximum.at(high, group, distance)
    np.minimum.at(low, group, distance)
    told = (low < 0) & (high > 0)
    scale = np.where(told, np.maximum(high, -low), 1.0)
    z = distance / scale[group]
    with np.errstate(divide="ignore"):
        ends = np.where(told, scale / low, -1.0), np.where(told, scale / high, 1.0)
    t = np.where(told, saddlepoint(z, times, group, ends, told), 0.0)
    left = np.where(told[group], 1.0 - t[group] * z, 1.0)
    ratio = z / left
    root = np.sign(t) * np.sqrt(np.maximum(2.0 * over(times * np.log(left)), 0.0))
    spread = over(times * ratio**2)
    near = np.abs(root) < NEAR
    with np.errstate(divide="ignore", invalid="ignore"):
        far = special.ndtr(-root - np.log(t * np.sqrt(spread) / root) / root)
        close = (
            0.5 - over(times * z**3) / (3.0 * np.sqrt(2.0 * np.pi) * over(times * z**2) ** 1.5) - root / 2.5
        )
    return np.where(told, np.where(near, close, far), np.where(low >= 0, 1.0, 0.0))


def saddlepoint(
    z: Floats, times: Floats, group: Integers, ends: tuple[Floats, Floats], told: Bools
) -> Floats:
    """Where the sum of times x z/(1 - t z), which rises with t, is zero: Newton's steps between the ends."""
    low, high = ends
    t = np.zeros(low.shape)
    for _ in range(STEPS):
        ratio = z / np.where(told[group], 1.0 - t[group] * z, 1.0)
        value = np.bincount(group, times * ratio, t.size)
        slope = np.bincount(group, times * ratio**2, t.size)
        low, high = np.where(value < 0, t, low), np.where(value > 0, t, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = t - value / slope
        following = np.where((step > low) & (step < high), step, 0.5 * (low + high))
        moved = np.abs(following - t) > 1e-12 * np.abs(t)
        t = np.where(moved & told, following, t)
        if not (moved & told).any():
            break
    return t


# -- Two weighted rates beside each other: never surer than with weights as both samples together show
# them. Where weights go with the event a sample that lacks it lacks its weights too: 500 rows without an
# event whose weight is 100 counted as 500 people without one, and gaps that are none were rejected in .14
# at .05. Here the weights of people with the event, and of those without it, are those of both samples,
# but for a factor that each sample has for itself. The score of the contrast is taken as a sum of the
# rows' parts, w (y - p), at the most likely rates under the gap, with the variance and the skewness that
# these weights give it.

# sizes and the rates that they make most likely are found in turns
TURNS = 4


class WeightMoments(NamedTuple):
    """Of one sample's mean at a rate: the mean weight of its people, its variance and its third moment."""

    weight: Floats
    variance: Floats
    third: Floats


class PooledWeights:
    """Two samples of every comparison: sums of w^k, k up to 3, by sample, comparison, event (0, 1) and power."""

    def __init__(self, sums: Floats) -> None:
        people, first = np.maximum(sums[..., 0], 0.0), sums[..., 1]
        some = people > 0.5
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(some, np.log(np.maximum(first, 1e-300) / np.where(some, people, 1.0)), 0.0)
            # how much heavier people with the event are, in the samples that have both
            trust = np.where(some.all(axis=2), people[..., 0] * people[..., 1] / people.sum(axis=2), 0.0)
            total = trust.sum(axis=0)
            apart = (trust * (mean[..., 1] - mean[..., 0])).sum(axis=0) / np.where(total > 0, total, 1.0)
            heavier = np.stack([np.zeros(apart.shape), apart], axis=-1)
            self.people = np.maximum(people.sum(axis=2), 1.0)
            own = np.where(some, people * (mean - heavier), 0.0).sum(axis=2) / self.people
            factor = np.exp(own)[..., None]
            every = people.sum(axis=0)
            # by power and event
            self.moments = [
                np.where(
                    every > 0.5,
                    (sums[..., power] / factor**power).sum(axis=0) / np.where(every > 0.5, every, 1.0),
                    np.exp(power * heavier),
                )
                for power in (1, 2, 3)
            ]
        self.everyone, self.events = first.sum(axis=2) / factor[..., 0], first[..., 1] / factor[..., 0]

    def part(self, sample: int, rate: Floats) -> WeightMoments:
        """What the mean of one sample is where this is its rate."""
        (light, heavy), (light2, heavy2), (light3, heavy3) = (
            (moment[..., 0], moment[..., 1]) for moment in self.moments
        )
        people = self.people[sample]
        share = rate * light / (rate * light + (1.0 - rate) * heavy)
        weight = share * heavy + (1.0 - share) * light
        variance = share * heavy2 * (1.0 - rate) ** 2 + (1.0 - share) * light2 * rate**2
        third = share * heavy3 * (1.0 - rate) ** 3 - (1.0 - share) * light3 * rate**3
        return WeightMoments(weight, variance / (people * weight**2), third / (people**2 * weight**3))

    def roots(self, value: Floats, scale: Scale) -> tuple[Floats, Floats]:
        """The score and the same corrected for its skewness where the gap is `value`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = [events / everyone for events, everyone in zip(self.events, self.everyone, strict=True)]
            sizes = [np.broadcast_to(people, value.shape) for people in self.people]
            for _ in range(TURNS):
                table = TwoRates(rates[0] * sizes[0], sizes[0], rates[1] * sizes[1], sizes[1])
                null = at_null(table, value, scale)
                chances = null.p1, null.p2
                parts = [self.part(sample, rate) for sample, rate in enumerate(chances)]
                sizes = [
                    np.where(part.variance > 0, rate * (1.0 - rate) / part.variance, size)
                    for part, rate, size in zip(parts, chances, sizes, strict=True)
                ]
            far = [
                (self.events[i] - rate * self.everyone[i]) / (self.people[i] * parts[i].weight)
                for i, rate in enumerate(chances)
            ]
        people, slope = self.people.sum(axis=0), null.slope
        return score_roots(
            Null(
                null.p1,
                null.p2,
                slope,
                far[0] - slope * far[1],
                (parts[0].variance + slope**2 * parts[1].variance) * people / np.maximum(people - 1.0, 1.0),
                parts[0].third - slope**3 * parts[1].third,
            )
        )


def as_student(root: Floats, df: Floats) -> Floats:
    """The root of Student's law with the tail that this one has of the normal."""
    return np.asarray(-np.sign(root) * quantile_of(special.ndtr(-np.abs(root)), df))
