"""How far the true rates of small cells spread, with an interval and a test by drawn counts.

Sampling error is taken off exactly; no law for many people in each cell is assumed. One person says nothing of spread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from fairtrial._inference.numeric.roots import Floats

MOST_SHUFFLES, MOST_DRAWS, FEWEST = 4999, 4999, 199
DRAWN_CELLS, SHUFFLED_CELLS = 400_000, 1_250_000  # draws times cells, so that many cells take no longer
FEWEST_CELLS = 5  # of fewer no interval of the spread was measured
PULL = 10.0  # people by which the drawn rates are drawn together
HALVINGS, HALVINGS_OF_RATES = 9, 40
FARTHEST = 2.0**30
LARGE = 50  # people of a cell, above which counts are drawn one by one


@dataclass(frozen=True, slots=True)
class RateSpread:
    """Standard deviation of the true rates, people-weighted; None where there is none."""

    cells: int
    people: int
    squared: float
    low: float | None
    high: float | None
    p_none: float
    p_tolerated: float | None

    @property
    def value(self) -> float:
        return float(np.sqrt(max(self.squared, 0.0)))


class SpreadCells:
    """Cells of two people or more, and what can be drawn for them."""

    def __init__(self, sizes: Floats, positives: Floats, seed: int = 0) -> None:
        told = sizes >= 2
        self.n, self.s, self.seed = sizes[told], positives[told], seed
        self.total = float(self.n.sum())
        self.draws = int(np.clip(DRAWN_CELLS // max(self.n.size, 1), FEWEST, MOST_DRAWS))
        self.shuffles = int(np.clip(SHUFFLED_CELLS // max(self.n.size, 1), FEWEST, MOST_SHUFFLES))
        self.share = self.n / self.total
        self.squared = float(self._squared(self.s))
        rate = self.s / self.n
        self.centre = float(self.share @ rate)
        away = (rate - self.centre) * self.n / (self.n + PULL)
        self.away = away - float(self.share @ away)

    def _squared(self, positives: Floats) -> Floats:
        """The unbiased squared spread; of columns of counts each one's."""
        noise = (1.0 - self.share) * self.n / (self.n - 1.0) / self.total
        square, single = (self.share + noise) / self.n**2, noise / self.n
        centre = (self.share / self.n) @ positives
        return np.asarray(square @ positives**2 - single @ positives - centre**2)

    def rates(self, spread: float) -> Floats:
        """True rates with this spread, shaped as the observed ones; as far as rates can spread so."""
        low, high = 0.0, 1.0
        while high < FARTHEST and self._of(self._pulled(high)) < spread:
            high *= 2.0
        for _ in range(HALVINGS_OF_RATES if spread > 0 else 0):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self._of(self._pulled(middle)) < spread else (low, middle)
        return self._pulled(high if spread > 0 else 0.0)

    def _pulled(self, factor: float) -> Floats:
        return np.asarray(np.clip(self.centre + factor * self.away, 0.0, 1.0))

    def _of(self, rates: Floats) -> float:
        return float(np.sqrt(self.share @ (rates - self.share @ rates) ** 2))

    def drawn(self, spread: float) -> Floats:
        """Squared spreads that would be estimated if the true one were this; the same draws for each."""
        generator = np.random.default_rng(self.seed)
        rates, counts = self.rates(spread), np.empty((self.n.size, self.draws))
        for n in np.unique(self.n):
            rows = np.flatnonzero(self.n == n)
            if n > LARGE:
                counts[rows] = generator.binomial(int(n), rates[rows, None], (rows.size, self.draws))
                continue
            uniform = generator.random((rows.size, self.draws), np.float32)
            found = np.zeros(uniform.shape, np.uint8)
            for x in range(int(n)):
                found += uniform > special.bdtr(x, int(n), rates[rows])[:, None]
            counts[rows] = found
        return self._squared(counts)

    def p_none(self) -> float:
        """Exact permutation test that all rates are equal, by the sum of s²/n."""
        generator = np.random.default_rng(self.seed)
        sizes, positives = self.n.astype(np.int64), int(self.s.sum())
        seen = float((self.s**2 / self.n).sum())
        drawn = generator.multivariate_hypergeometric(sizes, positives, self.shuffles, method="marginals")
        reached = int((((drawn**2) / self.n).sum(axis=1) >= seen - 1e-9).sum())
        return (1 + reached) / (1 + self.shuffles)

    def p_at_most(self, spread: float) -> float:
        """Test that the spread is at most this."""
        return float((1 + (self.drawn(spread) >= self.squared - 1e-12).sum()) / (1 + self.draws))

    def tails(self, spread: float) -> tuple[float, float]:
        """How often so large an estimate is drawn, and so small a one, where the true spread is this."""
        drawn = self.drawn(spread)
        above, below = drawn >= self.squared - 1e-12, drawn <= self.squared + 1e-12
        return float(above.mean()), float(below.mean())

    def limits(self, error: float) -> tuple[float, float] | None:
        """The spreads that both tails allow; None where none is allowed, which is never 'none to none'."""
        tail = error / 2.0
        low = 0.0 if self.tails(0.0)[0] > tail else self._edge(lambda spread: self.tails(spread)[0] > tail)
        if self.tails(low)[1] <= tail:
            return None
        widest = self._of(self._pulled(FARTHEST))
        high = (
            widest
            if self.tails(widest)[1] > tail
            else self._edge(lambda spread: self.tails(spread)[1] <= tail, low, widest)
        )
        return low, high

    def _edge(self, beyond: Callable[[float], bool], low: float = 0.0, high: float | None = None) -> float:
        """The least spread of which it is true."""
        high = float(np.sqrt(max(self.squared, 0.0))) if high is None else high
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if beyond(middle) else (middle, high)
        return (low + high) / 2.0


def find_spread(
    sizes: Floats, positives: Floats, error: float = 0.05, tolerated: float | None = None
) -> RateSpread | None:
    """The spread of the cells of two people or more; None of fewer such cells than were measured."""
    if (sizes >= 2).sum() < FEWEST_CELLS:
        return None
    cells = SpreadCells(sizes, positives)
    limits = cells.limits(error)
    low, high = (None, None) if limits is None else limits
    p_tolerated = cells.p_at_most(tolerated) if tolerated else None
    return RateSpread(cells.n.size, int(cells.total), cells.squared, low, high, cells.p_none(), p_tolerated)
