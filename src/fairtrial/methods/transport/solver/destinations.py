"""x′ of Proposition 3: the point on the decision boundary that each row moves to, by the kind of boundary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.transport.solver.distances import (
    Floats,
    Norm,
    dual_norm,
    feature_shift,
    nearest_box,
    nearest_flip,
)


def score_destination(score: Floats, threshold: float) -> Floats:
    """The threshold; of whole-number scores the next one that is decided otherwise."""
    if score.size and (score == np.floor(score)).all():
        first_accepted = np.ceil(threshold)
        return np.asarray(np.where(score >= threshold, first_accepted - 1, first_accepted), dtype=np.float64)
    return np.full(score.shape, float(threshold))


def linear_destination(
    points: Floats, margin: Floats, coefficients: Floats, norm: Norm, movable: NDArray[np.bool_]
) -> Floats:
    """Straight to the hyperplane along the cheapest direction; rows that cannot move stay."""
    step = feature_shift(coefficients, norm, movable)
    length = dual_norm(np.where(movable, coefficients, 0.0), norm)
    return points if length == 0.0 else points - np.outer(margin / length, step)


def mixed_destination(
    points: Floats,
    margin: Floats,
    coefficients: Floats,
    jumping: NDArray[np.bool_],
    reachable: Floats,
    moves: tuple[NDArray[np.bool_], float, Norm],
) -> Floats:
    """Cost (4): the straight way, or first the best jump of the discrete features and then what is left.

    `reachable` are the combinations of the discrete features, `moves` what may move continuously, the jump's cost
    and the norm.
    """
    movable, step_cost, norm = moves
    straight = linear_destination(points, margin, coefficients, norm, movable)
    worth = reachable @ coefficients[jumping]
    best = np.where(margin >= 0, worth.argmin(), worth.argmax())
    jumped = points.copy()
    jumped[:, jumping] = reachable[best]
    after = margin + (jumped - points) @ coefficients
    crossed = np.where(margin >= 0, after <= 0, after >= 0)
    length = dual_norm(np.where(movable, coefficients, 0.0), norm)
    rest = linear_destination(jumped, np.where(crossed, 0.0, after), coefficients, norm, movable)
    if length == 0.0:
        return rest
    jump_pays = step_cost + np.where(crossed, 0.0, np.abs(after)) / length < np.abs(margin) / length
    return np.where(jump_pays[:, None], rest, straight)


def tree_destination(
    points: Floats,
    decision: NDArray[np.integer],
    boxes: tuple[Floats, Floats, NDArray[np.integer]],
    norm: Norm,
    movable: NDArray[np.bool_],
) -> Floats:
    """The nearest point of the nearest leaf box of the other decision; `boxes` are lows, highs and decisions."""
    lows, highs, leaf_decision = boxes
    end = points.copy()
    for target in (0, 1):
        here, other = np.flatnonzero(decision == 1 - target), leaf_decision == target
        if here.size and other.any():
            best, length = nearest_box(points[here], lows[other], highs[other], norm, movable)
            low, high = lows[other][best], highs[other][best]
            nearest = np.clip(points[here], low, high)
            end[here] = np.where(np.isfinite(length)[:, None], nearest, points[here])
    return end


def predict_destination(
    points: Floats,
    decision: NDArray[np.integer],
    predict: Callable[[Floats], NDArray[np.integer]],
    rows: NDArray[np.intp],
    moves: tuple[Norm, NDArray[np.bool_]],
) -> Floats:
    """Where the decision flips on the way to the neighbour whose way is shortest."""
    norm, movable = moves
    wanted = np.zeros(len(points), dtype=bool)
    wanted[rows] = True
    end = points.copy()
    for here, _, there in nearest_flip(points, decision, predict, norm, movable, wanted):
        end[here] = there
    return end[rows]
