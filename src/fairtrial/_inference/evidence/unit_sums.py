"""Rows with weights, and rows of one person or place: sums per unit and finest group, and what they say of two means.

A unit (a person, a hospital) may have rows in several groups. The influence of unit u on the mean of group g is
phi = sum w (y - mean)/(W sqrt(1 - w_u/W)), W the group's weight and w_u the unit's part of it; the covariance of the
means is the sum over units of their products. The degrees of freedom are those of Bell and McCaffrey (2002) for
independent rows, (tr C)^2 / tr C^2, C the covariance of the influences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from fairtrial._inference.numeric.roots import Bools, Floats

# -- Few weights that stand for many: sums of smooth functions of the rows' weights are the same.
# Everything inferred from rows that are units of their own is a sum of smooth functions of a row's weight, one for
# each value. Where no row has much of its group's weight, eight weights at Chebyshev's nodes, each so many times that
# all moments up to the seventh agree, give the same sums to ten digits. Times may be negative; only sums mean
# anything.
NODES = 8
ANGLES = np.pi * (np.arange(NODES) + 0.5) / NODES
# Chebyshev's polynomials by powers.
POLYNOMIALS = np.array([np.pad(chebyshev.cheb2poly(row), (0, NODES))[:NODES] for row in np.eye(NODES)])


class Nodes(NamedTuple):
    """The weights, and how many times each stands in each cell."""

    weight: Floats
    times: Floats


def nodes_of_rows(weight: Floats, cell: NDArray[np.integer], cells: int) -> Nodes:
    """Of rows."""
    low, high = float(weight.min()), float(weight.max())
    x = (weight - (high + low) / 2.0) / _half(low, high)
    moments = np.zeros((cells, NODES))
    before, now = x, np.ones(x.size)  # the polynomials of order -1 and 0
    for order in range(NODES):
        moments[:, order] = np.bincount(cell, now, cells)
        before, now = now, 2.0 * x * now - before
    return _nodes(moments, low, high)


def nodes_of_powers(powers: Floats, centre: float, spread: float, low: float, high: float) -> Nodes:
    """Of sums of ((weight - centre) / spread)^k, k up to the seventh, one line per cell."""
    half = _half(low, high) / spread
    middle = ((high + low) / 2.0 - centre) / spread
    # x - middle over half, its powers by those of x, and Chebyshev's polynomials by those
    step, power = np.array([-middle / half, 1.0 / half]), np.ones(1)
    into = np.zeros((NODES, NODES))
    for order in range(NODES):
        into[order, : power.size] = power
        power = np.polynomial.polynomial.polymul(power, step)
    about = powers[:, :NODES] @ into.T
    return _nodes(about @ POLYNOMIALS.T, low, high)


def _half(low: float, high: float) -> float:
    return max((high - low) / 2.0, 1e-300)


def _nodes(moments: Floats, low: float, high: float) -> Nodes:
    """From the moments of Chebyshev's polynomials between the smallest and the largest weight."""
    factor = np.where(np.arange(NODES) == 0, 1.0, 2.0) / NODES
    times = (moments * factor) @ np.cos(np.outer(np.arange(NODES), ANGLES))
    return Nodes((high + low) / 2.0 + (high - low) / 2.0 * np.cos(ANGLES), times)


MANY_ROWS = 20_000
LITTLE = 0.005  # of a finest group's weight
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
    alone: bool = False  # every line is a row that is a unit of its own
    times: Floats | float = 1.0  # for how many units a line stands

    @classmethod
    def of_rows(cls, unit: Codes, atom: Codes, weight: Floats, value: Floats, atoms: int) -> UnitSums:
        """From rows that count (weights above zero); units are numbered from 0."""
        units = int(unit.max()) + 1 if unit.size else 0
        alone = bool(
            np.array_equal(unit, np.arange(unit.size))
        )  # every row a unit of its own: nothing to sort
        lines = _by_line(unit, atom, atoms, (weight, weight * value, weight**2), alone)
        binary = bool(np.isin(value, (0.0, 1.0)).all())
        alone = alone or np.unique(unit).size == unit.size
        counted = alone and bool(np.all(weight == weight[:1]))
        if not alone and lines[0].size == units and _all_alike(unit, value):
            # every unit's rows say the same: they are one row with all their weight
            lines, alone = (*lines[:4], lines[2] ** 2), True
        return cls(*lines, units, atoms, binary, counted, alone)

    @classmethod
    def of_sums(
        cls,
        unit: Codes,
        atom: Codes,
        sums: tuple[Floats, Floats, Floats],
        times: Floats,
        atoms: int,
        binary: bool,
        alone: bool,
    ) -> UnitSums:
        """From sums (weights, weighted values, squared weights) of units that each stand for `times` people."""
        units = int(unit.max()) + 1 if unit.size else 0
        for_whom = np.ones(units)
        for_whom[unit] = times
        lines = _by_line(unit, atom, atoms, sums)
        return cls(*lines, units, atoms, binary, False, alone, for_whom)

    def expanded(self) -> UnitSums | None:
        """One unit per person; None where units do not stand for whole people, but for moments of many rows."""
        if isinstance(self.times, float) or (self.alone and self.binary):
            return self
        times = np.rint(self.times).astype(np.int64)
        if (times < 1).any() or not np.array_equal(times, self.times):
            return None
        line = np.repeat(np.arange(self.unit.size), times[self.unit])
        first = np.cumsum(times) - times
        # the copies of a unit's lines, one after the other: the number of the copy is its unit's
        place = np.arange(line.size) - np.searchsorted(line, line)
        return replace(
            self, unit=first[self.unit[line]] + place, atom=self.atom[line], weight=self.weight[line],
            total=self.total[line], square=self.square[line], units=int(times.sum()), times=1.0,
        )  # fmt: skip

    def side(self, inside: Bools) -> UnitTotals:
        """The sums of one union of finest groups, unit by unit."""
        chosen = inside[self.atom]
        weight, total, square = (
            np.bincount(self.unit[chosen], of[chosen], self.units).astype(np.float64)
            for of in (self.weight, self.total, self.square)
        )
        return UnitTotals(weight, total, square, self.times)

    @classmethod
    def of_nodes(cls, nodes: Nodes, atoms: int) -> UnitSums:
        """From few weights that stand for many rows, first those without the event, then those with it."""
        weight = np.tile(nodes.weight, 2 * atoms)
        event, atom = np.divmod(np.repeat(np.arange(2 * atoms), nodes.weight.size), atoms)
        unit = np.arange(weight.size)
        return cls(
            unit, atom, weight, weight * event, weight**2, unit.size, atoms, True, False, True, nodes.times.ravel()
        )  # fmt: skip

    def pooled(self) -> UnitSums:
        """The same sums by few lines that stand for many rows, where the rows are many and none has much weight."""
        if not self._poolable():
            return self
        event = np.rint(self.total / self.weight).astype(np.int64)
        cell, cells = event * self.atoms + self.atom, 2 * self.atoms
        return UnitSums.of_nodes(nodes_of_rows(self.weight, cell, cells), self.atoms)

    def _poolable(self) -> bool:
        """Events of many rows, each a unit of its own, none with much of its finest group's weight."""
        if not self.binary or self.counted or not self.alone or self.unit.size < MANY_ROWS:
            return False
        totals = np.bincount(self.atom, self.weight, self.atoms).astype(np.float64)
        return are_little(float(self.weight.max()), totals)


Lines = tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats, Floats]


def _by_line(
    unit: Codes, atom: Codes, atoms: int, columns: tuple[Floats, Floats, Floats], apart: bool = False
) -> Lines:
    """Unit and finest group of each line, and the columns' sums there; `apart` where every row is a line."""
    keys, line = unit.astype(np.int64) * atoms + atom, np.arange(unit.size)
    if not apart:
        keys, line = np.unique(keys, return_inverse=True)
    weight, total, square = (np.bincount(line, of, keys.size).astype(np.float64) for of in columns)
    return keys // atoms, keys % atoms, weight, total, square


def _all_alike(unit: Codes, value: Floats) -> bool:
    """Whether all rows of every unit have one value."""
    first = np.empty(int(unit.max()) + 1)
    first[unit] = value
    return bool(np.array_equal(first[unit], value))


def are_little(largest: float, totals: Floats) -> bool:
    """Whether no row has much of its finest group's weight."""
    return bool(largest <= LITTLE * totals[totals > 0].min(initial=np.inf))


class UnitTotals(NamedTuple):
    """Per unit: weight, weighted sum of values, sum of squared weights; and for how many units it stands."""

    weight: Floats
    total: Floats
    square: Floats
    times: Floats | float = 1.0

    def sum(self, of: Floats) -> float:
        return float((of * self.times).sum())

    @property
    def everyone(self) -> float:
        return self.sum(self.weight)

    @property
    def people(self) -> int:
        """Units with rows here."""
        return round(self.sum((self.weight > 0).astype(np.float64)))

    @property
    def mean(self) -> float:
        return self.sum(self.total) / self.everyone if self.everyone > 0 else 0.0

    @property
    def size(self) -> float:
        """Kish's effective number of rows, (sum w)^2 / sum w^2."""
        return self.everyone**2 / self.sum(self.square) if self.everyone > 0 else 0.0

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

    def parts(self) -> tuple[Floats, Floats, Floats, Floats | float]:
        """Of the units with rows: their weights, what is left of their values, their influence, how many they are."""
        there = self.weight > 0
        times = self.times if isinstance(self.times, float) else self.times[there]
        rest = self.total - self.mean * self.weight
        return self.weight[there], rest[there], self.influence()[there], times


def degrees_of_freedom(first: UnitTotals, second: UnitTotals | None, shared: UnitTotals | None) -> float:
    """Bell and McCaffrey's, of the difference of two means (or of one mean); `shared` holds the rows in both."""
    sides = [(first, 1.0)] if second is None else [(first, 1.0), (second, -1.0)]
    stretches, leverages = (
        [of(side) for side, _ in sides] for of in (UnitTotals.stretch, lambda one: one.leverage)
    )
    diagonal = np.zeros(first.weight.shape)
    left: list[Floats] = []
    right: list[Floats] = []
    for i, (one, sign) in enumerate(sides):
        for j, (other, turn) in enumerate(sides):
            square = one.square if i == j else None if shared is None else shared.square
            if square is None:
                continue
            scale = sign * turn / (one.everyone * other.everyone)
            # units without rows here have neither weight nor leverage, so that their stretch does not count
            a, b = scale * stretches[i], stretches[j]
            own, theirs, part = a * leverages[i], b * leverages[j], a * square
            diagonal += part * b
            left += [-part, own, first.sum(square) * own]
            right += [theirs, -b * square, theirs]
    on_diagonal = sum(row * column for row, column in zip(left, right, strict=True))
    mixed = np.array(
        [[column @ row for row in left] for column in (column * first.times for column in right)]
    )
    trace = first.sum(diagonal + on_diagonal)
    squared = first.sum(diagonal * (diagonal + 2.0 * on_diagonal)) + float(np.trace(mixed @ mixed))
    return trace**2 / squared if squared > 0 and np.isfinite(squared) else 1.0


class RowsAndUnits(NamedTuple):
    """What rows by themselves, and what their units, give to the square of a unit's distance from the mean."""

    rows: float
    units: float


# in standard errors of it, by how much the rows' own part is taken for less than it seems
CAREFUL = 0.75


def rows_and_units(sides: Sequence[UnitTotals], binary: bool) -> RowsAndUnits:
    """A line through the squared distances of the units' means, which fall with the rows of a unit.

    With rows all twice the line is the same; rates are taken by the variance of their rows. Where it does not fall, or
    all units are of one size, all is the units'.
    """
    sizes, distances, people = [], [], []
    for side in sides:
        there = side.weight > 0
        distance = (side.influence()[there] * side.everyone / side.weight[there]) ** 2
        distances.append(distance / max(side.mean * (1.0 - side.mean), 1e-300) if binary else distance)
        sizes.append(side.square[there] / side.weight[there] ** 2)
        people.append(np.broadcast_to(side.times, there.shape)[there])
    x, y, times = np.concatenate(sizes), np.concatenate(distances), np.concatenate(people)
    trust = 1.0 / (x + _median(x, times)) ** 2
    trust /= times @ trust
    all_of = times * trust
    centre, level = float(all_of @ x), float(all_of @ y)
    spread = float(all_of @ (x - centre) ** 2)
    if spread <= 1e-9 * centre**2:
        return RowsAndUnits(0.0, 1.0)
    slope = float(all_of @ ((x - centre) * (y - level))) / spread
    left = y - level - slope * (x - centre)
    error = float(np.sqrt(all_of * trust @ ((x - centre) * left) ** 2)) / spread
    rows = max(slope - CAREFUL * error, 0.0)
    return RowsAndUnits(rows, max(level - rows * centre, 0.0)) if rows > 0 else RowsAndUnits(0.0, 1.0)


def _median(values: Floats, times: Floats) -> float:
    """The median of values that each stand for `times` units."""
    order = np.argsort(values)
    until = np.cumsum(times[order])
    middle = np.searchsorted(until, [0.5 * until[-1], 0.5 * until[-1] + 0.5])
    return float(values[order][np.minimum(middle, values.size - 1)].mean())


def df_of_uneven_units(
    first: UnitTotals, second: UnitTotals | None, shared: UnitTotals | None, *, binary: bool
) -> float:
    """The degrees of freedom where rows of one unit are as much alike as they seem to be.

    A large unit is then hardly better known than a small one. Where one of 20 units holds half of a side's rows and
    units differ, independent rows leave several degrees of freedom, and the units about two: gaps that are none were
    rejected in .31 to .36 at .2.
    """
    sides = [first] if second is None else [first, second]
    part = rows_and_units(sides, binary)
    inside = (
        np.zeros(first.weight.shape, dtype=bool)
        if second is None
        else (first.weight > 0) & (second.weight > 0)
    )
    # a unit on both sides moves both: what all its rows share says nothing of the gap, so that they stay rows
    squares = sum(side.sum(np.where(inside, side.square, 0.0)) for side in sides)
    of_units = sum(side.sum(np.where(inside, side.weight**2, 0.0)) for side in sides)
    times = part.rows + part.units * of_units / max(squares, 1e-300)
    mixed = [
        side._replace(
            square=np.where(
                inside, times * side.square, part.rows * side.square + part.units * side.weight**2
            )
        )
        for side in sides
    ]
    both = None if shared is None else shared._replace(square=times * shared.square)
    return degrees_of_freedom(mixed[0], None if second is None else mixed[1], both)
