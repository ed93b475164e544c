"""Slow, plain ways to compute what fairtrial._inference computes fast: nested scalar searches at 1e-12."""

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


def multinomial_statistic(cells: np.ndarray, gap: float) -> float:
    """2 (max - constrained max) over (both, group only, reference only) x (1, 0) by a general optimiser."""
    group = np.array([1, 1, 1, 1, 0, 0.0])
    reference = np.array([1, 1, 0, 0, 1, 1.0])
    value = np.array([1, 0, 1, 0, 1, 0.0])
    present = np.repeat(cells.reshape(3, 2).sum(axis=1) > 0, 2)
    total = cells.sum()

    def weights(x: np.ndarray) -> np.ndarray:
        full = np.zeros(6)
        full[present] = np.exp(x) / np.exp(x).sum()
        return full

    def constraint(x: np.ndarray) -> float:
        w = weights(x)
        return float(w @ (group * value) / (w @ group) - w @ (reference * value) / (w @ reference) - gap)

    found = optimize.minimize(
        lambda x: -float(cells[present] @ np.log(weights(x)[present])) / total,
        np.log(np.maximum(cells[present], 0.5) / total),
        constraints=[{"type": "eq", "fun": constraint}],
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    positive = cells[cells > 0]
    return 2.0 * float(total * found.fun + positive @ np.log(positive / total))


def vector_el_statistic(g: np.ndarray) -> float:
    """Vector empirical log-likelihood ratio by maximising the dual with a general optimiser."""

    def negative_dual(multiplier: np.ndarray) -> float:
        raised = 1.0 + g @ multiplier
        return np.inf if raised.min() <= 1e-12 else -float(np.log(raised).sum())

    found = optimize.minimize(
        negative_dual, np.zeros(g.shape[1]), method="Nelder-Mead",
        options={"xatol": 1e-12, "fatol": 1e-13, "maxiter": 20_000, "maxfev": 20_000},
    )  # fmt: skip
    return -2.0 * float(found.fun)
