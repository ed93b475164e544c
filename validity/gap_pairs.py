"""Two answers to one person: rates by every table, means and joint tests by draws, power beside the usual tests."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from inside.inference import Floats, PairedAnswers, PairGaps, TwoRateLaw, TwoRates, mcnemar_mid_p, pair_gaps
from validity.board import Cell

Random = np.random.Generator
Run = Callable[[int, Random], NDArray[np.float64]]
RATES = (0.005, 0.02, 0.1, 0.2, 0.4)


def every_table(pairs: int, first: float, second: float) -> tuple[PairGaps, Floats]:
    """All likely tables of so many pairs, and their probabilities."""
    tables = np.array(
        [(i, j, pairs - i - j) for i in range(pairs + 1) for j in range(pairs + 1 - i)], dtype=float
    )
    mass = stats.multinomial.pmf(tables, pairs, [first, second, 1 - first - second])
    likely = mass > 1e-8
    return PairGaps(tables[likely, 0], tables[likely, 1], np.full(likely.sum(), pairs * 1.0)), mass[likely]


def misses(pairs: tuple[int, ...], level: float, sides: int) -> Run:
    """Exact probability that the true gap is rejected: two-sided, or the worse side."""

    def run(repeats: int, random: Random) -> Floats:
        found = []
        for n, first, second in product(pairs, RATES, RATES):
            law, mass = every_table(n, first, second)
            above, below = law.tails(np.full(mass.size, first - second))
            tails = [2 * np.minimum(above, below)] if sides == 2 else [above, below]
            found += [mass[tail <= level].sum() for tail in tails]
        return np.array(found)

    return run


def no_gap(pairs: tuple[int, ...]) -> Run:
    """Exact probability that McNemar's mid-p rejects equal rates."""

    def run(repeats: int, random: Random) -> Floats:
        tables = [every_table(n, rate, rate) for n, rate in product(pairs, RATES)]
        return np.array([mass[mcnemar_mid_p(law.first, law.second) <= 0.05].sum() for law, mass in tables])

    return run


def wrong_certificates(pairs: tuple[int, ...], band: float) -> Run:
    """Exact probability of 'certified' where the truth lies on an edge of the band."""

    def run(repeats: int, random: Random) -> Floats:
        found = []
        for n, second in product(pairs, (0.0, 0.02, 0.1, 0.3)):
            law, mass = every_table(n, second + band, second)
            above, below = law.tails(np.full(mass.size, -band))[0], law.tails(np.full(mass.size, band))[1]
            found.append(mass[np.maximum(above, below) <= 0.05].sum())
        return np.array(found)

    return run


def people(random: Random, n: int, groups: int, gap: float, alike: float, real: bool) -> list[PairedAnswers]:
    """Answers in several groups and in one target: a person's disposition and chance; the first group's is moved."""
    own = alike * random.normal(size=(n, 1)) + np.sqrt(1 - alike**2) * random.normal(size=(n, groups + 1))
    own[:, 0] += gap
    values = np.exp(own) if real else (own > 0.5).astype(float)
    return [PairedAnswers(np.arange(n), values[:, i], values[:, -1], 0) for i in range(groups)]


def rejected(n: int, groups: int = 1, gap: float = 0.0, alike: float = 0.8, real: bool = False) -> Run:
    """No gap rejected: of one group by its own test, of several by the joint one."""

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            gaps: Any = pair_gaps(people(random, n, groups, gap, alike, real), not real)
            found[i] = (gaps.p_equal()[0] if groups == 1 else gaps.joint().p_value) <= 0.05
        return found

    return run


def rival(n: int, gap: float, alike: float, test: str) -> Run:
    """The same draws by another test."""

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            (pairs,) = people(random, n, 1, gap, alike, test == "paired t")
            found[i] = _rival_p(pairs, test) <= 0.05
        return found

    return run


def _rival_p(pairs: PairedAnswers, test: str) -> float:
    if test == "paired t":
        return float(stats.ttest_rel(pairs.first, pairs.second).pvalue)
    if test == "McNemar's exact test":
        gained, lost = (int(np.sum(sign * pairs.difference > 0)) for sign in (1, -1))
        return float(stats.binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    size = np.array([float(pairs.first.size)])
    table = TwoRates(pairs.first.sum(keepdims=True), size, pairs.second.sum(keepdims=True), size)
    above, below = TwoRateLaw(table, "difference").tails(np.zeros(1))
    return float(2 * np.minimum(above, below)[0])


_GRID = "every table of 10, 20, 40 and 60 pairs, 25 pairs of discordant rates .5% to 40%"

CELLS: list[Cell] = [
    Cell("certify", "pairs, 95% interval, every table", _GRID, "coverage", misses((10, 20, 40, 60), 0.05, 2),
         exact=True),
    Cell("certify", "pairs, one-sided tail, every table", _GRID, "size", misses((10, 20, 40, 60), 0.05, 1), exact=True),
    Cell("certify", "pairs, level .01, every table", _GRID, "size", misses((10, 20, 40, 60), 0.01, 2), nominal=0.01,
         exact=True),
    Cell("certify", "pairs, no gap, every table", "10 to 60 pairs, equal discordant rates", "size",
         no_gap((10, 20, 40, 60)), exact=True),
    Cell("certify", "pairs, certified at the edge", "40 and 100 pairs, tolerance 15 points", "wrong certification",
         wrong_certificates((40, 100), 0.15), exact=True),
    Cell("certify", "pairs, no gap in any of three groups", "40 people with four answers, joint test", "size",
         rejected(40, 3), short=400, long=4000),
    Cell("certify", "pairs, no gap in any of five groups", "100 people with six answers, rare events", "size",
         rejected(100, 5, alike=0.5), short=0, long=4000),
    Cell("certify", "pairs of skewed values, no gap", "40 people, lognormal, answers alike", "size",
         rejected(40, real=True), short=400, long=4000),
]  # fmt: skip

POWER: list[Cell] = [
    Cell("certify", "power, pairs", "60 people, answers alike, gap of half a disposition's spread", "power",
         rejected(60, gap=0.5), nominal=0.5, rival=rival(60, 0.5, 0.8, "McNemar's exact test"),
         rival_name="McNemar's exact test", short=400, long=4000),
    Cell("certify", "power, pairs beside two samples", "60 people, answers alike, gap of half a disposition's spread",
         "power", rejected(60, gap=0.5), nominal=0.5, rival=rival(60, 0.5, 0.8, "two samples"),
         rival_name="the same rows as two samples", short=400, long=4000),
    Cell("certify", "power, pairs of real values", "40 people, lognormal, gap 0.6 of the spread", "power",
         rejected(40, gap=0.6, real=True), nominal=0.3, rival=rival(40, 0.6, 0.8, "paired t"), rival_name="paired t",
         loses="differences of skewed values are bounded by their skewness", short=0, long=2000),
]  # fmt: skip
