"""The rows of the table: every compared cell, then every group that was too small to compare."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.inference.rates.proportions import difference_interval
from fairtrial.methods.transport.compared_rates import ComparedRates, LeftOut
from fairtrial.methods.transport.movers import Change, Moved
from fairtrial.methods.transport.moves import Distances
from fairtrial.methods.transport.result import ALONE, TOO_FEW, TransportResult
from fairtrial.results.column import State, undefined

Floats = NDArray[np.float64]


def group_rows(rates: ComparedRates, change: Change, level: float, minimum: int) -> list[dict[str, Any]]:
    """All rows, their cells in the order of the columns."""
    stuck = _cannot_move(rates, change.distances)
    rows = [
        {
            "metric": cell.metric,
            "attribute": cell.attribute,
            "group": cell.group,
            "n": int(rates.contrasts.cell_rows[index]),
            "rate": float(rates.contrasts.rates[index]),
            "cannot_move": None if stuck is None else int(stuck[index]),
            **_after(rates, change, index),
            **_difference(rates, index, level),
            **_state(rates, change.after, index).cells(),
        }
        for index, cell in enumerate(rates.cells)
    ]
    rows += [_left_out_row(item, minimum) for item in rates.left_out]
    return [{column.name: row.get(column.name) for column in TransportResult.columns} for row in rows]


def _difference(rates: ComparedRates, index: int, level: float) -> dict[str, Any]:
    """The difference to the cell's reference with its interval; nothing where it has none."""
    other = rates.cells[index].reference
    if other in (-1, index):
        return {}
    contrasts = rates.contrasts
    events, rows = contrasts.cell_events, contrasts.cell_rows
    limits = difference_interval(events[index], rows[index], events[other], rows[other], level)
    return {
        "target": rates.cells[other].group,
        "difference": float(contrasts.rates[index] - contrasts.rates[other]),
        "difference_low": float(limits.low),
        "difference_high": float(limits.high),
    }


def _left_out_row(item: LeftOut, minimum: int) -> dict[str, Any]:
    """A group that was not compared, with the reason in place of its numbers."""
    if item.n < minimum:
        state = State(TOO_FEW.code, f"fewer than {minimum} rows")
    else:
        state = State(ALONE.code, "nobody to compare with")
    empty = {name: undefined(state.reason) for name in ("rate", "rate_after", "difference")}
    return {"metric": item.metric, "group": item.group, "n": item.n, **empty, **state.cells()}


def _after(rates: ComparedRates, change: Change, index: int) -> dict[str, Any]:
    """What the change does to one cell."""
    after = change.after
    if after is None:
        # the long reason stands below the table
        why = "no distance" if change.distances.values is None else change.why_none
        names = ("rate_after", "gained", "lost", "share_moved", "mean_shift", "largest_shift")
        return {name: undefined(why) for name in names}
    mass = float(after.gained[index] + after.lost[index])
    return {
        "rate_after": float(after.rates_after[index]),
        "gained": float(after.gained[index]),
        "lost": float(after.lost[index]),
        "share_moved": float((after.gained[index] + after.lost[index]) / rates.contrasts.cell_rows[index]),
        "mean_shift": float(after.cost[index] / mass) if mass > 0 else None,
        "largest_shift": float(after.largest[index]) or None,
        "tied": int(after.tied[index]),
    }


def _state(rates: ComparedRates, after: Moved | None, index: int) -> State:
    is_reference = rates.cells[index].reference == index
    if after is None:
        return State("reference" if is_reference else "compared")
    change = float(after.rates_after[index]) - rates.contrasts.rates[index]
    code = "stays" if abs(change) < 1e-9 else "rises" if change > 0 else "falls"
    return State(f"reference, {code}" if is_reference else code)


def _cannot_move(rates: ComparedRates, distances: Distances) -> Floats | None:
    if distances.values is None:
        return None
    contrasts = rates.contrasts
    stuck = np.bincount(contrasts.pattern, weights=np.isinf(distances.values), minlength=len(contrasts.cells))
    return np.asarray(stuck @ contrasts.cells)
