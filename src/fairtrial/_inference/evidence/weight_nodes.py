"""Few weights that stand for many: sums of smooth functions of the rows' weights are the same.

Everything inferred from rows that are units of their own is a sum of smooth functions of a row's weight, one for each
value. Where no row has much of its group's weight, eight weights at Chebyshev's nodes, each so many times that all
moments up to the seventh agree, give the same sums to ten digits. Times may be negative; only sums mean anything.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from fairtrial._inference.numeric.roots import Floats

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
