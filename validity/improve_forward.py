"""Rules chosen on earlier chunks of the rows and tested on later ones, where the best of ten is chosen by noise.

Folds that test each other, with the ordinary variance, stand beside it: a rule chosen by noise makes them agree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from inside.improve import accuracy_components, combined, dealt, smooth_fairness_components
from inside.inference import Utility, adverse_levels, bootstrap_levels, level_cells
from validity.board import Cell

Floats = NDArray[np.float64]
Way = Literal["forward", "folds"]
Choose = Callable[[NDArray[np.bool_]], int]
RULES, CHUNKS, ORDERS, DRAWS = 10, 5, 3, 199
EVERYONE = np.array([0.0, 0.0, 1.0])
PAIRS = [(0, 1), (1, 0)]


def parts_of(
    group: NDArray[np.int64], way: Way, rng: np.random.Generator
) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """(learned on, tested on) of each chunk, or of each fold."""
    chunk = dealt(group, rng.random(group.size), CHUNKS)
    if way == "folds":
        return [(chunk != k, chunk == k) for k in range(CHUNKS)]
    return [(chunk < k, chunk == k) for k in range(1, CHUNKS)]


def least_gap(group: NDArray[np.int64], decided: Floats) -> Choose:
    """The rule with the least gap of selection."""
    second = group == 1

    def choose(past: NDArray[np.bool_]) -> int:
        rates = [decided[past & who].mean(axis=0) for who in (second, ~second)]
        return int(np.argmin(np.abs(rates[0] - rates[1])))

    return choose


def gap_at_the_edge(
    repeats: int, rng: np.random.Generator, *, way: Way, people: int = 1000, small: int = 500
) -> Floats:
    """Ten rules, each exactly as unfair as the status quo; the one that looks fairest is tested."""
    group = np.repeat([0, 1], [people - small, small])
    rates = np.array([0.6, 0.5])[group]
    rejected = np.zeros(repeats)
    for i in range(repeats):
        old = (rng.random(people) < rates).astype(float)
        rules = (rng.random((people, RULES)) < rates[:, None]).astype(float)
        choose, p_values = least_gap(group, rules), []
        for _ in range(ORDERS if way == "forward" else 1):
            p_values.append(gap_p(group, old, rules, choose, parts_of(group, way, rng)))
        rejected[i] = combined(np.array(p_values), "forward") < 0.05
    return rejected


def gap_p(group: Any, old: Floats, rules: Floats, choose: Choose, parts: Any) -> list[float]:
    """Both sides of the gap on all tested rows of one order."""
    new, turned, tested = np.zeros(group.size), np.zeros(group.size), np.zeros(group.size, dtype=bool)
    for past, now in parts:
        new[now] = rules[now, choose(past)]
        first, second = (old[past & (group == g)].mean() for g in (0, 1))
        turned[now] = np.where(group[now] == 0, 1.0, -1.0) * (1.0 if first >= second else -1.0)
        tested |= now
    ones = np.ones(int(tested.sum()))
    chosen = Utility(name="chosen", u0=(old * turned)[tested], w0=ones, u1=new[tested], w1=ones)
    levels = bootstrap_levels(level_cells(group[tested], 2, [chosen]), 0, np.random.default_rng(0))
    found = smooth_fairness_components(
        levels, 0, ["a", "b"], kind="relative", pairs=PAIRS, worst=(0, 1), one_sided=False, law="normal", turned=True
    )  # fmt: skip
    return [part.p_value(0.0) for part in found]


def value_at_the_edge(
    repeats: int, rng: np.random.Generator, *, way: Way, people: int, loss_rate: float | None
) -> Floats:
    """Ten rules that bring nothing on average; the one that brought most in the past is tested.

    Without a loss rate they are right as often as the status quo, by the toss of a coin; with one they gain one unit
    from most people and lose as much in all from few.
    """
    group = np.arange(people) % 2
    rejected = np.zeros(repeats)
    for i in range(repeats):
        if loss_rate is None:
            old = (rng.random(people) < 0.5).astype(float)
            rules = (rng.random((people, RULES)) < 0.5).astype(float)
        else:
            old, loss = np.zeros(people), (1 - loss_rate) / loss_rate
            rules = np.where(rng.random((people, RULES)) < loss_rate, -loss, 1.0)
        p_values = [
            value_p(group, old, rules, parts_of(group, way, rng), rng)
            for _ in range(ORDERS if way == "forward" else 1)
        ]
        rejected[i] = combined(np.array(p_values), "forward") < 0.05
    return rejected


def value_p(group: Any, old: Floats, rules: Floats, parts: Any, rng: np.random.Generator) -> list[float]:
    """Everybody's level on all tested rows of one order, with the worst change of any row as an adverse one."""
    new, tested = np.zeros(group.size), np.zeros(group.size, dtype=bool)
    for past, now in parts:
        new[now] = rules[now, int(np.argmax(rules[past].mean(axis=0)))]
        tested |= now
    ones = np.ones(int(tested.sum()))
    gain = Utility(name="gain", u0=old[tested], w0=ones, u1=new[tested], w1=ones)
    cells = level_cells(group[tested], 2, [gain])
    levels = bootstrap_levels(cells, 0, rng)
    worst = np.tile(np.array([[old.max(), 1.0], [rules.min(), 1.0]]), (3, 1, 1))
    drawn = adverse_levels(cells, 0, worst, DRAWS, rng)
    (part,) = accuracy_components(
        levels, 0, ["a", "b", "everyone"], kind="absolute", weights=EVERYONE, adverse=drawn
    )
    return [part.p_value(0.0)]


def _cell(name: str, design: str, run: Any, **settings: Any) -> Cell:
    return Cell("improve", name, design, "size", run, **settings)


_GAP = "1,000 people, ten rules exactly as unfair as the status quo, the fairest of the past is tested"
CELLS = [
    _cell("forward, gap at the edge, best of ten", _GAP, partial(gap_at_the_edge, way="forward")),
    _cell(
        "folds that test each other, gap at the edge, best of ten", _GAP, partial(gap_at_the_edge, way="folds"),
        variant="paper", counterpart="forward, gap at the edge, best of ten", short=1000,
    ),
    _cell(
        "forward, gap at the edge, 50 in the small group", "600 people, 50 of them in one group; the same ten rules",
        partial(gap_at_the_edge, way="forward", people=600, small=50),
    ),
    _cell(
        "forward, accuracy at the edge, best of ten", "1,000 people, nothing predicts the outcome, ten rules by coins",
        partial(value_at_the_edge, way="forward", people=1000, loss_rate=None),
    ),
    _cell(
        "forward, rare losses, best of ten", "600 people, ten rules that bring nothing on average, 2% lose 49 each",
        partial(value_at_the_edge, way="forward", people=600, loss_rate=0.02),
    ),
    _cell(
        "forward, losses, best of ten", "600 people, ten rules that bring nothing on average, 10% lose 9 each",
        partial(value_at_the_edge, way="forward", people=600, loss_rate=0.1),
    ),
]  # fmt: skip
