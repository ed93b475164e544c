"""Student's t of means, from summaries (n, mean, M2), and the likelihood of rows compared with it: no bounds here.

M2 is the sum of squared deviations from the mean. Undefined limits (fewer than two members, or no
variation at all) are NaN here; callers turn them into reasons.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fairtrial._inference.means.batched_likelihood import EndToEnd, mean_limits_of_many
from fairtrial._inference.means.empirical_likelihood import (
    Sample,
    difference_limits,
    difference_log_ratio,
    el_mean_limits,
)
from fairtrial._inference.numeric.roots import Floats, floats
from fairtrial._inference.rates.proportions import normal_quantile


def t_quantile(df: ArrayLike, level: float) -> Floats:
    """Half-width of a two-sided t interval in standard errors."""
    (degrees,) = floats(df)
    return np.asarray(-special.stdtrit(degrees, (1.0 - level) / 2.0), dtype=np.float64)


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


def student_df(first: Sample, second: Sample | None = None) -> float:
    """Degrees of freedom with which a log ratio is compared, at any size: Student's, or Welch's of two samples."""
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
