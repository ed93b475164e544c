"""The projection of Proposition 1 by exact fast routes: which rows cross, how far, and what it costs.

The linear program (7) (or (9) with a tolerance) splits into parts that share no row. Within one class (same φ,
same T) the nearest rows cross first, so a solution is one moved mass per class; rows at the same distance at
the margin share it equally, which makes the plan independent of the row order.

Routes: cells that are disjoint need no linear program (all rates meet at one common rate, or within a band of
the reference's); a single contrast is a sort by distance per gain (the article's Algorithm 1, which however
returns 0 when a useful row lies on the boundary); overlapping cells go to `refine`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairtrial._transport.solver.programs import CellMoves, Limits, common_rate, refine
from fairtrial._transport.solver.rate_contrasts import Floats, Integers, Nearest, RateContrasts

_Solved = tuple[float, str, str | None]  # cost, route, why it cannot be done


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """The cheapest plan. `statistic` is N·P; infinite, with the reason, when no plan exists."""

    statistic: float
    moved: Floats  # mass per (pattern, T)
    edge: Floats  # the largest distance moved per (pattern, T); −1 where nobody moves
    routes: tuple[str, ...]
    infeasible: str | None = None


class Movable:
    """Distances by class, each class sorted only as far as it is asked for."""

    def __init__(self, problem: RateContrasts, distance: Floats) -> None:
        lines = np.bincount(problem.class_of_row, minlength=2 * len(problem.cells))
        self.order = np.argsort(problem.class_of_row, kind="stable")  # a radix sort of small integers
        self.starts = np.concatenate([[0], np.cumsum(lines)])
        self.values = np.asarray(distance, dtype=float)[self.order]
        self.counts = None if problem.count is None else problem.count[self.order]
        self.all_move = bool(np.isfinite(self.values).all())

    def of(self, kind: int) -> tuple[Floats, Integers | None]:
        """All distances of a class, unsorted, infinite ones included, and how many rows have them."""
        inside = slice(self.starts[kind], self.starts[kind + 1])
        return self.values[inside], None if self.counts is None else self.counts[inside]

    def stuck(self, kind: int) -> bool:
        """Whether some rows of the class cannot move."""
        return not np.isfinite(self.of(kind)[0]).all()

    def count(self, kind: int) -> int:
        """How many rows of the class can move at all."""
        values, counts = self.of(kind)
        if counts is not None:
            return int(counts[np.isfinite(values)].sum())
        return values.size if self.all_move else int(np.isfinite(values).sum())

    def nearest(self, kind: int, needed: float = np.inf) -> Nearest:
        """The rows with the smallest finite distances in order, at least `needed` where there are as many."""
        values, counts = self.of(kind)
        if counts is not None:
            order = np.argsort(values, kind="stable")
            order = order[: np.searchsorted(values[order], np.inf)]
            return Nearest(values[order], counts[order])
        wanted = int(min(needed, values.size))
        if wanted < values.size // 2:
            values = np.partition(values, wanted)[: wanted + 1]
        values = np.sort(values)
        return Nearest(values if self.all_move else values[: np.searchsorted(values, np.inf)])

    def edge(self, kind: int, mass: float) -> float:
        """The distance of the last row that moves when `mass` rows, the nearest first, do."""
        place = max(int(np.ceil(mass - 1e-9)) - 1, 0)
        values, counts = self.of(kind)
        if counts is not None:
            nearest = self.nearest(kind)
            return nearest.at(min(place, nearest.size - 1))
        place = min(place, values.size - 1)
        return float(np.partition(values, place)[place])


def project(problem: RateContrasts, distance: Floats, lower: Floats, upper: Floats) -> Projection:
    """Solve (7)/(9): move least so that every gap lies within [lower, upper]."""
    _check_distance(problem, distance)
    movable = Movable(problem, distance)
    moved = np.zeros((len(problem.cells), 2))
    edge = np.full_like(moved, -1.0)
    total, routes = 0.0, []
    for contrasts in problem.components:
        part = LinkedContrasts(problem, movable, contrasts, lower[contrasts], upper[contrasts])
        cost, route, why = _solve(part, moved)
        routes.append(route)
        if why is not None:
            return Projection(np.inf, np.zeros_like(moved), edge, (route,), why)
        total += cost
    for kind in np.flatnonzero(moved.ravel()).tolist():
        edge.flat[kind] = movable.edge(kind, float(moved.flat[kind]))
    return Projection(total, moved, edge, tuple(dict.fromkeys(routes)))


def transport_plan(problem: RateContrasts, distance: Floats, projection: Projection) -> Floats:
    """p of (7), the probability that each row moves: 1 inside its class's band, shared at the band's edge."""
    edge = projection.edge.ravel()[problem.class_of_row]
    plan: Floats = (distance < edge).astype(float)
    at_edge = np.flatnonzero(distance == edge)
    kinds = problem.class_of_row[at_edge]
    size = 2 * len(problem.cells)
    inside = np.bincount(problem.class_of_row, weights=problem.counted(plan), minlength=size)
    counts = None if problem.count is None else problem.count[at_edge]
    tied = np.bincount(kinds, weights=counts, minlength=size)
    share = np.clip((projection.moved.ravel() - inside) / np.maximum(tied, 1), 0.0, 1.0)
    plan[at_edge] = share[kinds]
    return plan


def _check_distance(problem: RateContrasts, distance: Floats) -> None:
    if distance.shape != problem.pattern.shape:
        raise ValueError(
            f"one distance per row is needed: {problem.pattern.size} rows, distances {distance.shape}"
        )
    if np.isnan(distance).any() or (distance < 0).any():
        raise ValueError("distances must be zero or more (infinite: this row cannot move), and not NaN")


@dataclass(frozen=True, slots=True, eq=False)
class LinkedContrasts:
    """Contrasts that share rows and are solved together, with the limits of their gaps."""

    problem: RateContrasts
    movable: Movable
    contrasts: Integers
    low: Floats
    high: Floats

    @property
    def gap(self) -> Floats:
        return np.asarray(self.problem.gap[self.contrasts])

    @property
    def phi(self) -> Floats:
        """Of all patterns."""
        return np.asarray(self.problem.phi[:, self.contrasts])

    @property
    def patterns(self) -> Integers:
        """Those with rows on which a contrast depends."""
        return np.flatnonzero((self.phi != 0).any(axis=1) & (self.problem.class_count.sum(axis=1) > 0))


def _solve(part: LinkedContrasts, moved: Floats) -> _Solved:
    """Fill `moved` for one component; returns its cost, the route taken and why it cannot be done, if so."""
    if (part.gap >= part.low - 1e-15).all() and (part.gap <= part.high + 1e-15).all():
        return 0.0, "already within", None
    star = star_of(part)
    if star is not None:
        return _by_common_rate(part, star, moved)
    return _by_sorting(part, moved) if part.contrasts.size == 1 else _by_refinement(part, moved)


def star_of(part: LinkedContrasts) -> tuple[Integers, Integers] | None:
    """(patterns with the reference first, their cells) where disjoint cells are compared with one reference.

    Without a tolerance any set of contrasts that makes all rates equal will do; with one, each must be a plain
    difference to the reference.
    """
    problem, contrasts, patterns = part.problem, part.contrasts, part.patterns
    used = np.flatnonzero((problem.contrast[contrasts] != 0).any(axis=0))
    membership = problem.cells[np.ix_(patterns, used)]
    if not (membership.sum(axis=1) == 1).all() or len(patterns) != len(used):
        return None
    contrast = problem.contrast[np.ix_(contrasts, used)]
    reference = np.flatnonzero((contrast == -1).all(axis=0))
    ones = contrast == 1
    plain = (ones.sum(axis=1) == 1).all() and (np.abs(contrast).sum(axis=1) == 2).all()
    if plain and reference.size and len(contrasts) == len(used) - 1:
        # every cell is used and every contrast names one beside the reference: each its own, so the rank is full
        sequence = np.concatenate([reference[:1], ones.argmax(axis=1)])
    elif (part.low == part.high).all() and np.linalg.matrix_rank(contrast) == len(used) - 1:
        sequence = np.arange(len(used))
    else:
        return None
    pattern_of = patterns[membership.argmax(axis=0)]
    return pattern_of[sequence], used[sequence]


def _by_common_rate(part: LinkedContrasts, star: tuple[Integers, Integers], moved: Floats) -> _Solved:
    patterns, cells = star
    # without a tolerance every cell meets the common rate exactly, whatever the contrasts were
    plain = len(part.contrasts) == len(cells) - 1
    offset_low = np.concatenate([[0.0], part.low if plain else np.zeros(len(cells) - 1)])
    offset_high = np.concatenate([[0.0], part.high if plain else np.zeros(len(cells) - 1)])
    moves = _cell_moves(part, patterns, cells)
    answer = common_rate(moves, offset_low, offset_high)
    if isinstance(answer, tuple):
        (first, a), (second, b) = ((part.problem.name_of(cells[index]), moves[index]) for index in answer)
        why = (
            f"{first} can reach rates from {a.lowest:.4f} to {a.highest:.4f} only and {second} from {b.lowest:.4f} to "
            f"{b.highest:.4f}: the rows that would have to cross the decision boundary cannot move"
        )
        return np.inf, "common rate", why
    for pattern, up, down in zip(patterns, answer.up, answer.down, strict=True):
        moved[pattern] = up, down
    return answer.cost, "common rate", None


def _cell_moves(part: LinkedContrasts, patterns: Integers, cells: Integers) -> list[CellMoves]:
    """Who can move in each cell: no rate leaves the range of the rates there are, so the nearest rows suffice."""
    problem, movable = part.problem, part.movable
    rows, events = problem.cell_rows[cells], problem.cell_events[cells]
    rates = (events / rows).tolist()
    lowest, highest = min(rates), max(rates)
    return [
        CellMoves(
            rows=n,
            events=events_here,
            up=movable.nearest(2 * pattern, n * (highest - rate) + 2),
            down=movable.nearest(2 * pattern + 1, n * (rate - lowest) + 2),
            up_count=movable.count(2 * pattern),
            down_count=movable.count(2 * pattern + 1),
        )
        for pattern, n, events_here, rate in zip(
            patterns.tolist(), rows.tolist(), events.tolist(), rates, strict=True
        )
    ]


def _by_sorting(part: LinkedContrasts, moved: Floats) -> _Solved:
    """m = 1: take the rows with the least distance per gain until the gap is inside its band."""
    rows = part.problem.rows
    gap, low, high = float(part.gap[0]), float(part.low[0]), float(part.high[0])
    sign = 1.0 if gap > high else -1.0
    deficit = rows * ((gap - high) if gap > high else (low - gap))
    kind, gain, distance, count = _useful_rows(part, sign)
    useful = gain * count
    if useful.sum() < deficit * (1 - 1e-12):
        why = (
            f"all rows that can move close {useful.sum() / rows:.4f} of the gap, "
            f"{deficit / rows:.4f} are needed"
        )
        return np.inf, "sort", why
    ratio = distance / gain
    order = np.argsort(ratio, kind="stable")
    kind, distance = kind[order].astype(int), distance[order]
    mass = _share_until(deficit, ratio[order], useful[order])
    mass = mass * count[order][: mass.size]
    moved.flat[:] += np.bincount(kind[: mass.size], weights=mass, minlength=moved.size)
    return float(mass @ distance[: mass.size]), "sort", None


def _useful_rows(part: LinkedContrasts, sign: float) -> tuple[Floats, Floats, Floats, Floats]:
    """(class, gain, distance, number) of the rows that bring the gap nearer to its band when they move."""
    kinds, gains, pieces, counts = [], [], [], []
    phi = part.phi[:, 0]
    for pattern in part.patterns:
        for event in (0, 1):
            gain = -sign * (1 - 2 * event) * phi[pattern]
            if gain > 0:
                rows = part.movable.nearest(2 * pattern + event)
                kinds.append(np.full(rows.values.size, 2 * pattern + event))
                gains.append(np.full(rows.values.size, gain))
                pieces.append(rows.values)
                counts.append(rows.counts.astype(float))
    found = [np.concatenate(of) if of else np.zeros(0) for of in (kinds, gains, pieces, counts)]
    return found[0], found[1], found[2], found[3]


def _share_until(deficit: float, ratio: Floats, gain: Floats) -> Floats:
    """Which share of each row moves, in the order of `ratio`, until the gains make up the deficit.

    Rows with the same ratio as the last one share what is missing, in equal parts.
    """
    reached = np.cumsum(gain)
    last = min(int(np.searchsorted(reached, deficit * (1 - 1e-14))), ratio.size - 1)
    first_tied = np.searchsorted(ratio, ratio[last], "left")
    end_tied = np.searchsorted(ratio, ratio[last], "right")
    before = reached[first_tied - 1] if first_tied else 0.0
    share = min(1.0, (deficit - before) / gain[first_tied:end_tied].sum())
    return np.concatenate([np.ones(first_tied), np.full(end_tied - first_tied, share)])


def _by_refinement(part: LinkedContrasts, moved: Floats) -> _Solved:
    problem, movable, phi = part.problem, part.movable, part.phi
    kinds = [2 * pattern + event for pattern in part.patterns for event in (0, 1)]
    distances = [movable.nearest(kind) for kind in kinds]
    direction = np.array([(1 - 2 * (kind % 2)) * phi[kind // 2] for kind in kinds])
    limits = Limits(problem.rows * part.gap, problem.rows * part.low, problem.rows * part.high)
    answer = refine(distances, direction, limits)
    if answer is None:
        stuck = [kind // 2 for kind in kinds if movable.stuck(kind)]
        compared = (problem.cells[stuck] > 0).any(axis=0) & (problem.contrast != 0).any(axis=0)
        named = sorted({problem.name_of(cell) for cell in np.flatnonzero(compared).tolist()})
        return np.inf, "refinement", f"no plan exists: rows that cannot move are in {', '.join(named)}"
    cost, mass = answer
    for kind, value in zip(kinds, mass, strict=True):
        moved.flat[kind] = value
    return cost, "refinement", None
