"""Empirical likelihood of several scores at once, by one vector of multipliers (eq. 3.3 of the ELFA paper)."""

from __future__ import annotations

import numpy as np
from scipy import special

from fairtrial._inference.laws.gaps import SMALLEST_P, JointTest
from fairtrial._inference.means.own_estimates import ScorePoints
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
