"""Intervals for one rate, and what laws of two rates are made of: deviances and the constrained maximum.

Everything takes counts (successes k of n), as arrays that broadcast, and works from k = 0 to n = 1e9.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fairtrial._inference.numeric.roots import Floats, bisect_decreasing, floats
from fairtrial._inference.ways import RateMethod

# Below this many events a normal law alone is not trusted anywhere.
SMALL_COUNT = 10


def normal_quantile(level: float) -> float:
    """Half-width of a two-sided normal interval at this level, in standard errors."""
    return float(-special.ndtri((1.0 - level) / 2.0))


def binomial_deviance(k: ArrayLike, n: ArrayLike, rate: ArrayLike) -> Floats:
    """2[k log(p/pi) + (n-k) log((1-p)/(1-pi))]: the empirical likelihood ratio of a binary metric."""
    k, n, rate = floats(k, n, rate)
    excess = k - n * rate
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # log1p of the relative excess keeps its digits at n = 1e9, where log of a ratio near 1 loses them.
        ones = np.where(k > 0, k * np.log1p(excess / (n * rate)), 0.0)
        zeros = np.where(n - k > 0, (n - k) * np.log1p(-excess / (n * (1.0 - rate))), 0.0)
    deviance = 2.0 * (ones + zeros)
    # A rate of exactly 0 or 1 is contradicted by any count on the other side.
    impossible = ((rate <= 0) & (k > 0)) | ((rate >= 1) & (k < n))
    return np.where(impossible, np.inf, np.maximum(deviance, 0.0))


def rate_interval(
    k: ArrayLike, n: ArrayLike, level: float = 0.95, method: RateMethod = "bounded"
) -> tuple[Floats, Floats]:
    """Limits for one rate; [0, 1] when there is nobody to learn from."""
    k, n = floats(k, n)
    limits = {
        "bounded": _bounded,
        "wilson": _wilson,
        "likelihood": _likelihood,
        "half-count": _half_count,
        "exact": _clopper_pearson,
    }
    if method not in limits:
        raise ValueError(f"rate_interval: 'method' must be one of {sorted(limits)}, got {method!r}.")
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = limits[method](k, n, level)
    # The exact answer at the ends is the end itself; rounding must not move it.
    low = np.where((n <= 0) | (k <= 0), 0.0, np.clip(low, 0.0, 1.0))
    high = np.where((n <= 0) | (k >= n), 1.0, np.clip(high, 0.0, 1.0))
    return low, high


def _wilson(k: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
    z = normal_quantile(level)
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * np.sqrt(k * (n - k) / n + z * z / 4)
    return centre - half, centre + half


def _bounded(k: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
    """Wilson's limits and the exact ones, the outermost: Wilson's alone miss up to .09 at 95%, and up to .14 of rare
    events."""
    one, other = _wilson(k, n, level), _clopper_pearson(k, n, level)
    exact = np.where(k > 0, other[0], 0.0), np.where(k < n, other[1], 1.0)
    return np.minimum(one[0], exact[0]), np.maximum(one[1], exact[1])


def _likelihood(k: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
    critical = normal_quantile(level) ** 2
    rate = np.where(n > 0, k / np.where(n > 0, n, 1.0), 0.5)
    low = bisect_decreasing(lambda p: binomial_deviance(k, n, p) - critical, np.zeros_like(rate), rate)
    high = bisect_decreasing(lambda p: critical - binomial_deviance(k, n, p), rate, np.ones_like(rate))
    return low, high


def _half_count(k: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
    return _likelihood(k + 0.5, n + 1.0, level)


def _clopper_pearson(k: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
    tail = (1.0 - level) / 2.0
    inside_low, inside_high = np.maximum(k, 1.0), np.minimum(k, n - 1.0)
    low = special.betaincinv(inside_low, n - inside_low + 1.0, tail)
    high = special.betainccinv(inside_high + 1.0, n - inside_high, tail)
    return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)


def constrained_rates(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, delta: ArrayLike
) -> tuple[Floats, Floats]:
    """Maximum likelihood of two rates whose difference is delta (Miettinen and Nurminen 1985, the cubic)."""
    k1, n1, k2, n2, delta = floats(k1, n1, k2, n2, delta)
    total, successes = n1 + n2, k1 + k2
    with np.errstate(divide="ignore", invalid="ignore"):
        if not delta.any():
            pooled = successes / total
            return pooled, pooled
        # Dividing by the total keeps the cubic's coefficients of order one at any sample size.
        share1, share2 = n1 / total, n2 / total
        c2 = (share1 + 2 * share2) * delta - 1.0 - successes / total
        c1 = (share2 * delta - 1.0 - 2 * k2 / total) * delta + successes / total
        c0 = k2 / total * delta * (1.0 - delta)
        q = c2**3 / 27.0 - c1 * c2 / 6.0 + c0 / 2.0
        p = np.where(q >= 0, 1.0, -1.0) * np.sqrt(np.maximum(c2**2 / 9.0 - c1 / 3.0, 0.0))
        cosine = np.where(p != 0, q / np.where(p != 0, p**3, 1.0), 0.0)
        angle = (np.pi + np.arccos(np.clip(cosine, -1.0, 1.0))) / 3.0
        second = 2.0 * p * np.cos(angle) - c2 / 3.0
    low, high = np.maximum(0.0, -delta), np.minimum(1.0, 1.0 - delta)
    second = _polish(np.clip(second, low, high), low, high, k1, n1, k2, n2, delta)
    second = _at_an_end(second, low, high, k1, n1, k2, n2, delta)
    return np.clip(second + delta, 0.0, 1.0), second


def _at_an_end(
    second: Floats,
    low: Floats,
    high: Floats,
    k1: Floats,
    n1: Floats,
    k2: Floats,
    n2: Floats,
    delta: Floats,
) -> Floats:
    """An end itself where the likelihood still rises there: the cubic comes no nearer to it than 1e-8.

    Only a side whose people are all alike allows for an end; the searches for limits would follow the noise.
    """
    up, size = delta >= 0, np.abs(delta)
    at_high, at_low = np.where(up, k1 == n1, k2 == n2), np.where(up, k2 == 0, k1 == 0)
    if not (at_high | at_low).any():
        return second
    alike, k, n = np.where(up, n1, n2), np.where(up, k2, k1), np.where(up, n2, n1)
    # the score at the high end and, turned, at the low one, without the term of the side that is all alike
    rising = alike + over(k, 1 - size) - over(n - k, size)
    alike, k, n = np.where(up, n2, n1), np.where(up, k1, k2), np.where(up, n1, n2)
    falling = alike + over(n - k, 1 - size) - over(k, size)
    second = np.where(at_high & (rising >= 0), high, second)
    return np.where(at_low & (falling >= 0), low, second)


def over(count: Floats, rate: Floats) -> Floats:
    """A term of the score: nobody counts nothing, whatever the rate."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(count > 0, count / rate, 0.0)


def _polish(
    second: Floats,
    low: Floats,
    high: Floats,
    k1: Floats,
    n1: Floats,
    k2: Floats,
    n2: Floats,
    delta: Floats,
) -> Floats:
    """Two Newton steps on the score: the trigonometric root loses digits near 0 and 1."""
    for _ in range(2):
        first = second + delta
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            score = k1 / first - (n1 - k1) / (1 - first) + k2 / second - (n2 - k2) / (1 - second)
            slope = k1 / first**2 + (n1 - k1) / (1 - first) ** 2
            slope = slope + k2 / second**2 + (n2 - k2) / (1 - second) ** 2
            step = score / slope
        room = np.minimum(second - low, high - second)
        second = np.where(np.isfinite(step) & (np.abs(step) < 0.1 * room), second + step, second)
    return second


def difference_error(k1: Floats, n1: Floats, k2: Floats, n2: Floats) -> Floats:
    """Standard error of a difference of rates with half a count added on each side: never zero."""
    rates = [(k + 0.5) / (n + 1.0) for k, n in ((k1, n1), (k2, n2))]
    variance = sum(rate * (1 - rate) / (n + 1.0) for rate, n in zip(rates, (n1, n2), strict=True))
    return np.asarray(np.sqrt(variance), dtype=np.float64)
