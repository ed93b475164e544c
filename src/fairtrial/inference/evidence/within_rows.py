"""Gaps among people alike, of weighted rows that are units of their own: all groups at once, by sums of powers.

The same numbers as `within_units` gives row by row. A row's part is stretched by 1/(k - l w), w its weight and k and l
of its side of the stratum, so that all that is needed are short series in sums of powers of the weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairtrial.inference.evidence.row_powers import series
from fairtrial.inference.numeric.roots import Floats

# The largest step with which the series end in time, about twice the share of the largest weight in its stratum's.
SHORT = 0.025


class Sides(NamedTuple):
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


def row_parts(sides: Sides, x: Floats) -> RowParts:
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
