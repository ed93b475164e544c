"""Intervals and tests for means of real-valued metrics, from summaries (n, mean, M2) or from rows.

M2 is the sum of squared deviations from the mean. Undefined limits (fewer than two members, or no
variation at all) are NaN here; callers turn them into reasons.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fairtrial.inference.means.batched_likelihood import EndToEnd, mean_limits_of_many
from fairtrial.inference.means.empirical_likelihood import (
    Sample,
    difference_limits,
    difference_log_ratio,
    el_mean_limits,
)
from fairtrial.inference.numeric.roots import Floats, floats
from fairtrial.inference.rates.proportions import normal_quantile

# Below this many members the chi-square limit of the empirical likelihood is too optimistic.
SMALL_SAMPLE = 100


def t_quantile(df: ArrayLike, level: float) -> Floats:
    """Half-width of a two-sided t interval in standard errors."""
    (degrees,) = floats(df)
    return np.asarray(-special.stdtrit(degrees, (1.0 - level) / 2.0), dtype=np.float64)


def mean_interval(n: ArrayLike, mean: ArrayLike, m2: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Student's interval for one mean."""
    n, mean, m2 = floats(n, mean, m2)
    usable = (n >= 2) & (m2 > 0)
    df = np.where(usable, n - 1.0, 1.0)
    half = np.where(usable, t_quantile(df, level) * np.sqrt(m2 / df / np.maximum(n, 1.0)), np.nan)
    return mean - half, mean + half


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


def mean_difference_interval(
    n1: ArrayLike,
    mean1: ArrayLike,
    m2_1: ArrayLike,
    n2: ArrayLike,
    mean2: ArrayLike,
    m2_2: ArrayLike,
    level: float = 0.95,
) -> tuple[Floats, Floats]:
    """Welch's interval for the first mean minus the second."""
    gap, error, df = welch(n1, mean1, m2_1, n2, mean2, m2_2)
    half = t_quantile(df, level) * error
    return gap - half, gap + half


def mean_difference_p(
    n1: ArrayLike,
    mean1: ArrayLike,
    m2_1: ArrayLike,
    n2: ArrayLike,
    mean2: ArrayLike,
    m2_2: ArrayLike,
    delta: ArrayLike = 0.0,
) -> Floats:
    """Two-sided p-value of Welch's test of 'first mean minus second = delta'."""
    gap, error, df = welch(n1, mean1, m2_1, n2, mean2, m2_2)
    return np.asarray(2.0 * special.stdtr(df, -np.abs(gap - np.asarray(delta, dtype=np.float64)) / error))


def overall_gap(
    n1: ArrayLike,
    mean1: ArrayLike,
    m2_1: ArrayLike,
    n2: ArrayLike,
    mean2: ArrayLike,
    m2_2: ArrayLike,
    level: float = 0.95,
) -> tuple[Floats, Floats, Floats, Floats]:
    """A group's mean minus the overall mean, which holds the group: gap, limits and p-value.

    The gap is (1 − share) times the gap to the rest; the group's share is estimated too.
    """
    n1, n2 = floats(n1, n2)
    gap, error, df = welch(n1, mean1, m2_1, n2, mean2, m2_2)
    share = n1 / (n1 + n2)
    spread = np.sqrt(((1 - share) * error) ** 2 + gap**2 * share * (1 - share) / (n1 + n2))
    half, centre = t_quantile(df, level) * spread, (1 - share) * gap
    p = np.asarray(2.0 * special.stdtr(df, -np.abs(gap) / error))
    return centre, centre - half, centre + half, p


def small_sample_df(first: Sample, second: Sample | None = None) -> float:
    """Degrees of freedom of the t calibration; infinite when every sample is large enough without it."""
    if min(sample.size for sample in (first, second) if sample is not None) >= SMALL_SAMPLE:
        return np.inf
    if second is None:
        return first.size - 1.0
    _, _, df = welch(
        first.size, 0.0, first.variance * first.size, second.size, 0.0, second.variance * second.size
    )
    return float(df)


def critical_value(df: float, level: float) -> float:
    """Quantile of the squared normal or squared t with which a log ratio is compared."""
    quantile = normal_quantile(level) if np.isinf(df) else float(t_quantile(df, level))
    return quantile**2


def log_ratio_p(statistic: float, df: float) -> float:
    """Two-sided p-value of a one-parameter log ratio under its normal or t calibration."""
    root = np.sqrt(statistic)
    return float(2.0 * (special.ndtr(-root) if np.isinf(df) else special.stdtr(df, -root)))


def el_mean_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Empirical likelihood interval for one mean, t-calibrated below a hundred members."""
    sample = Sample.of(values)
    if sample.constant:
        return np.nan, np.nan
    return el_mean_limits(sample, critical_value(small_sample_df(sample), level))


def el_mean_intervals(groups: Sequence[Floats], level: float = 0.95) -> tuple[Floats, Floats]:
    """Empirical likelihood intervals for the means of many groups at once; NaN for groups without variation."""
    rows = EndToEnd.of_rows(groups)
    size = rows.starts[1:] - rows.starts[:-1]
    critical = np.full(size.shape, normal_quantile(level) ** 2)
    small = size < SMALL_SAMPLE
    if small.any():
        critical[small] = t_quantile(np.maximum(size[small] - 1.0, 1.0), level) ** 2
    return mean_limits_of_many(rows, critical)


def el_mean_difference_interval(
    first: ArrayLike, second: ArrayLike, level: float = 0.95
) -> tuple[float, float]:
    """Profile empirical likelihood interval for the difference of two means, Welch-calibrated when small."""
    one, two = Sample.of(first), Sample.of(second)
    if one.constant or two.constant:
        return np.nan, np.nan
    return difference_limits(one, two, critical_value(small_sample_df(one, two), level))


def el_mean_difference_p(first: ArrayLike, second: ArrayLike, delta: float = 0.0) -> float:
    """Two-sided p-value of 'the means differ by delta' by profile empirical likelihood."""
    one, two = Sample.of(first), Sample.of(second)
    if one.constant or two.constant:
        return np.nan
    return log_ratio_p(difference_log_ratio(one, two, delta), small_sample_df(one, two))
