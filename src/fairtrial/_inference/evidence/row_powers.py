"""Weighted rows that are units of their own: many groups at once, by sums of powers of the weights.

What a group's mean is inferred from are sums over its rows of w^k/(1 - w/W)^p, W the group's weight. Where no row has
much of that weight they are short series in sums of powers, which add up over finest groups; a group in which some row
has much is summed row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

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
        if np.array_equal(self.times, np.rint(self.times)):  # whole rows, and no moments of many
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
        weight, value, times = self.weight[chosen], self.value[chosen], self.times[chosen]
        everyone = max(float(times @ weight), 1e-300)
        mean = float((times * weight) @ value) / everyone
        with np.errstate(divide="ignore"):
            stretch = 1.0 / np.maximum(1.0 - weight / everyone, 0.0)

        def exact(of: Floats) -> Callable[[int, int], Floats]:
            return lambda power, stretched: np.asarray((of * weight**power * stretch**stretched).sum())

        found = _side(
            np.asarray(times.sum()), np.asarray(everyone), np.asarray(times @ weight**2), np.asarray(mean),
            exact(times), exact(times * (value - mean) ** 2),
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


# -- Gaps among people alike, of weighted rows and repeated units: what one group's comparison rests on.
# With Mantel and Haenszel's weights K = W1 W2/(W1 + W2) of the weighted people, the mean of the strata's
# gaps is the coefficient of the group in the weighted regression on it and on the strata: a row counts by
# w x (y - fitted), x how far its side lies from its stratum's share of the group. A unit's sum of these
# is stretched so that its square is unbiased for independent rows of one variance; the degrees of freedom
# are those of Bell and McCaffrey (2002) for such rows.

# the square of a unit's part that is left of a row of its own, below which there is nothing to stretch
NOTHING_LEFT = 1e-9


class ComparedLines(NamedTuple):
    """Unit, stratum and sums of the lines of one comparison; `x` is above zero in the group, below in the target."""

    unit: NDArray[np.int64]
    stratum: NDArray[np.int64]
    x: Floats
    weight: Floats
    square: Floats
    residual: Floats  # sum of w (y - fitted)


class UnitParts(NamedTuple):
    """Of each unit, its part in the group's side and in the target's; and the degrees of freedom."""

    own: Floats
    other: Floats
    df: float


def unit_parts(lines: ComparedLines, units: int, strata: int) -> UnitParts:
    """Each unit's part in the two standardised means."""
    x, weight, square = lines.x, lines.weight, lines.square
    total = float((x**2 * weight).sum())  # the sum of K over the strata
    in_stratum = np.bincount(lines.stratum, weight, strata)
    squares = np.bincount(lines.stratum, square, strata).astype(np.float64)
    across = np.bincount(lines.stratum, x * square, strata)  # of w and w x within a stratum

    def by_unit(of: Floats) -> Floats:
        return np.bincount(lines.unit, of, units).astype(np.float64)

    moved = x * weight / in_stratum[lines.stratum]
    own = by_unit(x**2 * square)
    part = by_unit(x**2 * weight) / total
    pulled = by_unit(moved * across[lines.stratum])
    spread = float(own.sum())
    shares, crossed = (
        sparse.csr_matrix((of, (lines.unit, lines.stratum)), shape=(units, strata))
        for of in (moved, x * square)
    )
    # a unit's own row of: -(B Q' + Q B') + B diag(q) B' - (h z' + z h') + (h c' + c h') + spread h h'
    left = (
        own
        - 2.0 * _row_sums(shares.multiply(crossed))
        + _row_sums(shares.multiply(shares) @ sparse.diags(squares))
        + part * (2.0 * (pulled - own) + spread * part)
    )
    told = left > NOTHING_LEFT * own
    stretch = np.sqrt(np.divide(own, left, out=np.zeros(units), where=told))
    inner = _inner(squares, spread)
    columns = sparse.hstack(
        [shares, crossed, sparse.csr_matrix(np.stack([part, own, pulled], axis=1))], format="csr"
    )
    stretched = sparse.diags(stretch) @ columns
    gram = (stretched.T @ stretched).tocsr()
    product = inner @ gram
    diagonal = stretch**2 * own
    trace = float(np.sum(stretch**2 * left))
    mixed = diagonal**2 + 2.0 * diagonal * (stretch**2 * (left - own))
    squared = float(mixed.sum()) + float(product.multiply(product.T).sum())
    sides = [
        by_unit(np.where(x > 0, x, 0.0) * lines.residual),
        by_unit(np.where(x < 0, -x, 0.0) * lines.residual),
    ]
    df = trace**2 / squared if squared > 0 and np.isfinite(squared) else 1.0
    return UnitParts(stretch * sides[0] / total, stretch * sides[1] / total, df)


def _row_sums(matrix: Any) -> Floats:
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()


def _inner(squares: Floats, spread: float) -> Any:
    """How shares, crossed sums and the three vectors enter the covariance of the units' parts."""
    strata = squares.size
    one = sparse.identity(strata, format="csr")
    corner = sparse.csr_matrix(np.array([[spread, -1.0, 1.0], [-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    return sparse.bmat(
        [[sparse.diags(squares), -one, None], [-one, None, None], [None, None, corner]], format="csr"
    )


# -- The same of rows that are units of their own: all groups at once, by sums of powers.

# The largest step with which the series end in time, about twice the share of the largest weight in its stratum's.
SHORT = 0.025


class PowerSides(NamedTuple):
    """Per group, stratum and side (the group's, the target's): sums of w^k, and of w^k (y - fitted)^2."""

    weights: Floats
    squares: Floats


class RowParts(NamedTuple):
    """Per group the variances of the two standardised means and the degrees of freedom; and what stretches rows."""

    variances: Floats
    df: Floats
    least: Floats  # k, by group, stratum and side
    slope: Floats  # l
    step: Floats  # the largest l/k of each group


def row_parts(sides: PowerSides, x: Floats) -> RowParts:
    """`x`: how far a side lies from its stratum's share of the group; zero where nobody is compared."""
    weights = np.where(x[..., None] != 0, sides.weights, 0.0)
    w1, w2 = weights[..., 1], weights[..., 2]
    stratum, squares = (np.where(of > 0, of, 1.0) for of in (w1.sum(axis=2), w2.sum(axis=2)))
    across = (x * w2).sum(axis=2)
    total = np.maximum((x**2 * w1).sum(axis=(1, 2)), 1e-300)
    spread = (x**2 * w2).sum(axis=(1, 2))
    k, s, q, a = total[:, None, None], stratum[..., None], squares[..., None], across[..., None]
    least = 1.0 + q / s**2 + 2.0 * x * a / (k * s) + spread[:, None, None] * x**2 / k**2
    slope = 2.0 / s + 2.0 * x**2 / k
    step = slope / least
    summed, residual = series(weights, step), series(sides.squares, step)
    variances = (x**2 / (least * k**2) * residual(2, 1)).sum(axis=1).T
    second, third, fourth = (summed(power, 1) / least for power in (2, 3, 4))
    diagonal = (x**4 * (2.0 * fourth - summed(4, 2) / least**2)).sum(axis=(1, 2))
    beside = _beside(x, second, third, fourth, k, s, q, a, spread)
    squared = diagonal + beside
    usable = (squared > 0) & np.isfinite(squared)
    df = np.divide(spread**2, squared, out=np.ones(spread.size), where=usable)
    heavy = np.where(x != 0, step, 0.0).max(axis=(1, 2))
    return RowParts(np.stack([*variances, np.zeros(df.size)]), df, least, slope, heavy)


def _beside(
    x: Floats,
    second: Floats,
    third: Floats,
    fourth: Floats,
    k: Floats,
    s: Floats,
    q: Floats,
    a: Floats,
    spread: Floats,
) -> Floats:
    """The trace of the squared covariance of the rows' parts beside its diagonal (see `within_units`)."""

    def both(of: Floats) -> Floats:
        return np.asarray(of.sum(axis=2))

    bb, bq, qq = both(x**2 * second / s**2), both(x**2 * third / s), both(x**2 * fourth)
    e = np.stack(
        [both(x**3 * second / (s * k)), both(x**3 * third / s), both(x**2 * second * a / s**2)], axis=2
    )
    f = np.stack([both(x**3 * third / k), both(x**3 * fourth), both(x**2 * third * a / s)], axis=2)
    hh, ho, hc = x**4 * second / k**2, x**4 * third / k, x**3 * second * a / (s * k)
    oo, oc, cc = x**4 * fourth, x**3 * third * a / s, x**2 * second * a**2 / s**2
    corner = np.zeros((spread.size, 3, 3))
    for (row, column), of in {(0, 0): hh, (0, 1): ho, (0, 2): hc, (1, 1): oo, (1, 2): oc, (2, 2): cc}.items():
        corner[:, row, column] = corner[:, column, row] = of.sum(axis=(1, 2))
    inner = np.zeros((spread.size, 3, 3))
    inner[:, 0, 0] = spread
    inner[:, 0, 1] = inner[:, 1, 0] = -1.0
    inner[:, 0, 2] = inner[:, 2, 0] = 1.0
    q = q[..., 0]
    blocks = ((q * bb - bq) ** 2 + bq**2 - 2.0 * (q * bq - qq) * bb).sum(axis=1)
    mixed = np.einsum("gsi,gij,gsj->g", q[..., None] * e - 2.0 * f, inner, e)
    last = inner @ corner
    return np.asarray(blocks + 2.0 * mixed + np.einsum("gij,gji->g", last, last))
