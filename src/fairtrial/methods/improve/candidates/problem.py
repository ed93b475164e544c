"""The problem a candidate is fitted to: permitted inputs, what is known of the rows, the status quo, the claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairtrial.inference.numeric.cell_bootstrap import LevelCells, Utility, level_cells
from fairtrial.methods.improve.candidates.rules import Floats, Index, Inputs, Rule, capacity_threshold
from fairtrial.methods.improve.candidates.utilities import Observed, Worth, evaluate
from fairtrial.methods.improve.solver.improvement import Pair, Scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an improvement is: which levels are compared, how, and by how much."""

    accuracy: Worth
    fairness: tuple[Worth, ...]
    pairs: tuple[Pair, ...]
    one_sided: bool
    pooled: bool
    scale: Scale
    method: str
    accuracy_delta: tuple[float, ...]
    fairness_delta: float

    @property
    def worths(self) -> tuple[Worth, ...]:
        return (self.accuracy, *self.fairness)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """Everything that fitting, choosing and testing need; arrays only, one entry per row."""

    inputs: Inputs
    seen: Observed
    group: NDArray[np.int64]
    names: tuple[str, ...]
    decision: Floats | None
    score: Floats | None
    claim: Claim
    features: tuple[str, ...] = ()
    feature_of: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    capacity: float | None = None
    blind: bool = True
    banned: tuple[str, ...] = ()
    group_attributes: tuple[str, ...] = ()
    monotone: Mapping[str, int] = field(default_factory=dict)
    folds: int = 3

    @property
    def rows(self) -> int:
        return len(self.group)

    @property
    def outcome_is_binary(self) -> bool:
        return self.seen.outcome is not None and bool(np.isin(self.seen.outcome, (0.0, 1.0)).all())

    def status_quo(self, train: Index) -> tuple[Floats, Floats | None]:
        """Decisions and scores of the status quo for all rows; a capacity's threshold comes from `train`."""
        if self.decision is not None:
            return self.decision, self.score
        assert self.score is not None
        assert self.capacity is not None
        threshold = capacity_threshold(self.score[train], self.capacity)
        return (self.score >= threshold).astype(np.float64), self.score

    def columns_of(self, feature: str) -> NDArray[np.intp]:
        """The columns of the input matrix that stand for one feature."""
        return np.flatnonzero(self.feature_of == self.features.index(feature))

    def cells(
        self, index: Index, old: tuple[Floats, Floats | None], new: tuple[Floats, Floats | None]
    ) -> LevelCells:
        """Cells of (group, u0, w0, u1, w1) over the rows of `index`; decisions and scores are those rows' own."""
        seen = self.seen.part(index)
        utilities = []
        for worth in self.claim.worths:
            u0, w0 = evaluate(worth, seen, *old)
            u1, w1 = evaluate(worth, seen, *new)
            utilities.append(Utility(name=worth.name, u0=u0, w0=w0, u1=u1, w1=w1))
        return level_cells(self.group[index], len(self.names), utilities)


class Candidate(Protocol):
    """A way to find rules. `fit` returns one rule for each of its variants, fitted on the rows of `index`."""

    @property
    def name(self) -> str: ...

    def variants(self, problem: Problem) -> tuple[str, ...]: ...

    def fit(self, problem: Problem, index: Index, rng: np.random.Generator) -> dict[str, Rule]: ...
