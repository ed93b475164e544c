"""Estimates that borrow from the other cells, and exact intervals that use the others only to choose their shape.

Cells share no people. What is borrowed is a prior fitted to the cells; a cell's own interval is made with a prior that
does not know its positives, so that it covers any true rate at its level (Yu and Hoff 2018, with Pratt's order).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import special

from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.rates.proportions import rate_interval

LARGEST = 200  # people of a cell; above it Clopper–Pearson is as short
TIE = 1e-9
SCANNED = np.arange(1, 1000) / 1000.0
HALVINGS = 34
REST_SHARE = 0.1  # of the error allowed for a gap, spent on the people opposite
MOST_AT_ONCE = 500  # cells, so that memory stays small


@cache
def prior_shapes() -> tuple[Floats, Floats]:
    """The grid of beta priors: 81 means times 12 strengths."""
    mean = special.expit(np.linspace(-5.0, 5.0, 81))
    share = (np.arange(1, 13) - 0.5) / 12.0
    strength = 30.0 * (1.0 - share) / share
    return np.outer(mean, strength).ravel(), np.outer(1.0 - mean, strength).ravel()


@cache
def _rising(which: int) -> Floats:
    """log a(a+1)…(a+j-1) of each prior's a, b or their sum, for j up to the largest cell."""
    a, b = prior_shapes()
    shape = (a, b, a + b)[which]
    steps = np.log(shape[:, None] + np.arange(LARGEST))
    return np.concatenate([np.zeros((shape.size, 1)), np.cumsum(steps, axis=1)], axis=1)


def _parts(cells: np.ndarray) -> list[np.ndarray]:
    """Few at once, so that memory stays small."""
    return [cells[start : start + MOST_AT_ONCE] for start in range(0, cells.size, MOST_AT_ONCE)]


class BorrowedPrior:
    """The grid of priors, weighted by how well each explains the cells."""

    def __init__(self, sizes: Floats, positives: Floats) -> None:
        a, _ = prior_shapes()
        pairs, self.place, often = np.unique(
            np.column_stack([sizes, positives]), axis=0, return_inverse=True, return_counts=True
        )
        self.place = self.place.reshape(-1)
        self.sizes, self.positives = pairs[:, 0], pairs[:, 1]
        self._all = np.zeros(a.size)
        for some in _parts(np.arange(self.sizes.size)):
            self._all += often[some] @ self._fit(some)

    def _fit(self, cells: np.ndarray) -> Floats:
        """How well each prior explains each of these cells, as logarithms."""
        (a, b), n, s = prior_shapes(), self.sizes[cells, None], self.positives[cells, None]
        return np.asarray(special.betaln(a + s, b + n - s) - special.betaln(a, b))

    def estimates(self) -> Floats:
        """Of every cell, from all cells: no interval belongs to it."""
        (a, b), weights = prior_shapes(), _normalised(self._all)
        found = np.empty(self.sizes.size)
        for some in _parts(np.arange(self.sizes.size)):
            n, s = self.sizes[some, None], self.positives[some, None]
            found[some] = ((a + s) / (a + b + n)) @ weights
        return found[self.place]

    def limits(self, error: float, among: Bools | None = None) -> tuple[Floats, Floats]:
        """Exact limits of every cell's rate (of those `among`; others are empty)."""
        wanted = np.zeros(self.sizes.size, dtype=bool)
        wanted[self.place if among is None else self.place[among]] = True
        low, high = np.full(wanted.size, np.nan), np.full(wanted.size, np.nan)
        large = wanted & (self.sizes > LARGEST)
        if large.any():
            limits = rate_interval(self.positives[large], self.sizes[large], 1.0 - error, "exact")
            low[large], high[large] = limits
        for some in _parts(np.flatnonzero(wanted & ~large)):
            low[some], high[some] = self._exact(some, error)
        return low[self.place], high[self.place]

    def _marginals(self, cells: np.ndarray) -> Floats:
        """The chance of each number of positives in a cell, as the other cells' prior has it: m(x), by cell and x."""
        weights = np.apply_along_axis(_normalised, 1, self._all - self._fit(cells))
        found = np.ones((cells.size, int(self.sizes[cells].max()) + 1))
        total = _rising(2)
        for n in np.unique(self.sizes[cells]).astype(int):
            x = np.arange(n + 1)
            log = _log_choose(n) + _rising(0)[:, x] + _rising(1)[:, n - x] - total[:, [n]]
            rows = self.sizes[cells] == n
            found[np.ix_(rows, x)] = weights[rows] @ np.exp(log)
        return found

    def _exact(self, cells: np.ndarray, error: float) -> tuple[Floats, Floats]:
        tails = _Tails(self.sizes[cells], self.positives[cells], self._marginals(cells))
        first, last = tails.kept(error)
        least, most = SCANNED[first], SCANNED[last]
        before = np.where(first > 0, SCANNED[first - 1], 0.0)
        after = np.where(last < SCANNED.size - 1, SCANNED[np.minimum(last + 1, SCANNED.size - 1)], 1.0)
        low = tails.bisect(before, least, error)
        high = tails.bisect(after, most, error)
        low = np.where((first == 0) & (tails.positives == 0), 0.0, low)
        high = np.where((last == SCANNED.size - 1) & (tails.positives == tails.sizes), 1.0, high)
        return low, high


class _Tails:
    """p-values of single rates: how likely a number of positives is that speaks no more for the rate than the own."""

    def __init__(self, sizes: Floats, positives: Floats, marginals: Floats) -> None:
        self.sizes, self.positives, self.marginals = sizes, positives, marginals

    def kept(self, error: float) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last scanned rate that is not rejected."""
        first, last = (np.zeros(self.sizes.size, dtype=np.intp) for _ in range(2))
        for n in np.unique(self.sizes).astype(int):
            x, rows = np.arange(n + 1), np.flatnonzero(self.sizes == n)
            chance = _binomial(np.full(SCANNED.size, float(n)), SCANNED, x[None, :])
            for row in rows:
                against = chance / self.marginals[row, x]
                own = against[:, int(self.positives[row])] * (1.0 + TIE)
                p = np.where(against <= own[:, None], chance, 0.0).sum(axis=1)
                inside = np.flatnonzero(p > min(error, float(p.max()) - TIE))
                first[row], last[row] = inside[0], inside[-1]
        return first, last

    def bisect(self, outside: Floats, inside: Floats, error: float) -> Floats:
        """Where the p-value comes to exceed the error between two rates."""
        x = np.arange(self.marginals.shape[1])[None, :]
        own, rows = self.positives.astype(int), np.arange(self.sizes.size)
        with np.errstate(invalid="ignore"):
            for _ in range(HALVINGS):
                middle = (outside + inside) / 2.0
                chance = _binomial(self.sizes, middle, x)
                against = chance / self.marginals
                mine = against[rows, own] * (1.0 + TIE)
                keeps = np.where(against <= mine[:, None], chance, 0.0).sum(axis=1) > error
                inside, outside = np.where(keeps, middle, inside), np.where(keeps, outside, middle)
        return (outside + inside) / 2.0


def _binomial(sizes: Floats, rates: Floats, x: np.ndarray) -> Floats:
    """Chances of x positives, one row for each size and rate; none beyond the size."""
    n = sizes[:, None]
    rest = np.maximum(n - x, 0)
    choose = special.gammaln(n + 1.0) - special.gammaln(x + 1.0) - special.gammaln(rest + 1.0)
    log = choose + x * np.log(rates)[:, None] + rest * np.log1p(-rates)[:, None]
    return np.where(x <= n, np.exp(log), 0.0)


def _log_choose(n: int) -> Floats:
    x = np.arange(n + 1)
    return np.asarray(special.gammaln(n + 1.0) - special.gammaln(x + 1.0) - special.gammaln(n - x + 1.0))


def _normalised(log: Floats) -> Floats:
    weights = np.exp(log - log.max())
    return np.asarray(weights / weights.sum())


# -- Gaps: the cell's limits at most of the error, exact limits of the people opposite at the rest of it.


def opposite_limits(sizes: Floats, positives: Floats, error: float) -> tuple[Floats, Floats]:
    """Exact limits of the rate of the people whom a cell is compared with, of whatever single rates (Hoeffding)."""
    return rate_interval(positives, sizes, 1.0 - REST_SHARE * error, "exact")


def own_error(error: float) -> float:
    """What is left for the cell's own rate."""
    return (1.0 - REST_SHARE) * error


# -- Means: shrunken towards the common mean by a variance pooled over the cells.


def shrunken_means(sizes: Floats, means: Floats, m2: Floats) -> Floats:
    """Estimates of means that borrow; no interval belongs to them."""
    freedom = float((sizes - 1.0).sum())
    total = float(sizes.sum())
    if freedom <= 0 or means.size < 2:
        return means
    within = float(m2.sum()) / freedom
    share = sizes / total
    centre = float(share @ means)
    between = float(share @ (means - centre) ** 2) - float((1.0 - share).sum()) * within / total
    if between <= 0:
        return np.full(means.shape, centre)
    precision = 1.0 / (between + within / sizes)
    centre = float(precision @ means / precision.sum())
    return np.asarray(centre + between * precision * (means - centre))
