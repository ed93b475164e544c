"""How small a gap could have been: a bound over all rules on a stated finite set of cells.

Rules that decide by the same permitted features differ only in the share d of each cell (combination of features) that
they select. The least gap at an accuracy is then a linear program, and because its solution is one fixed rule, ordinary
standard errors of that rule's accuracy and gap make it a bound that holds with confidence 1 − α: no uniform bound over
rules is needed. It is worth having from about 5,000 rows and up to 50 cells; otherwise none is given.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.special import ndtri

Floats = NDArray[np.float64]

MOST_CELLS = 50
FEWEST_ROWS = 5_000


def least_gap(share_a: Floats, share_b: Floats, gain: Floats, wanted: float) -> float | None:
    """min |Σ d(p_a − p_b)| subject to Σ d·gain ≥ wanted and 0 ≤ d ≤ 1; None where no rule has that accuracy."""
    cells = gain.size
    difference = share_a - share_b
    above = np.vstack([np.append(difference, -1.0), np.append(-difference, -1.0), np.append(-gain, 0.0)])
    found = linprog(
        np.append(np.zeros(cells), 1.0),
        A_ub=above,
        b_ub=np.array([0.0, 0.0, -wanted]),
        bounds=[(0.0, 1.0)] * cells + [(0.0, None)],
    )
    return float(found.fun) if found.success and found.fun is not None else None


def least_gap_bound(
    cell: NDArray[np.int64], second: NDArray[np.bool_], outcome: Floats, wanted: float, alpha: float
) -> float | None:
    """A lower bound of every rule's gap in selection rates, at an accuracy of at least `wanted`.

    `cell` numbers each person's combination of features, `second` says who is in the second group.
    """
    rows, cells = cell.size, int(cell.max()) + 1
    z = float(ndtri(1 - alpha / 3))
    share_a, share_b = (np.bincount(cell[who], minlength=cells) / who.sum() for who in (~second, second))
    gain = np.bincount(cell, 2 * outcome - 1, cells) / rows
    needed = wanted - float(np.mean(outcome == 0)) - z / math.sqrt(rows)
    smallest = least_gap(share_a, share_b, gain, needed)
    if smallest is None:
        return None
    error = math.sqrt(0.25 / int((~second).sum()) + 0.25 / int(second.sum()))
    return max(0.0, smallest - z * error)
