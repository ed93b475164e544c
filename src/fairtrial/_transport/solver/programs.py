"""The projection programme: disjoint cells by one common rate, overlapping ones (Example 6) by a linear program.

That is (7) on buckets of rows, refined until it is exact.

Each class's sorted distances are cut into buckets priced at their mean; that small program's plan is feasible
for the whole one and its multiplier γ gives the exact dual value from prefix sums. Buckets that γ crosses are
cut where it crosses and around it, until primal = dual: a certificate, not a tolerance on steps. Newton's method on
the dual guesses the first cuts; alone it would need a special case for tolerances, one-sided bands and ties.

The programs are solved by HiGHS's dual simplex without presolve, which is thirty times slower here. Prices are given in
units of the mean distance and never divided by N: HiGHS then stopped at suboptimal plans.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from fairtrial._transport.solver.rate_contrasts import Floats, Integers, Nearest, Prices

# -- Disjoint cells: minimise Σ_c F_c(r_c) where every r_c lies within a band around one common rate r.
#
# F_c(r), the cost of bringing cell c to rate r, is convex and piecewise linear with its kinks at multiples of
# 1/n_c, so the sum is too; a section search on its slope and a look at the few kinks that are left give the exact
# minimum. Equalized odds and conditional parity are sums of such problems, two groups are the case of two cells.
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


_CERTIFICATE = 1e-12
_NEWTON_STEPS = 10
_FIRST_SHARES = np.linspace(0, 1, 17) ** 2
_OPTIONS = {
    "presolve": False,
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
}


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Where the sums of gains start and between which limits they must end."""

    start: Floats
    low: Floats
    high: Floats


def band_program(
    price: Floats, columns: Floats, available: Floats, limited: Limits
) -> tuple[Floats, Floats] | None:
    """Minimise price·y with 0 ≤ y ≤ available and low ≤ start + columns·y ≤ high; (y, γ), None if impossible.

    γ is the multiplier of Propositions 2 and 5: positive where the upper limit binds, negative at the lower.
    """
    start, low, high = limited.start, limited.low, limited.high
    equal = low == high
    upper, lower = np.isfinite(high) & ~equal, np.isfinite(low) & ~equal
    limits = np.vstack([columns[upper], -columns[lower]])
    answer = cast(Any, linprog)(
        price,
        A_eq=columns[equal] if equal.any() else None,
        b_eq=(low - start)[equal] if equal.any() else None,
        A_ub=limits if len(limits) else None,
        b_ub=np.concatenate([(high - start)[upper], (start - low)[lower]]) if len(limits) else None,
        bounds=np.column_stack([np.zeros_like(available), available]),
        method="highs-ds",
        options=_OPTIONS,
    )
    if answer.status == 2:
        return None
    if answer.status != 0:
        raise ArithmeticError(f"HiGHS did not solve the linear program: {answer.message}")
    gamma = np.zeros(start.size)
    if equal.any():
        gamma[equal] = -answer.eqlin.marginals
    if len(limits):
        multipliers = -answer.ineqlin.marginals
        gamma[upper] += multipliers[: upper.sum()]
        gamma[lower] -= multipliers[upper.sum() :]
    return np.asarray(answer.x, dtype=float), gamma


def refine(distances: list[Nearest], direction: Floats, limits: Limits) -> tuple[float, Floats] | None:
    """Minimise Σ_c cost of moving y_c rows of class c, with low ≤ start + Σ_c y_c direction_c ≤ high.

    `distances` are sorted and finite, `direction` is (classes, m). Returns (cost, masses), None if impossible.
    """
    if not any(values.size for values in distances):
        return None
    positive = sum(rows.size - int(rows.below(0.0, "right")) for rows in distances)
    scale = sum(float(rows.paid(rows.size)) for rows in distances) / positive if positive else 1.0
    solved = _certified(_Classes([rows.scaled(scale) for rows in distances], direction), limits)
    return None if solved is None else (solved[0] * scale, solved[1])


def _certified(classes: _Classes, limits: Limits) -> tuple[float, Floats] | None:
    """Cost and masses of the buckets' program once it is exact."""
    cuts = classes.first_cuts(limits)
    best_cost, best_mass, best_dual = np.inf, np.zeros(len(cuts)), -np.inf
    while (solved := _bucket_program(classes, cuts, limits)) is not None:
        mass, gamma = solved
        cost = classes.cost(mass)
        if cost < best_cost:
            best_cost, best_mass = cost, mass
        crossing = -(classes.direction @ gamma)
        best_dual = max(best_dual, _dual_value(classes, crossing, gamma, limits))
        finer = classes.refined(cuts, crossing)
        # where no bucket straddles its crossing the small program is the whole one
        same = all(new.size == old.size for new, old in zip(finer, cuts, strict=True))
        if same or best_cost - best_dual <= _CERTIFICATE * max(1.0, best_cost):
            return best_cost, best_mass
        cuts = finer
    return None


class _Classes:
    """The sorted distances of each class, and what one row more does to the gaps."""

    def __init__(self, distances: list[Nearest], direction: Floats) -> None:
        self.distances, self.direction = distances, direction

    def first_cuts(self, limits: Limits) -> list[Integers]:
        """Bucket edges to start with, finer where Newton's method expects the crossing."""
        excess = limits.start - np.clip(limits.start, limits.low, limits.high)
        guess = -(self.direction @ _newton(self.distances, self.direction, excess))
        # denser near the boundary, where rows move first
        edges = [np.round(rows.size * _FIRST_SHARES).astype(np.int64) for rows in self.distances]
        return self.refined([np.unique(edge) for edge in edges], guess)

    def refined(self, cuts: list[Integers], crossing: Floats) -> list[Integers]:
        """Finer buckets around each class's crossing."""
        return [
            _refined(cut, rows, value)
            for cut, rows, value in zip(cuts, self.distances, crossing, strict=True)
        ]

    def cost(self, mass: Floats) -> float:
        """Of moving this many rows of each class, the nearest first."""
        return sum(float(rows.paid(value)) for rows, value in zip(self.distances, mass, strict=True))


def _newton(distances: list[Nearest], direction: Floats, excess: Floats) -> Floats:
    """Roughly the γ of the optimum: Newton's method on the dual, its curvature from counts in shrinking windows.

    Only a guess at where to cut first; whatever it is, the refinement ends at the same certified optimum.
    """
    gamma = np.zeros(excess.size)
    window = 0.5 / 0.7
    for _ in range(_NEWTON_STEPS):
        window *= 0.7
        points = -(direction @ gamma)
        reached = [
            rows.below((point, point - window, point + window))
            for rows, point in zip(distances, points, strict=True)
        ]
        moved, below, above = np.array(reached).T
        slope = excess + moved @ direction
        curvature = (direction.T * ((above - below) / (2 * window))) @ direction
        curvature += np.eye(excess.size) * (1e-9 + 1e-6 * np.trace(curvature))
        gamma = gamma + np.linalg.solve(curvature, slope)
    return gamma


def _refined(cuts: Integers, rows: Nearest, crossing: float) -> Integers:
    """New edges where the crossing falls, and around it at growing steps, inside the bucket it falls into."""
    if cuts.size < 2:
        return cuts
    new = []
    for place in {int(rows.below(crossing, "left")), int(rows.below(crossing, "right"))}:
        bucket = min(max(int(cuts.searchsorted(place, "right")) - 1, 0), cuts.size - 2)
        if place in (cuts[bucket], cuts[bucket + 1]):
            continue
        steps = 2 ** np.arange(max(rows.size, 2).bit_length())
        around = np.concatenate([[place], place - steps, place + steps])
        new.append(around[(around > cuts[bucket]) & (around < cuts[bucket + 1])])
    return np.unique(np.concatenate([cuts, *new])) if new else cuts


def _bucket_program(classes: _Classes, cuts: list[Integers], limits: Limits) -> tuple[Floats, Floats] | None:
    """Solve the small program; returns (mass per class, γ)."""
    kind = np.repeat(np.arange(len(cuts)), [max(cut.size - 1, 0) for cut in cuts])
    size = np.concatenate([np.diff(cut) for cut in cuts]).astype(float)
    paid = [np.diff(rows.paid(cut)) for rows, cut in zip(classes.distances, cuts, strict=True)]
    price = np.concatenate(paid) / size
    solved = band_program(price, classes.direction[kind].T, size, limits)
    if solved is None:
        return None
    mass = np.bincount(kind, weights=solved[0], minlength=len(cuts)).astype(float)
    return mass, solved[1]


def _dual_value(classes: _Classes, crossing: Floats, gamma: Floats, limits: Limits) -> float:
    """The dual of Propositions 2 and 5 at γ, exactly: Σ_i (d_i + γᵀa_i)⁻ + γᵀb minus the band's support."""
    value = float(gamma @ limits.start)
    for limit, part in ((limits.high, np.maximum(gamma, 0.0)), (limits.low, np.minimum(gamma, 0.0))):
        used = part != 0
        value -= float(part[used] @ limit[used])
    for rows, point in zip(classes.distances, crossing, strict=True):
        inside = int(rows.below(point, "left"))
        value += float(rows.paid(inside) - inside * point)
    return value
