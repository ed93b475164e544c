"""Disjoint cells: minimise Σ_c F_c(r_c) where every r_c lies within a band around one common rate r.

F_c(r), the cost of bringing cell c to rate r, is convex and piecewise linear with its kinks at multiples of
1/n_c, so the sum is too; a section search on its slope and a look at the few kinks that are left give the exact
minimum. Equalized odds and conditional parity are sums of such problems, two groups are the case of two cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial._transport.solver.nearest import Nearest, Prices
from fairtrial._transport.solver.rate_contrasts import Floats, Integers

_FEW_KINKS = 256
_SECTIONS = 64


@dataclass(frozen=True, slots=True, eq=False)
class CellMoves:
    """One cell: its size, its rows with T = 1, and the sorted distances of the rows that can move."""

    rows: float
    events: float
    up: Nearest  # the rows with T = 0: moving one raises the rate by 1/n
    down: Nearest  # the rows with T = 1
    up_count: int  # how many can move at all; `up` may hold only the nearest of them
    down_count: int

    @property
    def lowest(self) -> float:
        return (self.events - self.down_count) / self.rows

    @property
    def highest(self) -> float:
        return (self.events + self.up_count) / self.rows

    def cost(self, change: float) -> float:
        """What it costs that `change` rows move up (negative: down), the nearest first."""
        return float((self.up if change >= 0 else self.down).paid(abs(change)))


class _Cells:
    """All cells at once: one table of prices, so that a slope at many rates is a few array operations."""

    def __init__(self, cells: Sequence[CellMoves], low: Floats, high: Floats) -> None:
        self.rows = np.array([cell.rows for cell in cells])[:, None]
        self.events = np.array([cell.events for cell in cells])[:, None]
        self.rates = self.events / self.rows
        self.low, self.high = low[:, None], high[:, None]
        self.total_rows = float(self.rows.sum())
        self.exact = bool((low == high).all())
        self.rounding = 1e-11 * self.rows + 1e-9
        # The price of the next row up: beyond the ends nothing can move, which costs infinitely much.
        pieces: list[Floats] = []
        counts: list[Integers] = []
        for cell in cells:
            pieces += [_MINUS_INFINITY, -cell.down.values[::-1], cell.up.values, _INFINITY]
            counts += [_ONE, cell.down.counts[::-1], cell.up.counts, _ONE]
        one_each = all(cell.up.ends is None and cell.down.ends is None for cell in cells)
        self.prices = Prices(pieces, None if one_each else counts)
        ups, downs = np.array([(cell.up.size, cell.down.size) for cell in cells]).T[:, :, None]
        self.least, self.most = -downs - 1, ups
        self.zero = np.cumsum(ups + downs + 2, axis=0) - ups - 1  # where the price of the first row up stands

    def shift(self, rate: Floats) -> Floats:
        """Rows that must move to reach `rate` (negative: downwards); a hair off a whole number is rounding."""
        change = rate * self.rows - self.events
        whole = np.rint(change)
        return np.asarray(np.where(np.abs(change - whole) < self.rounding, whole, change))

    def _slopes(self, rate: Floats) -> Floats:
        """The derivatives of the F_c to the right of `rate`, one line per cell."""
        index = np.floor(self.shift(rate)).astype(np.int64)
        index = np.minimum(np.maximum(index, self.least), self.most)
        return np.asarray(self.rows * self.prices.at(self.zero + index))

    def slope(self, r: Floats) -> Floats:
        """The derivative of the sum to the right of each common rate."""
        if self.exact:
            return np.asarray(self._slopes(r + self.low).sum(axis=0))
        # inside the band the cell stays where it is; at a band's edge it starts to follow
        raised, lowered = r + self.low, r + self.high
        up, down = raised >= self.rates - 1e-15, lowered < self.rates - 1e-15
        rising = np.where(up, self._slopes(np.where(up, raised, self.rates)), 0.0)
        falling = np.where(down, self._slopes(np.where(down, lowered, self.rates)), 0.0)
        return np.asarray((rising + falling).sum(axis=0))

    def kinks(self, start: float, stop: float) -> Floats:
        """All kinks of the sum in [start, stop], and the ends."""
        found = [np.array([start, stop])]
        for rows, below, above in zip(
            self.rows[:, 0].tolist(), self.low[:, 0].tolist(), self.high[:, 0].tolist(), strict=True
        ):
            for offset in {below, above}:
                if math.isfinite(offset):
                    first = math.ceil((start + offset) * rows - 1e-6)
                    last = math.floor((stop + offset) * rows + 1e-6)
                    found.append(np.arange(first, last + 1) / rows - offset)
        points = np.concatenate(found)
        return np.unique(np.minimum(np.maximum(points, start), stop))


_INFINITY, _MINUS_INFINITY, _ONE = np.array([np.inf]), np.array([-np.inf]), np.ones(1, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CommonRate:
    """The optimum: what each cell's rate becomes, and the masses that move up and down."""

    cost: float
    rates: Floats
    up: Floats
    down: Floats


def common_rate(cells: Sequence[CellMoves], low: Floats, high: Floats) -> CommonRate | tuple[int, int]:
    """Cell 0 goes to r, cell c to the point of [r + low_c, r + high_c] nearest its own rate.

    Returns the two cells whose reachable rates do not meet when there is no solution.
    """
    from_below = np.array([cell.lowest for cell in cells]) - high
    from_above = np.array([cell.highest for cell in cells]) - low
    floor, ceiling = from_below.max(), from_above.min()
    if floor > ceiling + 1e-12:
        return int(from_below.argmax()), int(from_above.argmin())
    together = _Cells(cells, low, high)
    rates = together.rates[:, 0]
    ends = np.concatenate([rates - low, rates - high])
    ends = ends[np.isfinite(ends)]
    start, stop = np.clip([ends.min(), ends.max()], floor, max(ceiling, floor)).tolist()
    left, slope = _first(together, start, stop, strictly=False)
    # the cost is flat from where its slope is 0 to where it rises
    right = left if slope > 0 else _first(together, left, stop, strictly=True)[0]
    # where the cost is flat between two rates, keep the pooled rate as nearly as possible
    pooled = sum(cell.events for cell in cells) / sum(cell.rows for cell in cells)
    best = min(max(pooled, left), right)
    after = np.clip(rates, best + low, best + high)
    shift = together.shift(after[:, None])[:, 0]
    cost = sum(cell.cost(change) for cell, change in zip(cells, shift.tolist(), strict=True))
    return CommonRate(cost=cost, rates=after, up=np.maximum(shift, 0.0), down=np.maximum(-shift, 0.0))


def _first(cells: _Cells, start: float, stop: float, *, strictly: bool) -> tuple[float, float]:
    """The smallest kink in [start, stop] where the slope is ≥ 0 (`strictly`: > 0), and that slope.

    `stop`, with a slope that is not a number, when there is none before it.
    """

    def reached(slope: Floats) -> NDArray[np.intp]:
        return np.flatnonzero(slope > 0 if strictly else slope >= 0)

    while 2 * (stop - start) * cells.total_rows > _FEW_KINKS:
        grid = np.linspace(start, stop, _SECTIONS + 1)
        inner = reached(cells.slope(grid[1:-1]))
        place = int(inner[0]) if inner.size else _SECTIONS - 1
        start, stop = float(grid[place]), float(grid[place + 1])
    points = cells.kinks(start, stop)
    slope = cells.slope(points[:-1])
    hit = reached(slope)
    return (float(points[hit[0]]), float(slope[hit[0]])) if hit.size else (float(points[-1]), math.nan)
