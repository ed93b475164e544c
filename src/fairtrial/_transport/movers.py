"""The smallest change and who moves: the plan, its sums, bands of distance, a histogram, and the rows behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.frames import to_native
from fairtrial._transport.compared_rates import ComparedRates
from fairtrial._transport.moves import Distances
from fairtrial._transport.solver.projection import Projection, project, transport_plan
from fairtrial._transport.solver.rate_contrasts import Nearest, band

Floats = NDArray[np.float64]
_MOST_HISTOGRAM_ROWS = 4000
_MOST_HISTOGRAM_CELLS = 400


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """The plan, and its sums per cell."""

    plan: Floats
    gained: Floats  # mass whose decision turns from 0 to 1, per cell
    lost: Floats
    cost: Floats
    largest: Floats
    tied: Floats
    rates_after: Floats
    cost_total: float
    total: float  # how many people move: a row in two compared cells counts once here
    shared: int  # how many rows are tied at the edge of a moved band and share its last places

    @property
    def shifts(self) -> tuple[float, float]:
        """The mean and the largest distance of those who move."""
        if self.total <= 0:
            return 0.0, 0.0
        return float(self.cost_total / self.total), float(self.largest.max())


@dataclass(frozen=True, slots=True, eq=False)
class SmallestChange:
    """The smallest change, or the reason why there is none."""

    distances: Distances
    projection: Projection | None
    after: Moved | None
    why_none: str = ""
    cost: Floats | None = None  # of moving each row: its distance, times its group's price


def smallest_change(
    rates: ComparedRates, distances: Distances, allowed: Floats, direction: str, price: Floats | None = None
) -> SmallestChange:
    """The cheapest plan under these distances, at each row's price, that brings the gaps within what is allowed."""
    if distances.values is None:
        return SmallestChange(distances, None, None, distances.why_none or "")
    cost = distances.values if price is None else distances.values * price
    limits = band(rates.contrasts.size, allowed, direction)
    projection = project(rates.contrasts, cost, *limits)
    if projection.infeasible is not None:
        why = f"no move makes the criterion hold: {projection.infeasible}"
        return SmallestChange(distances, projection, None, why, cost)
    plan = transport_plan(rates.contrasts, cost, projection)
    return SmallestChange(distances, projection, moved(rates, distances.values, plan), cost=cost)


def moved(rates: ComparedRates, distance: Floats, plan: Floats) -> Moved:
    """Sums of the plan over each cell; a row in two cells counts in both."""
    problem = rates.contrasts
    up = rates.decision == 0
    moving, counted = plan > 0, problem.counted(plan)
    tied = (plan > 0) & (plan < 1)
    farthest = np.zeros(len(problem.cells))
    np.maximum.at(farthest, problem.pattern[moving], distance[moving])
    largest = (problem.cells * farthest[:, None]).max(axis=0)
    return Moved(
        plan=plan,
        gained=problem.sum_per_cell(np.where(up, plan, 0.0)),
        lost=problem.sum_per_cell(np.where(up, 0.0, plan)),
        cost=problem.sum_per_cell(plan * np.where(moving, distance, 0.0)),
        largest=largest,
        tied=problem.sum_per_cell(tied.astype(float)),
        rates_after=problem.rates_after(problem.moved_mass(plan)),
        cost_total=float(counted[moving] @ distance[moving]),
        total=float(counted.sum()),
        shared=int(problem.counted(tied).sum()),
    )


def bands(rates: ComparedRates, distance: Floats, after: Moved) -> list[dict[str, Any]]:
    """Who moves, as bands of distance: per cell and direction, never as individuals."""
    rows = np.flatnonzero(after.plan > 0)
    far, plan, decision = distance[rows], after.plan[rows], rates.decision[rows]
    count = rates.counts[rows]
    pattern = rates.contrasts.pattern[rows]
    found = []
    for index, cell in enumerate(rates.cells):
        inside = rates.contrasts.cells[pattern, index] > 0
        for side, words in ((0, "0 → 1"), (1, "1 → 0")):
            chosen = inside & (decision == side)
            if chosen.any():
                names = {"metric": cell.metric, "group": cell.group, "direction": words}
                found.append({**names, **_band(far[chosen], plan[chosen], count[chosen])})
    return found


def _band(far: Floats, plan: Floats, count: NDArray[np.int64]) -> dict[str, Any]:
    """From the nearest to the farthest who move, and how many share the farthest place."""
    edge = float(far.max())
    return {
        "nearest": float(far.min()),
        "farthest": edge,
        "mass": float((plan * count).sum()),
        "rows": int(count.sum()),
        "at_edge": int(count[far == edge].sum()),
        "share_at_edge": float(plan[far == edge].max()),
    }


def histogram(rates: ComparedRates, distance: Floats, after: Moved | None) -> list[dict[str, Any]]:
    """Counts of signed distances Φ = (2C − 1)·d per group, and how much of each bin moves."""
    rows = np.flatnonzero(rates.compared_rows & np.isfinite(distance))
    if not rows.size:
        return []
    decision, pattern = rates.decision[rows], rates.contrasts.pattern[rows].astype(np.int64)
    signed = np.where(decision == 1, distance[rows], -distance[rows])
    lines = rates.cells[:_MOST_HISTOGRAM_CELLS]
    counted = rates.counts[rows]
    edges = _edges(signed, counted if rates.contrasts.count is not None else None, len(lines))
    size = edges.size - 1
    # a bin that ends at zero holds the zeros decided 0, the one that starts there those decided 1
    place = np.searchsorted(edges, np.clip(signed, edges[0], edges[-1]), "right") - 1
    place = np.clip(np.where((decision == 0) & (edges[place] == signed), place - 1, place), 0, size - 1)
    key, total = pattern * size + place, len(rates.contrasts.cells) * size
    plan = after.plan[rows] * counted if after is not None else np.zeros(rows.size)
    counts = rates.contrasts.cells.T @ np.bincount(key, weights=counted, minlength=total).reshape(-1, size)
    moving = rates.contrasts.cells.T @ np.bincount(key, weights=plan, minlength=total).reshape(-1, size)
    return [
        {
            "metric": cell.metric,
            "group": cell.group,
            "low": float(edges[part]),
            "high": float(edges[part + 1]),
            "count": int(counts[index, part]),
            "moved": float(moving[index, part]),
        }
        for index, cell in enumerate(lines)
        for part in np.flatnonzero(counts[index])
    ]


def _edges(signed: Floats, counted: NDArray[np.int64] | None, cells: int) -> Floats:
    """Bin edges: one at zero and over all but the farthest 1%, or one bin per step around each discrete level."""
    most = max(8, min(60, _MOST_HISTOGRAM_ROWS // max(cells, 1)))
    levels = np.unique(np.abs(signed))
    if levels.size > 1 and levels[-1] / np.diff(levels).min() <= most / 2:
        step = float(np.diff(levels).min())
        below, above = np.ceil(max(-signed.min(), 0) / step), np.ceil(max(signed.max(), 0) / step)
        return (np.arange(-below, above + 2, dtype=np.float64) - 0.5) * step
    ends = np.quantile(signed, (0.005, 0.995)) if counted is None else _quantiles(signed, counted)
    low, high = min(float(ends[0]), 0.0), max(float(ends[1]), 0.0)
    width = (high - low) / most if high > low else 1.0
    below, above = max(1, int(np.ceil(-low / width - 1e-9))), max(1, int(np.ceil(high / width - 1e-9)))
    return np.arange(-below, above + 1, dtype=np.float64) * width


def _quantiles(signed: Floats, counted: NDArray[np.int64]) -> list[float]:
    """The same two quantiles where each value stands for so many rows."""
    order = np.argsort(signed, kind="stable")
    rows = Nearest(signed[order], counted[order])
    places = [share * (rows.size - 1) for share in (0.005, 0.995)]
    ends = [(rows.at(int(place)), rows.at(min(int(place) + 1, rows.size - 1))) for place in places]
    return [low + (place % 1) * (high - low) for place, (low, high) in zip(places, ends, strict=True)]


# -- Who moves, from where to where: the rows of the plan, and the measure of Proposition 3 that it makes.
# Smaller changes of a feature than this share of what it is are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class MovedRows:
    """The compared rows, how much of each moves, and the way of those that do."""

    rows: NDArray[np.intp]  # compared rows, by their place among the audit's
    group: NDArray[np.intp]  # which of `labels` each is in
    labels: tuple[str, ...]
    decision: NDArray[np.uint8]
    share: Floats
    distance: Floats
    features: tuple[str, ...]
    start: Floats  # of the rows that move, in their order
    end: Floats

    @property
    def moving(self) -> NDArray[np.intp]:
        """Places, among the compared rows, of those that move at all."""
        return np.flatnonzero(self.share > 0)

    def to_frame(self, backend: str) -> Any:
        """One line for each row that moves; features that change for nobody are left out."""
        here = self.moving
        changes = np.abs(self.end - self.start) > ROUNDING * np.maximum(1.0, np.abs(self.start))
        table: dict[str, Any] = {
            "row": self.rows[here].tolist(),
            "group": [self.labels[place] for place in self.group[here]],
            "decision": self.decision[here].tolist(),
            "decision_after": (1 - self.decision[here]).tolist(),
            "share": self.share[here].tolist(),
            "distance": self.distance[here].tolist(),
            "changes": [
                ", ".join(name for name, moved in zip(self.features, line, strict=True) if moved)
                for line in changes
            ],
        }
        for place in np.flatnonzero(changes.any(axis=0)):
            name = self.features[place]
            table[name] = self.start[:, place].tolist()
            table[f"{name} after"] = self.end[:, place].tolist()
        return to_native(table, backend, _kinds(table))

    def distribution(self, backend: str) -> Any:
        """Every compared row where it stays, with 1 − share, and where it moves to, with its share."""
        here = self.moving
        every = np.arange(self.rows.size)
        stays = every[self.share < 1]
        place = np.concatenate([stays, here])
        moved = np.concatenate([np.zeros(stays.size, bool), np.ones(here.size, bool)])
        weight = np.where(moved, self.share[place], 1.0 - self.share[place])
        table: dict[str, Any] = {
            "row": self.rows[place].tolist(),
            "group": [self.labels[part] for part in self.group[place]],
            "decision": np.where(moved, 1 - self.decision[place], self.decision[place]).tolist(),
            "weight": weight.tolist(),
            "moved": moved.tolist(),
        }
        for column, name in enumerate(self.features):
            table[f"{name} after"] = [None] * stays.size + self.end[:, column].tolist()
        return to_native(table, backend, _kinds(table))


def _kinds(table: dict[str, Any]) -> dict[str, str]:
    known = {
        "row": "count",
        "group": "text",
        "decision": "count",
        "decision_after": "count",
        "changes": "text",
    }
    return {name: {**known, "moved": "flag"}.get(name, "number") for name in table}


def moved_rows(rates: ComparedRates, distances: Distances, after: Moved) -> MovedRows:
    """The rows behind a plan, with their ways where the boundary tells them."""
    assert distances.values is not None
    rows = np.flatnonzero(rates.compared_rows)
    share = after.plan[rows]
    moving = rows[share > 0]
    features: tuple[str, ...] = ()
    start = end = np.zeros((moving.size, 0))
    if distances.destination is not None:
        ways = distances.destination(moving)
        features, start, end = ways.columns, ways.start, ways.end
    labels, group = _groups(rates, rows)
    return MovedRows(
        rows, group, labels, rates.decision[rows], share, distances.values[rows], features, start, end
    )


def _groups(rates: ComparedRates, rows: NDArray[np.intp]) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """The groups that each row is compared in, joined where they are several."""
    inside = rates.contrasts.cells > 0
    named = [
        " and ".join(dict.fromkeys(cell.group for cell, here in zip(rates.cells, line, strict=True) if here))
        for line in inside
    ]
    labels = tuple(dict.fromkeys(named))
    place = np.array([labels.index(name) for name in named], dtype=np.intp)
    return labels, place[rates.contrasts.pattern[rows]]
