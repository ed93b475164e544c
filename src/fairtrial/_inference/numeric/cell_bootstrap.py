"""The nonparametric bootstrap of group levels, drawn on cells instead of rows.

A level is U^g = Σ u·1_g / Σ w·1_g (Auerbach, Liang, Okumura and Tabord-Meehan, "Testing the Fairness-Accuracy
Improvability of Algorithms", eq. (1)). A bootstrap sample enters such a level only through how often each
distinct row (group, u0, w0, u1, w1, …) was drawn, and those counts are multinomial. So we draw the counts of the
distinct rows and take one matrix product per group: the same distribution as resampling rows, without the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

# Counts are drawn in blocks of at most this many numbers (32 MB), whatever the number of draws.
BLOCK_NUMBERS = 4_000_000
# One binomial costs about as much as drawing this many single rows.
RARE_COUNT = 10
# Mixed-radix codes are renumbered before they could leave the range of 64-bit integers.
LARGEST_CODE = 2**62
# Up to this many codes are counted in an array instead of sorted, and a column of whole numbers this close together
# needs no sorting either.
COUNTED = 2**20
FEW_LABELS = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Utility:
    """One utility under both rules: row values u and weights w of the status quo (0) and the candidate (1)."""

    name: str
    u0: Floats
    w0: Floats
    u1: Floats
    w1: Floats

    def columns(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.u0, self.w0, self.u1, self.w1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelCells:
    """Distinct rows with their counts, sorted by group.

    `values` has shape (cells, utilities, 2 rules, 2), the last axis being u and w.
    """

    counts: Integers
    group: Integers
    values: Floats
    groups: int

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def utilities(self) -> int:
        return int(self.values.shape[1])

    def only(self, utility: int) -> LevelCells:
        """The same cells with one of the utilities."""
        return replace(self, values=self.values[:, [utility]])

    def sums(self, weights: Floats) -> Floats:
        """Σ u and Σ w per group and pooled under each row of weights: (draws, M, 2, G+1, 2)."""
        return group_sums(self, self.values, weights)

    def influence(self, sums: Floats, estimate: Floats) -> Floats:
        """ψ = (u − U·w)/mean(w) inside the group and 0 outside it, one row per cell."""
        with np.errstate(divide="ignore", invalid="ignore"):
            u, w = self.values[..., 0, None], self.values[..., 1, None]
            psi = (u - estimate * w) / (sums[..., 1] / self.rows)
        return np.where(np.isfinite(psi), psi, 0.0) * self.members[:, None, None, :]

    @property
    def members(self) -> Floats:
        """(cells, G+1): 1 where a cell is of the group; all are of the last one, everybody."""
        member = np.zeros((self.counts.size, self.groups + 1))
        member[np.arange(self.counts.size), self.group] = 1.0
        member[:, -1] = 1.0
        return member


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Levels:
    """Levels per (utility, rule, group), the last group being everybody pooled.

    `estimate` (M, 2, G+1); `draws` (Q, M, 2, G+1), NaN where a draw left nobody to average; `influence`
    (cells, M, 2, G+1); `support` the number of rows with a positive weight behind each level.
    """

    estimate: Floats
    draws: Floats
    influence: Floats
    support: Integers
    counts: Integers


def distinct_rows(columns: Sequence[NDArray[np.generic]]) -> tuple[Integers, Integers, Integers]:
    """Number the distinct rows: (cell of each row, a first row of each cell, count of each cell).

    Each column is numbered on its own and the numbers are combined to one integer per row: sorting integers is
    about two thousand times faster than `np.unique(axis=0)` on the rows, and few numbers are counted without sorting.
    """
    code = np.zeros(len(columns[0]), dtype=np.int64)
    size = 1
    for column in columns:
        inverse, labels = _numbered(column)
        if size > LARGEST_CODE // max(1, labels):
            distinct, code = np.unique(code, return_inverse=True)
            size = distinct.size
        code = code * labels + inverse
        size *= labels
    if size > COUNTED:
        _, first, cell, counts = np.unique(code, return_index=True, return_inverse=True, return_counts=True)
        return cell.astype(np.int64), first.astype(np.int64), counts.astype(np.int64)
    counts = np.bincount(code, minlength=size)
    present = np.flatnonzero(counts)
    first, number = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    first[code[::-1]] = np.arange(code.size - 1, -1, -1)  # the first row of each code is written last
    number[present] = np.arange(present.size)
    return number[code], first[present], counts[present].astype(np.int64)


def _numbered(column: NDArray[np.generic]) -> tuple[Integers, int]:
    """Numbers of a column's values in their order, and how many there can be; small whole ones stand for themselves."""
    if column.dtype.kind in "iuf" and column.size:
        low, high = column.min(), column.max()
        if abs(low) < FEW_LABELS and abs(high) < FEW_LABELS:
            whole = column.astype(np.int64)
            if np.array_equal(whole, column):
                return whole - int(low), int(high) - int(low) + 1
    labels, inverse = np.unique(column, return_inverse=True)
    return inverse.astype(np.int64), int(labels.size)


def level_cells(group: NDArray[np.integer], groups: int, utilities: Sequence[Utility]) -> LevelCells:
    """Compress rows to cells of (group, u0, w0, u1, w1 for every utility); the group is the leading key."""
    columns: list[NDArray[np.generic]] = [np.asarray(group)]
    columns += [column for utility in utilities for column in utility.columns()]
    _, first, counts = distinct_rows(columns)
    values = np.stack(
        [np.stack([u.u0, u.w0, u.u1, u.w1], axis=-1)[first].reshape(-1, 2, 2) for u in utilities], axis=1
    )
    return LevelCells(
        counts=counts,
        group=np.asarray(group, dtype=np.int64)[first],
        values=np.asarray(values, dtype=np.float64),
        groups=groups,
    )


def by_person(
    person: NDArray[np.integer], group: NDArray[np.int64], utilities: Sequence[Utility]
) -> tuple[NDArray[np.int64], list[Utility]]:
    """Each person once, with the sums of their rows: the levels are the same, and persons are what is drawn."""
    _, first, own = np.unique(person, return_index=True, return_inverse=True)

    def sums(column: Floats) -> Floats:
        return np.bincount(own, column, first.size).astype(np.float64)

    found = [
        Utility(name=one.name, u0=sums(one.u0), w0=sums(one.w0), u1=sums(one.u1), w1=sums(one.w1))
        for one in utilities
    ]
    return group[first], found


def draw_counts(counts: Integers, draws: int, rng: np.random.Generator) -> Integers:
    """Multinomial counts of `draws` bootstrap samples, shape (draws, cells).

    Common cells and the total of all rare ones are drawn as one multinomial; inside the rare cells the rows are
    drawn one by one, which is cheaper than a binomial for each cell and has the same distribution.
    """
    rows = int(counts.sum())
    common = np.flatnonzero(counts > RARE_COUNT)
    rare = np.flatnonzero(counts <= RARE_COUNT)
    rare_rows = int(counts[rare].sum())
    totals = rng.multinomial(rows, np.append(counts[common], rare_rows) / rows, size=draws)
    drawn = np.zeros((draws, counts.size), dtype=np.int64)
    drawn[:, common] = totals[:, :-1]
    if rare_rows:
        cell_of_row = np.repeat(np.arange(rare.size), counts[rare])
        picked = cell_of_row[rng.integers(0, rare_rows, size=int(totals[:, -1].sum()))]
        picked += np.repeat(np.arange(draws) * rare.size, totals[:, -1])
        drawn[:, rare] = np.bincount(picked, minlength=draws * rare.size).reshape(draws, rare.size)
    return drawn


def bootstrap_levels(cells: LevelCells, draws: int, rng: np.random.Generator) -> Levels:
    """Estimate every level, its bootstrap draws (Appendix A) and its influence values."""
    sums = cells.sums(cells.counts[None, :].astype(np.float64))[0]
    rare_rows = int(cells.counts[cells.counts <= RARE_COUNT].sum())
    block = max(1, BLOCK_NUMBERS // max(cells.counts.size, rare_rows))
    drawn = np.empty((draws, cells.utilities, 2, cells.groups + 1))
    for start in range(0, draws, block):
        size = min(block, draws - start)
        weights = draw_counts(cells.counts, size, rng).astype(np.float64)
        drawn[start : start + size] = _ratio(cells.sums(weights))
    estimate = _ratio(sums)
    return Levels(
        estimate=estimate,
        draws=drawn,
        influence=cells.influence(sums, estimate),
        support=_support(cells),
        counts=cells.counts,
    )


def adverse_levels(
    cells: LevelCells, utility: int, adverse: Floats, draws: int, rng: np.random.Generator
) -> Floats:
    """Levels of one utility under Dirichlet weights of the rows and of one adverse row: (draws, 2, G+1).

    Each row weighs a standard exponential (a cell the sum of its rows', a gamma), and so does one more row, `adverse`
    of shape (G+1, 2 rules, 2): the worst change that could have been seen, one for each group and one for everybody
    pooled. A sample that does not hold the rare large loss shows no sign of it; the adverse row stands for it.
    """
    cells, each = cells.only(utility), np.moveaxis(adverse, 0, 1)
    block = max(1, BLOCK_NUMBERS // cells.counts.size)
    drawn = np.empty((draws, 2, cells.groups + 1))
    for start in range(0, draws, block):
        size = min(block, draws - start)
        weights = rng.standard_gamma(cells.counts.astype(np.float64), size=(size, cells.counts.size))
        more = rng.standard_exponential((size, cells.groups + 1))
        drawn[start : start + size] = _ratio(cells.sums(weights)[:, 0] + more[:, None, :, None] * each)
    return drawn


def group_sums(cells: LevelCells, values: Floats, weights: Floats) -> Floats:
    """Sums of any values of the cells per group and pooled under each row of weights: (draws, M, 2, G+1, 2)."""
    flat = values.reshape(cells.counts.size, -1)
    sums = np.zeros((weights.shape[0], cells.groups + 1, flat.shape[1]))
    edges = np.searchsorted(cells.group, np.arange(cells.groups + 1))
    for group in range(cells.groups):
        block = slice(edges[group], edges[group + 1])
        sums[:, group] = weights[:, block] @ flat[block]
    sums[:, -1] = sums[:, :-1].sum(axis=1)
    shaped = sums.reshape(weights.shape[0], cells.groups + 1, cells.utilities, 2, 2)
    return np.moveaxis(shaped, 1, 3)


def _ratio(sums: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], np.nan)


def _support(cells: LevelCells) -> Integers:
    positive = (cells.values[..., 1] > 0).astype(np.float64)
    both = np.stack([positive, positive], axis=-1)
    sums = group_sums(cells, both, cells.counts[None, :].astype(np.float64))[0]
    return np.asarray(np.rint(sums[..., 0]), dtype=np.int64)
