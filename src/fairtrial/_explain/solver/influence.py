"""Standard errors, intervals and tests from rows' influence values.

The error of an estimate is the sum of independent rows' influence values, so its variance is the sum, over
strata, of n_s/(n_s−1)·Σ(influence − stratum mean)². Strata are the groups, or the groups among the rows that meet
the metric's condition when the condition does not depend on the decision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial._inference.rates.proportions import SMALL_COUNT

Floats = NDArray[np.float64]


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


# -- One group's rows as linear forms of their decisions, and the variance of what is made of them.
# How much of a person stands at either end of what is possible, in every group.
#
# A group's people are joined by a quarter of a person at either end of what is possible: the variance of few rows that
# hardly differ says nothing, and a group that shows no variance must not pass for one that is known.
QUARTER = 0.25
LEAST_DF = 0.5
# Up to this many columns one Gram matrix is cheaper than products pair by pair.
LARGEST_GRAM = 160


@dataclass(frozen=True, slots=True, eq=False)
class GroupForms:
    """One group's rows and their forms (rows, forms, values, players).

    The influence of row i on target t is Σ_u mix[t, v, u]·forms[i, u, v, k] − weight_i·centre[t, v, k].
    """

    rows: NDArray[np.intp]
    forms: Floats
    mix: Floats  # (targets, values, forms)
    weight: Floats  # (rows,)
    centre: Floats  # (targets, values, players)
    ends: Floats  # (2, forms, values, players): of somebody at either end of what is possible
    size: Floats  # (values, players): how many people the forms rest on, the half person at the ends included
    shrink: float  # what the half person makes of a row's share in its group


def group_variance(part: GroupForms, quarter_rows: bool = False) -> Floats:
    """n/(n−1)·Σ(influence − mean)² of one group's rows, (targets, values, players); NaN below two plain rows."""
    size, forms, values, players = part.forms.shape
    flat = part.forms.reshape(size, forms * values * players)
    if quarter_rows:
        ends = part.ends.reshape(2, -1)
        middle = (flat.sum(axis=0) + QUARTER * ends.sum(axis=0)) / (size + 2.0 * QUARTER)
        moments = _moments(np.sqrt(QUARTER) * (ends - middle), forms)
        scale = part.shrink**2 * part.size / np.maximum(part.size - 1.0, LEAST_DF)
    elif size < 2:
        return np.full((part.mix.shape[0], values, players), np.nan)
    else:
        middle, scale = flat.mean(axis=0), np.full((values, players), size / (size - 1))
        moments = np.zeros((forms, forms, values * players))
    moments = moments + _moments(flat - middle, forms)
    result = np.zeros((part.mix.shape[0], values, players))
    for u in range(forms):
        for w in range(u, forms):
            twice = 1.0 if u == w else 2.0
            mixed = (part.mix[:, :, u] * part.mix[:, :, w])[:, :, None]
            result += twice * mixed * moments[u, w].reshape(values, players)[None]
    return np.asarray(np.maximum(result, 0.0) * scale)


def _moments(deviation: Floats, forms: int) -> Floats:
    """Σ_i d_iu·d_iw for every pair of forms u, w and column: one Gram matrix, or pair by pair when it is large."""
    columns = deviation.shape[1] // forms
    if deviation.shape[1] <= LARGEST_GRAM:
        gram = (deviation.T @ deviation).reshape(forms, columns, forms, columns)
        return np.asarray(np.einsum("ucwc->uwc", gram))
    shaped = deviation.reshape(-1, forms, columns)
    result = np.zeros((forms, forms, columns))
    for u in range(forms):
        for w in range(u, forms):
            result[u, w] = np.einsum("ic,ic->c", shaped[:, u], shaped[:, w])
    return result
