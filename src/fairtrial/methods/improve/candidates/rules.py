"""Rules: from permitted inputs to decisions. A rule is what a candidate becomes once it is fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.errors import Fault, InputError, Words

if TYPE_CHECKING:
    from fairtrial.data.audit import Audit

Floats = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """What a rule may look at when it decides: permitted features only; the group only where it is permitted.

    `matrix` has one column per name in `names`; `frame` is the same as a dataframe with the original columns;
    `fixed` holds candidate columns that are decisions or scores themselves.
    """

    matrix: Floats
    names: tuple[str, ...]
    source: Any = field(default=None, repr=False)
    rows: Index | None = None
    group: NDArray[np.int64] | None = None
    fixed: Mapping[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.matrix)

    def part(self, index: Index) -> Inputs:
        """The same for some of the rows."""
        return Inputs(
            self.matrix[index],
            self.names,
            self.source,
            index if self.rows is None else self.rows[index],
            None if self.group is None else self.group[index],
            {name: column[index] for name, column in self.fixed.items()},
        )

    @property
    def frame(self) -> Any:
        """The rows as a dataframe, taken from the source only when a rule asks for it."""
        if self.source is None or self.rows is None:
            return self.source
        import narwhals as nw

        return nw.from_native(self.source, eager_only=True)[self.rows.tolist()].to_native()

    def replaced(self, matrix: Floats, frame: Any) -> Inputs:
        """The same people with other values."""
        return Inputs(matrix, self.names, frame, None, self.group, self.fixed)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A fitted rule: a score, and the threshold at or above which the decision is positive.

    `threshold` None means that the score is the decision itself. `decide(audit)` applies it to new data.
    """

    name: str
    score_of: Callable[[Inputs], Floats] = field(repr=False)
    threshold: float | None = None
    features: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    model: Any = field(default=None, repr=False)
    statement: str = ""

    def outcome_of(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """(decisions, scores)."""
        score = np.asarray(self.score_of(inputs), dtype=np.float64)
        finite = bool(np.isfinite(score).all())
        if score.shape != (len(inputs),) or not finite:
            got = f"got shape {score.shape} for {len(inputs)} rows"
            raise refusal(
                self.name,
                f"must give one finite number per row, {got}{'' if finite else ' with missing or infinite values'}",
            )
        if self.threshold is not None:
            return (score >= self.threshold).astype(np.float64), score
        if not np.isin(score, (0.0, 1.0)).all():
            raise refusal(self.name, "must give decisions 0 and 1")
        return score, score

    def decide(self, audit: Audit) -> Floats:
        """Decisions for the rows of an audit that has the rule's features."""
        return self.outcome_of(self._inputs(audit))[0]

    def score(self, audit: Audit) -> Floats:
        """Scores for the rows of an audit that has the rule's features."""
        return self.outcome_of(self._inputs(audit))[1]

    def _inputs(self, audit: Audit) -> Inputs:
        if not self.features:
            return Inputs(np.empty((audit.rows().n, 0)), ())
        design = audit.design(self.features)
        new = sorted(set(design.names) - set(self.columns))
        if new:
            fault = Fault("audit", f"was not fitted with the labels {new}", subject="the rule")
            raise InputError("decide", fault)
        matrix = np.zeros((len(design.matrix), len(self.columns)))
        matrix[:, [self.columns.index(name) for name in design.names]] = design.matrix
        return Inputs(matrix, self.columns, audit.features_frame(self.features))


def candidate_fault(name: str, required: str, cure: str | Words = "") -> Fault:
    """What is wrong with one candidate, by its name."""
    return Fault("candidates", required, cure=cure, subject=f"candidate {name!r}")


def refusal(name: str, required: str) -> InputError:
    """The error that names the candidate at fault."""
    return InputError("improve", candidate_fault(name, required))


def capacity_threshold(score: Floats, capacity: float) -> float:
    """The (1−κ) quantile of the training scores; where ties would select more than κ, the next higher score."""
    threshold = float(np.quantile(score, 1.0 - capacity))
    if np.mean(score >= threshold) <= capacity + 1.0 / score.size:
        return threshold
    above = score[score > threshold]
    return float(above.min()) if above.size else float("inf")
