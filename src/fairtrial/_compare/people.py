"""Rows that are not one person each: survey weights, several rows of one person, several answers to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells, Rows, WeightSides, atom_of_rows
from fairtrial._audit.reading import LARGEST
from fairtrial._compare.request import Request
from fairtrial._errors import Fault, InputError, NotApplicable, Note, Set, Words
from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.evidence.unit_sums import MANY_ROWS, UnitSums, are_little, nodes_of_powers
from fairtrial._inference.laws.gaps import Gaps
from fairtrial._inference.laws.linear_gaps import LinearGaps
from fairtrial._inference.laws.pair_gaps import PairedAnswers, first_answers, pair_gaps
from fairtrial._inference.multiplicity import holm
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.ways import RateMethod, Scale
from fairtrial._metrics.groups import Group, Target
from fairtrial._metrics.values import Metric, Role
from fairtrial._results.text import counted


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRows:
    """What was read, the sums per person and finest group, and the finest groups with people for counts."""

    source: Rows | Cells
    sums: UnitSums
    atoms: Atoms

    def gaps(self, comparison: Comparison, scale: Scale = "difference") -> LinearGaps:
        """Gaps by the sums of weights and people."""
        return LinearGaps(self.sums, comparison, scale)


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
    alone = audit.unit is None or bool((np.bincount(lines.pattern, lines.rows) == 1).all())
    summed = lines.weight, lines.total, lines.square
    sums = UnitSums.of_sums(
        lines.pattern, atom, summed, lines.times, len(cells.rows), binary=lines.binary, alone=alone
    )
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


# -- Several answers to one person, one as a member of each group: which of them are compared, and what is
# refused.

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

    def first_answers(self, samples: Sequence[PairedAnswers], rate_method: RateMethod) -> Gaps:
        """Each group's own rate among the people who are compared."""
        return first_answers(samples, self.binary, rate_method)

    def gaps(self, request: Request, comparison: Comparison) -> tuple[Gaps, list[Note]]:
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
        return pair_gaps(self.samples(comparison), self.binary), [Note("pairs", text)]


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


# -- The ratio to the highest rate of weighted rows and repeated units: as of counts, by the law of their
# ratios.
class LinearHighest(NamedTuple):
    """Per group: limits of its ratio to the highest true rate, and whether some pair shows it below the band."""

    low: Floats
    high: Floats
    below: Bools


def linear_to_highest(
    sums: UnitSums, member: Bools, band: tuple[float, float], level: float
) -> LinearHighest:
    """Pairs as in `rates.highest`: lower limits uncorrected, upper ones and the pairs' tests each with their part."""
    groups = len(member)
    low, high, below = np.ones(groups), np.ones(groups), np.zeros(groups, dtype=bool)
    pairs, p_values = [], []
    for i in range(groups):
        others = np.arange(groups) != i
        gaps = LinearGaps(
            sums, Comparison(np.repeat(member[i : i + 1], groups - 1, 0), member[others]), "ratio"
        )
        lows = gaps.limits(level)[0]
        highs = gaps.limits(1.0 - (1.0 - level) / (groups - 1.0))[1]
        # a pair without inference says nothing: no lower limit, and none from above
        low[i] = min(1.0, float(np.nan_to_num(lows, nan=0.0).min()))
        high[i] = min(1.0, float(np.nan_to_num(highs, nan=np.inf).min()))
        later = np.flatnonzero(others) > i
        pairs += [
            (i, int(j), ratio)
            for j, ratio in zip(np.flatnonzero(others)[later], gaps.estimate[later], strict=True)
        ]
        p_values.append(gaps.p_inside(*band)[later])
    adjusted = holm(np.concatenate(p_values))
    for (i, j, ratio), p in zip(pairs, adjusted, strict=True):
        if p <= 1.0 - level:
            below[i if ratio < 1.0 else j] = True
    return LinearHighest(low, high, below)
