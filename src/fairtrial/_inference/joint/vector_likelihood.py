"""Joint tests of several scores: empirical likelihood by one vector of multipliers (eq. 3.3 of ELFA)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.special import gammaincc

from fairtrial._inference.laws.gaps import SMALLEST_P, JointTest
from fairtrial._inference.means.known_targets import ScorePoints
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.ways import Likelihood

ITERATIONS = 200


def vector_log_ratio(score: Floats, counts: Floats) -> tuple[float, int]:
    """2 sum log(1 + lambda' g) at the multiplier that solves (3.3), and the rank of the scores.

    Infinite where zero is not inside the convex hull of the scores: the multiplier then grows without end.
    """
    left, spread, _ = np.linalg.svd(score * np.sqrt(counts)[:, None], full_matrices=False)
    kept = spread > 1e-10 * max(float(spread.max(initial=0.0)), 1e-300)
    rank = int(kept.sum())
    if rank == 0:
        return 0.0, 0
    g = left[:, kept] / np.sqrt(counts)[:, None] * np.sqrt(counts.sum())  # the same span, of unit spread
    multiplier, value = np.zeros(rank), 0.0
    for _ in range(ITERATIONS):
        denominator = 1.0 + g @ multiplier
        gradient = g.T @ (counts / denominator)
        step = np.linalg.lstsq((g * (counts / denominator**2)[:, None]).T @ g, gradient, rcond=None)[0]
        gain = float(gradient @ step)
        if gain < 1e-18 * counts.sum() or np.abs(gradient).max() < 1e-12 * counts.sum():
            break
        length = 1.0
        while length > 1e-12:  # up, and every weight positive
            raised = 1.0 + g @ (multiplier + length * step)
            if raised.min() > 0 and float(counts @ np.log(raised)) > value:
                break
            length *= 0.5
        else:
            break
        multiplier = multiplier + length * step
        value = float(counts @ np.log(raised))
    weights = counts / (1.0 + g @ multiplier) / counts.sum()
    return (max(2.0 * value, 0.0) if abs(weights.sum() - 1.0) < 1e-6 else np.inf), rank


def vector_euclidean(score: Floats, counts: Floats) -> tuple[float, int]:
    """n g' s^-1 g of Theorem 3 with the scores' own mean and spread, and their rank."""
    total = float(counts.sum())
    mean = counts @ score / total
    centred = (score - mean) * np.sqrt(counts / total)[:, None]
    spread = centred.T @ centred
    rank = int(np.linalg.matrix_rank(centred))
    return float(total * mean @ np.linalg.pinv(spread, hermitian=True, rcond=1e-12) @ mean), rank


def orthogonal_joint(
    points: list[ScorePoints | None], told: Bools, likelihood: Likelihood
) -> JointTest | None:
    """Test 'every gap is zero' by the orthogonal scores of all groups; None where no weights make them all zero.

    The influence of the target's estimate is inside the scores, so that its uncertainty counts. They are taken at the
    null, where groups that make up everyone are bound to each other: centred at the groups' own means such a test has
    a degree of freedom too many (size .02 for .05).
    """
    used = [one for one, inside in zip(points, told, strict=True) if inside and one is not None]
    way = vector_log_ratio if likelihood == "empirical" else vector_euclidean
    statistic, df = way(np.stack([one.score for one in used], axis=1), used[0].counts)
    if not np.isfinite(statistic) or df == 0:
        return None
    p = max(float(special.chdtrc(df, statistic)), SMALLEST_P)
    return JointTest(statistic, df, p, f"orthogonal {likelihood} likelihood")


def quadratic_test(distance: Floats, covariance: Floats) -> JointTest:
    """d' V^-1 d against chi-square with the rank of V."""
    deviation = np.sqrt(np.diag(covariance))
    scaled = covariance / np.outer(deviation, deviation)
    values, vectors = np.linalg.eigh(scaled)
    present = values > 1e-9 * values.max()
    along = vectors.T @ (distance / deviation)
    # A direction without variance admits no distance at all: exactly dependent gaps must be consistent.
    impossible = bool(np.any(np.abs(along[~present]) > 1e-6 * max(1.0, float(np.abs(along).max()))))
    statistic = np.inf if impossible else float(np.sum(along[present] ** 2 / values[present]))
    return chi_square_test(statistic, int(present.sum()), "euclidean likelihood")


def chi_square_test(statistic: float, df: int, rule: str) -> JointTest:
    """By the chi-square law of a statistic."""
    return JointTest(statistic, df, max(float(special.chdtrc(df, statistic)), 1e-300), rule)


# -- Upper tail of a weighted sum of chi-square variables with one degree of freedom each. Ruben's mixture
# (Annals of Mathematical Statistics 33, 1962; Farebrother's AS 204): with 0 < β ≤ min λ, P(Σ λ_j χ²_1 >
# x) = Σ_k a_k P(χ²_{m+2k} > x/β), all a_k ≥ 0 and Σ a_k = 1. Every term is positive, so a tail of 1e-30
# is as accurate as one of 0.3: nothing is ever subtracted from one.

# The series needs about 40 · (largest weight / smallest weight) terms. Weights below this share of the largest
# are raised to it: the sum only grows, so the p-value can be a hair too large, never too small.
SMALLEST_SHARE = 1 / 2000
_BLOCK = 128
_RELATIVE_ERROR = 1e-13
_FEW = 12


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
