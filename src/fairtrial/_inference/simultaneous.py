"""Intervals that cover all groups' gaps at once: the largest |t| of their joint Gaussian limit."""

from __future__ import annotations

import numpy as np
from scipy import special

from fairtrial._inference.evidence.atoms import MANY_GROUPS
from fairtrial._inference.numeric.roots import Floats

DRAWS = 10_000
# Above MANY_GROUPS fewer draws keep the work in proportion; the level is then good to a third of a point.
DRAWS_FOR_MANY = 4_000


def max_t_quantile(covariance: Floats, level: float, seed: int = 0, draws: int | None = None) -> float:
    """Quantile of max |Z_j| for Z normal with this correlation: Gaussian multiplier draws of the influences."""
    deviation = np.sqrt(np.diag(covariance))
    used = deviation > 0
    if not used.any():
        return float(-special.ndtri((1.0 - level) / 2.0))
    correlation = covariance[np.ix_(used, used)] / np.outer(deviation[used], deviation[used])
    # Overlapping groups can be exactly dependent; a hair on the diagonal keeps the factor defined.
    ridge = 1e-9 if used.sum() <= MANY_GROUPS else 1e-5
    correlation[np.diag_indices_from(correlation)] += ridge
    loading = np.linalg.cholesky(correlation).astype(np.float32)
    draws = draws or (DRAWS if used.sum() <= MANY_GROUPS else DRAWS_FOR_MANY)
    generator = np.random.default_rng([seed, int(used.sum())])
    largest = np.empty(draws)
    for start in range(0, draws, 1000):
        noise = generator.standard_normal((1000, loading.shape[1]), dtype=np.float32)
        largest[start : start + 1000] = np.abs(noise @ loading.T).max(axis=1)
    return float(np.quantile(largest, level, method="higher"))


def simultaneous_level(covariance: Floats, level: float, seed: int = 0) -> float:
    """The pointwise level at which all intervals together have `level`; never below it, whatever was drawn."""
    quantile = max_t_quantile(covariance, level, seed)
    return max(level, float(1.0 - 2.0 * special.ndtr(-quantile)))


def bonferroni_level(groups: int, level: float) -> float:
    """The pointwise level without any knowledge of the dependence."""
    return 1.0 - (1.0 - level) / max(groups, 1)


def shared_level(level: float, rates: int) -> float:
    """The level of each of several rates whose errors add up to those of this one."""
    return level if rates == 1 else 1.0 - (1.0 - level) / rates
