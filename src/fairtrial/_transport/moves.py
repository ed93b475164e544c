"""What may move and how a move is measured, and the distances that come of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, Faults, Note
from fairtrial._transport.solver.distances import Norm


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """What may move and how a move is measured."""

    norm: Norm = "l2"
    units: str | None = None
    immutable: tuple[str, ...] = ()
    discrete: tuple[str, ...] = ()
    step_cost: float | None = None

    @property
    def given(self) -> list[str]:
        """The arguments that are not at their defaults."""
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]


def feature_lists(**arguments: str | Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The arguments that name features, with one name as good as a list of one."""
    faults = Faults("transport")
    names = {}
    for argument, given in arguments.items():
        listed = [given] if isinstance(given, str) else given
        if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
            faults.add(Fault(argument, "must be a feature or a list of features", got=given))
        else:
            names[argument] = tuple(listed)
    faults.raise_any()
    return names


@dataclass(frozen=True, slots=True, eq=False)
class DecidedRows:
    """The audit's rows as they were decided, and which of them are compared."""

    audit: Audit
    decision: NDArray[np.uint8]
    compared: NDArray[np.bool_]
    score: NDArray[np.float64] | None = None  # where lines stand for several rows


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Where rows stand and where they move to: one column for each feature, in its own units where it has such."""

    columns: tuple[str, ...]
    start: NDArray[np.float64]
    end: NDArray[np.float64]


Destination = Callable[[NDArray[np.intp]], Ways]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Distances:
    """One distance per row, or the reason why there is none."""

    values: NDArray[np.float64] | None
    kind: str
    unit: str
    why_none: str | None = None
    movable: tuple[str, ...] = ()
    immutable: tuple[str, ...] = ()
    # change of each feature per unit of distance, in its own units
    per_feature: tuple[dict[str, Any], ...] = ()
    notes: tuple[Note, ...] = ()
    # where the rows asked for would move to; None where only the distance is known
    destination: Destination | None = None
