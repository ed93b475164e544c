"""The search finds what trying every subgroup finds."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.scan_brute_force import all_subgroups

from fairtrial.papers.conditional_bias_scan import (
    BERNOULLI,
    GAUSSIAN,
    CellList,
    CellNumbers,
    SearchedCells,
    find_subgroups,
    maximum_scores,
    penalty_roots,
    plan_search,
    set_peak,
)
from inside.scan import attributes_of, subgroup_count


def random_problem(
    random: np.random.Generator, *, gaussian: bool, penalty: float, cells: int = 10
) -> SearchedCells:
    """Up to `cells` cells of up to three attributes with up to four values; some values may be absent."""
    arity = random.integers(1, 5, size=random.integers(1, 4)).astype(np.int64)
    full = np.array(np.unravel_index(np.arange(arity.prod()), arity)).T
    kept = np.sort(
        random.choice(len(full), size=min(len(full), random.integers(1, cells + 1)), replace=False)
    )
    codes = np.ascontiguousarray(full[kept]).astype(np.int64)
    size = random.integers(1, 30, size=len(codes)).astype(np.float64)
    expected = random.uniform(0.05, 0.95, size=len(codes))
    if gaussian:
        observed = random.normal(size=len(codes)) * np.sqrt(size) * 1.5
    else:
        rate = np.clip(expected + random.normal(0, 0.2, size=len(codes)), 0.0, 1.0)
        observed = random.binomial(size.astype(int), rate).astype(np.float64)
    return SearchedCells(
        gaussian=gaussian,
        codes=codes,
        arity=arity,
        size=size,
        observed=observed,
        expected=expected,
        penalty=penalty,
    )


def oracle(problem: SearchedCells, direction: str) -> list[tuple[float, int, bytes]]:
    return all_subgroups(
        problem.gaussian, problem.codes, list(problem.arity), problem.size, problem.observed, problem.expected,
        problem.penalty, direction,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("gaussian", [False, True], ids=["bernoulli", "gaussian"])
@pytest.mark.parametrize("penalty", [0.0, 1.0], ids=["free", "penalised"])
def test_exact_search_equals_trying_every_subgroup(gaussian: bool, penalty: float) -> None:
    """75 random tables for each score and penalty, 300 in all, in both directions."""
    random = np.random.default_rng(20 + 2 * gaussian + int(penalty))
    for _ in range(75):
        problem = random_problem(random, gaussian=gaussian, penalty=penalty)
        plan = plan_search(problem.arity, len(problem.size), "exact")
        for direction in ("above", "below"):
            scored = oracle(problem, direction)
            best = max(score for score, _, _ in scored)
            tolerance = 1e-8 * (1.0 + abs(best))
            simplest = min(listed for score, listed, _ in scored if score >= best - tolerance)
            (found,) = find_subgroups(problem, (direction,), plan)
            assert found.score == pytest.approx(best, abs=tolerance)
            assert found.listed == simplest
            drawn = CellNumbers(
                problem.kind, problem.size[None], problem.observed[None], problem.expected[None]
            )
            repeated = maximum_scores(problem, drawn, (direction,), plan, np.random.default_rng(0))
            assert repeated[0] == pytest.approx(best, abs=tolerance)


@pytest.mark.slow
def test_ranking_lists_the_best_distinct_subgroups() -> None:
    random = np.random.default_rng(5)
    for number in range(40):
        problem = random_problem(random, gaussian=bool(number % 2), penalty=0.5)
        plan = plan_search(problem.arity, len(problem.size), "exact")
        best_of: dict[bytes, float] = {}
        for score, _, who in oracle(problem, "above"):
            best_of[who] = max(score, best_of.get(who, -np.inf))
        wanted = sorted(best_of.values(), reverse=True)[:4]
        found = [one.score for one in find_subgroups(problem, ("above",), plan, top=4)]
        assert found == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("gaussian", [False, True], ids=["bernoulli", "gaussian"])
def test_restarts_never_beat_the_proof(gaussian: bool) -> None:
    """Tables with at least 1,000 subgroups; restarts may fall short, but a higher score would refute the proof."""
    random = np.random.default_rng(9 + gaussian)
    reached = 0
    for _ in range(40):
        arity = np.array([2, 3, 3, 4], dtype=np.int64)
        assert subgroup_count(attributes_of(arity)) >= 1_000
        codes = np.array(np.unravel_index(np.arange(arity.prod()), arity)).T.astype(np.int64)
        kept = random.random(len(codes)) < 0.8
        codes = np.ascontiguousarray(codes[kept])
        size = random.integers(1, 60, size=len(codes)).astype(np.float64)
        expected = random.uniform(0.05, 0.95, size=len(codes))
        observed = random.binomial(size.astype(int), expected).astype(np.float64)
        if gaussian:
            observed = random.normal(size=len(codes)) * np.sqrt(size)
        problem = SearchedCells(
            gaussian=gaussian, codes=codes, arity=arity, size=size, observed=observed, expected=expected,
            penalty=float(random.integers(2)),
        )  # fmt: skip
        exact = find_subgroups(problem, ("above", "below"), plan_search(arity, len(size), "exact"))[0]
        climbed = find_subgroups(problem, ("above", "below"), plan_search(arity, len(size), "restarts"))[0]
        assert climbed.score <= exact.score + 1e-9 * (1.0 + exact.score)
        reached += climbed.score >= exact.score - 1e-9
    assert reached >= 36


def test_the_all_values_candidate_is_needed() -> None:
    """Three values that are each below the penalty but together above their expectation: nobody is listed."""
    problem = SearchedCells(
        gaussian=False,
        codes=np.array([[0], [1], [2]]),
        arity=np.array([3]),
        size=np.array([50.0, 50.0, 50.0]),
        observed=np.array([29.0, 29.0, 29.0]),
        expected=np.array([0.5, 0.5, 0.5]),
        penalty=1.0,
    )
    (found,) = find_subgroups(problem, ("above",), plan_search(problem.arity, 3))
    assert found.listed == 0
    assert found.values.all()
    assert found.score == pytest.approx(87 * np.log(87 / 75) + 63 * np.log(63 / 75))


def test_a_group_in_which_everybody_has_the_event_is_scored_in_closed_form() -> None:
    numbers = CellNumbers(BERNOULLI, np.array([3.0, 4.0]), np.array([3.0, 4.0]), np.array([0.5, 0.2]))
    score, theta = set_peak(numbers, CellList(np.array([0, 1]), 0, 2), 0.0, np.inf)
    assert theta == np.inf
    assert score == pytest.approx(-3 * np.log(0.5) - 4 * np.log(0.2))


def test_roots_solve_their_equation() -> None:
    """F equals the penalty at both roots, for both scores."""
    size, expected = np.array([40.0, 25.0]), np.array([0.3, 0.6])
    part = CellList(np.array([0, 1]), 0, 2)
    observed = np.array([20.0, 20.0])
    lower, upper = penalty_roots(1.0, CellNumbers(BERNOULLI, size, observed, expected), part)
    for theta in (lower, upper):
        value = observed.sum() * theta - np.sum(size * np.log1p(np.expm1(theta) * expected))
        assert value == pytest.approx(1.0, abs=1e-9)
    lower, upper = penalty_roots(1.0, CellNumbers(GAUSSIAN, size, observed, expected), part)
    for mean in (lower, upper):
        assert mean * observed.sum() - size.sum() * mean**2 / 2 == pytest.approx(1.0)


def test_an_attribute_with_200_values_is_still_exact() -> None:
    """It is the one attribute that is solved rather than enumerated."""
    random = np.random.default_rng(3)
    codes = np.stack([np.repeat([0, 1], 200), np.tile(np.arange(200), 2)], axis=1).astype(np.int64)
    size = random.integers(5, 40, size=400).astype(np.float64)
    expected = random.uniform(0.2, 0.8, size=400)
    harmed = (codes[:, 0] == 1) & (codes[:, 1] < 7)
    rate = np.where(harmed, np.minimum(0.97, expected + 0.5), expected)
    observed = random.binomial(size.astype(int), rate).astype(np.float64)
    problem = SearchedCells(
        gaussian=False, codes=codes, arity=np.array([2, 200]), size=size, observed=observed, expected=expected,
        penalty=1.0,
    )  # fmt: skip
    plan = plan_search(problem.arity, 400)
    assert plan.exact
    assert plan.steps == 3
    (found,) = find_subgroups(problem, ("above",), plan)
    assert found.values[0, :2].tolist() == [False, True]
    assert found.values[1, :7].all()


def test_ties_go_to_the_simpler_subgroup() -> None:
    """Both attributes say the same, so naming one of them, or neither, is enough."""
    codes = np.array([[0, 0], [1, 1]])
    problem = SearchedCells(
        gaussian=False, codes=codes, arity=np.array([2, 2]), size=np.array([50.0, 50.0]),
        observed=np.array([45.0, 25.0]), expected=np.array([0.5, 0.5]), penalty=0.0,
    )  # fmt: skip
    (found,) = find_subgroups(problem, ("above",), plan_search(problem.arity, 2, "exact"))
    assert found.listed == 1
