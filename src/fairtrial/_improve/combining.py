"""All K sample splits together: one p-value, how many splits make re-running pointless, and the Δ-surface.

Source: Auerbach, Liang, Okumura and Tabord-Meehan, "Testing the Fairness-Accuracy Improvability of Algorithms",
Section 3.1 (median rule), Corollary 1, Proposition 1 and Figure 3. The running median is the exchangeable version of
the same rule: by the exchangeable Markov inequality it stays valid when the splits are looked at one after another
(Gasparin, Wang and Ramdas, "Combining exchangeable p-values").

Which (Δa, Δf) are rejected is found without a grid. One split rejects exactly the rectangle Δa < its accuracy
threshold, Δf < its fairness threshold (`Component.largest_delta`), because every component p-value grows with its own
Δ. A rule that asks for a number of rejecting splits then rejects the points covered by that many rectangles: the
region under a staircase.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from fairtrial._improve.sampled_levels import ClaimPart

Aggregation = Literal["median", "running-median", "single", "all rows"]

ASSUMES: dict[Aggregation, str] = {
    "median": (
        "twice the lower median of the splits' p-values; valid under any dependence between splits, and "
        "re-running it with other splits gains little"
    ),
    "running-median": (
        "twice the smallest lower median of the first 1, 2, …, K splits; valid because the splits are "
        "exchangeable and their order was fixed in advance by the seed"
    ),
    "single": (
        "the p-value of the first split alone; valid for one split fixed in advance by the seed, and easily "
        "abused by re-running with other seeds"
    ),
    "all rows": (
        "that of the test on all rows, times the number of fixed rules that were tried; valid for rules, thresholds "
        "and directions that were fixed without looking at these rows"
    ),
}


def lower_median(values: Sequence[float]) -> float:
    """The smallest median: with an even number of values the lower of the two middle ones."""
    return float(np.sort(np.asarray(values, dtype=np.float64))[(len(values) - 1) // 2])


def combine_p_values(values: Sequence[float], aggregation: Aggregation) -> float:
    """The p-value of all splits together, to be compared with α itself."""
    if aggregation == "single":
        return float(values[0])
    if aggregation == "all rows":
        return min(1.0, len(values) * min(values))
    if aggregation == "median":
        return min(1.0, 2 * lower_median(values))
    return min(1.0, 2 * min(lower_median(values[:length]) for length in range(1, len(values) + 1)))


def rejection_prefixes(splits: int, aggregation: Aggregation) -> list[tuple[int, int]]:
    """(first ℓ splits, how many of them must reject): the combined test rejects when one of these holds."""
    if aggregation in ("single", "all rows"):
        return [(1 if aggregation == "single" else splits, 1)]
    lengths = [splits] if aggregation == "median" else list(range(1, splits + 1))
    return [(length, (length + 1) // 2) for length in lengths]


def split_level(level: float, aggregation: Aggregation, splits: int = 1) -> float:
    """The level at which each split, or each fixed rule, is tested so that the combined test has `level`."""
    if aggregation == "all rows":
        return level / splits
    return level if aggregation == "single" else level / 2


def splits_against_manipulation(level: float) -> int:
    """The smallest K with K > −2·ln α/(1−α)² (Proposition 1): 7 at α = .05."""
    return 1 if level >= 1 else math.floor(-2 * math.log(level) / (1 - level) ** 2) + 1


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

    def rejects(self, accuracy: float, fairness: float) -> bool:
        """Whether this pair of gains is rejected."""
        return any(accuracy < c.accuracy and fairness < c.fairness for c in self.corners)


def split_thresholds(components: Sequence[ClaimPart], level: float) -> Corner:
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


def _outer(corners: set[Corner]) -> tuple[Corner, ...]:
    """Drop corners inside another one and corners that reject nothing."""
    kept: list[Corner] = []
    for corner in sorted(corners, key=lambda c: (-c.accuracy, -c.fairness)):
        finite = corner.accuracy > -np.inf and corner.fairness > -np.inf
        if finite and (not kept or corner.fairness > kept[-1].fairness):
            kept.append(corner)
    return tuple(reversed(kept))
