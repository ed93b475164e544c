"""Adjusted p-values against their definitions, rejected set by rejected set."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from inside.inference import CORRECTIONS, benjamini_hochberg, benjamini_yekutieli, holm


@pytest.fixture
def families():
    rng = np.random.default_rng(8)
    return [rng.random(size) ** 4 for size in (1, 2, 7, 40, 200)] + [np.array([1.0, 0.01, 0.01, 1.0])]


def test_false_discovery_adjustments_equal_scipy(families):
    for p in families:
        assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))
        assert benjamini_yekutieli(p) == pytest.approx(stats.false_discovery_control(p, method="by"))


def test_holm_rejects_step_by_step(families):
    for p in families:
        for level in (0.01, 0.05, 0.3):
            rejected = np.zeros(p.size, dtype=bool)
            for position, index in enumerate(np.argsort(p, kind="stable")):
                if p[index] > level / (p.size - position):
                    break
                rejected[index] = True
            assert np.array_equal(holm(p) <= level, rejected)


def test_order_of_groups_does_not_matter(families):
    order = np.random.default_rng(1).permutation(200)
    for correct in CORRECTIONS.values():
        assert correct(families[4][order]) == pytest.approx(correct(families[4])[order])


def test_adjusted_never_below_raw(families):
    for correct in CORRECTIONS.values():
        for p in families:
            assert np.all(correct(p) >= p - 1e-15)
            assert np.all(correct(p) <= 1)
