"""From an audit and what is asked of it to a checked contest and its candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Coded, Rows
from fairtrial._audit.counting import counted_rows
from fairtrial._audit.groups import MINIMUM_SIZE
from fairtrial._errors import Fault, Faults, InputError, Note, Set, Words
from fairtrial._improve.arguments import Fixed
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
    refuse_equal_levels,
)
from fairtrial._improve.request import ImproveRequest, find_claim
from fairtrial._improve.rules import Index, Inputs, candidate_fault
from fairtrial._improve.terms import Beforehand, Terms, build_candidates, find_terms, like, stated_pairs
from fairtrial._improve.unlabelled import AssumedOdds, check_unlabelled, find_unlabelled, refuse_unstated
from fairtrial._improve.worth import Area, Revenue, SeenRows
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
    """The terms, the contest, its candidates, its rows, what the reader must know, and what was fixed beforehand.

    `stated` is None where rules are learned here, and halves of the rows are needed to find them.
    """

    audit: Audit
    terms: Terms
    contest: Contest
    candidates: list[Candidate]
    rows: Rows
    notes: list[Note]
    stated: Beforehand | None


def _contest_of(audit: Audit, terms: Terms) -> tuple[Audit, Terms, _Members, Contest]:
    """The rows that are read, and the contest on them."""
    audit = _with_unknown(audit, terms)
    _check_roles(audit, terms)
    if _counted(audit, terms):
        terms = replace(terms, features=())
    members = _members(_read(audit, terms), terms.groups)
    if audit.has("outcome") and audit.outcome_is_real:
        accuracies, fairness = (
            tuple(worth.of_real_outcome() for worth in part) for part in (terms.accuracies, terms.fairness)
        )
        terms = replace(terms, accuracies=accuracies, fairness=fairness)
    contest = _contest(audit, terms, members)
    check_utilities(contest)
    refuse_equal_levels(contest)
    return audit, terms, members, contest


def prepare(audit: Audit, request: ImproveRequest) -> Prepared:
    """Check everything, read the rows once, and refuse what cannot be tested."""
    audit, terms, members, contest = _contest_of(audit, find_terms(audit, request))
    candidates, told = build_candidates(terms.listed, contest)
    check_declared(candidates, contest)
    notes = _notes(audit, terms, members, contest, told)
    stated = _stated(audit, terms, contest)
    return Prepared(audit, terms, contest, candidates, members.rows, notes, stated)


def _with_unknown(audit: Audit, terms: Terms) -> Audit:
    """The audit with the rows whose outcome is unknown, where they are answered for; all rows where none is needed."""
    columns = {name for worth in terms.worths for name in worth.value_columns}
    outcome = {str(audit.outcome)} if audit.has("outcome") else set()
    features = set(terms.features) if audit.missing == "category" else set()
    if terms.assumed is not None:
        if any(audit.lacks(name) for name in (columns | outcome) & set(audit.source.columns)):
            shares = terms.margins.kind == "relative" and terms.margins.any
            scale, valid = terms.request.scale, terms.request.gap_variant is None
            check_unlabelled(terms.worths, audit, scale=scale, shares=shares, valid=valid)
        return audit.lacking(columns | outcome | features)
    if terms.need("outcome"):
        refuse_unstated(audit)
        return audit.lacking(features)
    return audit.lacking(outcome | features)


def _stated(audit: Audit, terms: Terms, contest: Contest) -> Beforehand | None:
    """What fixed rules are tested with on all rows; None where something is learned, or splits are asked for."""
    if terms.fitted or terms.request.splits is not None:
        return None
    stated = terms.fixed or Fixed(None)
    pairs: Sequence[Pair | None] | None = stated_pairs(stated.sign, contest, terms.groups)
    earlier = None
    if stated.earlier is not None:
        before = like(audit, stated.earlier).sampled(0)
        earlier = _contest_of(before, find_terms(before, terms.request))[-1]
        everyone = np.arange(earlier.rows)
        if earlier.names != contest.names:
            required = f"must hold the groups {list(contest.names)}"
            subject = "the earlier sample"
            raise InputError(WHO, Fault("candidates", required, subject=subject, got=list(earlier.names)))
        pairs = pairs or status_quo_pairs(earlier, earlier.status_quo_of(everyone), everyone)
    return Beforehand(pairs or [None] * len(contest.claim.fairness), earlier)


def _check_roles(audit: Audit, terms: Terms) -> None:
    """What the audit must have for this claim and these candidates."""
    faults = Faults(WHO)
    _check_status_quo(audit, terms, faults)
    if (terms.fitted or terms.need("outcome")) and not audit.has("outcome"):
        faults.add(Fault("", "is needed", subject="the outcome", cure=_column_of("outcome")))
    if terms.fitted and not terms.features:
        cure = Words("name them with {} (permitted ones are left)", Set("features", of="Audit"))
        faults.add(Fault("candidates", "are fitted on features", subject="candidates", cure=cure))
    if terms.need("score") and not audit.has("score"):
        subject, required = "a metric of the score", "needs the status quo's score"
        faults.add(Fault("", required, subject=subject, cure=_column_of("score")))
    _check_beforehand(terms, faults)
    faults.raise_any()


def _check_beforehand(terms: Terms, faults: Faults) -> None:
    """Threshold, sign and an earlier sample are for tests of fixed rules on all rows."""
    if terms.fixed is None or (not terms.fitted and terms.request.splits is None):
        return
    why = "rules that are learned here" if terms.fitted else "splits"
    for name in ("threshold", "sign", "earlier"):
        if getattr(terms.fixed, name) is not None:
            required = f"is for rules fixed beforehand; with {why} it comes from each training half"
            faults.add(Fault("candidates", required, subject=f"{name!r}", cure="leave it out"))


def _check_status_quo(audit: Audit, terms: Terms, faults: Faults) -> None:
    if terms.fitted and any(isinstance(worth.what, Revenue) for worth in terms.worths):
        required = "decide yes or no when they are learned here, and revenue is that of prices"
        cure = "bring prices: a column, or a model that was fitted elsewhere"
        faults.add(Fault("candidates", required, subject="candidates", cure=cure))
        return
    if audit.has("decision") or _scores_alone(audit, terms):
        return
    if not audit.has("score") or terms.constraints.capacity is None:
        required = "needs a decision, or a score with a threshold or a capacity"
        faults.add(Fault("", required, subject="the status quo"))
    if terms.constraints.capacity == "status quo":
        faults.add(
            Fault(
                "constraints",
                "cannot be 'status quo' without the status quo's decisions",
                subject="the capacity",
                cure="give a share, such as 0.2",
            )
        )


def _scores_alone(audit: Audit, terms: Terms) -> bool:
    """Whether the claim is about scores, such as prices, that were fixed beforehand: nobody need be selected."""
    scores = audit.has("score") and not audit.has("decision") and terms.constraints.capacity is None
    return scores and not terms.fitted and all(worth.by_score for worth in terms.worths)


def _column_of(role: str) -> Words:
    return Words("name its column with {}", Set(role, of="Audit"))


def _counted(audit: Audit, terms: Terms) -> bool:
    """Whether rows alike are counted where they lie: in Spark, for columns fixed beforehand, which see no feature."""
    return audit.source.on_cluster and not (terms.fitted or terms.rules or audit.has("unit"))


def _read(audit: Audit, terms: Terms) -> Rows:
    roles = [name for name in ("outcome", "score", "decision") if audit.has(name)]
    columns = dict.fromkeys(
        [*terms.columns, *(name for worth in terms.worths for name in worth.value_columns)]
    )
    conditions = [name for worth in terms.worths for name in worth.condition_columns]
    for name in columns:
        audit.check_column(WHO, "metric", name)
    alike = () if terms.assumed is None else terms.assumed.alike
    labels = dict.fromkeys([*terms.attributes, *conditions, *alike, *(terms.independent or ())])
    units = audit.has("unit")
    if _counted(audit, terms):
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


def _contest(audit: Audit, terms: Terms, members: _Members) -> Contest:
    rows, decides = members.rows, not _scores_alone(audit, terms)
    constraints = _constraints(terms, members.role("decision"))
    # everybody gets a score where scores are all that the claim is about, and none is refused
    decision = _decision(audit, members, constraints) if decides else np.ones(members.inside.size)
    inputs, feature_of = _inputs(audit, terms, members, blind=terms.constraints.blind)
    group = members.group[members.inside]
    seen = SeenRows(rows.roles.get("outcome"), rows.columns, rows.attributes).part(members.inside)
    alike = _alike(terms.assumed, seen, decision)
    seen, unlabelled = find_unlabelled(seen, terms.worths, group, terms.assumed, alike)
    bounded = unlabelled is not None and any(map(unlabelled.matters, terms.worths))
    return Contest(
        inputs=inputs,
        seen=seen,
        group=group,
        names=tuple(_name(group) for group in terms.groups),
        decision=decision,
        score=members.role("score"),
        claim=find_claim(
            terms.request, terms.margins, (terms.accuracies, terms.fairness), terms.groups, bounded=bounded
        ),
        constraints=constraints,
        features=terms.features,
        feature_of=feature_of,
        strata=_strata(terms, seen, group.size),
        reading=reading_of(
            audit,
            list(terms.features),
            None if terms.constraints.blind else [g.to_dict() for g in terms.groups],
        ),
        folds=terms.request.folds,
        unlabelled=unlabelled,
        decides=decides,
        person=_person(terms, members, unlabelled is not None),
    )


def _decision(audit: Audit, members: _Members, constraints: Constraints) -> Any:
    """The status quo's decisions; None where a capacity's threshold is found anew on each training half."""
    anew = audit.decision is None and constraints.capacity is not None
    return None if anew else members.role("decision")


def _alike(assumed: AssumedOdds | None, seen: SeenRows, decision: Any) -> list[Coded]:
    """What people are alike in whose unknown outcomes are answered for by the known ones."""
    if assumed is None:
        return []
    found = [seen.labels[name] for name in assumed.alike]
    by_decision = assumed.by_decision and decision is not None
    return [*found, Coded(decision.astype(np.int32), ("0", "1"))] if by_decision else found


def _person(terms: Terms, members: _Members, unknown: bool) -> NDArray[np.int64] | None:
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
    if any(isinstance(worth.what, Area) for worth in terms.worths):
        faults.add(Fault("unit", "is not for the area under the curve", cure="use another accuracy"))
    faults.raise_any()
    return person


def _strata(terms: Terms, seen: SeenRows, rows: int) -> NDArray[np.int64] | None:
    """People alike in the columns given which decisions may not depend on the group."""
    if terms.independent is None:
        return None
    return distinct_rows([np.zeros(rows), *(seen.labels[name].codes for name in terms.independent)])[0]


def _constraints(terms: Terms, decision: Any) -> Constraints:
    """The constraints with a capacity in numbers."""
    asked = terms.constraints.capacity
    capacity = float(decision.mean()) if asked == "status quo" else asked
    return replace(
        terms.constraints,
        capacity=None if capacity is None else float(capacity),
        group_attributes=terms.attributes,
        permissible=terms.request.permissible,
    )


def _inputs(
    audit: Audit, terms: Terms, members: _Members, *, blind: bool
) -> tuple[Inputs, NDArray[np.int64]]:
    """What rules may look at, and which feature each column of the matrix stands for."""
    group = None if blind else members.group
    fixed = {name: members.rows.columns[name] for name in terms.columns}
    fixed.update((rule.name, _scores(audit, rule, members.rows.n)) for rule in terms.rules)
    inputs = Inputs(np.empty((members.rows.n, 0)), (), None, None, group, fixed)
    feature_of = np.zeros(0, dtype=np.int64)
    if terms.features:
        design = audit.design(terms.features, who=WHO)
        frame = audit.features_frame(terms.features, who=WHO)
        inputs = replace(inputs, matrix=design.matrix, names=tuple(design.names), source=frame)
        feature_of = design.feature_of.astype(np.int64)
    return inputs.part(members.inside), feature_of


def _scores(audit: Audit, fixed: FixedRule, rows: int) -> Any:
    """A fixed rule's scores of all rows, in their order."""
    rule = fixed.rule
    if rule.reading is None:
        raise InputError(
            WHO, candidate_fault(fixed.name, "does not say how it reads rows", "give it a reading")
        )
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
    audit: Audit, terms: Terms, members: _Members, contest: Contest, told: Sequence[Note]
) -> list[Note]:
    """What was left out, what was told of the candidates, and what is taken on trust."""
    banned = ", ".join(name for name in audit.features if name in terms.constraints.banned)
    of_groups = ", ".join(
        name for name in audit.features if name in terms.attributes and terms.constraints.blind
    )
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
    if terms.brought:
        what = "columns" if terms.columns else "rules"
        text = f"The {what} {', '.join(terms.brought)} are taken as not fitted on these rows."
        notes.append(Note("fitted-elsewhere", text))
    return notes
