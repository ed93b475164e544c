"""Designs in which improve is put to the test: every component where its null is hardest to hold.

Gaps one to two standard errors from zero are where the kink of |·| breaks the article's bootstrap; the smooth
components are checked there with both signs, with three groups and one-sided, and the article's is shown to fail.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from inside.improve import (
    Aggregation,
    Component,
    MarginKind,
    accuracy_components,
    combine_p_values,
    directed_pairs,
    smooth_fairness_components,
    worst_pair,
)
from inside.inference import (
    LevelCells,
    Levels,
    Utility,
    adverse_levels,
    bootstrap_levels,
    level_cells,
)
from inside.papers import COVARIANCE as COVARIANCE
from inside.papers import DRAWS as DRAWS
from inside.papers import NAMES as NAMES
from inside.papers import fairness_rejections as fairness_rejections
from inside.papers import gap_levels as gap_levels
from inside.papers import kinked_gap as kinked_gap
from inside.papers import largest_p as largest_p
from inside.papers import standard_errors as standard_errors

Floats = NDArray[np.float64]

SPLITS = 7


def fairness_errors(
    repeats: int, rng: np.random.Generator, *, which: int, gap0: float, gap1: float, **settings: Any
) -> Floats:
    return np.asarray(
        fairness_rejections(repeats, rng, gap0=gap0, gap1=gap1, **settings)[which], dtype=np.float64
    )


def levels_of_rates(
    rng: np.random.Generator, group: NDArray[np.int64], old: Floats, new: Floats, shared: float
) -> Levels:
    """Levels of two binary decisions per person, see `cells_of_rates`."""
    return bootstrap_levels(cells_of_rates(rng, group, old, new, shared), DRAWS, rng)


def levels_and_adverse(
    rng: np.random.Generator, group: NDArray[np.int64], old: Floats, new: Floats, shared: float
) -> tuple[Levels, Floats]:
    """The same as an accuracy, with the draws of its adverse row: from right to wrong."""
    cells = cells_of_rates(rng, group, old, new, shared)
    wrong = np.tile(np.array([[1.0, 1.0], [0.0, 1.0]]), (len(old) + 1, 1, 1))
    return bootstrap_levels(cells, 1, rng), adverse_levels(cells, 0, wrong, DRAWS, rng)


def cells_of_rates(
    rng: np.random.Generator, group: NDArray[np.int64], old: Floats, new: Floats, shared: float
) -> LevelCells:
    """Two binary decisions per person with given rates by group; `shared` is how often both use the same luck."""
    luck = rng.random((2, group.size))
    luck[1] = np.where(rng.random(group.size) < shared, luck[0], luck[1])
    ones = np.ones(group.size)
    utility = Utility(
        name="rate",
        u0=(luck[0] < old[group]).astype(np.float64),
        w0=ones,
        u1=(luck[1] < new[group]).astype(np.float64),
        w1=ones,
    )
    return level_cells(group, len(old), [utility])


def accuracy_errors(
    repeats: int, rng: np.random.Generator, *, rate: float, rows: int, delta: float
) -> Floats:
    """One small group beside a large one, the candidate exactly (1+Δ) times as accurate: T_g = 0."""
    group = np.repeat([0, 1], [rows, 5 * rows])
    rejected = np.zeros(repeats)
    for i in range(repeats):
        levels, adverse = levels_and_adverse(
            rng, group, np.full(2, rate), np.full(2, (1 + delta) * rate), 0.5
        )
        small = accuracy_components(levels, 0, NAMES, kind="relative", adverse=adverse)[0]
        rejected[i] = small.p_value(delta) <= 0.05
    return rejected


def three_groups_errors(repeats: int, rng: np.random.Generator, *, only_worst: bool) -> Floats:
    """The candidate closes the worst gap and opens an equal one elsewhere: the largest gap stays."""
    old, new = np.array([0.7, 0.4, 0.55]), np.array([0.7, 0.7, 0.4])
    group = np.repeat([0, 1, 2], 200)
    pairs = directed_pairs(3)
    rejected = np.zeros(repeats)
    for i in range(repeats):
        levels = levels_of_rates(rng, group, old, new, 0.5)
        worst = worst_pair(_training_levels(rng, group, old), pairs)
        tested = [worst, worst[::-1]] if only_worst else pairs
        components = smooth_fairness_components(
            levels, 0, NAMES, kind="relative", pairs=tested, worst=worst, one_sided=False
        )
        rejected[i] = largest_p(components) <= 0.05
    return rejected


def close_groups_errors(repeats: int, rng: np.random.Generator) -> Floats:
    """Three groups whose gaps are all within two standard errors, and the candidate's are the same ones permuted."""
    old, new = np.array([0.5, 0.56, 0.44]), np.array([0.44, 0.5, 0.56])
    group = np.repeat([0, 1, 2], 150)
    pairs = directed_pairs(3)
    rejected = np.zeros(repeats)
    for i in range(repeats):
        levels = levels_of_rates(rng, group, old, new, 0.5)
        worst = worst_pair(_training_levels(rng, group, old), pairs)
        components = smooth_fairness_components(
            levels, 0, NAMES, kind="relative", pairs=pairs, worst=worst, one_sided=False
        )
        rejected[i] = largest_p(components) <= 0.05
    return rejected


def _training_levels(rng: np.random.Generator, group: NDArray[np.int64], rates: Floats) -> Floats:
    counts = np.bincount(group)
    return rng.binomial(counts, rates) / counts


def one_sided_errors(
    repeats: int,
    rng: np.random.Generator,
    *,
    old: tuple[float, float],
    new: tuple[float, float],
    kind: MarginKind,
    existence: bool = True,
) -> Floats:
    """Only the protected group (b) below the reference (a) counts; `existence` asks that there be a disparity."""
    group = np.repeat([0, 1], 250)
    pairs = directed_pairs(2, reference=0, direction="below")
    rejected = np.zeros(repeats)
    for i in range(repeats):
        levels = levels_of_rates(rng, group, np.array(old), np.array(new), 0.5)
        components = smooth_fairness_components(
            levels, 0, NAMES, kind=kind, pairs=pairs, worst=(0, 1), one_sided=existence
        )
        rejected[i] = largest_p(components) <= 0.05
    return rejected


def selected_mean_errors(repeats: int, rng: np.random.Generator, *, which: str) -> Floats:
    """Mean conditions of the selected, with as few selected Black patients as in Obermeyer et al.'s data.

    Both rules select 65 of them, 45 in common, so gaps of +0.6 and −0.6 are about one standard error each; nominal
    2.5%, as in each of several splits.
    """
    common, own, gap = 45, 20, 0.6
    sizes = {
        0: (100, 100, 100),
        1: (own, common, own),
    }  # by the status quo only, by both, by the candidate only
    group = np.repeat([0, 1], [sum(sizes[g]) for g in (0, 1)])
    d0 = np.concatenate([np.repeat([1.0, 1.0, 0.0], sizes[g]) for g in (0, 1)])
    d1 = np.concatenate([np.repeat([0.0, 1.0, 1.0], sizes[g]) for g in (0, 1)])
    shift = gap * (common + own) / own
    mean = 5.2 + np.where(group == 1, shift * (d0 - d1), 0.0)
    pairs = directed_pairs(2)
    rejected = np.zeros(repeats)
    for i in range(repeats):
        y = rng.poisson(rng.gamma(2.5, mean / 2.5)).astype(float)
        utility = Utility(name="conditions", u0=y * d0, w0=d0, u1=y * d1, w1=d1)
        levels = bootstrap_levels(level_cells(group, 2, [utility]), DRAWS, rng)
        if which == "paper":
            components: list[Component] = [
                kinked_gap(levels, 0, kind="relative", pairs=pairs, one_sided=False)
            ]
        else:
            # the sign from a training half: about one standard error from zero, so sometimes wrong
            worst = (1, 0) if rng.normal(gap, 0.55) > 0 else (0, 1)
            components = smooth_fairness_components(
                levels, 0, NAMES, kind="relative", pairs=pairs, worst=worst, one_sided=False
            )
        rejected[i] = largest_p(components) <= 0.025
    return rejected


def whole_procedure_errors(
    repeats: int, rng: np.random.Generator, *, aggregation: Aggregation, splits: int = SPLITS
) -> Floats:
    """Splits of one sample, a fixed candidate that is more accurate but exactly as unfair."""
    people, draws = 300, 199
    group = np.repeat([0, 1], people)
    accuracy, old, new = (0.6, 0.85), np.array([0.55, 0.45]), np.array([0.45, 0.55])
    pairs = directed_pairs(2)
    rejected = np.zeros(repeats)
    for i in range(repeats):
        luck = rng.random((2, 2 * people))
        right0, right1 = ((rng.random(2 * people) < rate).astype(np.float64) for rate in accuracy)
        chosen0, chosen1 = (
            (luck[0] < old[group]).astype(np.float64),
            (luck[1] < new[group]).astype(np.float64),
        )
        p_values = []
        for _ in range(splits):
            order = rng.permutation(2 * people)
            train, test = order[:people], order[people:]
            ones = np.ones(people)
            right = Utility(name="accuracy", u0=right0[test], w0=ones, u1=right1[test], w1=ones)
            chosen = Utility(name="selection", u0=chosen0[test], w0=ones, u1=chosen1[test], w1=ones)
            levels = bootstrap_levels(level_cells(group[test], 2, [right, chosen]), draws, rng)
            trained = np.bincount(group[train], chosen0[train]) / np.bincount(group[train])
            components = [
                *accuracy_components(levels, 0, NAMES, kind="relative"),
                *smooth_fairness_components(
                    levels,
                    1,
                    NAMES,
                    kind="relative",
                    pairs=pairs,
                    worst=worst_pair(trained, pairs),
                    one_sided=False,
                ),
            ]
            p_values.append(largest_p(components))
        rejected[i] = combine_p_values(p_values, aggregation) <= 0.05
    return rejected


def simulated_people(rng: np.random.Generator, rows: int, misled: float) -> dict[str, NDArray[Any]]:
    """People whose outcome depends on `need` alone; the status quo also follows a proxy, by `misled`.

    misled = 0 is the frontier: the status quo decides by P(outcome | need) ≥ ½, which no rule betters for any group,
    while the groups differ in need, so a gap remains. With misled > 0, deciding by need alone is known to be better.
    """
    group = rng.integers(0, 2, rows)
    need = rng.normal(size=rows) - 0.5 * group
    proxy = rng.normal(size=rows) - 1.0 * group
    outcome = rng.random(rows) < 1 / (1 + np.exp(-2 * need))
    return {
        "group": np.where(group == 1, "b", "a"),
        "need": need,
        "proxy": proxy,
        "outcome": outcome.astype(np.int64),
        "decision": (need + misled * proxy >= 0).astype(np.int64),
    }


def portfolio_rejections(
    repeats: int, rng: np.random.Generator, *, misled: float, rows: int = 2000
) -> Floats:
    """Whether the default portfolio shows an alternative, one whole analysis of three splits per repeat."""
    import pyarrow as pa

    from fairtrial import Audit, improve

    rejected = np.zeros(repeats)
    for i in range(repeats):
        table = pa.table(simulated_people(rng, rows, misled))
        audit = Audit(
            table, outcome="outcome", decision="decision", groups="group", features=["need", "proxy"]
        )
        result = improve(
            audit,
            "selection_rate",
            splits=3,
            bootstrap=499,
            jobs=1,
            seed=int(rng.integers(2**31)),
        )
        rejected[i] = result.rejected
    return rejected
