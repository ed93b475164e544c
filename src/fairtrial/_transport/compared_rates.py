"""Whose rates are compared: from the audit's rows to cells and the contrasts between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Rows
from fairtrial._audit.groups import by_attributes, check_not_continuous, check_target, find_groups
from fairtrial._errors import Fault, InputError, NotApplicable, Set, Use, Words
from fairtrial._metrics.groups import Group, Target, find_target
from fairtrial._metrics.table import STRATIFIED
from fairtrial._metrics.values import Metric
from fairtrial._transport.criterion import WHO, check_roles, find_criterion, score_cells
from fairtrial._transport.moves import Moves
from fairtrial._transport.solver.rate_contrasts import (
    RateContrasts,
    disjoint_families,
    overlapping_families,
)

MOST_CELLS = 1000


Tolerance = float | str | Mapping[str, float] | Sequence[float]  # a text is a number before it comes here


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TransportRequest:
    """What is to be equal between whom, what a move costs, and which gaps may stay."""

    metric: object
    by: object
    target: object
    within: object
    distance: object
    moves: Moves
    tolerance: Tolerance
    direction: str
    minimum: int
    confidence_level: float
    seed: int
    group_cost: Mapping[str, float] | None = None
    argument: str = "metric"  # what the caller calls what is to be equal

    @property
    def tolerates(self) -> bool:
        """Whether any gap is allowed."""
        if isinstance(self.tolerance, int | float):
            return self.tolerance > 0
        return any(self.tolerance.values() if isinstance(self.tolerance, Mapping) else self.tolerance)


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """A group within a metric (and stratum), and the cell it is compared with; −1 where there is none."""

    metric: str
    attribute: str
    group: str
    reference: int
    name: str = ""  # the metric's, such as fpr


@dataclass(frozen=True, slots=True)
class LeftOutGroup:
    """A group that is not compared, with its rows."""

    metric: str
    group: str
    n: int


@dataclass(frozen=True, slots=True, eq=False)
class ComparedRates:
    """The rates as arrays, with the words for their cells."""

    contrasts: RateContrasts
    decision: NDArray[np.uint8]
    cells: list[ComparedCell]
    rows: Rows
    name: str
    by: list[Any]
    left_out: list[LeftOutGroup] = field(default_factory=list)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many people each line of `rows` stands for."""
        known = self.contrasts.count
        return np.ones(self.rows.n, dtype=np.int64) if known is None else known

    @property
    def compared(self) -> int:
        """How many people are compared."""
        return int(self.counts[self.compared_rows].sum())

    @property
    def person(self) -> NDArray[np.int64] | None:
        """The person of each row; None where every row is a person."""
        found = self.rows.attributes.get("unit")
        return None if found is None else found.codes.astype(np.int64)

    def people(self, cell: int) -> int:
        """How many people have rows in a cell."""
        person = self.person
        if person is None:
            return int(self.contrasts.cell_rows[cell])
        inside = self.contrasts.cells[self.contrasts.pattern, cell] > 0
        return int(np.unique(person[inside]).size)

    @property
    def compared_rows(self) -> NDArray[np.bool_]:
        """The rows that belong to a compared cell."""
        in_some_cell = np.asarray((self.contrasts.cells > 0).any(axis=1))
        return np.asarray(in_some_cell[self.contrasts.pattern])


def find_rates(audit: Audit, request: TransportRequest) -> ComparedRates:
    """Check the criterion and the groups, fetch the rows once, or count them, and build the contrasts."""
    found = find_criterion(request.metric, request.argument)
    strata = _strata(audit, found.name, request.within)
    attributes, groups = _attributes_and_groups(audit, request.by)
    reference = _reference(audit, request.target, attributes, groups)
    check_roles(audit, found.metrics, request.argument)
    names = list(dict.fromkeys([*attributes, *strata]))
    rows, count = score_cells(audit, request.distance, names, found.metrics, found.roles) or (
        audit.rows(
            attributes=names, metrics=found.metrics, roles=found.roles, units=audit.has("unit"), who=WHO
        ),
        None,
    )
    families = _Families(rows, count, reference, request.minimum, audit.roles.words)
    for metric in map(audit.roles.in_words, found.metrics):
        families.name = metric.name
        for words, inside in _within(rows, metric, strata):
            if groups is not None:
                families.add_groups(words, groups, inside)
            else:
                for attribute in attributes:
                    families.add_attribute(words, attribute, inside)
    _check_families(families, attributes)
    decision = rows.roles["decision"].astype(np.uint8)
    contrasts, cells = families.build(found.happened(rows, decision))
    asked = [group.to_dict() for group in groups] if groups is not None else attributes
    return ComparedRates(contrasts, decision, cells, rows, found.name, asked, families.left_out)


def _strata(audit: Audit, name: str, within: object) -> list[str]:
    if within is None:
        if name in STRATIFIED:
            cure = f"{name} compares within the strata of a column"
            raise InputError(WHO, Fault("within", "is missing", cure=cure))
        return []
    listed = [within] if isinstance(within, str) else within
    if not isinstance(listed, list | tuple) or not all(isinstance(part, str) for part in listed):
        raise InputError(WHO, Fault("within", "must be a column or a list of columns", got=within))
    for part in listed:
        audit.check_column(WHO, "within", part)
    return list(listed)


def _attributes_and_groups(audit: Audit, by: object) -> tuple[list[str], list[Group] | None]:
    """The attributes that are read, and the groups where `by` lists them itself."""
    attributes = list(by_attributes(WHO, audit, by))
    if isinstance(by, Mapping) or _lists_groups(by):
        return attributes, find_groups(WHO, audit, by)
    for attribute in attributes:
        check_not_continuous(WHO, audit, attribute)
    return attributes, None


def _lists_groups(by: object) -> bool:
    if not isinstance(by, list | tuple) or not any(isinstance(entry, Mapping) for entry in by):
        return False
    if not all(isinstance(entry, Mapping) for entry in by):
        raise InputError(WHO, Fault("by", "must list either attributes or groups, not both"))
    return True


def _reference(
    audit: Audit, target: object, attributes: Sequence[str], groups: Sequence[Group] | None
) -> Group | None:
    if target is None:
        return None
    found: Target = find_target(WHO, target)
    if found.kind != "reference":
        required = Words("must be a reference group such as {}", Set("target", {"race": "Caucasian"}))
        cure = Words(
            "the smallest change brings groups together, not to a number. Use {} for a target rate",
            Use("certify"),
        )
        raise NotApplicable(WHO, Fault("target", required, got=target, cure=cure))
    check_target(WHO, audit, found)
    assert found.group is not None
    if groups is not None and found.group not in groups:
        listed = f"must be one of the groups that are listed: {', '.join(group.label for group in groups)}"
        raise InputError(WHO, Fault("target", listed, got=target))
    if groups is None and not set(found.group.attributes) <= set(attributes):
        compared = f"must name an attribute that is compared: {', '.join(attributes)}"
        raise InputError(WHO, Fault("target", compared, got=target))
    return found.group


def _within(rows: Rows, metric: Metric, strata: Sequence[str]) -> list[tuple[str, NDArray[np.bool_]]]:
    """The metric's condition, once per stratum."""
    given = rows.given[metric.name]
    if not strata:
        return [(metric.label, given)]
    coded = [rows.attributes[name] for name in strata]
    code = np.zeros(rows.n, dtype=np.int64)
    for part in coded:
        code = code * len(part.labels) + part.codes
    found = []
    for value in np.unique(code):
        left, words = int(value), []
        for name, part in zip(reversed(strata), reversed(coded), strict=True):
            words.append(f"{name} {part.labels[left % len(part.labels)]}")
            left //= len(part.labels)
        found.append((f"{metric.label}, {', '.join(reversed(words))}", given & (code == value)))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Family:
    """Cells whose rates are to be equal: their labels and rows, and each row's cell (−1: none)."""

    metric: str
    attribute: str
    labels: list[str]
    codes: NDArray[np.int32]
    sizes: list[int] = field(default_factory=list)
    wanted: tuple[str, ...] = ()
    name: str = ""

    def reference(self, sizes: Mapping[str, int]) -> int:
        """The cell that the others are compared with: a wanted one, else the group that is largest in all families.

        One group for all conditions and strata, as long as it is large enough there.
        """
        named = [place for place, label in enumerate(self.labels) if label in self.wanted]
        if named:
            return named[0]
        return max(range(len(self.labels)), key=lambda place: (sizes[self.labels[place]], -place))


class _Families:
    """Collects sets of cells whose rates are to be equal."""

    def __init__(
        self,
        rows: Rows,
        count: NDArray[np.int64] | None,
        reference: Group | None,
        minimum: int,
        words: Mapping[str, Mapping[str, str]],
    ) -> None:
        self.rows, self.count, self.reference, self.minimum = rows, count, reference, minimum
        self.words = words
        self.name = ""  # of the metric whose families are added
        self.kept: list[_Family] = []
        self.left_out: list[LeftOutGroup] = []

    @property
    def size(self) -> int:
        """How many cells are compared."""
        return sum(len(family.labels) for family in self.kept)

    def add_attribute(self, words: str, attribute: str, inside: NDArray[np.bool_]) -> None:
        """A family of the levels of one attribute."""
        coded = self.rows.attributes[attribute]
        named = dict(self.reference.where).get(attribute, ()) if self.reference else ()
        codes, told = np.where(inside, coded.codes, -1), self.words.get(attribute, {})
        labels, wanted = ([told.get(label, label) for label in listed] for listed in (coded.labels, named))
        self._keep(_Family(words, attribute, labels, codes, wanted=tuple(wanted)))

    def add_groups(self, words: str, groups: Sequence[Group], inside: NDArray[np.bool_]) -> None:
        """A family of explicit groups, which must not share rows."""
        codes = np.full(self.rows.n, -1, dtype=np.int32)
        for index, group in enumerate(groups):
            chosen = self.rows.mask(group) & inside
            if (codes[chosen] >= 0).any():
                cure = "name disjoint groups, or several attributes to compare within each of them"
                required = f"lists groups that share rows ({group.label})"
                raise InputError(WHO, Fault("by", required, cure=cure))
            codes[chosen] = index
        wanted = tuple(group.label for group in groups if group == self.reference)
        self._keep(_Family(words, "", [group.label for group in groups], codes, wanted=wanted))

    def _keep(self, family: _Family) -> None:
        """Keep the cells with enough rows, if there are two."""
        labels, codes = family.labels, family.codes
        inside = codes >= 0
        counts = None if self.count is None else self.count[inside]
        sizes = np.bincount(codes[inside], weights=counts, minlength=len(labels))
        enough = np.flatnonzero(sizes >= self.minimum)
        if enough.size < 2:
            enough = enough[:0]
        self.left_out += [
            LeftOutGroup(family.metric, label, int(sizes[index]))
            for index, label in enumerate(labels)
            if index not in enough
        ]
        if not enough.size:
            return
        renumber = np.full(len(labels) + 1, -1, dtype=np.int32)
        renumber[enough] = np.arange(len(enough))
        kept = [labels[index] for index in enough]
        self.kept.append(
            replace(
                family,
                labels=kept,
                codes=renumber[codes],
                sizes=[int(sizes[index]) for index in enough],
                name=self.name,
            )
        )

    def _references(self) -> list[int]:
        """Each family's reference."""
        totals: dict[str, dict[str, int]] = {}
        for family in self.kept:
            own = totals.setdefault(family.attribute, {})
            for label, size in zip(family.labels, family.sizes, strict=True):
                own[label] = own.get(label, 0) + size
        return [family.reference(totals[family.attribute]) for family in self.kept]

    def build(self, event: NDArray[np.uint8]) -> tuple[RateContrasts, list[ComparedCell]]:
        """The contrasts, as disjoint cells where no row is in two families."""
        cells: list[ComparedCell] = []
        members = []
        references = self._references()
        for family, place in zip(self.kept, references, strict=True):
            first = len(cells)
            reference = first + place
            cells += [
                ComparedCell(family.metric, family.attribute, label, reference, family.name)
                for label in family.labels
            ]
            members.append((range(first, len(cells)), reference))
        names = [f"{cell.group} ({cell.metric})" for cell in cells]
        columns = [family.codes for family in self.kept]
        if sum((codes >= 0).astype(np.int16) for codes in columns).max() <= 1:  # type: ignore[union-attr]
            joined = np.full(self.rows.n, -1, dtype=np.int32)
            for codes, (own, _) in zip(columns, members, strict=True):
                joined = np.where(codes >= 0, codes + own[0], joined)
            return disjoint_families(joined, members, event, names, self.count), cells
        return overlapping_families(columns, references, event, names, self.count), cells


def _check_families(families: _Families, attributes: Sequence[str]) -> None:
    """There must be something to compare, and not too much of it."""
    if not families.kept:
        required = f"have {families.minimum} rows each to compare by {', '.join(attributes)}"
        cure = Words("name larger groups with {}, or lower {}", Set("by"), Set("minimum"))
        raise NotApplicable(WHO, Fault("by", required, subject="no two groups", cure=cure))
    if families.size > MOST_CELLS:
        required = f"are more than the {MOST_CELLS:,} that are compared at once"
        subject = f"{families.size:,} groups within strata"
        fault = Fault("within", required, subject=subject, cure="use coarser strata or groups")
        raise NotApplicable(WHO, fault)
