"""Two rates by the slowest way: a general optimiser for the constrained maximum, every table for the tail.

Nothing of the package is used: the contrast is p1 - p2 - v or p1 - v p2, as methods/gaps.md writes it.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, stats


def contrast(p1, p2, value, scale):
    return p1 - p2 - value if scale == "difference" else p1 - value * p2


def constrained(k1, n1, k2, n2, value, scale):
    """The most likely pair of rates with this gap."""
    low, high = (
        (max(0.0, -value), min(1.0, 1.0 - value)) if scale == "difference" else (0.0, min(1.0, 1 / value))
    )
    shift = (lambda p: p + value) if scale == "difference" else (lambda p: p * value)

    def loss(p):
        return -(stats.binom.logpmf(k1, n1, shift(p)) + stats.binom.logpmf(k2, n2, p))

    found = optimize.minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-12})
    return shift(found.x), found.x


def roots(k1, n1, k2, n2, value, scale):
    """Score, score corrected for skewness, likelihood ratio."""
    p1, p2 = constrained(k1, n1, k2, n2, value, scale)
    slope = 1.0 if scale == "difference" else value
    size = (n1 + n2) / (n1 + n2 - 1)
    spread = size * (p1 * (1 - p1) / n1 + slope**2 * p2 * (1 - p2) / n2)
    third = p1 * (1 - p1) * (1 - 2 * p1) / n1**2 - slope**3 * p2 * (1 - p2) * (1 - 2 * p2) / n2**2
    distance = contrast(k1 / n1, k2 / n2, value, scale)
    z, a = distance / np.sqrt(spread), third / spread**1.5 / 6
    skewed = (-1 + np.sqrt(1 + 4 * a * (z + a))) / (2 * a)
    free = stats.binom.logpmf(k1, n1, k1 / n1) + stats.binom.logpmf(k2, n2, k2 / n2)
    bound = stats.binom.logpmf(k1, n1, p1) + stats.binom.logpmf(k2, n2, p2)
    return z, skewed, np.sign(distance) * np.sqrt(2 * (free - bound))


def every_table(n1, n2):
    """All counts of two samples."""
    return (side.ravel() for side in np.meshgrid(np.arange(n1 + 1), np.arange(n2 + 1), indexing="ij"))


def tails(k1, n1, k2, n2, value, scale):
    """Probability of a contrast at least, and at most, the observed one; and of exactly that one."""
    p1, p2 = constrained(k1, n1, k2, n2, value, scale)
    first, second = every_table(n1, n2)
    mass = stats.binom.pmf(first, n1, p1) * stats.binom.pmf(second, n2, p2)
    all_of_them, seen = (
        contrast(first / n1, second / n2, value, scale),
        contrast(k1 / n1, k2 / n2, value, scale),
    )
    tied = np.abs(all_of_them - seen) < 1e-10
    above = mass[(all_of_them > seen) | tied].sum()
    return above, mass[(all_of_them < seen) | tied].sum(), mass[tied].sum()


def largest_tail(k1, n1, k2, n2, value, scale, side):
    """The tail that counts, above (side 0) or below (side 1): of all laws and, with few events, the exact one."""
    z, skewed, likelihood = roots(k1, n1, k2, n2, value, scale)
    laws = [z, skewed, likelihood] if scale == "difference" else [z, skewed]
    found = [stats.norm.sf(root) if side == 0 else stats.norm.cdf(root) for root in laws]
    smallest = min(k1, n1 - k1, k2, n2 - k2)
    if smallest < 10:
        exact = tails(k1, n1, k2, n2, value, scale)
        found.append(exact[side] - 0.5 * min(max((smallest - 5) / 5, 0.0), 1.0) * exact[2])
    return max(found)
