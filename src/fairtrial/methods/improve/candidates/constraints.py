"""What a candidate must respect. A violation is an error that names the candidate, never a warning."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairtrial.errors import InputError
from fairtrial.inference.numeric.cell_bootstrap import distinct_rows
from fairtrial.methods.improve.candidates.adapters import Estimator, FixedColumn
from fairtrial.methods.improve.candidates.problem import Candidate, Problem
from fairtrial.methods.improve.candidates.rules import Floats, Index, Inputs, Rule

PROBES = 200  # rows in which a feature is moved to see whether the score follows
STEPS = 12  # values it is moved to
WHO = "improve"


def declared_faults(candidate: Candidate, problem: Problem) -> list[str]:
    """Violations that can be seen before any fitting."""
    faults = []
    if isinstance(candidate, Estimator) and candidate.features is not None:
        for feature in candidate.features:
            why = _not_permitted(feature, problem)
            if why:
                faults.append(f"candidate {candidate.name!r} uses {feature!r}, {why}")
    if isinstance(candidate, FixedColumn):
        why = _not_permitted(candidate.column, problem)
        if why and "not a feature" not in why:
            faults.append(f"candidate column {candidate.column!r} is {why.removeprefix('which is ')}")
    if getattr(candidate, "needs_group", False) and problem.blind:
        faults.append(f"candidate {candidate.name!r} decides by group: it needs blind=False")
    return faults


def _not_permitted(feature: str, problem: Problem) -> str:
    if feature in problem.banned:
        return "which is banned"
    if feature in problem.group_attributes and problem.blind:
        return "which is a group attribute, and rules must be blind to the group"
    if feature not in problem.features:
        return "which is not a feature of the audit"
    return ""


def check_rule(rule: Rule, problem: Problem, index: Index) -> None:
    """Raise InputError when a fitted rule breaks the capacity, a monotone direction or blindness."""
    fixed = not rule.features and bool(problem.inputs.fixed)
    if problem.capacity is None and not problem.monotone and not fixed:
        return  # blindness and bans hold by construction: the rule only ever gets permitted inputs
    inputs = problem.inputs.part(index)
    decision, score = rule.outcome_of(inputs)
    _check_capacity(rule, decision, problem)
    for feature, sign in problem.monotone.items():
        if fixed:
            _check_monotone_rows(rule, score, inputs, problem, feature, sign)
        else:
            _check_monotone_moves(rule, inputs, problem, feature, sign)
    if fixed and problem.blind and problem.features:
        _check_blind_rows(rule, decision, inputs, problem.group[index])


def _check_capacity(rule: Rule, decision: Floats, problem: Problem) -> None:
    if problem.capacity is None:
        return
    chance = 3 * math.sqrt(problem.capacity * (1 - problem.capacity) / decision.size)
    share = float(decision.mean())
    if share > problem.capacity + chance:
        raise InputError(
            WHO,
            f"candidate {rule.name!r} selects {share:.1%} of the training half, above the capacity of "
            f"{problem.capacity:.1%}",
        )


def _check_monotone_moves(rule: Rule, inputs: Inputs, problem: Problem, feature: str, sign: int) -> None:
    """Move the feature through its range in some rows, everything else held: the score must follow the sign."""
    column = int(problem.columns_of(feature)[0])
    rows = np.linspace(0, len(inputs) - 1, min(PROBES, len(inputs))).astype(np.intp)
    probes = inputs.part(rows)
    steps = np.unique(np.quantile(inputs.matrix[:, column], np.linspace(0, 1, STEPS)))
    scores = []
    for value in steps:
        matrix = probes.matrix.copy()
        matrix[:, column] = value
        frame = None if probes.frame is None else _with_value(probes.frame, feature, float(value))
        moved = rule.outcome_of(probes.replaced(matrix, frame))
        scores.append(moved[1] if rule.threshold is not None else moved[0])
    moves = sign * np.diff(np.array(scores), axis=0)
    tolerance = 1e-9 * (1.0 + float(np.abs(scores).max()))
    wrong = int(np.count_nonzero((moves < -tolerance).any(axis=0)))
    if wrong:
        raise InputError(WHO, _monotone_text(rule, feature, sign, f"in {wrong} of {len(rows)} rows tried"))


def _check_monotone_rows(
    rule: Rule, score: Floats, inputs: Inputs, problem: Problem, feature: str, sign: int
) -> None:
    """A fixed column cannot be asked about other values: compare rows that are equal in all other features."""
    column = int(problem.columns_of(feature)[0])
    others = np.delete(inputs.matrix, column, axis=1)
    alike = _alike(others)
    order = np.lexsort((sign * inputs.matrix[:, column], alike))
    group, value, output = alike[order], sign * inputs.matrix[order, column], score[order]
    wrong = (np.diff(group) == 0) & (np.diff(value) > 0) & (np.diff(output) < -1e-9)
    if wrong.any():
        pairs = f"in {int(wrong.sum())} pairs of rows that are equal in everything else"
        raise InputError(WHO, _monotone_text(rule, feature, sign, pairs))


def _check_blind_rows(rule: Rule, decision: Floats, inputs: Inputs, group: NDArray[np.int64]) -> None:
    """A fixed column that is a function of features and group, and does change with the group, knows the group.

    Where one group with equal features gets both decisions, something besides these features decides, and
    blindness cannot be read off the rows.
    """
    alike = _alike(inputs.matrix)
    groups = int(group.max()) + 1
    size = (int(alike.max()) + 1) * groups
    people = np.bincount(alike * groups + group, minlength=size).reshape(-1, groups)
    positive = np.bincount(alike * groups + group, weights=decision, minlength=size).reshape(-1, groups)
    if ((positive > 0) & (positive < people)).any():
        return
    selected = ((people > 0) & (positive == people)).any(axis=1)
    rejected = ((people > 0) & (positive == 0)).any(axis=1)
    by_group = int(np.count_nonzero(selected & rejected))
    if by_group:
        raise InputError(
            WHO,
            f"candidate {rule.name!r} gives people with equal features different decisions by group, in "
            f"{by_group} combinations of features: it is not blind to the group",
        )


def _alike(matrix: Floats) -> NDArray[np.int64]:
    """A number per row, equal for rows with equal features."""
    if matrix.shape[1] == 0:
        return np.zeros(len(matrix), dtype=np.int64)
    return distinct_rows([matrix[:, i] for i in range(matrix.shape[1])])[0]


def _with_value(frame: object, feature: str, value: float) -> object:
    import narwhals as nw

    eager = nw.from_native(frame, eager_only=True)  # type: ignore[call-overload]
    return eager.with_columns(nw.lit(value).cast(eager[feature].dtype).alias(feature)).to_native()


def _monotone_text(rule: Rule, feature: str, sign: int, where: str) -> str:
    wrong, right = ("falls", "never fall") if sign > 0 else ("rises", "never rise")
    return f"candidate {rule.name!r} {wrong} as {feature!r} rises {where}; it must {right} with it"


def check_declared(candidates: Sequence[Candidate], problem: Problem) -> None:
    """One message with every violation that can be seen before fitting."""
    faults = [fault for candidate in candidates for fault in declared_faults(candidate, problem)]
    if faults:
        raise InputError(WHO, faults)
