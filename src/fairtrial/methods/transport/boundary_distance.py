"""How far each row is from a model's decision boundary, once the model is shown to have made the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from fairtrial.data.audit import Audit
from fairtrial.errors import Fault, InputError, Named, NotApplicable, Note, Set, Words, did_you_mean
from fairtrial.methods.transport.boundary import (
    Boundary,
    Floats,
    KernelBoundary,
    LinearBoundary,
    PredictBoundary,
    TreeBoundary,
)
from fairtrial.methods.transport.moves import DecidedRows, Distances, Moves
from fairtrial.methods.transport.solver import distances as closed
from fairtrial.methods.transport.solver.distances import predict_distance, tree_distance

WHO = "transport"


def boundary_distance(decided: DecidedRows, boundary: Boundary, moves: Moves) -> Distances:
    """Distances by the kind of boundary, with the features that may move and those that may not."""
    found = _by_kind(decided, boundary, moves)
    fixed = tuple(name for name in boundary.features if name in moves.immutable)
    free = tuple(name for name in boundary.features if name not in moves.immutable)
    return replace(found, movable=free, immutable=fixed)


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
        raise InputError(WHO, Fault("discrete", "cannot be both immutable and discrete", subject=str(both)))
    return ~np.isin(boundary.sources, moves.immutable)


def _refuse(moves: Moves, refused: Sequence[str], why: str, cure: Words | str = "") -> None:
    faults = [Fault(name, why, cure=cure) for name in moves.given if name in refused]
    if faults:
        raise NotApplicable(WHO, faults)


def _linear(
    decided: DecidedRows, boundary: LinearBoundary, moves: Moves, movable: NDArray[np.bool_]
) -> Distances:
    margin = _margin_of_decision(decided, boundary.margin)
    spread = _spread(boundary) if moves.units == "standard" else np.ones(boundary.coefficients.size)
    theta = boundary.coefficients * spread
    jumping = np.isin(boundary.sources, moves.discrete)
    cost = _cost_of_jump(moves)
    if cost is None:
        values = closed.linear_distance(margin, theta, moves.norm, movable)
    else:
        values = closed.mixed_distance(
            margin,
            boundary.points[:, jumping] @ boundary.coefficients[jumping],
            np.unique(boundary.points[:, jumping], axis=0) @ boundary.coefficients[jumping],
            theta[movable & ~jumping],
            cost,
            moves.norm,
        )
    step = closed.feature_shift(theta, moves.norm, movable & ~jumping) * spread
    changes = zip(boundary.columns, step * boundary.scale, strict=True) if boundary.scale is not None else ()
    return Distances(
        values=values,
        kind="linear",
        unit="standard deviations" if moves.units == "standard" else boundary.unit,
        per_feature=tuple({"feature": name, "change": float(change)} for name, change in changes if change),
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
    return Distances(
        values=closed.kernel_distance(boundary.margin, boundary.dual, boundary.gram),
        kind="kernel",
        unit="units of the kernel's space",
    )


def _tree(
    decided: DecidedRows, boundary: TreeBoundary, moves: Moves, movable: NDArray[np.bool_]
) -> Distances:
    standard = moves.units == "standard"
    spread = _spread(boundary) if standard else np.ones(boundary.points.shape[1])
    values = tree_distance(
        boundary.points / spread,
        decided.decision,
        boundary.lows / spread,
        boundary.highs / spread,
        _leaf_decisions(decided, boundary),
        moves.norm,
        movable,
    )
    unit = "standard deviations" if standard else "units of the features as the model sees them"
    return Distances(values=values, kind="tree", unit=unit)


def _predict(
    decided: DecidedRows, boundary: PredictBoundary, moves: Moves, movable: NDArray[np.bool_]
) -> Distances:
    decision = decided.decision
    answer = np.asarray(boundary.predict(boundary.points))
    _check_answer(answer, decision)
    same_way = bool((answer == decision).all())
    spread = _spread(boundary) if moves.units != "model" else np.ones(boundary.points.shape[1])

    def rule(points: Floats) -> NDArray[np.integer]:
        answer = np.asarray(boundary.predict(points * spread))
        return answer if same_way else 1 - answer

    note = Note(
        "searched-distance",
        "Distances were searched for with the predict function along the way to the five nearest people decided "
        "otherwise: each is an upper bound of the true one.",
    )
    return Distances(
        values=predict_distance(
            boundary.points / spread, decision, rule, moves.norm, movable, wanted=decided.compared
        ),
        kind="predict",
        unit="standard deviations" if moves.units != "model" else "units of the features",
        notes=(note,),
    )


def _spread(boundary: Boundary) -> Floats:
    spread = boundary.points.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def _margin_of_decision(decided: DecidedRows, margin: Floats) -> Floats:
    """The margin whose sign is the audit's decision: at zero, or at the audit's threshold on the probability."""
    decision = decided.decision
    wrong = []
    for candidate in _margins(decided.audit, margin):
        clear = np.abs(candidate) > 1e-12
        differs = int(((candidate > 0) != (decision == 1))[clear].sum())
        if differs == 0:
            return candidate
        if differs == int(clear.sum()):
            return -candidate  # the model's second class is the audit's zero
        wrong.append(min(differs, int(clear.sum()) - differs))
    raise _disagreement(min(wrong), decision.size)


def _margins(audit: Audit, margin: Floats) -> list[Floats]:
    if audit.threshold is not None and 0 < audit.threshold < 1:
        return [margin, margin - float(logit(audit.threshold))]
    return [margin]


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
