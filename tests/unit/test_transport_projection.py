"""The fast routes against HiGHS on every criterion × distance kind × edge case, and the plan's own equations."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from inside.transport import (
    band,
    disjoint_families,
    from_matrices,
    overlapping_families,
    project,
    transport_plan,
)
from oracles.transport_by_rows import project_by_rows
from oracles.transport_instances import CRITERIA, DISTANCES, EDGES, make_instance

GRID = [(c, d, e) for c in CRITERIA for d in DISTANCES for e in EDGES]
INSTANCES = [(seed, *kind) for seed, kind in enumerate(GRID)]


def test_fast_routes_equal_highs_on_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    """Values to 1e-9, plans that cost what they should and meet the criterion to 1e-10."""
    seen: Counter[str] = Counter()
    worst_value = worst_criterion = 0.0
    for seed, criterion, distance_kind, edge in INSTANCES:
        case = make_instance(seed, criterion, distance_kind, edge)
        label = f"{criterion} × {distance_kind} × {edge} (seed {seed}, {case.direction})"
        fast = project(case.problem, case.distance, case.lower, case.upper)
        value, _ = project_by_rows(case.problem, case.distance, case.lower, case.upper)
        seen.update(["instances", criterion, distance_kind, f"edge: {edge}", *fast.routes])
        if np.isinf(value):
            assert np.isinf(fast.statistic), label
            assert fast.infeasible, label
            seen["infeasible"] += 1
            continue
        assert fast.infeasible is None, label
        assert fast.statistic == pytest.approx(value, rel=1e-9, abs=1e-9), label
        plan = transport_plan(case.problem, case.distance, fast)
        assert ((plan >= 0) & (plan <= 1)).all(), label
        assert (plan[np.isinf(case.distance)] == 0).all(), label
        assert plan @ np.where(plan > 0, case.distance, 0.0) == pytest.approx(value, rel=1e-9, abs=1e-9), (
            label
        )
        after = case.problem.contrast @ case.problem.rates_after(case.problem.moved_mass(plan))
        outside = max((after - case.upper).max(), (case.lower - after).max())
        assert outside < 1e-10, label
        worst_value = max(worst_value, abs(fast.statistic - value) / max(1.0, value))
        worst_criterion = max(worst_criterion, outside)
        seen["zero distances"] += bool((case.distance == 0).any())
        seen["infinite distances"] += bool(np.isinf(case.distance).any())
        seen["φ = 0"] += bool((case.problem.phi[case.problem.pattern] == 0).all(axis=1).any())
    with capsys.disabled():
        print(f"\nfast routes against HiGHS, largest relative difference {worst_value:.1e}, "
              f"largest miss of the criterion {worst_criterion:.1e}:")  # fmt: skip
        for name, count in seen.items():
            print(f"  {count:4d} {name}")
    assert seen["instances"] >= 300
    for needed in ("infeasible", "zero distances", "infinite distances", "φ = 0", "edge: tolerance"):
        assert seen[needed] >= 20, needed
    for route in ("common rate", "sort", "refinement"):
        assert seen[route] >= 10, route


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("tolerance", [0.0, 0.02])
def test_refinement_is_exact_where_it_takes_several_rounds(columns: int, tolerance: float) -> None:
    rng = np.random.default_rng(columns)
    n = 6000
    codes = [rng.integers(0, 2, n) for _ in range(columns)]
    score = rng.normal(size=n) + sum(0.2 * code for code in codes)
    problem = overlapping_families(codes, [0] * columns, (score > 0).astype(int))
    limits = band(problem.size, tolerance, "differs")
    fast = project(problem, np.abs(score), *limits)
    value, _ = project_by_rows(problem, np.abs(score), *limits)
    assert fast.routes == ("refinement",)
    assert fast.statistic == pytest.approx(value, rel=1e-10)
    plan = transport_plan(problem, np.abs(score), fast)
    gap = problem.contrast @ problem.rates_after(problem.moved_mass(plan))
    assert np.abs(gap).max() <= tolerance + 1e-10


def _two_groups(rng: np.random.Generator, n: int = 400, k: int = 2):  # type: ignore[no-untyped-def]
    group = rng.integers(0, k, n)
    score = rng.normal(size=n) + 0.4 * group
    problem = disjoint_families(group, [(range(k), 0)], (score > 0).astype(int))
    return group, score, problem


def test_rows_in_another_order_move_the_same() -> None:
    rng = np.random.default_rng(11)
    group, _, _ = _two_groups(rng)
    score = rng.integers(1, 11, group.size) + group * rng.integers(0, 2, group.size)
    distance, event = np.abs(score - 5.5), (score > 5).astype(int)
    order = rng.permutation(group.size)
    plans = []
    for rows in (np.arange(group.size), order):
        problem = disjoint_families(group[rows], [((0, 1), 0)], event[rows])
        fast = project(problem, distance[rows], *band(1, 0.0, "differs"))
        plans.append(transport_plan(problem, distance[rows], fast))
    assert np.allclose(plans[0][order], plans[1], atol=1e-12)


def test_rescaling_distances_scales_the_cost_and_leaves_the_plan() -> None:
    rng = np.random.default_rng(12)
    for make in ("groups", "overlap"):
        group, score, problem = _two_groups(rng, k=4)
        if make == "overlap":
            problem = overlapping_families([group % 2, group // 2], [0, 0], problem.event)
        base = project(problem, np.abs(score), *band(problem.size, 0.0, "differs"))
        for factor in (10.0, 0.1, 1e-6):
            other = project(problem, np.abs(score) * factor, *band(problem.size, 0.0, "differs"))
            assert other.statistic == pytest.approx(base.statistic * factor, rel=1e-9)
            assert np.allclose(other.moved, base.moved, atol=1e-7)


def test_swapping_the_reference_changes_nothing_without_a_tolerance() -> None:
    rng = np.random.default_rng(13)
    group, score, problem = _two_groups(rng, k=3)
    values = []
    for reference in range(3):
        swapped = disjoint_families(group, [(range(3), reference)], problem.event)
        values.append(project(swapped, np.abs(score), *band(2, 0.0, "differs")).statistic)
    assert np.ptp(values) < 1e-9


def test_a_useful_row_on_the_boundary_moves_for_nothing_but_the_rest_still_costs() -> None:
    """The article's Algorithm 1 divides by d = 0 and returns zero here."""
    group, event = np.array([0] * 4 + [1] * 4), np.array([1, 1, 1, 1, 0, 0, 0, 0])
    distance = np.array([0.0, 1, 2, 3, 1, 1, 1, 1])
    problem = disjoint_families(group, [((0, 1), 0)], event)
    fast = project(problem, distance, *band(1, 0.0, "differs"))
    value, _ = project_by_rows(problem, distance, *band(1, 0.0, "differs"))
    assert fast.statistic == pytest.approx(value)
    assert fast.statistic == pytest.approx(3.0)


def test_infeasible_says_which_groups_cannot_meet() -> None:
    group, event = np.array([0, 0, 0, 1, 1, 1]), np.array([1, 1, 1, 0, 0, 0])
    problem = disjoint_families(group, [((0, 1), 0)], event, names=("women", "men"))
    fast = project(problem, np.full(6, np.inf), *band(1, 0.0, "differs"))
    assert np.isinf(fast.statistic)
    assert fast.infeasible is not None
    assert "women" in fast.infeasible
    assert "men" in fast.infeasible


def test_equalized_odds_is_the_sum_of_its_two_parts() -> None:
    rng = np.random.default_rng(14)
    group, score, whole = _two_groups(rng)
    outcome = rng.integers(0, 2, group.size)
    parts = 0.0
    for value in (0, 1):
        part = disjoint_families(np.where(outcome == value, group, -1), [((0, 1), 0)], whole.event)
        parts += project(part, np.abs(score), *band(1, 0.0, "differs")).statistic
    both = disjoint_families(2 * outcome + group, [((0, 1), 0), ((2, 3), 2)], whole.event)
    assert project(both, np.abs(score), *band(2, 0.0, "differs")).statistic == pytest.approx(parts, rel=1e-12)


def test_a_tuple_of_ones_own_equals_the_named_criterion() -> None:
    rng = np.random.default_rng(15)
    group, score, problem = _two_groups(rng)
    u = np.column_stack([group == 1, group == 0, rng.random(group.size) < 0.5]).astype(float)
    own = from_matrices(u, [[1.0, -1.0, 0.0]], problem.event)
    limits = band(1, 0.0, "differs")
    expected = project(problem, np.abs(score), *limits).statistic
    assert project(own, np.abs(score), *limits).statistic == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("u", "w", "event", "message"),
    [
        (np.eye(2), [[1.0, 0.0]], [0, 1], "sum to zero"),
        (np.eye(2) * 2, [[1.0, -1.0]], [0, 1], "0 and 1 only"),
        (np.array([[1.0, 0], [1, 0]]), [[1.0, -1.0]], [0, 1], "no rows"),
        (np.eye(2), [[1.0, -1.0]], [0, 2], "T must hold"),
        (np.eye(2), [[1.0, -1.0, 0.0]], [0, 1], "one column per"),
    ],
)
def test_tuples_that_make_no_sense_are_refused(u, w, event, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        from_matrices(u, w, event)


@pytest.mark.parametrize("bad", [np.array([np.nan] * 6), -np.ones(6), np.ones(5)])
def test_distances_that_make_no_sense_are_refused(bad: np.ndarray) -> None:
    problem = disjoint_families(np.array([0, 0, 0, 1, 1, 1]), [((0, 1), 0)], np.array([1, 0, 1, 0, 0, 0]))
    with pytest.raises(ValueError, match="distance"):
        project(problem, bad, *band(1, 0.0, "differs"))
