"""What a search finds, whatever the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairtrial._scan.solver.arrays import BoolArray

Direction = Literal["above", "below"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """A subgroup: `values[j, v]` says whether value v of attribute j is admitted.

    `tested` is false for one from a climb beyond the subgroups that data and draws were searched over.
    """

    score: float
    theta: float
    listed: int
    direction: Direction
    values: BoolArray
    tested: bool = True
