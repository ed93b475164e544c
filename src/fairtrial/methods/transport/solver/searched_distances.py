"""Distances to the decision boundary that have to be searched for: a decision tree's leaves, a predict function."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.transport.solver.closed_form_distances import Floats, Norm

_ORDER = {"l1": 1, "l2": 2, "linf": np.inf}
_HALVINGS = 40
_NEIGHBOURS = 5
_BLOCK_NUMBERS = 4_000_000


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
    """Exact: the distance to the nearest box (low, high] whose decision is the other one.

    Boxes that would need an immovable feature to change are out of reach; a row with no box left gets infinity.
    """
    distance = np.full(len(x), np.inf)
    fixed = np.zeros(x.shape[1], bool) if movable is None else ~movable
    for target in (0, 1):
        here = np.flatnonzero(decision == 1 - target)
        rows = x[here]
        best = np.full(here.size, np.inf)
        for low, high in zip(lows[leaf_decision == target], highs[leaf_decision == target], strict=True):
            outside = np.maximum(np.maximum(low - rows, rows - high), 0.0)
            length = np.linalg.norm(outside, _ORDER[norm], axis=1)
            if fixed.any():
                inside = (rows[:, fixed] > low[fixed]) & (rows[:, fixed] <= high[fixed])
                length = np.where(inside.all(axis=1), length, np.inf)
            best = np.minimum(best, length)
        distance[here] = best
    return distance


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
    from scipy.spatial import cKDTree

    distance = np.full(len(x), np.inf)
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
            length = flip * np.linalg.norm(end - start, _ORDER[norm], axis=1)
            distance[rows] = np.where(np.isnan(length), np.inf, length).reshape(rows.size, count).min(axis=1)
    return distance


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
