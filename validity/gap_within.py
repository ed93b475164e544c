"""Gaps within strata of weighted rows and of repeated units: level, coverage and power.

Units with one row or several in one stratum and group, hospitals that hold both groups and all strata, units of one
group, and strata that are themselves the units. Strata differ in their rates; the group is elsewhere than its target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from inside.inference import Atoms, Comparison, LinearGaps, LinearStrataGaps, Scale, StrataGaps, UnitSums
from validity.board import Cell

Random = np.random.Generator
Run = Callable[[int, Random], NDArray[np.float64]]
LIMITS = tuple(
    f"{method}.{name}_{end}"
    for method in ("measure", "certify", "flag")
    for name in ("difference", "ratio", "unadjusted", "unadjusted_ratio")
    for end in ("low", "high")
)
P_VALUES = ("measure.p_value", "certify.p_value", "flag.p_value", "measure.heterogeneity_p")


class People(NamedTuple):
    """Rows: their unit, stratum, whether they are of the group, weight and value."""

    unit: Any
    stratum: Any
    group: Any
    weight: Any
    value: Any


Draw = Callable[[Random], People]


def _bases(strata: int, rate: float) -> Any:
    return np.clip(rate * np.linspace(0.6, 1.4, strata), 0.002, 0.95)


def weighted(n1: int, n2: int, strata: int, rate: float, gap: float = 0.0, *, ratio: float = 1.0) -> Draw:
    """People with lognormal weights, so many of the group and of the target in each stratum."""

    def draw(random: Random) -> People:
        stratum = np.repeat(np.arange(strata), n1 + n2)
        group = np.tile(np.repeat([True, False], [n1, n2]), strata)
        chance = _bases(strata, rate)[stratum]
        value = random.random(stratum.size) < np.where(group, ratio * chance + gap, chance)
        weight = np.exp(0.7 * random.normal(size=stratum.size))
        return People(np.arange(stratum.size), stratum, group, weight, value)

    return draw


def persons(people: int, strata: int, rate: float) -> Draw:
    """Persons with up to five rows in one stratum, and with rates of their own."""

    def draw(random: Random) -> People:
        times, at = random.integers(1, 6, people), random.integers(0, strata, people)
        inside, chance = random.random(people) < 0.35, _bases(strata, rate)[at]
        own, unit = random.beta(2.3 * chance, 2.3 * (1.0 - chance)), np.repeat(np.arange(people), times)
        value = random.random(unit.size) < own[unit]
        return People(unit, at[unit], inside[unit], np.ones(unit.size), value)

    return draw


def hospitals(units: int, rate: float, *, both: bool, weights: bool = False, gap: float = 0.0) -> Draw:
    """Places with 20 rows over four strata and rates of their own, with both groups or of one group each."""

    def draw(random: Random) -> People:
        unit = np.repeat(np.arange(units), 20)
        stratum = random.integers(0, 4, unit.size)
        group = random.random(unit.size) < 0.4 if both else unit % 3 == 0
        own = random.beta(9.0 * rate, 9.0 * (1.0 - rate), units)
        value = random.random(unit.size) < own[unit] * np.linspace(0.7, 1.3, 4)[stratum] + gap * group
        weight = np.exp(0.7 * random.normal(size=unit.size)) if weights else np.ones(unit.size)
        return People(unit, stratum, group, weight, value)

    return draw


def nested(units: int, slope: float) -> Draw:
    """Every stratum is a unit, with a rate and a gap of its own; gaps are none on average."""

    def draw(random: Random) -> People:
        unit = np.repeat(np.arange(units), 12)
        group = random.random(unit.size) < 0.4
        own, gap = random.beta(1.7, 4.0, units), slope * random.normal(size=units)
        value = random.random(unit.size) < own[unit] + gap[unit] * (group - 0.5)
        return People(unit, unit, group, np.ones(unit.size), value)

    return draw


def skewed(draw: Draw) -> Draw:
    """Lognormal values in place of rates, higher where the rate is."""

    def drawn(random: Random) -> People:
        people = draw(random)
        value = np.exp(0.5 * random.normal(size=people.unit.size) + 0.2 * people.stratum)
        return people._replace(value=value)

    return drawn


def gaps_of(people: People, scale: Scale) -> LinearStrataGaps:
    strata = int(people.stratum.max()) + 1
    atom = 2 * people.stratum + ~people.group
    _, unit = np.unique(people.unit, return_inverse=True)
    sums = UnitSums.of_rows(unit, atom, people.weight, people.value.astype(np.float64), 2 * strata)
    member = (np.arange(2 * strata) % 2 == 0)[None]
    comparison = Comparison(member, ~member)
    plain = LinearGaps(sums, comparison, scale)
    return LinearStrataGaps(sums, comparison, np.arange(2 * strata) // 2, plain, scale)


def rejected(draw: Draw, truth: float | None = None, scale: Scale = "difference", level: float = 0.05) -> Run:
    """The true gap, by default none, is rejected: it lies outside the interval of that level."""

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        return np.array([gaps_of(draw(random), scale).p_equal(truth)[0] <= level for _ in range(repeats)])

    return run


def differing(draw: Draw) -> Run:
    """The gap is the same in all strata, and said to differ."""

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        return np.array(
            [gaps_of(draw(random), "difference").heterogeneity.p_value[0] <= 0.05 for _ in range(repeats)]
        )

    return run


def as_counts(draw: Draw) -> Run:
    """The score of Mantel and Haenszel that takes every row for a person, as is usual."""

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        found = np.zeros(repeats)
        for i in range(repeats):
            people = draw(random)
            strata = int(people.stratum.max()) + 1
            atom = 2 * people.stratum + ~people.group
            count = np.bincount(atom, minlength=2 * strata).astype(np.float64)
            mean = np.bincount(atom, people.value, 2 * strata) / np.maximum(count, 1.0)
            member = (np.arange(2 * strata) % 2 == 0)[None]
            atoms = Atoms(count, mean, count * mean * (1.0 - mean), True)
            gaps = StrataGaps.of(atoms, Comparison(member, ~member), np.arange(2 * strata) // 2)
            found[i] = gaps.p_equal()[0] <= 0.05
        return found

    return run


def _line(name: str, design: str, run: Run, claim: Any = "size", **more: Any) -> Cell:
    return Cell("certify", name, design, claim, run, **({"short": 0, "long": 2000} | more))


_WEIGHTED = {
    "40 strata of 1 and 3, 3%": weighted(1, 3, 40, 0.03),
    "40 strata of 1 and 3, 30%": weighted(1, 3, 40, 0.3),
    "20 strata of 3 and 6, 3%": weighted(3, 6, 20, 0.03),
    "8 strata of 10 and 20, 3%": weighted(10, 20, 8, 0.03),
    "8 strata of 10 and 20, 30%": weighted(10, 20, 8, 0.3),
    "4 strata of 40 and 80, 30%": weighted(40, 80, 4, 0.3),
    "6 strata of 15 and 150, 3%": weighted(15, 150, 6, 0.03),
}
_UNITS = {
    "40 persons with several rows, 10%": persons(40, 5, 0.1),
    "100 persons with several rows, 40%": persons(100, 5, 0.4),
    "8 hospitals with both groups, 40%": hospitals(8, 0.4, both=True),
    "15 hospitals with both groups and weights, 10%": hospitals(15, 0.1, both=True, weights=True),
    "40 hospitals with both groups, 10%": hospitals(40, 0.1, both=True),
    "8 hospitals of one group each, 40%": hospitals(8, 0.4, both=False),
    "40 hospitals of one group each, 10%": hospitals(40, 0.1, both=False),
    "8 strata that are the units": nested(8, 0.0),
    "20 strata that are the units, gaps differ": nested(20, 0.15),
}

_APART: tuple[tuple[str, Scale, float, Draw], ...] = (
    ("8 strata of 10 and 20", "difference", 0.2, weighted(10, 20, 8, 0.3, 0.2)),
    ("4 strata of 40 and 80", "difference", 0.1, weighted(40, 80, 4, 0.03, 0.1)),
    ("4 strata of 40 and 80", "ratio", 1.5, weighted(40, 80, 4, 0.2, ratio=1.5)),
    ("8 strata of 10 and 20", "ratio", 0.5, weighted(10, 20, 8, 0.3, ratio=0.5)),
)

CELLS: list[Cell] = [
    *(
        _line(f"weights within strata, no gap, {words}", words, rejected(draw), covers=P_VALUES[:3],
              short=400 if words.startswith("8 strata of 10 and 20, 30") else 0)
        for words, draw in _WEIGHTED.items()
    ),
    *(
        _line(f"units within strata, no gap, {words}", words, rejected(draw), covers=P_VALUES[:3],
              short=400 if words.startswith("8 hospitals") else 0)
        for words, draw in _UNITS.items()
    ),
    *(
        _line(f"weights within strata, {scale} interval, {words}", f"{words}, rates apart in every stratum",
              rejected(draw, truth, scale), "coverage", covers=LIMITS)
        for words, scale, truth, draw in _APART
    ),
    _line("units within strata, difference interval, 20 hospitals", "20 hospitals with both groups, 20 points apart",
          rejected(hospitals(20, 0.3, both=True, gap=0.2), 0.2), "coverage", covers=LIMITS),
    _line("units within strata, ratio interval, 20 hospitals", "20 hospitals with both groups, no gap",
          rejected(hospitals(20, 0.3, both=True), 1.0, "ratio"), "coverage", covers=LIMITS),
    _line("weights within strata, at one percent", "8 strata of 10 and 20, 30%",
          rejected(weighted(10, 20, 8, 0.3), level=0.01), nominal=0.01, long=4000),
    *(
        _line(f"means within strata, {words}", f"{words}, lognormal values", rejected(skewed(draw)))
        for words, draw in (("weights, 8 strata of 10 and 20", weighted(10, 20, 8, 0.3)),
                            ("15 hospitals with both groups", hospitals(15, 0.3, both=True)))
    ),
    _line("weights within strata, does the gap differ", "4 strata of 40 and 80, the same gap", covers=P_VALUES[3:],
          run=differing(weighted(40, 80, 4, 0.3, 0.1))),
    _line("power, weights within strata", "4 strata of 40 and 80, 30% and 42%",
          rejected(weighted(40, 80, 4, 0.3, 0.12)), "power", nominal=0.6, long=2000,
          rival=as_counts(weighted(40, 80, 4, 0.3, 0.12)), rival_name="Mantel–Haenszel of rows as people",
          loses="it takes weighted rows for people and knows the gap of the rows, not of those they stand for"),
    _line("power, units within strata", "20 hospitals with both groups, 15 points apart",
          rejected(hospitals(20, 0.4, both=True, gap=0.15)), "power", nominal=0.6, long=2000,
          rival=as_counts(hospitals(20, 0.4, both=True, gap=0.15)), rival_name="Mantel–Haenszel of rows as people"),
    _line("units within strata as rows, no gap", "8 hospitals of one group each, 40%",
          as_counts(hospitals(8, 0.4, both=False)), variant="paper", short=400,
          counterpart="units within strata, no gap, 8 hospitals of one group each, 40%"),
]  # fmt: skip
