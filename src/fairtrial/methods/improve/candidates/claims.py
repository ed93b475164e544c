"""What counts as an improvement: the claim from improve's arguments, and what cannot be claimed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial.errors import InputError, NotApplicable
from fairtrial.labels import canonical
from fairtrial.methods.improve.candidates.problem import Claim, Problem
from fairtrial.methods.improve.candidates.utilities import Worth, evaluate
from fairtrial.methods.improve.solver.improvement import directed_pairs, gap_of
from fairtrial.metrics.groups import Group

WHO = "improve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """improve's arguments as they came, after the simple checks."""

    accuracy: object
    fairness: object
    by: object
    candidates: object
    delta: object
    capacity: object
    blind: bool
    banned: Sequence[str]
    monotone: Mapping[str, Any]
    method: str
    scale: str
    pooled: bool
    direction: str
    target: object
    fitted_elsewhere: bool
    folds: int


def find_claim(asked: Asked, accuracy: Worth, fairness: tuple[Worth, ...], groups: Sequence[Group]) -> Claim:
    reference, direction = None, asked.direction
    one_sided = direction != "both"
    if one_sided:
        if not isinstance(asked.target, Mapping):
            raise InputError(
                WHO, f"direction={direction!r} needs target= a reference group, e.g. {groups[0].to_dict()}"
            )
        wanted = Group.of(asked.target)
        matches = [i for i, group in enumerate(groups) if group == wanted]
        if not matches:
            labels = [group.label for group in groups]
            raise InputError(WHO, f"'target' must be one of the groups {labels}, got {wanted.label!r}")
        reference = matches[0]
    accuracy_delta, fairness_delta = _deltas(asked, groups)
    return Claim(
        accuracy=accuracy,
        fairness=fairness,
        pairs=tuple(directed_pairs(len(groups), reference, direction)),
        one_sided=one_sided,
        pooled=asked.pooled,
        scale="ratio" if asked.scale == "ratio" else "difference",
        method=asked.method,
        accuracy_delta=accuracy_delta,
        fairness_delta=fairness_delta,
    )


def _deltas(asked: Asked, groups: Sequence[Group]) -> tuple[tuple[float, ...], float]:
    """(accuracy per group, fairness) from a tuple that ends with the fairness Δ, or from a dict by group."""
    count = 1 if asked.pooled else len(groups)
    if isinstance(asked.delta, Mapping):
        labels = [group.label for group in groups]
        unknown = [name for name in asked.delta if canonical(name) not in (*labels, "accuracy", "fairness")]
        if unknown:
            raise InputError(
                WHO, f"'delta' names {unknown}; it may name 'accuracy', 'fairness' and the groups {labels}"
            )
        by_name = {canonical(name): float(value) for name, value in asked.delta.items()}
        common = by_name.get("accuracy", 0.0)
        accuracy = tuple(by_name.get(label, common) for label in labels[:count])
        fairness = by_name.get("fairness", 0.0)
    else:
        values = tuple(asked.delta) if isinstance(asked.delta, list | tuple) else (asked.delta,)
        numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
        if len(numbers) != len(values) or len(numbers) < 2 or not all(map(math.isfinite, numbers)):
            raise InputError(WHO, f"'delta' must be numbers (accuracy Δ …, fairness Δ), got {asked.delta!r}")
        same = len(set(numbers[:-1])) == 1
        if not same and len(numbers) != count + 1:
            raise InputError(
                WHO, f"'delta' must have {count} accuracy numbers and one for fairness, got {asked.delta!r}"
            )
        accuracy = (numbers[0],) * count if same else tuple(numbers[:-1])
        fairness = numbers[-1]
    if asked.scale == "ratio" and fairness >= 1:
        raise InputError(
            WHO, f"the fairness Δ must be below 1 (a gap cannot shrink by all of itself), got {fairness}"
        )
    return accuracy, fairness


def find_capacity(asked: Asked, decision: Any) -> float | None:
    if asked.capacity is None:
        return None
    if asked.capacity == "status quo":
        return float(decision.mean())
    if (
        isinstance(asked.capacity, bool)
        or not isinstance(asked.capacity, int | float)
        or not 0 < asked.capacity < 1
    ):
        raise InputError(
            WHO, f"'capacity' must be a share between 0 and 1 or 'status quo', got {asked.capacity!r}"
        )
    return float(asked.capacity)


def check_ratios(problem: Problem) -> None:
    """Ratios only make sense for utilities that cannot be negative (Definition 2)."""
    if problem.claim.scale != "ratio":
        return
    worth = problem.claim.accuracy
    if worth.sign < 0:
        raise InputError(
            WHO,
            f"the accuracy {worth.name!r} is better when lower: take scale='difference' or its complement",
        )
    ones = np.ones(problem.rows)
    for decision in (ones, 1.0 - ones):
        values = evaluate(worth, problem.seen, decision, problem.score)[0]
        if float(values.min()) < 0:
            raise InputError(
                WHO,
                f"the accuracy {worth.name!r} can be negative ({values.min():g}): compare it with scale='difference'",
            )


def refuse_equal_levels(problem: Problem) -> None:
    """Assumption 1: without a disparity of the status quo there is nothing to reduce."""
    decision, score = problem.status_quo(np.arange(problem.rows))
    for worth in problem.claim.fairness:
        u, w = evaluate(worth, problem.seen, decision, score)
        totals = np.bincount(problem.group, w, len(problem.names))
        if (totals <= 0).any():
            empty = [problem.names[i] for i in np.flatnonzero(totals <= 0)]
            raise InputError(
                WHO, f"the {worth.label} of {empty} is undefined: nobody of the group meets its condition"
            )
        levels = np.bincount(problem.group, u, len(problem.names)) / totals
        if gap_of(levels, problem.claim.pairs) <= 1e-12 * (1 + float(np.abs(levels).max())):
            raise NotApplicable(
                WHO,
                f"the status quo has no disparity in {worth.label} (levels {[round(float(v), 6) for v in levels]}), "
                "so there is none to reduce; certify says how sure that is",
            )
