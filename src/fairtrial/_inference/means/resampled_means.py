"""Bounds on the gap of two means from rows: a studentised permutation test, and the bootstrap of Student's t.

Permuting (x - δ, y) is exact where both samples have one shape, and its draws serve every δ: each keeps the sum, the
sum of squares, and the number and sum of the original members, so the statistic at δ is closed form and a limit costs
no new draws. The bootstrap takes each sample's own rows, so it knows of shapes that differ. Rows are sorted first and
draws seeded by sizes: neither the order of rows nor that of groups matters.

Draws come in mirrored pairs: with the rows at some places, those at the same places counted from the other end. Values
with the sign changed, and samples that change places, have the same draws with the sign changed, so that tails and
limits change places and nothing else. One draw after the other moved a limit of .787 to .850 when signs changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import special

from fairtrial._inference.numeric.roots import Floats, symmetric_root

DRAWS = 4_000
# Below this probability more draws are taken.
THIN = 0.01
DRAWS_IF_THIN = 10_000
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
# Samples of one size whose sums of squares are so near each other have no first one.
EVEN = 1e-9
# What changes its sign with the rows: their sum; of all rows also the sum of the first sample's own.
SIGNS_OF_ONE, SIGNS_OF_BOTH = np.array([-1.0, 1.0]), np.array([-1.0, 1.0, 1.0, -1.0])


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
        """Equal ones at the edge go together, so that rows with the sign changed are split alike."""
        size = np.abs(rows)
        edge = np.partition(size, rows.size - EXTREME_ROWS)[rows.size - EXTREME_ROWS]
        extreme = size >= edge
        if np.count_nonzero(extreme) > 2 * EXTREME_ROWS:
            extreme = size > edge
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
        sides = np.sort(first) - first.mean(), np.sort(second) - second.mean()
        self.turn, self.even = _order(*sides)  # draws are made of the smaller sample and the larger one
        self.first, self.second = sides if self.turn > 0 else sides[::-1]
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
            found = _draw(self.splits, count // 2, sizes)
            if self.even:
                other = _draw(Splits(self.second, self.first), count // 2, sizes)
                found = _both_ways(found, other, self.spread)
            self.made[count] = found
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
        own = drawn.lower if sign * self.turn > 0 else drawn.upper
        slack = 1e-10 * (1.0 + abs(t))
        hits = int(np.searchsorted(own, t + slack, side="right"))
        p = _probability(t, hits, own[:LAST_COUNTED], own.size, self.df)
        return max(p, self._permuted_tail(t, sign, count))

    def _permuted_tail(self, t: float, sign: float, count: int) -> float:
        law = self._permuted(t, sign, count)
        hits = int(np.count_nonzero(law <= t + 1e-10 * (1.0 + abs(t))))
        last = np.sort(np.partition(law, LAST_COUNTED)[:LAST_COUNTED]) if hits < LAST_COUNTED else law
        return _probability(t, hits, last, law.size, self.df)

    def _permuted(self, t: float, sign: float, count: int) -> Floats:
        """The statistic of each permuted draw at the gap where the observed one is t, the lower tail first."""
        from fairtrial._inference.means.likelihood_loops import shifted_statistics

        picked, sign = self.draws(count).permuted, sign * self.turn
        found = np.empty(picked.shape[0])
        sizes = float(self.first.size), float(self.second.size)
        shifted_statistics(picked, sign * t * self.error, *sizes, self.spread, found)
        # A draw without variation tells of neither side, so it counts on both.
        return np.nan_to_num(sign * found, nan=-np.inf, posinf=np.inf, neginf=-np.inf)

    def _limit(self, tail: float, sign: float, count: int) -> float:
        """How far the limit lies from the estimate."""
        drawn = self.draws(count)
        far = -_quantile(drawn.lower if sign * self.turn > 0 else drawn.upper, tail, self.df)
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
            if far - near <= 1e-11 * far:
                break
        return far


def _order(first: Floats, second: Floats) -> tuple[float, bool]:
    """1.0 where the first sample is the smaller, or of the same size and less spread, else -1.0; whether neither."""
    spread, other = float(first @ first), float(second @ second)
    if first.size != second.size:
        return (1.0 if first.size < second.size else -1.0), False
    even = abs(spread - other) <= EVEN * max(spread, other)
    return (1.0 if even or spread < other else -1.0), even


def _draw(splits: Splits, pairs: int, sizes: list[int]) -> Draws:
    """Mirrored pairs of draws of the bootstrap and of permutation, by the samples' sizes alone."""
    lower, upper = _bootstrap(splits, pairs, np.random.default_rng([SEED, *sizes, pairs]))
    return Draws(lower, upper, _permute(splits, pairs, np.random.default_rng([SEED, *sizes, pairs, 1])))


def _both_ways(found: Draws, other: Draws, spread: float) -> Draws:
    """With those of the samples in the other order, where what is put in the second's place leaves the rest to the
    first; `spread` is the sum of all squares, and all rows are about their samples' means."""
    one, square, own, theirs = other.permuted.T
    turned = np.stack([-one, spread - square, own, theirs - one], axis=1)
    return Draws(
        np.sort(np.append(found.lower, other.upper)), np.sort(np.append(found.upper, other.lower)),
        np.concatenate([found.permuted, turned]),
    )  # fmt: skip


def _probability(t: float, hits: int, smallest: Floats, count: int, df: float) -> float:
    """(1 + hits)/(1 + draws); with fewer hits than are counted, the draws' tail continued as a power of Student's."""
    if hits >= LAST_COUNTED:
        return (1.0 + hits) / (1.0 + count)
    last, power = _continued(smallest, count, df)
    return min(last, float(special.stdtr(df, t) ** power))


def _quantile(lower: Floats, tail: float, df: float) -> float:
    """The t at which the probability falls to `tail`."""
    hits = int(np.floor(tail * (1.0 + lower.size) * (1.0 + 1e-12))) - 1
    if hits >= LAST_COUNTED:
        return float(lower[hits])
    last, power = _continued(lower, lower.size, df)
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


def _bootstrap(splits: Splits, pairs: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Student's t of rows drawn with replacement, each sample from its own, sorted from each end.

    A draw of the smaller sample without variation counts on both sides.
    """
    mean, small = _means(splits.first, lambda: splits.of_first, pairs, generator)
    other, more = _means(splits.second, lambda: splits.of_second, pairs, generator)
    total = small + more
    told = (small > 0) & (total > 0)
    t = (mean - other) / np.sqrt(np.where(told, total, 1.0))
    return np.sort(np.where(told, t, -np.inf)), np.sort(np.where(told, -t, -np.inf))


def _means(
    rows: Floats, split: Callable[[], Split], pairs: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Means of draws with replacement, and the squares of their errors; the second half mirrors the first."""
    size = rows.size
    few = size <= MANY_ROWS
    first, second = _sums_of_few(rows, pairs, generator) if few else _sums_of_many(split(), pairs, generator)
    centred = second - first**2 / size
    scale = float(np.abs(rows).max()) ** 2
    # Equal rows do not always have exactly equal sums: what is left of them is rounding.
    return first / size, np.where(centred > 1e-12 * size * scale, centred, 0.0) / (size - 1.0) / size


def _sums_of_few(rows: Floats, pairs: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    from fairtrial._inference.means.likelihood_loops import sums_with_replacement

    sums = np.empty((2, 2, pairs))  # of rows and of their squares; by draw and its mirror
    for start in range(0, pairs, _batch(rows.size)):
        end = min(pairs, start + _batch(rows.size))
        chosen = generator.integers(rows.size, size=(end - start, rows.size), dtype=np.int32)
        for half, ordered in enumerate((rows, np.ascontiguousarray(rows[::-1]))):
            sums[:, half, start:end] = sums_with_replacement(ordered, chosen)
    return sums[0].ravel(), sums[1].ravel()


def _batch(size: int) -> int:
    return max(1, CHUNK // size)


def _sums_of_many(split: Split, pairs: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """The most extreme rows one by one, the sum and the sum of squares of the others as normal."""
    several = split.extreme.shape[1]
    size = split.others + several
    drawn = generator.binomial(size, several / size, pairs)
    place = generator.integers(max(several, 1), size=int(drawn.sum()))
    draw = np.repeat(np.arange(pairs), drawn)
    others = (size - drawn)[:, None]
    noise = generator.standard_normal((pairs, 2))
    sums = []
    for extreme, sign in ((split.extreme[0], 1.0), (split.extreme[0, ::-1], SIGNS_OF_ONE)):
        values = extreme[place]
        rest = others * split.mean + np.sqrt(others) * ((noise * sign) @ split.root.T)
        own = np.stack([np.bincount(draw, of, minlength=pairs) for of in (values, values**2)], axis=1)
        sums.append(own + rest)
    first, second = np.concatenate(sums).T
    return first, second


def _permute(splits: Splits, pairs: int, generator: np.random.Generator) -> Floats:
    """Per draw: sum, sum of squares, number and sum of the first sample's own rows, of the rows put in its place."""
    first, second = splits.first, splits.second
    if first.size <= MANY_ROWS:
        return _pick_few(first, second, pairs, generator)
    return _pick_many(splits.of_both, first.size, pairs, generator)


def _pick_few(first: Floats, second: Floats, pairs: int, generator: np.random.Generator) -> Floats:
    from fairtrial._inference.means.likelihood_loops import sums_without_replacement

    size = first.size
    picked = np.empty((2, pairs, 4))
    arrangements = [np.concatenate(sides) for sides in ((first, second), (first[::-1], second[::-1]))]
    orders = [np.arange(rows.size) for rows in arrangements]
    for start in range(0, pairs, _batch(size)):
        end = min(pairs, start + _batch(size))
        noise = generator.integers(2**32, size=(end - start, size), dtype=np.int64)
        for rows, order, found in zip(arrangements, orders, picked, strict=True):
            sums_without_replacement(rows, size, order, noise, found[start:end])
    return picked.reshape(-1, 4)


def _pick_many(split: Split, size: int, pairs: int, generator: np.random.Generator) -> Floats:
    """The most extreme rows one by one, the others' four sums as normal with the covariance of picking so many."""
    several = split.extreme.shape[1]
    own = int(split.extreme[2].sum())
    drawn = generator.hypergeometric(several, split.others, size, pairs)
    inside = generator.random((pairs, several)).argsort(axis=1) < drawn[:, None]
    others = (size - drawn)[:, None]
    spread = others * (split.others - others) / (split.others - 1.0)
    noise = generator.standard_normal((pairs, 4))
    mirrored = np.concatenate([split.extreme[:, :own][:, ::-1], split.extreme[:, own:][:, ::-1]], axis=1)
    halves = [
        inside @ extreme.T + others * split.mean + np.sqrt(spread) * ((noise * sign) @ split.root.T)
        for extreme, sign in ((split.extreme, 1.0), (mirrored, SIGNS_OF_BOTH))
    ]
    return np.concatenate(halves)
