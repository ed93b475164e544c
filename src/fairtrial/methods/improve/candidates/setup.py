"""From an audit and improve's arguments to a checked problem and its candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.data.cells import Rows
from fairtrial.data.groups import MINIMUM_SIZE, find_groups
from fairtrial.errors import Faults, InputError, Note, did_you_mean
from fairtrial.methods.improve.candidates.adapters import FixedColumn
from fairtrial.methods.improve.candidates.claims import (
    Asked,
    check_ratios,
    find_capacity,
    find_claim,
    refuse_equal_levels,
)
from fairtrial.methods.improve.candidates.listing import built_candidates, listed_candidates
from fairtrial.methods.improve.candidates.problem import Candidate, Claim, Problem
from fairtrial.methods.improve.candidates.rules import Inputs
from fairtrial.methods.improve.candidates.utilities import Observed, Worth, find_worth
from fairtrial.metrics.groups import Group
from fairtrial.metrics.table import joined_metrics

WHO = "improve"


@dataclass(slots=True)
class Setup:
    """The problem, its candidates, the rows it came from, and what the reader must know."""

    problem: Problem
    candidates: list[Candidate]
    rows: Rows
    notes: list[Note] = field(default_factory=list)


def prepare(audit: Audit, asked: Asked) -> Setup:
    """Check everything, read the rows once, and refuse what cannot be tested."""
    groups = find_groups(WHO, audit, asked.by)
    accuracy = find_worth(WHO, "accuracy", asked.accuracy, accuracy=True)
    fairness = tuple(find_worth(WHO, "fairness", f, accuracy=False) for f in _listed(asked.fairness))
    listed = listed_candidates(audit, asked.candidates)
    attributes = tuple(dict.fromkeys(name for group in groups for name in group.attributes))
    features = _permitted(audit, asked, attributes)
    notes = _feature_notes(audit, asked, attributes)
    fixed = [item.column for item in listed if isinstance(item, FixedColumn)]
    _check_roles(audit, asked, (accuracy, *fairness), listed, features)
    rows = _read(audit, (accuracy, *fairness), attributes, fixed)
    group, inside = _group_codes(rows, groups)
    if not inside.all():
        outside = int(np.count_nonzero(~inside))
        notes.append(
            Note(
                "outside-groups",
                f"{outside:,} of {rows.n:,} rows are in none of the groups and were left out.",
            )
        )
    if audit.has("outcome") and audit.outcome_is_real:
        accuracy, fairness = accuracy.of_real_outcome(), tuple(worth.of_real_outcome() for worth in fairness)
    names = tuple(_name(one) for one in groups)
    claim = find_claim(asked, accuracy, fairness, groups)
    problem = _problem(audit, asked, rows, features, attributes, fixed, claim, group, inside, names)
    check_ratios(problem)
    refuse_equal_levels(problem)
    candidates = built_candidates(listed, problem, notes)
    if fixed and not asked.fitted_elsewhere:
        raise InputError(
            WHO,
            f"the candidate columns {fixed} must hold a rule that was not fitted on these rows; if that is so, say "
            "fitted_elsewhere=True",
        )
    if fixed:
        notes.append(
            Note("fitted-elsewhere", f"The columns {', '.join(fixed)} are taken as not fitted on these rows.")
        )
    return Setup(problem, candidates, rows, notes)


def _listed(asked: object) -> list[object]:
    items = list(asked) if isinstance(asked, list | tuple) else [asked]
    if not items:
        raise InputError(WHO, "'fairness' is empty: name at least one metric")
    return [part for item in items for part in joined_metrics(item)]


def _permitted(audit: Audit, asked: Asked, attributes: tuple[str, ...]) -> tuple[str, ...]:
    faults = Faults(WHO)
    for argument, names in (("banned", asked.banned), ("monotone", list(asked.monotone))):
        for name in names:
            if name not in audit.source.columns:
                faults.add(
                    f"{argument!r} names the unknown column {name!r}.{did_you_mean(name, audit.source.columns)}"
                )
    features = tuple(
        name
        for name in audit.features
        if name not in asked.banned and not (asked.blind and name in attributes)
    )
    for name, sign in asked.monotone.items():
        if sign not in (1, -1):
            faults.add(f"'monotone' must give 1 (never falls) or -1 (never rises) for {name!r}, got {sign!r}")
        elif name in audit.source.columns and name not in features:
            faults.add(f"'monotone' names {name!r}, which is not a permitted feature")
        elif name in features and audit.kind(name) not in ("bool", "int", "float"):
            faults.add(f"'monotone' names {name!r}, which is not numeric")
    faults.raise_any()
    return features


def _feature_notes(audit: Audit, asked: Asked, attributes: tuple[str, ...]) -> list[Note]:
    left_out = [name for name in audit.features if name in asked.banned]
    grouped = [name for name in audit.features if name in attributes and asked.blind]
    notes = []
    if left_out:
        notes.append(
            Note("banned-features", f"Rules could not use the banned features {', '.join(left_out)}.")
        )
    if grouped:
        notes.append(Note("blind", f"Rules could not use {', '.join(grouped)}: they are blind to the group."))
    return notes


def _check_roles(
    audit: Audit, asked: Asked, worths: Sequence[Worth], listed: Sequence[Any], features: Sequence[str]
) -> None:
    faults = Faults(WHO)
    if not audit.has("decision") and not (audit.has("score") and asked.capacity is not None):
        faults.add("the status quo needs a decision, or a score with a threshold or a capacity")
    if asked.capacity == "status quo" and not audit.has("decision"):
        faults.add("'capacity' cannot be 'status quo' without the status quo's decisions")
    fits = [item for item in listed if not isinstance(item, FixedColumn)]
    if (fits or any(worth.needs_outcome for worth in worths)) and not audit.has("outcome"):
        faults.add("the outcome is needed: name its column with outcome= in the Audit")
    if fits and not features:
        faults.add(
            "candidates are fitted on features: name them with features= in the Audit (permitted ones are left)"
        )
    if any(worth.needs_score for worth in worths) and not audit.has("score"):
        faults.add(
            "a metric of the score needs the status quo's score: name its column with score= in the Audit"
        )
    faults.raise_any()


def _read(audit: Audit, worths: Sequence[Worth], attributes: tuple[str, ...], fixed: Sequence[str]) -> Rows:
    roles = [name for name in ("outcome", "score") if audit.has(name)]
    roles += ["decision"] if audit.has("decision") else []
    columns = dict.fromkeys([*fixed, *(name for worth in worths for name in worth.value_columns)])
    labels = dict.fromkeys([*attributes, *(name for worth in worths for name in worth.condition_columns)])
    for name in columns:
        audit.check_column(WHO, "metric", name)
    return audit.rows(attributes=list(labels), roles=roles, columns=list(columns), who=WHO)


def _name(group: Group) -> str:
    """A group's label; a bare number does not say what it is."""
    bare = group.label.lstrip("-").replace(".", "", 1).isdigit()
    return f"{group.attributes[0]} {group.label}" if bare and len(group.attributes) == 1 else group.label


def _group_codes(rows: Rows, groups: Sequence[Group]) -> tuple[Any, Any]:
    if len(groups) < 2:
        raise InputError(WHO, f"'by' must give at least two groups, got {[group.label for group in groups]}")
    masks = np.array([rows.mask(group) for group in groups])
    if (masks.sum(axis=0) > 1).any():
        raise InputError(
            WHO, "'by' gives groups that overlap; name one attribute, or disjoint groups as dicts"
        )
    small = [
        group.label for group, size in zip(groups, masks.sum(axis=1), strict=True) if size < MINIMUM_SIZE
    ]
    if small:
        raise InputError(
            WHO,
            f"the groups {small} have fewer than {MINIMUM_SIZE} rows; list the groups to compare, by=[{{…}}, {{…}}]",
        )
    return masks.argmax(axis=0).astype(np.int64), masks.any(axis=0)


def _problem(
    audit: Audit,
    asked: Asked,
    rows: Rows,
    features: tuple[str, ...],
    attributes: tuple[str, ...],
    fixed: Sequence[str],
    claim: Claim,
    group: Any,
    inside: Any,
    names: tuple[str, ...],
) -> Problem:
    index = np.flatnonzero(inside)
    decision = rows.roles["decision"][index] if "decision" in rows.roles else None
    score = rows.roles["score"][index] if "score" in rows.roles else None
    capacity = find_capacity(asked, decision)
    if audit.decision is None and capacity is not None:
        decision = None  # the capacity's threshold is found anew on each training half
    matrix, feature_of = np.empty((rows.n, 0)), np.zeros(0, dtype=np.int64)
    columns: tuple[str, ...] = ()
    frame = None
    if features:
        design = audit.design(features, who=WHO)
        matrix, columns, feature_of = design.matrix, design.names, design.feature_of.astype(np.int64)
        frame = audit.features_frame(features, who=WHO)
    inputs = Inputs(
        matrix,
        tuple(columns),
        frame,
        None,
        None if asked.blind else group,
        {name: rows.columns[name] for name in fixed},
    ).part(index)
    seen = Observed(rows.roles.get("outcome"), rows.columns, rows.attributes).part(index)
    return Problem(
        inputs=inputs,
        seen=seen,
        group=group[index],
        names=names,
        decision=decision,
        score=score,
        claim=claim,
        features=features,
        feature_of=feature_of,
        capacity=capacity,
        blind=asked.blind,
        banned=tuple(asked.banned),
        group_attributes=attributes,
        monotone={name: int(sign) for name, sign in asked.monotone.items()},
        folds=asked.folds,
    )
