"""The levels of both rules in some rows, with draws; of unknown outcomes those worst for each part of the claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairtrial._improve.components import Pair, Part
from fairtrial._improve.contest import Contest, Decided
from fairtrial._inference.numeric.cell_bootstrap import LevelCells, Levels, bootstrap_levels

Floats = NDArray[np.float64]


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
        self.plain = (cells, bootstrap_levels(cells, draws, rng))

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
