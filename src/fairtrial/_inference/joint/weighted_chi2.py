"""Upper tail of a weighted sum of chi-square variables with one degree of freedom each.

Ruben's mixture (Annals of Mathematical Statistics 33, 1962; Farebrother's AS 204): with 0 < β ≤ min λ,
P(Σ λ_j χ²_1 > x) = Σ_k a_k P(χ²_{m+2k} > x/β), all a_k ≥ 0 and Σ a_k = 1. Every term is positive, so a
tail of 1e-30 is as accurate as one of 0.3: nothing is ever subtracted from one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincc

# The series needs about 40 · (largest weight / smallest weight) terms. Weights below this share of the largest
# are raised to it: the sum only grows, so the p-value can be a hair too large, never too small.
SMALLEST_SHARE = 1 / 2000
SMALLEST_P = 1e-300
_BLOCK = 128
_RELATIVE_ERROR = 1e-13
_FEW = 12
Floats = NDArray[np.float64]


def weighted_chi2_sf(x: float, weights: ArrayLike) -> float:
    """P(Σ_j weights_j · χ²_1 > x); weights of zero are left out."""
    lambdas = np.asarray(weights, dtype=float)
    if lambdas.ndim != 1 or not np.isfinite(lambdas).all() or (lambdas < 0).any():
        raise ValueError("weights must be a list of finite numbers, none negative")
    lambdas = lambdas[lambdas > 0]
    if lambdas.size == 0:
        return 0.0 if x > 0 else 1.0
    if x <= 0:
        return 1.0
    lambdas = np.maximum(lambdas, lambdas.max() * SMALLEST_SHARE)
    # all weights raised to the largest: where even that tail is beyond floats, the series would never end
    if gammaincc(lambdas.size / 2, x / lambdas.max() / 2) < SMALLEST_P:
        return SMALLEST_P
    if np.ptp(lambdas) <= 1e-12 * lambdas.max():
        return float(gammaincc(lambdas.size / 2, x / lambdas.max() / 2))
    return _ruben(x, lambdas)


def _ruben(x: float, lambdas: Floats) -> float:
    """The mixture with β = min λ, summed until what is left is below a relative error of 1e-13."""
    beta = float(lambdas.min())
    # γ_j of the recursion, once per distinct weight; zero for the smallest
    distinct, counts = np.unique(lambdas[lambdas > beta], return_counts=True)
    gammas, repeats = 1 - beta / distinct, counts.astype(float)
    slowest = float(gammas.max())
    log_scale = 0.5 * float(np.log(beta / lambdas).sum())  # a_0 = Π √(β/λ_j); kept apart, it can underflow
    weight, tail_sum = 1.0, 0.0
    coefficients = _few if distinct.size <= _FEW else _many
    running = np.zeros(distinct.size)  # Σ_{r<k} γ_j^{k−r} a_r, so that a_k costs one step per weight
    first = 0
    while True:
        block, running = coefficients(first, weight, running, gammas, repeats)
        weight = block[-1]
        degrees = lambdas.size / 2 + first + np.arange(_BLOCK)
        tail_sum += float(np.dot(block, gammaincc(degrees, x / beta / 2)))
        first += _BLOCK
        # a_{k+1}/a_k is at most slowest·(1 + m/(2k)), so the rest is below a geometric series
        ratio = slowest * (1 + lambdas.size / (2 * first))
        if ratio < 1 and weight * ratio / (1 - ratio) <= _RELATIVE_ERROR * tail_sum:
            break
        if weight > 1e200:
            weight, running, tail_sum = weight * 1e-200, running * 1e-200, tail_sum * 1e-200
            log_scale += 200 * np.log(10.0)
    return float(min(1.0, np.exp(log_scale + np.log(tail_sum)))) if tail_sum > 0 else SMALLEST_P


def _many(
    first: int, weight: float, running: Floats, gammas: Floats, repeats: Floats
) -> tuple[list[float], Floats]:
    """The next coefficients a_k of the mixture, and the running sums behind them."""
    block = []
    for step in range(first, first + _BLOCK):
        if step:
            running = gammas * (running + weight)
            weight = float(repeats @ running) / (2 * step)
        block.append(weight)
    return block, running


def _few(
    first: int, weight: float, running: Floats, gammas: Floats, repeats: Floats
) -> tuple[list[float], Floats]:
    """The same in plain numbers: arrays of three or four entries cost ten times as much."""
    block, parts = [], running.tolist()
    pairs = list(zip(gammas.tolist(), repeats.tolist(), strict=True))
    for step in range(first, first + _BLOCK):
        if step:
            total = 0.0
            for index, (gamma, count) in enumerate(pairs):
                parts[index] = gamma * (parts[index] + weight)
                total += count * parts[index]
            weight = total / (2 * step)
        block.append(weight)
    return block, np.array(parts)


def quadratic_form_weights(form: Floats, covariance: Floats) -> Floats:
    """Eigenvalues λ with Vᵀ form⁻¹ V ~ Σ λ_j χ²_1 for V ~ N(0, covariance), form positive definite."""
    root = np.linalg.cholesky(form)
    half = np.linalg.solve(root, covariance)
    whitened = np.linalg.solve(root, half.T)
    eigenvalues = np.asarray(np.linalg.eigvalsh((whitened + whitened.T) / 2), dtype=float)
    largest = max(float(eigenvalues.max(initial=0.0)), 0.0)
    # rounding leaves eigenvalues of size 1e-17 where the covariance is singular
    return np.where(eigenvalues > 1e-12 * largest, eigenvalues, 0.0)
