"""From arrays to what is shown: a line per group, the moved bands, and a histogram of signed distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.inference.rates.proportions import difference_interval
from fairtrial.methods.transport.compared_rates import Posed
from fairtrial.methods.transport.distance import Distances
from fairtrial.methods.transport.solver.projection import Projection, transport_plan
from fairtrial.results.column import undefined

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

    @property
    def total(self) -> float:
        """How many people move: a row in two compared cells counts once here."""
        return float(self.plan.sum())


def moved(posed: Posed, distance: Floats, projection: Projection) -> Moved:
    """Sums of the plan over each cell; a row in two cells counts in both."""
    problem = posed.problem
    plan = transport_plan(problem, distance, projection)
    up = posed.decision == 0

    def per_cell(weights: Floats) -> Floats:
        return np.asarray(
            np.bincount(problem.pattern, weights=weights, minlength=len(problem.cells)) @ problem.cells
        )

    moving = plan > 0
    farthest = np.zeros(len(problem.cells))
    np.maximum.at(farthest, problem.pattern[moving], distance[moving])
    largest = (problem.cells * farthest[:, None]).max(axis=0)
    return Moved(
        plan=plan,
        gained=per_cell(np.where(up, plan, 0.0)),
        lost=per_cell(np.where(up, 0.0, plan)),
        cost=per_cell(plan * np.where(moving, distance, 0.0)),
        largest=largest,
        tied=per_cell(((plan > 0) & (plan < 1)).astype(float)),
        rates_after=problem.rates_after(problem.moved_mass(plan)),
        cost_total=float(plan[moving] @ distance[moving]),
    )


def group_lines(
    posed: Posed, distances: Distances, after: Moved | None, why: str, level: float, minimum: int
) -> list[dict[str, Any]]:
    """One line per cell, then one per group that was too small to compare."""
    problem, lines = posed.problem, []
    rows, events, rates = problem.cell_rows, problem.cell_events, problem.rates
    stuck = _cannot_move(posed, distances)
    for index, cell in enumerate(posed.lines):
        reference = cell.reference
        is_reference = reference == index
        line: dict[str, Any] = {
            "comparison": cell.comparison,
            "attribute": cell.attribute,
            "group": cell.group,
            "n": int(rows[index]),
            "rate": float(rates[index]),
            "rate_after": undefined(why) if after is None else float(after.rates_after[index]),
            "reference": None if is_reference or reference < 0 else posed.lines[reference].group,
            "difference": None,
            "difference_low": None,
            "difference_high": None,
            "gained": undefined(why) if after is None else float(after.gained[index]),
            "lost": undefined(why) if after is None else float(after.lost[index]),
            "share_moved": undefined(why)
            if after is None
            else float((after.gained[index] + after.lost[index]) / rows[index]),
            "mean_shift": _shift(after, index, why),
            "largest_shift": undefined(why) if after is None else float(after.largest[index]) or None,
            "cannot_move": None if stuck is None else int(stuck[index]),
            "tied": None if after is None else int(after.tied[index]),
            "finding": _finding(is_reference, rates[index], after, index),
        }
        if reference >= 0 and not is_reference:
            limits = difference_interval(
                events[index], rows[index], events[reference], rows[reference], level
            )
            line["difference"] = float(rates[index] - rates[reference])
            line["difference_low"], line["difference_high"] = float(limits.low), float(limits.high)
        lines.append(line)
    for comparison, group, count in posed.left_out:
        reason = (
            f"not compared: fewer than {minimum} rows"
            if count < minimum
            else "not compared: nobody to compare with"
        )
        empty = {name: undefined(reason) for name in ("rate", "rate_after", "difference")}
        blank = dict.fromkeys(line, None)
        lines.append(
            {**blank, "comparison": comparison, "group": group, "n": count, **empty, "finding": reason}
        )
    return lines


def _shift(after: Moved | None, index: int, why: str) -> Any:
    if after is None:
        return undefined(why)
    mass = float(after.gained[index] + after.lost[index])
    return float(after.cost[index] / mass) if mass > 0 else None


def _finding(is_reference: bool, rate: float, after: Moved | None, index: int) -> str:
    prefix = "reference" if is_reference else ""
    if after is None:
        return prefix or "compared"
    change = float(after.rates_after[index]) - rate
    words = "stays" if abs(change) < 1e-9 else "rises" if change > 0 else "falls"
    return f"{prefix}, {words}" if prefix else words


def _cannot_move(posed: Posed, distances: Distances) -> Floats | None:
    if distances.values is None:
        return None
    stuck = np.bincount(
        posed.problem.pattern, weights=np.isinf(distances.values), minlength=len(posed.problem.cells)
    )
    return np.asarray(stuck @ posed.problem.cells)


def compared_rows(posed: Posed) -> NDArray[np.bool_]:
    """The rows that belong to a compared cell."""
    in_some_cell = np.asarray((posed.problem.cells > 0).any(axis=1))
    return np.asarray(in_some_cell[posed.problem.pattern])


def bands(posed: Posed, distance: Floats, after: Moved) -> list[dict[str, Any]]:
    """Who moves, as bands of distance: per cell and direction, never as individuals."""
    rows = np.flatnonzero(after.plan > 0)
    far, plan, decision = distance[rows], after.plan[rows], posed.decision[rows]
    pattern = posed.problem.pattern[rows]
    found = []
    for index, cell in enumerate(posed.lines):
        inside = posed.problem.cells[pattern, index] > 0
        for side, words in ((0, "0 → 1"), (1, "1 → 0")):
            chosen = inside & (decision == side)
            if chosen.any():
                edge = float(far[chosen].max())
                at_edge = chosen & (far == edge)
                found.append(
                    {
                        "comparison": cell.comparison,
                        "group": cell.group,
                        "direction": words,
                        "nearest": float(far[chosen].min()),
                        "farthest": edge,
                        "mass": float(plan[chosen].sum()),
                        "rows": int(chosen.sum()),
                        "at_edge": int(at_edge.sum()),
                        "share_at_edge": float(plan[at_edge].max()),
                    }
                )
    return found


def histogram(posed: Posed, distance: Floats, after: Moved | None) -> list[dict[str, Any]]:
    """Counts of signed distances Φ = (2C − 1)·d per group, and how much of each bin moves."""
    rows = np.flatnonzero(compared_rows(posed) & np.isfinite(distance))
    if not rows.size:
        return []
    decision, pattern = posed.decision[rows], posed.problem.pattern[rows].astype(np.int64)
    signed = np.where(decision == 1, distance[rows], -distance[rows])
    lines = posed.lines[:_MOST_HISTOGRAM_CELLS]
    edges = _edges(signed, len(lines))
    size = edges.size - 1
    # a bin that ends at zero holds the zeros decided 0, the one that starts there those decided 1
    place = np.searchsorted(edges, np.clip(signed, edges[0], edges[-1]), "right") - 1
    place = np.clip(np.where((decision == 0) & (edges[place] == signed), place - 1, place), 0, size - 1)
    key, total = pattern * size + place, len(posed.problem.cells) * size
    plan = after.plan[rows] if after is not None else np.zeros(rows.size)
    counts = posed.problem.cells.T @ np.bincount(key, minlength=total).reshape(-1, size)
    moving = posed.problem.cells.T @ np.bincount(key, weights=plan, minlength=total).reshape(-1, size)
    return [
        {
            "comparison": cell.comparison,
            "group": cell.group,
            "low": float(edges[part]),
            "high": float(edges[part + 1]),
            "count": int(counts[index, part]),
            "moved": float(moving[index, part]),
        }
        for index, cell in enumerate(lines)
        for part in np.flatnonzero(counts[index])
    ]


def _edges(signed: Floats, cells: int) -> Floats:
    """Bin edges: one at zero and over all but the farthest 1%, or one bin per step around each discrete level."""
    most = max(8, min(60, _MOST_HISTOGRAM_ROWS // max(cells, 1)))
    levels = np.unique(np.abs(signed))
    if levels.size > 1 and levels[-1] / np.diff(levels).min() <= most / 2:
        step = float(np.diff(levels).min())
        below, above = np.ceil(max(-signed.min(), 0) / step), np.ceil(max(signed.max(), 0) / step)
        return (np.arange(-below, above + 2, dtype=np.float64) - 0.5) * step
    low = min(float(np.quantile(signed, 0.005)), 0.0)
    high = max(float(np.quantile(signed, 0.995)), 0.0)
    width = (high - low) / most if high > low else 1.0
    below, above = max(1, int(np.ceil(-low / width - 1e-9))), max(1, int(np.ceil(high / width - 1e-9)))
    return np.arange(-below, above + 1, dtype=np.float64) * width
