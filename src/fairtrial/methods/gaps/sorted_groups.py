"""Who is compared and who is not, from sizes alone, and what gaps are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.data.cells import Cells
from fairtrial.data.groups import check_target
from fairtrial.data.unknown_outcomes import OutcomeCells
from fairtrial.errors import Fault, InputError
from fairtrial.inference.evidence.atoms import Atoms, Bools
from fairtrial.methods.gaps.atom_codes import atom_of_rows
from fairtrial.methods.gaps.paired_rows import PairedRows, paired_rows
from fairtrial.methods.gaps.probable_bounds import ProbableCells
from fairtrial.methods.gaps.states import EVERYONE, FEW_IN_TARGET, NO_TARGET, NOBODY, REFERENCE, TOO_FEW
from fairtrial.methods.gaps.weighted_rows import WeightedRows, weighted_rows
from fairtrial.metrics.groups import Group, Target, find_target
from fairtrial.metrics.metric import Metric
from fairtrial.results.column import State

# Above this many rows a real-valued metric is audited from its central sums.


@dataclass(frozen=True, slots=True)
class Estimate:
    """A target the caller estimated, with its influence value per row (an array or a column)."""

    value: float
    influence: str | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Untested:
    """A group that is listed but not tested, with the reason."""

    group: Group
    n: int
    state: State

    @property
    def small(self) -> bool:
        return self.state.code in (TOO_FEW.code, NOBODY.code)

    def to_dict(self) -> dict[str, Any]:
        return {"group": self.group.label, "n": self.n, "place": self.group.place, **self.state.cells()}


def find_any_target(who: str, target: object) -> Target | Estimate:
    """A known number, overall, rest, a reference group, or {'estimate': …, 'influence': …}."""
    if isinstance(target, Mapping) and "estimate" in target:
        value, influence = target["estimate"], target.get("influence")
        if isinstance(value, bool) or not isinstance(value, int | float) or influence is None:
            required = (
                "with an 'estimate' needs a number there and 'influence': a column or one value per row"
            )
            raise InputError(who, Fault("target", required))
        listed = influence if isinstance(influence, str) else tuple(float(v) for v in influence)
        return Estimate(float(value), listed)
    return find_target(who, target)


@dataclass(frozen=True, slots=True, eq=False)
class SortedGroups:
    """Who is compared and who is not, from sizes alone."""

    cells: Cells
    atoms: Atoms
    tested: list[tuple[Group, Bools]]
    untested: list[Untested]
    absent: int
    weighted: WeightedRows | None = None
    paired: PairedRows | None = None
    unknown: OutcomeCells | None = None  # where outcomes are unknown
    probable: ProbableCells | None = None  # where groups are known with a probability


def sort_groups(
    who: str,
    audit: Audit,
    metric: Metric,
    cells: Cells,
    groups: Sequence[Group],
    target: Target | Estimate,
    minimum: int,
    unknown: OutcomeCells | None = None,
    probable: ProbableCells | None = None,
) -> SortedGroups:
    """The finest groups of one metric, and which of `groups` are large enough to be compared with the target."""
    masked = [(group, cells.mask(group)) for group in groups]
    present = [(group, mask) for group, mask in masked if mask.any()]
    weighted = weighted_rows(who, audit, cells, metric) if probable is None else None
    atoms = find_atoms(who, audit, cells, metric) if weighted is None else weighted.atoms
    tested, untested = _sort_out(present, cells, atoms, target, minimum)
    paired = paired_rows(who, audit, cells, metric, target) if probable is None else None
    if paired is not None and isinstance(target, Target):
        tested, few = _enough_pairs(paired, tested, cells, target, minimum)
        untested += few
    return SortedGroups(
        cells, atoms, tested, untested, len(masked) - len(present), weighted, paired, unknown, probable
    )


def _enough_pairs(
    paired: PairedRows, tested: list[tuple[Group, Bools]], cells: Cells, target: Target, minimum: int
) -> tuple[list[tuple[Group, Bools]], list[Untested]]:
    """Groups with enough people who have both answers, and the others; everything that makes pairs is checked."""
    kept, few = [], []
    for group, mask in tested:
        compared = paired.complete(group, mask, opposite(mask, cells, target))
        if compared < minimum:
            reason = f"fewer than {minimum} people with both answers"
            few.append(Untested(group, compared, State(TOO_FEW.code, reason)))
        else:
            kept.append((group, mask))
    return kept, few


def with_target(attributes: Sequence[str], target: Target | Estimate) -> tuple[str, ...]:
    """The attributes asked for and the reference's own."""
    group = target.group if isinstance(target, Target) else None
    return tuple(dict.fromkeys([*attributes, *(group.attributes if group is not None else ())]))


def target_cells(
    who: str, audit: Audit, metric: Metric, attributes: tuple[str, ...], target: Target | Estimate,
    counted: Cells | None = None,
) -> Cells:  # fmt: skip
    """The cells of these attributes, unless they are counted already."""
    group = target.group if isinstance(target, Target) else None
    cells = audit.cells(attributes, [metric], who=who) if counted is None else counted
    if isinstance(target, Target):
        check_target(who, audit, target)
    if group is not None and cells.count[metric.name][cells.mask(group)].sum() == 0:
        required = f"{group.label}: nobody there meets the metric's condition"
        raise InputError(who, Fault("target", required))
    return cells


def _sort_out(
    present: Sequence[tuple[Group, Bools]],
    cells: Cells,
    atoms: Atoms,
    target: Target | Estimate,
    minimum: int,
) -> tuple[list[tuple[Group, Bools]], list[Untested]]:
    """Tested groups and the others; size alone decides, never the outcome."""
    tested: list[tuple[Group, Bools]] = []
    untested: list[Untested] = []
    for group, mask in present:
        n = int(atoms.count[mask].sum())
        state = _is_target(mask, n, cells, atoms, target) or _too_small(n, minimum)
        state = state or _small_target(mask, cells, atoms, target, minimum)
        if state is None:
            tested.append((group, mask))
        else:
            untested.append(Untested(group, n, state))
    return tested, untested


def opposite(member: Bools, cells: Cells, target: Target) -> Bools:
    """The cells that a group (or each row of groups) is compared with; none where the target is a number."""
    if target.kind == "number":
        return np.zeros_like(member)
    if target.kind == "rest":
        return ~member
    if target.group is None:
        return np.ones_like(member)
    return np.broadcast_to(cells.mask(target.group), member.shape).copy()


def _small_target(
    mask: Bools, cells: Cells, atoms: Atoms, target: Target | Estimate, minimum: int
) -> State | None:
    """Why a group has too few people opposite it: a gap is known no better than its smaller side.

    What group and target share tells nothing of their gap, so each must also have enough people that the other lacks,
    unless it lies within the other.
    """
    if isinstance(target, Estimate) or target.kind == "number":
        return None
    reference = opposite(mask, cells, target)
    everyone, others, own = (
        int(atoms.count[part].sum()) for part in (reference, reference & ~mask, mask & ~reference)
    )
    if everyone == 0:
        return State(NO_TARGET.code, "nobody in the target meets the metric's condition")
    if everyone < minimum or 0 < others < minimum:
        return State(FEW_IN_TARGET.code, f"fewer than {minimum} to compare with")
    if 0 < own < minimum:
        return State(FEW_IN_TARGET.code, f"fewer than {minimum} who are not in the target")
    return None


def _is_target(mask: Bools, n: int, cells: Cells, atoms: Atoms, target: Target | Estimate) -> State | None:
    """Why a group has nobody to be compared with; None where it has."""
    if isinstance(target, Estimate):
        return None
    there = atoms.count > 0
    if target.group is None:
        if n and target.kind in ("overall", "rest") and mask[there].all():
            return State(EVERYONE.code, "it is everyone: there is nobody to compare with")
        return None
    reference = cells.mask(target.group)
    if np.array_equal(mask, reference):
        return State(REFERENCE.code, "it is the reference")
    if n and np.array_equal(mask[there], reference[there]):
        return State(REFERENCE.code, "its members are those of the reference")
    return None


def _too_small(n: int, minimum: int) -> State | None:
    if n == 0:
        return State(NOBODY.code, "nobody meets the metric's condition")
    return State(TOO_FEW.code, f"fewer than {minimum} members") if n < minimum else None


def find_atoms(who: str, audit: Audit, cells: Cells, metric: Metric) -> Atoms:
    """What the gaps are made of, cell by cell: counts, or every row's value."""
    count = cells.count[metric.name].astype(np.float64)
    total, m2 = cells.total[metric.name], cells.m2[metric.name]
    mean = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    binary = cells.binary[metric.name]
    if binary:
        return Atoms(count, mean, count * mean * (1.0 - mean), True)
    if audit.by_sums:
        name = metric.name
        return Atoms(count, mean, m2, False, None, cells.m3[name], cells.low[name], cells.high[name])
    rows = audit.rows(attributes=cells.attributes, metrics=[metric], complete=False, who=who)
    codes = atom_of_rows(cells, rows)
    given = rows.given[metric.name]
    order = np.argsort(codes[given], kind="stable")
    values = rows.values[metric.name][given][order]
    pieces = np.split(values, np.cumsum(count.astype(np.int64))[:-1])
    # The rows' own moments, so that the likelihood's centre is exactly the estimate.
    return Atoms.of_values(pieces)
