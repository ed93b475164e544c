"""The counts that everything published is made of: people by level of an attribute and by kind of case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells, Ints
from fairtrial._method.declaration import find_method
from fairtrial._metrics.metric import Metric
from fairtrial._metrics.table import find_metrics, joined_metrics
from fairtrial._metrics.values import Role
from fairtrial._trial.spec import Section
from fairtrial._trial.spec.argument_kinds import admits_metrics, is_metric

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
    places, found = people_by(audit, (attribute,), roles)
    labels = audit.levels(attribute)
    counts = np.zeros((len(labels), found.shape[1]), dtype=np.int64)
    counts[places[:, 0]] = found
    return labels, counts


def people_by(audit: Audit, attributes: Sequence[str], roles: Sequence[str]) -> tuple[Ints, Ints]:
    """The combinations of the attributes' levels that occur, and how many people each has of every case."""
    if audit.unit is not None:
        return _persons(audit, attributes, roles)
    cells = audit.cells(attributes, roles=roles, unknown=audit.roles.keeps_unlabelled)
    codes = [_level(audit, name, cells.labels[name])[cells.codes[:, i]] for i, name in enumerate(attributes)]
    places, line = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
    return places, by_case(cells, line.reshape(-1), len(places))


def _level(audit: Audit, attribute: str, labels: Sequence[str]) -> Ints:
    """The places of the labels among all of the attribute."""
    every = audit.levels(attribute)
    return np.array([every.index(label) for label in labels], dtype=np.int64)


def by_case(cells: Cells, line: Ints, lines: int) -> Ints:
    """Rows summed into lines and cases; a case is a distinct combination of the roles' values."""
    case = np.zeros(len(cells.rows), dtype=np.int64)
    if cells.roles:
        values = np.array([np.nan_to_num(column, nan=-1.0) for column in cells.roles.values()])
        case = np.unique(values, axis=1, return_inverse=True)[1].reshape(-1)
    counts = np.zeros((lines, int(case.max()) + 1), dtype=np.int64)
    np.add.at(counts, (line, case), cells.rows)
    return counts


def _persons(audit: Audit, attributes: Sequence[str], roles: Sequence[str]) -> tuple[Ints, Ints]:
    """Of repeated rows each person counts once per combination and case."""
    rows = audit.rows(attributes=list(attributes), roles=roles, units=True, complete=False)
    coded = [rows.attributes[name] for name in attributes]
    levels = [_level(audit, name, one.labels)[one.codes] for name, one in zip(attributes, coded, strict=True)]
    persons, values = rows.attributes["unit"].codes, [rows.roles[name] for name in roles]
    lines = np.unique(np.column_stack([*levels, persons, *values]), axis=0)
    many = len(attributes)
    places, line = np.unique(lines[:, :many].astype(np.int64), axis=0, return_inverse=True)
    case = np.unique(lines[:, many + 1 :], axis=0, return_inverse=True)[1].reshape(-1)
    counts = np.zeros((len(places), int(case.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(counts, (line.reshape(-1), case), 1)
    return places, counts


def further_counts(audit: Audit, by: Sequence[str], metric: Metric, roles: Sequence[str]) -> Ints:
    """Counts that a metric tells beyond the cases: by the score's bins, or by a condition or value of its own."""
    if metric.each is not None or any(part.name == "score_bin" for part in _parts(metric)):
        return audit.cells(by, roles=("score_bin", *roles)).rows
    cells = audit.cells(by, [metric], roles, unknown=audit.roles.keeps_unlabelled)
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
