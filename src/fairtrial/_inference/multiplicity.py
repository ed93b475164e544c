"""Adjusted p-values, and intervals that cover all groups at once: a group is flagged when its p is at most a."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairtrial._inference.numeric.roots import Floats, symmetric_root

# More groups than this are worked out with less precision where each takes time.
MANY_GROUPS = 200


def holm(p: ArrayLike) -> Floats:
    """Holm (1979): any dependence, family-wise error."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    factors = values.size - np.arange(values.size)
    stepped = np.maximum.accumulate(factors * values[order])
    return _restore(np.minimum(stepped, 1.0), order)


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Benjamini and Hochberg (1995): false discovery rate, for independent or positively dependent tests."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    stepped = values[order] * values.size / np.arange(1, values.size + 1)
    return _restore(np.minimum(np.minimum.accumulate(stepped[::-1])[::-1], 1.0), order)


def benjamini_yekutieli(p: ArrayLike) -> Floats:
    """Benjamini and Yekutieli (2001): false discovery rate under any dependence."""
    values = np.asarray(p, dtype=float)
    harmonic = float(np.sum(1.0 / np.arange(1, values.size + 1)))
    order = np.argsort(values, kind="stable")
    stepped = values[order] * values.size * harmonic / np.arange(1, values.size + 1)
    return _restore(np.minimum(np.minimum.accumulate(stepped[::-1])[::-1], 1.0), order)


def max_t(p: ArrayLike, dependence: Dependence, seed: int = 0) -> Floats:
    """Westfall and Young (1993), stepping down: tests whose dependence is known count as often as they differ.

    At each step the chance that any remaining test has so small a p-value is that of the known ones together, by draws
    from their joint normal law, plus Bonferroni's for the others. Never above Holm's value, and Holm's where none is
    known.
    """
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    drawn = dependence.smallest_first(
        order, seed
    )  # (steps, draws): the smallest p among the known that remain
    known = np.isin(order, dependence.tests)
    others = np.cumsum(~known[::-1])[::-1]
    remaining = values.size - np.arange(values.size)
    reached = 1.0 + (drawn <= values[order][:, None] * (1.0 + 1e-9)).sum(axis=1)
    together = np.where(
        np.cumsum(known[::-1])[::-1] > 0, reached / (1.0 + drawn.shape[1]) + others * values[order], np.inf
    )
    # draws may fall short of what a single test must have
    steps = np.clip(together, values[order], remaining * values[order])
    return _restore(np.minimum(np.maximum.accumulate(steps), 1.0), order)


@dataclass(frozen=True, slots=True, eq=False)
class Dependence:
    """Which tests of a family share people in a known way: their places, sides and joint correlation.

    A side is 0 for a test of "differs", 1 of "above" and -1 of "below".
    """

    tests: NDArray[np.intp]
    sides: NDArray[np.intp]
    correlation: Floats
    draws: int = 20_000

    def smallest_first(self, order: NDArray[np.intp], seed: int) -> Floats:
        """Per step of the order the smallest p-value, in each draw, of the known tests that remain."""
        found = np.ones((order.size, self.draws))
        if not self.tests.size:
            return found
        p = self._drawn(seed)
        place = {int(test): i for i, test in enumerate(self.tests)}
        smallest = np.ones(self.draws)
        for step in range(order.size - 1, -1, -1):
            if (i := place.get(int(order[step]))) is not None:
                smallest = np.minimum(smallest, p[i])
            found[step] = smallest
        return found

    def _drawn(self, seed: int) -> Floats:
        """P-values of the known tests under their joint normal law."""
        from scipy import special  # a quarter second that starting the server or the command does without

        noise = np.random.default_rng([seed, self.tests.size]).standard_normal((self.tests.size, self.draws))
        z = symmetric_root(self.correlation) @ noise
        sides = self.sides[:, None]
        return np.asarray(np.where(sides == 0, 2.0 * special.ndtr(-np.abs(z)), special.ndtr(-sides * z)))


CORRECTIONS = {"bh": benjamini_hochberg, "by": benjamini_yekutieli, "holm": holm}


def _restore(stepped: Floats, order: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Floats:
    restored = np.empty_like(stepped)
    restored[order] = stepped
    return restored


# -- Intervals that cover all groups' gaps at once: the largest |t| of their joint Gaussian limit.

DRAWS = 10_000
# Above MANY_GROUPS fewer draws keep the work in proportion; the level is then good to a third of a point.
DRAWS_FOR_MANY = 4_000


def max_t_quantile(covariance: Floats, level: float, seed: int = 0, draws: int | None = None) -> float:
    """Quantile of max |Z_j| for Z normal with this correlation: Gaussian multiplier draws of the influences."""
    from scipy import special

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
    from scipy import special

    quantile = max_t_quantile(covariance, level, seed)
    return max(level, float(1.0 - 2.0 * special.ndtr(-quantile)))


def bonferroni_level(groups: int, level: float) -> float:
    """The pointwise level without any knowledge of the dependence."""
    return 1.0 - (1.0 - level) / max(groups, 1)


def shared_level(level: float, rates: int) -> float:
    """The level of each of several rates whose errors add up to those of this one."""
    return level if rates == 1 else 1.0 - (1.0 - level) / rates
