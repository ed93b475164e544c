"""Who is compared with whom, and why there is no inference: nobody there, or nothing that varies.

A side of an interval that has no limit because too few values carry the mean is no such reason: its p-value follows
from the same formula and stays in the family.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairtrial.inference.evidence.atoms import Atoms, Bools, Comparison
from fairtrial.inference.means.sums import FEWEST_FOR_SHAPE
from fairtrial.inference.numeric.roots import Floats


@dataclass(frozen=True, slots=True, eq=False)
class TwoSides:
    """Two samples without a common member whose means differ as the gap does, up to a positive factor.

    A group within its target is compared with the others there, and a target within its group is compared with the
    group's others: 'overall' gives (1 - share) times the gap to the rest. `partly` marks a group and a target that
    share some members while each has others.
    """

    first: Bools
    second: Bools
    factor: Floats
    partly: Bools


def two_sides(atoms: Atoms, comparison: Comparison) -> TwoSides:
    """The two samples of every gap to an estimated target."""
    member, reference, count = comparison.member, comparison.reference, atoms.count
    there = count > 0
    shared, alone, others = (
        part & there for part in (member & reference, member & ~reference, reference & ~member)
    )
    within = np.asarray(~others.any(axis=1))  # the target lies in the group
    first = np.where(within[:, None], alone, member & there)
    second = np.where(within[:, None], reference & there, others)
    size, target = member @ count, reference @ count
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(within, target / size, np.where(alone.any(axis=1), 0.0, size / target))
    overlap = np.asarray(shared.any(axis=1))
    factor = np.where(overlap & np.isfinite(share), 1.0 - np.nan_to_num(share), 1.0)
    partly = np.asarray(overlap & alone.any(axis=1) & others.any(axis=1))
    return TwoSides(first, second, np.where(factor > 0, factor, 1.0), partly)


def find_reasons(atoms: Atoms, comparison: Comparison) -> list[str | None]:
    """Why a gap has no inference; None where it has."""
    if comparison.known is not None:
        return _reasons(atoms, comparison.member, "this group", "every member")
    sides = two_sides(atoms, comparison)
    nobody = [_reasons(atoms, side, place, "", varying=False) for side, place in (
        (comparison.member, "this group"), (comparison.reference, "the target"))]  # fmt: skip
    found = [*nobody, _reasons(atoms, sides.first, "this group", "every member")]
    found.append(_reasons(atoms, sides.second, "the target", "everyone in the target"))
    return [next((why for why in each if why is not None), None) for each in zip(*found, strict=True)]


def _reasons(
    atoms: Atoms, inside: Bools, place: str, everyone: str, *, varying: bool = True
) -> list[str | None]:
    count, _, spread_of = atoms.pooled(inside)
    if not atoms.binary:
        # Adding up equal values leaves rounding that is no spread: their extremes tell.
        sums = atoms.sums(inside)
        spread_of = np.where(sums.low < sums.high, spread_of, 0.0)
    reason: list[str | None] = []
    for size, spread in zip(count, spread_of, strict=True):
        if size == 0:
            reason.append(f"nobody in {place} meets the metric's condition")
        elif varying and spread <= 0:
            reason.append(f"{everyone} has the same value, so there is no variation to infer from")
        elif varying and size < FEWEST_FOR_SHAPE:
            reason.append(f"{size:.0f} values in {place} do not tell how far such values lie apart")
        else:
            reason.append(None)
    return reason
