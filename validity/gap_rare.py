"""Rates within strata of few events and of matched pairs: levels over a grid, and power beside other tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from inside.inference import Floats, MatchedStrataGaps, Scale, StrataGaps, TwoRates, heterogeneity, holm
from validity.board import Cell
from validity.gap_evidence import SCALES

Random = np.random.Generator
Run = Callable[[int, Random], NDArray[np.float64]]
AT_ONCE = 20_000


class Places(NamedTuple):
    """Strata: people of the group and of the target, and the target's rate in each."""

    sizes: tuple[tuple[int, int], ...]
    rates: tuple[float, ...]

    def drawn(self, random: Random, repeats: int, gap: float = 0.0, times: float = 1.0) -> TwoRates:
        n1, n2 = (
            np.tile(np.array(column, dtype=float), (repeats, 1)) for column in zip(*self.sizes, strict=True)
        )
        rate = np.array(self.rates)
        k1 = random.binomial(n1.astype(int), np.clip(times * rate + gap, 0.0, 1.0)).astype(float)
        return TwoRates(k1, n1, random.binomial(n2.astype(int), rate).astype(float), n2)


def _places(count: int, n1: int, n2: int, *rates: float) -> Places:
    return Places(((n1, n2),) * count, tuple(np.linspace(rates[0], rates[-1], count)))


GRID: dict[str, Places] = {
    "4 of 10 and 1,000, .5%": _places(4, 10, 1000, 0.003, 0.007),
    "4 of 10 and 1,000, 2%": _places(4, 10, 1000, 0.02),
    "4 of 10 and 1,000, 10%": _places(4, 10, 1000, 0.1),
    "4 of 1,000 and 10, .5%": _places(4, 1000, 10, 0.005),
    "8 of 5 and 200, 1%": _places(8, 5, 200, 0.01),
    "5 of 30 and 200,000, .2%": _places(5, 30, 200_000, 0.002),
    "6 of 20 and 400, 97%": _places(6, 20, 400, 0.97),
    "3 of 100 and 100, .5%": _places(3, 100, 100, 0.005),
    "60 of 1 and 3, 5%": _places(60, 1, 3, 0.05),
    "3 uneven ones": Places(((3, 30), (200, 3000), (10, 500)), (0.3, 0.005, 0.02)),
}


def _in_parts(repeats: int, one: Callable[[int], Any]) -> Floats:
    sizes = [min(AT_ONCE, repeats - start) for start in range(0, repeats, AT_ONCE)]
    return np.concatenate([one(size) for size in sizes]).astype(np.float64)


def rejected(places: Places, scale: Scale = "difference", level: float = 0.05, *, gap: float = 0.0, times: float = 1.0,
             none: bool = False) -> Run:  # fmt: skip
    """The true gap is rejected, or with `none` no gap."""
    truth = None if none or (gap == 0.0 and times == 1.0) else (times if scale == "ratio" else gap)

    def run(repeats: int, random: Random) -> Floats:
        return _in_parts(
            repeats, lambda n: StrataGaps(places.drawn(random, n, gap, times), scale).p_equal(truth) <= level
        )

    return run


def differing(places: Places, gap: float = 0.0) -> Run:
    """A gap that is the same in all strata is said to differ."""

    def run(repeats: int, random: Random) -> Floats:
        return _in_parts(
            repeats, lambda n: heterogeneity(StrataGaps(places.drawn(random, n, gap))).p_value <= 0.05
        )

    return run


def any_of_ten(places: Places) -> Run:
    """Some of ten groups beside one target is found, after Holm."""

    def run(repeats: int, random: Random) -> Floats:
        table, found = places.drawn(random, repeats), np.empty((10, repeats))
        for line in found:
            own = random.binomial(table.n1.astype(int), np.array(places.rates)).astype(float)
            line[:] = StrataGaps(table._replace(k1=own)).p_equal()
        return np.array([holm(column).min() <= 0.05 for column in found.T], dtype=np.float64)

    return run


def conditional(places: Places, gap: float = 0.0, times: float = 1.0) -> Run:
    """The exact conditional test of Mantel and Haenszel's sum, half of the observed one counted."""

    def run(repeats: int, random: Random) -> Floats:
        table = places.drawn(random, repeats, gap, times)
        return np.array([_mid_p(*lines) <= 0.05 for lines in zip(*table, strict=True)], dtype=np.float64)

    return run


def _mid_p(k1: Floats, n1: Floats, k2: Floats, n2: Floats) -> float:
    law = np.ones(1)
    for one, size, other, rest in zip(k1, n1, k2, n2, strict=True):
        events = int(one + other)
        law = np.convolve(
            law, stats.hypergeom.pmf(np.arange(min(events, int(size)) + 1), size + rest, size, events)
        )
    seen = int(k1.sum())
    return float(2.0 * min(law[seen:].sum(), law[: seen + 1].sum()) - law[seen])


# -- one person of each side in every stratum ------------------------------------------------------------------------
def pairs_drawn(random: Random, repeats: int, pairs: int, rate: float, apart: float, gap: float) -> TwoRates:
    """Pairs that agree but for a share of them, where both are drawn anew and the first one's rate is higher."""
    one = np.ones((repeats, pairs))
    second = (random.random(one.shape) < rate).astype(float)
    anew = (random.random(one.shape) < rate + gap / apart).astype(float)
    return TwoRates(np.where(random.random(one.shape) < apart, anew, second), one, second, one)


def matched(pairs: int, rate: float, apart: float, gap: float = 0.0, *, certified: float | None = None,
            law: type[StrataGaps] = MatchedStrataGaps) -> Run:  # fmt: skip
    """The true gap is rejected; or within this tolerance is certified."""

    def run(repeats: int, random: Random) -> Floats:
        found = []
        for start in range(0, repeats, 500):
            gaps = law(pairs_drawn(random, min(500, repeats - start), pairs, rate, apart, gap))
            if certified is None:
                found.append(gaps.p_equal(gap) <= 0.05)
            else:
                low, high = gaps.limits(0.9)
                found.append((low > -certified) & (high < certified))
        return np.concatenate(found).astype(np.float64)

    return run


_PAIRS = ((40, 0.3, 0.4), (100, 0.05, 0.6), (200, 0.3, 0.2), (500, 0.5, 0.1))
_RARE = GRID["4 of 10 and 1,000, 2%"]


def _line(name: str, design: str, claim: str, run: Run, **more: object) -> Cell:
    asked = {"short": 0, "long": 20_000} | more
    return Cell("certify", name, design, claim, run, **asked)  # type: ignore[arg-type]


_APART: tuple[tuple[str, Scale, float], ...] = (
    ("4 of 10 and 1,000, .5%", "difference", 0.02), ("4 of 10 and 1,000, 2%", "difference", 0.1),
    ("4 of 10 and 1,000, .5%", "ratio", 3.0), ("6 of 20 and 400, 97%", "ratio", 0.9),
    ("60 of 1 and 3, 5%", "difference", 0.2),
)  # fmt: skip

CELLS: list[Cell] = [
    *(
        _line(f"rates within strata, {scale}, {words}, at {level:g}", f"strata: {words}; no gap", "size",
              rejected(places, scale, level), nominal=level, long=20_000 if level == 0.05 else 40_000)
        for words, places in GRID.items() for scale, _ in SCALES for level in (0.05, 0.001)
    ),
    *(
        _line(f"rates within strata, {scale} interval, {words}", f"strata: {words}; {scale} {value:g}", "coverage",
              rejected(GRID[words], scale, gap=value if scale == "difference" else 0.0,
                       times=value if scale == "ratio" else 1.0))
        for words, scale, value in _APART
    ),
    *(
        _line(f"heterogeneity over strata of few events, {words}, gap {gap:g}", f"strata: {words}; one gap", "size",
              differing(GRID[words], gap))
        for words, gap in (("5 of 30 and 200,000, .2%", 0.0), ("5 of 30 and 200,000, .2%", 0.05),
                           ("4 of 10 and 1,000, .5%", 0.0), ("4 of 10 and 1,000, 10%", 0.1),
                           ("8 of 5 and 200, 1%", 0.0), ("3 of 100 and 100, .5%", 0.0))
    ),
    _line("rates within strata, any of ten rare groups", "ten groups of 4 strata of 10 beside 1,000, .5%, Holm", "size",
          any_of_ten(GRID["4 of 10 and 1,000, .5%"]), long=4000),
    *(
        _line(f"matched pairs as strata, {pairs} of which {apart:g} differ, gap {gap:g}",
              f"{pairs} strata of one and one, rate {rate:g}", "coverage" if gap else "size",
              matched(pairs, rate, apart, gap), long=4000)
        for pairs, rate, apart in _PAIRS for gap in (0.0, 0.05)
    ),
    *(
        _line(f"matched pairs as strata, certified at the edge, {pairs}", f"rate {rate:g}, {apart:g} differ, 8 points",
              "wrong certification", matched(pairs, rate, apart, 0.08, certified=0.08), long=4000)
        for pairs, rate, apart in ((200, 0.3, 0.2), (500, 0.3, 0.3))
    ),
    *(
        _line(f"power, rates within strata of few events, {words}", f"strata: {words}; {how}", "power",
              rejected(GRID[words], none=True, gap=gap, times=times), nominal=least, long=2000,
              rival=conditional(GRID[words], gap, times), rival_name="the exact conditional test, mid-p")
        for words, how, gap, times, least in (
            ("4 of 10 and 1,000, 2%", "12%", 0.1, 1.0, 0.6),
            ("6 of 20 and 400, 97%", "87%", -0.1, 1.0, 0.6),
            ("4 of 10 and 1,000, 10%", "30%", 0.2, 1.0, 0.6))
    ),
    _line("power, matched pairs as strata, certified", "200 pairs, a fifth differ, within 8 points", "power",
          matched(200, 0.3, 0.3, certified=0.08), nominal=0.7, long=2000,
          rival=matched(200, 0.3, 0.3, certified=0.08, law=StrataGaps), rival_name="Mantel and Haenszel's score"),
]  # fmt: skip
