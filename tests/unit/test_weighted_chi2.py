"""Tails of weighted chi-square sums: closed forms, simulation, numerical inversion, far tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from inside.inference import quadratic_form_weights, weighted_chi2_sf


@pytest.mark.parametrize("degrees", [1, 2, 5, 40])
@pytest.mark.parametrize("x", [0.01, 1.0, 10.0, 200.0])
def test_equal_weights_are_a_plain_chi_square(degrees: int, x: float) -> None:
    expected = stats.chi2.sf(x / 0.7, degrees)
    assert weighted_chi2_sf(x, [0.7] * degrees) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("x", [0.5, 3.0, 20.0, 150.0])
def test_pairs_of_equal_weights_have_a_closed_form(x: float) -> None:
    """Two exponentials with means 2a and 2b: the tail is elementary, also at 1e-20."""
    a, b = 3.0, 0.4
    expected = (a * np.exp(-x / (2 * a)) - b * np.exp(-x / (2 * b))) / (a - b)
    assert weighted_chi2_sf(x, [a, a, b, b]) == pytest.approx(expected, rel=1e-10)


def test_a_wide_spread_of_weights_against_an_integral() -> None:
    """a·χ²₁ + b·χ²₁: condition on the second one and integrate."""
    for a, b, x in [(1.0, 0.001, 4.0), (1.0, 0.02, 30.0), (5.0, 1.0, 9.0)]:
        inner = integrate.quad(
            lambda z, a=a, b=b, x=x: 2 * stats.norm.pdf(z) * stats.chi2.sf((x - b * z * z) / a, 1),
            0,
            np.sqrt(x / b),
            limit=500,
            epsabs=0,
            epsrel=1e-11,
            points=None,
        )[0]
        expected = inner + 2 * stats.norm.sf(np.sqrt(x / b))
        assert weighted_chi2_sf(x, [a, b]) == pytest.approx(expected, rel=1e-8)


def test_against_simulation() -> None:
    generator = np.random.default_rng(20210617)
    for size in (2, 3, 7, 15):
        weights = generator.exponential(size=size) ** 2
        draws = generator.chisquare(1, size=(200_000, size)) @ weights
        for level in (0.5, 0.1, 0.01, 0.001):
            x = float(np.quantile(draws, 1 - level))
            simulated, exact = (draws > x).mean(), weighted_chi2_sf(x, weights)
            assert abs(simulated - exact) < 4.5 * np.sqrt(exact * (1 - exact) / draws.size)


def test_tiny_weights_only_make_the_p_value_larger() -> None:
    without = weighted_chi2_sf(5.0, [1.0])
    with_tiny = weighted_chi2_sf(5.0, [1.0, 1e-9])
    assert without <= with_tiny <= without * 1.001


def test_far_tails_and_many_weights_stay_accurate() -> None:
    assert weighted_chi2_sf(1400.0, [1.0, 1.0, 0.5, 0.5]) == pytest.approx(
        (np.exp(-700) - 0.5 * np.exp(-1400)) / 0.5, rel=1e-9
    )
    many = np.r_[np.full(300, 1.0), np.full(300, 0.002)]  # a_0 underflows without its logarithm
    assert 0 < weighted_chi2_sf(300.6, many) < 1


def test_edges() -> None:
    assert weighted_chi2_sf(0.0, [1.0, 2.0]) == 1.0
    assert weighted_chi2_sf(1.0, [0.0]) == 0.0
    assert weighted_chi2_sf(0.0, []) == 1.0
    with pytest.raises(ValueError, match="none negative"):
        weighted_chi2_sf(1.0, [-1.0])


def test_quadratic_form_weights_reproduce_the_law() -> None:
    generator = np.random.default_rng(5)
    factor = generator.normal(size=(3, 3))
    covariance, form = factor @ factor.T, np.diag([1.0, 2.0, 3.0])
    values = generator.multivariate_normal(np.zeros(3), covariance, size=200_000)
    draws = np.einsum("ij,jk,ik->i", values, np.linalg.inv(form), values)
    weights = quadratic_form_weights(form, covariance)
    assert weights.sum() == pytest.approx(np.trace(np.linalg.solve(form, covariance)))
    assert (draws > 4.0).mean() == pytest.approx(weighted_chi2_sf(4.0, weights), abs=0.005)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 1.0], [1.0, 0.5, 0.01], [3.0, 1e-9]])
def test_a_tail_beyond_the_smallest_float_ends(weights):
    """The series would sum zeros for ever."""
    assert weighted_chi2_sf(1e6, weights) == 1e-300
    assert 1e-300 < weighted_chi2_sf(1000.0, weights) < 1e-50
