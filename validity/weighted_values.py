"""Gaps of means of weighted rows and of repeated units where values are skewed: levels over shapes, and power."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from inside.inference import Floats
from validity.board import Cell
from validity.gap_within import People, gaps_of
from validity.measure_designs import linear

Random = np.random.Generator
Run = Callable[[int, Random], NDArray[np.float64]]
SHAPES: dict[str, Callable[[Random, Any], Floats]] = {
    "normal": lambda random, n: 5.0 + random.normal(size=n),
    "exponential": lambda random, n: random.exponential(size=n),
    "lognormal(1)": lambda random, n: np.exp(random.normal(size=n)),
    "lognormal(1.5)": lambda random, n: np.exp(1.5 * random.normal(size=n)),
}


def rows(random: Random, shape: str, sizes: tuple[int, int], spread: float, times: float = 1.0) -> Any:
    """Values, who is in the group, and weights."""
    n, inside = sum(sizes), np.arange(sum(sizes)) < sizes[0]
    value = SHAPES[shape](random, n)
    return np.where(inside, times * value, value), inside, np.exp(spread * random.normal(size=n))


def rejected(shape: str, sizes: tuple[int, int], spread: float = 0.5, times: float = 1.0, *, rival: bool = False,
             ratio: bool = False) -> Run:  # fmt: skip
    """No gap rejected; by Student's t of the linearised error for the rival."""

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            value, inside, weight = rows(random, shape, sizes, spread, times)
            gaps = linear(
                value, inside, weight, np.arange(value.size), scale="ratio" if ratio else "difference"
            )
            if rival:
                found[i] = 2.0 * stats.t.sf(abs(gaps.estimate[0] / gaps.error[0]), gaps.df[0]) <= 0.05
            else:
                found[i] = gaps.p_equal()[0] <= 0.05
        return found

    return run


def known(shape: str, n: int, spread: float) -> Run:
    """The true mean of a group is rejected."""

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        truth = {
            "normal": 5.0,
            "exponential": 1.0,
            "lognormal(1)": np.exp(0.5),
            "lognormal(1.5)": np.exp(1.125),
        }[shape]
        for i in range(repeats):
            value, _, weight = rows(random, shape, (n, 0), spread)
            gaps = linear(value, np.ones(n, dtype=bool), weight, np.arange(n), known=float(truth))
            found[i] = gaps.p_equal()[0] <= 0.05
        return found

    return run


def units(
    shape: str, sizes: tuple[int, int], rows_each: int, shift: float = 0.0, *, rival: bool = False
) -> Run:
    """No gap rejected, of units of this many rows about a level of their own."""

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            own = SHAPES[shape](random, sum(sizes))
            unit = np.repeat(np.arange(own.size), rows_each)
            inside = unit < sizes[0]
            value = own[unit] + 0.7 * random.normal(size=unit.size) + shift * inside
            if rival:
                of_units = np.bincount(unit, value) / rows_each
                test = stats.ttest_ind(of_units[: sizes[0]], of_units[sizes[0] :], equal_var=False)
                found[i] = test.pvalue <= 0.05
            else:
                found[i] = linear(value, inside, np.ones(unit.size), unit).p_equal()[0] <= 0.05
        return found

    return run


def within(
    shape: str, places: int, sizes: tuple[int, int], times: float = 1.0, *, rival: bool = False
) -> Run:
    """No gap within strata rejected, of weighted rows; the rival is Student's t of the linearised error."""

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            stratum = np.repeat(np.arange(places), sum(sizes))
            inside = np.tile(np.repeat([True, False], sizes), places)
            value = SHAPES[shape](random, stratum.size) * np.where(inside, times, 1.0)
            weight = np.exp(0.5 * random.normal(size=stratum.size))
            gaps = gaps_of(People(np.arange(stratum.size), stratum, inside, weight, value), "difference")
            if rival:
                found[i] = 2.0 * stats.t.sf(abs(gaps.estimate[0] / gaps.error[0]), gaps.df[0]) <= 0.05
            else:
                found[i] = gaps.p_equal()[0] <= 0.05
        return found

    return run


def _line(name: str, design: str, run: Run, claim: Any = "size", **more: Any) -> Cell:
    return Cell(
        "certify", name, design, claim, run, **({"short": 0, "long": 400, "whole_analysis": True} | more)
    )


_T = "Student's t"
_LOSES = "it finds gaps that are none"
CELLS: list[Cell] = [
    *(
        _line(f"weighted means, {shape}, {n1} and {n2}, weights lognormal({spread:g})",
              f"{n1} and {n2} rows of one law", rejected(shape, (n1, n2), spread))
        for shape in SHAPES for (n1, n2), spread in (((40, 360), 0.5), ((100, 100), 1.0))
    ),
    *(
        _line(f"weighted means, ratio of none, {shape}", "40 and 360 rows of one law",
              rejected(shape, (40, 360), ratio=True))
        for shape in ("normal", "lognormal(1)")
    ),
    *(
        _line(f"weighted mean beside a known number, {shape}", "60 rows", known(shape, 60, 0.5), long=2000,
              whole_analysis=False)
        for shape in SHAPES
    ),
    *(
        _line(f"means of units, {shape}, {n1} and {n2} units", "units of 5 rows about levels of one law",
              units(shape, (n1, n2), 5))
        for shape in SHAPES for n1, n2 in ((10, 90), (30, 30))
    ),
    *(
        _line(f"weighted means within strata, {shape}, {places} of {n1} and {n2}", "rows of one law",
              within(shape, places, (n1, n2)))
        for shape in ("exponential", "lognormal(1)", "lognormal(1.5)") for places, n1, n2 in ((8, 5, 200), (5, 30, 60))
    ),
    *(
        _line(f"power, weighted means, {shape} times {times:g}", "40 and 360 rows, weights lognormal(.5)",
              rejected(shape, (40, 360), 0.5, times), "power", nominal=least,
              rival=rejected(shape, (40, 360), 0.5, times, rival=True), rival_name=_T, loses=why)
        for shape, times, least, why in (
            ("normal", 0.88, 0.7, ""), ("lognormal(1)", 0.5, 0.6, _LOSES), ("exponential", 0.6, 0.5, _LOSES))
    ),
    *(
        _line(f"power, means of units, {n1} and {n2} units", "units of 5 rows about normal levels",
              units("normal", (n1, n2), 5, shift), "power", nominal=0.6,
              rival=units("normal", (n1, n2), 5, shift, rival=True), rival_name="Welch's test of units' means")
        for n1, n2, shift in ((20, 20, 0.95), (10, 30, 1.1))
    ),
    _line("power, weighted means within strata", "8 strata of 10 and 20, normal, .87 times",
          within("normal", 8, (10, 20), 0.87), "power", nominal=0.6,
          rival=within("normal", 8, (10, 20), 0.87, rival=True), rival_name=_T),
]  # fmt: skip
