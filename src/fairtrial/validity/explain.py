"""Validity cells of explain: do contributions' intervals cover and do the tests hold their level?

Classifiers are held fixed. People have a few binary features, so that the whole population is a short list of kinds
of people and every true contribution is an exact sum over it. What is checked runs through the package's own code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairtrial.stats.coalitions import Codes, RowForm, Targets, coalition_rates, contributions
from fairtrial.stats.esl import MEMBERS, Floats, b_sequence, coefficients
from fairtrial.stats.esl_groups import (
    baseline_of,
    group_targets,
    homogeneity,
    merge_targets,
    pair_targets,
    paper_interval,
    pooled_p,
)
from fairtrial.stats.influence import combine, interval, spread, two_sided_p, with_estimated_scale
from fairtrial.stats.multiplicity import holm
from fairtrial.stats.proportions import difference_interval
from fairtrial.stats.shapley_sampling import monte_carlo_variance, sample_orders, sampled_coefficients
from fairtrial.validity.board import Cell

LEVEL = 0.95
BASELINE = 0.5
Shape = Literal["tpr", "ppv"]


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Kinds of people: their share in each group, outcome and coalition decisions (kinds × 2^features)."""

    share: Floats  # (groups, kinds)
    outcome: Floats
    decisions: NDArray[np.uint8]

    @property
    def features(self) -> int:
        return int(np.log2(self.decisions.shape[1]))


@lru_cache(maxsize=8)
def population(features: int, alike: bool = False) -> Population:
    """Features are 0/1 and independent in a group; a coalition decides by a weighted sum of what it sees.

    Rates are near those of the Adult data: about .84 and .60 among people with the outcome. With `alike` both groups
    have the same people, so that every contribution to the gap is zero.
    """
    kinds = np.arange(1 << (features + 1))
    x = (kinds[:, None] >> np.arange(features)[None, :]) & 1
    outcome = (kinds >> features & 1).astype(float)
    first = np.linspace(0.75, 0.55, features)
    second = first if alike else np.linspace(0.35, 0.65, features)
    share = np.ones((2, kinds.size))
    for g, chance in enumerate((first, second)):
        # people with the outcome have each feature more often
        likely = np.clip(chance[None, :] + 0.12 * (outcome[:, None] - 0.5), 0.02, 0.98)
        share[g] = np.where(x == 1, likely, 1 - likely).prod(axis=1) * np.where(outcome == 1, 0.4, 0.6)
    weight = np.linspace(1.0, 0.6, features)
    masks = np.arange(1 << features)
    seen = (masks[None, :] >> np.arange(features)[:, None]) & 1
    decisions = (x @ (weight[:, None] * seen) >= 0.45 * (weight @ seen)[None, :]).astype(np.uint8)
    return Population(share / share.sum(axis=1, keepdims=True), outcome, decisions)


def _form(shape: Shape, outcome: Floats) -> RowForm:
    none, everyone = np.zeros_like(outcome), np.ones_like(outcome)
    if shape == "tpr":
        return RowForm(none, outcome, outcome, outcome)
    return RowForm(none, outcome, none, everyone)


def _draw(
    people: Population, sizes: tuple[int, int], shape: Shape, random: np.random.Generator
) -> tuple[Codes, Codes]:
    """Kinds and groups of a sample; for a rate given the outcome, `sizes` count people with the outcome."""
    kinds = []
    for g, size in enumerate(sizes):
        chance = people.share[g] * (people.outcome if shape == "tpr" else 1.0)
        kinds.append(random.choice(chance.size, size, p=chance / chance.sum()))
    group = np.repeat(np.arange(2), sizes)
    return np.concatenate(kinds).astype(np.int64), group.astype(np.int64)


def _coefficients(features: int) -> Floats:
    return np.stack([coefficients(b_sequence(member, features)) for member in MEMBERS])


def _targets() -> Targets:
    """φ of both groups and their gap, for the five members."""
    sequences = [b_sequence(member, 2) for member in MEMBERS]
    gap = pair_targets(2, np.array([b[1] for b in sequences]), BASELINE)[1]
    return merge_targets([group_targets(sequences, BASELINE), gap])


def _truth(people: Population, shape: Shape, sizes: tuple[int, int]) -> Floats:
    """Exact contributions to φ_1, φ_2 and the gap, for every value and feature: (3, values, features).

    The share of the groups among the pooled people is the sample's, which is held fixed.
    """
    chance = people.share * (people.outcome if shape == "tpr" else 1.0)
    weight = (chance / chance.sum(axis=1, keepdims=True) * np.array(sizes, dtype=float)[:, None]).ravel()
    kinds = np.tile(np.arange(people.outcome.size), 2)
    group = np.repeat(np.arange(2), people.outcome.size)
    form = _form(shape, people.outcome[kinds])
    weighted = RowForm(
        form.value0 * weight, form.value1 * weight, form.weight0 * weight, form.weight1 * weight
    )
    targets = _targets()
    rates = coalition_rates(people.decisions[kinds], weighted, group, 2, targets.unions)
    by_union = np.einsum("vkm,jm->vkj", _coefficients(people.features), rates.rate)
    return np.asarray(np.einsum("tvj,vkj->tvk", targets.weights, by_union))


Run = Callable[[int, np.random.Generator], np.ndarray]


def _coverage(sizes: tuple[int, int], shape: Shape, target: slice, values: slice) -> Run:
    """Share of (target, value, feature) whose interval misses the truth, per repeat."""

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        people = population(4)
        truth = _truth(people, shape, sizes)
        stacked, targets = _coefficients(people.features), _targets()
        missed = np.empty(repeats)
        for r in range(repeats):
            kinds, group = _draw(people, sizes, shape, random)
            form = _form(shape, people.outcome[kinds])
            found = contributions(people.decisions[kinds], form, group, 2, stacked, targets)
            low, high = interval(found.estimate, found.spread(), LEVEL)
            outside = (truth < low - 1e-9) | (truth > high + 1e-9)
            missed[r] = outside[target, values].mean()
        return missed

    return run


def _prior_coverage(sizes: tuple[int, int]) -> Run:
    """Gap contributions over an estimated baseline, the share of people with the outcome."""

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        people = population(4)
        prior = float((people.share @ people.outcome * np.array(sizes)).sum() / sum(sizes))
        truth = _truth(people, "tpr", sizes)[2, 0] * BASELINE / prior
        stacked, targets = _coefficients(people.features), _targets()
        missed = np.empty(repeats)
        for r in range(repeats):
            kinds, group = _draw(people, sizes, "ppv", random)  # everybody, not only people with the outcome
            y = people.outcome[kinds]
            found = contributions(people.decisions[kinds], _form("tpr", y), group, 2, stacked, targets)
            base, moved = baseline_of(_form("tpr", y), float(y.mean()), (y - y.mean()) / y.size)
            estimate = found.estimate[2, 0] * BASELINE / base
            raw = found.influence(0)[:, 2] * BASELINE / base
            error = spread(with_estimated_scale(raw, estimate, moved, base), group)
            low, high = interval(estimate, error, LEVEL)
            missed[r] = ((truth < low) | (truth > high)).mean()
        return missed

    return run


def _sampled_coverage(sizes: tuple[int, int], features: int, budget: int) -> Run:
    """Shapley from sampled orders: people and orders are both drawn anew in every repeat."""

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        people = population(features)
        truth = _truth(people, "tpr", sizes)[2, 0]
        gap = pair_targets(2, np.ones(1), BASELINE)[1]
        missed = np.empty(repeats)
        for r in range(repeats):
            kinds, group = _draw(people, sizes, "tpr", random)
            orders = sample_orders(features, budget, random)
            decisions = people.decisions[np.ix_(kinds, orders.masks)]
            form = _form("tpr", people.outcome[kinds])
            found = contributions(decisions, form, group, 2, sampled_coefficients(orders)[None], gap)
            chance = monte_carlo_variance(orders, gap.weights[:, 0] @ found.rates.rate)[0]
            error = found.spread()
            both = np.stack([error.error[0, 0] ** 2, chance])
            degrees = np.stack([error.df[0, 0], np.full(features, orders.pairs - 1.0)])
            low, high = interval(found.estimate[0, 0], combine(both, degrees), LEVEL)
            missed[r] = ((truth < low) | (truth > high)).mean()
        return missed

    return run


def _family(sizes: tuple[int, int], shape: Shape) -> Run:
    """No feature contributes to the gap: does Holm flag any?"""

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        people = population(4, alike=True)
        stacked = coefficients(b_sequence("shapley", 4))[None]
        gap = pair_targets(2, np.ones(1), BASELINE)[1]
        flagged = np.empty(repeats)
        for r in range(repeats):
            kinds, group = _draw(people, sizes, shape, random)
            form = _form(shape, people.outcome[kinds])
            found = contributions(people.decisions[kinds], form, group, 2, stacked, gap)
            p = two_sided_p(found.estimate, found.spread())[0, 0]
            flagged[r] = holm(np.nan_to_num(p, nan=1.0)).min() <= 1 - LEVEL
        return flagged

    return run


def _change_coverage(sizes: tuple[int, int]) -> Run:
    """Change of the Shapley contributions between two rules on the same people."""

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        people = population(4)
        # the second rule also accepts people with the first feature, whatever else a coalition sees
        lenient = np.maximum(people.decisions, (np.arange(people.outcome.size) & 1)[:, None].astype(np.uint8))
        after = Population(people.share, people.outcome, lenient)
        truth = _truth(after, "tpr", sizes)[2, 0] - _truth(people, "tpr", sizes)[2, 0]
        stacked = coefficients(b_sequence("shapley", 4))[None]
        gap = pair_targets(2, np.ones(1), BASELINE)[1]
        missed = np.empty(repeats)
        for r in range(repeats):
            kinds, group = _draw(people, sizes, "tpr", random)
            form = _form("tpr", people.outcome[kinds])
            first, second = (
                contributions(decisions[kinds], form, group, 2, stacked, gap)
                for decisions in (people.decisions, lenient)
            )
            change = second.estimate[0, 0] - first.estimate[0, 0]
            error = spread(second.influence(0)[:, 0] - first.influence(0)[:, 0], group)
            low, high = interval(change, error, LEVEL)
            missed[r] = ((truth < low - 1e-9) | (truth > high + 1e-9)).mean()
        return missed

    return run


def _first_stage_size(sizes: tuple[int, ...], rate: float) -> Run:
    """Equal rates: how often is equality rejected?"""

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        counts = np.array(sizes, dtype=float)
        successes = random.binomial(np.array(sizes), rate, size=(repeats, len(sizes))).astype(float)
        if len(sizes) == 2:
            p = [pooled_p(k[0], counts[0], k[1], counts[1]) for k in successes]
        else:
            p = [homogeneity(k, counts).p_value for k in successes]
        return (np.array(p) <= 1 - LEVEL).astype(float)

    return run


def _gap_coverage(sizes: tuple[int, int], rates: tuple[float, float], paper: bool) -> Run:
    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        n1, n2 = sizes
        k = random.binomial(np.array(sizes), rates, size=(repeats, 2)).astype(float)
        if paper:
            limits = np.array([paper_interval(a, n1, b, n2, LEVEL) for a, b in k])
            low, high = limits[:, 0], limits[:, 1]
        else:
            low, high, _ = difference_interval(k[:, 0], n1, k[:, 1], n2, LEVEL)
        gap = rates[0] - rates[1]
        return ((gap < low) | (gap > high)).astype(float)

    return run


_GAP, _VALUES = slice(2, 3), slice(0, 2)
_SHAPLEY, _PANEL = slice(0, 1), slice(1, 5)
_ADULT, _TENTH, _FEW = (2862, 501), (286, 50), (57, 20)
_FIXED = "4 features, classifiers fixed; share of contributions missed"
_ALIKE = "groups alike; Holm over 4 features"
_SMALL = (300, 120)


def _cell(name: str, design: str, run: Run, **more: object) -> Cell:
    claim = more.pop("claim", "coverage")
    return Cell("explain", name, design, claim, run, **more)  # type: ignore[arg-type]


CELLS: list[Cell] = [
    _cell("Shapley gap contributions, tpr, 2862/501", _FIXED, _coverage(_ADULT, "tpr", _GAP, _SHAPLEY)),
    _cell("Shapley gap contributions, tpr, 286/50", _FIXED, _coverage(_TENTH, "tpr", _GAP, _SHAPLEY)),
    _cell("Shapley gap contributions, tpr, 57/20", _FIXED, _coverage(_FEW, "tpr", _GAP, _SHAPLEY)),
    _cell("the other four values' gap contributions, tpr, 286/50", _FIXED, _coverage(_TENTH, "tpr", _GAP, _PANEL)),
    _cell("the other four values' gap contributions, tpr, 57/20", _FIXED, _coverage(_FEW, "tpr", _GAP, _PANEL)),
    _cell("contributions to both groups' values, tpr, 286/50", _FIXED, _coverage(_TENTH, "tpr", _VALUES, slice(0, 5))),
    _cell("Shapley gap contributions, ppv, 2000/600", _FIXED, _coverage((2000, 600), "ppv", _GAP, _SHAPLEY)),
    _cell("Shapley gap contributions, ppv, 300/120", _FIXED, _coverage(_SMALL, "ppv", _GAP, _SHAPLEY)),
    _cell("the other four values' gap contributions, ppv, 300/120", _FIXED, _coverage(_SMALL, "ppv", _GAP, _PANEL)),
    _cell("contributions to both groups' values, ppv, 300/120", _FIXED, _coverage(_SMALL, "ppv", _VALUES, _SHAPLEY)),
    _cell("estimated baseline, tpr, 700/200 people", _FIXED, _prior_coverage((700, 200))),
    _cell(
        "Shapley from sampled orders, 8 features, 286/50", "140 coalitions; Monte-Carlo error added",
        _sampled_coverage(_TENTH, 8, 140),
    ),
    _cell("change between two rules, paired, 286/50", _FIXED, _change_coverage(_TENTH)),
    _cell("no driver flagged, tpr, 286/50", _ALIKE, _family(_TENTH, "tpr"), claim="size"),
    _cell("no driver flagged, tpr, 57/20", _ALIKE, _family(_FEW, "tpr"), claim="size"),
    _cell("no driver flagged, ppv, 300/120", _ALIKE, _family(_SMALL, "ppv"), claim="size"),
    _cell("pooled test of two groups, 2862/501", "rate .8", _first_stage_size(_ADULT, 0.8), claim="size"),
    _cell("pooled test of two groups, 57/20", "rate .8", _first_stage_size(_FEW, 0.8), claim="size"),
    _cell("pooled test of two groups, 300/10", "rate .02", _first_stage_size((300, 10), 0.02), claim="size"),
    _cell("test of four groups, 300/150/80/40", "rate .6", _first_stage_size((300, 150, 80, 40), 0.6), claim="size"),
    _cell("interval of the first-stage gap, 2862/501", "rates .841, .600", _gap_coverage(_ADULT, (0.841, 0.6), False)),
    _cell("interval of the first-stage gap, 57/20", "rates .841, .600", _gap_coverage(_FEW, (0.841, 0.6), False)),
    _cell(
        "the paper's pooled interval of the first-stage gap, 2862/501", "rates .841, .600; covers about .898",
        _gap_coverage(_ADULT, (0.841, 0.6), True), variant="paper", short=4000, long=4000,
    ),
]  # fmt: skip
