"""People for the lines of explain and compare: a short list of kinds of people, so that every truth is exact.

Classifiers are held fixed. People have a few binary features, so that the whole population is a short list of kinds
of people and every true contribution is an exact sum over it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from inside.explain import (
    MEMBERS,
    Codes,
    Floats,
    RowForm,
    Targets,
    b_sequence,
    coalition_rates,
    coefficients,
    group_targets,
    merge_targets,
    pair_targets,
)

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


def form_of(shape: Shape, outcome: Floats) -> RowForm:
    none, everyone = np.zeros_like(outcome), np.ones_like(outcome)
    if shape == "tpr":
        return RowForm(none, outcome, outcome, outcome)
    return RowForm(none, outcome, none, everyone)


def draw(
    people: Population, sizes: tuple[int, int], shape: Shape, random: np.random.Generator
) -> tuple[Codes, Codes]:
    """Kinds and groups of a sample; for a rate given the outcome, `sizes` count people with the outcome."""
    kinds = []
    for g, size in enumerate(sizes):
        chance = people.share[g] * (people.outcome if shape == "tpr" else 1.0)
        kinds.append(random.choice(chance.size, size, p=chance / chance.sum()))
    group = np.repeat(np.arange(2), sizes)
    return np.concatenate(kinds).astype(np.int64), group.astype(np.int64)


def all_coefficients(features: int) -> Floats:
    return np.stack([coefficients(b_sequence(member, features)) for member in MEMBERS])


def all_targets() -> Targets:
    """φ of both groups and their gap, for the five members."""
    sequences = [b_sequence(member, 2) for member in MEMBERS]
    gap = pair_targets(2, [(0, 1)], np.array([b[1] for b in sequences]), BASELINE)
    return merge_targets([group_targets(sequences, BASELINE), gap])


def truth_of(people: Population, shape: Shape, sizes: tuple[int, int]) -> Floats:
    """Exact contributions to φ_1, φ_2 and the gap, for every value and feature: (3, values, features).

    The share of the groups among the pooled people is the sample's, which is held fixed.
    """
    chance = people.share * (people.outcome if shape == "tpr" else 1.0)
    weight = (chance / chance.sum(axis=1, keepdims=True) * np.array(sizes, dtype=float)[:, None]).ravel()
    kinds = np.tile(np.arange(people.outcome.size), 2)
    group = np.repeat(np.arange(2), people.outcome.size)
    form = form_of(shape, people.outcome[kinds])
    weighted = RowForm(
        form.value0 * weight, form.value1 * weight, form.weight0 * weight, form.weight1 * weight
    )
    targets = all_targets()
    rates = coalition_rates(people.decisions[kinds], weighted, group, 2, targets.unions)
    by_union = np.einsum("vkm,jm->vkj", all_coefficients(people.features), rates.rate)
    return np.asarray(np.einsum("tvj,vkj->tvk", targets.weights, by_union))


Run = Callable[[int, np.random.Generator], np.ndarray]
