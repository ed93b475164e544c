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


# -- Real values of which some do not change.
def changes(random: Random, n: int, share: float, spread: float, shift: float) -> PairedAnswers:
    """Pairs of which this share changes: by a normal number (spread 0) or a lognormal less its mean, and by `shift`."""
    drawn = random.normal(size=n)
    drawn = np.exp(spread * drawn) - np.exp(spread**2 / 2) if spread else drawn
    change = np.where(random.random(n) < share, drawn + shift, 0.0)
    return PairedAnswers(np.arange(n), change, np.zeros(n), 0)


def found_of_changes(n: int, share: float, spread: float, shift: float = 0.0) -> Run:
    """No gap rejected; where nothing can be inferred nothing is."""

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            found[i] = pair_gaps([changes(random, n, share, spread, shift)], False).p_equal()[0] <= 0.05
        return found

    return run


def changes_missed(n: int, share: float, spread: float, shift: float) -> Run:
    """The true mean difference lies outside the 95% interval."""

    def run(repeats: int, random: Random) -> Floats:
        missed = np.zeros(repeats)
        for i in range(repeats):
            low, high = pair_gaps([changes(random, n, share, spread, shift)], False).limits(0.95)
            missed[i] = low[0] > share * shift or high[0] < share * shift
        return missed

    return run


def nothing_said(n: int, share: float) -> Run:
    """Too few changes, so that the row has a reason in place of limits."""

    def run(repeats: int, random: Random) -> Floats:
        told = [pair_gaps([changes(random, n, share, 1.5, 0.0)], False).defined[0] for _ in range(repeats)]
        return 1.0 - np.array(told, dtype=float)

    return run


def paired_t(n: int, share: float, shift: float) -> Run:
    """The same draws by the paired t test."""

    def run(repeats: int, random: Random) -> Floats:
        drawn = (changes(random, n, share, 0.0, shift) for _ in range(repeats))
        return np.array([stats.ttest_1samp(pairs.first, 0.0).pvalue <= 0.05 for pairs in drawn], dtype=float)

    return run


def _shape(spread: float) -> str:
    return f"lognormal({spread:g}) less its mean" if spread else "normal"


def _of_changes() -> list[Cell]:
    """A grid of pairs, shares that change and shapes of the change; the corners off zero; power and its price."""
    found = []
    for n, share, spread in product((30, 60, 200, 1000), (0.02, 0.05, 0.2, 1.0), (0.0, 1.0, 1.5)):
        known = (n, share) in ((200, 0.05), (60, 0.2), (1000, 0.02), (30, 0.2))
        design = f"{n:,} pairs, {100 * share:g}% change, {_shape(spread)}"
        found.append(
            Cell("certify", f"pairs that change, no gap: {design}", design, "size",
                 found_of_changes(n, share, spread), short=400 if known and spread == 1.5 else 0, long=2000)
        )  # fmt: skip
    for n, share, spread, shift in product((60, 200), (0.2, 0.5), (1.0, 1.5), (1.0, -2.0)):
        design = f"{n} pairs, {100 * share:g}% change, {_shape(spread)}, moved by {shift:g}"
        found.append(
            Cell("certify", f"pairs that change, 95% interval: {design}", design, "coverage",
                 changes_missed(n, share, spread, shift), short=400 if (n, share) == (200, 0.2) else 0, long=2000)
        )  # fmt: skip
    return found


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
    *_of_changes(),
    Cell("certify", "pairs that change, how often nothing is said", "200 pairs, 5% change: fewer than six changes",
         "size", nothing_said(200, 0.05), worst=0.1, short=400, long=4000),
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
    Cell("certify", "power, pairs of normal differences", "60 pairs, all change, 0.4 of the spread", "power",
         found_of_changes(60, 1.0, 0.0, 0.4), nominal=0.7, rival=paired_t(60, 1.0, 0.4), rival_name="paired t",
         short=400, long=2000),
    Cell("certify", "power, half of the pairs change", "60 pairs, 50% change, normal, 0.6 of the spread", "power",
         found_of_changes(60, 0.5, 0.0, 0.6), nominal=0.7, rival=paired_t(60, 0.5, 0.6), rival_name="paired t",
         short=400, long=2000),
    Cell("certify", "power, one pair in five changes", "60 pairs, 20% change, normal, 0.8 of the spread", "power",
         found_of_changes(60, 0.2, 0.0, 0.8), nominal=0.35, rival=paired_t(60, 0.2, 0.8), rival_name="paired t",
         loses="a dozen changes may hide a skewness that the paired t test takes no heed of", short=400, long=2000),
]  # fmt: skip
