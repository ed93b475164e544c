"""The discerning tuple (U, W, T) of a fairness criterion, in the article's notation.

Source: Si, Murthy, Blanchet, Nguyen, "Testing Group Fairness via Optimal Transport Projections" (2021).
U are 0/1 cells (group × condition), W a contrast matrix whose rows sum to zero, T the event that a move
across the decision boundary flips. φ_i = W(u_i/μ̂) generalises equation (2) and Examples 1–6:
gap = (1/N) Σ T_i φ_i is a vector of differences of conditional rates E[T | cell].
Rows with the same u share one pattern, so everything but the distances lives in small tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairtrial._inference.numeric.cell_bootstrap import distinct_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RateContrasts:
    """Patterns of U per row, the cells of each pattern, the contrasts, and the event T."""

    pattern: NDArray[np.integer]  # (N,) which row of `cells` is u_i
    cells: Floats  # (patterns, cells) the distinct values of U
    contrast: Floats  # W, (m, cells)
    event: NDArray[np.uint8]  # T, (N,)
    names: tuple[str, ...] = field(default=(), repr=False)  # of the cells
    count: Integers | None = None  # rows that a line of `pattern` and `event` stands for; None: one each

    @property
    def rows(self) -> int:
        """N."""
        return int(self.pattern.size if self.count is None else self.count.sum())

    def counted(self, weights: NDArray[Any]) -> NDArray[Any]:
        """A weight per row, summed over the rows that a line stands for."""
        return weights if self.count is None else np.asarray(weights * self.count)

    @property
    def size(self) -> int:
        """m, the number of equalities."""
        return int(self.contrast.shape[0])

    def name_of(self, cell: int) -> str:
        """What people call a cell."""
        return self.names[cell] if self.names else f"cell {cell}"

    @cached_property
    def class_of_row(self) -> NDArray[np.integer]:
        """2·pattern + T: rows of one class have the same φ and move the same way."""
        small = 2 * len(self.cells) <= 65_536  # sorted by radix, many times faster
        wide: NDArray[np.integer] = self.pattern.astype(np.uint16 if small else np.int64)
        codes: NDArray[np.integer] = np.left_shift(wide, 1) | self.event
        return codes

    @cached_property
    def class_count(self) -> Integers:
        """Rows per (pattern, T), shape (patterns, 2)."""
        counts = np.bincount(self.class_of_row, weights=self.count, minlength=2 * len(self.cells))
        return counts.reshape(-1, 2).astype(np.int64)  # exact up to 2**53 rows

    @cached_property
    def cell_rows(self) -> Floats:
        """n_c = N μ̂_c."""
        return np.asarray(self.class_count.sum(axis=1) @ self.cells)

    @cached_property
    def cell_events(self) -> Floats:
        """Rows of each cell with T = 1."""
        return np.asarray(self.class_count[:, 1] @ self.cells)

    @cached_property
    def rates(self) -> Floats:
        """E[T | cell]."""
        return self.cell_events / self.cell_rows

    @cached_property
    def gap(self) -> Floats:
        """W · rates, the vector the criterion sets to zero."""
        return np.asarray(self.contrast @ self.rates)

    @cached_property
    def phi(self) -> Floats:
        """φ of each pattern, (patterns, m)."""
        return np.asarray((self.cells * (self.rows / self.cell_rows)) @ self.contrast.T)

    @cached_property
    def families(self) -> list[Integers]:
        """Cells tied together by contrasts: the sets whose rates the criterion compares."""
        return _linked(self.contrast != 0)

    @cached_property
    def components(self) -> list[Integers]:
        """Contrasts that share a row with φ ≠ 0 in both; the projection separates across components."""
        return _linked((self.phi != 0) & (self.class_count.sum(axis=1) > 0)[:, None])

    @cached_property
    def disjoint(self) -> bool:
        """No row belongs to two compared cells."""
        used = self.cells[:, (self.contrast != 0).any(axis=0)]
        return bool((used.sum(axis=1) <= 1).all())

    def pools(self, family: Integers) -> bool:
        """The contrasts say exactly that all rates of this family are equal, so H0 has one rate for it."""
        inside = self.contrast[(self.contrast[:, family] != 0).any(axis=1)][:, family]
        return bool(np.linalg.matrix_rank(inside) == len(family) - 1)

    def rates_after(self, moved: Floats) -> Floats:
        """Rates once the row masses `moved` (per pattern and T, shape (patterns, 2)) crossed the boundary."""
        change = (moved[:, 0] - moved[:, 1]) @ self.cells
        return np.asarray((self.cell_events + change) / self.cell_rows)

    def sum_per_cell(self, weights: NDArray[np.generic]) -> Floats:
        """Σ of the rows' weights over each cell; a row in two cells counts in both."""
        counted = self.counted(weights)
        return np.asarray(np.bincount(self.pattern, weights=counted, minlength=len(self.cells)) @ self.cells)

    def moved_mass(self, plan: Floats) -> Floats:
        """Σ of the plan's move probabilities per (pattern, T)."""
        sums = np.bincount(self.class_of_row, weights=self.counted(plan), minlength=2 * len(self.cells))
        return sums.reshape(-1, 2).astype(float)


def _linked(incidence: NDArray[np.bool_]) -> list[Integers]:
    """Connected sets of columns that are ever True in the same row; columns never True are left out."""
    label = np.arange(incidence.shape[1])
    for row in incidence:
        members = np.flatnonzero(row)
        if members.size > 1:
            joined = np.unique(label[members])
            label[np.isin(label, joined)] = joined[0]
    used = np.flatnonzero(incidence.any(axis=0))
    return [used[label[used] == root] for root in np.unique(label[used])]


def _checked(
    pattern: NDArray[np.integer],
    cells: Floats,
    contrast: Floats,
    event: ArrayLike,
    names: Sequence[str],
    count: Integers | None = None,
) -> RateContrasts:
    made = RateContrasts(pattern, cells, contrast, np.asarray(event, dtype=np.uint8), tuple(names), count)
    if made.size == 0:
        raise ValueError("nothing to compare: at least two cells are needed")
    if not np.isin(made.cells, (0.0, 1.0)).all():
        raise ValueError("U must hold 0 and 1 only")
    if np.abs(made.contrast.sum(axis=1)).max(initial=0.0) > 1e-12:
        raise ValueError("every row of W must sum to zero: it compares rates")
    compared = (made.contrast != 0).any(axis=0)
    empty = np.flatnonzero(compared & (made.cell_rows == 0))
    if empty.size:
        raise ValueError(f"no rows in {', '.join(made.name_of(cell) for cell in empty.tolist())}")
    return made


def _against_reference(members: Sequence[int], reference: int, cells: int) -> Floats:
    """Example 5's W: the rate of every member but the reference minus the reference's, in so many cells."""
    others = [cell for cell in members if cell != reference]
    contrast = np.zeros((len(others), cells))
    contrast[np.arange(len(others)), others] = 1.0
    contrast[:, reference] = -1.0
    return contrast


def disjoint_families(
    codes: NDArray[np.integer],
    families: Sequence[tuple[Sequence[int], int]],
    event: NDArray[np.integer],
    names: Sequence[str] = (),
    count: Integers | None = None,
) -> RateContrasts:
    """Examples 1–5: row i is in cell `codes[i]` (−1: in none); each family is (its cells, its reference cell).

    One family is equal opportunity, predictive equality or statistical parity; two are equalized odds; one per
    stratum is conditional parity.
    """
    total = 1 + max(cell for members, _ in families for cell in members)
    contrast = [_against_reference(members, reference, total) for members, reference in families]
    codes = np.asarray(codes)
    inside = np.where((codes >= 0) & (codes < total), codes, total)
    pattern: NDArray[np.integer] = inside.astype(np.int16 if total < 32_000 else np.int32)
    cells = np.vstack([np.eye(total), np.zeros((1, total))])
    return _checked(pattern, cells, np.vstack(contrast), event, names, count)


def overlapping_families(
    columns: Sequence[NDArray[np.integer]],
    references: Sequence[int],
    event: NDArray[np.integer],
    names: Sequence[str] = (),
    count: Integers | None = None,
) -> RateContrasts:
    """Example 6: one column of codes per attribute (−1: in none of its cells), each attribute one family."""
    sizes = [int(column.max()) + 1 for column in columns]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    pattern, members = _patterns(columns, sizes)
    cells = np.zeros((len(members), starts[-1]))
    for index, member in enumerate(members.T):
        inside = np.flatnonzero(member >= 0)
        cells[inside, starts[index] + member[inside]] = 1.0
    contrast = [
        _against_reference(range(start, start + size), start + reference, starts[-1])
        for start, size, reference in zip(starts.tolist(), sizes, references, strict=False)
    ]
    return _checked(pattern, cells, np.vstack(contrast), event, names, count)


def _patterns(columns: Sequence[NDArray[np.integer]], sizes: Sequence[int]) -> tuple[Integers, Integers]:
    """(pattern of each row, codes of each pattern); by counting where that is cheaper than sorting."""
    possible = float(np.prod([size + 1.0 for size in sizes]))
    if possible > 1_000_000:
        pattern, first, _ = distinct_rows(list(columns))
        return pattern, np.column_stack([np.asarray(column)[first] for column in columns])
    code = np.zeros(len(columns[0]), dtype=np.int64)
    for column, size in zip(columns, sizes, strict=True):
        code = code * (size + 1) + (np.asarray(column) + 1)
    present = np.bincount(code, minlength=int(possible)) > 0
    left = np.flatnonzero(present)
    members = np.empty((left.size, len(sizes)), dtype=np.int64)
    for index in reversed(range(len(sizes))):
        members[:, index] = left % (sizes[index] + 1) - 1
        left = left // (sizes[index] + 1)
    return (np.cumsum(present) - 1)[code], members


def from_matrices(u: ArrayLike, w: ArrayLike, event: ArrayLike, names: Sequence[str] = ()) -> RateContrasts:
    """A criterion of one's own: U (N × cells, 0/1), W (m × cells, rows summing to zero) and T (0/1)."""
    matrix = np.atleast_2d(np.asarray(u, dtype=float))
    contrast = np.atleast_2d(np.asarray(w, dtype=float))
    flips = np.asarray(event)
    if matrix.shape[1] != contrast.shape[1] or matrix.shape[0] != flips.size:
        raise ValueError(
            f"U is {matrix.shape}, W {contrast.shape}, T {flips.shape}: U needs one row per T, one column per W's"
        )
    if not np.isin(flips, (0, 1)).all():
        raise ValueError("T must hold 0 and 1 only")
    if not (contrast != 0).any(axis=1).all():
        raise ValueError("every row of W must compare something: one of them is zero")
    # cells that no contrast uses must not split the patterns
    used = (contrast != 0).any(axis=0)
    matrix, contrast = matrix[:, used], contrast[:, used]
    names = [name for name, kept in zip(names, used, strict=False) if kept]
    pattern, first, _ = distinct_rows(list(matrix.T))
    return _checked(pattern, matrix[first], contrast, flips, names)


def band(size: int, tolerance: ArrayLike, direction: str) -> tuple[Floats, Floats]:
    """Limits on each gap: ±ε ("differs"), at most ε ("above", equation (8)), at least −ε ("below")."""
    width = np.broadcast_to(np.asarray(tolerance, dtype=float), (size,)).copy()
    unbounded = np.full(size, np.inf)
    limits = {"differs": (-width, width), "above": (-unbounded, width), "below": (-width, unbounded)}
    return limits[direction]


# -- The sorted distances of the rows of one class, whether each stands for one row or for many with the same
# score.
class Nearest:
    """Rows from the nearest to the farthest; `count` rows have the same distance, one where none is given."""

    def __init__(self, values: Floats, count: Integers | None = None) -> None:
        self.values = values
        self.ends = None if count is None else np.cumsum(count)
        self.size = values.size if self.ends is None else int(self.ends[-1]) if values.size else 0

    @property
    def counts(self) -> Integers:
        """How many rows have each of the values."""
        if self.ends is None:
            return np.ones(self.values.size, dtype=np.int64)
        return np.diff(self.ends, prepend=0)

    def scaled(self, unit: float) -> Nearest:
        """The same rows, in other units."""
        other = Nearest(self.values / unit)
        other.ends, other.size = self.ends, self.size
        return other

    def at(self, place: int) -> float:
        """The distance of the row at this place."""
        return float(self.values[place if self.ends is None else self.ends.searchsorted(place, "right")])

    def below(self, distance: ArrayLike, side: Literal["left", "right"] = "left") -> Integers:
        """How many rows are nearer than each distance; with "right" those at it, too."""
        place = np.asarray(self.values.searchsorted(distance, side), dtype=np.int64)
        return place if self.ends is None else np.concatenate([[0], self.ends])[place]

    @cached_property
    def _totals(self) -> Floats:
        """Sums of the distances up to each of the values."""
        weighted = self.values if self.ends is None else self.values * self.counts
        return np.concatenate([[0.0], np.cumsum(weighted)])

    def paid(self, rows: ArrayLike) -> Floats:
        """The sum of the distances of so many rows, the nearest first; a part of a row pays a part."""
        wanted = np.minimum(np.asarray(rows, dtype=np.float64), float(self.size))
        if not self.size:
            return np.zeros_like(wanted)
        whole = np.floor(wanted).astype(np.int64)
        if self.ends is None:
            last = np.minimum(whole, self.size - 1)
            return np.asarray(self._totals[whole] + (wanted - whole) * self.values[last])
        run = np.minimum(self.ends.searchsorted(whole, "right"), self.values.size - 1)
        start = np.where(run > 0, self.ends[run - 1], 0)
        return np.asarray(self._totals[run] + (wanted - start) * self.values[run])


class Prices:
    """What the next row costs, at any place of several classes' rows laid end to end."""

    def __init__(self, pieces: list[Floats], counts: list[Integers] | None) -> None:
        self.values = np.concatenate(pieces)
        self.ends = None if counts is None else np.cumsum(np.concatenate(counts))

    def at(self, places: Integers) -> Floats:
        """The prices at these places."""
        return np.asarray(
            self.values[places if self.ends is None else self.ends.searchsorted(places, "right")]
        )
