"""The contest of the status quo with other rules: the people, what rules may see and must respect, and the claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairtrial.errors import Fault, InputError, NotApplicable, Set, Use, Words
from fairtrial.inference.numeric.cell_bootstrap import LevelCells, Utility, level_cells
from fairtrial.labels import canonical
from fairtrial.methods.improve.arguments import Wanted
from fairtrial.methods.improve.candidates.rules import Floats, Index, Inputs, Rule, capacity_threshold
from fairtrial.methods.improve.candidates.utilities import Observed, Worth, evaluate
from fairtrial.methods.improve.solver.improvement import Pair, Scale, directed_pairs, gap_of
from fairtrial.metrics.groups import Group
from fairtrial.options import plain

WHO = "improve"
# decisions and, where there are any, scores
Decided = tuple[Floats, Floats | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an improvement is: which levels are compared, how, and by how much."""

    accuracy: Worth
    fairness: tuple[Worth, ...]
    pairs: tuple[Pair, ...]
    one_sided: bool
    pooled: bool
    scale: Scale
    method: str
    accuracy_delta: tuple[float, ...]
    fairness_delta: float

    @property
    def worths(self) -> tuple[Worth, ...]:
        return (self.accuracy, *self.fairness)


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """What every rule must respect."""

    capacity: float | None = None
    blind: bool = True
    banned: tuple[str, ...] = ()
    group_attributes: tuple[str, ...] = ()
    monotone: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contest:
    """Everything that fitting, choosing and testing need; arrays only, one entry per row."""

    inputs: Inputs
    seen: Observed
    group: NDArray[np.int64]
    names: tuple[str, ...]
    decision: Floats | None
    score: Floats | None
    claim: Claim
    constraints: Constraints
    features: tuple[str, ...]
    feature_of: NDArray[np.int64]
    folds: int

    @property
    def rows(self) -> int:
        return len(self.group)

    @property
    def outcome(self) -> Floats:
        """What was seen of everybody, where it is known that it was."""
        assert self.seen.outcome is not None
        return self.seen.outcome

    @property
    def outcome_is_binary(self) -> bool:
        return self.seen.outcome is not None and bool(np.isin(self.seen.outcome, (0.0, 1.0)).all())

    def share(self, index: Index) -> float:
        """How many of these rows a rule may select: the capacity, or as many as the status quo does."""
        capacity = self.constraints.capacity
        return float(self.status_quo_of(index)[0].mean()) if capacity is None else capacity

    def rule(
        self, name: str, score_of: Callable[[Inputs], Floats], threshold: float | None, **more: Any
    ) -> Rule:
        """A rule that looks at all permitted features."""
        return Rule(name, score_of, threshold, self.features, self.inputs.names, **more)

    def status_quo(self, train: Index) -> Decided:
        """Decisions and scores of the status quo for all rows; a capacity's threshold comes from `train`."""
        if self.decision is not None:
            return self.decision, self.score
        assert self.score is not None
        assert self.constraints.capacity is not None
        threshold = capacity_threshold(self.score[train], self.constraints.capacity)
        return (self.score >= threshold).astype(np.float64), self.score

    def status_quo_of(self, index: Index, train: Index | None = None) -> Decided:
        """The same for the rows of `index`; the threshold comes from themselves unless `train` is given."""
        decision, score = self.status_quo(index if train is None else train)
        return decision[index], None if score is None else score[index]

    def columns_of(self, feature: str) -> NDArray[np.intp]:
        """The columns of the input matrix that stand for one feature."""
        return np.flatnonzero(self.feature_of == self.features.index(feature))

    def cells(self, index: Index, old: Decided, new: Decided) -> LevelCells:
        """Cells of (group, u0, w0, u1, w1) over the rows of `index`; decisions and scores are those rows' own."""
        seen = self.seen.part(index)
        utilities = []
        for worth in self.claim.worths:
            u0, w0 = evaluate(worth, seen, *old)
            u1, w1 = evaluate(worth, seen, *new)
            utilities.append(Utility(name=worth.name, u0=u0, w0=w0, u1=u1, w1=w1))
        return level_cells(self.group[index], len(self.names), utilities)


class Candidate(Protocol):
    """A way to find rules. `fit` returns one rule for each of its variants, fitted on the rows of `index`."""

    @property
    def name(self) -> str: ...

    def variants(self, contest: Contest) -> tuple[str, ...]: ...

    def fit(self, contest: Contest, index: Index, rng: np.random.Generator) -> dict[str, Rule]: ...


class OneRule:
    """A candidate that gives a single rule, called as it is itself."""

    __slots__ = ()

    def variants(self: Candidate, contest: Contest) -> tuple[str, ...]:
        """The names of the rules it can give."""
        return (self.name,)


def find_claim(wanted: Wanted, worths: Sequence[Worth], groups: Sequence[Group]) -> Claim:
    """The claim that was asked for, about these groups; the first worth is the accuracy."""
    one_sided = wanted.direction != "differs"
    reference = _reference(wanted, groups) if one_sided else None
    accuracy_delta, fairness_delta = _deltas(wanted, [group.label for group in groups])
    return Claim(
        accuracy=worths[0],
        fairness=tuple(worths[1:]),
        pairs=tuple(directed_pairs(len(groups), reference, wanted.direction)),
        one_sided=one_sided,
        pooled=wanted.pooled,
        scale="ratio" if wanted.scale == "ratio" else "difference",
        method=wanted.method,
        accuracy_delta=accuracy_delta,
        fairness_delta=fairness_delta,
    )


def _reference(wanted: Wanted, groups: Sequence[Group]) -> int:
    """The position of the group that one-sided gaps are counted from."""
    if not isinstance(wanted.target, Mapping):
        cure = Words("name it with {}", Set("target", groups[0].to_dict()))
        raise InputError(
            WHO, Fault("direction", f"of {wanted.direction!r} needs a reference group", cure=cure)
        )
    group = Group.of(wanted.target)
    if group not in groups:
        labels = [other.label for other in groups]
        raise InputError(WHO, Fault("target", f"must be one of the groups {labels}", got=group.label))
    return list(groups).index(group)


def _deltas(wanted: Wanted, labels: list[str]) -> tuple[tuple[float, ...], float]:
    """(accuracy per group, fairness) from numbers that end with the fairness Δ, or from a dict by group."""
    count = 1 if wanted.pooled else len(labels)
    if isinstance(wanted.delta, Mapping):
        accuracy, fairness = _named_deltas(wanted.delta, labels, count)
    else:
        accuracy, fairness = _listed_deltas(wanted.delta, count)
    if wanted.scale == "ratio" and fairness >= 1:
        required = "must be below 1 (a gap cannot shrink by all of itself)"
        raise InputError(WHO, Fault("delta", required, got=fairness, subject="the fairness Δ"))
    return accuracy, fairness


def _named_deltas(
    delta: Mapping[str, object], labels: list[str], count: int
) -> tuple[tuple[float, ...], float]:
    unknown = [name for name in delta if canonical(name) not in (*labels, "accuracy", "fairness")]
    if unknown:
        cure = f"it may name 'accuracy', 'fairness' and the groups {labels}"
        raise InputError(WHO, Fault("delta", f"names {unknown}", cure=cure))
    numbers = _numbers(list(delta.values()), delta)
    by_name = dict(zip(map(canonical, delta), numbers, strict=True))
    common = by_name.get("accuracy", 0.0)
    return tuple(by_name.get(label, common) for label in labels[:count]), by_name.get("fairness", 0.0)


def _listed_deltas(delta: object, count: int) -> tuple[tuple[float, ...], float]:
    numbers = _numbers(list(delta) if isinstance(delta, list | tuple) else [delta], delta, least=2)
    same = len(set(numbers[:-1])) == 1
    if not same and len(numbers) != count + 1:
        required = f"must have {count} accuracy numbers and one for fairness"
        raise InputError(WHO, Fault("delta", required, got=delta))
    return (numbers[0],) * count if same else tuple(numbers[:-1]), numbers[-1]


def _numbers(values: list[object], delta: object, least: int = 0) -> list[float]:
    values = [plain(value) for value in values]
    numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) != len(values) or len(numbers) < least or not all(map(math.isfinite, numbers)):
        raise InputError(WHO, Fault("delta", "must be numbers (accuracy Δ …, fairness Δ)", got=delta))
    return numbers


BY_DIFFERENCE = Set("scale", "difference")


def check_ratios(contest: Contest) -> None:
    """Ratios only make sense for utilities that cannot be negative (Definition 2)."""
    if contest.claim.scale != "ratio":
        return
    worth = contest.claim.accuracy
    subject = f"the accuracy {worth.name!r}"
    if worth.sign < 0:
        cure = Words("take {} or its complement", BY_DIFFERENCE)
        raise InputError(WHO, Fault("accuracy", "is better when lower", subject=subject, cure=cure))
    ones = np.ones(contest.rows)
    for decision in (ones, 1.0 - ones):
        lowest = float(evaluate(worth, contest.seen, decision, contest.score)[0].min())
        if lowest < 0:
            cure = Words("compare it with {}", BY_DIFFERENCE)
            fault = Fault("accuracy", f"can be negative ({lowest:g})", subject=subject, cure=cure)
            raise InputError(WHO, fault)


def refuse_equal_levels(contest: Contest) -> None:
    """Assumption 1: without a disparity of the status quo there is nothing to reduce."""
    decision, score = contest.status_quo(np.arange(contest.rows))
    for worth in contest.claim.fairness:
        u, w = evaluate(worth, contest.seen, decision, score)
        totals = np.bincount(contest.group, w, len(contest.names))
        if (totals <= 0).any():
            empty = [contest.names[i] for i in np.flatnonzero(totals <= 0)]
            required = "is undefined: nobody of the group meets its condition"
            raise InputError(WHO, Fault("fairness", required, subject=f"the {worth.label} of {empty}"))
        levels = np.bincount(contest.group, u, len(contest.names)) / totals
        if gap_of(levels, contest.claim.pairs) <= 1e-12 * (1 + float(np.abs(levels).max())):
            shown = [round(float(v), 6) for v in levels]
            required = f"has no disparity in {worth.label} (levels {shown}), so there is none to reduce"
            cure = Words("{} says how sure that is", Use("certify"))
            raise NotApplicable(WHO, Fault("fairness", required, subject="the status quo", cure=cure))
