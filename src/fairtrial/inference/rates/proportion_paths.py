"""Limits of differences and ratios of two rates along the path of their Lagrange multiplier.

At the maximum of the likelihood under 'difference = delta' or 'ratio = rho' both rates are a closed form of one
multiplier, so that a limit is the root of a nearly linear function of it and no constrained maximum has to be searched
for. Tables with an empty cell, and those where Newton's steps do not settle, are left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairtrial.inference.numeric.roots import Floats

Bools = NDArray[np.bool_]
STEPS = 12
# Of the critical value: one more of Newton's steps leaves the square of it.
NEAR = 1e-8


def difference_path_limits(
    k1: Floats, n1: Floats, k2: Floats, n2: Floats, critical: Floats
) -> tuple[Floats, Bools]:
    """Likelihood-ratio limits of the first rate minus the second, lower and upper, and where they were found.

    The multiplier m = (k1 - n1 p1) / (p1 (1 - p1)) = -(k2 - n2 p2) / (p2 (1 - p2)) makes each rate the root of a
    quadratic, and 2m is the slope of the deviance in the difference.
    """
    filled, (k, n) = _both_samples(k1, n1, k2, n2)
    # First axis: sample; second: lower limit, where m is positive, and upper limit.
    k, n = k[:, None], n[:, None]
    sign = np.array([[1.0, -1.0], [-1.0, 1.0]]).reshape(2, 2, *(1,) * k1.ndim)

    def rates(size: Floats) -> tuple[Floats, Floats, Floats]:
        multiplier = sign * size
        middle = n + multiplier
        spread = np.sqrt(middle * middle - 4.0 * k * multiplier)
        # Two forms of the same root: each without the subtraction that would cost its digits.
        far = (middle - spread) / (2.0 * multiplier)
        return multiplier, np.where(middle > 0.0, 2.0 * k / (middle + spread), far), spread

    def root(size: Floats) -> tuple[Floats, Floats]:
        multiplier, rate, spread = rates(size)
        other = 1.0 - rate
        part = multiplier / n
        # k/(n p) - 1 = m (1 - p)/n, which keeps its digits at n = 1e9.
        deviance = k * np.log1p(part * other) + (n - k) * np.log1p(-part * rate)
        value = np.sqrt(2.0 * (deviance[0] + deviance[1]))
        weight = rate * other / spread
        return value, size * (weight[0] + weight[1]) / value

    variance = (k * (n - k) / n**3).sum(axis=0)
    size, settled = _newton(root, critical / np.sqrt(variance), critical, np.inf)
    _, rate, _ = rates(size)
    return rate[0] - rate[1], filled & settled.all(axis=0)


def ratio_path_limits(
    k1: Floats, n1: Floats, k2: Floats, n2: Floats, critical: Floats
) -> tuple[Floats, Bools]:
    """Score limits of the first rate over the second (Koopman 1984), lower and upper, and where they were found.

    With the multiplier m = (k1 - n1 p1) / (1 - p1) = -(k2 - n2 p2) / (1 - p2) the rates are p1 = (k1 - m) / (n1 - m)
    and p2 = (k2 + m) / (n2 + m), and Koopman's statistic is m^2 ((1 - p1) / (n1 p1) + (1 - p2) / (n2 p2)).
    """
    filled, (k, n) = _both_samples(k1, n1, k2, n2)
    # The upper limit is the inverse of the lower one with the samples exchanged: first line lower, second upper.
    falling, rising = k, k[::-1]
    failed, other_failed = (n - k) / n, ((n - k) / n)[::-1]

    def root(size: Floats) -> tuple[Floats, Floats]:
        down, up = failed / (falling - size), other_failed / (rising + size)
        scale = np.sqrt(down + up)
        slope = scale + size * (down / (falling - size) - up / (rising + size)) / (2.0 * scale)
        return size * scale, slope

    # The root of m^2 g k/(k - m) = critical^2 with the right g at m = 0: it stays below k, where the rate ends.
    square, start = critical**2, failed / falling + other_failed / rising
    guess = 2.0 * square * falling / (square + np.sqrt(square**2 + 4.0 * start * falling**2 * square))
    size, settled = _newton(root, guess, critical, falling)
    ratio = (falling - size) / (n - size) * (n[::-1] + size) / (rising + size)
    return np.stack([ratio[0], 1.0 / ratio[1]]), filled & settled.all(axis=0)


def _both_samples(k1: Floats, n1: Floats, k2: Floats, n2: Floats) -> tuple[Bools, tuple[Floats, Floats]]:
    """Which tables have no empty cell, and counts of both samples with those that have one replaced."""
    k, n = np.stack([k1, k2]), np.stack([n1, n2])
    filled = (k1 > 0) & (k1 < n1) & (k2 > 0) & (k2 < n2)
    return filled, (np.where(filled, k, 1.0), np.where(filled, n, 2.0))


def _newton(
    root: Callable[[Floats], tuple[Floats, Floats]], size: Floats, critical: Floats, most: Floats | float
) -> tuple[Floats, Bools]:
    """Where an increasing root (given with its slope) is critical, sizes below `most`; and whether it was reached."""
    for _ in range(STEPS):
        value, slope = root(size)
        distance = value - critical
        # Half the way to either end at most, so that every step stays inside.
        size = np.clip(size - distance / slope, 0.5 * size, 0.5 * (size + most))
        near = np.abs(distance) <= NEAR * critical
        if near.all():
            break
    return size, near
