"""Where the people who move would move to: the nearest point of the other decision, feature by feature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.transport.boundary import (
    Boundary,
    LinearBoundary,
    Predict,
    PredictBoundary,
    TreeBoundary,
)
from fairtrial.methods.transport.moves import Destination, Moves, Ways
from fairtrial.methods.transport.solver import destinations as solver
from fairtrial.methods.transport.solver.distances import Floats

Rows = NDArray[np.intp]
Chosen = NDArray[np.bool_]


def score_way(name: str, score: Floats, threshold: float) -> Destination:
    """The score alone moves, to its threshold."""
    end = solver.score_destination(score, threshold)
    return lambda rows: Ways((name,), score[rows, None], end[rows, None])


def linear_way(
    boundary: LinearBoundary, margin: Floats, spread: Floats, moves: Moves, chosen: tuple[Chosen, Chosen]
) -> Destination:
    """Straight to the hyperplane, or with a jump of the discrete features; `chosen` may move and jump."""
    movable, jumping = chosen
    # the margin's own sign and size: the hyperplane is where it is zero, whichever class is the audit's 1
    theta = boundary.coefficients * spread * orientation(boundary.margin, margin)
    points = boundary.points / spread

    def destination(rows: Rows) -> Ways:
        start = points[rows]
        if moves.step_cost is None:
            end = solver.linear_destination(start, margin[rows], theta, moves.norm, movable)
        else:
            reachable = np.unique(points[:, jumping], axis=0)
            how = (movable & ~jumping, float(moves.step_cost), moves.norm)
            end = solver.mixed_destination(start, margin[rows], theta, jumping, reachable, how)
        return _ways(boundary, start * spread, end * spread)

    return destination


def orientation(own: Floats, used: Floats) -> float:
    """−1 where the model's second class is the audit's zero: its margin then falls as the decision's rises."""
    highest, lowest = int(own.argmax()), int(own.argmin())
    return -1.0 if used[highest] < used[lowest] else 1.0


def tree_way(
    boundary: TreeBoundary,
    decision: NDArray[np.integer],
    leaf_decision: NDArray[np.integer],
    spread: Floats,
    how: tuple[Moves, Chosen],
) -> Destination:
    """Into the nearest leaf of the other decision."""
    moves, movable = how
    boxes = (boundary.lows / spread, boundary.highs / spread, leaf_decision)

    def destination(rows: Rows) -> Ways:
        start = boundary.points[rows] / spread
        end = solver.tree_destination(start, decision[rows], boxes, moves.norm, movable)
        exact = boundary.exact[rows]
        return _ways(boundary, exact, np.where(end == start, exact, _just_inside(end * spread, end > start)))

    return destination


def _just_inside(edge: Floats, rising: NDArray[np.bool_]) -> Floats:
    """Above the edge where one rises to it, at most on it where one falls, as single precision sees it."""
    single = edge.astype(np.float32)
    above = np.where(single <= edge, np.nextafter(single, np.float32(np.inf)), single)
    below = np.where(single > edge, np.nextafter(single, np.float32(-np.inf)), single)
    return np.where(rising, above, below).astype(np.float64)


def predict_way(
    boundary: PredictBoundary,
    decision: NDArray[np.integer],
    rule: Predict,
    spread: Floats,
    how: tuple[Moves, Chosen],
) -> Destination:
    """To where the decision flips on the shortest of the ways that were searched."""
    moves, movable = how

    def destination(rows: Rows) -> Ways:
        points = boundary.points / spread
        end = solver.predict_destination(points, decision, rule, rows, (moves.norm, movable))
        return _ways(boundary, boundary.points[rows], end * spread)

    return destination


def _ways(boundary: Boundary, start: Floats, end: Floats) -> Ways:
    """In the features' own units where there is a way back to them."""
    if boundary.back is not None:
        start, end = boundary.back(start), boundary.back(end)
    return Ways(boundary.columns, start, end)
