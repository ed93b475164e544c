"""What all of stats shares: the array type, and root finding with one bracket per element."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# 0.5**64 of a bracket no wider than a few units is below the spacing of doubles.
HALVINGS = 64


def floats(*values: ArrayLike) -> list[Floats]:
    """The values as float arrays of one shape."""
    return [np.array(v, dtype=np.float64) for v in np.broadcast_arrays(*values)]


def bisect_decreasing(
    function: Callable[[Floats], Floats], low: Floats, high: Floats, halvings: int = HALVINGS
) -> Floats:
    """The point of each bracket where a decreasing function changes sign (an end when it never does)."""
    low, high = low.astype(float), high.astype(float)
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        positive = function(middle) > 0
        low = np.where(positive, middle, low)
        high = np.where(positive, high, middle)
    return 0.5 * (low + high)
