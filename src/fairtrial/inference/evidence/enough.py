"""What a gap can be inferred from: who is there, whether values vary, and how many members tell of their mean.

Where most members share one value (no cost, no days waited), the mean is known by the few others, as a rate is by its
events. With thirty members of whom three have a cost, a 95% interval by Student's t or by the likelihood misses the
mean in 15% of repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairtrial.inference.evidence.atoms import Atoms, Bools, Comparison
from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.rates.proportions import SMALL_COUNT

FEWEST_FOR_A_MEAN = 10


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Per gap: why there is no inference, the telling members of its smaller side, and the most degrees of freedom."""

    reason: list[str | None]
    members: Floats
    most_df: Floats


def telling_members(values: Floats) -> int:
    """All members; where more than half of them share one value, the others."""
    if values.size == 0:
        return 0
    middle = (values.size - 1) // 2
    # A value that more than half share is the median.
    others = int(np.count_nonzero(values != np.partition(values, middle)[middle]))
    return others if 2 * others < values.size else values.size


def pooled_shape(pieces: Sequence[Floats]) -> Floats:
    """All rows about the mean of their own piece, so that differences between pieces are no part of the shape.

    Pieces too small to have a mean of their own are left out, unless most rows are in such pieces. Where most rows
    share one value, that value is the same for all pieces and stays so.
    """
    everyone = np.concatenate(pieces)
    large = [piece for piece in pieces if piece.size >= FEWEST_FOR_A_MEAN]
    if telling_members(everyone) == everyone.size and 2 * sum(piece.size for piece in large) >= everyone.size:
        own = [(piece - piece.mean()) * np.sqrt(piece.size / (piece.size - 1.0)) for piece in large]
        centred = np.concatenate(own)
        if np.ptp(centred) > 0:
            return centred
    return np.asarray(everyone - everyone.mean())


def find_evidence(atoms: Atoms, comparison: Comparison) -> Evidence:
    """What every group and its estimated target give to infer from; a known target needs nothing."""
    group = _side(atoms, comparison.member, "this group", "every member")
    if comparison.known is not None:
        return group
    target = _side(atoms, comparison.reference, "the target", "everyone in the target")
    return Evidence(
        [a or b for a, b in zip(group.reason, target.reason, strict=True)],
        np.minimum(group.members, target.members),
        np.minimum(group.most_df, target.most_df),
    )


def telling_counts(atoms: Atoms, inside: Bools) -> Floats:
    """The telling members of each union of atoms; all of them where no rows are held."""
    if atoms.values is None:
        return np.asarray(inside.astype(np.float64) @ atoms.count)
    seen: dict[bytes, int] = {}
    for row in inside:
        if row.tobytes() not in seen:
            seen[row.tobytes()] = telling_members(atoms.gather(row))
    return np.array([float(seen[row.tobytes()]) for row in inside])


def _side(atoms: Atoms, inside: Bools, place: str, everyone: str) -> Evidence:
    count, _, m2 = atoms.pooled(inside)
    telling = telling_counts(atoms, inside)
    shared = telling < count
    reason: list[str | None] = []
    for size, spread, few in zip(count, m2, shared & (telling < SMALL_COUNT), strict=True):
        if size == 0:
            reason.append(f"nobody in {place} meets the metric's condition")
        elif spread <= 0:
            reason.append(f"{everyone} has the same value, so there is no variation to infer from")
        elif few:
            reason.append(
                f"all but a few in {place} share one value: fewer than {SMALL_COUNT} others are too few to infer from"
            )
        else:
            reason.append(None)
    return Evidence(reason, telling, np.where(shared, np.maximum(telling - 1.0, 1.0), np.inf))
