"""d(x) of equation (6): how far a row is from the other side of the decision boundary, in closed form.

The other kinds, which search for the boundary, are in `searched_distances`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit

Floats = NDArray[np.float64]
Norm = Literal["l1", "l2", "linf"]
NORMS: tuple[Norm, ...] = ("l1", "l2", "linf")
_DUAL_ORDER = {"l1": np.inf, "l2": 2, "linf": 1}  # the dual of l1 is the maximum, of the maximum l1


def dual_norm(direction: Floats, norm: Norm) -> float:
    """‖θ‖_* for distances measured in `norm`."""
    return float(np.linalg.norm(direction, _DUAL_ORDER[norm])) if direction.size else 0.0


def linear_distance(
    margin: Floats, coefficients: Floats, norm: Norm = "l2", movable: NDArray[np.bool_] | None = None
) -> Floats:
    """|θᵀx − w| / ‖θ‖_* (proof of Lemma 1); features that may not move are left out of the dual norm."""
    moving = coefficients if movable is None else np.where(movable, coefficients, 0.0)
    length = dual_norm(moving, norm)
    if length == 0.0:
        return np.full(margin.shape, np.inf)
    return np.abs(margin) / length


def mixed_distance(
    margin: Floats,
    discrete_part: Floats,
    reachable: Floats,
    continuous: Floats,
    step_cost: float,
    norm: Norm = "l2",
) -> Floats:
    """Cost (4): continuous features move by their norm, all discrete ones together jump for δ = `step_cost`.

    `discrete_part` is θ_Dᵀx_D of each row, `reachable` the values θ_Dᵀx_D may take, `continuous` is θ_C of the
    features that may move. min(|m|/‖θ_C‖_*, δ + what is left of the margin after the best jump/‖θ_C‖_*).
    """
    length = dual_norm(continuous, norm)
    accepted = margin >= 0
    best = np.where(accepted, reachable.min(), reachable.max())
    after = margin + best - discrete_part
    # a jump alone crosses downwards only strictly below zero; the infimum over small extra moves closes that
    crossed = np.where(accepted, after <= 0 if length > 0 else after < 0, after >= 0)
    with np.errstate(divide="ignore"):
        alone = np.abs(margin) / length if length > 0 else np.full(margin.shape, np.inf)
        left = np.abs(after) / length if length > 0 else np.full(margin.shape, np.inf)
    return np.minimum(alone, step_cost + np.where(crossed, 0.0, left))


def score_distance(score: Floats, threshold: float, units: Literal["score", "log-odds"] = "score") -> Floats:
    """|s − τ|, or the same in log-odds: for a black box the distance that needs nothing but its score.

    A score of whole numbers moves in whole steps: with τ = 5, a 5 must fall to 4 and a 4 rise to 5, one step each.
    """
    if units == "score":
        if score.size and (score == np.floor(score)).all():
            first_accepted = np.ceil(threshold)
            steps = np.where(score >= threshold, score - (first_accepted - 1), first_accepted - score)
            return np.asarray(steps, dtype=np.float64)
        return np.abs(score - threshold)
    if (score < 0).any() or (score > 1).any() or not 0 < threshold < 1:
        raise ValueError("log-odds need scores between 0 and 1 and a threshold inside")
    return np.abs(logit(score) - logit(threshold))


def kernel_distance(values: Floats, dual: ArrayLike, gram: ArrayLike) -> Floats:
    """|f(x)| / √(αᵀKα), the distance in the kernel's own space; the article's (3b) is its square."""
    alpha, matrix = np.asarray(dual, dtype=float).ravel(), np.asarray(gram, dtype=float)
    length = float(np.sqrt(max(alpha @ matrix @ alpha, 0.0)))
    if length == 0.0:
        return np.full(np.shape(values), np.inf)
    return np.abs(values) / length


def feature_shift(coefficients: Floats, norm: Norm, movable: NDArray[np.bool_] | None = None) -> Floats:
    """How much each feature changes per unit of distance along the cheapest move (signed, towards larger θᵀx)."""
    moving = coefficients if movable is None else np.where(movable, coefficients, 0.0)
    if not moving.any():
        return np.zeros_like(moving)
    if norm == "l2":
        return np.asarray(moving / np.linalg.norm(moving))
    if norm == "linf":
        return np.sign(moving)
    strongest = np.zeros_like(moving)
    index = int(np.abs(moving).argmax())
    strongest[index] = np.sign(moving[index])
    return strongest
