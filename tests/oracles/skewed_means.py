"""Slow and plain: the bounds on means of shared/methods/means.md written from the page, one number at a time."""

from __future__ import annotations

import itertools
from math import exp, hypot, inf, log, sqrt
from typing import Any

import numpy as np
from scipy import optimize, stats


def moments(values: Any) -> dict[str, float]:
    """One sample: s, λ, h, l and γ by plain sums."""
    values = [float(value) for value in values]
    n = len(values)
    mean = sum(values) / n
    m2 = sum((value - mean) ** 2 for value in values)
    m3 = sum((value - mean) ** 3 for value in values)
    skewness = sqrt(n * (n - 1)) / (n - 2) * m3 / m2**1.5
    return {
        "n": n, "mean": mean, "m2": m2, "m3": m3, "s": sqrt(m2 / (n - 1) / n), "lambda": skewness,
        "h": (max(values) - mean) ** 3 / m2**1.5, "l": (mean - min(values)) ** 3 / m2**1.5,
        "gamma": sqrt(n) * skewness,
    }  # fmt: skip


def pooled_gamma(*samples: dict[str, float]) -> float:
    third = sum(one["m3"] for one in samples) / sum(
        (one["n"] - 1) * (one["n"] - 2) / one["n"] for one in samples
    )
    return third / (sum(one["m2"] for one in samples) / sum(one["n"] - 1 for one in samples)) ** 1.5


def cubic(t: float, skewness: float) -> float:
    if skewness == 0:
        return t
    return (max(0.0, 1 + skewness * t / 3) ** 3 - 1) / skewness + skewness / 6


def inverse(z: float, skewness: float) -> float:
    """By logarithms rather than by a cube root."""
    if abs(skewness) < 1e-12:
        return z
    bracket = 1 + skewness * (z - skewness / 6)
    if bracket <= 0:
        return -inf if skewness > 0 else inf
    return 3 / skewness * (exp(log(bracket) / 3) - 1)


def known(sample: dict[str, float], target: float, gamma: float, tail: float) -> tuple[float, ...]:
    """Lower and upper limit, p from below and p from above (at a gap of zero)."""
    shared = gamma / sqrt(sample["n"])
    skewness, h, low = sample["lambda"], sample["h"], sample["l"]
    b = max(skewness + h, min(0, skewness + low), shared)
    a = min(min(skewness - low, max(0, skewness - h)), shared)
    student = stats.t(sample["n"] - 1)
    z, t = student.isf(tail), (sample["mean"] - target) / sample["s"]
    gap = sample["mean"] - target
    limits = gap - sample["s"] * inverse(z, a), gap - sample["s"] * inverse(-z, b)
    return *limits, float(student.cdf(cubic(t, b))), float(student.sf(cubic(t, a)))


def _welch(x: dict[str, float], y: dict[str, float]) -> tuple[float, float, Any]:
    error = hypot(x["s"], y["s"])
    df = error**4 / (x["s"] ** 4 / (x["n"] - 1) + y["s"] ** 4 / (y["n"] - 1))
    return x["mean"] - y["mean"], error, stats.t(df)


def _own(x: dict[str, float], y: dict[str, float]) -> tuple[float, float]:
    weight = min(max(1 - y["gamma"] / x["gamma"], 0.0), 1.0)
    if x["lambda"] > 0:
        return weight * (x["lambda"] + x["h"]), max(0.0, x["lambda"] - x["h"])
    return min(0.0, x["lambda"] + x["l"]), weight * (x["lambda"] - x["l"])


def unshared_limits(x: dict[str, float], y: dict[str, float], tail: float) -> tuple[float, float]:
    """Bound 1."""
    gap, _, student = _welch(x, y)
    (b_x, a_x), (b_y, a_y) = _own(x, y), _own(y, x)
    z = student.isf(tail)
    return (
        gap - hypot(x["s"] * inverse(z, a_x), y["s"] * abs(inverse(-z, b_y))),
        gap + hypot(x["s"] * abs(inverse(-z, b_x)), y["s"] * inverse(z, a_y)),
    )


def unshared_p_below(x: dict[str, float], y: dict[str, float], gap: float) -> float:
    """The tail at which the upper limit reaches the gap, by Brent's method on its logarithm."""
    found = optimize.brentq(
        lambda tail: min(unshared_limits(x, y, exp(tail))[1], 1e9) - gap, log(1e-12), log(0.5), xtol=1e-14
    )
    return exp(found)


def shared_limits(x: dict[str, float], y: dict[str, float], tail: float) -> tuple[float, float, float, float]:
    """Bounds 2' and 3' from sums: limits, p from below and p from above at a gap of zero."""
    gap, error, student = _welch(x, y)
    x3, y3 = (x["s"] / error) ** 3, (y["s"] / error) ** 3
    b = max(x["lambda"], 0) * x3 + max(-y["lambda"], 0) * y3
    a = -max(-x["lambda"], 0) * x3 - max(y["lambda"], 0) * y3
    n, m = x["n"], y["n"]
    common = pooled_gamma(x, y) * (1 / n**2 - 1 / m**2) / (1 / n + 1 / m) ** 1.5
    b, a = max(b, common), min(a, common)
    z, t = student.isf(tail), gap / error
    return (
        gap - error * max(z, inverse(z, a)),
        gap - error * min(-z, inverse(-z, b)),
        float(student.cdf(max(t, cubic(t, b)))),
        float(student.cdf(-min(t, cubic(t, a)))),
    )


def t_statistic(x: Any, y: Any) -> float:
    return float(stats.ttest_ind(x, y, equal_var=False).statistic)


def exact_permutation(x: Any, y: Any, gap: float) -> tuple[float, float]:
    """Every arrangement of (x - gap, y): shares at most and at least the observed t."""
    rows = np.concatenate([np.asarray(x) - gap, np.asarray(y)])
    seen = t_statistic(rows[: len(x)], rows[len(x) :])
    law = []
    for chosen in itertools.combinations(range(rows.size), len(x)):
        inside = np.zeros(rows.size, dtype=bool)
        inside[list(chosen)] = True
        law.append(t_statistic(rows[inside], rows[~inside]))
    return float(np.mean(np.array(law) <= seen + 1e-9)), float(np.mean(np.array(law) >= seen - 1e-9))


def exact_bootstrap(x: Any, y: Any, gap: float) -> tuple[float, float]:
    """Every draw of both samples; one of the group without variation counts on both sides."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    seen = (x.mean() - y.mean() - gap) / sqrt(x.var(ddof=1) / x.size + y.var(ddof=1) / y.size)
    ones = [
        (np.mean(d) - x.mean(), np.var(d, ddof=1) / x.size, len(set(d)) == 1)
        for d in itertools.product(x, repeat=x.size)
    ]
    twos = [(np.mean(d) - y.mean(), np.var(d, ddof=1) / y.size) for d in itertools.product(y, repeat=y.size)]
    below = above = 0
    for mean, spread, constant in ones:
        for other, more in twos:
            t = seen if constant else (mean - other) / sqrt(spread + more)
            below, above = below + (t <= seen + 1e-9), above + (t >= seen - 1e-9)
    return below / len(ones) / len(twos), above / len(ones) / len(twos)
