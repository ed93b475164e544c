"""Which (Δa, Δf) are rejected: the region under a staircase, found without a grid.

One split rejects exactly the rectangle Δa < its accuracy threshold, Δf < its fairness threshold
(`Component.largest_delta`), because every component p-value grows with its own Δ. A rule that asks for a number of
rejecting splits then rejects the points covered by that many rectangles: a staircase. It is Figure 3 of
Auerbach, Liang, Okumura and Tabord-Meehan, "Testing the Fairness-Accuracy Improvability of Algorithms".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairtrial.methods.improve.solver.improvement_splits import Aggregation, rejection_prefixes, split_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairtrial.methods.improve.solver.improvement import Component


@dataclass(frozen=True, slots=True)
class Corner:
    """At every Δa below `accuracy`, all Δf below `fairness` are rejected."""

    accuracy: float
    fairness: float


@dataclass(frozen=True, slots=True)
class Staircase:
    """Outer corners by rising accuracy and falling fairness; the open region under them is rejected."""

    level: float
    corners: tuple[Corner, ...]

    def largest_fairness_gain(self, accuracy: float) -> float:
        """Supremum of the Δf rejected at this Δa; −inf where none is.

        Valid at `level` when Δa was fixed in advance; a corner picked freely off the staircase is valid at twice
        that level.
        """
        return max((c.fairness for c in self.corners if accuracy < c.accuracy), default=-math.inf)

    def largest_accuracy_gain(self, fairness: float) -> float:
        """Supremum of the Δa rejected at this Δf; −inf where none is."""
        return max((c.accuracy for c in self.corners if fairness < c.fairness), default=-math.inf)

    def rejects(self, accuracy: float, fairness: float) -> bool:
        """Whether this pair of gains is rejected."""
        return any(accuracy < c.accuracy and fairness < c.fairness for c in self.corners)


def split_thresholds(components: Sequence[Component], level: float) -> Corner:
    """The rectangle rejected by one split: the smallest threshold of its accuracy and fairness components."""
    smallest = {
        part: min((c.largest_delta(level) for c in components if c.part == part), default=math.inf)
        for part in ("accuracy", "fairness")
    }
    return Corner(smallest["accuracy"], smallest["fairness"])


def staircase(rectangles: Sequence[Corner], level: float, aggregation: Aggregation) -> Staircase:
    """Union over the rule's prefixes of the points covered by enough rectangles of the prefix."""
    corners: set[Corner] = set()
    for length, needed in rejection_prefixes(len(rectangles), aggregation):
        prefix = rectangles[:length]
        for accuracy in {rectangle.accuracy for rectangle in prefix}:
            fairness = sorted((r.fairness for r in prefix if r.accuracy >= accuracy), reverse=True)
            if len(fairness) >= needed:
                corners.add(Corner(accuracy, fairness[needed - 1]))
    return Staircase(level=level, corners=_outer(corners))


def surface(
    splits: Sequence[Sequence[Component]], levels: Sequence[float], aggregation: Aggregation
) -> list[Staircase]:
    """The staircases of several levels from the components of all splits."""
    return [
        staircase([split_thresholds(c, split_level(level, aggregation)) for c in splits], level, aggregation)
        for level in levels
    ]


def _outer(corners: set[Corner]) -> tuple[Corner, ...]:
    """Drop corners inside another one and corners that reject nothing."""
    kept: list[Corner] = []
    for corner in sorted(corners, key=lambda c: (-c.accuracy, -c.fairness)):
        finite = corner.accuracy > -np.inf and corner.fairness > -np.inf
        if finite and (not kept or corner.fairness > kept[-1].fairness):
            kept.append(corner)
    return tuple(reversed(kept))
