"""Slow, plain ways to compute what fairtrial.stats computes fast: nested scalar searches at 1e-12."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import optimize, stats


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """A sign change of `function` by plain bisection to 1e-13."""
    sign = np.sign(function(low))
    while high - low > 1e-13:
        middle = 0.5 * (low + high)
        if np.sign(function(middle)) == sign:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def log_likelihood(k: float, n: float, p: float) -> float:
    return float(stats.binom.logpmf(k, n, p))


def two_binomial_statistic(k1: float, n1: float, k2: float, n2: float, delta: float) -> float:
    """2 (max - constrained max) of two binomial likelihoods, the nuisance rate found numerically."""

    def score(p: float) -> float:
        return k1 / (p + delta) - (n1 - k1) / (1 - p - delta) + k2 / p - (n2 - k2) / (1 - p)

    low, high = max(0.0, -delta), min(1.0, 1.0 - delta)
    p = bisect(score, low + 1e-14, high - 1e-14)
    free = log_likelihood(k1, n1, k1 / n1) + log_likelihood(k2, n2, k2 / n2)
    return 2.0 * (free - log_likelihood(k1, n1, p + delta) - log_likelihood(k2, n2, p))


def el_statistic(x: np.ndarray, mu: float) -> float:
    """One-sample empirical log-likelihood ratio with the multiplier by bisection."""
    g = x - mu
    low, high = -1 / g.max() + 1e-12, -1 / g.min() - 1e-12
    multiplier = bisect(lambda v: float(np.sum(g / (1 + v * g))), low, high)
    return 2.0 * float(np.sum(np.log1p(multiplier * g)))


def two_sample_el_statistic(x: np.ndarray, y: np.ndarray, delta: float) -> float:
    """Two-sample profile log ratio: the common mean is minimised over numerically."""
    low = max(x.min() - delta, y.min()) + 1e-9
    high = min(x.max() - delta, y.max()) - 1e-9
    found = optimize.minimize_scalar(
        lambda mu: el_statistic(x, mu + delta) + el_statistic(y, mu),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return float(found.fun)
