"""From an audit and what is asked of it to a checked contest and its candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Coded, Rows
from fairtrial._audit.counted_rows import counted_rows
from fairtrial._audit.groups import MINIMUM_SIZE
from fairtrial._errors import Fault, Faults, InputError, Note, Set, Words
from fairtrial._improve.arguments import Wanted
from fairtrial._improve.candidates import FixedRule, reading_of
from fairtrial._improve.claim_tests import status_quo_pairs
from fairtrial._improve.components import Pair
from fairtrial._improve.constraints import check_declared
from fairtrial._improve.contest import (
    WHO,
    Candidate,
    Constraints,
    Contest,
    check_utilities,
    find_claim,
    refuse_equal_levels,
)
from fairtrial._improve.listing import build_candidates
from fairtrial._improve.request import Named, Stated, find_named, like, stated_pairs
from fairtrial._improve.rules import Index, Inputs, candidate_fault
from fairtrial._improve.unlabelled import Assumed, check_unlabelled, find_unlabelled, refuse_unstated
from fairtrial._improve.worth import Area, Observed, Revenue
from fairtrial._inference.numeric.cell_bootstrap import distinct_rows
from fairtrial._metrics.groups import Group


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

    audit: Audit
    contest: Contest
    candidates: list[Candidate]
    rows: Rows
    notes: list[Note]
    stated: Stated | None


def prepare(audit: Audit, wanted: Wanted) -> Prepared:
    """Check everything, read the rows once, and refuse what cannot be tested."""
    named = find_named(audit, wanted)
    audit = _with_unknown(audit, wanted, named)
    _check_roles(audit, wanted, named)
    if _counted(audit, named):
        named = replace(named, features=())
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
    notes = _notes(audit, wanted, named, members, contest, told)
    stated = _stated(audit, wanted, named, contest)
    return Prepared(audit, contest, candidates, members.rows, notes, stated)


def _with_unknown(audit: Audit, wanted: Wanted, named: Named) -> Audit:
    """The audit with the rows whose outcome is unknown, where they are answered for; all rows where none is needed."""
    columns = {name for worth in named.worths for name in worth.value_columns}
    outcome = {str(audit.outcome)} if audit.has("outcome") else set()
    features = set(named.features) if audit.missing == "category" else set()
    if named.assumed is not None:
        if any(audit.lacks(name) for name in (columns | outcome) & set(audit.source.columns)):
            check_unlabelled(named.worths, audit, wanted)
        return audit.lacking(columns | outcome | features)
    if named.need("outcome"):
        refuse_unstated(audit)
        return audit.lacking(features)
    return audit.lacking(outcome | features)


def _stated(audit: Audit, wanted: Wanted, named: Named, contest: Contest) -> Stated | None:
    """What fixed rules are tested with on all rows; None where something is learned, or splits are asked for."""
    if named.fitted or wanted.splits is not None:
        return None
    pairs: Sequence[Pair | None] | None = stated_pairs(wanted, contest, named.groups)
    earlier = None
    if wanted.earlier is not None:
        before = like(audit, wanted.earlier).sampled(0)
        earlier = prepare(before, replace(wanted, earlier=None)).contest
        everyone = np.arange(earlier.rows)
        if earlier.names != contest.names:
            required = f"must hold the groups {list(contest.names)}"
            raise InputError(WHO, Fault("earlier", required, got=list(earlier.names)))
        pairs = pairs or status_quo_pairs(earlier, earlier.status_quo_of(everyone), everyone)
    return Stated(pairs or [None] * len(contest.claim.fairness), earlier)


def _check_roles(audit: Audit, wanted: Wanted, named: Named) -> None:
    """What the audit must have for this claim and these candidates."""
    faults = Faults(WHO)
    _check_status_quo(audit, wanted, named, faults)
    if (named.fitted or named.need("outcome")) and not audit.has("outcome"):
        faults.add(Fault("", "is needed", subject="the outcome", cure=_column_of("outcome")))
    if named.fitted and not named.features:
        cure = Words("name them with {} (permitted ones are left)", Set("features", of="Audit"))
        faults.add(Fault("candidates", "are fitted on features", subject="candidates", cure=cure))
    if named.need("score") and not audit.has("score"):
        subject, required = "a metric of the score", "needs the status quo's score"
        faults.add(Fault("", required, subject=subject, cure=_column_of("score")))
    _check_beforehand(wanted, named, faults)
    faults.raise_any()


def _check_beforehand(wanted: Wanted, named: Named, faults: Faults) -> None:
    """Rules that are brought were not fitted here; threshold, sign and an earlier sample are for tests on all rows."""
    if named.brought and not wanted.fitted_elsewhere:
        cure = Words("if that is so, say {}", Set("fitted_elsewhere", True))
        required = "must hold a rule that was not fitted on these rows"
        subject = f"the candidate {'columns' if named.fixed else 'rules'} {named.brought}"
        faults.add(Fault("candidates", required, subject=subject, cure=cure))
    if not named.fitted and wanted.splits is None:
        return
    why = "rules that are learned here" if named.fitted else "splits"
    given = {"candidate_threshold": wanted.threshold, "sign": wanted.sign, "earlier": wanted.earlier}
    for name, value in given.items():
        if value is not None:
            required = f"is for rules fixed beforehand; with {why} it comes from each training half"
            faults.add(Fault(name, required, cure="leave it out"))


def _check_status_quo(audit: Audit, wanted: Wanted, named: Named, faults: Faults) -> None:
    if named.fitted and any(isinstance(worth.what, Revenue) for worth in named.worths):
        required = "decide yes or no when they are learned here, and revenue is that of prices"
        cure = "bring prices: a column, or a model that was fitted elsewhere"
        faults.add(Fault("candidates", required, subject="candidates", cure=cure))
        return
    if audit.has("decision") or _scores_alone(audit, wanted, named):
        return
    if not audit.has("score") or wanted.capacity is None:
        required = "needs a decision, or a score with a threshold or a capacity"
        faults.add(Fault("", required, subject="the status quo"))
    if wanted.capacity == "status quo":
        faults.add(
            Fault(
                "capacity",
                "cannot be 'status quo' without the status quo's decisions",
                cure="give a share, such as 0.2",
            )
        )


def _scores_alone(audit: Audit, wanted: Wanted, named: Named) -> bool:
    """Whether the claim is about scores, such as prices, that were fixed beforehand: nobody need be selected."""
    scores = audit.has("score") and not audit.has("decision") and wanted.capacity is None
    return scores and not named.fitted and all(worth.by_score for worth in named.worths)


def _column_of(role: str) -> Words:
    return Words("name its column with {}", Set(role, of="Audit"))


def _counted(audit: Audit, named: Named) -> bool:
    """Whether rows alike are counted where they lie: in Spark, for columns fixed beforehand, which see no feature."""
    return audit.source.on_cluster and not (named.fitted or named.rules or audit.has("unit"))


def _read(audit: Audit, named: Named) -> Rows:
    roles = [name for name in ("outcome", "score", "decision") if audit.has(name)]
    columns = dict.fromkeys([*named.fixed, *(name for worth in named.worths for name in worth.value_columns)])
    conditions = [name for worth in named.worths for name in worth.condition_columns]
    for name in columns:
        audit.check_column(WHO, "metric", name)
    alike = () if named.assumed is None else named.assumed.alike
    labels = dict.fromkeys([*named.attributes, *conditions, *alike, *(named.independent or ())])
    units = audit.has("unit")
    if _counted(audit, named):
        return counted_rows(WHO, audit, list(labels), roles, list(columns))
    return audit.rows(attributes=list(labels), roles=roles, columns=list(columns), units=units, who=WHO)


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


def _contest(audit: Audit, wanted: Wanted, named: Named, members: _Members) -> Contest:
    rows, decides = members.rows, not _scores_alone(audit, wanted, named)
    constraints = _constraints(wanted, named.attributes, members.role("decision"))
    # everybody gets a score where scores are all that the claim is about, and none is refused
    decision = _decision(audit, members, constraints) if decides else np.ones(members.inside.size)
    inputs, feature_of = _inputs(audit, named, members, blind=wanted.blind)
    group = members.group[members.inside]
    seen = Observed(rows.roles.get("outcome"), rows.columns, rows.attributes).part(members.inside)
    alike = _alike(named.assumed, seen, decision)
    seen, unlabelled = find_unlabelled(seen, named.worths, group, named.assumed, alike)
    bounded = unlabelled is not None and any(map(unlabelled.matters, named.worths))
    return Contest(
        inputs=inputs,
        seen=seen,
        group=group,
        names=tuple(_name(group) for group in named.groups),
        decision=decision,
        score=members.role("score"),
        claim=find_claim(wanted, (named.accuracies, named.fairness), named.groups, bounded=bounded),
        constraints=constraints,
        features=named.features,
        feature_of=feature_of,
        strata=_strata(named, seen, group.size),
        reading=reading_of(
            audit, list(named.features), None if wanted.blind else [g.to_dict() for g in named.groups]
        ),
        folds=wanted.folds,
        unlabelled=unlabelled,
        decides=decides,
        person=_person(named, members, unlabelled is not None),
    )


def _decision(audit: Audit, members: _Members, constraints: Constraints) -> Any:
    """The status quo's decisions; None where a capacity's threshold is found anew on each training half."""
    anew = audit.decision is None and constraints.capacity is not None
    return None if anew else members.role("decision")


def _alike(assumed: Assumed | None, seen: Observed, decision: Any) -> list[Coded]:
    """What people are alike in whose unknown outcomes are answered for by the known ones."""
    if assumed is None:
        return []
    found = [seen.labels[name] for name in assumed.alike]
    by_decision = assumed.by_decision and decision is not None
    return [*found, Coded(decision.astype(np.int32), ("0", "1"))] if by_decision else found


def _person(named: Named, members: _Members, unknown: bool) -> NDArray[np.int64] | None:
    """Whose the rows are; None where everybody has one. A person must be in one group."""
    unit = members.rows.attributes.get("unit")
    if unit is None:
        return None
    labels, person = np.unique(unit.codes[members.inside], return_inverse=True)
    person = person.astype(np.int64)
    if labels.size == person.size:
        return None
    group = members.group[members.inside]
    both = np.unique(person * (int(group.max()) + 1) + group).size - labels.size
    faults = Faults(WHO)
    if both:
        required = f"has rows in more than one group for {both:,} of its values: whole persons are drawn"
        faults.add(Fault("unit", required, cure="use a unit that is in one group only"))
    if unknown:
        faults.add(
            Fault("unit", "is not for outcomes that are unknown for some", cure="Leave one of the two out")
        )
    if any(isinstance(worth.what, Area) for worth in named.worths):
        faults.add(Fault("unit", "is not for the area under the curve", cure="use another accuracy"))
    faults.raise_any()
    return person


def _strata(named: Named, seen: Observed, rows: int) -> NDArray[np.int64] | None:
    """People alike in the columns given which decisions may not depend on the group."""
    if named.independent is None:
        return None
    return distinct_rows([np.zeros(rows), *(seen.labels[name].codes for name in named.independent)])[0]


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
    audit: Audit, named: Named, members: _Members, *, blind: bool
) -> tuple[Inputs, NDArray[np.int64]]:
    """What rules may look at, and which feature each column of the matrix stands for."""
    group = None if blind else members.group
    fixed = {name: members.rows.columns[name] for name in named.fixed}
    fixed.update((rule.name, _scores(audit, rule, members.rows.n)) for rule in named.rules)
    inputs = Inputs(np.empty((members.rows.n, 0)), (), None, None, group, fixed)
    feature_of = np.zeros(0, dtype=np.int64)
    if named.features:
        design = audit.design(named.features, who=WHO)
        frame = audit.features_frame(named.features, who=WHO)
        inputs = replace(inputs, matrix=design.matrix, names=tuple(design.names), source=frame)
        feature_of = design.feature_of.astype(np.int64)
    return inputs.part(members.inside), feature_of


def _scores(audit: Audit, fixed: FixedRule, rows: int) -> Any:
    """A fixed rule's scores of all rows, in their order."""
    rule = fixed.rule
    assert rule.reading is not None
    score = np.asarray(rule.scorer(rule.reading.inputs(audit)), dtype=np.float64)
    if score.shape != (rows,) or not np.isfinite(score).all():
        required = f"must give one finite number for each of the {rows:,} rows"
        raise InputError(WHO, candidate_fault(fixed.name, required))
    return score


def _name(group: Group) -> str:
    """A group's label; a bare number does not say what it is."""
    bare = group.label.lstrip("-").replace(".", "", 1).isdigit()
    return f"{group.attributes[0]} {group.label}" if bare and len(group.attributes) == 1 else group.label


def _missing_features(contest: Contest) -> list[Note]:
    rows = int(np.isnan(contest.inputs.matrix).any(axis=1).sum())
    text = (
        f"Features are missing in {rows:,} rows: boosted models take them as they are, linear ones the mean of the "
        "others and whether it is missing."
    )
    return [Note("missing-features", text)] if rows else []


def _notes(
    audit: Audit, wanted: Wanted, named: Named, members: _Members, contest: Contest, told: Sequence[Note]
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
        notes.append(Note("outside-groups", text, outside))
    notes += [*told, *_missing_features(contest)]
    if named.brought:
        what = "columns" if named.fixed else "rules"
        text = f"The {what} {', '.join(named.brought)} are taken as not fitted on these rows."
        notes.append(Note("fitted-elsewhere", text))
    return notes
