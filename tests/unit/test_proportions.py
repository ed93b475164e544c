"""One rate against published values, oracles and its own definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from inside.inference import binomial_deviance, rate_interval


@pytest.mark.parametrize(
    ("method", "upper"), [("wilson", 0.092), ("exact", 0.093), ("half-count", 0.083), ("likelihood", 0.049)]
)
def test_nobody_of_38(method, upper):
    low, high = rate_interval(0, 38, method=method)
    assert low == 0
    assert round(float(high), 3) == upper


@pytest.mark.parametrize(("method", "name"), [("wilson", "wilson"), ("exact", "exact")])
def test_rate_interval_equals_scipy(method, name):
    for k, n in [(0, 1), (1, 1), (3, 9), (40, 41), (512, 1000)]:
        expected = stats.binomtest(k, n).proportion_ci(0.9, method=name)
        assert rate_interval(k, n, 0.9, method) == pytest.approx((expected.low, expected.high), abs=1e-10)


def test_likelihood_limits_solve_their_equation():
    k, n = np.array([3, 50, 999_999_900]), np.array([11, 80, 1_000_000_000])
    critical = stats.chi2.isf(0.05, 1)
    for limit in rate_interval(k, n, method="likelihood"):
        assert binomial_deviance(k, n, limit) == pytest.approx(np.full(3, critical), rel=1e-6)


def test_exact_interval_covers_at_every_rate():
    n, k = 25, np.arange(26)
    low, high = rate_interval(k, n, method="exact")
    for rate in np.linspace(0.01, 0.99, 99):
        covered = (low <= rate) & (rate <= high)
        assert stats.binom.pmf(k, n, rate)[covered].sum() >= 0.95


def test_unknown_methods_are_named():
    with pytest.raises(ValueError, match="'method' must be one of"):
        rate_interval(1, 2, method="wald")
