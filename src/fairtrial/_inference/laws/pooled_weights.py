"""Two weighted rates beside each other: never surer than with weights as both samples together show them.

Where weights go with the event a sample that lacks it lacks its weights too: 500 rows without an event whose weight
is 100 counted as 500 people without one, and gaps that are none were rejected in .14 at .05. Here the weights of people
with the event, and of those without it, are those of both samples, but for a factor that each sample has for itself.
The score of the contrast is taken as a sum of the rows' parts, w (y - p), at the most likely rates under the gap, with
the variance and the skewness that these weights give it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from fairtrial._inference.laws.gaps import quantile_of
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.two_rates import Null, TwoRates, at_null, score_roots
from fairtrial._inference.ways import Scale

# sizes and the rates that they make most likely are found in turns
TURNS = 4


class Part(NamedTuple):
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

    def part(self, sample: int, rate: Floats) -> Part:
        """What the mean of one sample is where this is its rate."""
        (light, heavy), (light2, heavy2), (light3, heavy3) = (
            (moment[..., 0], moment[..., 1]) for moment in self.moments
        )
        people = self.people[sample]
        share = rate * light / (rate * light + (1.0 - rate) * heavy)
        weight = share * heavy + (1.0 - share) * light
        variance = share * heavy2 * (1.0 - rate) ** 2 + (1.0 - share) * light2 * rate**2
        third = share * heavy3 * (1.0 - rate) ** 3 - (1.0 - share) * light3 * rate**3
        return Part(weight, variance / (people * weight**2), third / (people**2 * weight**3))

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
