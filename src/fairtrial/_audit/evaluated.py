"""A metric's value on the lines of a query's answer: who it is about, its moments, and what it lacks."""

from __future__ import annotations

import numpy as np

from fairtrial._audit.cells import Bools, Ints, Moments, WeightSides
from fairtrial._audit.query import Table
from fairtrial._audit.roles import Roles
from fairtrial._errors import Fault, NotApplicable, Set, Words
from fairtrial._metrics.metric import Metric
from fairtrial._metrics.values import Role


def refuse_real_outcome(who: str, roles: Roles, metric: Metric) -> None:
    """A real-valued outcome has no positive and no negative case to condition on."""
    if metric.conditions_on_outcome:
        required = f"conditions on the outcome, but {roles.subject('outcome')} is real-valued"
        cure = Words(
            "Metrics that only average it: base_rate, ppv, for. Or say which label counts: {}",
            Set("positive", of="Audit"),
        )
        raise NotApplicable(who, Fault("metric", required, subject=repr(metric.name), cure=cure))


def evaluate(metric: Metric, table: Table, *, outcome_real: bool) -> Moments:
    """The moments of the metric's value per line of the table."""
    given = _given(metric, table)
    value = metric.value
    if isinstance(value, Role) and (value.binary or (value.name == "outcome" and not outcome_real)):
        known = given & table.known(value)
        return Moments.constant(
            np.where(known, table.n, 0),
            np.where(known, np.nan_to_num(value.of(table.binary)), 0.0),
            binary=True,
        )
    name = f"column {value}" if isinstance(value, str) else value.name
    if name == "outcome" and name in table.numbers:
        known = given & ~np.isnan(table.numbers[name])
        return Moments.constant(
            np.where(known, table.n, 0), np.where(known, np.nan_to_num(table.numbers[name]), 0.0)
        )
    columns = (table.total, table.m2, table.m3, table.low, table.high)
    total, m2, m3, low, high = (np.where(given, column[name], 0.0) for column in columns)
    binary = isinstance(value, str) and table.others[name] == 0
    return Moments(np.where(given, table.count[name], 0), total, m2, m3, low, high, binary)


def weigh(metric: Metric, table: Table, *, outcome_real: bool) -> WeightSides | None:
    """The weights of those a rate is about, without the event and with it; None where the lines do not tell."""
    value = metric.value
    binary = isinstance(value, Role) and (value.binary or (value.name == "outcome" and not outcome_real))
    if table.weights is None or not binary:
        return None
    assert isinstance(value, Role)
    known = _given(metric, table) & table.known(value)
    event = np.nan_to_num(value.of(table.binary)) == 1
    return WeightSides(*(table.weights.chosen(known & side) for side in (~event, event)))


def count_lacking(metric: Metric, table: Table, count: Ints) -> tuple[int, int]:
    """Rows that lack what the metric needs, and the rows it may be about: no condition is known to fail."""
    possible = np.ones(len(table.n), dtype=bool)
    for part, admitted in metric.conditions.items():
        possible &= table.among(part, admitted) | table.unknown(part)
    if metric.expression is not None:
        possible &= table.binary[f"given {metric.name}"] == 1
    rows = int(table.n[possible].sum())
    return rows - int(count.sum()), rows


def _given(metric: Metric, table: Table) -> Bools:
    given = np.ones(len(table.n), dtype=bool)
    for part, admitted in metric.conditions.items():
        given &= table.among(part, admitted)
    if metric.expression is not None:
        given &= table.binary[f"given {metric.name}"] == 1
    return given
