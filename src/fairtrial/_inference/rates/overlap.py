"""Profile likelihood of a group against a reference that shares members with it.

Weights on support points; the constraints are sum w 1_G (M - theta - gap) = 0 and sum w 1_R (M - theta) = 0
with the reference's mean theta free. Batches of problems are solved together (first axis).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.numeric.roots import Floats

ITERATIONS = 60


class OverlapState(NamedTuple):
    """Denominators n / (weight) of the support points, the free mean, and whether it is a solution."""

    denominator: Floats
    theta: Floats
    solved: NDArray[np.bool_]


def constrained_weights(
    value: Floats, group: Floats, reference: Floats, counts: Floats, gap: Floats
) -> OverlapState:
    """Newton's method on the stationarity conditions in (lambda_G, lambda_R, theta), weights kept positive.

    The first step from lambda = 0 is the Gaussian solution, so a handful of steps suffice.
    """
    lambdas = np.zeros((*counts.shape[:-1], 2))
    theta = np.sum(counts * reference * value, axis=-1) / np.sum(counts * reference, axis=-1)
    scale = np.sum(counts, axis=-1)
    for _ in range(ITERATIONS):
        residual, jacobian, denominator = _conditions(value, group, reference, counts, gap, lambdas, theta)
        size = np.max(np.abs(residual) / scale[..., None], axis=-1)
        if np.all(size < 1e-13):
            break
        step = _solve(jacobian, -residual)
        length = _longest_step(value, group, reference, gap, lambdas, theta, step, denominator)
        lambdas = lambdas + length[..., None] * step[..., :2]
        theta = theta + length * step[..., 2]
    residual, _, denominator = _conditions(value, group, reference, counts, gap, lambdas, theta)
    solved = np.max(np.abs(residual) / scale[..., None], axis=-1) < 1e-9
    return OverlapState(denominator, theta, solved & np.all(denominator > 0, axis=-1))


def _conditions(
    value: Floats,
    group: Floats,
    reference: Floats,
    counts: Floats,
    gap: Floats,
    lambdas: Floats,
    theta: Floats,
) -> tuple[Floats, Floats, Floats]:
    """The three stationarity conditions, their Jacobian, and the weights' denominators."""
    centred = value - theta[..., None]
    g1, g2 = group * (centred - gap[..., None]), reference * centred
    l1, l2 = lambdas[..., :1], lambdas[..., 1:]
    denominator = 1.0 + l1 * g1 + l2 * g2
    weight = counts / denominator
    squared = weight / denominator
    pull = l1 * group + l2 * reference

    def total(x: Floats) -> Floats:
        return np.asarray(np.sum(x, axis=-1))

    residual = np.stack([total(weight * g1), total(weight * g2), total(weight * pull)], axis=-1)
    h11, h12, h22 = total(squared * g1 * g1), total(squared * g1 * g2), total(squared * g2 * g2)
    e1 = total(weight * group - squared * pull * g1)
    e2 = total(weight * reference - squared * pull * g2)
    corner = total(squared * pull * pull)
    rows = [[-h11, -h12, -e1], [-h12, -h22, -e2], [e1, e2, corner]]
    jacobian = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    return residual, jacobian, denominator


def _solve(matrix: Floats, right: Floats) -> Floats:
    """Batched 3 x 3 solve by cofactors; a hair of ridge where a part has no variation."""
    scale = np.abs(matrix).max(axis=(-2, -1))[..., None, None]
    ridged = matrix + 1e-14 * scale * np.diag([-1.0, -1.0, 1.0])
    first, second, third = (ridged[..., :, column] for column in range(3))
    cofactors = [np.cross(second, third), np.cross(third, first), np.cross(first, second)]
    determinant = np.sum(first * cofactors[0], axis=-1)
    return np.stack([np.sum(right * cofactor, axis=-1) / determinant for cofactor in cofactors], axis=-1)


def _longest_step(
    value: Floats,
    group: Floats,
    reference: Floats,
    gap: Floats,
    lambdas: Floats,
    theta: Floats,
    step: Floats,
    denominator: Floats,
) -> Floats:
    """The largest of 1, 1/2, 1/4 ... that keeps every weight positive and not more than tenfold."""
    length = np.ones(theta.shape)
    for _ in range(40):
        moved = lambdas + length[..., None] * step[..., :2]
        centred = value - (theta + length * step[..., 2])[..., None]
        raised = (
            1.0 + moved[..., :1] * group * (centred - gap[..., None]) + moved[..., 1:] * reference * centred
        )
        fits = np.all(raised > 0.1 * denominator, axis=-1)
        if fits.all():
            break
        length = np.where(fits, length, 0.5 * length)
    return length


def overlap_root(
    value: Floats,
    group: Floats,
    reference: Floats,
    counts: Floats,
    gap: Floats,
    score: NDArray[np.bool_],
) -> Floats:
    """Signed root of the test of 'mean of the group minus mean of the reference = gap'.

    The likelihood ratio's, or the score's where asked: distance over its standard error at the null.
    """
    total = np.sum(counts, axis=-1)
    means = [
        np.sum(counts * part * value, axis=-1) / np.sum(counts * part, axis=-1) for part in (group, reference)
    ]
    distance = means[0] - means[1] - gap
    state = constrained_weights(value, group, reference, counts, gap)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = counts / state.denominator / total[..., None]
        deviance = 2.0 * np.sum(counts * np.log(state.denominator), axis=-1)
        shares = [np.sum(weight * part, axis=-1, keepdims=True) for part in (group, reference)]
        centred = value - state.theta[..., None]
        influence = group * (centred - gap[..., None]) / shares[0] - reference * centred / shares[1]
        variance = np.sum(weight * influence**2, axis=-1) / (total - 1.0)
        by_score = distance / np.sqrt(variance)
        by_likelihood = np.sign(distance) * np.sqrt(np.maximum(deviance, 0.0))
    root = np.where(score, by_score, by_likelihood)
    # No weights meet the constraints: the gap is impossible given the support.
    return np.where(state.solved, np.where(distance == 0, 0.0, root), np.copysign(np.inf, distance))
