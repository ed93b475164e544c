"""Validity of compare: changes of contributions between two rules, paired on the same people."""

from __future__ import annotations

import numpy as np

from inside.explain import (
    Floats,
    b_sequence,
    coefficients,
    contributions,
    interval,
    pair_targets,
    spread,
    spread_of_changes,
    two_sided_p,
)
from inside.inference import holm
from validity.board import Cell
from validity.explain_designs import (
    BASELINE,
    LEVEL,
    Population,
    Run,
    Shape,
    draw,
    form_of,
    population,
    truth_of,
)
from validity.printed_numbers import printed
from validity.whole_functions import lines


def lenient(people: Population) -> Population:
    """A second rule: it also accepts people with the first feature, whatever else a coalition sees."""
    first = (np.arange(people.outcome.size) & 1)[:, None].astype(np.uint8)
    return Population(people.share, people.outcome, np.maximum(people.decisions, first))


def _changes(
    people: Population,
    after: Population,
    sizes: tuple[int, int],
    shape: Shape,
    random: np.random.Generator,
    *,
    plain: bool = False,
) -> tuple[Floats, Floats, Floats]:
    """Limits and p-values of the gap's change and of every feature's, on one sample; `plain` for the usual error."""
    stacked = coefficients(b_sequence("shapley", people.features))[None]
    gap = pair_targets(2, [(0, 1)], np.ones(1), BASELINE)
    kinds, group = draw(people, sizes, shape, random)
    form = form_of(shape, people.outcome[kinds])
    first, second = (
        contributions(rule.decisions[kinds], form, group, 2, stacked, gap) for rule in (people, after)
    )
    change = with_total((second.estimate[0, 0] - first.estimate[0, 0])[None])
    moved = with_total(second.influence(0)[:, 0] - first.influence(0)[:, 0])[:, None]
    both = np.ones((1, 2), dtype=bool)
    error = spread(moved, group) if plain else spread_of_changes(moved, group, both)
    low, high = interval(change, error, LEVEL)
    return low[0], high[0], two_sided_p(change, error)[0]


def with_total(features: Floats) -> Floats:
    """The sum over features, which is the gap's own change, before them."""
    return np.concatenate([features.sum(axis=-1, keepdims=True), features], axis=-1)


TOTAL, FEATURES = slice(0, 1), slice(1, None)


def coverage(
    sizes: tuple[int, int], shape: Shape, features: int = 4, part: slice = FEATURES, plain: bool = False
) -> Run:
    """Share of features whose change's interval misses; or whether the gap's own change is missed."""

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        people = population(features)
        after = lenient(people)
        truth = with_total((truth_of(after, shape, sizes) - truth_of(people, shape, sizes))[2, 0])
        missed = np.empty(repeats)
        for r in range(repeats):
            low, high, _ = _changes(people, after, sizes, shape, random, plain=plain)
            missed[r] = ((truth < low - 1e-9) | (truth > high + 1e-9))[part].mean()
        return missed

    return run


def no_change(sizes: tuple[int, int], shape: Shape, *, adjust: bool = True) -> Run:
    """Groups alike, so no contribution to the gap changes though every decision may: is a change shown?"""

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        people = population(4, alike=True)
        after = lenient(people)
        shown = np.empty(repeats)
        for r in range(repeats):
            p = np.nan_to_num(_changes(people, after, sizes, shape, random)[2][FEATURES], nan=1.0)
            shown[r] = (holm(p) if adjust else p).min() <= 1 - LEVEL
        return shown

    return run


def _cell(name: str, design: str, run: Run, **more: object) -> Cell:
    claim = more.pop("claim", "coverage")
    return Cell("compare", name, design, claim, run, **more)  # type: ignore[arg-type]


_ALIKE = "groups alike, 286/50 people with the outcome; 4 features"
_FEW = "tpr, 286/50 people with the outcome, about 2.5% of the decisions change"
_PAIRED = "tpr, 286/50 people with the outcome, 4 features, the second rule more lenient"

CELLS: list[Cell] = [
    _cell("change of contributions", _PAIRED, coverage((286, 50), "tpr")),
    _cell("change of contributions, large sample", "tpr, 2862/501 people with the outcome, 4 features",
          coverage((2862, 501), "tpr")),
    _cell("change of contributions, small groups", "tpr, 57/20 people with the outcome, 4 features",
          coverage((57, 20), "tpr")),
    _cell("change of contributions, ppv", "ppv, whose denominator changes with the rule, 300/120 people, 4 features",
          coverage((300, 120), "ppv")),
    _cell("change of contributions, six features", "tpr, 286/50 people with the outcome, 6 features",
          coverage((286, 50), "tpr", features=6)),
    _cell("change of the gap, few decisions change", _FEW, coverage((286, 50), "tpr", part=TOTAL)),
    _cell("change of the gap by the plain standard error", _FEW, coverage((286, 50), "tpr", part=TOTAL, plain=True),
          variant="paper", counterpart="change of the gap, few decisions change"),
    _cell("change of the gap", "tpr, 2862/501 people with the outcome, about 2.5% of the decisions change",
          coverage((2862, 501), "tpr", part=TOTAL)),
    _cell("no change shown", _ALIKE, no_change((286, 50), "tpr"), claim="size"),
    _cell("every feature starred by itself", _ALIKE, no_change((286, 50), "tpr", adjust=False), claim="size",
          variant="paper", counterpart="no change shown"),
    _cell("no change shown, ppv", "groups alike, ppv, 300/120 people; 4 features", no_change((300, 120), "ppv"),
          claim="size"),
    *lines("compare"),
    *printed("compare"),
]  # fmt: skip
