"""Validity of measure: every interval and p-value it prints, where counts are comfortable and where they are not.

The plain likelihood ratio of one rate is the published default of several tools; at small counts it fails.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inside.direct_calls import gap_limits, gap_p, ratio_interval
from inside.inference import PartCounts, RateMethod, rate_interval
from validity.board import Cell, Claim
from validity.gap_levels import MEASURE as LEVELS
from validity.measure_arrays import CELLS as ARRAYS
from validity.measure_designs import Draw, Errors, Random, linear, repeated, survey
from validity.measure_labels import CELLS as LABELS
from validity.measure_means import CELLS as MEANS
from validity.measure_pvalues import CELLS as P_VALUES
from validity.ordered_cuts import CELLS as ORDERED
from validity.printed_numbers import printed
from validity.score_curves import CELLS as CURVES
from validity.skewed_means import MEASURE as SKEWED
from validity.skewed_means import POWER as POWER_OF_MEANS
from validity.whole_functions import lines


def _missed(low: Any, high: Any, truth: Any) -> Errors:
    return np.asarray((truth < low) | (truth > high), dtype=np.float64)


# -- one rate -------------------------------------------------------------------------------------------------
def rate_errors(repeats: int, random: Random, *, method: RateMethod, n: int, rate: float) -> Errors:
    low, high = rate_interval(np.arange(n + 1), n, method=method)
    k = random.binomial(n, rate, repeats)
    return _missed(low[k], high[k], rate)


def grid_errors(repeats: int, random: Random, *, method: RateMethod) -> Errors:
    """Sizes 20 to 400 and rates 2% to 98%, drawn anew in each repeat."""
    n = random.choice([20, 30, 50, 100, 200, 400], repeats)
    rate = random.uniform(0.02, 0.98, repeats)
    low, high = rate_interval(random.binomial(n, rate), n, method=method)
    return _missed(low, high, rate)


# -- two rates ------------------------------------------------------------------------------------------------
def _apart(k1: NDArray[Any], n1: int, k2: NDArray[Any], n2: int) -> PartCounts:
    zero = np.zeros(k1.shape)
    return PartCounts(zero, zero, k1, zero + n1, k2, zero + n2)


def difference_errors(
    repeats: int, random: Random, *, n1: int, n2: int, first: float, second: float
) -> Errors:
    k1, k2 = random.binomial(n1, first, repeats) * 1.0, random.binomial(n2, second, repeats) * 1.0
    low, high = gap_limits(_apart(k1, n1, k2, n2), 0.95)
    return _missed(low, high, first - second)


def difference_rejections(repeats: int, random: Random, *, n1: int, n2: int, rate: float) -> Errors:
    k1, k2 = random.binomial(n1, rate, repeats) * 1.0, random.binomial(n2, rate, repeats) * 1.0
    return np.asarray(gap_p(_apart(k1, n1, k2, n2), np.zeros(repeats)) <= 0.05, dtype=np.float64)


def ratio_errors(repeats: int, random: Random, *, n1: int, n2: int, first: float, second: float) -> Errors:
    k1, k2 = random.binomial(n1, first, repeats), random.binomial(n2, second, repeats)
    low, high = ratio_interval(k1, n1, k2, n2)
    return _missed(low, high, first / second)


def overall_errors(
    repeats: int, random: Random, *, n: int, share: float, first: float, second: float
) -> Errors:
    """The group is part of what it is compared with, and its share is random."""
    n1 = random.binomial(n, share, repeats).astype(np.float64)
    n2 = n - n1
    k1, k2 = (
        random.binomial(size.astype(int), rate).astype(np.float64)
        for size, rate in ((n1, first), (n2, second))
    )
    zero = np.zeros(repeats)
    low, high = gap_limits(PartCounts(k1, n1, zero, zero, k2, n2), 0.95)
    return _missed(low, high, (1 - share) * (first - second))


# -- weights and repeated rows --------------------------------------------------------------------------------
def weighted_rate_errors(repeats: int, random: Random, *, draw: Draw, rate: float) -> Errors:
    limits = [linear(*draw(random), known=0.0).limits(0.95) for _ in range(repeats)]
    low, high = np.array(limits)[:, :, 0].T
    return _missed(low, high, rate)


def weighted_difference_errors(repeats: int, random: Random, *, draw: Draw) -> Errors:
    limits = [linear(*draw(random)).limits(0.95) for _ in range(repeats)]
    low, high = np.array(limits)[:, :, 0].T
    return _missed(low, high, 0.0)


def weighted_overall_rejections(repeats: int, random: Random, *, draw: Draw) -> Errors:
    p = [linear(*draw(random), everyone=True).p_equal(0.0)[0] for _ in range(repeats)]
    return np.asarray(np.array(p) <= 0.05, dtype=np.float64)


# -- the board ------------------------------------------------------------------------------------------------
def _cell(
    name: str,
    design: str,
    run: Any,
    claim: Claim = "coverage",
    short: int = 2000,
    long: int = 20_000,
    **settings: Any,
) -> Cell:
    return Cell("measure", name, design, claim, run, short=short, long=long, **settings)


def _slower(name: str, design: str, run: Any, claim: Claim = "coverage") -> Cell:
    """Repeats that are computed one by one."""
    return _cell(name, design, run, claim, short=400, long=2000)


_RARE = "38 people, rate 5%: nobody has the event in one sample of seven"
_METHODS: tuple[RateMethod, ...] = ("bounded", "wilson", "half-count", "exact")
_SURVEY = partial(survey, n1=60, n2=300, rate=0.3, spread=0.5)
_RARE_SURVEY = partial(survey, n1=40, n2=400, rate=0.05, spread=0.5)
_REPEATED = partial(repeated, n1=60, n2=150, rate=0.3, across=False)
_ACROSS = partial(repeated, n1=60, n2=150, rate=0.3, across=True)

CELLS = [
    *LABELS,
    *SKEWED,
    *POWER_OF_MEANS,
    *(
        _cell(f"one rate, {method}, grid", "sizes 20 to 400, rates 2% to 98%", partial(grid_errors, method=method))
        for method in _METHODS
    ),
    *(
        _cell(f"one rate, {method}, rare events", _RARE, partial(rate_errors, method=method, n=38, rate=0.05))
        for method in _METHODS
    ),
    _cell(
        "one rate, plain likelihood ratio, rare events",
        _RARE,
        partial(rate_errors, method="likelihood", n=38, rate=0.05),
        variant="paper",
        counterpart="one rate, wilson, rare events",
    ),
    _cell(
        "one rate, likelihood ratio, comfortable counts",
        "400 people, rate 30%",
        partial(rate_errors, method="likelihood", n=400, rate=0.3),
    ),
    *(
        _cell(
            f"difference, {n1} of {first:.0%} against {n2} of {second:.0%}",
            "limits of the difference, as everywhere",
            partial(difference_errors, n1=n1, n2=n2, first=first, second=second),
        )
        for n1, n2, first, second in (
            (200, 300, 0.3, 0.45),
            (120, 80, 0.25, 0.25),
            (40, 60, 0.3, 0.5),
            (30, 4000, 0.05, 0.05),
            (40, 40, 0.05, 0.15),
            (35, 500, 0.97, 0.8),
        )
    ),
    *(
        _cell(
            f"p-value of a difference, {n1} and {n2} people, rate {rate:.0%}",
            "equal rates",
            partial(difference_rejections, n1=n1, n2=n2, rate=rate),
            claim="size",
        )
        for n1, n2, rate in ((150, 250, 0.3), (40, 60, 0.1), (30, 3000, 0.04))
    ),
    *(
        _cell(
            f"ratio, {n1} of {first:.0%} over {n2} of {second:.0%}",
            "limits of the ratio, as everywhere",
            partial(ratio_errors, n1=n1, n2=n2, first=first, second=second),
        )
        for n1, n2, first, second in ((200, 300, 0.3, 0.45), (40, 400, 0.08, 0.1))
    ),
    *(
        _cell(
            f"difference to overall, {share:.0%} of {n} people",
            f"rates {first:.0%} and {second:.0%}, the group is part of overall",
            partial(overall_errors, n=n, share=share, first=first, second=second),
        )
        for n, share, first, second in ((600, 0.3, 0.4, 0.25), (600, 0.07, 0.1, 0.05), (400, 0.8, 0.3, 0.6))
    ),
    _slower(
        "weighted rate",
        "60 people, 30%, weights vary by half",
        partial(weighted_rate_errors, draw=_SURVEY, rate=0.3),
    ),
    _slower(
        "weighted rate, rare events",
        "40 people, 5%, weights vary by half",
        partial(weighted_rate_errors, draw=_RARE_SURVEY, rate=0.05),
    ),
    _slower(
        "weighted difference",
        "60 and 300 people, 30%, weights vary by half",
        partial(weighted_difference_errors, draw=_SURVEY),
    ),
    _slower(
        "weighted difference, rare events",
        "40 and 400 people, 5%, weights vary by half",
        partial(weighted_difference_errors, draw=_RARE_SURVEY),
    ),
    _slower(
        "rate of repeated rows",
        "60 persons with up to five rows",
        partial(weighted_rate_errors, draw=_REPEATED, rate=0.3),
    ),
    _slower(
        "difference of repeated rows",
        "60 and 150 persons with up to five rows",
        partial(weighted_difference_errors, draw=_REPEATED),
    ),
    _slower(
        "difference of repeated rows, persons in both groups",
        "210 persons with up to five rows in either group",
        partial(weighted_difference_errors, draw=_ACROSS),
    ),
    _slower(
        "p-value of a weighted difference to overall",
        "60 of 360 people, 30%, weights vary by half",
        partial(weighted_overall_rejections, draw=_SURVEY),
        claim="size",
    ),
    *LEVELS,
    *MEANS,
    *ARRAYS,
    *P_VALUES,
    *(cell for cell in ORDERED if cell.method == "measure"),
    *CURVES,
    *lines("measure"),
    *printed("measure"),
]  # fmt: skip
