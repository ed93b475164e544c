"""Simultaneous levels against known quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from inside.inference import bonferroni_level, max_t_quantile, simultaneous_level


def test_independent_groups_have_the_sidak_quantile():
    expected = stats.norm.isf((1 - 0.95 ** (1 / 8)) / 2)
    assert max_t_quantile(np.diag(np.arange(1.0, 9.0)), 0.95) == pytest.approx(expected, abs=0.03)


def test_identical_groups_need_no_correction():
    assert max_t_quantile(np.ones((5, 5)), 0.95) == pytest.approx(stats.norm.isf(0.025), abs=0.03)


def test_between_pointwise_and_bonferroni():
    rng = np.random.default_rng(3)
    influence = rng.normal(size=(30, 12))
    level = simultaneous_level(influence @ influence.T, 0.95)
    assert 0.95 < level <= bonferroni_level(30, 0.95) + 1e-3


def test_same_seed_same_level():
    covariance = np.eye(4) + 0.5
    assert simultaneous_level(covariance, 0.9, seed=5) == simultaneous_level(covariance, 0.9, seed=5)
    assert simultaneous_level(np.zeros((2, 2)), 0.95) == pytest.approx(0.95)


@pytest.mark.parametrize("seed", range(6))
def test_one_interval_alone_is_the_pointwise_one(seed):
    """Drawn quantiles fall on both sides of the true one; an interval for all groups is never shorter than for one."""
    assert simultaneous_level(np.eye(1), 0.95, seed) == pytest.approx(0.95, abs=0.003)
    assert simultaneous_level(np.eye(1), 0.95, seed) >= 0.95
