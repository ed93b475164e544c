"""The contest of the status quo with other rules: the people, what rules may see and must respect, and the claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fairtrial._errors import Fault, Faults, InputError, NotApplicable, Set, Use, Words
from fairtrial._improve.arguments import Payoff
from fairtrial._improve.components import MarginKind, Pair, gap_of
from fairtrial._improve.rules import Floats, Index, Inputs, Reading, Rule, capacity_threshold
from fairtrial._improve.unlabelled import UnknownEnds, UnlabelledRows
from fairtrial._improve.worth import Area, SeenRows, Worth, evaluate
from fairtrial._inference.numeric.cell_bootstrap import LevelCells, Utility, by_person, level_cells

WHO = "improve"
# decisions and, where there are any, scores
Decided = tuple[Floats, Floats | None]


@dataclass(frozen=True, slots=True)
class GapVariant:
    """Another test of the gap in place of the valid one: its name, what to say of it, and its components.

    `components` takes a contest, the sampled levels and the position of a metric; with it accuracy is tested by the
    plain bootstrap, without an adverse row.
    """

    name: str
    note: str
    components: Callable[[Any, Any, int], list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImprovementClaim:
    """What an improvement is: which levels are compared, how, and by how much.

    `weights` make one accuracy of the groups' (the last weight is everybody's); `accuracy_delta` has a Δ for each
    accuracy and each of its components, the margin with its sign turned.
    """

    accuracies: tuple[Worth, ...]
    fairness: tuple[Worth, ...]
    pairs: tuple[Pair, ...]
    one_sided: bool
    weights: tuple[float, ...] | None
    kind: MarginKind
    scale: Literal["difference", "ratio"]
    accuracy_delta: tuple[tuple[float, ...], ...]
    fairness_delta: float
    gap_variant: GapVariant | None = None

    @property
    def accuracy(self) -> Worth:
        """The first accuracy: what candidates are fitted for."""
        return self.accuracies[0]

    @property
    def worths(self) -> tuple[Worth, ...]:
        return (*self.accuracies, *self.fairness)

    @property
    def pooled(self) -> bool:
        return self.weights is not None and self.weights[-1] > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """What every rule must respect; `monotone` has 1 for rising features and −1 for falling ones."""

    capacity: Any = None  # a share, None, or "status quo" until the rows are read
    blind: bool = True
    banned: tuple[str, ...] = ()
    group_attributes: tuple[str, ...] = ()
    monotone: Mapping[str, int] = field(default_factory=dict)
    permissible: Callable[[Rule, Inputs], bool] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The form used in files."""
        directions = {"rising": 1, "falling": -1}
        return {
            "capacity": self.capacity,
            "blind": self.blind,
            "banned": list(self.banned),
            **{name: [f for f, s in self.monotone.items() if s == sign] for name, sign in directions.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contest:
    """Everything that fitting, choosing and testing need; arrays only, one entry per row."""

    inputs: Inputs
    seen: SeenRows
    group: NDArray[np.int64]
    names: tuple[str, ...]
    decision: Floats | None
    score: Floats | None
    claim: ImprovementClaim
    constraints: Constraints
    features: tuple[str, ...]
    feature_of: NDArray[np.int64]
    reading: Reading
    folds: int
    unlabelled: UnlabelledRows | None = None
    # alike in the columns given which decisions may not depend on the group
    strata: NDArray[np.int64] | None = None
    decides: bool = True  # False where the claim is about scores alone, such as prices
    person: NDArray[np.int64] | None = None  # whose each row is, numbered from 0; None where each is its own

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

    @property
    def margin_units(self) -> tuple[float, ...]:
        """What a margin of 1 stands for in each accuracy: itself, or everybody's level where that is no rate."""
        units = []
        for worth in self.claim.accuracies:
            u, w = evaluate(worth, self.seen, *self.status_quo(np.arange(self.rows)))
            rate = self.claim.kind == "relative" or (np.abs(u) <= 1).all()
            units.append(1.0 if rate else abs(float(u.sum() / max(w.sum(), 1.0))) or 1.0)
        return tuple(units)

    @property
    def lacks_features(self) -> bool:
        return bool(np.isnan(self.inputs.matrix).any())

    def share(self, index: Index) -> float:
        """How many of these rows a rule may select: the capacity, or as many as the status quo does."""
        capacity = self.constraints.capacity
        return float(self.status_quo_of(index)[0].mean()) if capacity is None else capacity

    def rule(
        self, name: str, scorer: Callable[[Inputs], Floats], threshold: float | None, statement: str = ""
    ) -> Rule:
        """A rule that looks at the permitted features."""
        return Rule(name, scorer, threshold, self.reading, statement)

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

    def cells(self, index: Index, old: Decided, new: Decided, turned: Floats | None = None) -> LevelCells:
        """Cells of (group, u0, w0, u1, w1) over the rows of `index`; decisions and scores are those rows' own.

        `turned` (fairness metrics, rows) turns the status quo's values by sign, so that a gap is a sum over groups.
        """
        seen, first = self.seen.part(index), len(self.claim.accuracies)
        utilities = []
        for m, worth in enumerate(self.claim.worths):
            u0, w0 = evaluate(worth, seen, *old)
            if turned is not None and m >= first:
                u0 = u0 * turned[m - first]
            u1, w1 = evaluate(worth, seen, *new)
            utilities.append(Utility(name=worth.name, u0=u0, w0=w0, u1=u1, w1=w1))
        group = self.group[index]
        if self.person is not None:
            group, utilities = by_person(self.person[index], group, utilities)
        return level_cells(group, len(self.names), utilities)

    def ends(self, index: Index, old: Decided, new: Decided) -> UnknownEnds:
        """The same cells with both ends of what is unknown; people alike and known outcomes are told apart."""
        assert self.unlabelled is not None
        unlabelled, utilities = self.unlabelled, []
        for seen in (self.seen.part(index), unlabelled.high.part(index)):
            for worth in self.claim.worths:
                (u0, w0), (u1, w1) = (evaluate(worth, seen, *decided) for decided in (old, new))
                utilities.append(Utility(name=worth.name, u0=u0, w0=w0, u1=u1, w1=w1))
        known, nothing = unlabelled.known[index], np.zeros(index.size)
        outcome = nothing if self.seen.outcome is None else np.where(known, self.seen.outcome[index], -1.0)
        stratum = (
            nothing if math.isinf(unlabelled.assumed.odds) else unlabelled.stratum[index].astype(np.float64)
        )
        utilities.append(Utility(name="", u0=stratum, w0=outcome, u1=nothing, w1=nothing))
        both = level_cells(self.group[index], len(self.names), utilities)
        count, keys = len(self.claim.worths), both.values[:, -1, 0]
        return UnknownEnds(
            low=replace(both, values=both.values[:, :count]),
            high=both.values[:, count : 2 * count],
            outcome=np.where(keys[:, 1] < 0, np.nan, keys[:, 1]),
            stratum=keys[:, 0].astype(np.int64),
            odds=unlabelled.assumed.odds,
        )


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


ABSOLUTE = Set("margin", {"absolute": 0.0})


def check_utilities(contest: Contest) -> None:
    """Shares of a level need one that cannot be negative (Definition 2); a payoff needs a known loss."""
    for worth in contest.claim.accuracies:
        if isinstance(worth.what, Area):
            _check_area(contest)
            continue
        if contest.claim.kind == "relative":
            _check_relative(contest, worth)
        if isinstance(worth.what, Payoff):
            _check_losses(contest, worth.what, worth)


def _check_relative(contest: Contest, worth: Worth) -> None:
    subject = f"the accuracy {worth.name!r}"
    if worth.sign < 0:
        cure = Words("take {} or its complement", ABSOLUTE)
        raise InputError(WHO, Fault("keep", "is better when lower", subject=subject, cure=cure))
    ones = np.ones(contest.rows)
    for decision in (ones, 1.0 - ones):
        lowest = float(evaluate(worth, contest.seen, decision, contest.score)[0].min())
        if lowest < 0:
            cure = Words("compare it with {}", ABSOLUTE)
            fault = Fault("keep", f"can be negative ({lowest:g})", subject=subject, cure=cure)
            raise InputError(WHO, fault)


def _check_area(contest: Contest) -> None:
    """An area is everybody's, in points, of a binary outcome and two scores."""
    faults, subject = Faults(WHO), "the accuracy 'auc'"
    if not contest.claim.pooled:
        cure = Words("say {}", Set("margin", {"everyone": 0.0}))
        faults.add(Fault("keep", "compares people across groups", subject=subject, cure=cure))
    if contest.claim.kind != "absolute":
        cure = Words("say {}", ABSOLUTE)
        faults.add(Fault("keep", "has a margin in points", subject=subject, cure=cure))
    if not contest.outcome_is_binary:
        faults.add(Fault("keep", "needs a binary outcome", subject=subject))
    faults.raise_any()


def _check_losses(contest: Contest, payoff: Payoff, worth: Worth) -> None:
    """What a decision can lose must be in the data or be stated: nothing protects against a loss nobody knows of."""
    ones = np.ones(contest.rows)
    selected, rejected = (evaluate(worth, contest.seen, d, None)[0] for d in (ones, 1.0 - ones))
    subject = f"the payoff {payoff.name!r}"
    if payoff.at_least is not None:
        lowest = float(selected.min())
        if lowest < payoff.at_least:
            required = f"says at least {payoff.at_least:g}, but a row of the data yields {lowest:g}"
            raise InputError(
                WHO, Fault("keep", required, subject=subject, cure=f"state at least {lowest:g} or less")
            )
        return
    change = selected - rejected
    if change.min() >= 0 or change.max() <= 0:
        done = "selected" if change.min() >= 0 else "rejected"
        required = f"shows no loss: no row of the data loses by being {done}, so none can be weighed"
        cure = "state the least that a selected person can yield, at_least of the payoff"
        raise NotApplicable(WHO, Fault("keep", required, subject=subject, cure=cure))


def refuse_equal_levels(contest: Contest) -> None:
    """Assumption 1: without a disparity of the status quo there is nothing to reduce."""
    decision, score = contest.status_quo(np.arange(contest.rows))
    for worth in contest.claim.fairness:
        if contest.unlabelled is not None and contest.unlabelled.matters(worth):
            continue  # whether there is a disparity rests on what is unknown
        u, w = evaluate(worth, contest.seen, decision, score)
        totals = np.bincount(contest.group, w, len(contest.names))
        if (totals <= 0).any():
            empty = [contest.names[i] for i in np.flatnonzero(totals <= 0)]
            required = "is undefined: nobody of the group meets its condition"
            raise InputError(
                WHO,
                Fault(
                    "metric",
                    required,
                    subject=f"the {worth.label} of {empty}",
                    cure="Compare other groups or another metric",
                ),
            )
        levels = np.bincount(contest.group, u, len(contest.names)) / totals
        if gap_of(levels, contest.claim.pairs) <= 1e-12 * (1 + float(np.abs(levels).max())):
            shown = [round(float(v), 6) for v in levels]
            required = f"has no disparity in {worth.label} (levels {shown}), so there is none to reduce"
            cure = Words("{} says how sure that is", Use("certify"))
            raise NotApplicable(WHO, Fault("metric", required, subject="the status quo", cure=cure))
