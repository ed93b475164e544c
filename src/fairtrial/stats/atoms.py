"""What certify and flag compute from: the finest groups, and which of them each compared group contains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial.stats.roots import Floats

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """Disjoint finest groups of the rows that meet the metric's condition.

    `values` holds every row's value, atom by atom, when a real-valued metric is audited by its rows.
    """

    count: Floats
    mean: Floats
    m2: Floats
    binary: bool
    values: tuple[Floats, ...] | None = None

    @property
    def successes(self) -> Floats:
        """Counts of value one in each atom (binary metrics)."""
        return np.rint(self.count * self.mean)

    def pooled(self, member: Bools) -> tuple[Floats, Floats, Floats]:
        """Count, mean and M2 of each union of atoms (the last axis of `member`)."""
        inside = member.astype(np.float64)
        count = inside @ self.count
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = inside @ (self.count * self.mean) / count
        # Deviations from each union's own mean: no difference of two large squares.
        filled = np.where(count > 0, mean, 0.0)
        spread = inside * (self.mean - filled[..., None]) ** 2 @ self.count
        return count, mean, inside @ self.m2 + spread

    def gather(self, member: Bools) -> Floats:
        """All rows' values of one union of atoms."""
        if self.values is None:
            raise ValueError("gather: the atoms hold no rows.")
        chosen = [self.values[index] for index in np.flatnonzero(member)]
        return np.concatenate(chosen) if chosen else np.zeros(0)


def contrast_weights(atoms: Atoms, member: Bools, reference: Bools) -> tuple[Floats, Floats]:
    """Each row's influence on 'mean of the group minus mean of the reference' is slope * value + constant.

    Returns both per group and atom. A known target is a reference without atoms.
    """
    slope, constant = np.zeros(member.shape), np.zeros(member.shape)
    for side, sign in ((member, 1.0), (reference, -1.0)):
        count, mean, _ = atoms.pooled(side)
        weight = sign * side / np.where(count > 0, count, np.inf)[:, None]
        slope += weight
        constant -= weight * np.where(count > 0, mean, 0.0)[:, None]
    return slope, constant


def gap_covariance(atoms: Atoms, member: Bools, reference: Bools) -> Floats:
    """Covariance of all groups' estimated gaps, from their influence values.

    Where a binary group has nobody or everybody, half a count is added: its variance is not zero.
    """
    slope, constant = contrast_weights(atoms, member, reference)
    within, mean = atoms.m2, atoms.mean
    offset = slope * np.where(atoms.count > 0, mean, 0.0) + constant
    covariance = (slope * within) @ slope.T + (offset * atoms.count) @ offset.T
    if atoms.binary:
        extra = _half_count_variance(atoms, member)
        covariance[np.diag_indices_from(covariance)] += extra
    return np.asarray(covariance)


def _half_count_variance(atoms: Atoms, member: Bools) -> Floats:
    inside = member.astype(np.float64)
    count, successes = inside @ atoms.count, inside @ atoms.successes
    extreme = (count > 0) & ((successes == 0) | (successes == count))
    half = (successes + 0.5) * (count - successes + 0.5) / (count + 1.0) ** 2
    return np.where(extreme, half / np.maximum(count, 1.0), 0.0)


def gap_errors(atoms: Atoms, member: Bools, reference: Bools) -> tuple[Floats, Floats]:
    """Standard error of each gap and its Welch-Satterthwaite degrees of freedom.

    The independent pieces are the rows in both, in the group only, and in the reference only.
    """
    parts = (member & reference, member & ~reference, reference & ~member)
    slope, constant = contrast_weights(atoms, member, reference)
    offset = slope * np.where(atoms.count > 0, atoms.mean, 0.0) + constant
    row_variance = slope**2 * atoms.m2 + offset**2 * atoms.count
    pieces = np.stack([np.sum(part * row_variance, axis=1) for part in parts])
    sizes = np.stack([part @ atoms.count for part in parts])
    spare = np.maximum(sizes - 1.0, 0.5)
    pieces = pieces * np.where(sizes > 0, sizes / spare, 0.0)
    variance = pieces.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = variance**2 / np.sum(pieces**2 / spare, axis=0)
    if atoms.binary:
        variance = variance + _half_count_variance(atoms, member)
    return np.sqrt(variance), np.where(np.isfinite(df), np.maximum(df, 1.0), 1.0)
