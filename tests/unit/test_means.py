"""Means against scipy's tests and against plain nested searches."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from inside.direct_calls import (
    difference_interval,
    difference_limits,
    difference_log_ratio,
    difference_root,
    el_mean_difference_interval,
    el_mean_difference_p,
    el_mean_interval,
    el_mean_intervals,
    welch,
)
from inside.inference import CountedValues
from oracles.elfa_intervals import el_statistic, two_sample_el_statistic
from oracles.inverses import el_mean_p


def summary(x):
    return x.size, x.mean(), np.sum((x - x.mean()) ** 2)


@pytest.fixture
def samples():
    rng = np.random.default_rng(3)
    return rng.exponential(size=140), 2.0 * rng.exponential(size=230)


def test_welch_equals_scipy(samples):
    x, y = samples
    test = stats.ttest_ind(x, y, equal_var=False)
    gap, error, df = welch(*summary(x), *summary(y))
    assert gap / error == pytest.approx(test.statistic, rel=1e-12)
    assert df == pytest.approx(test.df, rel=1e-12)


def test_empirical_likelihood_limits_reach_the_critical_value(samples):
    x, y = samples
    critical = stats.t.isf(0.025, x.size - 1) ** 2
    for limit in el_mean_interval(x):
        assert el_statistic(x, limit) == pytest.approx(critical, rel=1e-9)
    critical = stats.t.isf(0.025, stats.ttest_ind(x, y, equal_var=False).df) ** 2
    for limit in el_mean_difference_interval(x, y):
        assert two_sample_el_statistic(x, y, limit) == pytest.approx(critical, rel=1e-8)


def test_profile_equals_the_nested_search(samples):
    x, y = samples
    for gap in (-1.6, -0.9, -0.4, 0.3):
        fast = difference_log_ratio(CountedValues.of(x), CountedValues.of(y), gap)
        assert fast == pytest.approx(two_sample_el_statistic(x, y, gap), rel=1e-8)


def test_binary_profile_equals_the_two_binomial_likelihood_ratio():
    k1, n1, k2, n2 = 61, 150, 90, 400
    x, y = np.repeat([1.0, 0.0], [k1, n1 - k1]), np.repeat([1.0, 0.0], [k2, n2 - k2])
    for gap in (-0.4, 0.0, 0.11, 0.3, 0.7):
        expected = float(difference_root(k1, n1, k2, n2, gap, "likelihood")) ** 2
        assert difference_log_ratio(CountedValues.of(x), CountedValues.of(y), gap) == pytest.approx(
            expected, rel=1e-8
        )
    expected = difference_interval(k1, n1, k2, n2, only="likelihood")
    limits = difference_limits(CountedValues.of(x), CountedValues.of(y), stats.chi2.isf(0.05, 1))
    assert limits == pytest.approx((float(expected.low), float(expected.high)), abs=1e-9)


def test_small_samples_are_t_calibrated():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=20), rng.normal(size=30)
    _, _, df = welch(*summary(x), *summary(y))
    assert df == pytest.approx(stats.ttest_ind(x, y, equal_var=False).df, rel=1e-12)
    low, high = el_mean_difference_interval(x, y)
    critical = stats.t.isf(0.025, df) ** 2
    for limit in (low, high):
        assert difference_log_ratio(CountedValues.of(x), CountedValues.of(y), limit) == pytest.approx(
            critical, rel=1e-9
        )
        assert el_mean_difference_p(x, y, limit) == pytest.approx(0.05, rel=1e-9)


def test_many_means_at_once(samples):
    groups = [*samples, samples[0][:30], np.ones(4), np.array([2.0])]
    together = np.array(el_mean_intervals(groups, 0.9)).T
    alone = np.array([el_mean_interval(x, 0.9) for x in groups])
    assert together == pytest.approx(alone, rel=1e-9, nan_ok=True)


def test_undefined_is_nan_and_never_an_exception():
    constant, one, nobody = np.ones(5), np.array([2.0]), np.array([])
    fine = np.array([1.0, 2.0, 4.0])
    for x in (constant, one, nobody):
        assert np.isnan(el_mean_interval(x)).all()
        assert np.isnan(el_mean_difference_interval(x, fine)).all()
        assert np.isnan(el_mean_p(x, 0.0))
    assert np.isnan(welch(1, 2.0, 0.0, 9, 1.0, 4.0)[1])


def test_outside_the_hull_the_ratio_is_infinite():
    x, y = np.array([0.0, 1.0]), np.array([5.0, 6.0])
    assert difference_log_ratio(CountedValues.of(x), CountedValues.of(y), 0.0) == np.inf


def test_counts_stand_for_repeated_rows():
    values, counts = np.array([0.0, 1.0, 5.0]), np.array([3, 4, 2])
    other = CountedValues.of(np.array([1.0, 2.0, 2.5, 9.0]))
    grouped = difference_log_ratio(CountedValues.of(values, counts), other, 0.2)
    assert grouped == pytest.approx(
        difference_log_ratio(CountedValues.of(np.repeat(values, counts)), other, 0.2)
    )
