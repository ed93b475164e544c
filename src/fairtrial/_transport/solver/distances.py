"""d(x) of equation (6): how far a row is from the other side of the decision boundary.

In closed form for linear rules, scores and kernel machines; a tree's leaves and a predict function are searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Norm = Literal["l1", "l2", "linf"]
_ORDER = {"l1": 1, "l2": 2, "linf": np.inf}
_DUAL_ORDER = {"l1": np.inf, "l2": 2, "linf": 1}  # the dual of l1 is the maximum, of the maximum l1
_HALVINGS = 40
_NEIGHBOURS = 5
_BLOCK_NUMBERS = 4_000_000


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
    from scipy.special import logit

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


def leaf_boxes(
    left: NDArray[np.integer],
    right: NDArray[np.integer],
    feature: NDArray[np.integer],
    threshold: Floats,
    size: int,
) -> tuple[NDArray[np.integer], Floats, Floats]:
    """(leaf nodes, lower edges, upper edges) of a tree of rules x[feature] ≤ threshold; children −1 at leaves."""
    nodes, lows, highs = [], [], []
    stack = [(0, np.full(size, -np.inf), np.full(size, np.inf))]
    while stack:
        node, low, high = stack.pop()
        if left[node] < 0:
            nodes.append(node)
            lows.append(low)
            highs.append(high)
            continue
        axis, cut = feature[node], threshold[node]
        below, above = high.copy(), low.copy()
        below[axis], above[axis] = min(high[axis], cut), max(low[axis], cut)
        stack.append((int(left[node]), low, below))
        stack.append((int(right[node]), above, high))
    return np.array(nodes), np.array(lows), np.array(highs)


def tree_distance(
    x: Floats,
    decision: NDArray[np.integer],
    lows: Floats,
    highs: Floats,
    leaf_decision: NDArray[np.integer],
    norm: Norm = "l2",
    movable: NDArray[np.bool_] | None = None,
) -> Floats:
    """Exact: the distance to the nearest box (low, high] whose decision is the other one."""
    distance = np.full(len(x), np.inf)
    for target in (0, 1):
        here, other = np.flatnonzero(decision == 1 - target), leaf_decision == target
        distance[here] = nearest_box(x[here], lows[other], highs[other], norm, movable)[1]
    return distance


def nearest_box(
    rows: Floats, lows: Floats, highs: Floats, norm: Norm, movable: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.intp], Floats]:
    """Which box is nearest to each row, and how far it is.

    Boxes that would need an immovable feature to change are out of reach; a row with no box left gets infinity.
    """
    fixed = np.zeros(rows.shape[1], bool) if movable is None else ~movable
    best, place = np.full(len(rows), np.inf), np.zeros(len(rows), dtype=np.intp)
    for number, (low, high) in enumerate(zip(lows, highs, strict=True)):
        outside = np.maximum(np.maximum(low - rows, rows - high), 0.0)
        length = np.linalg.norm(outside, _ORDER[norm], axis=1)
        if fixed.any():
            inside = (rows[:, fixed] > low[fixed]) & (rows[:, fixed] <= high[fixed])
            length = np.where(inside.all(axis=1), length, np.inf)
        place = np.where(length < best, number, place)
        best = np.minimum(best, length)
    return place, best


def predict_distance(
    x: Floats,
    decision: NDArray[np.integer],
    predict: Callable[[Floats], NDArray[np.integer]],
    norm: Norm = "l2",
    movable: NDArray[np.bool_] | None = None,
    wanted: NDArray[np.bool_] | None = None,
) -> Floats:
    """An upper bound from `predict` alone: bisection towards the 5 nearest rows decided the other way.

    The nearest such row itself would be biased (it lies beyond the boundary, the further the sparser the data);
    the point where the decision flips on the way to it is not. Immovable features keep the row's own values on
    the way, and a neighbour that is then no longer decided the other way is not used. Rows that are not `wanted` are
    neighbours too, but get infinity: every row asked for costs two hundred predictions.
    """
    distance = np.full(len(x), np.inf)
    for rows, length, _ in nearest_flip(x, decision, predict, norm, movable, wanted):
        distance[rows] = length
    return distance


def nearest_flip(
    x: Floats,
    decision: NDArray[np.integer],
    predict: Callable[[Floats], NDArray[np.integer]],
    norm: Norm,
    movable: NDArray[np.bool_] | None,
    wanted: NDArray[np.bool_] | None,
) -> Iterator[tuple[NDArray[np.intp], Floats, Floats]]:
    """Blocks of rows with the shortest way on which the decision flips: how long it is and where it ends."""
    from scipy.spatial import cKDTree

    keep = np.zeros(x.shape[1], bool) if movable is None else ~movable
    for side in (0, 1):
        there = np.flatnonzero(decision != side)
        here = np.flatnonzero((decision == side) & (True if wanted is None else wanted))
        if not here.size or not there.size:
            continue
        ranks = _ranks(there.size, some_fixed=bool(keep.any()))
        tree, count = cKDTree(x[there]), ranks.size
        block = max(1, _BLOCK_NUMBERS // (count * x.shape[1]))
        for first in range(0, here.size, block):
            rows = here[first : first + block]
            nearest = tree.query(x[rows], k=ranks, p=_ORDER[norm])[1].reshape(rows.size, count)
            start = np.repeat(x[rows], count, axis=0)
            end = x[there[nearest.ravel()]].copy()
            end[:, keep] = start[:, keep]
            flip = _flip_point(start, end, side, predict)
            with np.errstate(invalid="ignore"):  # no flip on a way of no length
                length = flip * np.linalg.norm(end - start, _ORDER[norm], axis=1)
            length = np.where(np.isnan(length), np.inf, length).reshape(rows.size, count)
            best = length.argmin(axis=1) + count * np.arange(rows.size)
            share = np.where(np.isfinite(flip[best]), flip[best], 0.0)[:, None]
            yield rows, length.min(axis=1), start[best] + share * (end[best] - start[best])


def _ranks(size: int, *, some_fixed: bool) -> NDArray[np.integer]:
    """Which of the nearest rows are tried."""
    ranks = np.arange(1, _NEIGHBOURS + 1)
    if some_fixed:  # the nearest are often of the other side because of what may not move: look further too
        ranks = np.concatenate([ranks, _NEIGHBOURS * 2 ** np.arange(1, 8)])
    return ranks[ranks <= size]


def _flip_point(
    start: Floats, end: Floats, side: int, predict: Callable[[Floats], NDArray[np.integer]]
) -> Floats:
    """The share of the way from start to end at which the decision flips; infinite where the end is on `side`."""
    usable = np.asarray(predict(end)) != side
    low, high = np.zeros(len(start)), np.ones(len(start))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        flipped = np.asarray(predict(start + middle[:, None] * (end - start))) != side
        low, high = np.where(flipped, low, middle), np.where(flipped, middle, high)
    return np.where(usable, high, np.inf)
