"""From an audit and what is asked of it to a checked contest and its candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.data.audit import Audit
from fairtrial.data.cells import Rows
from fairtrial.data.groups import MINIMUM_SIZE, find_groups
from fairtrial.errors import (
    Fault,
    Faults,
    InputError,
    MissingExtra,
    NotApplicable,
    Note,
    Set,
    Words,
    did_you_mean,
)
from fairtrial.methods.improve.arguments import Wanted
from fairtrial.methods.improve.candidates.adapters import FixedColumn, as_candidate
from fairtrial.methods.improve.candidates.constraints import check_declared
from fairtrial.methods.improve.candidates.contest import (
    WHO,
    Candidate,
    Constraints,
    Contest,
    check_utilities,
    find_claim,
    refuse_equal_levels,
)
from fairtrial.methods.improve.candidates.frontier import FrontierRules
from fairtrial.methods.improve.candidates.frontier import applicable as frontier_applies
from fairtrial.methods.improve.candidates.portfolio import (
    GroupThresholds,
    Reductions,
    applicable,
    installed,
    portfolio,
)
from fairtrial.methods.improve.candidates.programs import LinearProgram
from fairtrial.methods.improve.candidates.rules import Index, Inputs, Reading
from fairtrial.methods.improve.candidates.stated import Stated, stated_pairs
from fairtrial.methods.improve.candidates.utilities import Observed, Worth, find_worth
from fairtrial.methods.improve.claim_test import status_quo_pairs
from fairtrial.methods.improve.solver.improvement import Pair
from fairtrial.metrics.groups import Group
from fairtrial.metrics.table import joined_metrics


@dataclass(frozen=True, slots=True)
class _Named:
    """What the arguments name in the audit, before any row is read."""

    groups: list[Group]
    accuracies: tuple[Worth, ...]
    fairness: tuple[Worth, ...]
    listed: list[Any]
    features: tuple[str, ...] = ()

    @property
    def worths(self) -> tuple[Worth, ...]:
        return (*self.accuracies, *self.fairness)

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for group in self.groups for name in group.attributes))

    @property
    def fixed(self) -> list[str]:
        """Columns that are candidates."""
        return [item.column for item in self.listed if isinstance(item, FixedColumn)]

    @property
    def fitted(self) -> bool:
        """Whether any candidate has yet to be fitted."""
        return len(self.fixed) < len(self.listed)

    def need(self, role: str) -> bool:
        """Whether a level of the claim depends on the outcome or the score."""
        return any(worth.needs(role) for worth in self.worths)


@dataclass(frozen=True, slots=True)
class _Members:
    """The rows that were read, with each one's group and the positions of those that are in one."""

    rows: Rows
    group: NDArray[np.int64]
    inside: Index = field(repr=False)

    def role(self, name: str) -> Any:
        values = self.rows.roles.get(name)
        return None if values is None else values[self.inside]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """The contest, its candidates, the rows it came from, what the reader must know, and what was fixed beforehand.

    `stated` is None where rules are learned here, and halves of the rows are needed to find them.
    """

    contest: Contest
    candidates: list[Candidate]
    rows: Rows
    notes: list[Note]
    stated: Stated | None


def prepare(audit: Audit, wanted: Wanted) -> Prepared:
    """Check everything, read the rows once, and refuse what cannot be tested."""
    named = _named(audit, wanted)
    _check_roles(audit, wanted, named)
    members = _members(_read(audit, named), named.groups)
    if audit.has("outcome") and audit.outcome_is_real:
        accuracies, fairness = (
            tuple(worth.of_real_outcome() for worth in part) for part in (named.accuracies, named.fairness)
        )
        named = replace(named, accuracies=accuracies, fairness=fairness)
    contest = _contest(audit, wanted, named, members)
    check_utilities(contest)
    refuse_equal_levels(contest)
    candidates, told = build_candidates(named.listed, contest)
    check_declared(candidates, contest)
    notes = _notes(audit, wanted, named, members, told)
    stated = _stated(audit, wanted, named, contest)
    return Prepared(contest, candidates, members.rows, notes, stated)


def _stated(audit: Audit, wanted: Wanted, named: _Named, contest: Contest) -> Stated | None:
    """What fixed rules are tested with on all rows; None where something is learned, or splits are asked for."""
    if named.fitted or wanted.splits is not None:
        return None
    pairs: Sequence[Pair | None] | None = stated_pairs(wanted, contest, named.groups)
    earlier = None
    if wanted.earlier is not None:
        before = like(audit, wanted.earlier)
        earlier = prepare(before, replace(wanted, earlier=None)).contest
        everyone = np.arange(earlier.rows)
        if earlier.names != contest.names:
            required = f"must hold the groups {list(contest.names)}"
            raise InputError(WHO, Fault("earlier", required, got=list(earlier.names)))
        pairs = pairs or status_quo_pairs(earlier, earlier.status_quo_of(everyone), everyone)
    return Stated(pairs or [None] * len(contest.claim.fairness), earlier)


def like(audit: Audit, data: Any) -> Audit:
    """Other data with the same roles; an Audit is taken as it is."""
    if isinstance(data, Audit):
        return data
    names = ("outcome", "decision", "score", "threshold", "groups", "features", "positive", "bins", "missing")
    return Audit(data, **{name: getattr(audit, name) for name in names})


def _named(audit: Audit, wanted: Wanted) -> _Named:
    if not isinstance(wanted.monotone, Mapping) or "" in wanted.monotone:
        raise InputError(WHO, Fault("monotone", "must pair features with 1 or -1", got=wanted.monotone))
    groups = find_groups(WHO, audit, wanted.by)
    accuracies, fairness = (
        tuple(
            find_worth(WHO, argument, one, accuracy=argument == "accuracy")
            for one in _utilities(argument, asked)
        )
        for argument, asked in (("accuracy", wanted.accuracy), ("fairness", wanted.fairness))
    )
    listed = listed_candidates(audit, wanted.candidates)
    if wanted.threshold is not None:
        listed = [replace(c, threshold=wanted.threshold) if isinstance(c, FixedColumn) else c for c in listed]
    named = _Named(groups, accuracies, fairness, listed)
    return replace(named, features=_permitted(audit, wanted, named.attributes))


def _utilities(argument: str, asked: object) -> list[object]:
    """Metrics one by one: a criterion stands for several."""
    items = list(asked) if isinstance(asked, list | tuple) else [asked]
    if not items:
        raise InputError(WHO, Fault(argument, "is empty", cure="name at least one metric"))
    return [part for item in items for part in joined_metrics(item)]


def _permitted(audit: Audit, wanted: Wanted, attributes: tuple[str, ...]) -> tuple[str, ...]:
    """The features that rules may use; every fault in what was said of single ones."""
    faults, columns = Faults(WHO), audit.source.columns
    for argument, names in (("banned", wanted.banned), ("monotone", wanted.monotone)):
        for name in names:
            if name not in columns:
                hint = did_you_mean(name, columns)
                faults.add(Fault(argument, f"names the unknown column {name!r}", hint=hint))
    forbidden = {*wanted.banned, *(attributes if wanted.blind else ())}
    features = tuple(name for name in audit.features if name not in forbidden)
    for name, sign in wanted.monotone.items():
        required = _monotone_required(audit, name, features)
        if sign not in (1, -1):
            required = f"must give 1 (never falls) or -1 (never rises) for {name!r}"
            faults.add(Fault("monotone", required, got=sign))
        elif required:
            faults.add(Fault("monotone", required))
    faults.raise_any()
    return features


def _monotone_required(audit: Audit, name: str, features: tuple[str, ...]) -> str:
    """Why no rule can be monotone in a column of the audit."""
    if name not in features:
        known = name in audit.source.columns
        return f"names {name!r}, which is not a permitted feature" if known else ""
    numeric = audit.kind(name) in ("bool", "int", "float")
    return "" if numeric else f"names {name!r}, which is not numeric"


def _check_roles(audit: Audit, wanted: Wanted, named: _Named) -> None:
    """What the audit must have for this claim and these candidates."""
    faults = Faults(WHO)
    _check_status_quo(audit, wanted, faults)
    if (named.fitted or named.need("outcome")) and not audit.has("outcome"):
        faults.add(Fault("", "is needed", subject="the outcome", cure=_column_of("outcome")))
    if named.fitted and not named.features:
        cure = Words("name them with {} (permitted ones are left)", Set("features", of="Audit"))
        faults.add(Fault("candidates", "are fitted on features", subject="candidates", cure=cure))
    if named.need("score") and not audit.has("score"):
        subject, required = "a metric of the score", "needs the status quo's score"
        faults.add(Fault("", required, subject=subject, cure=_column_of("score")))
    if named.fixed and not wanted.fitted_elsewhere:
        cure = Words("if that is so, say {}", Set("fitted_elsewhere", True))
        required = "must hold a rule that was not fitted on these rows"
        faults.add(Fault("candidates", required, subject=f"the candidate columns {named.fixed}", cure=cure))
    _check_beforehand(wanted, named, faults)
    faults.raise_any()


def _check_beforehand(wanted: Wanted, named: _Named, faults: Faults) -> None:
    """Threshold, sign and an earlier sample are for rules that are tested on all rows."""
    if not named.fitted and wanted.splits is None:
        return
    why = "rules that are learned here" if named.fitted else "splits"
    given = {"candidate_threshold": wanted.threshold, "sign": wanted.sign, "earlier": wanted.earlier}
    for name, value in given.items():
        if value is not None:
            required = f"is for rules fixed beforehand; with {why} it comes from each training half"
            faults.add(Fault(name, required))


def _check_status_quo(audit: Audit, wanted: Wanted, faults: Faults) -> None:
    if audit.has("decision"):
        return
    if not audit.has("score") or wanted.capacity is None:
        required = "needs a decision, or a score with a threshold or a capacity"
        faults.add(Fault("", required, subject="the status quo"))
    if wanted.capacity == "status quo":
        faults.add(Fault("capacity", "cannot be 'status quo' without the status quo's decisions"))


def _column_of(role: str) -> Words:
    return Words("name its column with {}", Set(role, of="Audit"))


def _read(audit: Audit, named: _Named) -> Rows:
    roles = [name for name in ("outcome", "score", "decision") if audit.has(name)]
    columns = dict.fromkeys([*named.fixed, *(name for worth in named.worths for name in worth.value_columns)])
    conditions = [name for worth in named.worths for name in worth.condition_columns]
    for name in columns:
        audit.check_column(WHO, "metric", name)
    labels = dict.fromkeys([*named.attributes, *conditions])
    return audit.rows(attributes=list(labels), roles=roles, columns=list(columns), who=WHO)


def _members(rows: Rows, groups: Sequence[Group]) -> _Members:
    """Each row's group; they must be at least two, not overlap, and have enough people each."""
    if len(groups) < 2:
        labels = [group.label for group in groups]
        raise InputError(WHO, Fault("by", "must give at least two groups", got=labels))
    masks = np.array([rows.mask(group) for group in groups])
    if (masks.sum(axis=0) > 1).any():
        cure = "name one attribute, or groups that share nobody"
        raise InputError(WHO, Fault("by", "gives groups that overlap", cure=cure))
    sizes = masks.sum(axis=1)
    small = [group.label for group, size in zip(groups, sizes, strict=True) if size < MINIMUM_SIZE]
    if small:
        listing = Words("list the groups to compare with {}", Set("by"))
        required = f"have fewer than {MINIMUM_SIZE} rows"
        raise InputError(WHO, Fault("by", required, subject=f"the groups {small}", cure=listing))
    return _Members(rows, masks.argmax(axis=0).astype(np.int64), np.flatnonzero(masks.any(axis=0)))


def _contest(audit: Audit, wanted: Wanted, named: _Named, members: _Members) -> Contest:
    rows, decision = members.rows, members.role("decision")
    constraints = _constraints(wanted, named.attributes, decision)
    if audit.decision is None and constraints.capacity is not None:
        decision = None  # the capacity's threshold is found anew on each training half
    inputs, feature_of = _inputs(audit, named, members, blind=wanted.blind)
    return Contest(
        inputs=inputs,
        seen=Observed(rows.roles.get("outcome"), rows.columns, rows.attributes).part(members.inside),
        group=members.group[members.inside],
        names=tuple(_name(group) for group in named.groups),
        decision=decision,
        score=members.role("score"),
        claim=find_claim(wanted, (named.accuracies, named.fairness), named.groups),
        constraints=constraints,
        features=named.features,
        feature_of=feature_of,
        reading=_reading(audit, named, inputs, wanted.blind),
        folds=wanted.folds,
    )


def _constraints(wanted: Wanted, attributes: tuple[str, ...], decision: Any) -> Constraints:
    capacity = float(decision.mean()) if wanted.capacity == "status quo" else wanted.capacity
    return Constraints(
        capacity=None if capacity is None else float(capacity),
        blind=wanted.blind,
        banned=wanted.banned,
        group_attributes=attributes,
        monotone={name: int(sign) for name, sign in wanted.monotone.items()},
        permissible=wanted.permissible,
    )


def _inputs(
    audit: Audit, named: _Named, members: _Members, *, blind: bool
) -> tuple[Inputs, NDArray[np.int64]]:
    """What rules may look at, and which feature each column of the matrix stands for."""
    group = None if blind else members.group
    fixed = {name: members.rows.columns[name] for name in named.fixed}
    inputs = Inputs(np.empty((members.rows.n, 0)), (), None, None, group, fixed)
    feature_of = np.zeros(0, dtype=np.int64)
    if named.features:
        design = audit.design(named.features, who=WHO)
        frame = audit.features_frame(named.features, who=WHO)
        inputs = replace(inputs, matrix=design.matrix, names=tuple(design.names), source=frame)
        feature_of = design.feature_of.astype(np.int64)
    return inputs.part(members.inside), feature_of


def _reading(audit: Audit, named: _Named, inputs: Inputs, blind: bool) -> Reading:
    """How a rule of this contest reads new rows."""
    labels: dict[str, list[str]] = {}
    for feature in named.features:
        if feature not in inputs.names:
            labels[feature] = [
                n.removeprefix(f"{feature}=") for n in inputs.names if n.startswith(f"{feature}=")
            ]
    return Reading(
        features=list(named.features),
        labels=labels,
        bins={name: cut for name, cut in audit.bins.items() if name in named.features},
        frame=audit.frame,
        groups=None if blind else [group.to_dict() for group in named.groups],
    )


def _name(group: Group) -> str:
    """A group's label; a bare number does not say what it is."""
    bare = group.label.lstrip("-").replace(".", "", 1).isdigit()
    return f"{group.attributes[0]} {group.label}" if bare and len(group.attributes) == 1 else group.label


def _notes(
    audit: Audit, wanted: Wanted, named: _Named, members: _Members, told: Sequence[Note]
) -> list[Note]:
    """What was left out, what was told of the candidates, and what is taken on trust."""
    banned = ", ".join(name for name in audit.features if name in wanted.banned)
    of_groups = ", ".join(name for name in audit.features if name in named.attributes and wanted.blind)
    outside = members.rows.n - members.inside.size
    notes = []
    if banned:
        notes.append(Note("banned-features", f"Rules could not use the banned features {banned}."))
    if of_groups:
        notes.append(Note("blind", f"Rules could not use {of_groups}: they are blind to the group."))
    if outside:
        text = f"{outside:,} of {members.rows.n:,} rows are in none of the groups and were left out."
        notes.append(Note("outside-groups", text))
    notes += told
    if named.fixed:
        text = f"The columns {', '.join(named.fixed)} are taken as not fitted on these rows."
        notes.append(Note("fitted-elsewhere", text))
    return notes


BUILT_IN = ("portfolio", "frontier", "reductions", "group-thresholds", "F.5", "F.6", "P'")


def listed_candidates(audit: Audit, asked: object) -> list[Any]:
    """Candidates in order; the built-in names stay text until the contest is known."""
    items = list(asked) if isinstance(asked, list | tuple) else [asked]
    if not items:
        raise InputError(WHO, Fault("candidates", "is empty", cure="name at least one"))
    return [_listed(audit, item) for item in items]


def _listed(audit: Audit, item: object) -> Any:
    if isinstance(item, str):
        if item in BUILT_IN:
            return item
        if item in audit.source.columns:
            return FixedColumn(item)
        hint = did_you_mean(item, [*BUILT_IN, *audit.source.columns])
        required = f"must name columns or one of {list(BUILT_IN)}"
        raise InputError(WHO, Fault("candidates", required, got=item, hint=hint))
    own = item if hasattr(item, "variants") and hasattr(item, "fit") else as_candidate(item)
    if own is None:
        required = (
            "must be 'portfolio' or a list of scikit-learn estimators, functions, columns and built-in names "
            f"{list(BUILT_IN)}"
        )
        raise InputError(WHO, Fault("candidates", required, got=item))
    return own


def build_candidates(listed: Sequence[Any], contest: Contest) -> tuple[list[Candidate], list[Note]]:
    """Every candidate that can be fitted, and what the reader must know of them."""
    found = [candidate for item in listed for candidate in _built(item, contest)]
    notes = []
    if "portfolio" in listed and applicable(contest) and not installed():
        notes.append(Note("no-fairlearn", "fairlearn is not installed; its reductions were not tried."))
    for candidate in found:
        if isinstance(candidate, LinearProgram):
            candidate.check(contest)
            text = "The program's time limit makes its result depend on the machine's speed."
            notes.append(Note("time-limit", text))
    _check_names(found, contest)
    return found, notes


def _check_names(candidates: Sequence[Candidate], contest: Contest) -> None:
    names = Counter(name for candidate in candidates for name in candidate.variants(contest))
    twice = sorted(name for name, times in names.items() if times > 1)
    if twice:
        cure = "name each once, and give estimators labels of their own"
        fault = Fault("candidates", f"have the same name {twice}", subject="two candidates", cure=cure)
        raise InputError(WHO, fault)


def _built(item: Any, contest: Contest) -> list[Candidate]:
    if not isinstance(item, str):
        return [item]
    if item == "portfolio":
        return [*portfolio(contest), *([Reductions()] if installed() and applicable(contest) else [])]
    if item == "frontier":
        return _frontiers(contest)
    if item == "reductions":
        _check_reductions(contest)
        return [Reductions()]
    return [GroupThresholds() if item == "group-thresholds" else LinearProgram(item)]  # type: ignore[arg-type]


def _frontiers(contest: Contest) -> list[Candidate]:
    if not frontier_applies(contest):
        required = (
            "needs an outcome, features without monotone directions, and an accuracy that decisions change"
        )
        raise NotApplicable(WHO, Fault("candidates", required, subject="'frontier'"))
    return [FrontierRules("linear"), FrontierRules("boosted")]


def _check_reductions(contest: Contest) -> None:
    if not installed():
        raise MissingExtra("improve: 'reductions' needs fairlearn: install fairtrial[fair]")
    if not applicable(contest):
        required = "needs a binary outcome, a parity metric, no capacity and no monotone features"
        raise NotApplicable(WHO, Fault("candidates", required, subject="'reductions'"))
