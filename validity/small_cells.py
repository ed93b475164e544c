"""Small groups: does each promise hold in every cell, on the list, for the number beyond, for the spread, for ranks?

Exact lines enumerate every count of a cell while the other cells stay as they were drawn, which is how the interval is
made; the others draw all cells. The rivals are what shrinkage tools print, and what is read off a list unguarded.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special, stats

from inside.inference import (
    BeyondWhat,
    BorrowedPrior,
    Floats,
    SpreadCells,
    at_least,
    beyond_p_values,
    opposite_limits,
    own_error,
    rank_limits,
)
from validity.board import Cell

Random = np.random.Generator
Run = Callable[[int, Random], np.ndarray]
SIZES = np.array(
    [1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 29, 40, 60, 90, 150, 400, 1500], dtype=float
)
SMALL = SIZES < 30
LISTED = 5


def _spread_out(base: float, width: float) -> Floats:
    """Normal quantiles on the log-odds, dealt so that sizes and rates have nothing to do with each other."""
    order = (np.arange(SIZES.size) * 7) % SIZES.size
    normal = stats.norm.ppf((order + 0.5) / SIZES.size)
    return np.asarray(special.expit(special.logit(base) + width * normal))


def _apart(base: float, places: dict[int, float]) -> Floats:
    rates = np.full(SIZES.size, base)
    for place, rate in places.items():
        rates[place] = rate
    return rates


DESIGNS: dict[str, Floats] = {
    "alike at 30%": _apart(0.3, {}),
    "normal about 30%": _spread_out(0.3, 0.6),
    "one cell of 12 people at 85%, the others at 10%": _apart(0.1, {12: 0.85}),
    "four cells at 60%, the others at 20%": _apart(0.2, {4: 0.6, 11: 0.6, 15: 0.6, 20: 0.6}),
    "rare and skewed": _apart(0.02, {3: 0.2, 9: 0.1, 14: 0.15, 19: 0.08}),
    "large cells low, small ones high": special.expit(special.logit(0.6) - 0.5 * np.log(SIZES)),
}
# every cell but the largest lies at the edge of the tolerance, so none is beyond it
AT_THE_EDGE = _apart(0.35, {SIZES.size - 1: 0.35 - 0.0499999 * SIZES.sum() / SIZES[-1]})
FAR = "one cell of 12 people at 85%, the others at 10%"


def draw(rates: Floats, random: Random) -> Floats:
    return random.binomial(SIZES.astype(int), rates).astype(float)


# -- each cell's rate ----------------------------------------------------------------------------------------------


def exact_errors(limits: Callable[[Floats, Floats, int], tuple[float, float]]) -> Run:
    """Chances that a cell's interval misses, for cells of all small sizes and 99 rates of each; the others as drawn."""
    return lambda _, random: np.concatenate(
        [_missed(limits, draw(rates, random)) for rates in DESIGNS.values()]
    )


def _missed(limits: Callable[[Floats, Floats, int], tuple[float, float]], others: Floats) -> Floats:
    found = []
    grid = np.arange(1, 100) / 100.0
    for place in (0, 2, 4, 7, 10, 12, 15, 17):
        n = int(SIZES[place])
        positives = np.tile(others, (n + 1, 1))
        positives[:, place] = np.arange(n + 1)
        ends = np.array([limits(SIZES, row, place) for row in positives])
        chance = stats.binom.pmf(np.arange(n + 1)[:, None], n, grid)
        missed = (grid < ends[:, :1] - 1e-9) | (grid > ends[:, 1:] + 1e-9)
        found.append((chance * missed).sum(axis=0))
    return np.concatenate(found)


def borrowing(sizes: Floats, positives: Floats, place: int) -> tuple[float, float]:
    only = np.arange(sizes.size) == place
    low, high = BorrowedPrior(sizes, positives).limits(0.05, only)
    return float(low[place]), float(high[place])


def empirical_bayes(sizes: Floats, positives: Floats, place: int) -> tuple[float, float]:
    """The beta prior fitted to all cells, plugged in: the interval that shrinkage tools print."""
    a, b = _fitted(sizes, positives)
    shape = a + positives[place], b + sizes[place] - positives[place]
    return float(stats.beta.ppf(0.025, *shape)), float(stats.beta.ppf(0.975, *shape))


def _fitted(sizes: Floats, positives: Floats) -> tuple[float, float]:
    """The most likely of a grid of beta priors."""
    mean = special.expit(np.arange(-40, 41) / 8.0)
    strength = np.exp(np.linspace(0.0, 6.0, 25))
    a, b = np.outer(mean, strength).ravel(), np.outer(1.0 - mean, strength).ravel()
    told = special.betaln(a + positives[:, None], b + (sizes - positives)[:, None]) - special.betaln(a, b)
    best = int(told.sum(axis=0).argmax())
    return float(a[best]), float(b[best])


# -- gaps, the list, ranks -----------------------------------------------------------------------------------------


def _true_gaps(rates: Floats) -> Floats:
    """Of each cell to the rest."""
    people = SIZES.sum() - SIZES
    return np.asarray(rates - ((SIZES * rates).sum() - SIZES * rates) / people)


def gap_errors(rates: Floats, place: int | None = None, *, ratio: bool = False) -> Run:
    """The share of small cells whose gap to the rest is missed, or whether one cell's is."""
    gaps = _true_gaps(rates)
    truth = rates / (rates - gaps) if ratio else gaps
    asked = SMALL if place is None else np.arange(SIZES.size) == place

    def one(random: Random) -> float:
        s = draw(rates, random)
        low, high = BorrowedPrior(SIZES, s).limits(own_error(0.05), asked)
        rest_low, rest_high = opposite_limits(SIZES.sum() - SIZES, s.sum() - s, 0.05)
        least, most = (low / rest_high, high / rest_low) if ratio else (low - rest_high, high - rest_low)
        missed = (truth < least) | (truth > most)
        return float(missed[asked].mean())

    return _repeated(one)


def list_errors(rates: Floats, *, own_level: bool) -> Run:
    """The share of missed rates among the five furthest; with the list's own level, or read off at 95%."""

    def one(random: Random) -> float:
        s = draw(rates, random)
        prior = BorrowedPrior(SIZES, s)
        furthest = np.argsort(-np.abs(prior.estimates() - s.sum() / SIZES.sum()))[:LISTED]
        error = LISTED * 0.05 / SIZES.size if own_level else 0.05
        low, high = prior.limits(error, np.isin(np.arange(SIZES.size), furthest))
        missed = (rates < low) | (rates > high)
        return float(missed[furthest].mean())

    return _repeated(one)


def unguarded_list(rates: Floats) -> Run:
    """The five highest raw rates with the interval each would have alone by empirical Bayes."""

    def one(random: Random) -> float:
        s = draw(rates, random)
        highest = np.argsort(-s / SIZES, kind="stable")[:LISTED]
        a, b = _fitted(SIZES, s)
        shape = a + s[highest], b + SIZES[highest] - s[highest]
        low, high = stats.beta.ppf(0.025, *shape), stats.beta.ppf(0.975, *shape)
        return float(((rates[highest] < low) | (rates[highest] > high)).mean())

    return _repeated(one)


def rank_errors(rates: Floats) -> Run:
    """Whether any cell's true rank (ties give every rank they can have) lies outside its limits."""
    best_true = 1 + (rates[None, :] > rates[:, None]).sum(axis=1)
    worst_true = rates.size - (rates[None, :] < rates[:, None]).sum(axis=1)

    def one(random: Random) -> float:
        best, worst = rank_limits(SIZES, draw(rates, random), 0.95)
        return float(((best > best_true) | (worst < worst_true)).any())

    return _repeated(one)


# -- the number beyond ---------------------------------------------------------------------------------------------


def number_errors(rates: Floats, side: str, *, selected: bool = False) -> Run:
    """Whether the number said is above the true one: of all cells, or of any of the furthest chosen after looking."""
    everyone = float(SIZES @ rates / SIZES.sum())
    gaps = rates - everyone
    beyond = (gaps if side == "above" else np.abs(gaps)) > 0.05

    def one(random: Random) -> float:
        s = draw(rates, random)
        p = beyond_p_values(SIZES, s, (float(s.sum()), float(SIZES.sum())), _what(side), 0.05)
        if not selected:
            return float(at_least(p, np.ones(p.size, dtype=bool), 0.05) > beyond.sum())
        order = np.argsort(p)
        chosen = (np.isin(np.arange(p.size), order[:k]) for k in range(1, p.size + 1))
        return float(any(at_least(p, among, 0.05) > (beyond & among).sum() for among in chosen))

    return _repeated(one)


def counted_p_values(rates: Floats) -> Run:
    """The cells with a p-value under 5%, taken for a number that are beyond."""
    true = int((rates - float(SIZES @ rates / SIZES.sum()) > 0.05).sum())

    def one(random: Random) -> float:
        s = draw(rates, random)
        edge = s.sum() / SIZES.sum() + 0.05
        p = np.asarray(stats.binom.sf(s - 1, SIZES, edge))
        return float(np.count_nonzero(p < 0.05) > true)

    return _repeated(one)


def _what(side: str) -> BeyondWhat:
    return BeyondWhat(side, -0.05, 0.05)  # type: ignore[arg-type]


def overlapping_errors(rates: Floats) -> Run:
    """The same for cells and the unions of each two and three of them side by side, which share people: above only."""
    unions = [np.eye(SIZES.size)]
    unions += [np.array([np.roll(np.eye(SIZES.size)[0] * 0 + (np.arange(SIZES.size) < k), i)
                         for i in range(SIZES.size)]) for k in (2, 3)]  # fmt: skip
    member = np.concatenate(unions)
    sizes = member @ SIZES
    everyone = float(SIZES @ rates / SIZES.sum())
    beyond = member @ (SIZES * rates) / sizes - everyone > 0.05

    def one(random: Random) -> float:
        s = draw(rates, random)
        p = beyond_p_values(sizes, member @ s, (float(s.sum()), float(SIZES.sum())), _what("above"), 0.05)
        return float(at_least(p, np.ones(p.size, dtype=bool), 0.05) > beyond.sum())

    return _repeated(one)


# -- the spread ----------------------------------------------------------------------------------------------------


def _true_spread(sizes: Floats, rates: Floats) -> float:
    share = sizes / sizes.sum()
    return float(np.sqrt(share @ (rates - share @ rates) ** 2))


def spread_errors(rates: Floats, *, small: bool) -> Run:
    """Whether the interval misses the true spread of the cells of two or more: a tail under 2.5% there."""
    asked = (SIZES >= 2) & (SMALL if small else True)
    truth = _true_spread(SIZES[asked], rates[asked])

    def one(random: Random) -> float:
        tails = SpreadCells(SIZES[asked], draw(rates, random)[asked]).tails(truth)
        return float(min(tails) <= 0.025)

    return _repeated(one)


def tolerated_errors(rates: Floats) -> Run:
    """Whether more than the true spread of the small cells is said to be shown."""
    asked = (SIZES >= 2) & SMALL
    truth = _true_spread(SIZES[asked], rates[asked])
    return _repeated(
        lambda random: float(SpreadCells(SIZES[asked], draw(rates, random)[asked]).p_at_most(truth) <= 0.05)
    )


def none_errors(rate: float) -> Run:
    """Whether a spread is shown by permutation where all small cells are alike."""
    asked = (SIZES >= 2) & SMALL
    rates = np.full(SIZES.size, rate)
    return _repeated(
        lambda random: float(SpreadCells(SIZES[asked], draw(rates, random)[asked]).p_none() <= 0.05)
    )


def pearson_errors(rate: float) -> Run:
    """The same by Pearson's chi-square."""
    asked = (SIZES >= 2) & SMALL
    n = SIZES[asked]

    def one(random: Random) -> float:
        s = draw(np.full(SIZES.size, rate), random)[asked]
        pooled = s.sum() / n.sum()
        if pooled in (0.0, 1.0):
            return 0.0
        value = ((s - n * pooled) ** 2 / (n * pooled * (1 - pooled))).sum()
        return float(stats.chi2.sf(value, n.size - 1) <= 0.05)

    return _repeated(one)


def _printed(name: str) -> tuple[str, ...]:
    """The limits in flag's table and in that of the small groups."""
    return tuple(f"flag.{table}{name}_{end}" for table in ("", "small_groups.") for end in ("low", "high"))


def _repeated(one: Callable[[Random], float]) -> Run:
    return lambda repeats, random: np.array([one(random) for _ in range(repeats)])


def _line(name: str, design: str, claim: str, run: Run, **more: object) -> Cell:
    settings = {"short": 400, "long": 2000} | more
    settings["whole_analysis"] = int(str(settings["long"])) < 2000
    return Cell("flag", f"small groups, {name}", design, claim, run, **settings)  # type: ignore[arg-type]


_ROUGH = "approximate: 10% at most"
_SHAPE = "24 cells of 1 to 1,500 people"
_ENUMERATED = "cells of 1 to 29 people, every count and 99 rates, beside 23 others, six designs"

FLAG: list[Cell] = [
    _line("each rate", _ENUMERATED, "coverage", exact_errors(borrowing), exact=True, worst=0.05 + 1e-9,
          covers=_printed("rate")),
    _line("each rate by empirical Bayes", _ENUMERATED, "coverage", exact_errors(empirical_bayes), exact=True,
          worst=0.05 + 1e-9, variant="paper", counterpart="small groups, each rate"),
    _line("gaps to the rest", f"{_SHAPE}, normal about 30%", "coverage", gap_errors(DESIGNS["normal about 30%"]),
          ),
    _line("gap of the outlier", f"{_SHAPE}, {FAR}", "coverage", gap_errors(DESIGNS[FAR], 12), long=1000,
          covers=_printed("difference")[2:]),
    _line("ratio of the outlier", f"{_SHAPE}, {FAR}", "coverage", gap_errors(DESIGNS[FAR], 12, ratio=True), long=1000,
          covers=_printed("ratio")[2:]),
    *(
        _line(f"list of the furthest: {name}", f"{_SHAPE}, {name}", "coverage",
              list_errors(DESIGNS[name], own_level=True), covers=_printed("furthest"))
        for name in ("alike at 30%", "normal about 30%", "rare and skewed")
    ),
    _line("list without a level of its own", f"{_SHAPE}, rare and skewed", "coverage",
          unguarded_list(DESIGNS["rare and skewed"]), variant="paper",
          counterpart="small groups, list of the furthest: rare and skewed"),
    *(
        _line(f"number beyond, {side}: {name}", f"{_SHAPE}, {name}, 5 points tolerated", "false claims",
              number_errors(DESIGNS[name], side), long=2000)
        for name, side in (
            ("alike at 30%", "above"), ("normal about 30%", "outside"), ("rare and skewed", "above"),
            ("large cells low, small ones high", "above"),
        )
    ),
    _line("number beyond, all at the edge", f"{_SHAPE}, all but the largest exactly 5 points above everyone",
          "false claims", number_errors(AT_THE_EDGE, "above"), long=4000),
    _line("number beyond, chosen after looking", f"{_SHAPE}, four cells at 60%, the others at 20%: every first few",
          "false claims", number_errors(DESIGNS["four cells at 60%, the others at 20%"], "above", selected=True),
          long=1000),
    _line("number beyond, groups that share people", "24 cells and unions of 2 and 3, all but the largest at the edge",
          "false claims", overlapping_errors(AT_THE_EDGE), long=2000),
    _line("number of p-values under 5%", f"{_SHAPE}, alike at 30%, 5 points tolerated", "false claims",
          counted_p_values(_apart(0.3, {})), long=2000, variant="paper",
          counterpart="small groups, number beyond, above: alike at 30%"),
    *(
        _line(f"spread of {'small' if small else 'all'}: {name}", f"{_SHAPE}, {name} ({_ROUGH})", "coverage",
              spread_errors(DESIGNS[name], small=small), worst=0.1,
              covers=tuple(f"flag.small.tables.{'small.' if small else ''}spread.{end}" for end in ("low", "high")))
        for name, small in (
            ("normal about 30%", True), ("normal about 30%", False), ("four cells at 60%, the others at 20%", True),
            ("large cells low, small ones high", False),
        )
    ),
    _line("spread beyond the tolerated one", f"{_SHAPE}, normal about 30%, the true spread tolerated", "size",
          tolerated_errors(DESIGNS["normal about 30%"]),
          covers=("flag.small.tables.spread.p_tolerated", "flag.small.tables.small.spread.p_tolerated")),
    _line("no spread, 2%", "16 cells of 2 to 29 people, all at 2%", "size", none_errors(0.02),
          covers=("flag.small.tables.spread.p_none", "flag.small.tables.small.spread.p_none")),
    _line("no spread, 30%", "16 cells of 2 to 29 people, all at 30%", "size", none_errors(0.3)),
    _line("no spread by Pearson's chi-square", "16 cells of 2 to 29 people, all at 2%", "size", pearson_errors(0.02),
          long=2000, variant="paper", counterpart="small groups, no spread, 2%"),
    _line("ranks", f"{_SHAPE}, normal about 30%", "coverage", rank_errors(DESIGNS["normal about 30%"]), long=4000),
]  # fmt: skip
