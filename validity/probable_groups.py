"""Groups known with a probability: each estimator where its assumption holds, failing beside it where it does not, and
bounds that hold in both worlds and in a third where neither assumption does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from inside.gaps import certified
from inside.inference import Comparison, Floats, ProbableRows, halves, probable_gaps
from validity.board import Cell
from validity.measure_designs import Errors, Random

Rate = Callable[[Floats, Any], Floats]  # of the probabilities and the group


class World(NamedTuple):
    """How many people, how many groups, and what the value depends on."""

    n: int
    groups: int
    rate: Rate
    spread: float = 0.6  # of the Dirichlet law; the smaller, the surer the probabilities


def by_proxy(weights: Floats, group: Any) -> Floats:
    """The value depends on the probabilities alone: weighted is right."""
    return np.asarray(0.3 + 0.4 * weights[:, 0])


def by_group(weights: Floats, group: Any) -> Floats:
    """The value depends on the group alone: dual is right."""
    return np.asarray(np.array([0.65, 0.35, 0.5])[group], dtype=np.float64)


def by_both(weights: Floats, group: Any) -> Floats:
    """On both, against each other: neither is right, and the truth does not lie between them."""
    p = weights[:, 0]
    return np.where(group == 0, 0.85 - 0.35 * p, 0.5 + 0.2 * p)


def sharp(weights: Floats, group: Any) -> Floats:
    """At an end of the bounds: among alike probabilities the value goes to the first group as far as it can."""
    p, level = weights[:, 0], 0.5
    inside = np.minimum(1.0, level / np.maximum(p, 1e-9))
    outside = np.maximum(0.0, (level - p) / np.maximum(1.0 - p, 1e-9))
    return np.where(group == 0, inside, outside)


def draw(world: World, random: Random) -> tuple[ProbableRows, Any]:
    """People, their probabilities (as of a name and an address), their groups and values."""
    weights = random.dirichlet([world.spread] * world.groups, world.n)
    group = (
        (random.random(world.n)[:, None] > np.cumsum(weights, axis=1)).sum(axis=1).clip(0, world.groups - 1)
    )
    value = (random.random(world.n) < world.rate(weights, group)).astype(np.float64)
    return ProbableRows(value, weights, halves(world.n)), group


def true_gap(world: World) -> float:
    """By a million people."""
    random = np.random.default_rng(5)
    weights = random.dirichlet([world.spread] * world.groups, 1_000_000)
    group = (
        (random.random(1_000_000)[:, None] > np.cumsum(weights, axis=1)).sum(axis=1).clip(0, world.groups - 1)
    )
    rate = world.rate(weights, group)
    return float(rate[group == 0].mean() - rate[group == 1].mean())


def comparison(groups: int) -> Comparison:
    first, second = np.zeros((1, groups), dtype=bool), np.zeros((1, groups), dtype=bool)
    first[0, 0] = second[0, 1] = True
    return Comparison(first, second)


def misses(repeats: int, random: Random, *, worlds: list[World], answer: str) -> Errors:
    """Whether the true gap lies outside the 95% interval of one of the three answers."""
    truths = [true_gap(world) for world in worlds]
    errors = np.zeros(repeats)
    for index in range(repeats):
        world, truth = worlds[index % len(worlds)], truths[index % len(worlds)]
        rows, _ = draw(world, random)
        gaps, found = probable_gaps(rows, comparison(world.groups))
        if answer == "bounds":
            low, high = (float(side[0]) for side in gaps.limits(0.95))
        else:
            low, high = getattr(found[0], answer).limits(0.95)
        errors[index] = not low <= truth <= high
    return errors


def claims(repeats: int, random: Random, *, worlds: list[World], told: str) -> Errors:
    """A finding, or a certificate, where the truth lies at the tolerance's edge and at an end of the bounds."""
    truths = [true_gap(world) for world in worlds]
    errors = np.zeros(repeats)
    for index in range(repeats):
        world, truth = worlds[index % len(worlds)], truths[index % len(worlds)]
        gaps, _ = probable_gaps(draw(world, random)[0], comparison(world.groups))
        if told == "violated":  # the first group is the reference, so that the truth is at the lower end
            turned = comparison(world.groups)
            gaps, _ = probable_gaps(draw(world, random)[0], Comparison(turned.reference, turned.member))
            errors[index] = gaps.p_at_most(-truth)[0] <= 0.05
        else:
            errors[index] = certified(gaps, (-np.inf, truth), 0.9)[0]
    return errors


def found(repeats: int, random: Random, *, worlds: list[World]) -> Errors:
    """Whether a gap is shown to be above a tolerance of five points by the bounds alone."""
    told = np.zeros(repeats)
    for index in range(repeats):
        world = worlds[index % len(worlds)]
        gaps, _ = probable_gaps(draw(world, random)[0], comparison(world.groups))
        told[index] = gaps.p_inside(-0.05, 0.05)[0] <= 0.05
    return told


def _same_rows(repeats: int, random: Random, *, worlds: list[World]) -> Errors:
    """Misses of bounds whose branches are chosen on the rows they are estimated on, by single rows."""
    truths = [true_gap(world) for world in worlds]
    errors = np.zeros(repeats)
    for index in range(repeats):
        world, truth = worlds[index % len(worlds)], truths[index % len(worlds)]
        rows, _ = draw(world, random)
        everyone = ProbableRows(rows.value, rows.weights, np.ones(world.n, dtype=bool))
        single = np.arange(world.n)
        own, other = rows.weights[:, 0], rows.weights[:, 1]
        most = everyone.end(own, single, most=True).minus(everyone.end(other, single, most=False))
        least = everyone.end(own, single, most=False).minus(everyone.end(other, single, most=True))
        errors[index] = not least.limits(0.95)[0] <= truth <= most.limits(0.95)[1]
    return errors


PROXY = [World(n, k, by_proxy) for n in (300, 2000) for k in (2, 3)]
GROUP = [World(n, k, by_group) for n in (300, 2000) for k in (2, 3)]
BOTH = [World(n, k, by_both) for n in (300, 2000) for k in (2, 3)]
SHARP = [World(n, 2, sharp) for n in (300, 1000, 4000)]
_PEOPLE = "300 and 2,000 people of two and three groups, Dirichlet probabilities"
_COVERS = tuple(
    f"{method}.{answer}_{end}" for method in ("measure", "certify", "flag") for answer in ("weighted", "dual")
    for end in ("low", "high")
)  # fmt: skip


def _cell(name: str, design: str, claim: Any, run: Any, **more: Any) -> Cell:
    settings = {"short": 400, "long": 4000, **more}
    return Cell("certify", f"probable groups, {name}", design, claim, run, **settings)


CELLS = [
    _cell("weighted, value by the proxy", f"{_PEOPLE}; the value depends on the probabilities alone", "coverage",
          partial(misses, worlds=PROXY, answer="weighted"), covers=_COVERS),
    _cell("dual, value by the proxy", f"{_PEOPLE}; the value depends on the probabilities alone", "coverage",
          partial(misses, worlds=PROXY, answer="dual"), variant="paper",
          counterpart="probable groups, weighted, value by the proxy"),
    _cell("dual, value by the group", f"{_PEOPLE}; the value depends on the group alone", "coverage",
          partial(misses, worlds=GROUP, answer="dual")),
    _cell("weighted, value by the group", f"{_PEOPLE}; the value depends on the group alone", "coverage",
          partial(misses, worlds=GROUP, answer="weighted"), variant="paper",
          counterpart="probable groups, dual, value by the group"),
    _cell("bounds, value by both", f"{_PEOPLE}; the value depends on both", "coverage",
          partial(misses, worlds=BOTH, answer="bounds")),
    _cell("bounds, the truth at their end", "300 to 4,000 people of two groups, as unequal as can be", "coverage",
          partial(misses, worlds=SHARP, answer="bounds")),
    _cell("bounds by single rows, the truth at their end", "300 to 4,000 people of two groups, as unequal as can be",
          "coverage", partial(_same_rows, worlds=SHARP), variant="paper",
          counterpart="probable groups, bounds, the truth at their end"),
    _cell("certified at the tolerance's edge", "300 to 4,000 people of two groups, as unequal as can be",
          "wrong certification", partial(claims, worlds=SHARP, told="certified")),
    _cell("violated at the tolerance's edge", "300 to 4,000 people of two groups, as unequal as can be", "size",
          partial(claims, worlds=SHARP, told="violated")),
    _cell("a gap of 30 points found", "2,000 people of two groups, most of whom are nearly sure to be of one", "power",
          partial(found, worlds=[World(2000, 2, by_group, 0.02)]), nominal=0.8),
]  # fmt: skip
