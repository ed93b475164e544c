"""Rates at every threshold of a score at once: bands that hold together, and the largest gap of two groups.

The share of n people at or above a threshold has an exact binomial interval at each threshold. Taken at a local level
eta instead of alpha, the intervals hold at all thresholds together: the share at the k-th largest score is
Beta(k, n - k + 1), and eta is the alpha-quantile of the smallest two-sided tail over k (equal local levels, Berk and
Jones 1979; Aldor-Noiman et al. 2013). Ties make it only wider. The Dvoretzky-Kiefer-Wolfowitz band has one width
everywhere: at a rate of 2% and 1,000 people 0 to 6.3%, where this one has 0.7 to 4.3%.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Local levels by sample size (rows) and error (columns), from 60,000 samples each: scripts/local_levels.py.
ERRORS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
SIZES = (
    1,
    2,
    3,
    4,
    6,
    8,
    12,
    16,
    25,
    40,
    60,
    100,
    200,
    400,
    1000,
    3000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
)
LOCAL_LEVELS = (
    (0.5, 0.302, 0.201, 0.101, 0.0508, 0.0205, 0.0106, 0.00548, 0.00203, 0.00103),  # 1
    (0.314, 0.176, 0.113, 0.054, 0.0263, 0.00988, 0.00491, 0.00242, 0.000969, 0.000427),  # 2
    (0.241, 0.131, 0.083, 0.0399, 0.019, 0.00727, 0.00358, 0.00173, 0.000694, 0.000423),  # 3
    (0.199, 0.106, 0.0674, 0.0309, 0.0144, 0.00557, 0.0028, 0.00147, 0.000606, 0.000348),  # 4
    (0.154, 0.0809, 0.0503, 0.0233, 0.0109, 0.00425, 0.00213, 0.00105, 0.000417, 0.000201),  # 6
    (0.131, 0.0673, 0.0416, 0.0193, 0.00903, 0.0034, 0.00166, 0.000811, 0.000323, 0.000152),  # 8
    (0.105, 0.053, 0.0319, 0.0142, 0.00643, 0.00237, 0.00114, 0.000549, 0.000216, 0.000118),  # 12
    (0.091, 0.0447, 0.0268, 0.0118, 0.00537, 0.00196, 0.000935, 0.000449, 0.000178, 8.39e-05),  # 16
    (0.0727, 0.0358, 0.0215, 0.0093, 0.00409, 0.00153, 0.000675, 0.000331, 0.000135, 6.46e-05),  # 25
    (0.0598, 0.029, 0.0172, 0.00724, 0.00322, 0.00118, 0.000557, 0.00026, 9.88e-05, 4.6e-05),  # 40
    (0.0502, 0.024, 0.0142, 0.00609, 0.00273, 0.000962, 0.000429, 0.000203, 7.44e-05, 3.31e-05),  # 60
    (0.0423, 0.0199, 0.0116, 0.00497, 0.00219, 0.000757, 0.000345, 0.000152, 5.87e-05, 2.47e-05),  # 100
    (0.0343, 0.0161, 0.00939, 0.00391, 0.00176, 0.000611, 0.000283, 0.000134, 5.13e-05, 2.24e-05),  # 200
    (0.028, 0.013, 0.00747, 0.00313, 0.00138, 0.000475, 0.000216, 0.000103, 3.8e-05, 1.79e-05),  # 400
    (0.0233, 0.0107, 0.00621, 0.00261, 0.00112, 0.000402, 0.000179, 8.34e-05, 2.89e-05, 1.31e-05),  # 1,000
    (0.0194, 0.00892, 0.00518, 0.00215, 0.000956, 0.000337, 0.000152, 7.22e-05, 2.94e-05, 1.23e-05),  # 3,000
    (0.0164, 0.00755, 0.00431, 0.0018, 0.000801, 0.000275, 0.000126, 6.1e-05, 2.23e-05, 1.25e-05),  # 10,000
    (0.0131, 0.00603, 0.0035, 0.00151, 0.000675, 0.000235, 0.000108, 4.85e-05, 1.88e-05, 9.63e-06),  # 100,000
    (
        0.0107,
        0.00495,
        0.00286,
        0.00121,
        0.00054,
        0.000185,
        8.45e-05,
        3.89e-05,
        1.49e-05,
        7.85e-06,
    ),  # 1,000,000
    (
        0.00936,
        0.00438,
        0.00253,
        0.00108,
        0.000494,
        0.000175,
        8.46e-05,
        3.96e-05,
        1.51e-05,
        6.48e-06,
    ),  # 10,000,000
)

# Beyond 400 people not every place was looked at: without this 10,000 people's band errs 5.4% for 5%.
SPARSE = 0.9
SURE = (
    0.92  # the table is drawn and interpolated: without it exact errors reach 5.17% for 5% and 1.08% for 1%
)


def local_level(n: Floats, level: float) -> Floats:
    """The error at each threshold with which n people's band errs in 1 - level of samples anywhere."""
    sizes, errors = np.log(np.array(SIZES, dtype=float)), np.log(np.array(ERRORS))
    table = np.log(np.array(LOCAL_LEVELS)) + np.log(np.where(np.array(SIZES) > 400, SPARSE, 1.0))[:, None]
    error = np.log(1.0 - level)
    place = int(np.clip(np.searchsorted(-errors, -error) - 1, 0, len(errors) - 2))
    share = (error - errors[place]) / (errors[place + 1] - errors[place])
    at_error = (1.0 - share) * table[:, place] + share * table[:, place + 1]
    wanted = SURE * np.exp(np.interp(np.log(np.maximum(n, 1.0)), sizes, at_error))
    return np.asarray(np.minimum(wanted, 1.0 - level))


def exact_limits(k: Floats, n: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Clopper and Pearson's limits of a rate, each side at half the error."""
    k, n, error = np.broadcast_arrays(k, n, error)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1.0), n - k + 1.0, error / 2.0), 0.0)
    high = np.where(k < n, betaincinv(k + 1.0, np.maximum(n - k, 1.0), 1.0 - error / 2.0), 1.0)
    return low, high


def band(k: Floats, n: float, level: float) -> tuple[Floats, Floats]:
    """Limits of the rate at every threshold, all at once: k of n people are at or above it."""
    return exact_limits(k, np.asarray(float(n)), local_level(np.array([float(n)]), level))


@dataclass(frozen=True, slots=True)
class LargestGap:
    """The gap of two shares at or above a threshold where it is largest, with limits that hold at every threshold."""

    place: int  # of the threshold among the sorted scores
    count: int  # people of the group at or above it
    target_count: int
    gap: float
    low: float
    high: float
    p: float


def gap_width(n: float, m: float, level: float) -> float:
    """How far the gap of two samples' shares may be from the true one at any threshold.

    Dvoretzky, Kiefer and Wolfowitz with Massart's constant at n m / (n + m) people (Wei and Dudley 2012).
    """
    return float(np.sqrt(np.log(2.0 / (1.0 - level)) * (n + m) / (2.0 * n * m)))


def gap_p_value(gap: float, n: float, m: float) -> float:
    """The error at which the limits of the largest gap reach 0, so that limits and p-value agree."""
    return float(min(1.0, 2.0 * np.exp(-2.0 * n * m / (n + m) * gap**2)))


def largest_gap(own: Ints, others: Ints | None, ends: tuple[Ints, Ints], level: float) -> LargestGap:
    """A group's shares against those of others at every threshold, others being everyone else where they are None.

    People are named by their places among all sorted scores, ascending; `ends` are, for each place, the first place
    with the same score and the first with a higher one. Between two of the group's own scores its share stands still
    and the others' only falls, so that the gap is largest at one of its scores or just above one.
    """
    first, after = ends
    starts, n = first[own], own.size
    new = np.flatnonzero(np.diff(starts, prepend=-1))  # the group's first person of each score
    at, above = n - new, n - np.append(new[1:], n)
    places = np.concatenate([starts[new], after[own][new]])
    count = np.concatenate([at, above])
    if others is None:
        everyone = first.size - places
        target, m = everyone - count, first.size - n
    else:
        target, m = others.size - np.searchsorted(first[others], places), others.size
    gaps = count / n - target / m
    worst = int(np.argmax(np.abs(gaps)))
    gap, away = float(gaps[worst]), gap_width(n, m, level)
    return LargestGap(
        int(min(places[worst], first.size - 1)), int(count[worst]), int(target[worst]), gap,
        max(gap - away, -1.0), min(gap + away, 1.0), gap_p_value(gap, n, m),
    )  # fmt: skip
