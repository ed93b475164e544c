"""The contest of the status quo with other rules: the people, what rules may see and must respect, and the claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairtrial.inference.numeric.cell_bootstrap import LevelCells, Utility, level_cells
from fairtrial.methods.improve.candidates.claim import Claim
from fairtrial.methods.improve.candidates.rules import Floats, Index, Inputs, Rule, capacity_threshold
from fairtrial.methods.improve.candidates.utilities import Observed, evaluate

# decisions and, where there are any, scores
Decided = tuple[Floats, Floats | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """What every rule must respect."""

    capacity: float | None = None
    blind: bool = True
    banned: tuple[str, ...] = ()
    group_attributes: tuple[str, ...] = ()
    monotone: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contest:
    """Everything that fitting, choosing and testing need; arrays only, one entry per row."""

    inputs: Inputs
    seen: Observed
    group: NDArray[np.int64]
    names: tuple[str, ...]
    decision: Floats | None
    score: Floats | None
    claim: Claim
    constraints: Constraints
    features: tuple[str, ...]
    feature_of: NDArray[np.int64]
    folds: int

    @property
    def rows(self) -> int:
        return len(self.group)

    @property
    def outcome_is_binary(self) -> bool:
        return self.seen.outcome is not None and bool(np.isin(self.seen.outcome, (0.0, 1.0)).all())

    def status_quo(self, train: Index) -> Decided:
        """Decisions and scores of the status quo for all rows; a capacity's threshold comes from `train`."""
        if self.decision is not None:
            return self.decision, self.score
        assert self.score is not None
        assert self.constraints.capacity is not None
        threshold = capacity_threshold(self.score[train], self.constraints.capacity)
        return (self.score >= threshold).astype(np.float64), self.score

    def status_quo_of(self, index: Index, train: Index | None = None) -> Decided:
        """The same for the rows of `index`; the threshold comes from themselves unless `train` is given."""
        decision, score = self.status_quo(index if train is None else train)
        return decision[index], None if score is None else score[index]

    def columns_of(self, feature: str) -> NDArray[np.intp]:
        """The columns of the input matrix that stand for one feature."""
        return np.flatnonzero(self.feature_of == self.features.index(feature))

    def cells(self, index: Index, old: Decided, new: Decided) -> LevelCells:
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

    def variants(self, contest: Contest) -> tuple[str, ...]: ...

    def fit(self, contest: Contest, index: Index, rng: np.random.Generator) -> dict[str, Rule]: ...
