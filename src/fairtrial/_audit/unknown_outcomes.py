"""People whose outcome is unknown, counted with those who are alike in all but the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairtrial._audit.cells import Cells, Floats, Ints, LeftOut, distinct, sum_by
from fairtrial._audit.query import Query, check_asked
from fairtrial._audit.reading import QueryAnswer, count_lacking, evaluate
from fairtrial._metrics.values import Metric

if TYPE_CHECKING:
    from fairtrial._audit.audit import Audit


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeCells:
    """People who are alike in all but the outcome, one line each: where they belong and whose outcome is what.

    A person with outcome 1 adds `value1` to the sum and `given1` to the people of the metric, one with outcome 0
    `value0` and `given0`.
    """

    cells: Cells
    kinds: Cells  # the same people in all detail, for the fingerprint
    atom: Ints
    ones: Floats
    zeros: Floats
    unknown: Floats
    decision: Floats
    value1: Floats
    given1: Floats
    value0: Floats
    given0: Floats

    @property
    def matters(self) -> bool:
        """Whether the metric depends on an unknown outcome."""
        differs = (self.value1 != self.value0) | (self.given1 != self.given0)
        return bool((self.unknown[differs] > 0).any())


def outcome_cells(
    who: str, audit: Audit, by: Sequence[str], metric: Metric, alike: Sequence[str]
) -> OutcomeCells:
    """One grouping query; the cells count everyone the metric may be about, whatever the unknown outcomes are."""
    asked = tuple(dict.fromkeys([*by, *alike]))
    roles = [name for name in ("decision", "outcome") if audit.has(name)]
    check_asked(who, audit, asked, [metric], roles)
    query = Query(audit, who)
    query.ask(asked, [metric], roles, unknown=True)
    table = query.grouped()
    labels = audit.labels_of(table.labels, asked)
    outcome = table.role("outcome")
    same = [coded.codes.astype(np.int64) for coded in labels.values()]
    beside = _other_keys(table)
    first, kin = distinct(same, beside, len(table.n))
    size = len(first)
    ones, zeros, unknown = (
        np.bincount(kin, table.n * chosen, size).astype(np.float64)
        for chosen in (outcome == 1, outcome == 0, np.isnan(outcome))
    )
    (value1, given1), (value0, given0) = (_with_outcome(metric, table, first, y) for y in (1.0, 0.0))
    places = [same[list(labels).index(name)] for name in by]
    start, atom = distinct(places, [], len(table.n))
    cells = Cells(
        attributes=tuple(by),
        labels={name: labels[name].labels for name in by},
        codes=np.array([place[start] for place in places], dtype=np.int32).reshape(len(by), len(start)).T,
        rows=sum_by(atom, table.n, len(start)),
    )
    decision = table.role("decision")[first] if "decision" in roles else np.full(size, np.nan)
    kinds = Cells(
        attributes=asked,
        labels={name: coded.labels for name, coded in labels.items()},
        codes=np.array([key[first] for key in same], dtype=np.int32).reshape(len(same), size).T,
        rows=sum_by(kin, table.n, size),
        roles={"decision": decision},
        count={"1": ones.astype(np.int64), "0": zeros.astype(np.int64)},
    )
    found = OutcomeCells(
        cells, kinds, atom[first], ones, zeros, unknown, decision, value1, given1, value0, given0
    )
    _count_possible(audit, metric, table, found)
    return found


def _other_keys(table: QueryAnswer) -> list[Floats]:
    """All that tells the table's lines apart besides labels asked for and the outcome."""
    numbers = [values for name, values in table.binary.items() if name != "outcome"]
    numbers += [values for name, values in table.numbers.items() if name != "outcome"]
    return [np.nan_to_num(values, nan=-1.0) for values in numbers] + [
        coded.codes.astype(np.float64) for coded in table.labels.values()
    ]


def _with_outcome(metric: Metric, table: QueryAnswer, first: Any, outcome: float) -> tuple[Floats, Floats]:
    """What one person of each kind adds to the metric's sum and people, had they this outcome."""
    told = replace(table, binary={**table.binary, "outcome": np.full(len(table.n), outcome)})
    moments = evaluate(metric, told, outcome_real=False)
    return (moments.total / table.n)[first], (moments.count / table.n)[first]


def _count_possible(audit: Audit, metric: Metric, table: QueryAnswer, found: OutcomeCells) -> None:
    """The cells with everyone whom the metric may be about, and who was left out for another reason."""
    possible = found.ones * found.given1 + found.zeros * found.given0
    possible += found.unknown * np.maximum(found.given1, found.given0)
    cells, name = found.cells, metric.name
    count = np.rint(np.bincount(found.atom, possible, len(cells.rows))).astype(np.int64)
    nothing = np.zeros(len(cells.rows))
    cells.count[name], cells.total[name], cells.binary[name] = count, nothing, True
    cells.m2[name] = cells.m3[name] = cells.low[name] = cells.high[name] = nothing
    if audit.missing != "drop":
        cells.left_out[name] = LeftOut(int(count.sum()), 0, 0)
        return
    lacking, rows = count_lacking(metric, table, count)
    ungrouped = audit.count_rows() - int(table.n.sum())
    cells.left_out[name] = LeftOut(rows + ungrouped, ungrouped, lacking, ("the decision",) if lacking else ())
