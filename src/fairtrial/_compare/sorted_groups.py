"""Who is compared and who is not, from sizes alone, and what gaps are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells, atom_of_rows
from fairtrial._audit.groups import check_target
from fairtrial._compare.words import EVERYONE, FEW_IN_TARGET, NO_TARGET, NOBODY, REFERENCE, TOO_FEW
from fairtrial._errors import Fault, InputError
from fairtrial._inference.evidence.atoms import Atoms, Comparison, Membership
from fairtrial._inference.evidence.members import Lattice, Members
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._metrics.groups import Group, Target, find_target
from fairtrial._metrics.values import Metric
from fairtrial._results.column import State

if TYPE_CHECKING:
    from fairtrial._audit.unknown_outcomes import OutcomeCells
    from fairtrial._compare.people import PairedRows, WeightedRows
    from fairtrial._compare.probable_groups import ProbableCells

Tested = list[tuple[int, Group]]  # the groups that are compared, with their places among those present


@dataclass(frozen=True, slots=True)
class OwnEstimate:
    """A target the caller estimated, with its influence value per row (an array or a column).

    `function` works both out of the rows, and is asked once the rows are known.
    """

    value: float
    influence: str | tuple[float, ...]
    function: Callable[[dict[str, Any]], Any] | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Untested:
    """A group that is listed but not tested, with the reason."""

    group: Group
    n: int
    state: State
    rate: float = float("nan")  # of those who are there

    @property
    def small(self) -> bool:
        return self.state.code in (TOO_FEW.code, NOBODY.code)

    def to_dict(self) -> dict[str, Any]:
        return {"group": self.group.label, "n": self.n, "place": self.group.place, **self.state.cells()}


def find_any_target(who: str, target: object) -> Target | OwnEstimate:
    """A known number, overall, rest, a reference group, or {'estimate': …, 'influence': …}."""
    if isinstance(target, Mapping) and "estimate" in target:
        value, influence = target["estimate"], target.get("influence")
        if callable(value):
            columns = target.get("columns", ())
            named = (columns,) if isinstance(columns, str) else tuple(columns)
            return OwnEstimate(float("nan"), (), value, named)
        if isinstance(value, bool) or not isinstance(value, int | float) or influence is None:
            required = (
                "with an 'estimate' needs a number there and 'influence': a column or one value per row; or a function "
                "of the rows that gives both"
            )
            raise InputError(who, Fault("target", required))
        listed = influence if isinstance(influence, str) else tuple(float(v) for v in influence)
        return OwnEstimate(float(value), listed)
    return find_target(who, target)


@dataclass(frozen=True, slots=True, eq=False)
class SortedGroups:
    """Who is compared and who is not, from sizes alone."""

    cells: Cells
    atoms: Atoms
    tested: list[Group]
    member: Members  # which cells the tested groups contain
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
    target: Target | OwnEstimate,
    minimum: int,
    unknown: OutcomeCells | None = None,
    probable: ProbableCells | None = None,
) -> SortedGroups:
    """The finest groups of one metric, and which of `groups` are large enough to be compared with the target."""
    there = members_of(cells, groups)
    some = there.any()
    present, there = [group for group, found in zip(groups, some, strict=True) if found], there[some]
    weighted, paired = None, None
    if probable is None and any(audit.has(role) for role in ("weight", "unit", "pair")):
        from fairtrial._compare.people import paired_rows, weighted_rows

        weighted = weighted_rows(who, audit, cells, metric)
        paired = paired_rows(who, audit, cells, metric, target)
    atoms = find_atoms(who, audit, cells, metric) if weighted is None else weighted.atoms
    tested, untested = _sort_out(present, there, cells, atoms, target, minimum, weighted)
    member = there[np.array([place for place, _ in tested], dtype=np.intp)]
    if paired is not None and isinstance(target, Target):
        tested, member, few = _enough_pairs(paired, tested, member, cells, target, minimum)
        untested += few
    return SortedGroups(
        cells, atoms, [group for _, group in tested], member, untested, len(groups) - len(present), weighted, paired,
        unknown, probable,
    )  # fmt: skip


def members_of(cells: Cells, groups: Sequence[Group]) -> Members:
    """Which cells each group contains."""
    place = {name: index for index, name in enumerate(cells.attributes)}
    code = {
        name: {label: index for index, label in enumerate(cells.labels[name])} for name in cells.attributes
    }
    wheres = [
        [
            (place[name], [code[name][value] for value in values if value in code[name]])
            for name, values in group.where
        ]
        for group in groups
    ]
    levels = [len(cells.labels[name]) for name in cells.attributes]
    return Members(Lattice.of(cells.codes, levels, wheres))


def _enough_pairs(
    paired: PairedRows, tested: Tested, member: Members, cells: Cells, target: Target, minimum: int
) -> tuple[Tested, Members, list[Untested]]:
    """Groups with enough people who have both answers, and the others; everything that makes pairs is checked."""
    kept, few, stays = [], [], []
    for (place, group), mask, other in zip(tested, member, opposite(member, cells, target), strict=True):
        compared = paired.complete(group, mask, other)
        stays.append(compared >= minimum)
        if compared < minimum:
            reason = f"fewer than {minimum} people with both answers"
            few.append(Untested(group, compared, State(TOO_FEW.code, reason)))
        else:
            kept.append((place, group))
    return kept, member[np.array(stays, dtype=bool)], few


def with_target(attributes: Sequence[str], target: Target | OwnEstimate) -> tuple[str, ...]:
    """The attributes asked for and the reference's own."""
    group = target.group if isinstance(target, Target) else None
    return tuple(dict.fromkeys([*attributes, *(group.attributes if group is not None else ())]))


def target_cells(
    who: str, audit: Audit, metric: Metric, attributes: tuple[str, ...], target: Target | OwnEstimate,
    counted: Cells | None = None,
) -> Cells:  # fmt: skip
    """The cells of these attributes, unless they are counted already."""
    group = target.group if isinstance(target, Target) else None
    cells = audit.cells(attributes, [metric], weights=True, who=who) if counted is None else counted
    if isinstance(target, Target):
        check_target(who, audit, target)
    if group is not None and cells.count[metric.name][cells.mask(group)].sum() == 0:
        required = f"{group.label}: nobody there meets the metric's condition"
        raise InputError(who, Fault("target", required, cure="Compare with other people"))
    return cells


def _sort_out(
    present: Sequence[Group],
    member: Members,
    cells: Cells,
    atoms: Atoms,
    target: Target | OwnEstimate,
    minimum: int,
    weighted: WeightedRows | None,
) -> tuple[Tested, list[Untested]]:
    """Tested groups with their place and the others; size alone decides, never the outcome."""
    tested: Tested = []
    untested: list[Untested] = []
    people = _count(atoms, weighted)
    _, rate, _ = atoms.pooled(member)
    count = people(member)
    is_target = _is_target(member, count, cells, atoms, target)
    small_target = _small_target(member, cells, people, target, minimum)
    for place, group in enumerate(present):
        n = int(count[place])
        state = is_target[place] or _too_small(n, minimum) or small_target[place]
        if state is None:
            tested.append((place, group))
        else:
            untested.append(Untested(group, n, state, float(rate[place])))
    return tested, untested


def _count(atoms: Atoms, weighted: WeightedRows | None) -> Callable[[Membership], Floats]:
    """How many people groups have; a person whose rows lie in several finest groups is one."""
    if weighted is None or weighted.sums.alone:
        return lambda member: np.asarray(member @ atoms.count)
    sums = weighted.sums
    return lambda member: np.array([float(sums.side(inside).people) for inside in member])


def opposite(member: Members, cells: Cells, target: Target) -> Members:
    """The cells that each group is compared with; none where the target is a number."""
    if target.kind == "number":
        return member.nobody()
    if target.kind == "rest":
        return ~member
    return member.alike(None if target.group is None else cells.mask(target.group))


def _small_target(
    member: Members,
    cells: Cells,
    people: Callable[[Membership], Floats],
    target: Target | OwnEstimate,
    minimum: int,
) -> list[State | None]:
    """Why groups have too few people opposite them: a gap is known no better than its smaller side.

    What group and target share tells nothing of their gap, so each must also have enough people that the other lacks,
    unless it lies within the other.
    """
    if isinstance(target, OwnEstimate) or target.kind == "number":
        return [None] * len(member)
    comparison = Comparison(member, opposite(member, cells, target))
    everyone = people(comparison.reference)
    _, own, others = (people(part) for part in comparison.parts)
    return [
        _too_few_opposite(int(all_there), int(other), int(alone), minimum)
        for all_there, alone, other in zip(everyone, own, others, strict=True)
    ]


def _too_few_opposite(everyone: int, others: int, own: int, minimum: int) -> State | None:
    if everyone == 0:
        return State(NO_TARGET.code, "nobody in the target meets the metric's condition")
    if everyone < minimum or 0 < others < minimum:
        return State(FEW_IN_TARGET.code, f"fewer than {minimum} to compare with")
    if 0 < own < minimum:
        return State(FEW_IN_TARGET.code, f"fewer than {minimum} who are not in the target")
    return None


def _is_target(
    member: Members, count: Floats, cells: Cells, atoms: Atoms, target: Target | OwnEstimate
) -> list[State | None]:
    """Why groups have nobody to be compared with; None where they have."""
    found: list[State | None] = [None] * len(member)
    if isinstance(target, OwnEstimate):
        return found
    there = atoms.count > 0
    if target.group is None:
        if target.kind in ("overall", "rest"):
            for place in np.flatnonzero((count > 0) & (member @ there == there.sum())):
                found[place] = State(EVERYONE.code, "it is everyone: there is nobody to compare with")
        return found
    reference = cells.mask(target.group)
    for place in np.flatnonzero((count > 0) & _same(member, reference, there)):
        found[place] = State(REFERENCE.code, "its members are those of the reference")
    for place in np.flatnonzero(_same(member, reference, np.ones_like(there))):
        found[place] = State(REFERENCE.code, "it is the reference")
    return found


def _same(member: Members, reference: Bools, among: Bools) -> Bools:
    """Whether a group has the reference's cells among these, and no others."""
    size = (reference & among).sum()
    return np.asarray((member @ among == size) & (member @ (reference & among) == size))


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
