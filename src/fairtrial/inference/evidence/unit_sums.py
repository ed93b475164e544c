"""Rows with weights, and rows of one person or place: sums per unit and finest group, and what they say of two means.

A unit (a person, a hospital) may have rows in several groups. The influence of unit u on the mean of group g is
phi = sum w (y - mean)/(W sqrt(1 - w_u/W)), W the group's weight and w_u the unit's part of it; the covariance of the
means is the sum over units of their products. The degrees of freedom are those of Bell and McCaffrey (2002) for
independent rows, (tr C)^2 / tr C^2, C the covariance of the influences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial.inference.numeric.roots import Floats

Bools = NDArray[np.bool_]
Codes = NDArray[np.integer]


@dataclass(frozen=True, slots=True, eq=False)
class UnitSums:
    """One line per unit and finest group with rows: sums of weights, of weighted values and of squared weights."""

    unit: NDArray[np.int64]
    atom: NDArray[np.int64]
    weight: Floats
    total: Floats
    square: Floats
    units: int
    atoms: int
    binary: bool
    counted: bool  # all weights are equal and every row is a unit of its own: plain counts

    @classmethod
    def of_rows(cls, unit: Codes, atom: Codes, weight: Floats, value: Floats, atoms: int) -> UnitSums:
        """From rows that count (weights above zero); units are numbered from 0."""
        units = int(unit.max()) + 1 if unit.size else 0
        keys, line = np.unique(unit.astype(np.int64) * atoms + atom, return_inverse=True)

        def sums(of: Floats) -> Floats:
            return np.bincount(line, of, keys.size).astype(np.float64)

        binary = bool(np.isin(value, (0.0, 1.0)).all())
        counted = np.unique(unit).size == unit.size and bool(np.all(weight == weight[:1]))
        return cls(
            keys // atoms, keys % atoms, sums(weight), sums(weight * value), sums(weight**2), units, atoms, binary,
            counted,
        )  # fmt: skip

    def side(self, inside: Bools) -> Side:
        """The sums of one union of finest groups, unit by unit."""
        chosen = inside[self.atom]
        columns = (
            np.bincount(self.unit[chosen], of[chosen], self.units)
            for of in (self.weight, self.total, self.square)
        )
        return Side(*(column.astype(np.float64) for column in columns))


class Side(NamedTuple):
    """Per unit: weight, weighted sum of values, sum of squared weights."""

    weight: Floats
    total: Floats
    square: Floats

    @property
    def everyone(self) -> float:
        return float(self.weight.sum())

    @property
    def people(self) -> int:
        """Units with rows here."""
        return int(np.count_nonzero(self.weight))

    @property
    def mean(self) -> float:
        return float(self.total.sum()) / self.everyone if self.everyone > 0 else 0.0

    @property
    def size(self) -> float:
        """Kish's effective number of rows, (sum w)^2 / sum w^2."""
        return self.everyone**2 / float(self.square.sum()) if self.everyone > 0 else 0.0

    @property
    def leverage(self) -> Floats:
        """Each unit's part of the weight."""
        return self.weight / self.everyone if self.everyone > 0 else self.weight

    def stretch(self) -> Floats:
        """What makes a unit's influence unbiased: 1/sqrt(1 - leverage)."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / np.sqrt(np.maximum(1.0 - self.leverage, 0.0)))

    def influence(self) -> Floats:
        """Each unit's influence on the mean."""
        with np.errstate(invalid="ignore"):
            found = (self.total - self.mean * self.weight) / self.everyone * self.stretch()
        return np.where(self.weight > 0, found, 0.0)


def degrees_of_freedom(first: Side, second: Side | None, shared: Side | None) -> float:
    """Bell and McCaffrey's, of the difference of two means (or of one mean); `shared` holds the rows in both."""
    sides = [(first, 1.0)] if second is None else [(first, 1.0), (second, -1.0)]
    diagonal = np.zeros(first.weight.shape)
    left: list[Floats] = []
    right: list[Floats] = []
    for i, (one, sign) in enumerate(sides):
        for j, (other, turn) in enumerate(sides):
            square = one.square if i == j else None if shared is None else shared.square
            if square is None:
                continue
            scale = sign * turn / (one.everyone * other.everyone)
            a, b = (np.where(side.weight > 0, side.stretch(), 0.0) for side in (one, other))
            diagonal += scale * a * b * square
            left += [-scale * a * square, scale * a * one.leverage, scale * square.sum() * a * one.leverage]
            right += [b * other.leverage, -b * square, b * other.leverage]
    rows, columns = np.stack(left, axis=1), np.stack(right, axis=1)
    on_diagonal = np.sum(rows * columns, axis=1)
    mixed = columns.T @ rows
    trace = float(np.sum(diagonal + on_diagonal))
    squared = float(np.sum(diagonal**2) + 2.0 * np.sum(diagonal * on_diagonal) + np.trace(mixed @ mixed))
    return trace**2 / squared if squared > 0 and np.isfinite(squared) else 1.0
