"""Validity cells of explain: do contributions' intervals cover and do the tests hold their level?

What is checked runs through the package's own code, on people whose true contributions are known exactly.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from inside.explain import (
    ComparedGroups,
    Spread,
    add_error,
    b_sequence,
    baseline_of,
    coefficients,
    compare_groups,
    contributions,
    estimates_of,
    gap_tests,
    interval,
    monte_carlo_error,
    pair_targets,
    paper_interval,
    sample_coalitions,
    sampled_coefficients,
)
from inside.inference import Atoms, holm
from validity.board import Cell
from validity.explain_background import CELLS as BACKGROUND
from validity.explain_designs import (
    BASELINE,
    LEVEL,
    Run,
    Shape,
    all_coefficients,
    all_targets,
    draw,
    form_of,
    population,
    truth_of,
)
from validity.explain_few import CELLS as FEW
from validity.explain_few import EVERY
from validity.explain_more import CELLS as OTHERS
from validity.printed_numbers import printed
from validity.whole_functions import lines


def _coverage(sizes: tuple[int, int], shape: Shape, target: slice, values: slice) -> Run:
    """Share of (target, value, feature) whose interval misses the truth, per repeat."""

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        people = population(4)
        truth = truth_of(people, shape, sizes)
        stacked, targets = all_coefficients(people.features), all_targets()
        missed = np.empty(repeats)
        for r in range(repeats):
            kinds, group = draw(people, sizes, shape, random)
            form = form_of(shape, people.outcome[kinds])
            found = contributions(people.decisions[kinds], form, group, 2, stacked, targets)
            ours = estimates_of(found, EVERY, LEVEL, found.with_quarter_rows())
            low, high = ours.low, ours.high
            outside = (truth < low - 1e-9) | (truth > high + 1e-9)
            missed[r] = outside[target, values].mean()
        return missed

    return run


def _prior_coverage(sizes: tuple[int, int]) -> Run:
    """Gap contributions over an estimated baseline, the share of people with the outcome."""

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        people = population(4)
        prior = float((people.share @ people.outcome * np.array(sizes)).sum() / sum(sizes))
        truth = truth_of(people, "tpr", sizes)[2, 0] * BASELINE / prior
        stacked, targets = all_coefficients(people.features), all_targets()
        missed = np.empty(repeats)
        for r in range(repeats):
            kinds, group = draw(people, sizes, "ppv", random)  # everybody, not only people with the outcome
            y = people.outcome[kinds]
            found = contributions(people.decisions[kinds], form_of("tpr", y), group, 2, stacked, targets)
            base, moved = baseline_of(form_of("tpr", y), float(y.mean()), (y - y.mean()) / y.size)
            scale = base / BASELINE
            ratio = found.estimate[2:3, 0] / scale
            variance = found.scaled_variance(0, slice(2, 3), ratio, moved / BASELINE, group)
            error = Spread(np.sqrt(variance)[:, None] / scale, found.with_quarter_rows().df[2:3, :1])
            ours = estimates_of(found, (slice(2, 3), slice(0, 1)), LEVEL, error, scale)
            low, high = ours.low[0, 0], ours.high[0, 0]
            missed[r] = ((truth < low) | (truth > high)).mean()
        return missed

    return run


def _sampled_coverage(sizes: tuple[int, int], features: int, budget: int) -> Run:
    """Shapley from drawn coalitions: people and coalitions are both drawn anew in every repeat."""

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        people = population(features)
        truth = truth_of(people, "tpr", sizes)[2, 0]
        gap = pair_targets(2, [(0, 1)], np.ones(1), BASELINE)
        missed = np.empty(repeats)
        for r in range(repeats):
            kinds, group = draw(people, sizes, "tpr", random)
            drawn = sample_coalitions(features, budget, random)
            decisions = people.decisions[np.ix_(kinds, drawn.masks)]
            form = form_of("tpr", people.outcome[kinds])
            found = contributions(decisions, form, group, 2, sampled_coefficients(drawn)[None], gap)
            chance = monte_carlo_error(drawn, gap.weights[:, 0] @ found.rates.rate)
            ours = found.with_quarter_rows()
            error = add_error(Spread(ours.error[:, 0], ours.df[:, 0]), chance)
            low, high = interval(found.centre[0, 0], Spread(error.error[0], error.df[0]), LEVEL)
            missed[r] = ((truth < low) | (truth > high)).mean()
        return missed

    return run


def _family(sizes: tuple[int, int], shape: Shape, *, adjust: bool = True) -> Run:
    """No feature contributes to the gap: does Holm flag any? Without it, is any feature starred?"""

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        people = population(4, alike=True)
        stacked = coefficients(b_sequence("shapley", 4))[None]
        gap = pair_targets(2, [(0, 1)], np.ones(1), BASELINE)
        flagged = np.empty(repeats)
        for r in range(repeats):
            kinds, group = draw(people, sizes, shape, random)
            form = form_of(shape, people.outcome[kinds])
            found = contributions(people.decisions[kinds], form, group, 2, stacked, gap)
            p = estimates_of(found, EVERY, LEVEL, found.with_quarter_rows()).p_value[0, 0]
            p = np.nan_to_num(p, nan=1.0)
            flagged[r] = (holm(p) if adjust else p).min() <= 1 - LEVEL
        return flagged

    return run


def _tables(counts: np.ndarray, sizes: tuple[int, ...]) -> tuple[Atoms, np.ndarray]:
    """All repeats' groups as one table of atoms, and each group alone: (repeats, groups) counts of ones."""
    size = np.broadcast_to(np.array(sizes, dtype=float), counts.shape).ravel()
    mean = counts.ravel() / size
    return Atoms(size, mean, size * mean * (1 - mean), True), np.eye(size.size, dtype=bool)


def _first_stage_size(sizes: tuple[int, ...], rate: float) -> Run:
    """Equal rates: how often is equality rejected?"""

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        successes = random.binomial(np.array(sizes), rate, size=(repeats, len(sizes))).astype(float)
        if len(sizes) == 2:
            pairs = [(2 * r, 2 * r + 1) for r in range(repeats)]
            p = [gap.p_value for gap in gap_tests(*_tables(successes, sizes), pairs, LEVEL) if gap]
        else:
            every = list(combinations(range(len(sizes)), 2))
            p = [_all_equal(compare_groups(*_tables(k, sizes), every, LEVEL)) for k in successes]
        return (np.array(p) <= 1 - LEVEL).astype(float)

    return run


def _all_equal(found: ComparedGroups) -> float:
    return 1.0 if found.omnibus is None else found.omnibus.p_value


def _gap_coverage(sizes: tuple[int, int], rates: tuple[float, float], paper: bool) -> Run:
    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        n1, n2 = sizes
        k = random.binomial(np.array(sizes), rates, size=(repeats, 2)).astype(float)
        if paper:
            limits = np.array([paper_interval(a, n1, b, n2, LEVEL) for a, b in k])
        else:
            pairs = [(2 * r, 2 * r + 1) for r in range(repeats)]
            limits = np.array(
                [(gap.low, gap.high) for gap in gap_tests(*_tables(k, sizes), pairs, LEVEL) if gap]
            )
        gap = rates[0] - rates[1]
        return ((gap < limits[:, 0]) | (gap > limits[:, 1])).astype(float)

    return run


_GAP, _VALUES = slice(2, 3), slice(0, 2)
_SHAPLEY, _PANEL = slice(0, 1), slice(1, 5)
_ADULT, _TENTH, _FEW = (2862, 501), (286, 50), (57, 20)
_FIXED = "4 features, classifiers fixed; share of contributions missed"
_ALIKE = "groups alike, 4 features"
_SMALL = (300, 120)
_OF_PANEL = tuple(
    f"explain.panel.{name}_{end}" for name in ("difference", "value") for end in ("low", "high")
)


def _cell(name: str, design: str, run: Run, **more: object) -> Cell:
    claim = more.pop("claim", "coverage")
    return Cell("explain", name, design, claim, run, **more)  # type: ignore[arg-type]


CELLS: list[Cell] = [
    _cell("Shapley gap contributions, tpr, 2862/501", _FIXED, _coverage(_ADULT, "tpr", _GAP, _SHAPLEY)),
    _cell("Shapley gap contributions, tpr, 286/50", _FIXED, _coverage(_TENTH, "tpr", _GAP, _SHAPLEY)),
    _cell("Shapley gap contributions, tpr, 57/20", _FIXED, _coverage(_FEW, "tpr", _GAP, _SHAPLEY)),
    _cell("the other four values' gap contributions, tpr, 286/50", _FIXED, _coverage(_TENTH, "tpr", _GAP, _PANEL),
          covers=_OF_PANEL),
    _cell("the other four values' gap contributions, tpr, 57/20", _FIXED, _coverage(_FEW, "tpr", _GAP, _PANEL)),
    _cell("contributions to both groups' values, tpr, 286/50", _FIXED, _coverage(_TENTH, "tpr", _VALUES, slice(0, 5))),
    _cell("Shapley gap contributions, ppv, 2000/600", _FIXED, _coverage((2000, 600), "ppv", _GAP, _SHAPLEY)),
    _cell("Shapley gap contributions, ppv, 300/120", _FIXED, _coverage(_SMALL, "ppv", _GAP, _SHAPLEY)),
    _cell("the other four values' gap contributions, ppv, 300/120", _FIXED, _coverage(_SMALL, "ppv", _GAP, _PANEL)),
    _cell("contributions to both groups' values, ppv, 300/120", _FIXED, _coverage(_SMALL, "ppv", _VALUES, _SHAPLEY)),
    _cell("estimated baseline, tpr, 700/200 people", _FIXED, _prior_coverage((700, 200))),
    *[
        _cell(f"Shapley from {budget} of {2**features - 1} coalitions, {features} features, {sizes[0]}/{sizes[1]}",
              "coalitions drawn in pairs; Monte-Carlo error added", _sampled_coverage(sizes, features, budget),
              short=short, covers=("explain.monte_carlo",))
        for features, budget, sizes, short in (
            (8, 65, _TENTH, 400), (8, 65, _FEW, 0), (8, 65, _ADULT, 0), (8, 145, _TENTH, 0), (11, 71, _ADULT, 0),
            (11, 151, _ADULT, 0),
        )
    ],
    _cell("no driver flagged, tpr, 286/50", _ALIKE, _family(_TENTH, "tpr"), claim="size",
          covers=("explain.panel.p_value",)),
    _cell("every feature starred by itself, tpr, 286/50", _ALIKE, _family(_TENTH, "tpr", adjust=False), claim="size",
          variant="paper", counterpart="no driver flagged, tpr, 286/50"),
    _cell("no driver flagged, tpr, 57/20", _ALIKE, _family(_FEW, "tpr"), claim="size"),
    _cell("no driver flagged, ppv, 300/120", _ALIKE, _family(_SMALL, "ppv"), claim="size"),
    _cell("test of two groups, 2862/501", "rate .8", _first_stage_size(_ADULT, 0.8), claim="size"),
    _cell("test of two groups, 57/20", "rate .8", _first_stage_size(_FEW, 0.8), claim="size"),
    _cell("test of two groups, 300/10", "rate .02", _first_stage_size((300, 10), 0.02), claim="size"),
    _cell("test of four groups, 300/150/80/40", "rate .6", _first_stage_size((300, 150, 80, 40), 0.6), claim="size",
          covers=("explain.omnibus.p_value",)),
    _cell("interval of the first-stage gap, 2862/501", "rates .841, .600", _gap_coverage(_ADULT, (0.841, 0.6), False)),
    _cell("interval of the first-stage gap, 57/20", "rates .841, .600", _gap_coverage(_FEW, (0.841, 0.6), False)),
    _cell(
        "the paper's pooled interval of the first-stage gap, 2862/501", "rates .841, .600",
        _gap_coverage(_ADULT, (0.841, 0.6), True), variant="paper", short=4000, long=4000,
        counterpart="interval of the first-stage gap, 2862/501",
    ),
    *OTHERS,
    *BACKGROUND,
    *FEW,
    *lines("explain"),
    *printed("explain"),
]  # fmt: skip
