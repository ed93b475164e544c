"""Which tests of a trial share people, and how: the correlation of their influence values, for the max-T correction.

Known are gaps of rates and means in `measure` and `flag` whose printed numbers follow from the audit's rows. A test
with few events on a side, with weights, units, strata or a tolerance, and every other question, is not: it is
corrected by Holm beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Bools, Rows
from fairtrial._inference.multiplicity import Dependence
from fairtrial._inference.numeric.roots import Floats
from fairtrial._metrics.groups import Group
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Metric
from fairtrial._results.column import scalar
from fairtrial._results.result import Result
from fairtrial._trial.family import shows

# With fewer events (or others) of a rate, or values of a mean, on a side the joint law is not normal: Holm.
EVENTS, VALUES = 10, 50
BLOCK = 50_000
SIDES = {"differs": 0, "above": 1, "below": -1}


@dataclass(frozen=True, slots=True)
class _Test:
    """One gap of the family: where it stands, and who is compared with whom in which metric."""

    place: int
    metric: Metric
    group: Group
    target: Any
    side: int
    row: Mapping[str, Any]


def find_dependence(audit: Audit, answered: Iterable[tuple[Mapping[str, Any], Result]]) -> Dependence:
    """The dependence of the family's tests; `answered` pairs a section's arguments with its result."""
    tests = list(_gaps(answered))
    influences: list[tuple[_Test, Influence]] = []
    weighted = any(audit.has(role) for role in ("weight", "unit", "pair"))
    if tests and not weighted and not audit.by_sums:
        rows = _rows(audit, tests)
        found = ((test, _as_printed(rows, test)) for test in tests)
        influences = [(test, influence) for test, influence in found if influence is not None]
    places = np.array([test.place for test, _ in influences], dtype=np.intp)
    sides = np.array([test.side for test, _ in influences], dtype=np.intp)
    return Dependence(places, sides, correlation_of([influence for _, influence in influences]))


def why_nothing_is_known(audit: Audit) -> str:
    """What a trial says where max-T was asked for and the rows, which alone tell how tests depend, are not read."""
    if not audit.by_sums:
        return ""
    return f"{audit.why_sums}: how the tests depend on each other is not known, so that max-T is Holm's correction."


def _gaps(answered: Iterable[tuple[Mapping[str, Any], Result]]) -> Iterator[_Test]:
    """Every gap of measure and flag with a metric of the table, by its place in the family."""
    place = 0
    for arguments, result in answered:
        if shows(result.kind) == "certificate":
            continue
        if result.kind in ("measure", "flag"):
            yield from _of_result(place, arguments, result)
        place += len(result.primary())


def _of_result(place: int, arguments: Mapping[str, Any], result: Result) -> Iterator[_Test]:
    details = result.details
    side = SIDES.get(str(details.get("direction", "differs")))
    plain = not details.get("within") and details.get("scale", "difference") == "difference"
    if side is None or not plain or any(details.get("tolerance") or ()):
        return
    described = details.get("described", [])
    for row, group in zip(result.estimates, details["places"], strict=False):
        if scalar(row["p_value"]) is None or row["metric"] in described:
            continue
        if row["metric"] in METRICS:
            people = Group(tuple((name, (value,)) for name, value in group))
            yield _Test(place, METRICS[row["metric"]], people, arguments.get("target", "rest"), side, row)
        place += 1


def _rows(audit: Audit, tests: Sequence[_Test]) -> Rows:
    """One reading of all attributes and metrics that the tests are about."""
    groups = [test.group for test in tests]
    groups += [Group.of(test.target) for test in tests if isinstance(test.target, Mapping)]
    attributes = list(dict.fromkeys(name for group in groups for name in group.attributes))
    metrics = list({test.metric.name: test.metric for test in tests}.values())
    return audit.rows(attributes=attributes, metrics=metrics, complete=False, who="run")


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """What each row adds to a gap: its value minus its side's mean, over the side's people."""

    values: Floats
    sides: tuple[tuple[Bools, float, float], ...]  # who, their mean, and one over their number with its sign

    def of(self, part: slice) -> Floats:
        total = np.zeros(self.values[part].size)
        for who, mean, weight in self.sides:
            total += np.where(who[part], weight * (self.values[part] - mean), 0.0)
        return total


def influence_of(
    values: Floats, given: Bools, inside: Bools, opposite: Bools | None, *, binary: bool
) -> Influence | None:
    """That of one gap; None where too few carry a side."""
    sides = []
    for who, sign in ((inside, 1.0), (opposite, -1.0)):
        if who is None:
            continue
        there = who & given
        if not _enough(values[there], binary):
            return None
        sides.append((there, float(values[there].mean()), sign / float(there.sum())))
    return Influence(np.where(given, values, 0.0), tuple(sides))


def _as_printed(rows: Rows, test: _Test) -> Influence | None:
    """None also where the printed numbers do not follow from the rows."""
    values, given = rows.values[test.metric.name], rows.given[test.metric.name]
    inside = rows.mask(test.group)
    found = influence_of(
        values, given, inside, _opposite(rows, inside, test.target), binary=bool(test.metric.binary)
    )
    if found is None:
        return None
    people, mean, _ = found.sides[0]
    same = int(people.sum()) == int(test.row["n"]) and isclose(mean, float(test.row["rate"]), abs_tol=1e-9)
    return found if same else None


def _opposite(rows: Rows, inside: Bools, target: Any) -> Bools | None:
    """Who a group is compared with; nobody where the target is a number."""
    if isinstance(target, Mapping):
        return rows.mask(Group.of(target))
    if target == "overall":
        return np.ones_like(inside)
    return ~inside if target == "rest" else None


def _enough(values: Floats, binary: bool) -> bool:
    if binary:
        events = float(values.sum())
        return min(events, values.size - events) >= EVENTS
    return values.size >= VALUES


def correlation_of(influences: Sequence[Influence]) -> Floats:
    """How gaps of the same rows vary together."""
    if not influences:
        return np.zeros((0, 0))
    rows, covariance = influences[0].values.size, np.zeros((len(influences), len(influences)))
    for start in range(0, rows, BLOCK):
        part = np.stack([influence.of(slice(start, start + BLOCK)) for influence in influences])
        covariance += part @ part.T
    deviation = np.sqrt(np.diag(covariance))
    deviation = np.where(deviation > 0, deviation, 1.0)
    return np.asarray(covariance / np.outer(deviation, deviation))
