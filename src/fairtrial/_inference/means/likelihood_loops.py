"""Compiled passes over rows behind `fairtrial._inference.means.row_gaps`.

With x the values of a group minus their mean, weights proportional to 1/(1 + t x) solve the empirical likelihood of
its mean for some tilt t. A(k) = sum (x/(1 + t x))^k gives the log ratio 2 (n log(1 - t A1/n) + sum log(1 + t x)) and
the tilted mean A1/(n - t A1), and their expansions around t as well, so that one pass with a division serves all tilts
nearby.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.numeric.roots import Floats, Integers
from fairtrial._work.compiled import njit, njit_extremes, njit_sums


# -- Compiled passes behind `fairtrial._inference.means.resampled_means`: sums of drawn rows, Welch's t of each
# draw.
@njit
def sums_with_replacement(values: Floats, chosen: NDArray[np.int32]) -> tuple[Floats, Floats]:
    """Sums and sums of squares of the rows chosen in each draw."""
    draws, size = chosen.shape
    first, second = np.empty(draws), np.empty(draws)
    for draw in range(draws):
        one = 0.0
        two = 0.0
        for place in range(size):
            value = values[chosen[draw, place]]
            one += value
            two += value * value
        first[draw], second[draw] = one, two
    return first, second


@njit
def sums_without_replacement(
    values: Floats, originals: int, order: Integers, noise: Integers, picked: Floats
) -> None:
    """Per draw the sum, sum of squares, number and sum of the original members among the rows picked.

    `order` is any order of the rows and is left in another: a shuffle of a shuffle is as good. `noise` holds 32 random
    bits for each pick.
    """
    draws, size = noise.shape
    rows = values.size
    for draw in range(draws):
        one = 0.0
        two = 0.0
        members = 0.0
        theirs = 0.0
        for place in range(size):
            other = place + ((noise[draw, place] * (rows - place)) >> 32)
            row = order[other]
            order[other] = order[place]
            order[place] = row
            value = values[row]
            one += value
            two += value * value
            if row < originals:
                members += 1.0
                theirs += value
        picked[draw, 0], picked[draw, 1], picked[draw, 2], picked[draw, 3] = one, two, members, theirs


@njit
def shifted_statistics(
    picked: Floats, shift: float, size: float, other: float, spread: float, found: Floats
) -> None:
    """Welch's t of each draw when the original members of the first sample are moved by `shift`.

    Values are about the means of their own samples, so all rows add up to size * shift, their squares to spread + size
    * shift²; NaN where a draw has no variation.
    """
    for draw in range(picked.shape[0]):
        members = picked[draw, 2]
        one = picked[draw, 0] + members * shift
        two = picked[draw, 1] + 2.0 * shift * picked[draw, 3] + members * shift * shift
        rest = size * shift - one
        rest_two = spread + size * shift * shift - two
        variance = (two - one * one / size) / (size - 1.0) / size
        variance += (rest_two - rest * rest / other) / (other - 1.0) / other
        found[draw] = (one / size - rest / other) / np.sqrt(variance) if variance > 0.0 else np.nan


# One logarithm of a product replaces as many logarithms as it has factors: at most so many, and only as many as keep
# the product between the inverse of this number and this number, so that a product of two stays finite.
FACTORS = 2048
LARGEST_PRODUCT = 1e150
PASSES = 100
# Of the distance between mean and limit: what the expansion may be off by, far below any digit shown.
PRECISION = 1e-11
# A Newton step of this part of the tilt leaves an error of its square.
ALMOST_THERE = 1e-8


@njit
def limits_of_groups(
    values: Floats, counts: Floats, starts: Integers, critical: Floats
) -> tuple[Floats, Floats]:
    """Limits of the mean of each stretch of `values`; NaN without variation. No `counts`: one per value."""
    groups = starts.size - 1
    low, high = np.full(groups, np.nan), np.full(groups, np.nan)
    x = np.empty(values.size)
    for group in range(groups):
        start, end = starts[group], starts[group + 1]
        if end <= start:
            continue
        part, weight = x[start:end], counts[start:end]
        size, mean = centre(values[start:end], weight, part)
        lowest, highest = extremes(part)
        moments = power_sums(part, weight)
        if not (lowest < 0.0 < highest and moments[0] > 0.0 and np.isfinite(moments[2])):
            continue
        for side in (1.0, -1.0):
            pole = -1.0 / lowest if side > 0 else -1.0 / highest
            tilt = first_tilt(size, moments, side * math.sqrt(critical[group]), pole)
            shift = find_limit(part, weight, size, tilt, pole, critical[group], lowest, highest)
            if side > 0:
                low[group] = mean + shift
            else:
                high[group] = mean + shift
    return low, high


@njit_sums
def centre(values: Floats, counts: Floats, out: Floats) -> tuple[float, float]:
    """Size and mean; `out` receives the values minus the mean."""
    # Distances from one of the values keep their digits when all values are far from zero.
    pivot, total, size = values[0], 0.0, float(values.size)
    if counts.size:
        size = 0.0
        for i in range(values.size):
            total += counts[i] * (values[i] - pivot)
            size += counts[i]
    else:
        for i in range(values.size):
            total += values[i] - pivot
    from_pivot = total / size
    for i in range(values.size):
        out[i] = (values[i] - pivot) - from_pivot
    return size, pivot + from_pivot


@njit_extremes
def extremes(x: Floats) -> tuple[float, float]:
    lowest = highest = x[0]
    for value in x:
        lowest = min(lowest, value)
        highest = max(highest, value)
    return lowest, highest


@njit_sums
def power_sums(x: Floats, counts: Floats) -> tuple[float, float, float]:
    """Sums of the second, third and fourth powers."""
    second = third = fourth = 0.0
    if counts.size:
        for i in range(x.size):
            square = x[i] * x[i]
            second += counts[i] * square
            third += counts[i] * square * x[i]
            fourth += counts[i] * square * square
    else:
        for i in range(x.size):
            square = x[i] * x[i]
            second += square
            third += square * x[i]
            fourth += square * square
    return second, third, fourth


@njit
def first_tilt(size: float, moments: tuple[float, float, float], root: float, pole: float) -> float:
    """Invert root = sqrt(n m2) (t + a t^2 + b t^3), the expansion of the log ratio's signed root.

    The log ratio is n (m2 t^2 - 4/3 m3 t^3 + (3/2 m4 - m2^2) t^4 - ...) in the central moments.
    """
    variance, third, fourth = moments[0] / size, moments[1] / size, moments[2] / size
    plain = root / math.sqrt(moments[0])
    cubic, quartic = -4.0 * third / (3.0 * variance), (1.5 * fourth - variance**2) / variance
    a = cubic / 2.0
    b = quartic / 2.0 - cubic**2 / 8.0
    tilt = plain - a * plain**2 + (2.0 * a**2 - b) * plain**3
    if tilt * pole > 0 and abs(tilt) < 0.7 * abs(pole) and abs(tilt) < 3.0 * abs(plain):
        return tilt
    return plain if abs(plain) < 0.7 * abs(pole) else 0.7 * pole


@njit
def find_limit(
    x: Floats,
    counts: Floats,
    size: float,
    tilt: float,
    pole: float,
    critical: float,
    lowest: float,
    highest: float,
) -> float:
    """The tilted mean where the log ratio is critical, on the side of `pole`, where a weight would turn infinite."""
    near, far, shift = 0.0, pole, -1.0 / pole
    for _ in range(PASSES):
        smallest, largest = 1.0 + tilt * lowest, 1.0 + tilt * highest
        proposal = tilt
        # Rounding may put a tilt beside the pole upon it.
        if min(smallest, largest) > 0.0:
            logs, a1, a2, a3, a4 = tilted_sums(x, counts, tilt, factors(smallest, largest))
            harmonic = 1.0 - tilt * a1 / size
            shift = a1 / (size * harmonic)
            if 2.0 * (size * math.log(harmonic) + logs) > critical:
                far = tilt
            else:
                near = tilt
            step, first, harmonic = expanded_step(size, tilt, critical, logs, a1, a2, a3, a4)
            # The largest term left out is |step|^4 A5, and A5 at most A4 times the largest |x/(1 + t x)|.
            ratio = abs(step) * max(-lowest / smallest, highest / largest)
            if ratio < 0.5 and abs(step) ** 3 * a4 * ratio <= PRECISION * abs(a1):
                return first / (size * harmonic)
            proposal = tilt + step
        else:
            far = tilt
        tilt = proposal if min(near, far) < proposal < max(near, far) else 0.5 * (near + far)
        if tilt in (near, far):
            break
    return shift


@njit
def factors(smallest: float, largest: float) -> int:
    """How many factors between these two a product may have."""
    widest = max(abs(math.log(smallest)), abs(math.log(largest)))
    return max(1, int(min(float(FACTORS), math.log(LARGEST_PRODUCT) / max(widest, 1e-3))))


@njit
def expanded_step(
    size: float, tilt: float, critical: float, logs: float, a1: float, a2: float, a3: float, a4: float
) -> tuple[float, float, float]:
    """Newton's method on the expansion around `tilt`: step to the critical tilt, A1 there, mean of 1/(1 + t x)."""
    root = math.sqrt(critical)
    h, first, harmonic = 0.0, a1, 1.0 - tilt * a1 / size
    for _ in range(6):
        expanded = logs + h * (a1 - h * (a2 / 2.0 - h * (a3 / 3.0 - h * a4 / 4.0)))
        statistic = math.sqrt(max(2.0 * (size * math.log(harmonic) + expanded), 1e-300))
        second = a2 - h * (2.0 * a3 - 3.0 * h * a4)
        slope = (first - (first - (tilt + h) * second) / harmonic) / statistic
        if slope == 0.0:
            return np.inf, first, harmonic
        step = (statistic - root) / slope
        h -= step
        first = a1 - h * (a2 - h * (a3 - h * a4))
        harmonic = 1.0 - (tilt + h) * first / size
        if not harmonic > 0.0:
            return h, first, harmonic
        if abs(step) <= ALMOST_THERE * abs(tilt):
            break
    return h, first, harmonic


@njit_sums
def tilted_sums(
    x: Floats, counts: Floats, tilt: float, block: int
) -> tuple[float, float, float, float, float]:
    """Sum of log(1 + t x), with `block` factors to a product, and A1 to A4."""
    logs, product, a1, a2, a3, a4 = 0.0, 1.0, 0.0, 0.0, 0.0, 0.0
    if counts.size:
        for i in range(x.size):
            y = x[i] / (1.0 + tilt * x[i])
            square = y * y
            logs += counts[i] * math.log1p(tilt * x[i])
            a1 += counts[i] * y
            a2 += counts[i] * square
            a3 += counts[i] * square * y
            a4 += counts[i] * square * square
        return logs, a1, a2, a3, a4
    for start in range(0, x.size, block):
        part = 1.0
        for i in range(start, min(start + block, x.size)):
            raised = 1.0 + tilt * x[i]
            part *= raised
            y = x[i] / raised
            square = y * y
            a1 += y
            a2 += square
            a3 += square * y
            a4 += square * square
        product *= part
        if not 1.0 / LARGEST_PRODUCT < product < LARGEST_PRODUCT:
            logs += math.log(product)
            product = 1.0
    return logs + math.log(product), a1, a2, a3, a4
