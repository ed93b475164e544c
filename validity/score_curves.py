"""Rates at every threshold of a score: bands that hold at once, largest gaps, and areas under the ROC curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from inside.direct_calls import delong_limits
from inside.inference import Areas, band, gap_p_value, gap_width
from inside.inference import areas_gap_limits as gap_limits
from inside.inference import areas_gap_p as gap_p
from validity.board import Cell

Random = np.random.Generator
Floats = NDArray[np.float64]
Run = Callable[[int, Random], Floats]
Draw = Callable[[Random, int, int, float], Floats]


# -- bands ------------------------------------------------------------------------------------------------------
def miss_of_band(n: int, level: float) -> float:
    """Exact probability that the band of n different scores misses the true share at some threshold.

    The number of people below a true share t is binomial, and goes from one bound of the band to the next as a chain.
    """
    k = np.arange(n + 1.0)
    low, high = band(k, n, level)
    times = np.concatenate([low[1:], high[:-1]])  # the k-th share is at least low[k], at most high[k - 1]
    order = np.argsort(times, kind="stable")
    before = after = np.arange(n + 1)
    chance = np.zeros(n + 1)
    chance[0], now = 1.0, 0.0
    for place in order:
        share = (times[place] - now) / (1.0 - now)
        step = stats.binom.pmf(after[None, :] - before[:, None], n - before[:, None], share)
        chance = chance @ step
        now = times[place]
        if place < n:
            chance[place + 1 :] = 0.0  # fewer than `place + 1` people before low[place + 1]
        else:
            chance[: place - n + 1] = 0.0
    return float(1.0 - chance.sum())


def misses_of_bands(sizes: Sequence[int], level: float) -> Run:
    """Exact, for every size."""
    return lambda repeats, random: np.array([miss_of_band(n, level) for n in sizes])


def missed(n: int, level: float, width: bool = False) -> Run:
    """Whether the band misses somewhere, by draws; with `width` that of pointwise exact intervals instead."""

    def run(repeats: int, random: Random) -> Floats:
        from inside.inference import exact_limits

        k = np.arange(n + 1.0)
        low, high = (
            exact_limits(k, np.asarray(float(n)), np.asarray(1 - level)) if width else band(k, n, level)
        )
        shares = np.sort(random.random((repeats, n)), axis=1)
        return np.asarray(((shares < low[1:]) | (shares > high[:-1])).any(axis=1), dtype=float)

    return run


# -- largest gaps -----------------------------------------------------------------------------------------------
def gap_missed(n: int, m: int, power: float, levels: int = 0) -> Run:
    """Whether the true gap of two distributions leaves the limits at some threshold; equal ones at power 1."""

    def run(repeats: int, random: Random) -> Floats:
        found = []
        width = gap_width(n, m, 0.95)
        for _ in range(repeats):
            first, second = random.random(n), random.random(m) ** (1.0 / power)
            if levels:
                first, second = np.floor(levels * first), np.floor(levels * second)
            at = np.unique(np.concatenate([first, second]))
            both = np.concatenate([at, at + 1e-12])
            seen = np.searchsorted(np.sort(first), both) / n - np.searchsorted(np.sort(second), both) / m
            place = np.clip(both, 0, levels or 1) / (levels or 1) if not levels else np.ceil(both) / levels
            true = place - place**power
            found.append(float(np.abs(seen - true).max() > width + 1e-9))
        return np.array(found)

    return run


def gap_found(n: int, m: int, shift: float, rival: bool = False) -> Run:
    """Whether a shift of normal scores is found at some threshold; the rival is the exact test of Smirnov."""

    def run(repeats: int, random: Random) -> Floats:
        found = []
        for _ in range(repeats):
            first, second = random.standard_normal(n) + shift, random.standard_normal(m)
            if rival:
                found.append(float(stats.ks_2samp(first, second, method="exact").pvalue <= 0.05))
                continue
            both = np.concatenate([first, second])
            seen = np.searchsorted(np.sort(first), both, side="right") / n
            gap = np.abs(seen - np.searchsorted(np.sort(second), both, side="right") / m).max()
            found.append(float(gap_p_value(float(gap), n, m) <= 0.05))
        return np.array(found)

    return run


# -- areas ------------------------------------------------------------------------------------------------------
def normal(random: Random, repeats: int, n: int, area: float) -> Floats:
    return np.asarray(random.standard_normal((repeats, n)) + np.sqrt(2) * stats.norm.ppf(area))


def exponential(random: Random, repeats: int, n: int, area: float) -> Floats:
    """Against a standard exponential."""
    return random.exponential(area / (1 - area), (repeats, n))


def few_far_below(random: Random, repeats: int, n: int, area: float) -> Floats:
    """Most far above everyone without the outcome, the others far below: the area is a rate of n people."""
    return np.where(random.random((repeats, n)) < area, 5.0, -5.0) + 0.1 * random.standard_normal(
        (repeats, n)
    )


def areas(random: Random, repeats: int, sizes: tuple[int, int], area: float, draw: Draw) -> Areas:
    n, m = sizes
    positives = draw(random, repeats, n, area)
    if draw is exponential:
        negatives = random.exponential(1.0, (repeats, m))
    else:
        negatives = random.standard_normal((repeats, m)) * (0.1 if draw is few_far_below else 1.0)
    above = (positives[:, :, None] > negatives[:, None, :]).astype(float)
    squares = [(above.mean(axis=axis) ** 2).mean(axis=1) for axis in (2, 1)]
    people = [np.full(repeats, float(size)) for size in sizes]
    return Areas(above.mean(axis=(1, 2)), *people, *squares)


def area_missed(sizes: tuple[int, int], area: float, draw: Draw) -> Run:
    """Whether the area's interval misses it."""

    def run(repeats: int, random: Random) -> Floats:
        low, high = areas(random, repeats, sizes, area, draw).limits(0.95)
        return np.asarray((low > area + 1e-9) | (high < area - 1e-9), dtype=float)

    return run


def area_gap(
    sizes: tuple[int, int],
    others: tuple[int, int],
    area: float,
    draw: Draw,
    gap: float = 0.0,
    delong: bool = False,
) -> Run:
    """Whether a difference of two areas is found: by our p-value, or by DeLong's interval."""

    def run(repeats: int, random: Random) -> Floats:
        first = areas(random, repeats, sizes, area - gap, draw)
        second = areas(random, repeats, others, area, draw)
        if delong:
            low, high = delong_limits(first, second, 0.95)
            return np.asarray((low > 0) | (high < 0), dtype=float)
        found = gap_p(first, second) <= 0.05
        low, high = gap_limits(first, second, 0.95)
        assert np.array_equal(found, (low > 0) | (high < 0)), "p-value and interval agree"
        return np.asarray(found, dtype=float)

    return run


_SIZES = (1, 2, 3, 5, 7, 10, 14, 20, 33, 50)
_SMALL = "10 with and 90 without the outcome, against 40 and 160"

CELLS: list[Cell] = [
    Cell("measure", "band over all thresholds, exact", "1 to 50 people", "coverage", misses_of_bands(_SIZES, 0.95),
         exact=True, worst=0.05),
    Cell("measure", "99% band over all thresholds, exact", "1 to 50 people", "coverage", misses_of_bands(_SIZES, 0.99),
         nominal=0.01, exact=True, worst=0.01),
    Cell("measure", "band over all thresholds, larger groups", "150 people", "coverage", missed(150, 0.95), short=0,
         long=20000),
    Cell("measure", "band over all thresholds, 700 people", "700 people", "coverage", missed(700, 0.95), short=400,
         long=10000),
    Cell("measure", "pointwise limits read as a band, 700 people", "700 people", "coverage",
         missed(700, 0.95, width=True), variant="paper", counterpart="band over all thresholds, 700 people",
         short=400, long=2000),
    Cell("measure", "band over all thresholds, 5,000 people", "5,000 people", "coverage", missed(5000, 0.95), short=0,
         long=4000),
    Cell("measure", "largest gap, equal scores", "5 and 50 people", "size", gap_missed(5, 50, 1.0), short=400,
         long=4000),
    Cell("measure", "largest gap, equal scores, 30 and 300", "30 and 300 people", "size", gap_missed(30, 300, 1.0),
         short=0, long=4000),
    Cell("measure", "largest gap, other scores", "30 and 100 people, distributions u and u cubed", "coverage",
         gap_missed(30, 100, 3.0), short=400, long=4000),
    Cell("measure", "largest gap, far apart", "100 and 100 people, distributions u and u^8", "coverage",
         gap_missed(100, 100, 8.0), short=0, long=4000),
    Cell("measure", "largest gap, few levels", "40 and 200 people, a score of 5 levels", "coverage",
         gap_missed(40, 200, 2.0, levels=5), short=0, long=4000),
    Cell("measure", "power, largest gap", "60 and 240 people, half a standard deviation", "power",
         gap_found(60, 240, 0.5), nominal=0.5, rival=gap_found(60, 240, 0.5, rival=True),
         rival_name="Smirnov's exact test", short=0, long=2000),
    *[
        Cell("measure", f"area under the curve, {design}", f"area {area}, {n} with and {m} without the outcome",
             "coverage", area_missed((n, m), area, draw), short=400 if short else 0, long=4000)
        for design, n, m, area, draw, short in (
            ("balanced", 30, 30, 0.5, normal, True), ("small", 10, 10, 0.7, normal, False),
            ("few positives", 5, 50, 0.7, normal, False), ("near 1", 10, 90, 0.95, normal, True),
            ("very near 1", 15, 60, 0.99, exponential, False), ("skewed", 30, 30, 0.8, exponential, False),
            ("resting on few", 10, 90, 0.85, few_far_below, True), ("large", 100, 300, 0.75, normal, False),
        )
    ],
    Cell("measure", "area gap, none, near 1", _SMALL, "size", area_gap((10, 90), (40, 160), 0.95, exponential),
         short=400, long=4000),
    Cell("measure", "area gap by DeLong's errors, none, near 1", _SMALL, "size",
         area_gap((10, 90), (40, 160), 0.95, exponential, delong=True), variant="paper",
         counterpart="area gap, none, near 1", short=400, long=4000),
    Cell("measure", "area gap, none", "30 and 30 against 60 and 120, area 0.7", "size",
         area_gap((30, 30), (60, 120), 0.7, normal), short=0, long=4000),
    Cell("measure", "area gap, none, resting on few", _SMALL, "size",
         area_gap((10, 90), (40, 160), 0.8, few_far_below), short=0, long=4000),
    Cell("measure", "power, area gap", "100 and 100 against 200 and 200, areas 0.65 and 0.8", "power",
         area_gap((100, 100), (200, 200), 0.8, normal, gap=0.15), nominal=0.8,
         rival=area_gap((100, 100), (200, 200), 0.8, normal, gap=0.15, delong=True), rival_name="DeLong's test",
         short=0, long=2000),
]  # fmt: skip
