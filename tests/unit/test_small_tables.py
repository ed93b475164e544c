"""The drawn law of Pearson's statistic against sums over every table."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest

from inside.inference import Atoms, drawn_pearson_p, joint_test, pearson


def _statistic(table: tuple[int, ...], sizes: tuple[int, ...], rate: float) -> float:
    return sum((k - n * rate) ** 2 / (n * rate * (1 - rate)) for k, n in zip(table, sizes, strict=True))


@pytest.mark.parametrize("known", [None, 0.3])
def test_drawn_p_equals_the_sum_over_all_tables(known: float | None) -> None:
    sizes, seen = (3, 5, 8), (2, 0, 2)
    rate = sum(seen) / sum(sizes) if known is None else known
    total = reached = 0.0
    for table in product(*(range(n + 1) for n in sizes)):
        if known is None and sum(table) != sum(seen):
            continue
        mass = np.prod([comb(n, k) for k, n in zip(table, sizes, strict=True)])
        if known is not None:
            mass *= rate ** sum(table) * (1 - rate) ** (sum(sizes) - sum(table))
        total += mass
        reached += mass * (_statistic(table, sizes, rate) >= _statistic(seen, sizes, rate) - 1e-9)
    drawn = drawn_pearson_p(np.array(seen, dtype=float), np.array(sizes, dtype=float), known)
    assert drawn == pytest.approx(reached / total, abs=0.02)


def test_more_rows_than_hypergeometric_draws_allow() -> None:
    p = drawn_pearson_p(np.array([1.0, 2e6]), np.array([30.0, 2e9]))
    assert p == pytest.approx(1 - 0.999**30, abs=0.01)


def test_pearson_is_zero_without_variation() -> None:
    assert float(pearson(np.array([0.0, 0.0]), np.array([3.0, 4.0]), 0.0)) == 0.0


def test_overlapping_groups_without_an_event_are_no_evidence() -> None:
    """Three atoms of ten people without an event beside one with three: nothing to see at a rate of 5%."""
    count, ones = np.array([10.0, 10.0, 10.0, 40.0]), np.array([0.0, 0.0, 0.0, 3.0])
    mean = ones / count
    atoms = Atoms(count, mean, count * mean * (1 - mean), True)
    member = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0], [0, 0, 1, 1]], dtype=bool)
    assert joint_test(atoms, member[:2], np.ones(4, dtype=bool), None).p_value > 0.2
    assert joint_test(atoms, member[:2], None, 0.05).p_value > 0.2
