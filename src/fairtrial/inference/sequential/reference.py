"""The interval of the gap in a reference period, which change is measured against.

Its size is fixed in advance, so an ordinary interval will do: that of the Mantel–Haenszel difference, which is the
average gap of `streams`, with Sato's variance (1989). It misses with chance .01; against a point estimate the average
number of periods to a false alarm would be 298 instead of 500.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from fairtrial.inference.numeric.roots import Floats

LEVEL = 0.99
CURVE, SPREAD = 2, 3  # columns of the sums after weight and weighted gap


def add_reference(sums: Floats, cells: Floats, binary: bool) -> None:
    """One more period of the reference: weight, weighted gap and the parts of its variance, in place."""
    n_a, n_b = cells[:, 0, 0], cells[:, 1, 0]
    alone = not cells[:, 1, 0].any()  # a known target: the other side is nobody
    both = (n_a > 0) & ((n_b > 0) | alone)
    a, b = cells[both, 0], cells[both, 1]
    if alone:
        weight, gap = a[:, 0], a[:, 1] / a[:, 0]
        spread = _variance(a, binary) * a[:, 0]
        sums[both] += np.stack([weight, weight * gap, np.zeros_like(weight), spread], axis=1)
        return
    size = a[:, 0] + b[:, 0]
    weight = a[:, 0] * b[:, 0] / size
    gap = a[:, 1] / a[:, 0] - b[:, 1] / b[:, 0]
    if binary:
        lean = a[:, 0] * b[:, 0] * (b[:, 0] - a[:, 0]) / 2
        curve = (a[:, 0] ** 2 * b[:, 1] - b[:, 0] ** 2 * a[:, 1] + lean) / size**2
        spread = (a[:, 1] * (b[:, 0] - b[:, 1]) + b[:, 1] * (a[:, 0] - a[:, 1])) / (2 * size)
    else:
        curve = np.zeros_like(weight)
        spread = weight**2 * (_variance(a, binary) / a[:, 0] + _variance(b, binary) / b[:, 0])
    sums[both] += np.stack([weight, weight * gap, curve, spread], axis=1)


def _variance(side: Floats, binary: bool) -> Floats:
    """Of one row; where a cell of real values cannot tell, the largest that values in [0, 1] can have."""
    n, mean = side[:, 0], side[:, 1] / side[:, 0]
    if binary:
        mean = (side[:, 1] + 0.5) / (n + 1)
        return np.asarray(mean * (1 - mean))
    deviations = np.maximum(side[:, 2] - n * mean**2, 0.0)
    return np.where(n > 1, deviations / np.maximum(n - 1, 1), 0.25)


def reference_interval(sums: Floats) -> Floats:
    """The 99% interval of each stream's average gap in the reference period; NaN where it had no rows."""
    z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    found = np.full((sums.shape[0], 2), np.nan)
    there = sums[:, 0] > 0
    weight = sums[there, 0]
    gap = sums[there, 1] / weight
    variance = np.maximum(gap * sums[there, CURVE] + sums[there, SPREAD], 0.0) / weight**2
    reach = z * np.sqrt(variance)
    found[there] = np.clip(np.stack([gap - reach, gap + reach], axis=1), -1.0, 1.0)
    return found
