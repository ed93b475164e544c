"""How far each row is from the decision boundary: from the audit's score, a column, a written rule or a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, InputError, Named, NotApplicable, Note, Set, Words, did_you_mean
from fairtrial._metrics.values import ROLES, Role
from fairtrial._transport.boundary import (
    Boundary,
    Floats,
    KernelBoundary,
    LinearBoundary,
    PredictBoundary,
    TreeBoundary,
    read_boundary,
)
from fairtrial._transport.moves import (
    DecidedRows,
    Distances,
    Moves,
    linear_way,
    orientation,
    predict_way,
    score_way,
    tree_way,
)
from fairtrial._transport.solver import distances as solver

WHO = "transport"


def find_distance(decided: DecidedRows, distance: object, moves: Moves) -> Distances:
    """Distances of the kind asked for (default: the score and its threshold), at least of the compared rows."""
    audit = decided.audit
    if distance is None and (audit.score is None or audit.threshold is None):
        return _no_distance(moves)
    if distance is None or (isinstance(distance, Role) and distance == ROLES["score"]):
        distance = "score"
    if isinstance(distance, str):
        _refuse_all(moves, Words("with {}", Set("distance", distance)))
        known = distance in ("score", "log-odds")
        return _by_score(decided, distance) if known else _by_column(audit, distance)
    return _to_boundary(decided, _boundary(audit, distance), moves)


def _boundary(audit: Audit, distance: object) -> Boundary:
    if isinstance(distance, Mapping):
        return _written_rule(audit, distance)
    if callable(getattr(distance, "predict", None)) or callable(distance):
        return read_boundary(audit, distance)
    required = (
        "must be 'score', 'log-odds', a column, a fitted classifier, a predict function or a table of coefficients "
        "and an intercept"
    )
    raise InputError(WHO, Fault("distance", required, got=distance))


def _no_distance(moves: Moves) -> Distances:
    _refuse_all(moves, Words("without a distance"))
    why = (
        "the audit has decisions only: how far they are from the boundary is not known. "
        "Give the audit a score and a threshold, or name a distance: a model, a function or a column"
    )
    return Distances(values=None, kind="none", unit="", why_none=why)


def _refuse_all(moves: Moves, when: Words) -> None:
    why = Words(f"speaks of features, which do not matter {when.text}", *when.parts)
    _refuse(moves, moves.given, why, Words("give {} a model", Set("distance")))


def _refuse(moves: Moves, refused: Sequence[str], why: Words | str, cure: Words | str = "") -> None:
    faults = [Fault(name, why, cure=cure) for name in moves.given if name in refused]
    if faults:
        raise NotApplicable(WHO, faults)


def _by_score(decided: DecidedRows, units: str) -> Distances:
    audit = decided.audit
    if audit.score is None or audit.threshold is None:
        parts = Set("score", of="Audit"), Set("threshold", of="Audit")
        raise InputError(WHO, Fault("distance", Words(f"{units!r} needs {{}} and {{}}", *parts)))
    score = decided.score
    if score is None:
        score = audit.rows(roles=["score"], who=WHO).roles["score"]
    try:
        values = solver.score_distance(score, audit.threshold, "log-odds" if units == "log-odds" else "score")
    except ValueError:
        required = "'log-odds' needs scores between 0 and 1 and a threshold inside"
        raise InputError(WHO, Fault("distance", required)) from None
    unit = "log-odds of the score" if units == "log-odds" else "units of the score"
    way = score_way(audit.score, score, float(audit.threshold))
    return Distances(values=values, kind=units, unit=unit, movable=(audit.score,), destination=way)


def _by_column(audit: Audit, column: str) -> Distances:
    if column not in audit.source.columns:
        hint = did_you_mean(column, ["score", "log-odds", *audit.source.columns])
        required = "must be 'score', 'log-odds', a model or a column"
        raise InputError(WHO, Fault("distance", required, got=column, hint=hint))
    values = audit.rows(columns=[column], who=WHO).columns[column]
    if (values < 0).any():
        required = f"column {column!r} has {(values < 0).sum():,} negative values; distances are unsigned"
        cure = "give how far each person is from the boundary, on either side"
        raise InputError(WHO, Fault("distance", required, cure=cure))
    return Distances(values=values, kind="column", unit=f"units of {column}")


def _written_rule(audit: Audit, content: Mapping[str, Any]) -> LinearBoundary:
    """A linear rule written down: intercept + Σ coefficient · feature ≥ threshold."""
    unknown = sorted(set(content) - {"coefficients", "intercept", "threshold"})
    coefficients = content.get("coefficients")
    if unknown or not isinstance(coefficients, Mapping) or not coefficients:
        required = (
            "as a table needs 'coefficients' (feature = number) and may have 'intercept' and 'threshold'"
        )
        required += f"; unknown: {unknown}" if unknown else ""
        raise InputError(WHO, Fault("distance", required))
    features = dict.fromkeys(_feature_of(audit, key) for key in coefficients)
    design = audit.design(list(features), who=WHO)
    wrong = sorted(set(coefficients) - set(design.names))
    if wrong:
        required = f"names {wrong}, but the columns of the design are {list(design.names)}"
        raise InputError(WHO, Fault("distance", required, cure="name these"))
    theta = np.array([float(coefficients.get(name, 0.0)) for name in design.names])
    offset = float(content.get("intercept", 0.0)) - float(content.get("threshold", 0.0))
    return LinearBoundary(
        points=design.matrix,
        columns=design.names,
        sources=tuple(design.features[index] for index in design.feature_of),
        margin=design.matrix @ theta + offset,
        coefficients=theta,
        scale=np.ones(theta.size),
    )


def _feature_of(audit: Audit, key: Any) -> str:
    """The feature behind a column of the design, such as race behind race=Black."""
    name: str = key if key in audit.source.columns or "=" not in str(key) else str(key).split("=", 1)[0]
    audit.check_column(WHO, "distance", name)
    return name


def _to_boundary(decided: DecidedRows, boundary: Boundary, moves: Moves) -> Distances:
    """Distances by the kind of boundary, with the features that may move and those that may not."""
    fixed = tuple(name for name in boundary.features if name in moves.immutable)
    free = tuple(name for name in boundary.features if name not in moves.immutable)
    return replace(_by_kind(decided, boundary, moves), movable=free, immutable=fixed)


def _by_kind(decided: DecidedRows, boundary: Boundary, moves: Moves) -> Distances:
    """Exact distances where there is a formula, else searched ones."""
    movable = _movable(boundary, moves)
    if isinstance(boundary, LinearBoundary):
        return _linear(decided, boundary, moves, movable)
    _refuse(moves, ("discrete", "step_cost"), "is for linear models: other boundaries are not priced so")
    if isinstance(boundary, KernelBoundary):
        return _kernel(decided, boundary, moves)
    if isinstance(boundary, TreeBoundary):
        return _tree(decided, boundary, moves, movable)
    assert isinstance(boundary, PredictBoundary)
    return _predict(decided, boundary, moves, movable)


def _movable(boundary: Boundary, moves: Moves) -> NDArray[np.bool_]:
    """Which columns may move."""
    for argument, names in (("immutable", moves.immutable), ("discrete", moves.discrete)):
        unknown = [name for name in names if name not in boundary.features]
        if unknown:
            required = f"names {unknown}; the model's features are {list(boundary.features)}"
            hint = did_you_mean(unknown[0], boundary.features)
            raise InputError(WHO, Fault(argument, required, hint=hint))
    both = sorted(set(moves.immutable) & set(moves.discrete))
    if both:
        raise InputError(
            WHO,
            Fault(
                "discrete",
                "cannot be both immutable and discrete",
                subject=str(both),
                cure="name each feature once",
            ),
        )
    return ~np.isin(boundary.sources, moves.immutable)


def _linear(
    decided: DecidedRows, boundary: LinearBoundary, moves: Moves, movable: NDArray[np.bool_]
) -> Distances:
    margin = _margin_of_decision(decided, boundary.margin)
    spread, unit = _units(boundary, moves.units == "standard", boundary.unit)
    own = boundary.coefficients * orientation(boundary.margin, margin)
    theta = boundary.coefficients * spread
    jumping = np.isin(boundary.sources, moves.discrete)
    cost = _cost_of_jump(moves)
    if cost is None:
        values = solver.linear_distance(margin, theta, moves.norm, movable)
    else:
        values = solver.mixed_distance(
            margin,
            boundary.points[:, jumping] @ own[jumping],
            np.unique(boundary.points[:, jumping], axis=0) @ own[jumping],
            theta[movable & ~jumping],
            cost,
            moves.norm,
        )
    step = solver.feature_shift(theta, moves.norm, movable & ~jumping) * spread
    changes = zip(boundary.columns, step * boundary.scale, strict=True) if boundary.scale is not None else ()
    return Distances(
        values=values,
        kind="linear",
        unit=unit,
        per_feature=tuple({"feature": name, "change": float(change)} for name, change in changes if change),
        destination=linear_way(boundary, margin, spread, moves, (movable, jumping)),
    )


def _cost_of_jump(moves: Moves) -> float | None:
    """What changing the discrete features costs; None where there are none."""
    if moves.discrete:
        if moves.step_cost is None:
            cure = "what does changing the discrete features cost (a number > 0)?"
            raise InputError(WHO, Fault("step_cost", "is missing", cure=cure))
        return float(moves.step_cost)
    if moves.step_cost is not None:
        required = Words("is the price of changing {} features: name them", Named("discrete"))
        raise InputError(WHO, Fault("step_cost", required))
    return None


def _kernel(decided: DecidedRows, boundary: KernelBoundary, moves: Moves) -> Distances:
    _refuse(
        moves,
        ("immutable", "units", "norm"),
        "is not offered for a kernel machine: its distance is in the kernel's own space",
        Words("Give {} the model's predict function instead", Named("distance")),
    )
    _margin_of_decision(decided, boundary.margin)
    values = solver.kernel_distance(boundary.margin, boundary.dual, boundary.gram)
    return Distances(values=values, kind="kernel", unit="units of the kernel's space")


def _tree(
    decided: DecidedRows, boundary: TreeBoundary, moves: Moves, movable: NDArray[np.bool_]
) -> Distances:
    own = "units of the features as the model sees them"
    spread, unit = _units(boundary, moves.units == "standard", own)
    leaves = _leaf_decisions(decided, boundary)
    values = solver.tree_distance(
        boundary.points / spread,
        decided.decision,
        boundary.lows / spread,
        boundary.highs / spread,
        leaves,
        moves.norm,
        movable,
    )
    way = tree_way(boundary, decided.decision, leaves, spread, (moves, movable))
    return Distances(values=values, kind="tree", unit=unit, destination=way)


def _predict(
    decided: DecidedRows, boundary: PredictBoundary, moves: Moves, movable: NDArray[np.bool_]
) -> Distances:
    decision = decided.decision
    answer = np.asarray(boundary.predict(boundary.points))
    _check_answer(answer, decision)
    same_way = bool((answer == decision).all())
    spread, unit = _units(boundary, moves.units != "model", "units of the features")

    def rule(points: Floats) -> NDArray[np.integer]:
        answer = np.asarray(boundary.predict(points * spread))
        return answer if same_way else 1 - answer

    note = Note(
        "searched-distance",
        "Distances were searched for with the predict function along the way to the five nearest people decided "
        "otherwise: each is an upper bound of the true one.",
    )
    values = solver.predict_distance(
        boundary.points / spread, decision, rule, moves.norm, movable, decided.compared
    )
    way = predict_way(boundary, decision, rule, spread, (moves, movable))
    return Distances(values=values, kind="predict", unit=unit, notes=(note,), destination=way)


def _units(boundary: Boundary, standard: bool, own: str) -> tuple[Floats, str]:
    """What one unit of distance is in each column, and what people call it."""
    if not standard:
        return np.ones(boundary.points.shape[1]), own
    spread = boundary.points.std(axis=0)
    return np.where(spread > 0, spread, 1.0), "standard deviations"


def _margin_of_decision(decided: DecidedRows, margin: Floats) -> Floats:
    """The margin whose sign is the audit's decision: at zero, or at the audit's threshold on the probability."""
    decision, threshold = decided.decision, decided.audit.threshold
    candidates = [margin]
    if threshold is not None and 0 < threshold < 1:
        candidates.append(margin - float(logit(threshold)))
    wrong = []
    for candidate in candidates:
        clear = np.abs(candidate) > 1e-12
        differs = int(((candidate > 0) != (decision == 1))[clear].sum())
        if differs == 0:
            return candidate
        if differs == int(clear.sum()):
            return -candidate  # the model's second class is the audit's zero
        wrong.append(min(differs, int(clear.sum()) - differs))
    raise _disagreement(min(wrong), decision.size)


def _disagreement(wrong: int, rows: int) -> InputError:
    required = (
        f"decides {wrong:,} of {rows:,} rows differently from the audit's decision: the boundary is not the one that "
        "was used"
    )
    cure = Words("Check {}, the rows, and the threshold", Set("features", of="Audit"))
    return InputError(WHO, Fault("distance", required, cure=cure))


def _check_answer(answer: NDArray[np.generic], decision: NDArray[np.uint8]) -> None:
    if not np.isin(answer, (0, 1)).all():
        fault = Fault("distance", "must predict 0 or 1", got=sorted(set(answer.tolist()))[:5])
        raise InputError(WHO, fault)
    wrong = int((answer != decision).sum())
    if 0 < wrong < decision.size:
        raise _disagreement(min(wrong, decision.size - wrong), decision.size)


def _leaf_decisions(decided: DecidedRows, boundary: TreeBoundary) -> NDArray[np.integer]:
    """Each leaf's decision, by majority or by the audit's threshold, whichever the rows were decided by."""
    candidates = [boundary.leaf_share > 0.5]
    if decided.audit.threshold is not None:
        candidates.append(boundary.leaf_share >= decided.audit.threshold)
    wrong = []
    for leaves in candidates:
        answer = leaves[boundary.leaf_of_row]
        for oriented, result in ((answer, leaves), (~answer, ~leaves)):
            differs = int((oriented != (decided.decision == 1)).sum())
            if differs == 0:
                return np.asarray(result, dtype=np.int64)
            wrong.append(differs)
    raise _disagreement(min(wrong), decided.decision.size)
