"""Rates, differences and ratios of rates against published values, oracles and their own definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fairtrial.inference.rates.proportion_paths import difference_path_limits, ratio_path_limits
from fairtrial.inference.rates.proportions import (
    _ratio_root,
    binomial_deviance,
    constrained_rates,
    difference_interval,
    difference_root,
    normal_quantile,
    rate_interval,
    ratio_interval,
)
from oracles.elfa_intervals import two_binomial_statistic
from oracles.inverses import difference_p

TABLES = [(12, 40, 31, 55), (1369, 2174, 505, 854), (200, 400, 11, 900), (15, 30, 20, 4000)]


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


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("delta", [-0.3, -0.01, 0.0, 0.2, 0.45])
def test_likelihood_ratio_equals_the_nested_search(table, delta):
    root = difference_root(*table, delta, "likelihood")
    assert float(root) ** 2 == pytest.approx(two_binomial_statistic(*table, delta), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("method", ["likelihood", "score"])
def test_difference_limits_solve_their_equation(method):
    k1, n1, k2, n2 = (np.array(column, dtype=float) for column in zip(*TABLES, strict=True))
    interval = difference_interval(k1, n1, k2, n2, 0.9, method)
    for limit in (interval.low, interval.high):
        assert difference_p(k1, n1, k2, n2, limit, method) == pytest.approx(np.full(4, 0.1), rel=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99999])
@pytest.mark.parametrize("people", [20, 400, 1_000_000_000])
def test_limits_along_the_multiplier_solve_their_equations(people, level):
    """The roots of Miettinen and Nurminen's constrained maximum, and of Koopman's, know nothing of the multiplier."""
    rng = np.random.default_rng(people)
    n1, n2 = rng.integers(2, people, (2, 300)).astype(float)
    k1, k2 = (1 + np.floor(rng.random(300) * (n - 1)) for n in (n1, n2))
    critical = np.full(300, normal_quantile(level))
    low, high = difference_path_limits(k1, n1, k2, n2, critical)[0]
    assert difference_root(k1, n1, k2, n2, low, "likelihood") == pytest.approx(critical, abs=1e-7)
    assert difference_root(k1, n1, k2, n2, high, "likelihood") == pytest.approx(-critical, abs=1e-7)
    low, high = ratio_path_limits(k1, n1, k2, n2, critical)[0]
    assert _ratio_root(k1, n1, k2, n2, low) == pytest.approx(critical, abs=1e-7)
    assert _ratio_root(k1, n1, k2, n2, high) == pytest.approx(-critical, abs=1e-7)


def test_compas_predictive_parity():
    # African-American 1369 of 2174, Caucasian 505 of 854 (ProPublica, all rows, decile score >= 5).
    at95, at90 = difference_interval(1369, 2174, 505, 854), difference_interval(1369, 2174, 505, 854, 0.9)
    assert (round(float(at95.low), 5), round(float(at95.high), 5)) == (-0.00016, 0.07723)
    assert (round(float(at90.low), 5), round(float(at90.high), 5)) == (0.00601, 0.07097)
    assert round(float(difference_p(1369, 2174, 505, 854)), 3) == 0.051


def test_score_takes_over_below_ten():
    interval = difference_interval([9, 10, 30, 50], [50, 50, 39, 90], 40, 100)
    assert interval.method.tolist() == ["score", "likelihood", "score", "likelihood"]


def test_exact_coverage_of_small_differences():
    # Every table of 20 against 30 people, at rates where the plain likelihood ratio falls below .93.
    k1, k2 = np.meshgrid(np.arange(21), np.arange(31), indexing="ij")
    interval = difference_interval(k1, 20, k2, 30)
    for p1, p2 in [(0.05, 0.05), (0.05, 0.2), (0.5, 0.1), (0.02, 0.4)]:
        mass = stats.binom.pmf(k1, 20, p1) * stats.binom.pmf(k2, 30, p2)
        covered = (interval.low <= p1 - p2) & (p1 - p2 <= interval.high)
        assert mass[covered].sum() >= 0.935


def test_swapping_groups_flips_the_sign():
    k1, n1, k2, n2 = (np.array(column) for column in zip(*TABLES, strict=True))
    one, other = difference_interval(k1, n1, k2, n2), difference_interval(k2, n2, k1, n1)
    assert one.low == pytest.approx(-other.high, abs=1e-12)
    assert difference_root(k1, n1, k2, n2, 0.1) == pytest.approx(-difference_root(k2, n2, k1, n1, -0.1))


def test_constrained_rates_differ_by_delta_and_solve_the_score():
    rng = np.random.default_rng(20)
    n1, n2 = rng.integers(2, 10_000, (2, 200))
    k1, k2 = rng.integers(1, n1), rng.integers(1, n2)
    delta = rng.uniform(-0.9, 0.9, 200)
    first, second = constrained_rates(k1, n1, k2, n2, delta)
    assert first - second == pytest.approx(delta, abs=1e-14)
    score = k1 / first - (n1 - k1) / (1 - first) + k2 / second - (n2 - k2) / (1 - second)
    slope = k1 / first**2 + (n1 - k1) / (1 - first) ** 2 + k2 / second**2 + (n2 - k2) / (1 - second) ** 2
    assert np.abs(score / slope).max() < 1e-10


def test_degenerate_tables_give_an_answer():
    k = np.array([0, 0, 1, 0, 2, 0, 3])
    n = np.array([0, 1, 1, 2, 2, 3, 3])
    k1, k2 = (side.ravel() for side in np.meshgrid(k, k))
    n1, n2 = (side.ravel() for side in np.meshgrid(n, n))
    for method in ("auto", "likelihood", "score"):
        interval = difference_interval(k1, n1, k2, n2, method=method)
        assert np.all((interval.low >= -1) & (interval.low <= interval.high) & (interval.high <= 1))
    p = difference_p(k1, n1, k2, n2)
    assert np.all((p > 0.01) & (p <= 1))
    low, high = ratio_interval(k1, n1, k2, n2)
    assert np.all((low >= 0) & (low <= high))


def test_billions():
    interval = difference_interval(5e8 + 1000, 1e9, 5e8, 1e9)
    error = np.sqrt(0.5 / 1e9) * stats.norm.isf(0.025)
    assert float(interval.low) == pytest.approx(1e-6 - error, rel=1e-6)
    assert float(interval.high) == pytest.approx(1e-6 + error, rel=1e-6)


def test_ratio_limits():
    # Koopman's limits solve his chi-square equation; checked with the two Pearson terms written out.
    for k1, n1, k2, n2 in [(36, 40, 16, 80), (5, 56, 0, 29), (3, 200, 30, 150)]:
        for ratio in (float(v) for v in ratio_interval(k1, n1, k2, n2) if 0 < v < np.inf):
            coefficients = [(n1 + n2) * ratio, -(n1 * ratio + k1 + n2 + k2 * ratio), k1 + k2]
            second = min(np.roots(coefficients).real)
            first = ratio * second
            pearson = (k1 - n1 * first) ** 2 / (n1 * first * (1 - first))
            pearson += (k2 - n2 * second) ** 2 / (n2 * second * (1 - second))
            assert pearson == pytest.approx(stats.chi2.isf(0.05, 1), rel=1e-8)
    assert ratio_interval(5, 56, 0, 29)[1] == np.inf
    assert ratio_interval(0, 56, 4, 29)[0] == 0.0


def test_unknown_methods_are_named():
    with pytest.raises(ValueError, match="'method' must be one of"):
        rate_interval(1, 2, method="wald")
    with pytest.raises(ValueError, match="got 'wald'"):
        difference_interval(1, 2, 1, 2, method="wald")
