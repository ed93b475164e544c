"""Component tests of an improvement: ties, kinks, signs, groups, aggregation."""

import math

import numpy as np
import pytest

from fairtrial.inference.numeric.cell_bootstrap import Utility, bootstrap_levels, level_cells
from fairtrial.methods.improve.solver.all_splits import (
    combine_p_values,
    lower_median,
    rejection_prefixes,
    splits_against_manipulation,
)
from fairtrial.methods.improve.solver.improvement import (
    accuracy_components,
    directed_pairs,
    gap_of,
    paper_fairness_component,
    smooth_fairness_components,
    worst_pair,
)
from oracles.improve import resampled_levels

NAMES = ["a", "b", "c"]


def rates(group, right0, right1):
    ones = np.ones(len(group))
    return Utility(name="accuracy", u0=right0.astype(float), w0=ones, u1=right1.astype(float), w1=ones)


def levels_of(group, groups, utility, *, draws=2000, seed=1):
    return bootstrap_levels(level_cells(group, groups, [utility]), draws, np.random.default_rng(seed))


def better_for_one_group(seed=0, rows=400):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    right0 = rng.random(rows) < np.where(group == 0, 0.8, 0.5)
    right1 = np.where(group == 1, rng.random(rows) < 0.75, right0)
    return group, rates(group, right0, right1)


def test_a_candidate_that_leaves_a_group_alone_gets_p_one_there():
    group, utility = better_for_one_group()
    unchanged, improved = accuracy_components(
        levels_of(group, 2, utility), 0, NAMES, scale="ratio", pooled=False
    )
    assert unchanged.statistic(0.0) == 0.0
    assert unchanged.p_value(0.0) == 1.0
    assert unchanged.delta_method(0.0) is None
    assert improved.p_value(0.0) < 0.01


@pytest.mark.parametrize("scale", ["ratio", "difference"])
def test_bootstrap_p_values_are_those_of_resampled_rows(scale):
    group, utility = better_for_one_group(seed=3, rows=150)
    levels = levels_of(group, 2, utility, draws=4000)
    naive = resampled_levels(group, 2, [utility], 4000, np.random.default_rng(5))
    delta = 0.1
    component = accuracy_components(levels, 0, NAMES, scale=scale, pooled=False)[1]
    estimate = component.statistic(delta)
    a0, a1 = naive[:, 0, 0, 1], naive[:, 0, 1, 1]
    star = a1 - (1 + delta) * a0 if scale == "ratio" else a1 - a0 - delta
    expected = np.mean(star - estimate >= estimate)
    assert component.p_value(delta) == pytest.approx(expected, abs=0.03)
    assert component.delta_method(delta) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("scale", ["ratio", "difference"])
@pytest.mark.parametrize("level", [0.025, 0.2])
def test_largest_delta_is_where_the_p_value_crosses_the_level(scale, level):
    group, utility = better_for_one_group(seed=4)
    levels = levels_of(group, 2, utility)
    pairs = directed_pairs(2)
    components = [
        *accuracy_components(levels, 0, NAMES, scale=scale, pooled=False)[1:],
        *accuracy_components(levels, 0, NAMES, scale=scale, pooled=True),
        *smooth_fairness_components(
            levels, 0, NAMES, scale=scale, pairs=pairs, worst=(0, 1), one_sided=False
        ),
        paper_fairness_component(levels, 0, scale=scale, pairs=pairs, one_sided=False),
    ]
    for component in components:
        threshold = component.largest_delta(level)
        assert math.isfinite(threshold)
        assert component.p_value(threshold - 1e-9) < level
        if threshold < 1.0:
            assert component.p_value(threshold + 1e-9) >= level


def test_the_papers_component_is_its_formula():
    group, utility = better_for_one_group(seed=6)
    levels = levels_of(group, 2, utility)
    component = paper_fairness_component(levels, 0, scale="ratio", pairs=directed_pairs(2), one_sided=False)
    gap = np.abs(levels.estimate[0, :, 0] - levels.estimate[0, :, 1])
    star = np.abs(levels.draws[:, 0, :, 0] - levels.draws[:, 0, :, 1])
    estimate, drawn = gap[1] - 0.9 * gap[0], star[:, 1] - 0.9 * star[:, 0]
    expected = (1 + np.sum(drawn - estimate <= estimate)) / (1 + len(drawn))
    assert component.p_value(0.1) == pytest.approx(expected)


def test_three_groups_a_gap_opened_elsewhere_is_seen():
    rng = np.random.default_rng(7)
    rows = 3000
    group = rng.integers(0, 3, rows)
    right0 = rng.random(rows) < np.array([0.8, 0.5, 0.65])[group]
    right1 = rng.random(rows) < np.array([0.8, 0.8, 0.5])[group]  # closes a−b, opens an equal gap to c
    levels = levels_of(group, 3, rates(group, right0, right1))
    pairs = directed_pairs(3)
    worst = worst_pair(levels.estimate[0, 0], pairs)
    assert worst == (0, 1)
    components = smooth_fairness_components(
        levels, 0, NAMES, scale="ratio", pairs=pairs, worst=worst, one_sided=False
    )
    alone = [c for c in components if c.name in ("a − b", "b − a")]
    assert max(c.p_value(0.0) for c in alone) < 0.01
    assert max(c.p_value(0.0) for c in components) > 0.05


def test_one_sided_needs_a_disparity_to_begin_with():
    rng = np.random.default_rng(8)
    rows = 3000
    group = rng.integers(0, 2, rows)
    right0 = rng.random(rows) < np.array([0.5, 0.5])[group]
    right1 = rng.random(rows) < np.array([0.5, 0.8])[group]
    levels = levels_of(group, 2, rates(group, right0, right1))
    pairs = directed_pairs(2, reference=0, direction="below")
    assert pairs == [(0, 1)]
    improved, exists = smooth_fairness_components(
        levels, 0, NAMES, scale="difference", pairs=pairs, worst=(0, 1), one_sided=True
    )
    assert improved.p_value(0.0) < 0.01  # the protected group gained, but it was not behind
    assert exists.p_value(0.0) > 0.05


def test_directed_pairs_follow_the_harm():
    assert directed_pairs(3, reference=1, direction="above") == [(0, 1), (2, 1)]
    assert gap_of(np.array([0.2, 0.7, 0.4]), directed_pairs(3)) == pytest.approx(0.5)


def test_a_status_quo_of_zero_can_be_improved_by_any_factor():
    rng = np.random.default_rng(9)
    group = rng.integers(0, 2, 200)
    utility = rates(group, np.zeros(200), rng.random(200) < 0.5)
    component = accuracy_components(levels_of(group, 2, utility), 0, NAMES, scale="ratio", pooled=False)[0]
    assert component.p_value(0.0) < 0.01
    assert component.p_value(5.0) < 0.01
    assert component.largest_delta(0.05) == math.inf


def test_undefined_draws_count_against_rejection():
    group = np.array([0] * 300 + [1] * 300)
    weight = np.concatenate([np.ones(300), np.eye(1, 300)[0]])  # one person of group b carries the level
    utility = Utility(name="u", u0=0.2 * weight, w0=weight, u1=0.9 * weight, w1=weight)
    component = accuracy_components(levels_of(group, 2, utility), 0, NAMES, scale="ratio", pooled=False)[1]
    assert component.p_value(0.0) > 0.3  # exp(-1) of the draws leave nobody


def test_aggregation_rules():
    values = [0.04, 0.001, 0.3, 0.02]
    assert lower_median(values) == 0.02
    assert combine_p_values(values, "median") == pytest.approx(0.04)
    assert combine_p_values(values, "single") == 0.04
    assert combine_p_values(values, "running-median") == pytest.approx(0.002)  # after two splits: twice .001
    assert combine_p_values([0.9, 0.8, 0.7], "median") == 1.0
    assert rejection_prefixes(7, "median") == [(7, 4)]
    assert rejection_prefixes(3, "running-median") == [(1, 1), (2, 1), (3, 2)]


def test_proposition_1():
    assert splits_against_manipulation(0.05) == 7
    assert splits_against_manipulation(0.01) == 10
