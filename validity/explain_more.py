"""More lines of explain: the first stage's values and tests as the function runs them, and the paper's readings."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from inside.explain import (
    MEMBERS,
    Allocation,
    Baseline,
    FirstStage,
    Floats,
    RowForm,
    TwoStageGame,
    b_sequence,
    coefficients,
    contributions,
    estimates_of,
    first_stage,
    group_targets,
    pair_targets,
)
from inside.inference import holm
from validity.board import Cell
from validity.explain_designs import LEVEL, Run

Random = np.random.Generator
BASE = 0.5


def _stage(values: Floats, group: np.ndarray, levels: tuple[int, ...] = ()) -> FirstStage:
    """The first stage of explain for one rule's decisions (or scores) among people who all count."""
    groups = int(group.max()) + 1
    allocations = tuple(
        Allocation(name, (b_sequence(name, groups),), b_sequence(name, 1), 1.0) for name in MEMBERS
    )
    none, everyone = np.zeros(values.size), np.ones(values.size)
    game = TwoStageGame(
        outputs=np.stack([np.zeros_like(values), values], axis=1),
        masks=np.arange(2, dtype=np.int64),
        form=RowForm(none, everyone, everyone, everyone),
        group=group,
        groups=groups,
        levels=levels,
        # pairs play no part in the interaction, and their exact tails would take most of the time
        pairs=((0, 1),) if levels else tuple(combinations(range(groups), 2)),
        players=1,
        allocations=allocations,
        sampled=None,
        baseline=Baseline("number", BASE, None),
        level=LEVEL,
        scores_or_decisions=values,
    )
    return first_stage(game)


def _people(sizes: tuple[int, ...]) -> np.ndarray:
    return np.repeat(np.arange(len(sizes)), sizes).astype(np.int64)


def value_coverage(sizes: tuple[int, ...], rates: tuple[float, ...]) -> Run:
    """Share of the groups' five values whose interval misses."""
    count, level = np.array(sizes, dtype=float), np.array(rates)
    targets = group_targets([b_sequence(name, len(sizes)) for name in MEMBERS], BASE)
    inside = (targets.unions[:, None] >> np.arange(len(sizes))[None, :] & 1).astype(float)
    truth = np.einsum("gvu,u->gv", targets.weights, inside @ (count * level) / (inside @ count))

    def run(repeats: int, random: Random) -> np.ndarray:
        group, missed = _people(sizes), np.empty(repeats)
        for r in range(repeats):
            found = _stage((random.random(group.size) < level[group]).astype(float), group).value
            missed[r] = ((truth < found.low[:, :, 0]) | (truth > found.high[:, :, 0])).mean()
        return missed

    return run


def omnibus_size(sizes: tuple[int, ...], rate: float | None) -> Run:
    """Rejections of 'all groups have the same rate'; without a rate, of the same mean score (skewed)."""

    def run(repeats: int, random: Random) -> np.ndarray:
        group, rejected = _people(sizes), np.empty(repeats)
        for r in range(repeats):
            if rate is None:
                values = random.beta(2.0, 5.0, group.size)
            else:
                values = (random.random(group.size) < rate).astype(float)
            test = _stage(values, group).explained.omnibus
            rejected[r] = test is not None and test.p_value <= 1 - LEVEL
        return rejected

    return run


def interaction_size(sizes: tuple[int, int, int, int], rates: tuple[float, float, float, float]) -> Run:
    """Two attributes whose gaps add up: rejections of 'no interaction'."""
    level = np.array(rates)

    def run(repeats: int, random: Random) -> np.ndarray:
        group, rejected = _people(sizes), np.empty(repeats)
        for r in range(repeats):
            values = (random.random(group.size) < level[group]).astype(float)
            test = _stage(values, group, (2, 2)).interaction
            rejected[r] = test is not None and test.p_value <= 1 - LEVEL
        return rejected

    return run


def score_gap_coverage(sizes: tuple[int, int]) -> Run:
    """Misses of the interval of a gap in mean scores (skewed, unequal spreads)."""

    def run(repeats: int, random: Random) -> np.ndarray:
        group, missed = _people(sizes), np.empty(repeats)
        for r in range(repeats):
            values = np.where(
                group == 0, random.beta(2.0, 5.0, group.size), random.beta(1.0, 3.0, group.size)
            )
            gap = _stage(values, group).explained.gaps[0]
            missed[r] = gap is None or not gap.low <= 2 / 7 - 1 / 4 <= gap.high
        return missed

    return run


def equal_rates(*, by_features: bool) -> Run:
    """Equal rates of the full rule, which nothing about the groups moves; the partial rules' rates differ.

    The paper reads a contribution other than zero as a violation of the criterion (Proposition 3.1).
    """
    sizes = (286, 50)
    stacked = coefficients(b_sequence("shapley", 2))[None]
    gap = pair_targets(2, [(0, 1)], np.ones(1), BASE)

    def run(repeats: int, random: Random) -> np.ndarray:
        group, rejected = _people(sizes), np.empty(repeats)
        none, everyone = np.zeros(group.size), np.ones(group.size)
        for r in range(repeats):
            first = random.random(group.size) < np.where(group == 0, 0.7, 0.3)
            full = random.random(group.size) < 0.6
            decisions = np.stack([full, first, random.random(group.size) < 0.5, full], axis=1).astype(
                np.uint8
            )
            if by_features:
                found = contributions(
                    decisions, RowForm(none, everyone, everyone, everyone), group, 2, stacked, gap
                )
                ours = estimates_of(found, (slice(None), slice(None)), LEVEL, found.with_quarter_rows())
                p = float(holm(ours.p_value[0, 0]).min())
            else:
                stage = _stage(full.astype(float), group).explained.gaps[0]
                p = 1.0 if stage is None else stage.p_value
            rejected[r] = p <= 1 - LEVEL
        return rejected

    return run


def _cell(name: str, design: str, run: Run, claim: str = "size", **more: object) -> Cell:
    return Cell("explain", name, design, claim, run, **more)  # type: ignore[arg-type]


_EQUAL = "full rule's rate .6 in both groups, partial rules' rates differ, 286/50 people"

CELLS: list[Cell] = [
    _cell("first-stage test when features differ", _EQUAL, equal_rates(by_features=False)),
    _cell("features' tests read as the criterion's", _EQUAL, equal_rates(by_features=True), variant="paper",
          counterpart="first-stage test when features differ"),
    _cell("groups' values, 286/50", "rates .84 and .60, five values",
          value_coverage((286, 50), (0.84, 0.6)), "coverage"),
    _cell("groups' values, three groups", "rates .7, .5 and .4 of 200, 100 and 40 people, five values",
          value_coverage((200, 100, 40), (0.7, 0.5, 0.4)), "coverage"),
    _cell("test of three groups, rare events", "60, 40 and 30 people, rate .06", omnibus_size((60, 40, 30), 0.06)),
    _cell("test of three groups' mean scores", "beta scores, 100, 60 and 40 people", omnibus_size((100, 60, 40), None)),
    _cell("interaction of two attributes", "rates .6, .5, .4 and .3 that add up, 40 to 120 people",
          interaction_size((120, 80, 60, 40), (0.6, 0.5, 0.4, 0.3))),
    _cell("interaction of two attributes, low rates", "rates .10, .07, .06 and .03 that add up, 30 to 100 people",
          interaction_size((100, 60, 40, 30), (0.10, 0.07, 0.06, 0.03))),
    _cell("gap of mean scores", "beta scores of unequal spread, 80 and 40 people",
          score_gap_coverage((80, 40)), "coverage"),
]  # fmt: skip
