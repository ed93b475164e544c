"""What may move, and where the people who move would move to, feature by feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, InputError, Note
from fairtrial._transport.boundary import (
    Boundary,
    LinearBoundary,
    Predict,
    PredictBoundary,
    TreeBoundary,
)
from fairtrial._transport.solver.distances import (
    Floats,
    Norm,
    dual_norm,
    feature_shift,
    nearest_box,
    nearest_flip,
)


# -- What may move and how a move is measured, and the distances that come of it.
@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """What may move and how a move is measured."""

    norm: Norm = "l2"
    units: str | None = None
    immutable: tuple[str, ...] = ()
    discrete: tuple[str, ...] = ()
    step_cost: float | None = None

    @property
    def given(self) -> list[str]:
        """The arguments that are not at their defaults."""
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]


def feature_list(argument: str, given: str | Sequence[str]) -> tuple[str, ...]:
    """The features that an argument names, with one name as good as a list of one."""
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise InputError("transport", Fault(argument, "must be a feature or a list of features", got=given))
    return tuple(listed)


@dataclass(frozen=True, slots=True, eq=False)
class DecidedRows:
    """The audit's rows as they were decided, and which of them are compared."""

    audit: Audit
    decision: NDArray[np.uint8]
    compared: NDArray[np.bool_]
    score: NDArray[np.float64] | None = None  # where lines stand for several rows


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Where rows stand and where they move to: one column for each feature, in its own units where it has such."""

    columns: tuple[str, ...]
    start: NDArray[np.float64]
    end: NDArray[np.float64]


Destination = Callable[[NDArray[np.intp]], Ways]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Distances:
    """One distance per row, or the reason why there is none."""

    values: NDArray[np.float64] | None
    kind: str
    unit: str
    why_none: str | None = None
    movable: tuple[str, ...] = ()
    immutable: tuple[str, ...] = ()
    # change of each feature per unit of distance, in its own units
    per_feature: tuple[dict[str, Any], ...] = ()
    notes: tuple[Note, ...] = ()
    # where the rows asked for would move to; None where only the distance is known
    destination: Destination | None = None


Rows = NDArray[np.intp]
Chosen = NDArray[np.bool_]


def score_way(name: str, score: Floats, threshold: float) -> Destination:
    """The score alone moves, to its threshold."""
    end = score_destination(score, threshold)
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
            end = linear_destination(start, margin[rows], theta, moves.norm, movable)
        else:
            reachable = np.unique(points[:, jumping], axis=0)
            how = (movable & ~jumping, float(moves.step_cost), moves.norm)
            end = mixed_destination(start, margin[rows], theta, jumping, reachable, how)
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
        end = tree_destination(start, decision[rows], boxes, moves.norm, movable)
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
        end = predict_destination(points, decision, rule, rows, (moves.norm, movable))
        return _ways(boundary, boundary.points[rows], end * spread)

    return destination


def _ways(boundary: Boundary, start: Floats, end: Floats) -> Ways:
    """In the features' own units where there is a way back to them."""
    if boundary.back is not None:
        start, end = boundary.back(start), boundary.back(end)
    return Ways(boundary.columns, start, end)


# -- x′ of Proposition 3: the point on the decision boundary that each row moves to, by the kind of boundary.
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
