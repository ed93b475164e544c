"""How far each row is from the decision boundary: from the audit's score, a model, a function or a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from fairtrial.data.audit import Audit
from fairtrial.errors import InputError, NotApplicable, Note, did_you_mean
from fairtrial.methods.transport.models import Model, read_model
from fairtrial.methods.transport.solver import distances as dist
from fairtrial.methods.transport.solver.distances_search import predict_distance, tree_distance
from fairtrial.metrics.values import ROLES

WHO = "transport"
UNITS = ("model", "standard")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """What may move and how a move is measured."""

    norm: dist.Norm = "l2"
    immutable: tuple[str, ...] = ()
    discrete: tuple[str, ...] = ()
    step_cost: float | None = None
    units: str | None = None

    @property
    def any(self) -> bool:
        return bool(self.immutable or self.discrete or self.step_cost is not None or self.units)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Distances:
    """One distance per row, or the reason why there is none."""

    values: NDArray[np.float64] | None
    kind: str
    unit: str
    why_none: str | None = None
    movable: tuple[str, ...] = ()
    immutable: tuple[str, ...] = ()
    per_feature: tuple[
        dict[str, Any], ...
    ] = ()  # change of each feature per unit of distance, in its own units
    notes: tuple[Note, ...] = field(default=())


def find_distance(
    audit: Audit,
    distance: object,
    decision: NDArray[np.uint8],
    moves: Moves,
    compared: NDArray[np.bool_],
) -> Distances:
    """Distances of the kind asked for (default: the score and its threshold), at least of the compared rows."""
    if distance is None:
        if audit.score is None or audit.threshold is None:
            _refuse_moves(moves, "without a distance")
            return Distances(
                values=None,
                kind="none",
                unit="",
                why_none="the audit has decisions only: how far they are from the boundary is not known. "
                "Give score= and threshold= in the Audit, or distance= a model, a function or a column",
            )
        distance = "score"
    if distance == ROLES["score"]:
        distance = "score"
    if isinstance(distance, str):
        _refuse_moves(moves, f"with distance={distance!r}")
        return (
            _by_score(audit, distance) if distance in ("score", "log-odds") else _by_column(audit, distance)
        )
    if isinstance(distance, Mapping):
        return _by_coefficients(audit, distance, decision, moves, compared)
    if callable(getattr(distance, "predict", None)) or callable(distance):
        return _by_model(audit, read_model(audit, distance), decision, moves, compared)
    raise InputError(
        WHO,
        "'distance' must be 'score', 'log-odds', a column, a fitted classifier, a predict function or "
        f"{{'coefficients': …, 'intercept': …}}, got {type(distance).__name__}",
    )


def _refuse_moves(moves: Moves, when: str) -> None:
    if moves.any or moves.norm != "l2":
        raise NotApplicable(
            WHO,
            f"'norm', 'units', 'immutable', 'discrete' and 'step_cost' speak of features, which do not matter {when}: "
            "give distance= a model",
        )


def _by_score(audit: Audit, units: str) -> Distances:
    if audit.score is None or audit.threshold is None:
        raise InputError(WHO, f"'distance' {units!r} needs score= and threshold= in the Audit")
    score = audit.rows(roles=["score"], who=WHO).roles["score"]
    try:
        values = dist.score_distance(score, audit.threshold, "log-odds" if units == "log-odds" else "score")
    except ValueError as error:
        raise InputError(WHO, f"'distance' 'log-odds': {error}") from None
    unit = "log-odds of the score" if units == "log-odds" else "units of the score"
    return Distances(values=values, kind=units, unit=unit, movable=(audit.score,))


def _by_column(audit: Audit, column: str) -> Distances:
    if column not in audit.source.columns:
        hint = did_you_mean(column, ["score", "log-odds", *audit.source.columns])
        raise InputError(
            WHO, f"'distance' must be 'score', 'log-odds', a model or a column, got {column!r}.{hint}"
        )
    values = audit.rows(columns=[column], who=WHO).columns[column]
    if (values < 0).any():
        raise InputError(
            WHO,
            f"'distance' column {column!r} has {(values < 0).sum():,} negative values; distances are unsigned",
        )
    return Distances(values=values, kind="column", unit=f"units of {column}")


def _by_coefficients(
    audit: Audit,
    content: Mapping[str, Any],
    decision: NDArray[np.uint8],
    moves: Moves,
    compared: NDArray[np.bool_],
) -> Distances:
    """A linear rule written down: intercept + Σ coefficient · feature ≥ threshold."""
    unknown = sorted(set(content) - {"coefficients", "intercept", "threshold"})
    coefficients = content.get("coefficients")
    if unknown or not isinstance(coefficients, Mapping) or not coefficients:
        raise InputError(
            WHO,
            "'distance' as a table needs 'coefficients' (feature = number) and may have 'intercept' and 'threshold'"
            + (f"; unknown: {unknown}" if unknown else ""),
        )
    features = []
    for key in coefficients:
        name = key if key in audit.source.columns or "=" not in str(key) else str(key).split("=", 1)[0]
        audit.check_column(WHO, "distance", name)
        features.append(name)
    design = audit.design(list(dict.fromkeys(features)), who=WHO)
    wrong = sorted(set(coefficients) - set(design.names))
    if wrong:
        raise InputError(
            WHO, f"'distance' names {wrong}, but the columns of the design are {list(design.names)}"
        )
    theta = np.array([float(coefficients.get(name, 0.0)) for name in design.names])
    offset = float(content.get("intercept", 0.0)) - float(content.get("threshold", 0.0))
    sources = tuple(design.features[index] for index in design.feature_of)
    model = Model(
        kind="linear",
        points=design.matrix,
        columns=design.names,
        sources=sources,
        margin=design.matrix @ theta + offset,
        coefficients=theta,
        scale=np.ones(theta.size),
    )
    return _by_model(audit, model, decision, moves, compared)


def _by_model(
    audit: Audit, model: Model, decision: NDArray[np.uint8], moves: Moves, compared: NDArray[np.bool_]
) -> Distances:
    movable = _movable(model, moves)
    if model.kind == "linear":
        return _linear(audit, model, decision, moves, movable)
    if moves.discrete or moves.step_cost is not None:
        raise NotApplicable(
            WHO, "'discrete' and 'step_cost' are for linear models: other boundaries are not priced so"
        )
    if model.kind == "kernel":
        if moves.immutable or moves.units or moves.norm != "l2":
            raise NotApplicable(
                WHO,
                "'immutable', 'units' and 'norm' are not offered for a kernel machine: its distance is in the kernel's "
                "own space. Use distance=model.predict instead",
            )
        _agree(audit, model, decision)
        values = dist.kernel_distance(model.margin, model.dual, model.gram)
        return Distances(
            values=values, kind="kernel", unit="units of the kernel's space", movable=model.features
        )
    fixed = tuple(name for name in model.features if name in moves.immutable)
    free = tuple(name for name in model.features if name not in moves.immutable)
    if model.kind == "tree":
        spread = _spread(model) if moves.units == "standard" else np.ones(model.points.shape[1])
        leaves = _leaf_decisions(audit, model, decision)
        values = tree_distance(
            model.points / spread,
            decision,
            model.lows / spread,
            model.highs / spread,
            leaves,
            moves.norm,
            movable,
        )
        unit = (
            "standard deviations"
            if moves.units == "standard"
            else "units of the features as the model sees them"
        )
        return Distances(values=values, kind="tree", unit=unit, movable=free, immutable=fixed)
    return _predict(model, decision, moves, movable, compared, free, fixed)


def _predict(
    model: Model,
    decision: NDArray[np.uint8],
    moves: Moves,
    movable: NDArray[np.bool_],
    compared: NDArray[np.bool_],
    free: tuple[str, ...],
    fixed: tuple[str, ...],
) -> Distances:
    predict = model.predict
    _check_agreement(np.asarray(predict(model.points)), decision)
    spread = _spread(model) if moves.units != "model" else np.ones(model.points.shape[1])
    same_way = _orientation(np.asarray(predict(model.points)), decision)

    def rule(points: NDArray[np.float64]) -> NDArray[np.integer]:
        answer = np.asarray(predict(points * spread))
        return answer if same_way else 1 - answer

    values = predict_distance(model.points / spread, decision, rule, moves.norm, movable, wanted=compared)
    unit = "standard deviations" if moves.units != "model" else "units of the features"
    note = Note(
        "searched-distance",
        "Distances were searched for with the predict function along the way to the five nearest people decided "
        "otherwise: each is an upper bound of the true one.",
    )
    return Distances(values=values, kind="predict", unit=unit, movable=free, immutable=fixed, notes=(note,))


def _linear(
    audit: Audit, model: Model, decision: NDArray[np.uint8], moves: Moves, movable: NDArray[np.bool_]
) -> Distances:
    margin = _agree(audit, model, decision)
    spread = _spread(model) if moves.units == "standard" else np.ones(model.coefficients.size)
    theta = model.coefficients * spread
    jumping = np.isin(model.sources, moves.discrete)
    if moves.discrete:
        if moves.step_cost is None or not moves.step_cost > 0:
            raise InputError(
                WHO, "'step_cost' is missing: what does changing the discrete features cost (a number > 0)?"
            )
        values = dist.mixed_distance(
            margin,
            model.points[:, jumping] @ model.coefficients[jumping],
            np.unique(model.points[:, jumping], axis=0) @ model.coefficients[jumping],
            theta[movable & ~jumping],
            float(moves.step_cost),
            moves.norm,
        )
    elif moves.step_cost is not None:
        raise InputError(WHO, "'step_cost' is the price of changing 'discrete' features: name them")
    else:
        values = dist.linear_distance(margin, theta, moves.norm, movable)
    step = dist.feature_shift(theta, moves.norm, movable & ~jumping) * spread
    if model.scale is not None:
        step = step * model.scale
    per_feature = tuple(
        {"feature": name, "change": float(change)}
        for name, change in zip(model.columns, step, strict=True)
        if change
    )
    if model.scale is None:
        per_feature = ()
    unit = "standard deviations" if moves.units == "standard" else model.unit
    return Distances(
        values=values,
        kind="linear",
        unit=unit,
        movable=tuple(name for name in model.features if name not in moves.immutable),
        immutable=tuple(name for name in model.features if name in moves.immutable),
        per_feature=per_feature,
    )


def _movable(model: Model, moves: Moves) -> NDArray[np.bool_]:
    for argument, names in (("immutable", moves.immutable), ("discrete", moves.discrete)):
        unknown = [name for name in names if name not in model.features]
        if unknown:
            hint = did_you_mean(unknown[0], model.features)
            raise InputError(
                WHO, f"{argument!r} names {unknown}; the model's features are {list(model.features)}.{hint}"
            )
    both = sorted(set(moves.immutable) & set(moves.discrete))
    if both:
        raise InputError(WHO, f"{both} cannot be both immutable and discrete")
    return ~np.isin(model.sources, moves.immutable)


def _spread(model: Model) -> NDArray[np.float64]:
    spread = model.points.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def _agree(audit: Audit, model: Model, decision: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The margin whose sign is the audit's decision: at zero, or at the audit's threshold on the probability."""
    candidates: list[NDArray[np.float64]] = [model.margin]
    if audit.threshold is not None and 0 < audit.threshold < 1:
        candidates.append(model.margin - float(logit(audit.threshold)))
    wrong = []
    for margin in candidates:
        clear = np.abs(margin) > 1e-12
        differs = int(((margin > 0) != (decision == 1))[clear].sum())
        if differs == 0:
            return margin
        if differs == int(clear.sum()):
            return -margin  # the model's second class is the audit's zero
        wrong.append(min(differs, int(clear.sum()) - differs))
    raise _disagreement(min(wrong), decision.size)


def _disagreement(wrong: int, rows: int) -> InputError:
    return InputError(
        WHO,
        f"'distance' decides {wrong:,} of {rows:,} rows differently from the audit's decision: the boundary is not the "
        "one that was used. Check features=, the rows, and the threshold",
    )


def _orientation(answer: NDArray[np.generic], decision: NDArray[np.uint8]) -> bool:
    return bool((answer == decision).all())


def _check_agreement(answer: NDArray[np.generic], decision: NDArray[np.uint8]) -> None:
    if not np.isin(answer, (0, 1)).all():
        raise InputError(WHO, f"'distance' must predict 0 or 1, got {sorted(set(answer.tolist()))[:5]}")
    wrong = int((answer != decision).sum())
    if 0 < wrong < decision.size:
        raise _disagreement(min(wrong, decision.size - wrong), decision.size)


def _leaf_decisions(audit: Audit, model: Model, decision: NDArray[np.uint8]) -> NDArray[np.integer]:
    """Each leaf's decision, by majority or by the audit's threshold, whichever the rows were decided by."""
    candidates = [model.leaf_share > 0.5]
    if audit.threshold is not None:
        candidates.append(model.leaf_share >= audit.threshold)
    wrong = []
    for leaves in candidates:
        answer = leaves[model.leaf_of_row]
        for oriented, result in ((answer, leaves), (~answer, ~leaves)):
            differs = int((oriented != (decision == 1)).sum())
            if differs == 0:
                return np.asarray(result, dtype=np.int64)
            wrong.append(differs)
    raise _disagreement(min(wrong), decision.size)
