"""Coverage of measure's intervals by adding up the probability of every sample, over a grid of true rates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from inside.direct_calls import gap_limits, gap_p, ratio_interval
from inside.inference import PartCounts, rate_interval

RATES = np.linspace(0.02, 0.98, 25)


def pairs(n1, n2):
    k1, k2 = (grid.ravel() for grid in np.meshgrid(np.arange(n1 + 1.0), np.arange(n2 + 1.0), indexing="ij"))
    zero = np.zeros(k1.shape)
    return k1, k2, PartCounts(zero, zero, k1, zero + n1, k2, zero + n2)


@pytest.mark.parametrize(("n1", "n2"), [(30, 30), (35, 80), (60, 60)])
def test_differences_and_ratios(n1, n2):
    k1, k2, parts = pairs(n1, n2)
    low, high = gap_limits(parts, 0.95)
    ratio_low, ratio_high = ratio_interval(k1, n1, k2, n2)
    first, second = (grid.ravel() for grid in np.meshgrid(RATES, RATES))
    gap, ratio = [], []
    for p1, p2 in zip(first, second, strict=True):
        chance = binom.pmf(k1, n1, p1) * binom.pmf(k2, n2, p2)
        gap.append(chance @ ((p1 - p2 < low) | (p1 - p2 > high)))
        ratio.append(chance @ ((p1 / p2 < ratio_low) | (p1 / p2 > ratio_high)))
    for errors in (gap, ratio):
        assert np.mean(errors) <= 0.05
        assert np.max(errors) <= 0.065, "the board's limit, nowhere exceeded"


@pytest.mark.parametrize(("n1", "n2"), [(30, 30), (35, 80), (30, 300)])
def test_size_of_the_p_value(n1, n2):
    k1, k2, parts = pairs(n1, n2)
    rejected = gap_p(parts, np.zeros(k1.shape)) <= 0.05
    sizes = [(binom.pmf(k1, n1, p) * binom.pmf(k2, n2, p)) @ rejected for p in RATES]
    assert np.mean(sizes) <= 0.05
    assert np.max(sizes) <= 0.06


@pytest.mark.parametrize("n", [20, 38, 100])
def test_one_rate(n):
    """Wilson and half-count hold on average and dip to 91% at single rates; the plain likelihood ratio to 83%."""
    k = np.arange(n + 1)

    def errors(method):
        low, high = rate_interval(k, n, method=method)
        return np.array([binom.pmf(k, n, p) @ ((p < low) | (p > high)) for p in np.linspace(0.01, 0.99, 197)])

    for method in ("wilson", "half-count"):
        assert errors(method).mean() <= 0.0505
        assert errors(method).max() <= 0.09
    assert errors("exact").max() <= 0.05
    assert errors("likelihood").max() >= 0.14
