"""Gaps among people alike, of weighted rows and repeated units: what one group's comparison rests on.

With Mantel and Haenszel's weights K = W1 W2/(W1 + W2) of the weighted people, the mean of the strata's gaps is the
coefficient of the group in the weighted regression on it and on the strata: a row counts by w x (y - fitted), x how far
its side lies from its stratum's share of the group. A unit's sum of these is stretched so that its square is unbiased
for independent rows of one variance; the degrees of freedom are those of Bell and McCaffrey (2002) for such rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairtrial._inference.numeric.roots import Floats

# the square of a unit's part that is left of a row of its own, below which there is nothing to stretch
NOTHING_LEFT = 1e-9


class Lines(NamedTuple):
    """Unit, stratum and sums of the lines of one comparison; `x` is above zero in the group, below in the target."""

    unit: NDArray[np.int64]
    stratum: NDArray[np.int64]
    x: Floats
    weight: Floats
    square: Floats
    residual: Floats  # sum of w (y - fitted)


class Parts(NamedTuple):
    """Of each unit, its part in the group's side and in the target's; and the degrees of freedom."""

    own: Floats
    other: Floats
    df: float


def unit_parts(lines: Lines, units: int, strata: int) -> Parts:
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
    return Parts(stretch * sides[0] / total, stretch * sides[1] / total, df)


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
