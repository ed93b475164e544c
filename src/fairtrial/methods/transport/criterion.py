"""Which criterion, between whom: from the audit's rows to the discerning tuple (U, W, T)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.data.audit import Audit
from fairtrial.data.cells import Rows
from fairtrial.data.groups import by_attributes, check_not_continuous, check_target, find_groups
from fairtrial.errors import InputError, NotApplicable, did_you_mean
from fairtrial.methods.transport.solver.tuple import (
    DiscerningTuple,
    disjoint_families,
    from_matrices,
    overlapping_families,
)
from fairtrial.metrics.groups import Group, Target, find_target
from fairtrial.metrics.metric import Metric
from fairtrial.metrics.table import CRITERIA, METRICS, find_metric
from fairtrial.metrics.values import ROLES, Role

WHO = "transport"
# a move across the decision boundary flips these; anything else is not a rate of decisions
EVENTS = ("decision", "not_decision", "correct", "error")
MOST_CELLS = 1000
_FITTING = sorted(
    name for name, metric in METRICS.items() if isinstance(metric.value, Role) and metric.value.name in EVENTS
)


@dataclass(frozen=True, slots=True)
class CellLine:
    """One compared cell: a group within a metric (and stratum), and the cell it is compared with."""

    comparison: str
    attribute: str
    group: str
    reference: int


@dataclass(slots=True, eq=False)
class Posed:
    """The problem as arrays, with the words for its cells."""

    problem: DiscerningTuple
    decision: NDArray[np.uint8]
    lines: list[CellLine]
    rows: Rows
    name: str
    by: list[Any]
    left_out: list[tuple[str, str, int]] = field(default_factory=list)  # comparison, group, rows


def pose(audit: Audit, criterion: object, by: object, target: object, strata: object, minimum: int) -> Posed:
    """Check the criterion and the groups, fetch the rows once, and build (U, W, T)."""
    if isinstance(criterion, Mapping) and "cells" in criterion:
        return _own_tuple(audit, criterion)
    name, metrics = find_criterion(criterion)
    event = _common_event(metrics)
    strata_columns = _strata(audit, name, strata)
    attributes = list(by_attributes(WHO, audit, by))
    explicit = by if isinstance(by, Mapping) else (by if _is_group_list(by) else None)
    groups = find_groups(WHO, audit, explicit) if explicit is not None else None
    for attribute in attributes if groups is None else ():
        check_not_continuous(WHO, audit, attribute)
    compared = _reference(audit, target)
    _check_roles(audit, metrics)
    rows = audit.rows(
        attributes=list(dict.fromkeys([*attributes, *strata_columns])),
        metrics=metrics,
        roles=["decision", *(["outcome"] if event in ("correct", "error") else [])],
        who=WHO,
    )
    families = _Families(rows, compared, minimum)
    for metric in metrics:
        for words, inside in _within(rows, metric, strata_columns):
            if groups is not None:
                families.add(words, "", [(group.label, rows.mask(group)) for group in groups], inside, groups)
            else:
                for attribute in attributes:
                    coded = rows.attributes[attribute]
                    families.add_coded(words, attribute, coded.codes, coded.labels, inside)
    if not families.kept:
        raise NotApplicable(
            WHO,
            f"no two groups have {minimum} rows each to compare by {', '.join(attributes)}; "
            "name larger groups with by=, or lower minimum=",
        )
    if families.size > MOST_CELLS:
        raise NotApplicable(
            WHO,
            f"{families.size:,} groups within strata are more than the {MOST_CELLS:,} that are compared at once; use "
            "coarser strata or groups",
        )
    decision = rows.roles["decision"].astype(np.uint8)
    problem, lines = families.build(_event_values(event, rows, decision))
    asked = [group.to_dict() for group in groups] if groups is not None else attributes
    return Posed(problem, decision, lines, rows, name, asked, families.left_out)


def find_criterion(criterion: object) -> tuple[str, list[Metric]]:
    """The name and the metrics of a criterion, refused with a pointer where the method cannot take it."""
    if isinstance(criterion, str) and criterion in CRITERIA:
        metrics = [METRICS[part] for part in CRITERIA[criterion]]
        name = criterion
    elif isinstance(criterion, str) and criterion not in METRICS:
        options = sorted([*CRITERIA, *METRICS])
        raise InputError(
            WHO,
            f"'criterion' must be one of {sorted(CRITERIA)} or a metric among {_FITTING}, got {criterion!r}."
            f"{did_you_mean(criterion, options)}",
        )
    else:
        listed = criterion if isinstance(criterion, list | tuple) else [criterion]
        metrics = [find_metric(WHO, part) for part in listed]
        name = " and ".join(metric.name for metric in metrics)
    if not metrics:
        raise InputError(WHO, "'criterion' is empty: name a criterion or at least one metric")
    for metric in metrics:
        _check_movable(name, metric)
    return name, metrics


def _check_movable(criterion: str, metric: Metric) -> None:
    conditions = {part.name for part in metric.conditions if isinstance(part, Role)}
    if "decision" in conditions or "score" in conditions or "score_bin" in conditions:
        raise NotApplicable(
            WHO,
            f"'criterion' {criterion!r} conditions on the decision ({metric.label}): moving people across the boundary "
            f"changes who is counted, so the smallest change is not defined. Use certify(audit, {metric.name!r}, …)",
        )
    if not isinstance(metric.value, Role) or metric.value.name not in EVENTS:
        raise NotApplicable(
            WHO,
            f"'criterion' {criterion!r} is not a rate of decisions ({metric.label}): no move across the decision "
            f"boundary changes it. Use certify(audit, {metric.name!r}, …), or one of {_FITTING}",
        )


def _common_event(metrics: Sequence[Metric]) -> str:
    events = {metric.value.name for metric in metrics if isinstance(metric.value, Role)}
    if len(events) > 1:
        raise NotApplicable(
            WHO,
            f"'criterion' joins rates of different events ({', '.join(sorted(events))}); ask for each alone",
        )
    return events.pop()


def _check_roles(audit: Audit, metrics: Sequence[Metric]) -> None:
    missing = sorted({need for metric in metrics for need in metric.needs if not audit.has(need)} | (
        set() if audit.has("decision") else {"decision"}
    ))  # fmt: skip
    if missing:
        raise InputError(
            WHO,
            [
                f"the criterion needs the {need}: name its column with {need}= in the Audit"
                for need in missing
            ],
        )


def _strata(audit: Audit, name: str, strata: object) -> list[str]:
    if strata is None:
        if name == "conditional_parity":
            raise InputError(
                WHO, "'strata' is missing: conditional_parity compares within the strata of a column"
            )
        return []
    listed = [strata] if isinstance(strata, str) else strata
    if not isinstance(listed, list | tuple) or not all(isinstance(part, str) for part in listed):
        raise InputError(WHO, f"'strata' must be a column or a list of columns, got {strata!r}")
    for part in listed:
        audit.check_column(WHO, "strata", part)
    return list(listed)


def _is_group_list(by: object) -> bool:
    if not isinstance(by, list | tuple) or not any(isinstance(entry, Mapping) for entry in by):
        return False
    if not all(isinstance(entry, Mapping) for entry in by):
        raise InputError(WHO, "'by' must list either attributes or groups, not both")
    return True


def _reference(audit: Audit, target: object) -> Group | None:
    if target is None:
        return None
    found: Target = find_target(WHO, target)
    if found.kind != "reference":
        raise NotApplicable(
            WHO,
            f"'target' must be a reference group such as {{'race': 'Caucasian'}}, got {target!r}: the smallest change "
            "brings groups together, not to a number. Use certify for a target rate",
        )
    check_target(WHO, audit, found)
    return found.group


def _within(rows: Rows, metric: Metric, strata: Sequence[str]) -> list[tuple[str, NDArray[np.bool_]]]:
    """The metric's condition, once per stratum."""
    given = rows.given[metric.name]
    if not strata:
        return [(metric.label, given)]
    coded = [rows.attributes[name] for name in strata]
    code = np.zeros(rows.n, dtype=np.int64)
    for part in coded:
        code = code * len(part.labels) + part.codes
    found = []
    for value in np.unique(code):
        left, words = int(value), []
        for name, part in zip(reversed(strata), reversed(coded), strict=True):
            words.append(f"{name} {part.labels[left % len(part.labels)]}")
            left //= len(part.labels)
        found.append((f"{metric.label}, {', '.join(reversed(words))}", given & (code == value)))
    return found


def _event_values(event: str, rows: Rows, decision: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """T of each row."""
    return np.asarray(ROLES[event].of({**rows.roles, "decision": decision}), dtype=np.uint8)


class _Families:
    """Collects sets of cells whose rates are to be equal."""

    def __init__(self, rows: Rows, reference: Group | None, minimum: int) -> None:
        self.rows, self.reference, self.minimum = rows, reference, minimum
        self.kept: list[tuple[str, str, list[str], NDArray[np.int32], int]] = []
        self.left_out: list[tuple[str, str, int]] = []

    @property
    def size(self) -> int:
        """How many cells are compared."""
        return sum(len(labels) for _, _, labels, _, _ in self.kept)

    def add_coded(
        self,
        words: str,
        attribute: str,
        codes: NDArray[np.int32],
        labels: Sequence[str],
        inside: NDArray[np.bool_],
    ) -> None:
        """A family of the levels of one attribute."""
        sizes = np.bincount(codes[inside], minlength=len(labels))
        wanted = dict(self.reference.where).get(attribute, ()) if self.reference else ()
        self._keep(words, attribute, list(labels), np.where(inside, codes, -1), sizes, wanted)

    def add(
        self,
        words: str,
        attribute: str,
        members: list[tuple[str, NDArray[np.bool_]]],
        inside: NDArray[np.bool_],
        groups: Sequence[Group],
    ) -> None:
        """A family of explicit groups, which must not share rows."""
        codes = np.full(self.rows.n, -1, dtype=np.int32)
        for index, (label, mask) in enumerate(members):
            chosen = mask & inside
            if (codes[chosen] >= 0).any():
                raise InputError(
                    WHO,
                    f"'by' lists groups that share rows ({label}); name disjoint groups, or several attributes to "
                    "compare within each of them",
                )
            codes[chosen] = index
        labels = [label for label, _ in members]
        sizes = np.bincount(codes[codes >= 0], minlength=len(labels))
        wanted = tuple(group.label for group in groups if group == self.reference)
        self._keep(words, attribute, labels, codes, sizes, wanted)

    def _keep(
        self,
        words: str,
        attribute: str,
        labels: list[str],
        codes: NDArray[np.int32],
        sizes: NDArray[np.int64],
        wanted: Sequence[str],
    ) -> None:
        enough = [index for index in range(len(labels)) if sizes[index] >= self.minimum]
        if len(enough) < 2:
            enough = []
        self.left_out += [(words, labels[i], int(sizes[i])) for i in range(len(labels)) if i not in enough]
        if not enough:
            return
        renumber = np.full(len(labels) + 1, -1, dtype=np.int32)
        renumber[enough] = np.arange(len(enough))
        named = [place for place, index in enumerate(enough) if labels[index] in wanted]
        reference = named[0] if named else int(np.argmax(sizes[enough]))
        self.kept.append((words, attribute, [labels[i] for i in enough], renumber[codes], reference))

    def build(self, event: NDArray[np.uint8]) -> tuple[DiscerningTuple, list[CellLine]]:
        """(U, W, T), as disjoint cells where no row is in two families."""
        lines: list[CellLine] = []
        families, references = [], []
        for words, attribute, labels, _, reference in self.kept:
            first = len(lines)
            lines += [CellLine(words, attribute, label, first + reference) for label in labels]
            families.append((range(first, first + len(labels)), first + reference))
            references.append(reference)
        names = [f"{line.group} ({line.comparison})" for line in lines]
        columns = [codes for _, _, _, codes, _ in self.kept]
        if sum((codes >= 0).astype(np.int16) for codes in columns).max() <= 1:  # type: ignore[union-attr]
            joined = np.full(self.rows.n, -1, dtype=np.int32)
            for codes, (members, _) in zip(columns, families, strict=True):
                joined = np.where(codes >= 0, codes + members[0], joined)
            return disjoint_families(joined, families, event, names), lines
        return overlapping_families(columns, references, event, names), lines


def _own_tuple(audit: Audit, content: Mapping[str, Any]) -> Posed:
    """A criterion of one's own: {"cells": [conditions, …], "contrasts": [[1, -1], …], "event": role.decision}."""
    unknown = sorted(set(content) - {"cells", "contrasts", "event", "names", "name"})
    if unknown or "contrasts" not in content:
        raise InputError(
            WHO,
            "a criterion of one's own needs 'cells' and 'contrasts' and may have 'event', 'names', 'name'"
            + (f"; unknown: {unknown}" if unknown else ""),
        )
    event = content.get("event", "role.decision")
    event_name = event.name if isinstance(event, Role) else str(event).removeprefix("role.")
    if event_name not in EVENTS:
        raise InputError(WHO, f"'event' must be one of {[f'role.{name}' for name in EVENTS]}, got {event!r}")
    cells = list(content["cells"])
    names = [str(name) for name in content.get("names", [f"cell {i + 1}" for i in range(len(cells))])]
    metrics = []
    for index, conditions in enumerate(cells):
        given = {_part(key): value for key, value in dict(conditions).items()}
        metric = Metric(f"cell {index + 1}", ROLES["decision"], given, label=names[index])
        _check_movable(names[index], metric)
        metrics.append(metric)
    roles = ["decision", *(["outcome"] if event_name in ("correct", "error") else [])]
    _check_roles(audit, metrics)
    rows = audit.rows(metrics=metrics, roles=roles, who=WHO)
    decision = rows.roles["decision"].astype(np.uint8)
    u = np.column_stack([rows.given[metric.name] for metric in metrics]).astype(float)
    try:
        problem = from_matrices(u, content["contrasts"], _event_values(event_name, rows, decision), names)
    except ValueError as error:
        raise InputError(WHO, f"the criterion's cells and contrasts do not fit: {error}") from None
    name = str(content.get("name", "own criterion"))
    # a contrast of one's own has no single reference cell: each line stands for itself
    lines = [CellLine(name, "", label, -1) for label in problem.names]
    return Posed(problem, decision, lines, rows, name, [])


def _part(key: object) -> Role | str:
    if isinstance(key, Role):
        return key
    text = str(key)
    if not text.startswith("role."):
        return text
    name = text.removeprefix("role.")
    if name not in ROLES:
        raise InputError(WHO, f"unknown role {text!r}; roles are {sorted(ROLES)}.{did_you_mean(name, ROLES)}")
    return ROLES[name]
