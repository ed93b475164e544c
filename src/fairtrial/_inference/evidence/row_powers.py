"""Weighted rows that are units of their own: many groups at once, by sums of powers of the weights.

What a group's mean is inferred from are sums over its rows of w^k/(1 - w/W)^p, W the group's weight. Where no row has
much of that weight they are short series in sums of powers, which add up over finest groups; a group in which some row
has much is summed row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from fairtrial._inference.evidence.atoms import Membership
from fairtrial._inference.evidence.unit_sums import LITTLE, UnitSums
from fairtrial._inference.numeric.roots import Floats

HIGHEST = 9  # power that is summed
# of the square of a mean: where values spread less, differences of their sums have lost their digits
NARROW = 1e-6


class RowSide(NamedTuple):
    """One mean of every group: people, weight, mean, effective number of rows, variance, and the two traces of the
    influences' covariance that degrees of freedom are made of."""

    people: Floats
    everyone: Floats
    mean: Floats
    size: Floats
    variance: Floats
    trace: Floats
    squared: Floats


class RowPowers:
    """Sums of powers of the weights of every finest group, times values to the power of 0, 1 and 2."""

    def __init__(self, sums: UnitSums) -> None:
        self.sums = sums
        self.unit = float(sums.weight.max())  # powers of weights in units of the largest do not overflow
        self.weight = sums.weight / self.unit
        self.value = np.divide(sums.total, sums.weight, out=np.zeros(sums.total.size), where=sums.weight > 0)
        times = np.broadcast_to(np.asarray(sums.times, dtype=np.float64), self.weight.shape)
        everyone = float((times * self.weight).sum())
        self.centre = 0.0 if sums.binary else float((times * self.weight * self.value).sum()) / everyone
        self.times, self.value = times, self.value - self.centre
        self.table = np.stack(
            [self._powers(times * self.value**order) for order in range(2 if sums.binary else 3)]
        )

    def _powers(self, of: Floats) -> Floats:
        columns = np.zeros((self.sums.atoms, HIGHEST + 1))
        for power in range(HIGHEST + 1):
            columns[:, power] = np.bincount(self.sums.atom, of, self.sums.atoms)
            of = of * self.weight
        return columns

    @property
    def flat(self) -> Floats:
        """One line per finest group."""
        return np.moveaxis(self.table, 0, 1).reshape(self.sums.atoms, -1)

    def by_event(self, member: Membership) -> Floats:
        """Sums of w^k, k up to 3, of every group's rows without the event and with it."""
        powers = (member @ self.flat).reshape(len(member), len(self.table), -1)[..., :4]
        return np.stack([powers[:, 0] - powers[:, 1], powers[:, 1]], axis=1)

    def side(self, member: Membership) -> RowSide:
        """The numbers of every group."""
        powers = np.moveaxis((member @ self.flat).reshape(len(member), len(self.table), -1), 1, 0)
        weights, values = powers[0], powers[1]
        everyone = np.where(weights[:, 1] > 0, weights[:, 1], 1.0)
        mean = values[:, 1] / everyone
        squares = self.squares(powers, mean)
        summed, spread = series(weights, 1.0 / everyone), series(squares, 1.0 / everyone)
        found = _side(weights[:, 0], everyone, weights[:, 2], mean, summed, spread)
        heavy = everyone * LITTLE < 1.0  # of the largest weight there is
        if not self.sums.binary:
            heavy |= squares[:, 2] < NARROW * mean**2 * weights[:, 2]
        if isinstance(self.sums.times, float):
            for index in np.flatnonzero(heavy):
                for column, number in zip(found, self._row_by_row(member[index], mean[index]), strict=True):
                    column[index] = number
        there = weights[:, 0] > 0.5
        empty = [np.where(there, column, 0.0) for column in found]
        empty[1] = empty[1] * self.unit
        empty[2] = np.where(there, found.mean + self.centre, 0.0)
        return RowSide(*empty)

    def squares(self, powers: Floats, mean: Floats) -> Floats:
        """Sums of w^k (y - mean)^2."""
        m = mean[..., None]
        if self.sums.binary:
            return np.asarray(powers[1] * (1.0 - m) ** 2 + (powers[0] - powers[1]) * m**2)
        return np.asarray(powers[2] - 2.0 * m * powers[1] + m**2 * powers[0])

    def _row_by_row(self, inside: Floats, mean: float) -> tuple[float, ...]:
        chosen = inside[self.sums.atom]
        weight, value = self.weight[chosen], self.value[chosen]
        everyone = max(float(weight.sum()), 1e-300)
        mean = float((weight * value).sum()) / everyone
        with np.errstate(divide="ignore"):
            stretch = 1.0 / np.maximum(1.0 - weight / everyone, 0.0)

        def exact(of: Floats) -> Callable[[int, int], Floats]:
            return lambda power, times: np.asarray((of * weight**power * stretch**times).sum())

        one = np.ones(weight.size)
        found = _side(
            np.asarray(float(weight.size)), np.asarray(everyone), np.asarray((weight**2).sum()), np.asarray(mean),
            exact(one), exact((value - mean) ** 2),
        )  # fmt: skip
        return tuple(float(number) for number in found)


def series(sums: Floats, step: Floats) -> Callable[[int, int], Floats]:
    """Sums of w^k/(1 - step w)^p from those of powers (the last axis)."""

    def summed(power: int, times: int) -> Floats:
        orders = np.arange(HIGHEST + 1 - power)
        factor = special.comb(orders + times - 1, orders) * step[..., None] ** orders
        return np.asarray((factor * sums[..., power:]).sum(axis=-1))

    return summed


def _side(
    people: Floats,
    everyone: Floats,
    square: Floats,
    mean: Floats,
    weights: Callable[[int, int], Floats],
    squares: Callable[[int, int], Floats],
) -> RowSide:
    """Variance and traces of one mean: `weights(k, p)` sums w^k/(1 - w/W)^p, `squares` the same times (y - mean)^2.

    The influences' covariance is diagonal, but for what the mean itself owes to each row: with h = w/W the rows' part
    in it is w^2 (1 - 2h) + h^2 sum w^2 on the diagonal, and three products of two columns beside it.
    """
    w = everyone
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.where(square > 0, w**2 / np.where(square > 0, square, 1.0), 0.0)
        second, third, fourth = weights(2, 1), weights(3, 1), weights(4, 1)
        trace = second * (1.0 + square / w**2) - 2.0 * third / w
        x, y = third / w, second / w**2
        off = 2.0 * x**2 + square**2 * y**2 + 2.0 * y * fourth - 4.0 * square * x * y
        squared = weights(4, 2) * (1.0 + 2.0 * square / w**2) - 4.0 * weights(5, 2) / w + off
        return RowSide(people, w, mean, size, squares(2, 1) / w**2, trace / w**2, squared / w**4)
