"""Tails and limits of small groups of real values, by the law that the shape of all rows gives Student's t.

A small group of skewed values that happens to lack the large ones has a low mean and, with it, a low spread: far below
its target in units of its own error. Its own rows cannot tell, so no law made of them alone can: of ten groups of forty
exponential values one was wrongly flagged as below the others 11% of the time, of lognormal values 26%. All rows
together, each about the mean of its own group, know the shape. Where groups differ in shape as well the guard is
approximate; it never makes a p-value smaller or an interval shorter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial.inference.compare.gaps import Gaps, blank
from fairtrial.inference.evidence.atoms import Atoms, Bools, Comparison
from fairtrial.inference.evidence.enough import pooled_shape, telling_members
from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.rates.binary_gaps import SMALLEST_P
from fairtrial.inference.rates.proportions import SMALL_COUNT

SHAPE_RULE = "shape of all rows"
# With this many telling members on both sides the limit laws hold.
ENOUGH_MEMBERS = 500
DRAWS = 9_999
SEED = 0
# Draws are windows of one long sample, each sharing three quarters of its rows or more with the next.
WINDOWS_PER_SIZE = 4
LONGEST_STRIDE = 80
# The last quantile that is read off the draws; beyond it their tail is continued.
LAST_COUNTED = 40
# Sizes are rounded down to a grid this fine, so that groups share draws.
GRID = 1.1
ENDLESS = 10**12
# The mean of a sample so many times larger than the other is drawn as normal: its shape hardly matters.
TIMES_LARGER = 3
# No law reaches further than Student's stretched so many times: a single wild row must not silence all groups.
LARGEST_STRETCH = 3.0


class ShapeLaws:
    """Draws of Student's t for samples with the shape of all rows of `pieces`."""

    def __init__(self, pieces: Sequence[Floats]) -> None:
        # Sorted, and drawn by a generator for each size: neither the order of rows nor that of groups may matter.
        centred = np.sort(pooled_shape(pieces))
        self.shape = (centred - centred.mean()) / centred.std()
        self.commonest: float | None = None
        if telling_members(self.shape) < self.shape.size:
            self.commonest = float(self.shape[self.shape.size // 2])
        self.means: dict[int, tuple[Floats, Floats]] = {}
        self.laws: dict[tuple[int, int], Floats] = {}

    def law(self, size: float, other: float) -> Floats:
        """Sorted draws of the difference of two means over its error; a known target counts as endless.

        Both samples have the same spread: that of a small one is just what cannot be trusted.
        """
        key = _on_grid(size), _on_grid(other)
        if key not in self.laws:
            generator = np.random.default_rng([SEED, *key])
            mean, variance = self._draw(key[0], key[1], generator)
            if np.isfinite(other):
                second, more = self._draw(key[1], key[0], generator)
                mean, variance = mean - second, variance + more
            with np.errstate(divide="ignore", invalid="ignore"):
                self.laws[key] = np.sort(np.where(variance > 0, mean / np.sqrt(variance), 0.0))
        return self.laws[key]

    def _draw(self, size: int, other: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Means of samples, and the squares of their errors; zeros where nothing could be inferred."""
        if size > TIMES_LARGER * other:
            return generator.standard_normal(DRAWS) / np.sqrt(size), np.full(DRAWS, 1.0 / size)
        if size not in self.means:
            drawn = np.random.default_rng([SEED, size])
            self.means[size] = (
                self._windows(size, drawn) if self.commonest is None else self._few_others(size, drawn)
            )
        mean, variance = self.means[size]
        shuffled = generator.permutation(DRAWS)
        return mean[shuffled], variance[shuffled]

    def _windows(self, size: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        start = min(max(1, size // WINDOWS_PER_SIZE), LONGEST_STRIDE) * np.arange(DRAWS)
        rows = self.shape[generator.integers(self.shape.size, size=int(start[-1]) + size)]
        length = np.full(DRAWS, size)
        return _mean_and_error(_sums(rows, start, length), _sums(rows**2, start, length), size)

    def _few_others(self, size: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Where most rows share one value: how many have another, then windows of those alone."""
        assert self.commonest is not None
        others = self.shape[self.shape != self.commonest] - self.commonest
        count = generator.binomial(size, others.size / self.shape.size, DRAWS)
        typical = max(1, int(count.mean()))
        start = min(max(1, typical // WINDOWS_PER_SIZE), LONGEST_STRIDE) * np.arange(DRAWS)
        rows = others[generator.integers(others.size, size=int(start[-1] + count.max()))]
        mean, variance = _mean_and_error(_sums(rows, start, count), _sums(rows**2, start, count), size)
        untold = (2 * count < size) & (count < SMALL_COUNT)
        # Rows were counted from the shared value; the shape's own mean is zero.
        return np.where(untold, 0.0, mean + self.commonest), np.where(untold, 0.0, variance)


def _mean_and_error(first: Floats, second: Floats, size: int) -> tuple[Floats, Floats]:
    """Means, and the squares of their errors, from sums and sums of squares."""
    mean = first / size
    return mean, np.maximum(second / size - mean**2, 0.0) / (size - 1)


def _sums(rows: Floats, start: NDArray[np.int64], length: NDArray[np.int64]) -> Floats:
    """Sums of windows."""
    running = np.concatenate([[0.0], np.cumsum(rows)])
    return np.asarray(running[start + length] - running[start])


def _on_grid(size: float) -> int:
    """The size rounded down to the grid."""
    return max(2, int(GRID ** np.floor(np.log(min(size, ENDLESS)) / np.log(GRID) + 1e-9)))


class Tail:
    """The upper tail of sorted draws, continued beyond the last ones as a power of Student's."""

    def __init__(self, law: Floats, df: float) -> None:
        self.law, self.df = law, df
        self.last_p = LAST_COUNTED / (DRAWS + 1.0)
        self.last = min(float(law[-LAST_COUNTED]), LARGEST_STRETCH * self._student_quantile(self.last_p))
        student = self._student(self.last)
        self.power = min(1.0, float(np.log(self.last_p) / np.log(student))) if student < 0.5 else 1.0

    def _student(self, t: float) -> float:
        return float(special.ndtr(-t)) if np.isinf(self.df) else float(special.stdtr(self.df, -t))

    def _student_quantile(self, p: float) -> float:
        return -float(special.ndtri(p)) if np.isinf(self.df) else -float(special.stdtrit(self.df, p))

    def p(self, t: float) -> float:
        """The probability of t or more."""
        if t > self.last:
            return min(self.last_p, float(self._student(t) ** self.power))
        reached = DRAWS - int(np.searchsorted(self.law, t - 1e-12 * abs(t)))
        stretched = self._student(t / LARGEST_STRETCH) if t > 0 else 1.0
        return max(self.last_p, min((1 + reached) / (DRAWS + 1), stretched))

    def quantile(self, p: float) -> float:
        """The value that is reached with probability p."""
        if p < self.last_p:
            return max(self.last, self._student_quantile(max(p ** (1.0 / self.power), SMALLEST_P)))
        place = DRAWS - max(1, int(p * (DRAWS + 1)))
        found = float(self.law[place])
        return min(found, LARGEST_STRETCH * self._student_quantile(p)) if p < 0.5 else found


class ShapeGuarded(Gaps):
    """Gaps whose tails are never thinner, and limits never nearer, than the shape of all rows allows."""

    def __init__(self, inner: Gaps, atoms: Atoms, comparison: Comparison, few: Bools) -> None:
        self.inner = inner
        self.estimate, self.error, self.df = inner.estimate, inner.error, inner.df
        self.rule = np.where(few, np.char.add(inner.rule, f", {SHAPE_RULE}"), inner.rule)
        self.reason, self.evidence, self.covariance = inner.reason, inner.evidence, inner.covariance
        used = np.asarray(np.vstack([comparison.member, comparison.reference]).any(axis=0))
        assert atoms.values is not None
        laws = ShapeLaws(
            [rows for rows, inside in zip(atoms.values, used, strict=True) if inside and rows.size]
        )
        self.sides: dict[int, tuple[Tail, Tail]] = {}
        for index in np.flatnonzero(few):
            law = laws.law(*_two_sizes(atoms, comparison, int(index)))
            df = float(self.df[index])
            self.sides[int(index)] = Tail(law, df), Tail(-law[::-1], df)

    def root(self, gap: Floats) -> Floats:
        return self.inner.root(gap)

    def tails(self, gap: Floats) -> tuple[Floats, Floats]:
        above, below = (side.copy() for side in self.inner.tails(gap))
        for index, (upper, lower) in self.sides.items():
            t = float((self.estimate[index] - gap[index]) / self.error[index])
            above[index] = max(above[index], upper.p(t))
            below[index] = max(below[index], lower.p(-t))
        return self._guard(above), self._guard(below)

    def p_inside(self, low: float, high: float) -> Floats:
        return self.p_equal(low) if low == high else super().p_inside(low, high)

    def far_tail(self, far: Floats, above: Bools) -> Floats:
        tail = self.inner.far_tail(far, above).copy()
        for index, (upper, lower) in self.sides.items():
            tail[index] = max(tail[index], (lower if above[index] else upper).p(float(far[index])))
        return tail

    def limits(self, level: float) -> tuple[Floats, Floats]:
        low, high = (side.copy() for side in self.inner.limits(level))
        tail = (1.0 - level) / 2.0
        for index, (upper, lower) in self.sides.items():
            estimate, error = float(self.estimate[index]), float(self.error[index])
            low[index] = min(low[index], estimate - upper.quantile(tail) * error)
            high[index] = max(high[index], estimate + lower.quantile(tail) * error)
        return blank(low, self.defined), blank(high, self.defined)


def _two_sizes(atoms: Atoms, comparison: Comparison, index: int) -> tuple[float, float]:
    """Sizes of two samples whose means differ as the gap does: the group, and who else is in its target."""
    group, target = comparison.member[index], comparison.reference[index]
    if comparison.known is not None:
        return float(atoms.count[group].sum()), np.inf
    others = target & ~group
    if atoms.count[others].sum() == 0:
        group, others = group & ~target, target
    return float(atoms.count[group].sum()), float(atoms.count[others].sum())


def guarded(gaps: Gaps, atoms: Atoms, comparison: Comparison) -> Gaps:
    """The gaps, guarded where rows are held and a side has few telling members."""
    if gaps.evidence is None or atoms.values is None:
        return gaps
    few = gaps.defined & (gaps.evidence.members < ENOUGH_MEMBERS)
    return ShapeGuarded(gaps, atoms, comparison, few) if few.any() else gaps
