"""Disjoint cells: minimise Σ_c F_c(r_c) where every r_c lies within a band around one common rate r.

F_c(r), the cost of bringing cell c to rate r, is convex and piecewise linear with its kinks at multiples of
1/n_c, so the sum is too; a section search on its slope and a look at the few kinks that are left give the exact
minimum. Equalized odds and conditional parity are sums of such problems, two groups are the case of two cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairtrial.stats.transport_tuple import Floats, Integers

_FEW_KINKS = 256
_SECTIONS = 64


@dataclass(frozen=True, eq=False)
class CellMoves:
    """One cell: its size, its rows with T = 1, and the sorted distances of the rows that can move."""

    rows: float
    events: float
    up: Floats  # of rows with T = 0: moving one raises the rate by 1/n
    down: Floats  # of rows with T = 1
    up_count: int  # how many can move at all; `up` may hold only the nearest of them
    down_count: int
    up_total: Floats = field(init=False, repr=False)
    down_total: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "up_total", np.concatenate([[0.0], np.cumsum(self.up)]))
        object.__setattr__(self, "down_total", np.concatenate([[0.0], np.cumsum(self.down)]))

    @property
    def rate(self) -> float:
        return self.events / self.rows

    @property
    def lowest(self) -> float:
        return (self.events - self.down_count) / self.rows

    @property
    def highest(self) -> float:
        return (self.events + self.up_count) / self.rows

    def shift(self, rate: Floats) -> Floats:
        """Rows that must move to reach `rate` (negative: downwards); a hair off a whole number is rounding."""
        change = rate * self.rows - self.events
        whole = np.round(change)
        return np.where(np.abs(change - whole) < 1e-11 * self.rows + 1e-9, whole, change)

    def slope(self, rate: Floats) -> Floats:
        """The derivative of F_c to the right of `rate`."""
        change = self.shift(rate)
        index = np.floor(change).astype(np.int64)
        rising = change >= 0
        up = _at(self.up, np.where(rising, index, 0))
        down = _at(self.down, np.where(rising, 0, -index - 1))
        return self.rows * np.where(rising, up, -down)

    def cost(self, rate: float) -> float:
        """F_c(rate)."""
        change = float(self.shift(np.asarray(rate)))
        total, nearest = (self.up_total, self.up) if change >= 0 else (self.down_total, self.down)
        whole = min(int(abs(change)), nearest.size)
        rest = abs(change) - whole
        return float(total[whole] + (rest * nearest[whole] if rest and whole < nearest.size else 0.0))


def _at(values: Floats, index: Integers) -> Floats:
    """values[index]; beyond the end nothing can move, which costs infinitely much."""
    if values.size == 0:
        return np.full(index.shape, np.inf)
    return np.where(index < values.size, values[np.minimum(index, values.size - 1)], np.inf)


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
    rates = np.array([cell.rate for cell in cells])
    ends = np.concatenate([rates - low, rates - high])
    ends = ends[np.isfinite(ends)]
    start, stop = np.clip([ends.min(), ends.max()], floor, max(ceiling, floor))

    def slope(r: Floats) -> Floats:
        total = np.zeros_like(r)
        for cell, below, above in zip(cells, low, high, strict=True):
            # inside the band the cell stays where it is; at a band's edge it starts to follow
            follows_up, follows_down = r + below >= cell.rate - 1e-15, r + above < cell.rate - 1e-15
            rising = cell.slope(np.where(follows_up, r + below, cell.rate))
            falling = cell.slope(np.where(follows_down, r + above, cell.rate))
            total += np.where(follows_up, rising, 0.0) + np.where(follows_down, falling, 0.0)
        return total

    left = _first(cells, low, high, start, stop, lambda r: slope(r) >= 0)
    right = _first(cells, low, high, left, stop, lambda r: slope(r) > 0)
    # where the cost is flat between two rates, keep the pooled rate as nearly as possible
    pooled = sum(cell.events for cell in cells) / sum(cell.rows for cell in cells)
    best = float(np.clip(pooled, left, right))
    after = np.clip(rates, best + low, best + high)
    shift = np.array([float(cell.shift(np.asarray(rate))) for cell, rate in zip(cells, after, strict=True)])
    cost = sum(cell.cost(float(rate)) for cell, rate in zip(cells, after, strict=True))
    return CommonRate(cost=cost, rates=after, up=np.maximum(shift, 0.0), down=np.maximum(-shift, 0.0))


def _first(
    cells: Sequence[CellMoves],
    low: Floats,
    high: Floats,
    start: float,
    stop: float,
    reached: Callable[[Floats], NDArray[np.bool_]],
) -> float:
    """The smallest kink r of the sum in [start, stop] where `reached(r)`; `stop` when there is none before."""
    while _kinks_between(cells, start, stop) > _FEW_KINKS:
        grid = np.linspace(start, stop, _SECTIONS + 1)
        inner = np.flatnonzero(reached(grid[1:-1]))
        place = int(inner[0]) if inner.size else _SECTIONS - 1
        start, stop = float(grid[place]), float(grid[place + 1])
    kinks = [np.array([start, stop])]
    for cell, below, above in zip(cells, low, high, strict=True):
        for offset in {float(below), float(above)}:
            if np.isfinite(offset):
                first = np.ceil((start + offset) * cell.rows - 1e-6)
                last = np.floor((stop + offset) * cell.rows + 1e-6)
                kinks.append(np.arange(first, last + 1) / cell.rows - offset)
    points = np.unique(np.clip(np.concatenate(kinks), start, stop))
    hit = np.flatnonzero(reached(points[:-1]))
    return float(points[hit[0]]) if hit.size else float(points[-1])


def _kinks_between(cells: Sequence[CellMoves], start: float, stop: float) -> float:
    return 2 * (stop - start) * sum(cell.rows for cell in cells)
