"""Levels of gaps where units, weights or strata are few, uneven or rare: grids of designs around those that failed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from inside.inference import Comparison, Floats, LinearGaps, Scale, UnitSums
from validity.board import Cell
from validity.gap_evidence import linearised_p
from validity.measure_designs import linear

SCALES: tuple[Scale, ...] = ("difference", "ratio")

Random = np.random.Generator
Run = Callable[[int, Random], NDArray[np.float64]]


# -- units against a known number: some hold the event in a share of their rows, the others do not ------------------
def alike_units(units: int, rows: int, part: float, showing: NDArray[np.int64], target: Floats) -> LinearGaps:
    """One group for each number of units that show the event in `part` of their rows."""
    group = np.repeat(np.arange(showing.size), units * rows)
    unit = np.repeat(np.arange(showing.size * units), rows)
    inside = np.tile(np.repeat(np.arange(units), rows), showing.size) < showing[group]
    value = inside & (np.tile(np.arange(rows), showing.size * units) < round(part * rows))
    sums = UnitSums.of_rows(unit, group, np.ones(group.size), value.astype(float), showing.size)
    member = np.eye(showing.size, dtype=bool)
    return LinearGaps(sums, Comparison(member, np.zeros(member.shape, dtype=bool), target))


def units_missed(level: float, sizes: tuple[int, ...] = (8, 12, 20, 30, 60)) -> Run:
    """Exact chance that the true rate is rejected, for every number of units, share and part."""

    def run(repeats: int, random: Random) -> Floats:
        found = []
        for units, part, share in product(sizes, (0.2, 0.5, 1.0), (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)):
            showing = np.arange(units + 1)
            gaps = alike_units(units, 20, part, showing, np.full(showing.size, part * share))
            # a group in which all units are alike has no variation, but a rate
            p = gaps.p_equal(0.0)
            found.append(float(stats.binom.pmf(showing, units, share)[p <= level].sum()))
        return np.array(found)

    return run


def units_found(
    units: int, rows: int, rate: float, spread: float, target: float, *, rival: bool = False
) -> Run:
    """Units with rates of their own about `rate`, beside a number further up."""

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            own = random.beta(spread * rate, spread * (1.0 - rate), units)
            value = (random.random((units, rows)) < own[:, None]).astype(float)
            if rival:
                found[i] = stats.ttest_1samp(value.mean(axis=1), target).pvalue <= 0.05
                continue
            unit = np.repeat(np.arange(units), rows)
            sums = UnitSums.of_rows(
                unit, np.zeros(unit.size, dtype=int), np.ones(unit.size), value.ravel(), 1
            )
            known = Comparison(np.array([[True]]), np.array([[False]]), np.array([target]))
            found[i] = LinearGaps(sums, known).p_equal(0.0)[0] <= 0.05
        return found

    return run


def _exact(name: str, design: str, run: Run, claim: Any = "size", **more: Any) -> Cell:
    return Cell("certify", name, design, claim, run, exact=True, **more)


_UNITS = "8 to 60 units of 20 rows, 2% to 80% of them with the event in 20%, half or all of their rows"
UNITS: list[Cell] = [
    *(
        _exact(f"rate of units, every number of units with events, at {level:g}", _UNITS, units_missed(level),
               nominal=level, short=400 if level == 0.05 else 0)
        for level in (0.2, 0.05, 0.01)
    ),
    *(
        Cell("certify", f"power, rate of {units} units of {rows}", f"rates about {rate:g}, the number is {target:g}",
             "power", units_found(units, rows, rate, spread, target), nominal=least,
             rival=units_found(units, rows, rate, spread, target, rival=True), rival_name="Student's t of the units",
             short=400, long=2000)
        for units, rows, rate, spread, target, least in (
            (20, 30, 0.4, 9.0, 0.54, 0.6), (40, 5, 0.1, 9.0, 0.22, 0.6), (12, 50, 0.1, 30.0, 0.18, 0.4))
    ),
]  # fmt: skip


# -- units of uneven size: one with half of a side's rows, or sizes that are lognormal --------------------------------
Sizes = Callable[[Random], NDArray[np.int64]]


def one_with_half(units: int, rows: int) -> Sizes:
    return lambda random: np.array([rows * (units - 1), *[rows] * (units - 1)])


def lognormal_sizes(units: int, rows: float, spread: float) -> Sizes:
    return lambda random: np.maximum(1, np.rint(rows * np.exp(spread * random.normal(size=units)))).astype(
        np.int64
    )


def uneven_units(
    first: Sizes, second: Sizes, rates: tuple[float, float], alike: float, *, level: float = 0.05, means: bool = False,
    rival: bool = False,
) -> Run:  # fmt: skip
    """'No gap' rejected, of units with Beta rates whose parameters add up to `alike`, or of values about these."""

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            sizes = [first(random), second(random)]
            own = [
                random.beta(alike * rate, alike * (1.0 - rate), size.size)
                for rate, size in zip(rates, sizes, strict=True)
            ]
            each = np.concatenate(sizes)
            unit = np.repeat(np.arange(each.size), each)
            chance = np.concatenate(own)[unit]
            noise = 0.4 * random.normal(size=unit.size) if means else 0.0
            value = (random.random(unit.size) < chance).astype(float) + noise
            inside = unit < sizes[0].size
            if rival:
                of_units = np.bincount(unit, value) / each
                one, other = of_units[: sizes[0].size], of_units[sizes[0].size :]
                found[i] = stats.ttest_ind(one, other, equal_var=False).pvalue <= level
            else:
                found[i] = linear(value, inside, np.ones(unit.size), unit).p_equal(0.0)[0] <= level
        return found

    return run


_HALF, _LIKE = one_with_half(20, 20), lognormal_sizes(20, 12.0, 0.0)
_UNEVEN: dict[str, tuple[Sizes, Sizes]] = {
    "one of 20 with half of a side": (_HALF, one_with_half(20, 20)),
    "one of 20 with half of one side": (_HALF, _LIKE),
    "20 and 20, lognormal(1) sizes": (lognormal_sizes(20, 12.0, 1.0), lognormal_sizes(20, 12.0, 1.0)),
    "20 and 20, lognormal(1.5) sizes": (lognormal_sizes(20, 7.0, 1.5), lognormal_sizes(20, 7.0, 1.5)),
    "10 and 30, lognormal(1) sizes": (lognormal_sizes(10, 12.0, 1.0), lognormal_sizes(30, 12.0, 1.0)),
}
UNEVEN: list[Cell] = [
    *(
        Cell("certify", f"uneven units, no gap, {words}, {name}, at {level:g}", f"{words}, rates about {rate:g}",
             "size", uneven_units(*sizes, (rate, rate), alike, level=level), nominal=level, short=0, long=2000)
        for words, sizes in _UNEVEN.items()
        for rate, alike, name in (
            (0.4, 9.0, "units differ"), (0.1, 9.0, "units differ, 10%"), (0.4, 1e6, "independent rows"))
        for level in ((0.05, 0.2) if rate == 0.4 else (0.05,))
    ),
    *(
        Cell("certify", f"uneven units, means, {words}", f"{words}, values about rates of .4", "size",
             uneven_units(*sizes, (0.4, 0.4), 9.0, means=True), short=0, long=2000)
        for words, sizes in _UNEVEN.items()
    ),
    *(
        Cell("certify", f"power, uneven units, {words}, {name}", f"{words}, rates about {rates[0]:g} and {rates[1]:g}",
             "power", uneven_units(*_UNEVEN[words], rates, alike), nominal=least, short=0, long=2000,
             rival=uneven_units(*_UNEVEN[words], rates, alike, rival=True), rival_name="Welch's test of units' means",
             loses=why)
        for words, rates, alike, name, least, why in (
            ("one of 20 with half of one side", (0.65, 0.3), 9.0, "units differ", 0.6, "one unit is half of a side"),
            ("one of 20 with half of one side", (0.5, 0.38), 1e6, "independent rows", 0.55, ""),
            ("20 and 20, lognormal(1) sizes", (0.6, 0.35), 9.0, "units differ", 0.6, "a few units carry the gap"),
        )
    ),
]  # fmt: skip


# -- weights that go with the event ------------------------------------------------------------------------------------
def events_weigh(n: int, rate: float, times: float, spread: float, random: Random) -> tuple[Floats, Floats]:
    """People of a population with this rate, where one with the event stands for `times` as many."""
    value = (random.random(n) < rate / (times - (times - 1.0) * rate)).astype(float)
    return value, np.where(value > 0, times, 1.0) * np.exp(spread * random.normal(size=n))


def weights_of_events(
    sizes: tuple[int, int], rates: tuple[float, float], times: float, *, spread: float = 0.0,
    scale: Scale = "difference",
) -> Run:  # fmt: skip
    """The true gap is rejected, by default none."""
    truth = rates[0] - rates[1] if scale == "difference" else rates[0] / rates[1]

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            (one, weight), (other, opposite) = (
                events_weigh(n, rate, times, spread, random) for n, rate in zip(sizes, rates, strict=True)
            )
            rows = (
                np.concatenate([one, other]), np.arange(sum(sizes)) < sizes[0],
                np.concatenate([weight, opposite]), np.arange(sum(sizes)),
            )  # fmt: skip
            gaps = linear(*rows, scale=scale)
            found[i] = gaps.p_equal(truth)[0] <= 0.05
        return found

    return run


def rate_of_weighted(n: int, rate: float, times: float) -> Run:
    """The own rate of a group is missed, which stands beside a larger group in the file."""

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            one, weight = events_weigh(n, rate, times, 0.0, random)
            other, opposite = events_weigh(10 * n, rate, times, 0.0, random)
            sums = UnitSums.of_rows(
                np.arange(11 * n), np.repeat([0, 1], [n, 10 * n]), np.concatenate([weight, opposite]),
                np.concatenate([one, other]), 2,
            )  # fmt: skip
            member = np.eye(2, dtype=bool)
            gaps = LinearGaps(sums, Comparison(member, np.zeros((2, 2), dtype=bool), np.zeros(2)))
            low, high = gaps.limits(0.95)
            found[i] = not low[0] <= rate <= high[0]
        return found

    return run


def found_gap(
    sizes: tuple[int, int], rates: tuple[float, float], times: float, *, rival: bool = False
) -> Run:
    """'No gap' rejected where there is one."""

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            (one, weight), (other, opposite) = (
                events_weigh(n, rate, times, 0.0, random) for n, rate in zip(sizes, rates, strict=True)
            )
            rows = (
                np.concatenate([one, other]), np.arange(sum(sizes)) < sizes[0],
                np.concatenate([weight, opposite]), np.arange(sum(sizes)),
            )  # fmt: skip
            found[i] = (linearised_p(*rows) if rival else linear(*rows).p_equal(0.0)[0]) <= 0.05
        return found

    return run


_WEIGHED = (
    ((500, 5000), 0.3, 100.0), ((150, 1500), 0.1, 10.0), ((150, 450), 0.3, 10.0), ((150, 150), 0.05, 10.0),
    ((40, 4000), 0.3, 10.0), ((300, 900), 0.1, 0.1), ((200, 2000), 0.3, 30.0), ((100, 1000), 0.8, 0.05),
)  # fmt: skip
WEIGHTS: list[Cell] = [
    *(
        Cell("certify", f"events weigh {times:g} times, {n1} and {n2} people of {rate:g}{words}",
             f"{n1} and {n2} people, rate {rate:g} in both populations{words}", "size",
             weights_of_events((n1, n2), (rate, rate), times, spread=spread), short=0, long=2000)
        for (n1, n2), rate, times in _WEIGHED
        for spread, words in ((0.0, ""), (1.0, ", weights vary"))
    ),
    *(
        Cell("certify", f"events weigh {times:g} times, {n1} and {n2} people, {scale}",
             f"{n1} and {n2} people, rates {rates[0]:g} and {rates[1]:g}", "coverage",
             weights_of_events((n1, n2), rates, times, scale=scale), short=0, long=2000)
        for (n1, n2), rates, times in (((150, 450), (0.5, 0.3), 10.0), ((500, 5000), (0.2, 0.4), 100.0))
        for scale in SCALES
    ),
    *(
        Cell("measure", f"rate where events weigh {times:g} times, {n} people of {rate:g}",
             f"{n} people beside ten times as many, rate {rate:g} in the population", "coverage",
             rate_of_weighted(n, rate, times), short=0, long=2000)
        for n, rate, times in (
            (150, 0.3, 10.0), (150, 0.1, 10.0), (500, 0.3, 100.0), (300, 0.1, 0.1), (100, 0.8, 0.05))
    ),
    *(
        Cell("certify", f"power, events weigh {times:g} times, {n1} and {n2} people",
             f"{n1} and {n2} people, rates {rates[0]:g} and {rates[1]:g}", "power", found_gap((n1, n2), rates, times),
             nominal=least, rival=found_gap((n1, n2), rates, times, rival=True), rival_name="linearised survey t",
             short=0, long=2000)
        for (n1, n2), rates, times, least in (
            ((150, 450), (0.5, 0.2), 10.0, 0.6), ((300, 300), (0.1, 0.4), 10.0, 0.7),
            ((500, 5000), (0.7, 0.3), 100.0, 0.7))
    ),
]  # fmt: skip

CERTIFY: list[Cell] = [*UNITS, *UNEVEN, *(cell for cell in WEIGHTS if cell.method == "certify")]
MEASURE: list[Cell] = [cell for cell in WEIGHTS if cell.method == "measure"]
