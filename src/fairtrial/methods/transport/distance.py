"""How far each row is from the decision boundary: from the audit's score, a column, a written rule or a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.errors import Fault, InputError, NotApplicable, Set, Words, did_you_mean
from fairtrial.methods.transport.boundary import LinearBoundary, read_boundary
from fairtrial.methods.transport.boundary_distance import boundary_distance
from fairtrial.methods.transport.moves import DecidedRows, Distances, Moves
from fairtrial.methods.transport.solver.distances import score_distance
from fairtrial.metrics.values import ROLES, Role

WHO = "transport"


def find_distance(decided: DecidedRows, distance: object, moves: Moves) -> Distances:
    """Distances of the kind asked for (default: the score and its threshold), at least of the compared rows."""
    audit = decided.audit
    if distance is None and (audit.score is None or audit.threshold is None):
        return _no_distance(moves)
    if distance is None or (isinstance(distance, Role) and distance == ROLES["score"]):
        distance = "score"
    if isinstance(distance, str):
        _refuse_moves(moves, Words("with {}", Set("distance", distance)))
        known = distance in ("score", "log-odds")
        return _by_score(audit, distance) if known else _by_column(audit, distance)
    if isinstance(distance, Mapping):
        return boundary_distance(decided, _written_rule(audit, distance), moves)
    if callable(getattr(distance, "predict", None)) or callable(distance):
        return boundary_distance(decided, read_boundary(audit, distance), moves)
    required = (
        "must be 'score', 'log-odds', a column, a fitted classifier, a predict function or a table of coefficients "
        "and an intercept"
    )
    raise InputError(WHO, Fault("distance", required, got=distance))


def _no_distance(moves: Moves) -> Distances:
    _refuse_moves(moves, Words("without a distance"))
    return Distances(
        values=None,
        kind="none",
        unit="",
        why_none="the audit has decisions only: how far they are from the boundary is not known. "
        "Give the audit a score and a threshold, or name a distance: a model, a function or a column",
    )


def _refuse_moves(moves: Moves, when: Words) -> None:
    required = Words(f"speaks of features, which do not matter {when.text}", *when.parts)
    cure = Words("give {} a model", Set("distance"))
    faults = [Fault(name, required, cure=cure) for name in moves.given]
    if faults:
        raise NotApplicable(WHO, faults)


def _by_score(audit: Audit, units: str) -> Distances:
    if audit.score is None or audit.threshold is None:
        parts = Set("score", of="Audit"), Set("threshold", of="Audit")
        raise InputError(WHO, Fault("distance", Words(f"{units!r} needs {{}} and {{}}", *parts)))
    score = audit.rows(roles=["score"], who=WHO).roles["score"]
    try:
        values = score_distance(score, audit.threshold, "log-odds" if units == "log-odds" else "score")
    except ValueError:
        required = "'log-odds' needs scores between 0 and 1 and a threshold inside"
        raise InputError(WHO, Fault("distance", required)) from None
    unit = "log-odds of the score" if units == "log-odds" else "units of the score"
    return Distances(values=values, kind=units, unit=unit, movable=(audit.score,))


def _by_column(audit: Audit, column: str) -> Distances:
    if column not in audit.source.columns:
        hint = did_you_mean(column, ["score", "log-odds", *audit.source.columns])
        required = "must be 'score', 'log-odds', a model or a column"
        raise InputError(WHO, Fault("distance", required, got=column, hint=hint))
    values = audit.rows(columns=[column], who=WHO).columns[column]
    if (values < 0).any():
        required = f"column {column!r} has {(values < 0).sum():,} negative values; distances are unsigned"
        raise InputError(WHO, Fault("distance", required))
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
    features = []
    for key in coefficients:
        name = key if key in audit.source.columns or "=" not in str(key) else str(key).split("=", 1)[0]
        audit.check_column(WHO, "distance", name)
        features.append(name)
    design = audit.design(list(dict.fromkeys(features)), who=WHO)
    wrong = sorted(set(coefficients) - set(design.names))
    if wrong:
        required = f"names {wrong}, but the columns of the design are {list(design.names)}"
        raise InputError(WHO, Fault("distance", required))
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
