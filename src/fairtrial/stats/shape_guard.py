"""Tails and limits of small groups of real values, by the law that the shape of all rows gives Student's t.

A small group of skewed values that happens to lack the large ones has a low mean and, with it, a low spread: far below
its target in units of its own error. Its own rows cannot tell, so no law made of them alone can: of ten groups of forty
exponential values one was wrongly flagged 10% of the time, of lognormal values 19%. All rows together know the shape.
Where groups differ in shape as well the guard is approximate; it never makes a p-value smaller or an interval shorter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial.stats.atoms import Atoms, Bools, Comparison
from fairtrial.stats.evidence import telling_members
from fairtrial.stats.gaps import Gaps, blank
from fairtrial.stats.proportions import SMALL_COUNT
from fairtrial.stats.roots import Floats

SHAPE_RULE = "shape of all rows"
# With this many telling members on both sides the limit laws hold.
ENOUGH_MEMBERS = 500
DRAWS = 9_999
# Draws are windows of one long sample, each sharing three quarters of its rows or more with the next.
WINDOWS_PER_SIZE = 4
LONGEST_STRIDE = 60
# The last quantile that is read off the draws; beyond it their tail is continued.
LAST_COUNTED = 40
# Sizes are rounded down to a grid this fine, so that groups share draws.
GRID = 1.1
ENDLESS = 10**12
# The mean of a sample so many times larger than the other is drawn as normal: its shape hardly matters.
TIMES_LARGER = 5


class ShapeLaws:
    """Draws of Student's t for samples with the shape of `values`."""

    def __init__(self, values: Floats, seed: int = 0) -> None:
        # Sorted, and drawn by a generator for each size: neither the order of rows nor that of groups may matter.
        self.shape = np.sort((values - values.mean()) / values.std())
        self.seed = seed
        self.commonest: float | None = None
        if telling_members(values) < values.size:
            self.commonest = float(self.shape[values.size // 2])
        self.means: dict[int, tuple[Floats, Floats]] = {}
        self.laws: dict[tuple[int, int], Floats] = {}

    def law(self, size: float, other: float) -> Floats:
        """Sorted draws of the difference of two means over its error; a known target counts as endless.

        Both samples have the same spread: that of a small one is just what cannot be trusted.
        """
        key = _on_grid(size), _on_grid(other)
        if key not in self.laws:
            generator = np.random.default_rng([self.seed, *key])
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
            self.means[size] = self._windows(size)
        mean, variance = self.means[size]
        shuffled = generator.permutation(DRAWS)
        return mean[shuffled], variance[shuffled]

    def _windows(self, size: int) -> tuple[Floats, Floats]:
        stride = min(max(1, size // WINDOWS_PER_SIZE), LONGEST_STRIDE)
        start = stride * np.arange(DRAWS)
        generator = np.random.default_rng([self.seed, size])
        rows = self.shape[generator.integers(self.shape.size, size=int(start[-1]) + size)]
        mean, square = _sums(rows, start, size) / size, _sums(rows**2, start, size) / size
        variance = np.maximum(square - mean**2, 0.0) / (size - 1)
        if self.commonest is not None:
            others = _sums((rows != self.commonest).astype(np.float64), start, size)
            untold = (2 * others < size) & (others < SMALL_COUNT)
            mean, variance = np.where(untold, 0.0, mean), np.where(untold, 0.0, variance)
        return mean, variance


def _sums(rows: Floats, start: NDArray[np.int64], size: int) -> Floats:
    """Sums of the windows that begin at `start`."""
    running = np.concatenate([[0.0], np.cumsum(rows)])
    return np.asarray(running[start + size] - running[start])


def _on_grid(size: float) -> int:
    """The size rounded down to the grid."""
    return max(2, int(GRID ** np.floor(np.log(min(size, ENDLESS)) / np.log(GRID) + 1e-9)))


class Tail:
    """The upper tail of sorted draws, continued beyond the last ones as a power of Student's."""

    def __init__(self, law: Floats, df: float) -> None:
        self.law, self.df = law, df
        self.last = float(law[-LAST_COUNTED])
        self.last_p = LAST_COUNTED / (DRAWS + 1.0)
        student = self._student(self.last)
        self.power = min(1.0, float(np.log(self.last_p) / np.log(student))) if student < 0.5 else 1.0

    def _student(self, t: float) -> float:
        return float(special.ndtr(-t)) if np.isinf(self.df) else float(special.stdtr(self.df, -t))

    def p(self, t: float) -> float:
        """The probability of t or more."""
        if t > self.last:
            return float(min(self.last_p, self._student(t) ** self.power))
        reached = DRAWS - int(np.searchsorted(self.law, t * (1.0 - 1e-12) if t > 0 else t * (1.0 + 1e-12)))
        return (1 + reached) / (DRAWS + 1)

    def quantile(self, p: float) -> float:
        """The value that is reached with probability p."""
        if p < self.last_p:
            tail = p ** (1.0 / self.power)
            far = special.ndtri(tail) if np.isinf(self.df) else special.stdtrit(self.df, tail)
            return float(max(self.last, -far))
        place = DRAWS - max(1, int(p * (DRAWS + 1)))
        return float(self.law[place])


class ShapeGuarded(Gaps):
    """Gaps whose tails are never thinner, and limits never nearer, than the shape of all rows allows."""

    def __init__(self, inner: Gaps, atoms: Atoms, comparison: Comparison, few: Bools) -> None:
        self.inner = inner
        self.estimate, self.error, self.df = inner.estimate, inner.error, inner.df
        self.rule = np.where(few, np.char.add(inner.rule, f", {SHAPE_RULE}"), inner.rule)
        self.reason, self.evidence = inner.reason, inner.evidence
        used = np.vstack([comparison.member, comparison.reference]).any(axis=0)
        laws = ShapeLaws(atoms.gather(np.asarray(used)))
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
