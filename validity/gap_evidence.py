"""Gaps on other evidence: ratios, strata, weights, units and pairs, by every table where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from inside.inference import (
    Comparison,
    Floats,
    LinearGaps,
    PartLaw,
    Scale,
    StrataGaps,
    TwoRateLaw,
    TwoRates,
    UnitSums,
    at_null,
    heterogeneity,
    pairs_of_groups,
    rate_interval,
    ratio_to_highest,
    score_roots,
)
from validity.board import Cell
from validity.measure_designs import linear

Random = np.random.Generator
Run = Callable[[int, Random], NDArray[np.float64]]
RATES = (0.005, 0.02, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97)
SIZES = ((30, 30), (50, 100), (30, 200), (50, 1000))
PART = 20_000  # repeats at once


# -- two rates, every table -----------------------------------------------------------------------------------
def every_table(n1: int, n2: int, p1: float, p2: float) -> tuple[TwoRates, Floats]:
    """All likely tables of two samples, and their probabilities."""
    first, second = (
        side.ravel() for side in np.meshgrid(np.arange(n1 + 1.0), np.arange(n2 + 1.0), indexing="ij")
    )
    mass = stats.binom.pmf(first, n1, p1) * stats.binom.pmf(second, n2, p2)
    likely = mass > 1e-10
    size = int(likely.sum())
    return TwoRates(first[likely], np.full(size, n1 * 1.0), second[likely], np.full(size, n2 * 1.0)), mass[
        likely
    ]


def misses(
    sizes: tuple[tuple[int, int], ...],
    scale: Scale,
    level: float,
    sides: int,
    koopman: bool,
    rates: Any = RATES,
) -> Run:
    """Exact probability that the true gap is rejected, for every pair of rates: two-sided, or the worse side."""

    def run(repeats: int, random: Random) -> Floats:
        found = []
        for (n1, n2), p1, p2 in product(sizes, rates, rates):
            table, mass = every_table(n1, n2, p1, p2)
            value = np.full(mass.size, p1 - p2 if scale == "difference" else p1 / p2)
            if koopman:
                root = score_roots(at_null(table, value, scale))[0]
                above, below = special.ndtr(-root), special.ndtr(root)
            else:
                above, below = TwoRateLaw(table, scale).tails(value)
            if sides == 2:
                found.append(mass[2 * np.minimum(above, below) <= level].sum())
            else:
                found += [mass[tail <= level].sum() for tail in (above, below)]
        return np.array(found)

    return run


def wrong_certificates(sizes: tuple[tuple[int, int], ...], band: tuple[float, float], scale: Scale) -> Run:
    """Exact probability of 'certified' where the truth lies on an edge of the band."""

    def run(repeats: int, random: Random) -> Floats:
        found = []
        for (n1, n2), p2, edge in product(sizes, (0.05, 0.2, 0.5, 0.7), band):
            p1 = p2 + edge if scale == "difference" else p2 * edge
            if 0 < p1 < 1:
                table, mass = every_table(n1, n2, p1, p2)
                law = TwoRateLaw(table, scale)
                above = law.tails(np.full(mass.size, band[0]))[0]
                below = law.tails(np.full(mass.size, band[1]))[1]
                found.append(mass[np.maximum(above, below) <= 0.05].sum())
        return np.array(found)

    return run


def one_rate(sizes: tuple[int, ...], method: Any) -> Run:
    """Exact misses of one rate's interval, over rates from .5% to 99.5%."""

    def run(repeats: int, random: Random) -> Floats:
        found = []
        for n in sizes:
            count = np.arange(n + 1.0)
            low, high = rate_interval(count, n, 0.95, method)
            for rate in np.linspace(0.005, 0.995, 199):
                found.append(stats.binom.pmf(count, n, rate)[(rate < low) | (rate > high)].sum())
        return np.array(found)

    return run


# -- draws ----------------------------------------------------------------------------------------------------
def everyone(n: int, share: float, rates: tuple[float, float], scale: Scale, level: float = 0.05) -> Run:
    """Misses of the gap to everyone, the share being drawn as well."""
    first, second = rates
    whole = share * first + (1 - share) * second
    truth = first / whole if scale == "ratio" else first - whole

    def run(repeats: int, random: Random) -> Floats:
        n1 = random.binomial(n, share, repeats)
        k1, k2 = random.binomial(n1, first) * 1.0, random.binomial(n - n1, second) * 1.0
        table = TwoRates(*(np.asarray(side, dtype=np.float64) for side in (k1, n1, k2, n - n1)))
        above, below = PartLaw(table, scale).tails(np.full(repeats, truth))
        return np.asarray(2 * np.minimum(above, below) <= level, dtype=np.float64)

    return in_parts(run)


def in_parts(run: Run) -> Run:
    """The same repeats, a part of them at a time, so that hundreds of thousands fit into memory."""

    def parts(repeats: int, random: Random) -> Floats:
        sizes = [PART] * (repeats // PART) + ([repeats % PART] if repeats % PART else [])
        return np.concatenate([run(size, random) for size in sizes])

    return parts


def strata(
    strata_count: int, n1: int, n2: int, scale: Scale, gap: float, statistic: str = "gap", level: float = 0.05
) -> Run:
    """Misses of the common gap over strata with rates of their own, or false heterogeneity."""

    def run(repeats: int, random: Random) -> Floats:
        base = np.linspace(0.1, 0.5, strata_count) * np.ones((repeats, 1))
        first = base + gap if scale == "difference" else base * gap
        k1, k2 = (
            np.asarray(random.binomial(n, rate), dtype=np.float64) for n, rate in ((n1, first), (n2, base))
        )
        law = StrataGaps(TwoRates(k1, np.full(k1.shape, n1 * 1.0), k2, np.full(k2.shape, n2 * 1.0)), scale)
        if statistic == "heterogeneity":
            return np.asarray(heterogeneity(law).p_value <= 0.05, dtype=np.float64)
        above, below = law.tails(np.full(repeats, gap))
        return np.asarray(2 * np.minimum(above, below) <= level, dtype=np.float64)

    return in_parts(run)


def hospitals(random: Random, *, places: int, people: int, gap: float, spread: float) -> Any:
    """Places with both groups: every place has a rate of its own, and the group's is `gap` above it everywhere."""
    own = np.clip(random.normal(0.4, spread, places), 0.05, 0.8)
    place = np.repeat(np.arange(places), people)
    inside = random.random(place.size) < 0.4
    values = (random.random(place.size) < own[place] + gap * inside).astype(float)
    return values, inside, np.ones(place.size), place


def weighted_events(random: Random, *, n1: int, n2: int, rate: float, other: float) -> Any:
    """People with the event weigh a tenth: the rates among the population are those given."""
    values, inside = np.zeros(n1 + n2), np.arange(n1 + n2) < n1
    weight = np.ones(n1 + n2)
    for part, target in ((inside, rate), (~inside, other)):
        # a population of this rate, its events ten times as likely in the sample and weighing a tenth
        sampled = 10 * target / (10 * target + 1 - target)
        values[part] = random.random(part.sum()) < sampled
    weight[values == 1] = 0.1
    return values, inside, weight, np.arange(n1 + n2)


def rejections(draw: Any, rival: bool = False, df: Any = None) -> Run:
    """'No gap' rejected by our score at effective sizes, or by the usual linearised t."""

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            rows = draw(random)
            found[i] = (linearised_p(*rows) if rival else linear(*rows).p_equal(0.0)[0]) <= 0.05
        return found

    return run


def found_gaps(n1: int, n2: int, first: float, second: float, scale: Scale, *, score: bool = False) -> Run:
    """'No gap' rejected, by the bounded law or by the plain score."""

    def run(repeats: int, random: Random) -> Floats:
        k1, k2 = (
            np.asarray(random.binomial(n, p, repeats), dtype=float) for n, p in ((n1, first), (n2, second))
        )
        table = TwoRates(k1, np.full(repeats, n1 * 1.0), k2, np.full(repeats, n2 * 1.0))
        value = np.full(repeats, 0.0 if scale == "difference" else 1.0)
        if score:
            root = score_roots(at_null(table, value, scale))[0]
            return np.asarray(2 * special.ndtr(-np.abs(root)) <= 0.05, dtype=np.float64)
        above, below = TwoRateLaw(table, scale).tails(value)
        return np.asarray(2 * np.minimum(above, below) <= 0.05, dtype=np.float64)

    return run


def found_by_boschloo(n1: int, n2: int, first: float, second: float) -> Run:
    """The same by Boschloo's unconditional test, of every table once."""

    def run(repeats: int, random: Random) -> Floats:
        k1, k2 = (random.binomial(n, p, repeats) for n, p in ((n1, first), (n2, second)))
        tables, of_repeat = np.unique(np.stack([k1, k2]), axis=1, return_inverse=True)
        p = [stats.boschloo_exact([[one, other], [n1 - one, n2 - other]]).pvalue for one, other in tables.T]
        return np.asarray(np.array(p)[of_repeat.ravel()] <= 0.05, dtype=np.float64)

    return run


def joint_rejections(places: int, people: int) -> Run:
    """Three groups with equal rates in places of their own rates: the joint test of all gaps to the rest."""

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        member = np.eye(3, dtype=bool)
        for i in range(repeats):
            own = np.clip(random.normal(0.4, 0.15, places), 0.05, 0.9)
            place = np.repeat(np.arange(places), people)
            group = random.integers(0, 3, place.size)
            values = (random.random(place.size) < own[place]).astype(float)
            sums = UnitSums.of_rows(place, group, np.ones(place.size), values, 3)
            found[i] = LinearGaps(sums, Comparison(member, ~member)).joint().p_value <= 0.05
        return found

    return run


def linearised_p(values: Floats, inside: Any, weight: Floats, unit: Any) -> float:
    """The textbook's: influences summed per unit, m/(m - 1), t with m - 1 degrees of freedom."""
    influence, gap = np.zeros(values.size), 0.0
    for part, sign in ((inside, 1.0), (~inside, -1.0)):
        total = weight[part].sum()
        mean = float((weight * values)[part].sum() / total)
        gap += sign * mean
        influence[part] = sign * weight[part] * (values[part] - mean) / total
    units = np.bincount(unit, influence)
    units = units[np.bincount(unit) > 0]
    error = np.sqrt(units.size / (units.size - 1) * np.sum((units - units.mean()) ** 2))
    return float(2 * special.stdtr(units.size - 1, -abs(gap) / error))


def some_ratio_marked(groups: int, people: int, rate: float, bare: bool = False) -> Run:
    """Equal rates: some group is said to be below four fifths of the highest."""

    def run(repeats: int, random: Random) -> Floats:
        events = random.binomial(people, rate, (repeats, groups)) * 1.0
        if bare:
            return np.asarray(
                (events < 0.8 * events.max(axis=1, keepdims=True)).any(axis=1), dtype=np.float64
            )
        sizes = np.full(groups, people * 1.0)
        return np.array([
            float(pairs_of_groups(row, sizes, (0.8, 1.25), 0.95).p_adjusted.min() <= 0.05) for row in events
        ])  # fmt: skip

    return run


def highest_misses(sizes: tuple[int, ...], rates: tuple[float, ...]) -> Run:
    """Share of groups whose true ratio to the highest true rate is missed."""
    truth = np.array(rates) / max(rates)

    def run(repeats: int, random: Random) -> Floats:
        events = random.binomial(np.array(sizes), np.array(rates), (repeats, len(sizes))) * 1.0
        found = np.zeros(repeats)
        for i, row in enumerate(events):
            limits = ratio_to_highest(row, np.array(sizes) * 1.0, 0.95)
            found[i] = np.mean((truth < limits.low - 1e-12) | (truth > limits.high + 1e-12))
        return found

    return run


# -- the board ------------------------------------------------------------------------------------------------
def _exact(name: str, design: str, run: Run, claim: Any = "size", **more: Any) -> Cell:
    return Cell("certify", name, design, claim, run, exact=True, **more)


def _drawn(name: str, design: str, run: Run, claim: Any = "size", **more: Any) -> Cell:
    settings = {"short": 1000, "long": 20_000} | more
    return Cell("certify", name, design, claim, run, **settings)


_TABLES = "every table, 81 pairs of rates .5% to 97%, 30/30, 50/100, 30/200, 50/1,000 people"
_ENDS = ("low", "high")


def _limits(names: tuple[str, ...]) -> tuple[str, ...]:
    """Both ends of these columns of certify and flag."""
    return tuple(f"{who}.{name}_{end}" for who in ("certify", "flag") for name in names for end in _ENDS)


_PRINTED = {
    "difference": _limits(("difference", "unadjusted")),
    "ratio": (*_limits(("ratio", "unadjusted_ratio")), "measure.ratio_low", "measure.ratio_high"),
}
_COUNTS = "20 to 400 people, rates .5% to 99.5%"
TO_EVERYONE: tuple[tuple[str, tuple[int, float, tuple[float, float]]], ...] = (
    ("a large share", (300, 0.5, (0.5, 0.2))), ("a small share", (400, 0.1, (0.2, 0.4))),
    ("rare events", (600, 0.2, (0.05, 0.1))),
)  # fmt: skip


def people_of(design: tuple[int, float, tuple[float, float]]) -> str:
    n, share, (first, second) = design
    return f"{n} people, share {share:g}, rates {first:g} and {second:g}"


SCALES: tuple[tuple[Scale, float], ...] = (("difference", 0.1), ("ratio", 1.3))

CELLS: list[Cell] = [
    *(
        _exact(f"{scale} of two rates, {words}, every table", _TABLES,
               misses(SIZES, scale, level, 2, False), nominal=level, covers=_PRINTED[scale],
               short=400 if level == 0.05 else 0)
        for scale, _ in SCALES
        for level, words in ((0.05, "two-sided"), (0.01, "two-sided at .01"), (0.001, "two-sided at .001"))
    ),
    _exact("ratio of two rates by Koopman's score, every table", _TABLES, misses(SIZES, "ratio", 0.05, 2, True),
           variant="paper", counterpart="ratio of two rates, two-sided, every table", short=0),
    _exact("a ratio wrongly certified, every table", "edges .8 and 1.25, four rates, 50/100 to 50/1,000 people",
           wrong_certificates(((50, 100), (100, 100), (50, 1000)), (0.8, 1.25), "ratio"), "wrong certification"),
    _exact("a difference wrongly certified, every table", "edges -10 and +10 points, four rates, 50/100 to 50/1,000",
           wrong_certificates(((50, 100), (100, 100), (50, 1000)), (-0.1, 0.1), "difference"), "wrong certification"),
    _exact("one rate, bounded, every count", _COUNTS, one_rate((20, 38, 50, 100, 400), "bounded"), "coverage"),
    _exact("one rate, Wilson alone, every count", _COUNTS, one_rate((20, 38, 50, 100, 400), "wilson"), "coverage",
           variant="paper", counterpart="one rate, bounded, every count"),
    *(
        _drawn(f"ratio to everyone, {words}", people_of(design), everyone(*design, "ratio"))
        for words, design in TO_EVERYONE
    ),
    *(
        _drawn(f"{scale} within strata, {n1} against {n2}", f"{count} strata, rates 10% to 50%, {scale} {gap:g}",
               strata(count, n1, n2, scale, gap))
        for scale, gap in SCALES
        for count, n1, n2 in ((30, 1, 3), (10, 6, 12), (4, 40, 80))
    ),
    _drawn("heterogeneity over strata", "8 strata of 40 and 80, one common difference",
           strata(8, 40, 80, "difference", 0.1, "heterogeneity"),
           covers=("certify.heterogeneity_p", "flag.heterogeneity_p")),
    *(
        _drawn(f"no gap, {places} hospitals with both groups", f"{places} hospitals of 30, rates vary by 15 points",
               rejections(partial(hospitals, places=places, people=30, gap=0.0, spread=0.15)))
        for places in (40, 20, 10)
    ),
    *(
        _drawn(f"no gap in any of three groups, {places} hospitals",
               f"{places} hospitals of 30, rates vary by 15 points", joint_rejections(places, 30))
        for places in (40, 12)
    ),
    _drawn("survey weights, events weigh a tenth", "150 and 450 people, 10% in both populations",
           rejections(partial(weighted_events, n1=150, n2=450, rate=0.1, other=0.1))),
    *(
        _drawn(f"some group below four fifths, {groups} groups of {people}", f"equal rates {rate:g}",
               some_ratio_marked(groups, people, rate), covers=("measure.four_fifths",))
        for groups, people, rate in ((4, 50, 0.3), (6, 400, 0.2))
    ),
    *(
        _drawn(f"some group below four fifths by the bare mark, {groups} groups of {people}", f"equal rates {rate:g}",
               some_ratio_marked(groups, people, rate, bare=True), variant="paper",
               counterpart=f"some group below four fifths, {groups} groups of {people}")
        for groups, people, rate in ((4, 50, 0.3), (6, 400, 0.2))
    ),
    _drawn("ratio to the highest rate", "five groups of 50 to 400, rates 20% to 30%",
           highest_misses((50, 80, 120, 200, 400), (0.3, 0.2, 0.28, 0.3, 0.25)), "coverage",
           covers=("measure.impact_ratio_low", "measure.impact_ratio_high")),
    _drawn("ratio to the highest rate, equal rates", "four groups of 50, rate 30%",
           highest_misses((50, 50, 50, 50), (0.3, 0.3, 0.3, 0.3)), "coverage"),
]  # fmt: skip

POWER: list[Cell] = [
    Cell("certify", f"power, {places} hospitals with both groups", f"{places} hospitals of 30, gap 12 points", "power",
         rejections(partial(hospitals, places=places, people=30, gap=0.12, spread=0.15)), nominal=least,
         rival=rejections(partial(hospitals, places=places, people=30, gap=0.12, spread=0.15), rival=True),
         rival_name="cluster-robust t", short=400, long=2000)
    for places, least in ((40, 0.5), (20, 0.3), (10, 0.1))
] + [
    Cell("certify", f"power, {scale} of two rates, {n1} and {n2}", f"{n1} and {n2} people, rates {p1:g} and {p2:g}",
         "power", found_gaps(n1, n2, p1, p2, scale), nominal=0.4, rival=found_gaps(n1, n2, p1, p2, scale, score=True),
         rival_name="score", short=2000, long=20_000)
    for scale, _ in SCALES
    for n1, n2, p1, p2 in ((60, 120, 0.15, 0.35), (40, 400, 0.15, 0.04), (100, 100, 0.5, 0.3))
] + [
    Cell("certify", f"power, difference of two rates, {n1} and {n2}, beside Boschloo",
         f"{n1} and {n2} people, rates {p1:g} and {p2:g}", "power", found_gaps(n1, n2, p1, p2, "difference"),
         nominal=0.4, rival=found_by_boschloo(n1, n2, p1, p2), rival_name="Boschloo's test", short=0, long=20_000)
    for n1, n2, p1, p2 in ((30, 30, 0.1, 0.4), (20, 40, 0.45, 0.15))
] + [
    Cell("certify", f"power, survey weights, events weigh a tenth, {100 * rate:.0f}%",
         f"150 and 450 people, 10% and {100 * rate:.0f}% in the populations",
         "power", rejections(partial(weighted_events, n1=150, n2=450, rate=rate, other=0.1)), nominal=0.5,
         rival=rejections(partial(weighted_events, n1=150, n2=450, rate=rate, other=0.1), rival=True),
         rival_name="linearised survey t", short=400 if rate > 0.2 else 0, long=2000)
    for rate in (0.22, 0.16)
]  # fmt: skip
