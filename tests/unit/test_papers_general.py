"""General parts of the papers' rooms: any discerning tuple, all intervals of a number, more than two groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import fairtrial
from fairtrial.papers import elfa, transport

ROWS = np.random.default_rng(3)
GROUP, MARGIN = ROWS.integers(0, 3, 900), ROWS.normal(size=900)
DECIDED, DISTANCE = (MARGIN + 0.2 * (GROUP == 1) > 0).astype(np.uint8), np.abs(MARGIN)


def contrasts(u: np.ndarray, mean: np.ndarray) -> np.ndarray:
    return u[:, :1] / mean[0] - u[:, 1:] / mean[1:]


def test_a_linear_tuple_is_the_disjoint_families() -> None:
    u = np.column_stack([g == GROUP for g in range(3)]).astype(float)
    problem = transport.disjoint_families(GROUP, [((0, 1, 2), 0)], DECIDED)
    projected = transport.project(problem, DISTANCE, *transport.band(2, 0.0, "differs"))
    article = transport.article_test(problem, DISTANCE, projected.statistic, 900**-0.2, "differs")
    found = transport.general_test(u, contrasts, DECIDED, DISTANCE)
    assert found.statistic == pytest.approx(projected.statistic, abs=1e-8)
    assert found.p_value == pytest.approx(article.p_value, abs=1e-6)


def test_more_than_two_groups_are_projected_exactly() -> None:
    """Algorithm 1 is of one equality; beyond two groups the common rate takes its place."""
    u = np.column_stack([g == GROUP for g in range(3)]).astype(float)
    phi = contrasts(u, u.mean(axis=0))
    gain = ((1.0 - 2.0 * DECIDED)[:, None] * phi).T
    program = linprog(DISTANCE, A_eq=gain, b_eq=-(DECIDED @ phi), bounds=(0, 1))
    problem = transport.disjoint_families(GROUP, [((0, 1, 2), 0)], DECIDED)
    projected = transport.project(problem, DISTANCE, *transport.band(2, 0.0, "differs"))
    assert projected.statistic == pytest.approx(program.fun, abs=1e-8)


def test_a_tuple_that_is_not_linear_holds_its_level() -> None:
    """φ of a ratio of products: the covariance with the outcome, which no list of cells and contrasts writes."""
    rejected = []
    for seed in range(200):
        rows = np.random.default_rng(seed)
        merit, margin = rows.integers(0, 4, 300), rows.normal(size=300)
        u = np.column_stack([merit, merit**2]).astype(float)

        def phi(u: np.ndarray, mean: np.ndarray) -> np.ndarray:
            return (u[:, :1] - mean[0]) / np.sqrt(mean[1] - mean[0] ** 2)

        rejected.append(transport.general_test(u, phi, margin > 0, np.abs(margin)).p_value <= 0.05)
    assert 0.01 < np.mean(rejected) < 0.10


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_intervals_all_hold_at_once(rate: float) -> None:
    missed = []
    for seed in range(400):
        rows = np.random.default_rng([7, seed])
        age, value = rows.integers(0, 30, 800), (rows.random(800) < rate).astype(float)
        missed.append(elfa.interval_bands(age, value, rate).excluded.any())
    assert np.mean(missed) <= 0.05


def test_an_interval_that_is_off_is_found() -> None:
    age = ROWS.integers(18, 70, 4000)
    value = (ROWS.random(4000) < 0.3 + 0.3 * (age < 25)).astype(float)
    found = elfa.interval_bands(age, value, 0.3)
    worst = int(np.argmax(found.low))
    assert found.excluded[worst]
    assert (found.first[worst], found.last[worst] <= 26) == (18, True)
    with pytest.raises(fairtrial.InputError, match="0 or 1"):
        elfa.interval_bands(age, value + 0.5, 0.3)
