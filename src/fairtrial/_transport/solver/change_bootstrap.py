"""How sure the size of the change is: number moved, N·P and mean shift, by resampling within the compared cells.

All are functions of each cell's rate and of how its distances are distributed; the number of people in a cell is
taken as given. A draw takes as many people from each cell as it has, and the change is solved again, exactly, on at
most `MOST_ATOMS` different distances per cell and side (more are joined to their means).

Where the gap may be nothing the change may be nothing: the lower limits are then 0. Without this the interval of a gap
that is not there never holds 0, since every sample has some gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from fairtrial._transport.solver.projection import LinkedContrasts, Movable, star_of
from fairtrial._transport.solver.rate_contrasts import Floats, Integers, RateContrasts

MOST_ATOMS = 200
DRAWS = 200


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """People of a cell who would cross in one direction: different costs, cheapest first, and how many have each."""

    price: Floats
    count: Floats

    @classmethod
    def of(cls, costs: Floats, counts: Integers | None) -> _Side:
        """With an infinite price for those who cannot move; `counts` where a line stands for several people."""
        price, place = np.unique(costs, return_inverse=True)
        count = np.bincount(place, weights=counts, minlength=price.size).astype(float)
        if price.size > MOST_ATOMS:
            edge = np.linspace(0, price.size, MOST_ATOMS + 1).astype(int)[:-1]
            total, count = np.add.reduceat(price * count, edge), np.add.reduceat(count, edge)
            price = total / count
        return cls(price, count)


@dataclass(frozen=True, slots=True, eq=False)
class _CellSides:
    """One compared cell: who could rise, who could fall, and what a unit of distance costs in it."""

    up: _Side
    down: _Side
    factor: float

    @property
    def rows(self) -> float:
        return float(self.up.count.sum() + self.down.count.sum())

    def drawn(self, random: np.random.Generator) -> _CellSides:
        """As many people again, drawn from these."""
        count = np.concatenate([self.up.count, self.down.count])
        new = random.multinomial(int(count.sum()), count / count.sum()).astype(float)
        cut = self.up.count.size
        return _CellSides(_Side(self.up.price, new[:cut]), _Side(self.down.price, new[cut:]), self.factor)


@dataclass(frozen=True, slots=True, eq=False)
class _Star:
    """Cells that meet one common rate, each within its band around it."""

    cells: tuple[_CellSides, ...]
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Sizes:
    """The number moved, the cost N·P, and the mean distance of those who move."""

    moved: float
    cost: float
    shift: float


@dataclass(frozen=True, slots=True)
class Intervals:
    """Lower and upper limits of the three sizes."""

    moved: tuple[float, float]
    cost: tuple[float, float]
    shift: tuple[float, float]


def change_intervals(
    problem: RateContrasts,
    cost: Floats,
    factor: Floats | None,
    limits: tuple[Floats, Floats],
    asked: tuple[float, bool, np.random.Generator],
) -> Intervals | str:
    """Limits at a level, or why there are none; `asked` is the level, whether a gap is shown, and the draws' source."""
    level, shown, random = asked
    stars = _stars(problem, cost, factor, limits)
    if stars is None:
        return "people belong to several compared groups at once, or contrasts join more than two rates"
    own = _sizes(stars)
    if own is None:
        return "the rates cannot be brought together"
    draws = [_sizes([_redrawn(star, random) for star in stars]) for _ in range(DRAWS)]
    known = [draw for draw in draws if draw is not None]
    if len(known) < DRAWS:
        return "in some samples of these people the rates cannot be brought together"
    fewest = max(2.0, min(cell.rows for star in stars for cell in star.cells))
    parts = []
    for name in ("moved", "cost", "shift"):
        values = np.array([getattr(draw, name) for draw in known])
        low, high = _limits(values, getattr(own, name), level, fewest)
        parts.append((low if shown else 0.0, high))
    return Intervals(*parts)


def sizes_of_change(problem: RateContrasts, cost: Floats, limits: tuple[Floats, Floats]) -> Sizes | None:
    """The three sizes without limits; None where there is no change or no such form of it."""
    stars = _stars(problem, cost, None, limits)
    return None if stars is None else _sizes(stars)


def _redrawn(star: _Star, random: np.random.Generator) -> _Star:
    return _Star(tuple(cell.drawn(random) for cell in star.cells), star.low, star.high)


def _limits(draws: Floats, estimate: float, level: float, fewest: float) -> tuple[float, float]:
    """Both ends as the draws have them and as their distance from the estimate says, the wider of the two.

    Draws lie above the estimate where the gap is small (the change is convex in it) and on both sides where it is not;
    either reading alone missed up to .17 on one side. A cell of `fewest` people varies a little more than its draws.
    """
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    wider = float(stdtrit(fewest - 1, ends[1]) / ndtri(ends[1])) * np.sqrt(fewest / (fewest - 1))
    below, above = (np.quantile(draws, ends, method="weibull") - estimate) * wider
    reach_down, reach_up = max(-below, above, 0.0), max(above, -below, 0.0)
    return max(0.0, float(estimate - reach_down)), float(estimate + reach_up)


def _stars(
    problem: RateContrasts, cost: Floats, factor: Floats | None, limits: tuple[Floats, Floats]
) -> list[_Star] | None:
    """All parts of the problem, where each compares disjoint cells with one reference."""
    movable, stars = Movable(problem, cost), []
    lower, upper = limits
    first = None if factor is None else _first_rows(problem)
    for contrasts in problem.components:
        part = LinkedContrasts(problem, movable, contrasts, lower[contrasts], upper[contrasts])
        found = star_of(part)
        if found is None:
            return None
        patterns, cells = found
        plain = len(contrasts) == len(cells) - 1
        none = np.zeros(len(cells) - 1)
        sides = [
            _CellSides(
                _Side.of(*movable.of(2 * pattern)),
                _Side.of(*movable.of(2 * pattern + 1)),
                1.0 if factor is None or first is None else float(factor[first[pattern]]),
            )
            for pattern in patterns.tolist()
        ]
        low, high = (np.concatenate([[0.0], end if plain else none]) for end in (part.low, part.high))
        stars.append(_Star(tuple(sides), low, high))
    return stars


def _first_rows(problem: RateContrasts) -> NDArray[np.intp]:
    """A row of each pattern."""
    first = np.zeros(len(problem.cells), dtype=np.intp)
    values, place = np.unique(problem.pattern, return_index=True)
    first[values] = place
    return first


def _sizes(stars: list[_Star]) -> Sizes | None:
    """The three sizes of the cheapest change; None where there is none."""
    solved = [_solve(star) for star in stars]
    if any(part is None for part in solved):
        return None
    moved, cost, distance = np.sum([part for part in solved if part is not None], axis=0)
    return Sizes(float(moved), float(cost), float(distance / moved) if moved > 0 else 0.0)


def _solve(star: _Star) -> tuple[float, float, float] | None:
    """(moved, cost, distance) of one part: the total cost is piecewise linear in the common rate, so its kinks do."""
    events = np.array([cell.down.count.sum() for cell in star.cells])
    rows = np.array([cell.rows for cell in star.cells])
    rates = events / rows
    gaps = rates[1:] - rates[0]
    if ((gaps >= star.low[1:] - 1e-15) & (gaps <= star.high[1:] + 1e-15)).all():
        return 0.0, 0.0, 0.0
    paths = [_path(cell) for cell in star.cells]
    points = _kinks(star, paths, events, rows)
    after = np.clip(rates[:, None], points + star.low[:, None], points + star.high[:, None])
    change = (after - rates[:, None]) * rows[:, None]
    reach = [
        np.interp(line, *path, left=np.inf, right=np.inf) for line, path in zip(change, paths, strict=True)
    ]
    total = np.sum(reach, axis=0)
    least = total.min(initial=np.inf)
    if not np.isfinite(least):
        return None
    flat = points[total <= least + 1e-12 * max(1.0, least)]
    best = min(max(events.sum() / rows.sum(), flat[0]), flat[-1])
    moves = (np.clip(rates, best + star.low, best + star.high) - rates) * rows
    paid = [float(np.interp(move, *path)) for move, path in zip(moves, paths, strict=True)]
    distance = sum(value / cell.factor for value, cell in zip(paid, star.cells, strict=True))
    return float(np.abs(moves).sum()), float(sum(paid)), distance


def _path(cell: _CellSides) -> tuple[Floats, Floats]:
    """Net moves of a cell (negative: downwards) where its price changes, and what they cost."""
    sides = []
    for side in (cell.up, cell.down):
        kept = np.isfinite(side.price) & (side.count > 0)
        mass = np.cumsum(side.count[kept])
        sides.append((mass, np.cumsum(side.count[kept] * side.price[kept])))
    (up, up_cost), (down, down_cost) = sides
    moves = np.concatenate([-down[::-1], [0.0], up])
    return moves, np.concatenate([down_cost[::-1], [0.0], up_cost])


def _kinks(star: _Star, paths: list[tuple[Floats, Floats]], events: Floats, rows: Floats) -> Floats:
    """Common rates at which a cell's price changes, between those at which the first and the last cell stay."""
    found, stays = [], []
    for place, (moves, _) in enumerate(paths):
        reached = (events[place] + moves) / rows[place]
        for offset in {float(star.low[place]), float(star.high[place])}:
            if np.isfinite(offset):
                found.append(reached - offset)
                stays.append(float(events[place] / rows[place]) - offset)
    return np.unique(np.clip(np.concatenate(found), min(stays), max(stays)))
