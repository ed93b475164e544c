"""The counts that everything published is made of: people by level of an attribute and by kind of case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.data.cells import Cells, Ints
from fairtrial.methods.declaration import find_method
from fairtrial.metrics.metric import Metric
from fairtrial.metrics.table import find_metrics, joined_metrics
from fairtrial.metrics.values import Role
from fairtrial.trial.spec import Section
from fairtrial.trial.spec.argument_kinds import admits_metrics, is_metric

CASES = ("decision", "outcome")  # what tells cases apart: who was decided how, and what happened


def case_roles(audit: Audit, sections: Sequence[Section]) -> tuple[str, ...]:
    """The roles whose values are told apart: those that some question's metrics need, all where one is no metric."""
    present = [name for name in CASES if audit.has(name)]
    if "outcome" in present and audit.outcome_is_real:
        present.remove("outcome")
    asked: set[str] = set()
    for section in sections:
        metrics = metrics_of(section)
        asked |= set(CASES) if metrics is None else {need for metric in metrics for need in metric.needs}
    return tuple(name for name in present if name in asked or (name == "decision" and "score" in asked))


def metrics_of(section: Section) -> list[Metric] | None:
    """The metrics of a question; None where it has others of its own, or none at all."""
    arguments = [one for one in find_method(section.method).arguments if admits_metrics(one)]
    found: list[Metric] = []
    for argument in arguments:
        value = section.arguments.get(argument.name, None if argument.required else argument.default)
        listed = list(value) if isinstance(value, list | tuple) else [value]
        if not all(is_metric(argument) or joined_metrics(item) != (item,) for item in listed):
            return None
        found += find_metrics(section.method, listed, argument.name)
    return found or None


def level_counts(audit: Audit, attribute: str, roles: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """The labels of an attribute, and how many people each has of every case."""
    if audit.unit is not None:
        return _persons(audit, attribute, roles)
    cells = audit.cells((attribute,), roles=roles, unknown=audit.keeps_unlabelled)
    labels = cells.labels[attribute]
    return labels, by_case(cells, cells.codes[:, 0].astype(np.int64), len(labels))


def by_case(cells: Cells, line: Ints, lines: int) -> Ints:
    """Rows summed into lines and cases; a case is a distinct combination of the roles' values."""
    case = np.zeros(len(cells.rows), dtype=np.int64)
    if cells.roles:
        values = np.array([np.nan_to_num(column, nan=-1.0) for column in cells.roles.values()])
        case = np.unique(values, axis=1, return_inverse=True)[1].reshape(-1)
    counts = np.zeros((lines, int(case.max()) + 1), dtype=np.int64)
    np.add.at(counts, (line, case), cells.rows)
    return counts


def _persons(audit: Audit, attribute: str, roles: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """Of repeated rows each person counts once per level and case."""
    rows = audit.rows(attributes=[attribute], roles=roles, units=True, complete=False)
    coded, persons = rows.attributes[attribute], rows.attributes["unit"].codes
    values = [rows.roles[name] for name in roles]
    lines = np.unique(np.column_stack([coded.codes, persons, *values]), axis=0)
    case = np.unique(lines[:, 2:], axis=0, return_inverse=True)[1].reshape(-1)
    counts = np.zeros((len(coded.labels), int(case.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(counts, (lines[:, 0].astype(np.int64), case), 1)
    return coded.labels, counts


def further_counts(audit: Audit, by: Sequence[str], metric: Metric, roles: Sequence[str]) -> Ints:
    """Counts that a metric tells beyond the cases: by the score's bins, or by a condition or value of its own."""
    if metric.each is not None or any(part.name == "score_bin" for part in _parts(metric)):
        return audit.cells(by, roles=("score_bin", *roles)).rows
    cells = audit.cells(by, [metric], roles, unknown=audit.keeps_unlabelled)
    inside = cells.count[metric.name]
    found = [inside, cells.rows - inside]
    if cells.binary[metric.name]:
        events = np.rint(cells.total[metric.name]).astype(np.int64)
        found += [events, inside - events]
    return np.concatenate(found)


def _parts(metric: Metric) -> list[Role]:
    return [part for part in metric.conditions if isinstance(part, Role)]


def tells_more(metric: Metric) -> bool:
    """Whether it counts people by more than the cases."""
    conditioned = {part for part in metric.conditions if not (isinstance(part, Role) and part.name in CASES)}
    return bool(conditioned) or metric.expression is not None or metric.each is not None
