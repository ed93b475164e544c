"""Rows with survey weights or with several rows of one person: what their gaps are inferred from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells, Rows, WeightSides
from fairtrial._audit.reading import LARGEST
from fairtrial._errors import Fault, InputError
from fairtrial._inference.evidence.atoms import Atoms
from fairtrial._inference.evidence.unit_sums import MANY_ROWS, UnitSums, are_little, nodes_of_powers
from fairtrial._inference.numeric.roots import Floats
from fairtrial._metrics.metric import Metric


# -- Which finest group each row belongs to.
def atom_of_rows(cells: Cells, rows: Rows) -> NDArray[np.int64]:
    """The cell each row belongs to."""
    key, cell_key = np.zeros(rows.n, dtype=np.int64), np.zeros(len(cells.rows), dtype=np.int64)
    for position, name in enumerate(cells.attributes):
        labels = cells.labels[name]
        coded = rows.attributes[name]
        place = np.array([labels.index(label) for label in coded.labels], dtype=np.int64)
        key = key * len(labels) + place[coded.codes]
        cell_key = cell_key * len(labels) + cells.codes[:, position]
    order = np.argsort(cell_key)
    return order[np.searchsorted(cell_key[order], key)]


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRows:
    """What was read, the sums per person and finest group, and the finest groups with people for counts."""

    source: Rows | Cells
    sums: UnitSums
    atoms: Atoms


def weighted_rows(who: str, audit: Audit, cells: Cells, metric: Metric) -> WeightedRows | None:
    """None where nothing is weighted: without the roles, or with equal weights and every person once."""
    if not (audit.has("weight") or audit.has("unit")):
        return None
    sides = cells.weights.get(metric.name)
    if sides is not None and _enough_sums(audit, cells, metric, sides):
        return _of_sums(cells, sides)
    if audit.source.on_cluster:
        return _by_grouping(who, audit, cells, metric)
    return _of_rows(who, audit, cells, metric)


def _of_rows(who: str, audit: Audit, cells: Cells, metric: Metric) -> WeightedRows | None:
    """Every row with its weight and its person."""
    columns = [audit.weight] if audit.weight else []
    rows = audit.rows(
        attributes=cells.attributes, metrics=[metric], columns=columns, units=audit.has("unit"), complete=False,
        who=who,
    )  # fmt: skip
    weight = rows.columns[str(audit.weight)] if audit.weight else np.ones(rows.n)
    if (weight < 0).any() or weight.sum() <= 0:
        required = "must not be negative and must not sum to zero"
        raise InputError(who, Fault("weight", required, subject=f"weight {audit.weight!r}"))
    given = rows.given[metric.name]
    counts = given & (weight > 0)
    atom, value = atom_of_rows(cells, rows)[counts], rows.values[metric.name][counts]
    if audit.has("unit"):
        _, unit = np.unique(rows.attributes["unit"].codes[counts], return_inverse=True)
    else:
        unit = np.arange(value.size)
    sums = UnitSums.of_rows(unit, atom, weight[counts], value, len(cells.rows))
    # rows without weight are in the counts of cells, so that these are not what equal weights of the others mean
    if sums.counted and counts.sum() == given.sum():
        return None
    return WeightedRows(rows, sums.pooled(), _atoms(sums, (atom, value, value)))


def _by_grouping(who: str, audit: Audit, cells: Cells, metric: Metric) -> WeightedRows | None:
    """In Spark: from sums by person and finest group, or by weights; no row comes here."""
    from fairtrial._audit.spark_units import unit_lines

    lines = unit_lines(who, audit, cells.attributes, metric)
    atom = atom_of_rows(cells, Rows(n=len(lines), attributes=lines.attributes))
    sums = UnitSums.of_sums(
        lines.pattern,
        atom,
        (lines.weight, lines.total, lines.square),
        lines.times,
        len(cells.rows),
        lines.binary,
    )
    alone = audit.unit is None or bool((np.bincount(lines.pattern, lines.rows) == 1).all())
    if lines.alike and alone and not lines.weightless:
        return None
    return WeightedRows(cells, sums, _atoms(sums, (atom, lines.low, lines.high)))


def _enough_sums(audit: Audit, cells: Cells, metric: Metric, sides: WeightSides) -> bool:
    """Whether sums of weights tell all that the rows do: every weight is known, none is zero or a large one."""
    powers = np.stack([side.powers for side in sides])
    complete = audit.missing == "drop" or powers[:, :, 0].sum() == cells.count[metric.name].sum()
    if not complete or not np.isfinite(powers).all() or not 0 < sides.low <= sides.high <= LARGEST:
        return False
    totals = sum(side.powers[:, 0] * side.centre + side.powers[:, 1] * side.spread for side in sides)
    return bool(powers[:, :, 0].sum() >= MANY_ROWS) and are_little(sides.high, np.asarray(totals))


def _of_sums(cells: Cells, sides: WeightSides) -> WeightedRows | None:
    """Weighted rates by sums of the weights' powers, as the grouping query gives them: no row is read."""
    if sides.low == sides.high:
        return None
    powers = np.concatenate([side.powers for side in sides])
    nodes = nodes_of_powers(powers, sides.event.centre, sides.event.spread, sides.low, sides.high)
    sums = UnitSums.of_nodes(nodes, len(cells.rows))
    return WeightedRows(cells, sums, _atoms(sums))


def _atoms(sums: UnitSums, values: tuple[NDArray[np.int64], Floats, Floats] | None = None) -> Atoms:
    """The finest groups: how many people have rows there, and their weighted mean.

    `values` are the finest group of each line, and its smallest and largest value; rates need none.
    """
    times = np.broadcast_to(sums.times, (sums.units,))[sums.unit]
    people, weight, total = (
        np.bincount(sums.atom, of * times, sums.atoms).astype(np.float64)
        for of in (np.ones(times.size), sums.weight, sums.total)
    )
    people = np.rint(people)
    mean = np.divide(total, weight, out=np.zeros(sums.atoms), where=weight > 0)
    if sums.binary or values is None:
        mean = np.where(people > 0, mean, 0.0)
        return Atoms(people, mean, people * mean * (1.0 - mean), True)
    atom, least, most = values
    low, high, nothing = mean.copy(), mean.copy(), np.zeros(sums.atoms)
    np.minimum.at(low, atom, least)
    np.maximum.at(high, atom, most)
    return Atoms(people, mean, nothing, False, None, nothing, low, high)
