"""Laws asked directly, on counts or values, and scans with every choice: for tests, the board and benchmarks.

The package itself asks these laws through its gaps, which count first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

import fairtrial
from inside.inference import (
    Areas,
    EndToEnd,
    Floats,
    Only,
    Sample,
    Scale,
    TwoRateLaw,
    TwoRates,
    constrained_rates,
    contrast_tail,
    critical_value,
    el_mean_limits,
    floats,
    mean_limits_of_many,
    path_limits,
    path_log_ratio,
    t_quantile,
    two_sample_point,
)
from inside.metrics import find_metric
from inside.scan import ScanRequest, ask
from inside.scan import answer as scan_answer


def scan_with(audit: fairtrial.Audit, metric: Any, **asked: Any) -> fairtrial.ScanResult:
    """A scan with what its users are not asked: ranges, search, scores and neighbours."""
    request = ask(ScanRequest, "scan", audit, find_metric("scan", metric), **asked)
    return scan_answer.answer(audit, request)


def welch(
    n1: ArrayLike, mean1: ArrayLike, m2_1: ArrayLike, n2: ArrayLike, mean2: ArrayLike, m2_2: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Difference of two independent means, its standard error and Welch's degrees of freedom."""
    n1, mean1, m2_1, n2, mean2, m2_2 = floats(n1, mean1, m2_1, n2, mean2, m2_2)
    usable = (n1 >= 2) & (n2 >= 2) & (m2_1 + m2_2 > 0)
    spare1, spare2 = np.where(usable, n1 - 1.0, 1.0), np.where(usable, n2 - 1.0, 1.0)
    part1, part2 = m2_1 / spare1 / np.maximum(n1, 1.0), m2_2 / spare2 / np.maximum(n2, 1.0)
    variance = part1 + part2
    df = np.where(usable, variance, 1.0) ** 2 / np.where(usable, part1**2 / spare1 + part2**2 / spare2, 1.0)
    return mean1 - mean2, np.where(usable, np.sqrt(variance), np.nan), np.where(usable, df, np.nan)


def difference_log_ratio(first: Sample, second: Sample, gap: float) -> float:
    """Profile log ratio of 'difference of means = gap' (the second sample's mean left free)."""
    variance = first.variance / first.size + second.variance / second.size
    return path_log_ratio(lambda multiplier: two_sample_point(first, second, multiplier), gap, variance)


def difference_limits(first: Sample, second: Sample, critical: float) -> tuple[float, float]:
    """The differences of means whose profile log ratio is at most `critical`."""
    variance = first.variance / first.size + second.variance / second.size
    return path_limits(lambda multiplier: two_sample_point(first, second, multiplier), critical, variance)


def student_df(first: Sample, second: Sample | None = None) -> float:
    """Degrees of freedom with which a log ratio is compared, at any size: Student's, or Welch's of two samples."""
    if second is None:
        return first.size - 1.0
    _, _, df = welch(
        first.size, 0.0, first.variance * first.size, second.size, 0.0, second.variance * second.size
    )
    return float(df)


def log_ratio_p(statistic: float, df: float) -> float:
    """Two-sided p-value of a one-parameter log ratio under its normal or t calibration."""
    root = np.sqrt(statistic)
    return float(2.0 * (special.ndtr(-root) if np.isinf(df) else special.stdtr(df, -root)))


def el_mean_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Empirical likelihood interval for one mean, compared with Student's t."""
    sample = Sample.of(values)
    if sample.constant:
        return np.nan, np.nan
    return el_mean_limits(sample, critical_value(student_df(sample), level))


def el_mean_intervals(groups: Sequence[Floats], level: float = 0.95) -> tuple[Floats, Floats]:
    """Empirical likelihood intervals for the means of many groups at once; NaN for groups without variation."""
    rows = EndToEnd.of_rows(groups)
    size = rows.starts[1:] - rows.starts[:-1]
    critical = t_quantile(np.maximum(size - 1.0, 1.0), level) ** 2
    return mean_limits_of_many(rows, critical)


def el_mean_difference_interval(
    first: ArrayLike, second: ArrayLike, level: float = 0.95
) -> tuple[float, float]:
    """Profile empirical likelihood interval for the difference of two means, with Welch's degrees of freedom."""
    one, two = Sample.of(first), Sample.of(second)
    if one.constant or two.constant:
        return np.nan, np.nan
    return difference_limits(one, two, critical_value(student_df(one, two), level))


def el_mean_difference_p(first: ArrayLike, second: ArrayLike, delta: float = 0.0) -> float:
    """Two-sided p-value of 'the means differ by delta' by profile empirical likelihood."""
    one, two = Sample.of(first), Sample.of(second)
    if one.constant or two.constant:
        return np.nan
    return log_ratio_p(difference_log_ratio(one, two, delta), student_df(one, two))


def delong_limits(first: Areas, second: Areas, level: float) -> tuple[Floats, Floats]:
    """DeLong's limits of the difference, as usually printed: they do not hold in small samples or near 1."""
    variance = sum(
        (square - one.area**2) / (n - 1.0)
        for one in (first, second)
        for n, square in ((one.positives, one.square_of_positives), (one.negatives, one.square_of_negatives))
    )
    away = special.ndtri((1.0 + level) / 2.0) * np.sqrt(np.maximum(variance, 0.0))
    gap = first.area - second.area
    return gap - away, gap + away


def difference_tails(k1: Floats, n1: Floats, k2: Floats, n2: Floats, delta: Floats) -> tuple[Floats, Floats]:
    """P(difference >= observed) and P(difference <= observed) at the constrained maximum, table by table."""
    first, second = constrained_rates(k1, n1, k2, n2, delta)
    one = np.ones(np.shape(k1))
    return contrast_tail(k1, n1, first, k2, n2, second, one), contrast_tail(
        k2, n2, second, k1, n1, first, one
    )


class Interval(NamedTuple):
    """Limits of a gap."""

    low: Floats
    high: Floats


def difference_interval(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, level: float = 0.95, only: Only | None = None
) -> Interval:
    """Limits for the first rate minus the second, both estimated; [-1, 1] when a side has nobody."""
    return _interval(TwoRates(*floats(k1, n1, k2, n2)), level, "difference", only)


def ratio_interval(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, level: float = 0.95
) -> Interval:
    """Limits for the first rate over the second, both estimated; the upper one is infinite without an event there."""
    return _interval(TwoRates(*floats(k1, n1, k2, n2)), level, "ratio", None)


def _interval(table: TwoRates, level: float, scale: Scale, only: Only | None) -> Interval:
    low, high = (
        np.full(table.k1.shape, end) for end in ((-1.0, 1.0) if scale == "difference" else (0.0, np.inf))
    )
    known = (table.n1 > 0) & (table.n2 > 0)
    if known.any():
        low[known], high[known] = TwoRateLaw(table.take(known), scale, only).limits(level)
    return Interval(low, high)


def difference_root(
    k1: ArrayLike,
    n1: ArrayLike,
    k2: ArrayLike,
    n2: ArrayLike,
    delta: ArrayLike = 0.0,
    only: Only | None = None,
) -> Floats:
    """Normal root of the test of 'first rate minus second = delta', positive where the estimate is above it."""
    *counts, value = floats(k1, n1, k2, n2, delta)
    law = TwoRateLaw(TwoRates(*(np.ravel(column) for column in counts)), "difference", only)
    return law.root(np.ravel(value)).reshape(value.shape)
