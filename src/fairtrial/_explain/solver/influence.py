"""From rows' influence values to standard errors, intervals and tests.

The error of an estimate is the sum of independent rows' influence values, so its variance is the sum, over
strata, of n_s/(n_s−1)·Σ(influence − stratum mean)². Strata are the groups, or the groups among the rows that meet
the metric's condition when the condition does not depend on the decision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial._explain.solver.esl import Floats
from fairtrial._inference.rates.proportions import SMALL_COUNT


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Standard errors with Welch–Satterthwaite degrees of freedom (infinite for large samples)."""

    error: Floats
    df: Floats


def spread(influence: NDArray[np.floating], stratum: NDArray[np.int64]) -> Spread:
    """Standard error of each column (all axes after the first); rows of stratum −1 are not counted."""
    parts: list[Floats] = []
    freedom: list[int] = []
    for label in np.unique(stratum[stratum >= 0]):
        rows = np.asarray(influence[stratum == label], dtype=np.float64)
        size = rows.shape[0]
        if size < 2:
            parts.append(np.full(rows.shape[1:], np.nan))
        else:
            # Rounding of 32-bit products must not pass for variation where every row is the same.
            deviation = rows - rows.mean(axis=0)
            variation = (deviation**2).sum(axis=0) * (size / (size - 1))
            noise = size * (np.abs(rows).max(axis=0) * 1e-6) ** 2
            parts.append(np.where(variation > noise, variation, 0.0))
        freedom.append(max(size - 1, 1))
    return combine(np.array(parts), np.array(freedom, dtype=float))


def spread_of_changes(
    influence: NDArray[np.floating], stratum: NDArray[np.int64], takes_part: NDArray[np.bool_]
) -> Spread:
    """Standard errors of changes between two rules; (rows, targets, …) with the strata that each target rests on.

    Two rules often differ for a handful of people, and in a small group perhaps for nobody, who then seems to be
    known for sure: with 1.1 of 50 people expected to change, the plain interval of the gap's change covers .78. Where
    fewer than ten rows of a stratum change, one more change each way is counted (Bonett and Price 2012).
    """
    labels = np.unique(stratum[stratum >= 0])
    sizes = [int((stratum == label).sum()) for label in labels]
    moved = []
    for label in labels:
        rows = np.asarray(influence[stratum == label], dtype=np.float64)
        moved.append(np.abs(rows - np.median(rows, axis=0)))
    largest = np.max([size * part.max(axis=0) for size, part in zip(sizes, moved, strict=True)], axis=0)
    plain = spread(influence, stratum)
    variances, freedom = [plain.error**2], [plain.df]
    for label, size, part in zip(labels, sizes, moved, strict=True):
        few = (part > 1e-6 * largest / size).sum(axis=0) < SMALL_COUNT
        part_of = takes_part[:, label].reshape((-1,) + (1,) * (few.ndim - 1))
        variances.append(np.where(few & part_of, 2.0 * (largest / size) ** 2, 0.0))
        freedom.append(np.full(few.shape, max(size - 1.0, 1.0)))
    return combine(np.array(variances), np.array(freedom))


def combine(variances: Floats, df: Floats) -> Spread:
    """Add independent variance estimates (first axis), each with its degrees of freedom (one, or one per entry)."""
    total = variances.sum(axis=0)
    degrees = df.reshape(df.shape + (1,) * (variances.ndim - df.ndim))
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = total**2 / (variances**2 / degrees).sum(axis=0)
    return Spread(np.sqrt(total), np.where(np.isfinite(freedom) & (freedom > 0), freedom, np.inf))


def interval(estimate: Floats, spread: Spread, level: float) -> tuple[Floats, Floats]:
    """estimate ± t·error."""
    with np.errstate(invalid="ignore"):
        half = quantile(spread.df, level) * spread.error
    return estimate - half, estimate + half


def quantile(df: Floats, level: float) -> Floats:
    """Two-sided quantile of Student's t; the normal one for infinite degrees of freedom."""
    tail = (1.0 + level) / 2.0
    finite = np.where(np.isfinite(df), df, 1.0)
    return np.where(np.isfinite(df), special.stdtrit(finite, tail), special.ndtri(tail))


def two_sided_p(estimate: Floats, spread: Spread) -> Floats:
    """P(|t| ≥ |estimate|/error), by the lower tail; NaN without variation."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = -np.abs(estimate) / spread.error
    finite = np.where(np.isfinite(spread.df), spread.df, 1.0)
    tail = np.where(np.isfinite(spread.df), special.stdtr(finite, ratio), special.ndtr(ratio))
    return np.where(spread.error > 0, np.minimum(1.0, 2.0 * tail), np.nan)
