"""A rate of weighted rows or repeated units beside a known number: never surer than with one more unit of events.

A score at effective sizes knows the units it saw. Twelve clusters of 50 rows without an event count for it as 600
people without one; where a tenth of such clusters have the event in half of their rows it missed .31 at 95%. Here each
unit is drawn by a Gamma of its own, and so is one unit more: with a row per unit and the added unit in full the tail is
Clopper and Pearson's, of other units it is Gaffke's (2005). What the added unit may hold shrinks with the units that
show events: all of its rows where none does, then ever less beyond the largest share seen; so does how much it counts.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from fairtrial._inference.evidence.unit_sums import UnitSums
from fairtrial._inference.numeric.roots import Bools, Floats, Integers

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


class UnitLines:
    """The units of every group with the one that is added, for the events or for their absence."""

    def __init__(self, groups: list[Units], everyone: Units) -> None:
        """`everyone` are all units of the groups: those with events may be heavier than others."""
        heavier = _mean(everyone, everyone[1] > 0) / _mean(everyone, everyone[0] > 0)
        lines = [_with_one_more(*units, max(heavier, 1.0)) for units in groups]
        self.showing = np.array([showing(*units) for units in groups])
        self.group = np.repeat(np.arange(len(lines)), [line.shape[1] for line in lines])
        self.weight, self.total, self.times = np.concatenate(lines, axis=1)

    @classmethod
    def both(cls, sums: UnitSums, member: Bools) -> tuple[UnitLines, UnitLines]:
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
