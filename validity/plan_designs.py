"""Plans for clusters, weights, pairs and strata: audits of the size they ask for reach the power they promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial import plan
from inside.gaps import certified
from inside.inference import Comparison, Gaps, LinearGaps, PairGaps, StrataGaps, TwoRates, UnitSums
from validity.board import Cell

Random = np.random.Generator
Run = Callable[[int, Random], NDArray[np.float64]]
POWER = 0.8


def _members(goal: str, rate: float, design: dict[str, Any], gap: float, band: float) -> tuple[int, int]:
    asked: dict[str, Any] = {"tolerance": band} if goal == "certify" else {"disparity": gap}
    row = plan("selection_rate", rate=rate, design=design, power=POWER, **asked).estimates[0]
    return int(row["members"]), int(row["target_members"])


def _reached(goal: str, gaps: Gaps, band: float) -> NDArray[np.float64]:
    if goal == "certify":
        return certified(gaps, (-band, band), 0.9).astype(float)
    return (gaps.p_equal() <= 0.05).astype(float)


def rows(
    goal: str,
    rate: float,
    *,
    unit: int = 1,
    alike: float = 0.0,
    spread: float = 0.0,
    gap: float = 0.0,
    band: float = 0.0,
) -> Run:
    """Units of one group with rates of their own, lognormal weights."""
    design: dict[str, Any] = ({"unit": [unit, alike]} if unit > 1 else {}) | (
        {"weight": spread} if spread else {}
    )

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        sizes = _members(goal, rate, design, gap, band)
        wide = np.sqrt(np.log1p(spread**2))
        found = np.zeros(repeats)
        for i in range(repeats):
            units, values = [], []
            for size, chance in zip(sizes, (rate + gap, rate), strict=True):
                there = int(np.ceil(size / unit))
                own = np.full(there, chance)
                if alike:
                    own = random.beta(chance * (1 / alike - 1), (1 - chance) * (1 / alike - 1), there)
                units.append(there)
                values.append(random.random((there, unit)) < own[:, None])
            value = np.concatenate([part.ravel() for part in values]).astype(float)
            person = np.repeat(np.arange(sum(units)), unit)
            atom = np.repeat([0, 1], [units[0] * unit, units[1] * unit])
            weight = np.exp(wide * random.normal(size=value.size))
            sums = UnitSums.of_rows(person, atom, weight, value, 2)
            group = np.array([[True, False]])
            found[i] = _reached(goal, LinearGaps(sums, Comparison(group, ~group)), band)[0]
        return found

    return run


def pairs(goal: str, differing: float, gap: float = 0.0, band: float = 0.0) -> Run:
    """Two answers of each person."""

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        size, _ = _members(goal, 0.3, {"pair": differing}, gap, band)
        shares = [(differing + gap) / 2.0, (differing - gap) / 2.0, 1.0 - differing]
        first, second, _ = random.multinomial(size, shares, repeats).astype(float).T
        return _reached(goal, PairGaps(first, second, np.full(repeats, float(size))), band)

    return run


def strata(goal: str, triples: list[float], gap: float = 0.0, band: float = 0.0) -> Run:
    """People alike, with Mantel and Haenszel's weights; who is in which stratum and group is drawn."""

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        sizes = _members(goal, 0.3, {"within": triples}, gap, band)
        share, group, rate = (np.array(triples[place::3]) for place in range(3))
        cells = np.concatenate([share * group, share * (1.0 - group)])
        people = random.multinomial(sum(sizes), cells / cells.sum(), repeats)
        n1, n2 = people[:, : share.size], people[:, share.size :]
        k1, k2 = random.binomial(n1, rate + gap), random.binomial(n2, rate)
        law = StrataGaps(TwoRates(*(of.astype(float) for of in (k1, n1, k2, n2))))
        return _reached(goal, law, band)

    return run


def _line(name: str, design: str, run: Run, short: int = 0, long: int = 2000) -> Cell:
    return Cell("plan", name, design, "power", run, POWER, short=short, long=long, whole_analysis=long < 2000)


_ROWS = (("certify", "to certify 8 points", 0.0, 0.08), ("detect", "to detect 12 points", 0.12, 0.0))
_PAIRS = (("certify", "to certify 5 points", 0.0, 0.05), ("detect", "to detect 7 points", 0.07, 0.0))
_STRATA = (("certify", "to certify 6 points", 0.0, 0.06), ("detect", "to detect 8 points", 0.08, 0.0))
_TWO = [0.6, 0.3, 0.2, 0.4, 0.5, 0.4]
_FIVE = [0.3, 0.1, 0.05, 0.3, 0.2, 0.1, 0.2, 0.4, 0.3, 0.1, 0.6, 0.5, 0.1, 0.8, 0.6]

CELLS: list[Cell] = [
    *(
        _line(f"units of {unit} alike by {alike:g}, {words}", f"rate 20%, {words}",
              rows(goal, 0.2, unit=unit, alike=alike, gap=gap, band=band), long=60)
        for unit, alike in ((5, 0.1), (20, 0.05), (50, 0.02), (20, 0.3))
        for goal, words, gap, band in _ROWS
    ),
    *(
        _line(f"weights that vary by {100 * spread:g}%, rate {100 * rate:g}%, {words}", "weights apart from the event",
              rows(goal, rate, spread=spread, gap=gap, band=band), long=60)
        for spread in (0.4, 1.0) for rate in (0.1, 0.3)
        for goal, words, gap, band in _ROWS
    ),
    *(
        _line(f"pairs of which {100 * differing:g}% differ, {words}", words, pairs(goal, differing, gap, band),
              short=400)
        for differing in (0.1, 0.3)
        for goal, words, gap, band in _PAIRS
    ),
    *(
        _line(f"{len(triples) // 3} strata, {words}", words, strata(goal, triples, gap, band), short=400)
        for triples in (_TWO, _FIVE)
        for goal, words, gap, band in _STRATA
    ),
]  # fmt: skip
