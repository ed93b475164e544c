"""Component tests of an improvement: ties, kinks, signs, groups, aggregation."""

import math

import numpy as np
import pytest
from scipy.stats import beta, norm
from scipy.stats import t as student

from inside.improve import (
    accuracy_components,
    area_component,
    combine_p_values,
    directed_pairs,
    gap_of,
    log_levels,
    lower_median,
    rejection_prefixes,
    smooth_fairness_components,
    splits_against_manipulation,
    worst_pair,
)
from inside.inference import Utility, adverse_levels, bootstrap_levels, level_cells
from inside.papers import kinked_gap
from oracles.improve import negative_sum_of_exponentials, resampled_levels

NAMES = ["a", "b", "c"]
EVERYONE = np.array([0.0, 0.0, 1.0])
# the worst change of a 0/1 utility: from right to wrong, in each of two groups and for everyone
WRONG = np.tile(np.array([[1.0, 1.0], [0.0, 1.0]]), (3, 1, 1))


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
    unchanged, improved = accuracy_components(levels_of(group, 2, utility), 0, NAMES, kind="relative")
    assert unchanged.statistic(0.0) == 0.0
    assert unchanged.p_value(0.0) == 1.0
    assert unchanged.delta_method(0.0) is None
    assert improved.p_value(0.0) < 0.01


@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_bootstrap_p_values_are_those_of_resampled_rows(kind):
    group, utility = better_for_one_group(seed=3, rows=150)
    levels = levels_of(group, 2, utility, draws=4000)
    naive = resampled_levels(group, 2, [utility], 4000, np.random.default_rng(5))
    delta = 0.1
    component = accuracy_components(levels, 0, NAMES, kind=kind)[1]
    estimate = component.statistic(delta)
    a0, a1 = naive[:, 0, 0, 1], naive[:, 0, 1, 1]
    star = a1 - (1 + delta) * a0 if kind == "relative" else a1 - a0 - delta
    expected = np.mean(star - estimate >= estimate)
    assert component.p_value(delta) == pytest.approx(expected, abs=0.03)
    assert component.delta_method(delta) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("kind", ["relative", "absolute"])
@pytest.mark.parametrize("level", [0.025, 0.2])
def test_largest_delta_is_where_the_p_value_crosses_the_level(kind, level):
    group, utility = better_for_one_group(seed=4)
    levels = levels_of(group, 2, utility)
    pairs = directed_pairs(2)
    cells = level_cells(group, 2, [utility])
    adverse = adverse_levels(cells, 0, WRONG, 2000, np.random.default_rng(2))
    components = [
        *accuracy_components(levels, 0, NAMES, kind=kind, adverse=adverse),
        *accuracy_components(levels, 0, NAMES, kind=kind, adverse=adverse, weights=np.array([0.7, 0.3, 0.0])),
        *accuracy_components(levels, 0, NAMES, kind=kind)[1:],
        *accuracy_components(levels, 0, NAMES, kind=kind, weights=EVERYONE),
        *smooth_fairness_components(levels, 0, NAMES, kind=kind, pairs=pairs, worst=(0, 1), one_sided=False),
        kinked_gap(levels, 0, kind=kind, pairs=pairs, one_sided=False),
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
    component = kinked_gap(levels, 0, kind="relative", pairs=directed_pairs(2), one_sided=False)
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
        levels, 0, NAMES, kind="relative", pairs=pairs, worst=worst, one_sided=False
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
        levels, 0, NAMES, kind="absolute", pairs=pairs, worst=(0, 1), one_sided=True
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
    component = accuracy_components(levels_of(group, 2, utility), 0, NAMES, kind="relative")[0]
    assert component.p_value(0.0) < 0.01
    assert component.p_value(5.0) < 0.01
    assert component.largest_delta(0.05) == math.inf


def test_undefined_draws_count_against_rejection():
    group = np.array([0] * 300 + [1] * 300)
    weight = np.concatenate([np.ones(300), np.eye(1, 300)[0]])  # one person of group b carries the level
    utility = Utility(name="u", u0=0.2 * weight, w0=weight, u1=0.9 * weight, w1=weight)
    component = accuracy_components(levels_of(group, 2, utility), 0, NAMES, kind="relative")[1]
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


# -- the accuracy test with one adverse row ---------------------------------------------------------------------


def adverse_p(changes, worst, draws=200_000, seed=0):
    """P*(Σ v·change ≤ 0) of a payoff whose status quo is zero everywhere."""
    changes = np.asarray(changes, dtype=float)
    ones, zeros = np.ones(changes.size), np.zeros(changes.size)
    utility = Utility(name="profit", u0=zeros, w0=ones, u1=changes, w1=ones)
    cells = level_cells(np.zeros(changes.size, dtype=int), 1, [utility])
    row = np.tile(np.array([[0.0, 1.0], [worst, 1.0]]), (2, 1, 1))
    drawn = adverse_levels(cells, 0, row, draws, np.random.default_rng(seed))
    levels = bootstrap_levels(cells, 1, np.random.default_rng(seed))
    (component,) = accuracy_components(levels, 0, NAMES, kind="absolute", adverse=drawn)
    return component.p_value(0.0)


@pytest.mark.parametrize(
    ("gains", "losses", "loss", "listed"),
    [(36, 0, 49, 0.483213), (149, 0, 49, 0.049282), (240, 1, 49, 0.045466)],
)
def test_gains_of_one_and_equal_losses_have_a_beta_distribution(gains, losses, loss, listed):
    """The listed numbers of the method's page, and P(Beta(losses + 1, gains) ≥ 1/(1 + loss)) by SciPy."""
    exact = beta.sf(1 / (1 + loss), losses + 1, gains)
    assert exact == pytest.approx(listed, abs=5e-7)
    changes = [1.0] * gains + [-float(loss)] * losses + [0.0] * 50  # people whose decision stays do not count
    noise = 4 * math.sqrt(exact * (1 - exact) / 200_000)
    assert adverse_p(changes, -float(loss)) == pytest.approx(exact, abs=noise)


def test_unequal_changes_have_the_law_of_a_sum_of_exponentials():
    changes, worst = [2.0, 1.0, 0.5, 3.0, -1.0], -4.0
    exact = negative_sum_of_exponentials([*changes, worst])
    assert exact == pytest.approx(0.351940, abs=5e-7)  # listed on the method's page
    assert adverse_p(changes, worst) == pytest.approx(exact, abs=4 * math.sqrt(0.25 / 200_000))


def test_a_candidate_that_changes_nobody_gets_p_one():
    assert adverse_p([0.0] * 40, -1.0, draws=500) == 1.0


def test_weighted_groups_are_a_weighted_sum():
    group, utility = better_for_one_group(seed=12)
    levels = levels_of(group, 2, utility)
    (component,) = accuracy_components(levels, 0, NAMES, kind="absolute", weights=np.array([0.25, 0.75, 0.0]))
    each = accuracy_components(levels, 0, NAMES, kind="absolute")
    expected = 0.25 * each[0].statistic(0.0) + 0.75 * each[1].statistic(0.0)
    assert component.statistic(0.0) == pytest.approx(expected)
    errors = [each[i].standard_error(0.0) for i in (0, 1)]
    assert component.standard_error(0.0) == pytest.approx(math.hypot(0.25 * errors[0], 0.75 * errors[1]))


def test_impact_ratios_are_differences_of_logs():
    """The listed numbers of the method's page, and the standard errors of log ratios of counts by hand."""
    group = np.array([0] * 6 + [1] * 6)
    s0 = np.array([0.9, 0.6, 0.4, 0.8, 0.5, 0.3, 0.7, 0.2, 0.1, 0.4, 0.35, 0.6])
    s1 = np.array([0.8, 0.7, 0.5, 0.6, 0.4, 0.2, 0.3, 0.1, 0.6, 0.2, 0.9, 0.45])
    d0, d1 = (s0 >= 0.5).astype(float), (s1 >= 0.45).astype(float)
    levels = log_levels(levels_of(group, 2, rates(group, d0, d1)))
    nearer, not_beyond = smooth_fairness_components(
        levels,
        0,
        NAMES,
        kind="relative",
        pairs=directed_pairs(2),
        worst=(0, 1),
        one_sided=False,
        law="normal",
    )
    assert nearer.statistic(0.0) == pytest.approx(0.405465, abs=1e-6)
    assert nearer.standard_error(0.0) == pytest.approx(0.790569, abs=1e-6)
    assert not_beyond.statistic(0.0) == pytest.approx(0.980829, abs=1e-6)
    assert not_beyond.standard_error(0.0) == pytest.approx(0.841625, abs=1e-6)
    assert nearer.p_value(0.0) == pytest.approx(norm.sf(0.405465 / 0.790569), abs=1e-6)
    threshold = nearer.largest_delta(0.4)
    assert nearer.p_value(threshold) == pytest.approx(0.4, abs=1e-6)


def test_fixed_rules_pay_for_their_number():
    assert combine_p_values([0.04, 0.01, 0.3], "all rows") == pytest.approx(0.03)
    assert combine_p_values([0.5, 0.6], "all rows") == 1.0
    assert rejection_prefixes(3, "all rows") == [(3, 1)]


# -- the area under the curve -----------------------------------------------------------------------------------

Y = np.array([1.0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0])
S0 = np.array([0.9, 0.6, 0.4, 0.8, 0.5, 0.3, 0.7, 0.2, 0.1, 0.4, 0.35, 0.6])
S1 = np.array([0.8, 0.7, 0.5, 0.6, 0.4, 0.2, 0.3, 0.1, 0.6, 0.2, 0.9, 0.45])


def test_areas_and_their_standard_error():
    """The listed numbers of the method's page; the areas also by comparing all pairs."""
    found = area_component("everyone", Y, S0, S1)
    assert [found.old, found.new] == pytest.approx([0.742857, 0.957143], abs=1e-6)
    assert found.standard_error(0.0) == pytest.approx(0.169533, abs=1e-6)
    for score, area in ((S0, found.old), (S1, found.new)):
        above = [np.sign(a - b) / 2 + 0.5 for a in score[Y == 1] for b in score[Y == 0]]
        assert area == pytest.approx(np.mean(above))
    assert found.p_value(0.0) == pytest.approx(student.sf(found.statistic(0.0) / 0.169533, 4), abs=1e-5)
    threshold = found.largest_delta(0.2)
    assert found.p_value(threshold) == pytest.approx(0.2)
    assert area_component("everyone", Y, S0, S0).p_value(0.0) == 1.0
    assert area_component("everyone", np.ones(3), np.ones(3), np.ones(3)).p_value(0.0) == 1.0
