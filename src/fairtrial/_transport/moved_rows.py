"""Who moves, from where to where: the rows of the plan, and the measure of Proposition 3 that it makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.frames import to_native
from fairtrial._transport.compared_rates import ComparedRates
from fairtrial._transport.movers import Moved
from fairtrial._transport.moves import Distances

Floats = NDArray[np.float64]
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
