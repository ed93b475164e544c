"""Who is compared with whom, and why there is no inference: nobody there, or nothing that varies.

A side of an interval that has no limit because too few values carry the mean is no such reason: its p-value follows
from the same formula and stays in the family.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairtrial._inference.evidence.atoms import Atoms, Bools, Comparison, Membership
from fairtrial._inference.means.sums import FEWEST_FOR_SHAPE, Sums
from fairtrial._inference.numeric.roots import Floats


@dataclass(frozen=True, slots=True, eq=False)
class TwoSides:
    """Two samples without a common member whose means differ as the gap does, up to a positive factor.

    A group within its target is compared with the others there, and a target within its group is compared with the
    group's others: 'overall' gives (1 - share) times the gap to the rest. `partly` marks a group and a target that
    share some members while each has others, `within` a target that lies in the group.
    """

    comparison: Comparison
    first: Sums
    second: Sums
    factor: Floats
    partly: Bools
    within: Bools

    def rows(self, index: int) -> tuple[Bools, Bools]:
        """The atoms of both samples of one gap."""
        member, reference = self.comparison.member[index], self.comparison.reference[index]
        return (member & ~reference, reference) if self.within[index] else (member, reference & ~member)


def two_sides(atoms: Atoms, comparison: Comparison) -> TwoSides:
    """The two samples of every gap to an estimated target."""
    member, reference = comparison.member, comparison.reference
    shared, alone, others = comparison.parts
    overlap, some_alone, some_others = (part @ atoms.count > 0 for part in (shared, alone, others))
    within = ~some_others  # the target lies in the group
    size, target = member @ atoms.count, reference @ atoms.count
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(within, target / size, np.where(some_alone, 0.0, size / target))
    factor = np.where(overlap & np.isfinite(share), 1.0 - np.nan_to_num(share), 1.0)
    return TwoSides(
        comparison, _either(within, atoms, alone, member), _either(within, atoms, reference, others),
        np.where(factor > 0, factor, 1.0), np.asarray(overlap & some_alone & some_others), within,
    )  # fmt: skip


def _either(which: Bools, atoms: Atoms, one: Membership, other: Membership) -> Sums:
    """The sums of the one where `which` says so, and of the other elsewhere."""
    if not which.any():
        return _sums(atoms, other)
    pairs = zip(*(_columns(_sums(atoms, part)) for part in (one, other)), strict=True)
    return Sums(*(np.where(which, first, second) for first, second in pairs))


def _sums(atoms: Atoms, member: Membership) -> Sums:
    """Of rates no more than their pooled counts is asked."""
    if not atoms.binary:
        return atoms.sums(member)
    count, mean, m2 = atoms.pooled(member)
    nothing = np.zeros(count.shape)
    return Sums(count, np.nan_to_num(mean), m2, nothing, nothing, nothing)


def _columns(sums: Sums) -> tuple[Floats, ...]:
    return sums.n, sums.mean, sums.m2, sums.m3, sums.low, sums.high


def find_reasons(atoms: Atoms, comparison: Comparison) -> list[str | None]:
    """Why a gap has no inference; None where it has."""
    if comparison.known is not None:
        return _reasons(_sums(atoms, comparison.member), "this group", "every member", binary=atoms.binary)
    sides = two_sides(atoms, comparison)
    found = [
        [None if size else f"nobody in {place} meets the metric's condition" for size in side @ atoms.count]
        for side, place in ((comparison.member, "this group"), (comparison.reference, "the target"))
    ]
    found.append(_reasons(sides.first, "this group", "every member", binary=atoms.binary))
    found.append(_reasons(sides.second, "the target", "everyone in the target", binary=atoms.binary))
    return [next((why for why in each if why is not None), None) for each in zip(*found, strict=True)]


def _reasons(sums: Sums, place: str, everyone: str, *, binary: bool) -> list[str | None]:
    # Adding up equal values leaves rounding that is no spread: their extremes tell.
    spread_of = sums.m2 if binary else np.where(sums.low < sums.high, sums.m2, 0.0)
    reason: list[str | None] = []
    for size, spread in zip(sums.n, spread_of, strict=True):
        if size == 0:
            reason.append(f"nobody in {place} meets the metric's condition")
        elif spread <= 0:
            reason.append(f"{everyone} has the same value, so there is no variation to infer from")
        elif size < FEWEST_FOR_SHAPE:
            reason.append(f"{size:.0f} values in {place} do not tell how far such values lie apart")
        else:
            reason.append(None)
    return reason
