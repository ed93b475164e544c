"""Rows with survey weights or with several rows of one person: what their gaps are inferred from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial.data.audit import Audit
from fairtrial.data.cells import Cells, Rows
from fairtrial.errors import Fault, InputError
from fairtrial.inference.evidence.atoms import Atoms
from fairtrial.inference.evidence.unit_sums import UnitSums
from fairtrial.methods.gaps.atom_codes import atom_of_rows
from fairtrial.metrics.metric import Metric


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRows:
    """The rows, the sums per person and finest group, and the finest groups with people for counts."""

    rows: Rows
    sums: UnitSums
    atoms: Atoms


def weighted_rows(who: str, audit: Audit, cells: Cells, metric: Metric) -> WeightedRows | None:
    """None where nothing is weighted: without the roles, or with equal weights and every person once."""
    if not (audit.has("weight") or audit.has("unit")):
        return None
    columns = [audit.weight] if audit.weight else []
    rows = audit.rows(
        attributes=cells.attributes, metrics=[metric], columns=columns, units=audit.has("unit"), complete=False,
        who=who,
    )  # fmt: skip
    weight = rows.columns[str(audit.weight)] if audit.weight else np.ones(rows.n)
    if (weight < 0).any() or weight.sum() <= 0:
        required = "must not be negative and must not sum to zero"
        raise InputError(who, Fault("weight", required, subject=f"weight {audit.weight!r}"))
    unit = rows.attributes["unit"].codes if audit.has("unit") else np.arange(rows.n)
    counts = rows.given[metric.name] & (weight > 0)
    atom, value = atom_of_rows(cells, rows)[counts], rows.values[metric.name][counts]
    _, unit = np.unique(unit[counts], return_inverse=True)
    sums = UnitSums.of_rows(unit, atom, weight[counts], value, len(cells.rows))
    if sums.counted:
        return None
    return WeightedRows(rows, sums, _atoms(sums, atom, value))


def _atoms(sums: UnitSums, atom: NDArray[np.int64], value: NDArray[np.float64]) -> Atoms:
    """The finest groups: how many people have rows there, and their weighted mean."""
    people = np.bincount(sums.atom, minlength=sums.atoms).astype(np.float64)
    weight, total = (np.bincount(sums.atom, of, sums.atoms) for of in (sums.weight, sums.total))
    mean = np.divide(total, weight, out=np.zeros(sums.atoms), where=weight > 0)
    if sums.binary:
        return Atoms(people, mean, people * mean * (1.0 - mean), True)
    low, high, nothing = mean.copy(), mean.copy(), np.zeros(sums.atoms)
    np.minimum.at(low, atom, value)
    np.maximum.at(high, atom, value)
    return Atoms(people, mean, nothing, False, None, nothing, low, high)
