"""Intervals and tests from influence values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from inside.explain import Spread, combine, interval, spread, two_sided_p
from oracles.wald import wald


def test_two_means_are_welchs_test():
    random = np.random.default_rng(0)
    a, b = random.normal(0.3, 1, 14), random.normal(0, 2, 9)
    influence = np.concatenate([a / a.size, -b / b.size])[:, None]
    found = spread(influence, np.repeat([0, 1], [a.size, b.size]))
    gap = np.array([a.mean() - b.mean()])
    oracle = stats.ttest_ind(a, b, equal_var=False)
    assert found.df[0] == pytest.approx(oracle.df, rel=1e-10)
    assert two_sided_p(gap, found)[0] == pytest.approx(oracle.pvalue, rel=1e-8)
    low, high = interval(gap, found, 0.95)
    limits = oracle.confidence_interval(0.95)
    assert (low[0], high[0]) == pytest.approx((limits.low, limits.high), rel=1e-8)


def test_rows_of_no_stratum_do_not_count():
    influence = np.array([[1.0], [3.0], [1000.0]])
    assert spread(influence, np.array([0, 0, -1])).error[0] == pytest.approx(2.0)


def test_no_variation_has_no_p_value_and_rounding_is_not_variation():
    values = np.full((50, 1), 0.1, dtype=np.float32)
    values[::2] += np.float32(1e-9)
    found = spread(values, np.zeros(50, dtype=np.int64))
    assert found.error[0] == 0.0
    assert np.isnan(two_sided_p(np.array([0.5]), found)[0])


def test_far_tails_do_not_round_to_zero():
    far = two_sided_p(np.array([30.0]), Spread(np.array([1.0]), np.array([np.inf])))
    assert 0 < far[0] < 1e-190


def test_an_added_variance_keeps_its_degrees_of_freedom():
    both = combine(np.array([[4.0], [5.0]]), np.array([np.inf, 9.0]))
    assert both.error[0] == pytest.approx(3.0)
    assert both.df[0] == pytest.approx(81 / (25 / 9))


def test_wald_counts_the_rank():
    statistic, df, p = wald(np.array([1.0, 1.0]), np.array([[1.0, 1.0], [1.0, 1.0]]))
    assert (statistic, df) == (pytest.approx(1.0), 1)
    assert p == pytest.approx(stats.chi2.sf(1.0, 1))
