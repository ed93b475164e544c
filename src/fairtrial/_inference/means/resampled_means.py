"""Bounds on the gap of two means from rows: a studentised permutation test, and the bootstrap of Student's t.

Permuting (x - δ, y) is exact where both samples have one shape, and its draws serve every δ: each keeps the sum, the
sum of squares, and the number and sum of the original members, so the statistic at δ is closed form and a limit costs
no new draws. The bootstrap takes each sample's own rows, so it knows of shapes that differ. Rows are sorted first and
draws seeded by sizes: neither the order of rows nor that of groups matters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import special

from fairtrial._inference.numeric.roots import Floats, symmetric_root

DRAWS = 1_999
# Below this probability more draws are taken.
THIN = 0.01
DRAWS_IF_THIN = 9_999
NUMBERS_DRAWN = 6 * (DRAWS + DRAWS_IF_THIN)  # that a gap keeps: four sums and two statistics of a draw
SEED = 0
# The last tail that is read off the draws has so many of them; beyond it the tail is continued as Student's.
LAST_COUNTED = 10
# Of a sample larger than this only the most extreme rows are drawn one by one: the sum of the others is normal.
MANY_ROWS = 1_024
EXTREME_ROWS = 256
CHUNK = 2_000_000
# In errors: a limit further out is none.
FARTHEST = 1e4
HALVINGS = 40


class Draws(NamedTuple):
    """Bootstrap statistics sorted for the lower and the upper tail, and the sums of permuted draws."""

    lower: Floats
    upper: Floats
    permuted: Floats


class Split(NamedTuple):
    """A sample's columns: the most extreme rows as they are, of the others their number, means and spread."""

    extreme: Floats
    others: int
    mean: Floats
    root: Floats

    @staticmethod
    def of(rows: Floats, columns: Floats) -> Split:
        """In the order of the rows, the first of equal ones: not in that of a library's partition."""
        size = np.abs(rows)
        edge = np.partition(size, rows.size - EXTREME_ROWS)[rows.size - EXTREME_ROWS]
        extreme = size > edge
        extreme[np.flatnonzero(size == edge)[: EXTREME_ROWS - np.count_nonzero(extreme)]] = True
        others = columns[:, ~extreme]
        root = symmetric_root(np.cov(others, ddof=0))
        return Split(columns[:, extreme], others.shape[1], others.mean(axis=1), root)


class Splits:
    """Two samples, and what of their many rows every number of draws needs, made once."""

    def __init__(self, first: Floats, second: Floats) -> None:
        self.first, self.second = first, second

    @cached_property
    def of_first(self) -> Split:
        return Split.of(self.first, np.stack([self.first, self.first**2]))

    @cached_property
    def of_second(self) -> Split:
        return Split.of(self.second, np.stack([self.second, self.second**2]))

    @cached_property
    def of_both(self) -> Split:
        """With whose rows are the first sample's own."""
        rows = np.concatenate([self.first, self.second])
        own = np.arange(rows.size) < self.first.size
        return Split.of(rows, np.stack([rows, rows**2, own, rows * own]))


class ResampledGap:
    """One gap of two means; tails at any value and limits at any level from the same draws."""

    def __init__(self, first: Floats, second: Floats) -> None:
        self.gap = float(first.mean() - second.mean())
        self.first = np.sort(first) - first.mean()
        self.second = np.sort(second) - second.mean()
        self.spread = float(self.first @ self.first + self.second @ self.second)
        part = [float(rows @ rows) / (rows.size - 1.0) / rows.size for rows in (self.first, self.second)]
        self.error = float(np.sqrt(part[0] + part[1]))
        below = part[0] ** 2 / (self.first.size - 1.0) + part[1] ** 2 / (self.second.size - 1.0)
        self.df = float((part[0] + part[1]) ** 2 / below)
        self.made: dict[int, Draws] = {}
        self.splits = Splits(self.first, self.second)

    def draws(self, count: int) -> Draws:
        """So many draws, made once."""
        if count not in self.made:
            sizes = [self.first.size, self.second.size]
            lower, upper = _bootstrap(self.splits, count, np.random.default_rng([SEED, *sizes, count]))
            permuted = _permute(self.splits, count, np.random.default_rng([SEED, *sizes, count, 1]))
            self.made[count] = Draws(lower, upper, permuted)
        return self.made[count]

    def tail(self, gap: float, sign: float) -> float:
        """p-value of 'at least gap' (sign 1) or 'at most gap' (sign -1); with more draws where it is small."""
        p = self._tail(gap, sign, DRAWS)
        return p if p >= THIN else min(THIN, self._tail(gap, sign, DRAWS_IF_THIN))

    def limit(self, tail: float, sign: float) -> float:
        """The upper (sign 1) or lower (sign -1) limit: where the tail's probability falls to `tail`."""
        nearest = self._limit(max(tail, THIN), sign, DRAWS)
        if tail >= THIN:
            return self.gap + sign * nearest
        return self.gap + sign * max(nearest, self._limit(tail, sign, DRAWS_IF_THIN))

    def _tail(self, gap: float, sign: float, count: int) -> float:
        t = sign * (self.gap - gap) / self.error
        drawn = self.draws(count)
        own = drawn.lower if sign > 0 else drawn.upper
        slack = 1e-10 * (1.0 + abs(t))
        hits = int(np.searchsorted(own, t + slack, side="right"))
        p = _probability(t, hits, own[:LAST_COUNTED], count, self.df)
        return max(p, self._permuted_tail(t, sign, count))

    def _permuted_tail(self, t: float, sign: float, count: int) -> float:
        law = self._permuted(t, sign, count)
        hits = int(np.count_nonzero(law <= t + 1e-10 * (1.0 + abs(t))))
        last = np.sort(np.partition(law, LAST_COUNTED)[:LAST_COUNTED]) if hits < LAST_COUNTED else law
        return _probability(t, hits, last, count, self.df)

    def _permuted(self, t: float, sign: float, count: int) -> Floats:
        """The statistic of each permuted draw at the gap where the observed one is t, the lower tail first."""
        from fairtrial._inference.means.likelihood_loops import shifted_statistics

        picked = self.draws(count).permuted
        found = np.empty(picked.shape[0])
        sizes = float(self.first.size), float(self.second.size)
        shifted_statistics(picked, sign * t * self.error, *sizes, self.spread, found)
        # A draw without variation tells of neither side, so it counts on both.
        return np.nan_to_num(sign * found, nan=-np.inf, posinf=np.inf, neginf=-np.inf)

    def _limit(self, tail: float, sign: float, count: int) -> float:
        """How far the limit lies from the estimate."""
        drawn = self.draws(count)
        far = -_quantile(drawn.lower if sign > 0 else drawn.upper, tail, count, self.df)
        student = -float(special.stdtrit(self.df, tail))
        return self.error * max(far, self._permuted_limit(tail, sign, count, student))

    def _permuted_limit(self, tail: float, sign: float, count: int, student: float) -> float:
        """Outwards from Student's until the tail is thin enough, then halving."""
        near, far = 0.0, max(student, 0.1)
        while self._permuted_tail(-far, sign, count) > tail:
            near, far = far, 1.5 * far
            if far > FARTHEST:
                return np.inf
        for _ in range(HALVINGS):
            middle = 0.5 * (near + far)
            if self._permuted_tail(-middle, sign, count) > tail:
                near = middle
            else:
                far = middle
            if far - near <= 1e-9 * far:
                break
        return far


def _probability(t: float, hits: int, smallest: Floats, count: int, df: float) -> float:
    """(1 + hits)/(1 + draws); with fewer hits than are counted, the draws' tail continued as a power of Student's."""
    if hits >= LAST_COUNTED:
        return (1.0 + hits) / (1.0 + count)
    last, power = _continued(smallest, count, df)
    return min(last, float(special.stdtr(df, t) ** power))


def _quantile(lower: Floats, tail: float, count: int, df: float) -> float:
    """The t at which the probability falls to `tail`."""
    hits = int(np.floor(tail * (1.0 + count) * (1.0 + 1e-12))) - 1
    if hits >= LAST_COUNTED:
        return float(lower[hits])
    last, power = _continued(lower[:LAST_COUNTED], count, df)
    edge = float(lower[LAST_COUNTED - 1])
    if power <= 0.0 or tail >= last:
        return edge if tail >= last else -np.inf
    return min(edge, float(special.stdtrit(df, max(tail ** (1.0 / power), 1e-300))))


def _continued(smallest: Floats, count: int, df: float) -> tuple[float, float]:
    """The probability of the last counted draw, and the power of Student's tail that meets it there."""
    last = (1.0 + LAST_COUNTED) / (1.0 + count)
    student = float(special.stdtr(df, float(smallest[LAST_COUNTED - 1])))
    if student >= 0.5 or student <= 0.0:
        return last, 0.0
    return last, min(1.0, float(np.log(last) / np.log(student)))


def _bootstrap(splits: Splits, count: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Student's t of rows drawn with replacement, each sample from its own, sorted from each end.

    A draw of the smaller sample without variation counts on both sides.
    """
    first, second = splits.first, splits.second
    mean, variance = _means(first, lambda: splits.of_first, count, generator)
    other, more = _means(second, lambda: splits.of_second, count, generator)
    small = variance if first.size <= second.size else more
    total = variance + more
    told = (small > 0) & (total > 0)
    t = (mean - other) / np.sqrt(np.where(told, total, 1.0))
    return np.sort(np.where(told, t, -np.inf)), np.sort(np.where(told, -t, -np.inf))


def _means(
    rows: Floats, split: Callable[[], Split], count: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Means of draws with replacement, and the squares of their errors."""
    size = rows.size
    few = size <= MANY_ROWS
    first, second = _sums_of_few(rows, count, generator) if few else _sums_of_many(split(), count, generator)
    centred = second - first**2 / size
    scale = float(np.abs(rows).max()) ** 2
    # Equal rows do not always have exactly equal sums: what is left of them is rounding.
    return first / size, np.where(centred > 1e-12 * size * scale, centred, 0.0) / (size - 1.0) / size


def _sums_of_few(rows: Floats, count: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    from fairtrial._inference.means.likelihood_loops import sums_with_replacement

    first, second = np.empty(count), np.empty(count)
    for start in range(0, count, _batch(rows.size)):
        end = min(count, start + _batch(rows.size))
        chosen = generator.integers(rows.size, size=(end - start, rows.size), dtype=np.int32)
        first[start:end], second[start:end] = sums_with_replacement(rows, chosen)
    return first, second


def _batch(size: int) -> int:
    return max(1, CHUNK // size)


def _sums_of_many(split: Split, count: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """The most extreme rows one by one, the sum and the sum of squares of the others as normal."""
    size, extreme = split.others + EXTREME_ROWS, split.extreme[0]
    drawn = generator.binomial(size, EXTREME_ROWS / size, count)
    values = extreme[generator.integers(EXTREME_ROWS, size=int(drawn.sum()))]
    draw = np.repeat(np.arange(count), drawn)
    others = (size - drawn)[:, None]
    noise = generator.standard_normal((count, 2)) @ split.root.T
    sums = others * split.mean + np.sqrt(others) * noise
    one = np.bincount(draw, values, minlength=count) + sums[:, 0]
    return one, np.bincount(draw, values**2, minlength=count) + sums[:, 1]


def _permute(splits: Splits, count: int, generator: np.random.Generator) -> Floats:
    """Per draw: sum, sum of squares, number and sum of the first sample's own rows, of the rows put in its place."""
    first, second = splits.first, splits.second
    size = min(first.size, second.size)
    if size <= MANY_ROWS:
        picked = _pick_few(np.concatenate([first, second]), first.size, size, count, generator)
    else:
        picked = _pick_many(splits.of_both, size, count, generator)
    if first.size <= second.size:
        return picked
    # The rows picked were the second sample's: the others stand for the first.
    rows = np.concatenate([first, second])
    total = np.array([rows.sum(), rows @ rows, float(first.size), first.sum()])
    return np.asarray(total - picked)


def _pick_few(rows: Floats, originals: int, size: int, count: int, generator: np.random.Generator) -> Floats:
    from fairtrial._inference.means.likelihood_loops import sums_without_replacement

    picked = np.empty((count, 4))
    order = np.arange(rows.size)
    for start in range(0, count, _batch(size)):
        end = min(count, start + _batch(size))
        noise = generator.integers(2**32, size=(end - start, size), dtype=np.int64)
        sums_without_replacement(rows, originals, order, noise, picked[start:end])
    return picked


def _pick_many(split: Split, size: int, count: int, generator: np.random.Generator) -> Floats:
    """The most extreme rows one by one, the others' four sums as normal with the covariance of picking so many."""
    drawn = generator.hypergeometric(EXTREME_ROWS, split.others, size, count)
    inside = generator.random((count, EXTREME_ROWS)).argsort(axis=1) < drawn[:, None]
    others = (size - drawn)[:, None]
    spread = others * (split.others - others) / (split.others - 1.0)
    noise = generator.standard_normal((count, 4)) @ split.root.T
    sums = others * split.mean + np.sqrt(spread) * noise
    return np.asarray(inside @ split.extreme.T + sums)
