"""The resampled law of the joint test."""

import numpy as np
import pytest

from fairtrial.inference.joint import joint_bootstrap
from fairtrial.inference.joint.joint_bootstrap import Moments, bootstrap_p, euclidean_statistics
from fairtrial.inference.joint.joint_test import joint_test
from validity.certify_designs import atoms_of

DISJOINT = np.eye(3)


def moments_of(values, theta=0.0):
    shifted = [piece - theta for piece in values]
    return Moments(
        np.array([[float(piece.size) for piece in shifted]]),
        np.array([[piece.sum() for piece in shifted]]),
        np.array([[(piece**2).sum() for piece in shifted]]),
    )


@pytest.fixture
def values():
    generator = np.random.default_rng(5)
    return tuple(generator.exponential(1.0, size) for size in (30, 40, 60))


def slow_statistic(basis, values, theta):
    """g' S^-1 g row by row."""
    scores = np.concatenate(
        [np.outer(piece - theta, column) for piece, column in zip(values, basis.T, strict=True)]
    )
    total = scores.sum(axis=0)
    return total @ np.linalg.solve(scores.T @ scores, total)


def test_statistic_against_a_known_mean_is_the_sum_row_by_row(values):
    overlapping = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    for basis in (DISJOINT, overlapping):
        found = euclidean_statistics(basis, moments_of(values, 0.9), free=False)[0]
        assert found == pytest.approx(slow_statistic(basis, values, 0.9), rel=1e-8)


def test_free_theta_is_at_a_minimum(values):
    overlapping = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])[:2]
    for basis in (DISJOINT, overlapping):
        found = euclidean_statistics(basis, moments_of(values, 1.0), free=True)[0]
        grid = min(slow_statistic(basis, values, theta) for theta in np.linspace(0.7, 1.3, 1201))
        # The steps hold the spread fixed, so they settle near the minimum, not on it.
        assert found == pytest.approx(grid, rel=0.05, abs=0.05)


def test_disjoint_groups_are_the_same_in_any_basis(values):
    other = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    seen = moments_of(values, 1.0)
    assert euclidean_statistics(other, seen, free=True) == pytest.approx(
        euclidean_statistics(DISJOINT, seen, free=True)
    )


def test_far_groups_get_a_small_p_and_equal_ones_do_not(values):
    assert bootstrap_p(DISJOINT, values, None) > 0.01
    moved = (values[0] + 3.0, *values[1:])
    assert bootstrap_p(DISJOINT, moved, None) == pytest.approx(1 / 2000)
    assert bootstrap_p(DISJOINT, moved, None) == bootstrap_p(DISJOINT, moved, None)


def test_the_rule_says_so_only_where_a_group_is_small():
    generator = np.random.default_rng(2)
    everyone = np.ones(2, dtype=bool)
    for size, guarded in ((150, True), (250, False)):
        atoms = atoms_of([generator.exponential(1.0, size) for _ in range(2)])
        test = joint_test(atoms, np.eye(2, dtype=bool), everyone, None)
        assert ("bootstrap" in test.rule) is guarded
        plain = joint_test(atoms, np.eye(2, dtype=bool), everyone, None, by_limit_law=True)
        assert test.p_value >= plain.p_value


def test_large_patterns_drawn_as_normal_give_the_same_p_value(monkeypatch):
    generator = np.random.default_rng(3)
    values = (0.7 + generator.exponential(1.0, 50), generator.exponential(1.5, 5000))
    as_normal = bootstrap_p(np.eye(2), values, None)
    monkeypatch.setattr(joint_bootstrap, "MANY_ROWS", 10_000)
    by_rows = bootstrap_p(np.eye(2), values, None)
    assert 0.01 < by_rows < 0.9
    assert as_normal == pytest.approx(by_rows, abs=4 * np.sqrt(2 * by_rows * (1 - by_rows) / 200))
