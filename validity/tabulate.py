"""Do the exact p-values, odds ratios and ratios of the field's tables hold their level, down to a few people?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

from inside.inference import (
    Atoms,
    Comparison,
    StrataGaps,
    TwoRateLaw,
    TwoRates,
    exact_p,
    holm,
    make_gaps,
    median_gap,
    median_of,
    odds_limits,
    pooled,
    rate_interval,
    ratio_to_highest,
)
from validity.board import Cell

Run = Callable[[int, np.random.Generator], np.ndarray]
RATES = (0.05, 0.2, 0.5, 0.8, 0.95)
ALL = ("rate", "difference", "ratio", "basis_points", "unadjusted", "unadjusted_ratio")


def _covers(*names: str) -> tuple[str, ...]:
    """The limits of these numbers."""
    return tuple(f"tabulate.{name}_{end}" for name in names for end in ("low", "high"))


def _tables(*sizes: int) -> list[np.ndarray]:
    """Every possible count of events in groups of these sizes, one column each."""
    return [column.astype(float) for column in np.array(list(product(*(range(n + 1) for n in sizes)))).T]


def _weights(counts: Sequence[np.ndarray], sizes: Sequence[int], rates: Sequence[float]) -> np.ndarray:
    parts = [stats.binom.pmf(k, n, p) for k, n, p in zip(counts, sizes, rates, strict=True)]
    return np.asarray(np.prod(parts, axis=0))


def fisher_size(strata: Sequence[tuple[int, int]]) -> Run:
    """The exact size of the exact test over strata, whose rates differ."""
    sizes = [n for pair in strata for n in pair]

    def run(repeats: int, generator: np.random.Generator) -> np.ndarray:
        counts = _tables(*sizes)
        first, second = np.array(counts[0::2]), np.array(counts[1::2])
        people = [np.array([pair[side] for pair in strata], dtype=float) for side in (0, 1)]
        found = np.array([
            exact_p(TwoRates(first[:, i], people[0], second[:, i], people[1])) for i in range(counts[0].size)
        ]) <= 0.05  # fmt: skip
        designs = [[p, *[min(0.95, p + 0.1 * s) for s in range(1, len(strata))]] for p in RATES]
        return np.array([
            _weights(counts, sizes, [p for p in rates for _ in (0, 1)])[found].sum() for rates in designs
        ])  # fmt: skip

    return run


def odds_missed(n1: int, n2: int) -> Run:
    """How often the exact conditional limits miss the odds ratio, over pairs of rates."""

    def run(repeats: int, generator: np.random.Generator) -> np.ndarray:
        counts = _tables(n1, n2)
        size = np.array([float(n1)]), np.array([float(n2)])
        ends = np.array([
            odds_limits(TwoRates(np.array([a]), size[0], np.array([b]), size[1]), 0.95)
            for a, b in zip(*counts, strict=True)
        ]).T  # fmt: skip
        missed = []
        for p1, p2 in product(RATES, RATES):
            truth = p1 * (1 - p2) / ((1 - p1) * p2)
            outside = (ends[0] > truth * (1 + 1e-9)) | (ends[1] < truth * (1 - 1e-9))
            missed.append(_weights(counts, (n1, n2), (p1, p2))[outside].sum())
        return np.array(missed)

    return run


def ratio_missed(n1: int, n2: int, highest: bool = False) -> Run:
    """How often the limits of a ratio miss it; those to the highest rate, or to a named target."""

    def run(repeats: int, generator: np.random.Generator) -> np.ndarray:
        k1, k2 = _tables(n1, n2)
        there = k2 > 0 if not highest else (k1 + k2) > 0
        low, high = np.zeros(k1.size), np.full(k1.size, np.inf)
        law = TwoRateLaw(
            TwoRates(k1[there], np.full(there.sum(), n1), k2[there], np.full(there.sum(), n2)), "ratio"
        )
        low[there], high[there] = law.limits(0.95)
        if highest:
            ends = np.array([
                [side[0] for side in ratio_to_highest(np.array([a, b]), np.array([n1, n2], dtype=float), 0.95)[1:]]
                for a, b in zip(k1[there], k2[there], strict=True)
            ]).T  # fmt: skip
            low[there], high[there] = ends
        missed = []
        for p1, p2 in product(RATES, RATES):
            truth = min(1.0, p1 / p2) if highest else p1 / p2
            outside = there & ((low > truth + 1e-9) | (high < truth - 1e-9))
            missed.append(_weights((k1, k2), (n1, n2), (p1, p2))[outside].sum())
        return np.array(missed)

    return run


def rate_missed(n: int) -> Run:
    """How often the limits of a single rate miss it."""

    def run(repeats: int, generator: np.random.Generator) -> np.ndarray:
        k = np.arange(n + 1.0)
        low, high = rate_interval(k, np.full(n + 1, float(n)), 0.95)
        return np.array(
            [stats.binom.pmf(k, n, p)[(low > p) | (high < p)].sum() for p in np.linspace(0.02, 0.98, 97)]
        )

    return run


def at_the_samples_quantile(part: float) -> Run:
    """The ratio among the best scores, with a cut-off that is itself a quantile of the sample's scores."""
    shift, n1, n2 = 0.4, 80, 160
    # the population's cut-off, at which a share of `part` of everyone lies above
    grid = np.linspace(-5, 6, 20001)
    share = (n1 * stats.norm.sf(grid) + n2 * stats.norm.sf(grid - shift)) / (n1 + n2)
    cutoff = float(np.interp(-part, -share, grid))
    truth = stats.norm.sf(cutoff) / stats.norm.sf(cutoff - shift)

    def run(repeats: int, generator: np.random.Generator) -> np.ndarray:
        first = generator.normal(size=(repeats, n1))
        second = generator.normal(shift, size=(repeats, n2))
        cut = np.quantile(np.hstack([first, second]), 1 - part, axis=1, keepdims=True)
        k1, k2 = (first >= cut).sum(axis=1).astype(float), (second >= cut).sum(axis=1).astype(float)
        low, high = TwoRateLaw(TwoRates(k1, np.full(repeats, n1), k2, np.full(repeats, n2)), "ratio").limits(
            0.95
        )
        return np.asarray((low > truth) | (high < truth), dtype=float)

    return run


# what pay looks like: symmetric, skewed, rounded to a few steps, two trades, and a tenth at a minimum
PAY: dict[str, tuple[Callable[[np.random.Generator, int], np.ndarray], float]] = {
    "normal": (lambda g, n: g.normal(10.0, 1.0, n), 10.0),
    "lognormal(1)": (lambda g, n: g.lognormal(2.0, 1.0, n), math.exp(2.0)),
    "rounded": (lambda g, n: np.round(g.lognormal(1.0, 0.7, n)) + 1.0, 4.0),
    "two trades": (lambda g, n: g.normal(10.0, 0.5, n) + g.choice([-2.0, 2.0], n), 10.0),
    "a third at the minimum": (lambda g, n: np.maximum(g.normal(10.0, 1.0, n), 9.6), 10.0),
}


def median_missed(pay: str, sizes: tuple[int, int], scale: str) -> Run:
    """How often limits of a gap of medians miss none; `scale` "rate" is one median alone."""
    draw, truth = PAY[pay]

    def run(repeats: int, generator: np.random.Generator) -> np.ndarray:
        missed = []
        for _ in range(repeats):
            first, second = (median_of(draw(generator, n), 0.95) for n in sizes)
            gap = first if scale == "rate" else median_gap(first, second, scale)
            at = {"rate": truth, "difference": 0.0, "ratio": 1.0}[scale]
            missed.append(gap.low > at + 1e-9 or gap.high < at - 1e-9)
        return np.array(missed, dtype=float)

    return run


def median_found(sizes: tuple[int, int], own: bool) -> Run:
    """How often a gap of half a deviation is seen: by the limits of medians, or by Mood's exact test."""

    def run(repeats: int, generator: np.random.Generator) -> np.ndarray:
        found = []
        for _ in range(repeats):
            first, second = generator.normal(0.5, 1.0, sizes[0]), generator.normal(0.0, 1.0, sizes[1])
            if own:
                gap = median_gap(median_of(first, 0.95), median_of(second, 0.95))
                found.append(gap.low > 0 or gap.high < 0)
                continue
            middle = np.median(np.concatenate([first, second]))
            above = [int((side > middle).sum()) for side in (first, second)]
            table = np.array([above, [sizes[0] - above[0], sizes[1] - above[1]]])
            found.append(stats.fisher_exact(table).pvalue <= 0.05)
        return np.array(found, dtype=float)

    return run


def against_the_best(named: bool) -> Run:
    """Four groups of equal rates: any group's exact p at most .05 after Holm, against the first or the highest one."""
    people = np.array([40, 60, 50, 80])

    def run(repeats: int, generator: np.random.Generator) -> np.ndarray:
        events = generator.binomial(people, 0.3, size=(repeats, 4)).astype(float)
        found = np.zeros(repeats)
        for i, own in enumerate(events):
            best = 0 if named else int(np.argmax(own / people))
            others = [j for j in range(4) if j != best]
            p = [_one(own[j], people[j], own[best], people[best]) for j in others]
            found[i] = (min(p) if not named else float(np.min(holm(p)))) <= 0.05
        return found

    return run


def pooled_found(exact: bool) -> Run:
    """Six requisitions of 10 and 15 people, 20 points apart: found by the exact p, or without continuity."""
    sizes = np.full(6, 10.0), np.full(6, 15.0)
    rate = np.array([0.3, 0.4, 0.5, 0.5, 0.6, 0.7])

    def run(repeats: int, generator: np.random.Generator) -> np.ndarray:
        found = np.zeros(repeats)
        for i in range(repeats):
            k1, k2 = generator.binomial(10, rate - 0.2), generator.binomial(15, rate)
            table = TwoRates(k1.astype(float), sizes[0], k2.astype(float), sizes[1])
            p = exact_p(table) if exact else 2 * stats.norm.sf(abs(pooled(table).deviations))
            found[i] = p <= 0.05
        return found

    return run


def _one(k1: float, n1: int, k2: float, n2: int) -> float:
    return exact_p(TwoRates(*(np.array([float(value)]) for value in (k1, n1, k2, n2))))


def record_beyond(edge: float) -> Run:
    """Three entries of a record at the edge of their threshold: any shown beyond it, after Holm."""

    def run(repeats: int, generator: np.random.Generator) -> np.ndarray:
        p = []
        for rate in (0.2, 0.5, 0.7):
            k1, k2 = generator.binomial(150, rate + edge, repeats), generator.binomial(300, rate, repeats)
            count = np.concatenate([np.full(repeats, 150.0), np.full(repeats, 300.0)])
            mean = np.concatenate([k1 / 150, k2 / 300])
            atoms = Atoms(count, mean, count * mean * (1 - mean), True)
            member = np.hstack([np.eye(repeats, dtype=bool), np.zeros((repeats, repeats), dtype=bool)])
            gaps = make_gaps(atoms, Comparison(member, np.roll(member, repeats, axis=1)))
            p.append(gaps.p_inside(-edge, edge))
        return np.array([holm(list(row)).min() <= 0.05 for row in np.array(p).T], dtype=float)

    return run


def strata_differ() -> Run:
    """The gap is the same in all strata: p of 'it differs' at most .05."""

    def run(repeats: int, generator: np.random.Generator) -> np.ndarray:
        found = np.zeros(repeats)
        stratum = np.repeat(np.arange(4), 2)
        member = np.array([[True, False] * 4])
        count = np.array([40.0, 80.0] * 4)
        rates = np.array([0.2, 0.3, 0.3, 0.4, 0.4, 0.5, 0.5, 0.6])
        for i in range(repeats):
            mean = generator.binomial(count.astype(int), rates) / count
            atoms = Atoms(count, mean, count * mean * (1 - mean), True)
            found[i] = (
                StrataGaps.of(atoms, Comparison(member, ~member), stratum).heterogeneity.p_value[0] <= 0.05
            )
        return found

    return run


def _cell(name: str, design: str, run: Run, claim: Any, *covers: str, **more: Any) -> Cell:
    return Cell("tabulate", name, design, claim, run, covers=covers, **more)


FOUR_GROUPS = "four groups of 40 to 80 people, all rates .3: any exact p at most .05"
GAPS = _covers(
    *ALL
)  # they are those of measure, certify and flag, whose own lines hold them at many more designs
CELLS: list[Cell] = [
    _cell("exact p, one pool of 12 and 30", "5 rates .05 to .95", fisher_size([(12, 30)]), "size",
          "tabulate.fisher_p", exact=True),
    _cell("exact p, two requisitions of 5:7 and 4:8", "rates .05 to .95, 10 points apart",
          fisher_size([(5, 7), (4, 8)]), "size", "tabulate.fisher_p", exact=True),
    _cell("odds ratio, 8 and 20 people", "25 pairs of rates .05 to .95", odds_missed(8, 20), "coverage",
          *_covers("odds_ratio"), exact=True),
    _cell("ratio to a target, 5 and 40 people", "25 pairs of rates .05 to .95", ratio_missed(5, 40), "coverage",
          *GAPS, exact=True),
    _cell("ratio to a target, 12 and 25 people", "25 pairs of rates .05 to .95", ratio_missed(12, 25), "coverage",
          *GAPS, exact=True),
    _cell("impact ratio, 8 and 28 people", "25 pairs of rates .05 to .95", ratio_missed(8, 28, highest=True),
          "coverage", *_covers("impact_ratio"), exact=True),
    _cell("rate of 8 people", "97 rates .02 to .98", rate_missed(8), "coverage", *_covers("rate"), exact=True),
    *[
        _cell(f"ratio among the best {part:.0%}", "80 and 160 people, normal scores, cut-off from the sample",
              at_the_samples_quantile(part), "coverage", *_covers("ratio"), short=400 if part == 0.2 else 0)
        for part in (0.1, 0.2, 0.5)
    ],
    *[
        _cell(f"median {'alone' if scale == 'rate' else scale}, {sizes[0]} and {sizes[1]} people, pay {pay}",
              "equal medians, 95% limits", median_missed(pay, sizes, scale), "coverage", *_covers(scale),
              short=400 if sizes == (15, 60) else 0)
        for pay in PAY for sizes in ((8, 200), (15, 60), (40, 40), (300, 300))
        for scale in ("rate", "difference", "ratio")
    ],
    *[
        _cell(f"median difference, power at {sizes[0]} and {sizes[1]} people", "half a deviation apart, normal",
              median_found(sizes, True), "power", nominal=nominal, rival=median_found(sizes, False),
              rival_name="Mood's test, exact")
        for sizes, nominal in (((40, 40), 0.25), ((150, 150), 0.8))
    ],
    _cell("exact p against a named group, adjusted", FOUR_GROUPS, against_the_best(named=True), "size",
          "tabulate.fisher_p_adjusted"),
    Cell("tabulate", "exact p against the highest rate seen", FOUR_GROUPS, "size", against_the_best(named=False),
         variant="paper", counterpart="exact p against a named group, adjusted"),
    _cell("exact p over requisitions, power", "six requisitions of 10 and 15 people, 20 points apart",
          pooled_found(True), "power", nominal=0.5, rival=pooled_found(False),
          rival_name="Cochran–Mantel–Haenszel, no correction"),
    _cell("record: beyond the threshold at its edge", "three entries, 150 and 300 people, gap 5 points",
          record_beyond(0.05), "size", "tabulate.p_value", "tabulate.p_adjusted"),
    _cell("strata differ", "four strata of 40 and 80, the same gap in each", strata_differ(), "size",
          "tabulate.heterogeneity_p"),
]  # fmt: skip
