"""Several answers to one person, one as a member of each group: which of them are compared, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells, Rows
from fairtrial._compare.request import Request
from fairtrial._compare.weights import atom_of_rows
from fairtrial._errors import Fault, InputError, NotApplicable, Note, Set, Words
from fairtrial._inference.evidence.atoms import Comparison
from fairtrial._inference.laws.gaps import Gaps
from fairtrial._inference.laws.pair_gaps import PairedAnswers, pair_gaps
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._metrics.groups import Group, Target
from fairtrial._metrics.metric import Metric
from fairtrial._metrics.values import Role
from fairtrial._results.text import counted

NO_PAIR = -1


@dataclass(frozen=True, slots=True, eq=False)
class PairedRows:
    """The rows that count for the metric: whose they are, their finest group and their value."""

    who: str
    column: str
    rows: Rows
    person: NDArray[np.int64]
    atom: NDArray[np.int64]
    value: Floats
    people: int

    @property
    def binary(self) -> bool:
        return bool(np.isin(self.value, (0.0, 1.0)).all())

    def answers(self, inside: Bools) -> tuple[NDArray[np.int64], int]:
        """The row of each person in some of the finest groups, and how many people have several there."""
        chosen = np.flatnonzero(inside[self.atom])
        row = np.full(self.people, NO_PAIR, dtype=np.int64)
        row[self.person[chosen]] = chosen
        several = np.bincount(self.person[chosen], minlength=self.people) > 1
        return row, int(several.sum())

    def complete(self, group: Group, member: Bools, opposite: Bools) -> int:
        """How many people have both answers; one with two rows on a side is a fault."""
        own, several = self.answers(member)
        if several:
            required = f"names {several:,} people with more than one row of {group.label!r}"
            cure = Words(
                "a person has one row for each group; {} is for other repeated rows", Set("unit", of="Audit")
            )
            raise InputError(self.who, Fault("pair", required, subject=f"pair {self.column!r}", cure=cure))
        other, several = self.answers(opposite)
        if several:
            required = f"holds several answers of {counted(several, 'person', 'people')}"
            named = "name one group as the reference, of which a person has one row"
            raise InputError(self.who, Fault("target", required, cure=named))
        return int(((own != NO_PAIR) & (other != NO_PAIR)).sum())

    def pairs(self, member: Bools, opposite: Bools) -> PairedAnswers:
        """The people with both answers, and how many have one only."""
        own, other = self.answers(member)[0], self.answers(opposite)[0]
        both = (own != NO_PAIR) & (other != NO_PAIR)
        alone = int(((own != NO_PAIR) ^ (other != NO_PAIR)).sum())
        return PairedAnswers(np.flatnonzero(both), self.value[own[both]], self.value[other[both]], alone)

    def samples(self, comparison: Comparison) -> list[PairedAnswers]:
        """The pairs of every group."""
        return [self.pairs(*sides) for sides in zip(comparison.member, comparison.reference, strict=True)]


def paired_rows(who: str, audit: Audit, cells: Cells, metric: Metric, target: object) -> PairedRows | None:
    """None where the audit names no pairs; what cannot be compared pair by pair is refused by name."""
    if audit.pair is None:
        return None
    _refuse(who, audit, metric, target)
    rows = audit.rows(attributes=cells.attributes, metrics=[metric], pairs=True, complete=False, who=who)
    counts = rows.given[metric.name]
    names, person = np.unique(rows.attributes["pair"].codes[counts], return_inverse=True)
    atom, value = atom_of_rows(cells, rows)[counts], rows.values[metric.name][counts]
    return PairedRows(who, audit.pair, rows, person.astype(np.int64), atom, value, names.size)


def _refuse(who: str, audit: Audit, metric: Metric, target: object) -> None:
    faults = [
        Fault(name, "and pairs cannot be used together yet", cure="Make an Audit without one of them")
        for name in ("weight", "unit")
        if audit.has(name)
    ]
    if not isinstance(target, Target) or target.kind not in ("rest", "reference"):
        required = "of pairs is the rest or a reference group: two answers to one person are compared"
        faults.append(
            Fault("target", required, cure=Words("Use {} or name a reference group", Set("target", "rest")))
        )
    asked = [
        part
        for part in metric.conditions
        if isinstance(part, Role) and {"decision", "score"} & set(part.needs)
    ]
    if asked or metric.each is not None:
        required = "depends on what was decided, which may differ between the two answers to one person"
        cure = "Make an Audit without pairs"
        faults.append(Fault("pair", required, subject=f"who counts for the {metric.label}", cure=cure))
    if faults:
        raise NotApplicable(who, faults)


def paired_gaps(request: Request, paired: PairedRows, comparison: Comparison) -> tuple[Gaps, list[Note]]:
    """Gaps between the answers to one person; a pair is alike in all else, so nothing is adjusted for."""
    faults = request.refuse_interval("pairs")
    if request.scale == "ratio":
        required = "'ratio' is not for pairs: only their difference has a law here"
        faults.append(Fault("scale", required, cure="Leave it out"))
    if request.within:
        required = "is not for pairs: both answers are about one person, who is alike in all else"
        faults.append(Fault("within", required, cure="Leave it out"))
    if faults:
        raise NotApplicable(request.who, faults)
    text = (
        "Pairs: each person's answer in the group is compared with the same person's answer in the target; people "
        "with one of the two answers only are counted and not compared."
    )
    return pair_gaps(paired.samples(comparison), paired.binary), [Note("pairs", text)]
