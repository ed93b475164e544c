"""The levels of both rules in some rows, with draws, and all sample splits combined into one p-value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from fairtrial._inference.numeric.cell_bootstrap import LevelCells, Levels, bootstrap_levels

if TYPE_CHECKING:  # results read its levels, and need no models for it
    from fairtrial._improve.components import Pair, Part
    from fairtrial._improve.contest import Contest, Decided

Floats = NDArray[np.float64]
SMALLEST_P = 1e-300  # whose z is still a number


class ClaimPart(Protocol):
    """What every part of the claim can be asked."""

    @property
    def name(self) -> str: ...
    @property
    def part(self) -> Part: ...
    @property
    def tie(self) -> float: ...
    def statistic(self, delta: float) -> float: ...
    def standard_error(self, delta: float) -> float: ...
    def p_value(self, delta: float) -> float: ...
    def delta_method(self, delta: float) -> float | None: ...
    def largest_delta(self, level: float) -> float: ...


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """The rows of a test with both rules' decisions and scores of them."""

    index: NDArray[np.intp]
    old: Decided
    new: Decided
    # (fairness metrics, rows): 1 in the group that the past found to be the highest, −1 in the lowest, 0 elsewhere
    turned: Floats | None = None


class Sampled:
    """Cells and levels of the rows for each part of the claim.

    Where every outcome is known they are the same for all parts. Where some are not, each part has its own completion:
    the one that is worst for it, or best where `optimistic`.
    """

    def __init__(
        self,
        contest: Contest,
        compared: Compared,
        draws: int,
        rng: np.random.Generator,
        *,
        optimistic: bool = False,
    ) -> None:
        self.contest, self.draws, self.rng, self.sign = contest, draws, rng, -1.0 if optimistic else 1.0
        self.kept: dict[bytes, tuple[LevelCells, Levels]] = {}
        self.of_metric: dict[int, list[Levels]] = {}
        rows = (compared.index, compared.old, compared.new)
        if contest.unlabelled is None:
            cells = contest.cells(*rows)
        else:
            self.ends = contest.ends(*rows)
            cells = self.ends.low
        # learned forward, the gap is tested by normal theory and needs no draws
        self.plain = (cells, bootstrap_levels(cells, 0 if compared.turned is not None else draws, rng))
        self.turned: tuple[LevelCells, Levels] | None = None
        if compared.turned is not None:
            turned = contest.cells(*rows, turned=compared.turned)
            self.turned = (turned, bootstrap_levels(turned, 0, rng))

    def accuracy(self, m: int) -> tuple[LevelCells, Levels]:
        """Of the claim's accuracy m."""
        claim = self.contest.claim
        weights = (
            np.append(np.ones(len(self.contest.names)), 0.0)
            if claim.weights is None
            else np.array(claim.weights)
        )
        found = self._completed(m, np.array([-weights, weights]))
        self.of_metric[m] = [found[1]] * (len(self.contest.names) if claim.weights is None else 1)
        return found

    def gap(self, m: int, worst: Pair, pair: Pair | None) -> Levels:
        """Of fairness metric m: the status quo's gap between `worst` less the candidate's between `pair`."""
        coefficients = np.zeros((2, len(self.contest.names) + 1))
        coefficients[0, worst[0]], coefficients[0, worst[1]] = 1.0, -1.0
        if pair is not None:
            coefficients[1, pair[0]], coefficients[1, pair[1]] = -1.0, 1.0
        found = self._completed(m, coefficients)[1]
        self.of_metric.setdefault(m, []).append(found)
        return found

    def shown(self, components: Sequence[ClaimPart], deltas: Sequence[float], block: Sequence[int]) -> Levels:
        """The levels that are shown of each metric: those of its weakest part."""
        levels = self.plain[1]
        if self.contest.unlabelled is None:
            return levels
        estimate, influence, support = levels.estimate.copy(), levels.influence.copy(), levels.support.copy()
        for m, found in self.of_metric.items():
            tests = [c.statistic(d) for c, d, b in zip(components, deltas, block, strict=True) if b == m]
            weakest = found[int(np.argmin(tests))] if len(tests) == len(found) else found[0]
            estimate[m], influence[:, m], support[m] = (
                weakest.estimate[m],
                weakest.influence[:, m],
                weakest.support[m],
            )
        return replace(levels, estimate=estimate, influence=influence, support=support)

    def _completed(self, m: int, coefficients: Floats) -> tuple[LevelCells, Levels]:
        unlabelled = self.contest.unlabelled
        if unlabelled is None or not unlabelled.matters(self.contest.claim.worths[m]):
            return self.plain
        upper = self.ends.least(m, self.sign * coefficients)
        key = upper.tobytes()
        if key not in self.kept:
            cells = self.ends.completed(upper)
            self.kept[key] = (cells, bootstrap_levels(cells, self.draws, self.rng))
        return self.kept[key]


# -- All K sample splits together: one p-value, how many splits make re-running pointless, and the
# Δ-surface. Source: Auerbach, Liang, Okumura and Tabord-Meehan, "Testing the Fairness-Accuracy
# Improvability of Algorithms", Section 3.1 (median rule), Corollary 1, Proposition 1 and Figure 3. The
# running median is the exchangeable version of the same rule: by the exchangeable Markov inequality it
# stays valid when the splits are looked at one after another (Gasparin, Wang and Ramdas, "Combining
# exchangeable p-values"). Which (Δa, Δf) are rejected is found without a grid. One split rejects exactly
# the rectangle Δa < its accuracy threshold, Δf < its fairness threshold (`Component.largest_delta`),
# because every component p-value grows with its own Δ. A rule that asks for a number of rejecting splits
# then rejects the points covered by that many rectangles: the region under a staircase.

Aggregation = Literal["forward", "median", "running-median", "single", "all rows"]

ASSUMES: dict[Aggregation, str] = {
    "forward": (
        "the largest over the parts of the claim of 1 − Φ(mean z of three orders), rules being learned on earlier "
        "chunks of the rows and tested on later ones; one order is valid for any learner, the mean of three was "
        "measured at the edges of the claim and is not proved"
    ),
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


def combined(p_values: Floats, aggregation: Aggregation) -> float:
    """The p-value of all tests together from those of each part: (tests, parts).

    >>> round(combined(np.array([[0.04], [0.02], [0.03]]), "forward"), 4)
    0.029
    """
    if aggregation != "forward":
        return combine_p_values([float(p) for p in p_values.max(axis=1)], aggregation)
    with np.errstate(divide="ignore"):
        z = -ndtri(np.maximum(p_values, SMALLEST_P)).mean(axis=0)
    return float(ndtr(-z).max())


def rejection_prefixes(splits: int, aggregation: Aggregation) -> list[tuple[int, int]]:
    """(first ℓ splits, how many of them must reject): the combined test rejects when one of these holds."""
    if aggregation in ("forward", "single", "all rows"):
        return [(splits if aggregation == "all rows" else 1, 1)]
    lengths = [splits] if aggregation == "median" else list(range(1, splits + 1))
    return [(length, (length + 1) // 2) for length in lengths]


def split_level(level: float, aggregation: Aggregation, splits: int = 1) -> float:
    """The level at which each split, or each fixed rule, is tested so that the combined test has `level`."""
    if aggregation == "all rows":
        return level / splits
    return level if aggregation in ("forward", "single") else level / 2


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
