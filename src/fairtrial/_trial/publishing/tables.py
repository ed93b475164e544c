"""The counts that everything published is made of: people by level of an attribute and by kind of case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Bools, Cells, Ints
from fairtrial._method.declaration import find_method
from fairtrial._metrics.table import find_metrics, joined_metrics
from fairtrial._metrics.values import Metric, Role
from fairtrial._trial.spec.sections import Section
from fairtrial._trial.spec.tables import admits_metrics, is_metric

CASES = ("decision", "outcome")  # what tells cases apart: who was decided how, and what happened


def case_roles(audit: Audit, sections: Sequence[Section]) -> tuple[str, ...]:
    """The roles whose values are told apart: those that some question's metrics need, all where one is no metric."""
    present = [name for name in CASES if audit.has(name)]
    if "outcome" in present and audit.outcome_is_real:
        present.remove("outcome")
    if "decision" in present and audit.decision_is_real:
        present.remove("decision")
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


# -- Which levels of an attribute are joined, so that no cell of the table by it counts few people.
Parts = list[list[int]]


def few(counts: Ints, limit: int) -> Bools:
    """Which counts are of few people; nobody is not few."""
    return np.asarray((counts > 0) & (counts < limit))


def join_levels(counts: Ints, limit: int, *, in_order: bool = False) -> Parts:
    """Levels (rows of `counts`, one column per kind of case) as parts in which no case has few people.

    Levels that need none stay alone. The others are joined with each other, and only where they do not suffice with
    a larger one; with `in_order` only neighbours are joined. One part alone means that the attribute tells nothing.
    """
    if in_order:
        return _neighbours(counts, limit)
    fine = [level for level in range(len(counts)) if not few(counts[level], limit).any()]
    small = sorted(set(range(len(counts))) - set(fine), key=lambda level: (int(counts[level].sum()), level))
    parts: Parts = [[level] for level in fine]
    open_part: list[int] = []
    for level in small:
        open_part.append(level)
        if _enough(counts, open_part, limit):
            parts.append(open_part)
            open_part = []
    while open_part and parts and not _enough(counts, open_part, limit):
        partner = _partner(counts, open_part, parts, limit)
        parts.remove(partner)
        open_part = partner + open_part
    return sorted(sorted(part) for part in [*parts, open_part] if part)


def _partner(counts: Ints, part: Sequence[int], others: Parts, limit: int) -> list[int]:
    """The smallest part that makes up for what is lacking; the smallest of all where none does."""
    by_size = sorted(others, key=lambda other: (int(counts[other].sum()), other))
    return next((other for other in by_size if _enough(counts, [*part, *other], limit)), by_size[0])


def _neighbours(counts: Ints, limit: int) -> Parts:
    parts: Parts = []
    open_part: list[int] = []
    for level in range(len(counts)):
        open_part.append(level)
        if _enough(counts, open_part, limit):
            parts.append(open_part)
            open_part = []
    while open_part and parts and not _enough(counts, open_part, limit):
        open_part = parts.pop() + open_part
    return [*parts, open_part] if open_part else parts


def _enough(counts: Ints, part: Sequence[int], limit: int) -> bool:
    return not few(counts[list(part)].sum(axis=0), limit).any()


# -- What may be published together: groups from which no small count can be solved for.
# The reader is taken to know, of every published group, how many people each kind of case has: rates, gaps
# and limits are made of that; and which combinations of levels occur at all: that nobody is in two jobs, or
# that one attribute is a coarser form of another, anybody can tell from their labels. What nobody published
# is the table of all attributes at once. A count of few people in it is safe when some table of whole
# numbers, with the same published sums, has at least `limit` there.
MOST_CELLS = 400  # of the table of all attributes; a larger one is published without intersections
Place = tuple[int, int]  # a cell and a case


@dataclass(slots=True)
class Known:
    """What is published of a table (cells × kinds of case), and for each small count a table that hides it."""

    counts: Ints
    limit: int
    groups: list[Bools] = field(default_factory=list)
    witnesses: dict[Place, Ints] = field(default_factory=dict)

    def admit(self, groups: Sequence[Bools]) -> bool:
        """Publish these as well, where every small count stays hidden; otherwise nothing changes."""
        if any(few(self.counts[group].sum(axis=0), self.limit).any() for group in groups):
            return False
        published = np.array([*self.groups, *groups])
        found: dict[Place, Ints] = {}
        for case in range(self.counts.shape[1]):
            hidden = self._hidden(case, published)
            if hidden is None:
                return False
            found |= hidden
        self.groups, self.witnesses = list(published), found
        return True

    def _hidden(self, case: int, published: Bools) -> dict[Place, Ints] | None:
        """For every small count of a case a table that fits and is not small there; None where one has none."""
        own = self.counts[:, case]
        sums = published @ own
        waiting = [int(cell) for cell in np.flatnonzero(few(own, self.limit))]
        found: dict[Place, Ints] = {}
        tables = [known for cell in waiting if (known := self.witnesses.get((cell, case))) is not None]
        tables = [table for table in tables if np.array_equal(published @ table, sums)]
        somebody = self.counts.sum(axis=1) > 0
        while waiting:
            if not tables:
                table = table_with(published, own, waiting, self.limit, somebody)
                if table is None:
                    return None
                tables.append(table)
            table = tables.pop()
            found |= {(cell, case): table for cell in waiting if table[cell] >= self.limit}
            waiting = [cell for cell in waiting if table[cell] < self.limit]
        return found


def table_with(
    sums: Bools, counts: Ints, cells: Sequence[int], least: int, somebody: Bools | None = None
) -> Ints | None:
    """Whole numbers with the same sums as `counts`, at least `least` in the first of the cells and in as many of the
    others as one table admits; None where there are none.

    Only cells with `somebody` may hold people.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    size, others = len(counts), len(cells)
    low = np.concatenate([np.zeros(size), np.zeros(others)])
    low[cells[0]] = least
    high = np.concatenate([np.full(size, np.inf), np.full(others, float(least))])
    if somebody is not None:
        high[:size][~somebody] = 0.0
    matrix = csr_array(sums.astype(np.float64))
    known = matrix @ counts
    # a second number per cell, at most what the cell holds and at most `least`: their sum is made large
    chosen = csr_array((np.ones(others), (np.arange(others), np.asarray(cells))), shape=(others, size))
    rows = vstack([hstack([matrix, csr_array((len(sums), others))]), hstack([chosen, -eye_array(others)])])
    found = milp(
        np.concatenate([np.zeros(size), -np.ones(others)]),
        integrality=np.concatenate([np.ones(size), np.zeros(others)]),
        bounds=Bounds(low, high),
        constraints=LinearConstraint(
            csr_array(rows),
            np.concatenate([known, np.zeros(others)]),
            np.concatenate([known, np.full(others, np.inf)]),
        ),
        options={"mip_rel_gap": 0.5, "time_limit": 10.0},  # a good table will do; none in time is none
    )
    if found.x is None:
        return None
    table = np.rint(found.x[:size]).astype(np.int64)
    fits = np.array_equal(sums @ table, sums @ counts) and table[cells[0]] >= least
    return table if fits else None
