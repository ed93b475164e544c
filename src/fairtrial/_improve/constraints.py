"""What a candidate must respect. A violation is an error that names the candidate, never a warning."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fairtrial._errors import Fault, InputError, Set, Words
from fairtrial._improve.candidates import Estimator, FixedColumn, FixedRule, takes_missing
from fairtrial._improve.contest import WHO, Candidate, Contest
from fairtrial._improve.rules import Floats, Index, Inputs, Rule, candidate_fault, refusal
from fairtrial._improve.scorers import ColumnScore
from fairtrial._inference.numeric.cell_bootstrap import distinct_rows

PROBES = 200  # rows in which a feature is moved to see whether the score follows
STEPS = 12  # values it is moved to
DEPENDENT = 0.01  # a rule whose decisions depend on the group with a smaller p-value is not permissible

# why a rule may not look at a column
BANNED = "banned"
OF_THE_GROUP = "a group attribute, and rules must be blind to the group"
NO_FEATURE = "not a feature of the audit"


def check_declared(candidates: Sequence[Candidate], contest: Contest) -> None:
    """One message with every violation that can be seen before fitting."""
    faults = [fault for candidate in candidates for fault in declared_faults(candidate, contest)]
    if faults:
        raise InputError(WHO, faults)


def declared_faults(candidate: Candidate, contest: Contest) -> list[Fault]:
    """Violations that can be seen before any fitting."""
    faults = []
    for column, reasons in _columns_used(candidate):
        why = _not_permitted(column, contest)
        if why in reasons:
            faults.append(_column_fault(candidate, column, why))
    if isinstance(candidate, Estimator) and not takes_missing(candidate) and contest.lacks_features:
        filled = "take one that does, or a pipeline that fills them in first"
        faults.append(candidate_fault(candidate.name, "takes no missing features", filled))
    if getattr(candidate, "needs_group", False) and contest.constraints.blind:
        cure = Words("it needs {}", Set("blind", False))
        faults.append(candidate_fault(candidate.name, "decides by group", cure))
    return faults


def _columns_used(candidate: Candidate) -> list[tuple[str, tuple[str, ...]]]:
    """Columns that a candidate says it looks at, each with the reasons that forbid it."""
    if isinstance(candidate, Estimator):
        return [(column, (BANNED, OF_THE_GROUP, NO_FEATURE)) for column in candidate.features or ()]
    if isinstance(candidate, FixedRule) and candidate.rule.reading is not None:
        return [(column, (BANNED, OF_THE_GROUP)) for column in candidate.rule.reading.columns]
    return [(candidate.column, (BANNED, OF_THE_GROUP))] if isinstance(candidate, FixedColumn) else []


def _column_fault(candidate: Candidate, column: str, why: str) -> Fault:
    if isinstance(candidate, FixedColumn):
        return Fault(
            "candidates", f"is {why}", subject=f"candidate column {column!r}", cure="try another column"
        )
    return candidate_fault(candidate.name, f"uses {column!r}, which is {why}")


def _not_permitted(feature: str, contest: Contest) -> str:
    if feature in contest.constraints.banned:
        return BANNED
    if feature in contest.constraints.group_attributes and contest.constraints.blind:
        return OF_THE_GROUP
    return "" if feature in contest.features else NO_FEATURE


def check_rule(rule: Rule, contest: Contest, index: Index) -> None:
    """Raise InputError when a fitted rule breaks the capacity, a monotone direction or blindness."""
    constraints = contest.constraints
    fixed = isinstance(rule.scorer, ColumnScore)
    if not (fixed or constraints.monotone) and constraints.capacity is None:
        return  # blindness and bans hold by construction: the rule only ever gets permitted inputs
    inputs = contest.inputs.part(index)
    decision, score = rule.outcome_of(inputs)
    _check_capacity(rule, decision, constraints.capacity, whole=index.size == contest.rows)
    for feature, sign in constraints.monotone.items():
        column = int(contest.columns_of(feature)[0])
        if fixed:
            _check_monotone(rule, feature, sign, _falls_in_rows(score, inputs, column, sign))
        else:
            _check_monotone(rule, feature, sign, _falls_when_moved(rule, inputs, feature, column, sign))
    if fixed and constraints.blind and contest.features:
        _check_blind_rows(rule, decision if contest.decides else score, inputs, contest.group[index])


def permissible(rule: Rule, contest: Contest, index: Index) -> bool:
    """Whether the caller's own function permits a fitted rule, and its decisions do not depend on the group where that
    is asked for; a rule that is not permitted is left out, and the log says so."""
    own, inputs = contest.constraints.permissible, contest.inputs.part(index)
    if own is not None and not _permitted(own, rule, inputs):
        return False
    if contest.strata is None:
        return True
    decision, _ = rule.outcome_of(inputs)
    return dependence_p(decision, contest.group[index], contest.strata[index]) >= DEPENDENT


def _permitted(own: Callable[[Rule, Inputs], bool], rule: Rule, inputs: Inputs) -> bool:
    """What the caller's function says; one that fails is no function of a rule and its inputs."""
    try:
        return bool(own(rule, inputs))
    except Exception as error:
        required = (
            "must be a function of a fitted rule and its inputs that says whether the rule is permitted"
        )
        raise InputError(
            WHO, Fault("permissible", required, got=f"{type(error).__name__}: {error}")
        ) from error


def dependence_p(decision: Floats, group: NDArray[np.int64], strata: NDArray[np.int64]) -> float:
    """Mantel and Haenszel's p-value that decisions depend on the group within strata; times the groups beyond two."""
    count, groups = int(strata.max()) + 1, int(group.max()) + 1
    people, selected = np.bincount(strata, minlength=count), np.bincount(strata, decision, count)
    smallest = 1.0
    for code in range(groups if groups > 2 else 1):
        members = np.bincount(strata, group == code, count)
        chosen = np.bincount(strata, decision * (group == code), count)
        spread = people.astype(np.float64) ** 2 * np.maximum(people - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = np.where(people > 0, members * selected / people, 0.0)
            variance = members * (people - members) * selected * (people - selected) / spread
        total = float(np.nansum(variance))
        if total > 0:
            z = abs(float((chosen - expected).sum())) / math.sqrt(total)
            smallest = min(smallest, math.erfc(z / math.sqrt(2)) * (groups if groups > 2 else 1))
    return smallest


def check_permissible(rule: Rule, contest: Contest, index: Index) -> None:
    """Refuse a rule that was fixed beforehand and is not permissible: there is no other to take in its place."""
    if not permissible(rule, contest, index):
        given = (
            "" if contest.strata is None else " (or its decisions depend on the group given what was named)"
        )
        raise refusal(rule.name, f"is not permissible{given}")


def _check_monotone(rule: Rule, feature: str, sign: int, where: str) -> None:
    if where:
        wrong, right = ("falls", "never fall") if sign > 0 else ("rises", "never rise")
        raise refusal(rule.name, f"{wrong} as {feature!r} rises {where}; it must {right} with it")


def _check_capacity(rule: Rule, decision: Floats, capacity: float | None, *, whole: bool) -> None:
    if capacity is None:
        return
    chance = 3 * math.sqrt(capacity * (1 - capacity) / decision.size)
    share = float(decision.mean())
    if share > capacity + chance:
        rows = "all rows" if whole else "the training half"
        required = f"selects {share:.1%} of {rows}, above the capacity of {capacity:.1%}"
        raise refusal(rule.name, required)


def _falls_when_moved(rule: Rule, inputs: Inputs, feature: str, column: int, sign: int) -> str:
    """Move the feature through its range in some rows, everything else held: where the score goes the wrong way."""
    rows = np.linspace(0, len(inputs) - 1, min(PROBES, len(inputs))).astype(np.intp)
    probes = inputs.part(rows)
    scores = []
    for value in np.unique(np.nanquantile(inputs.matrix[:, column], np.linspace(0, 1, STEPS))):
        matrix = probes.matrix.copy()
        matrix[:, column] = value
        frame = None if probes.frame is None else _with_value(probes.frame, feature, float(value))
        scores.append(rule.outcome_of(probes.replaced(matrix, frame))[1])
    moves = sign * np.diff(np.array(scores), axis=0)
    tolerance = 1e-9 * (1.0 + float(np.abs(scores).max()))
    wrong = int(np.count_nonzero((moves < -tolerance).any(axis=0)))
    return f"in {wrong} of {len(rows)} rows tried" if wrong else ""


def _falls_in_rows(score: Floats, inputs: Inputs, column: int, sign: int) -> str:
    """A fixed column cannot be asked about other values: compare rows that are equal in all other features."""
    along = sign * inputs.matrix[:, column]
    alike = _alike(np.delete(inputs.matrix, column, axis=1))
    order = np.lexsort((along, alike))
    group, value, output = alike[order], along[order], score[order]
    wrong = int(((np.diff(group) == 0) & (np.diff(value) > 0) & (np.diff(output) < -1e-9)).sum())
    return f"in {wrong} pairs of rows that are equal in everything else" if wrong else ""


def _check_blind_rows(rule: Rule, decided: Floats, inputs: Inputs, group: NDArray[np.int64]) -> None:
    """A fixed column that is a function of features and group, and does change with the group, knows the group.

    Where one group with equal features gets several decisions or scores, something besides these features decides, and
    blindness cannot be read off the rows.
    """
    alike = _alike(inputs.matrix)
    groups = int(group.max()) + 1
    low = np.full((int(alike.max()) + 1) * groups, np.inf)
    high = -low
    np.minimum.at(low, alike * groups + group, decided)
    np.maximum.at(high, alike * groups + group, decided)
    if (low < high).any():
        return
    by_group = int(
        np.count_nonzero(low.reshape(-1, groups).min(axis=1) < high.reshape(-1, groups).max(axis=1))
    )
    if by_group:
        raise refusal(
            rule.name,
            f"gives people with equal features different decisions by group, in {by_group} combinations of "
            "features: it is not blind to the group",
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
