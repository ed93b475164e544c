"""The programs of Appendix F as a selection rule: an exact search among linear rules on a subsample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairtrial.errors import NotApplicable
from fairtrial.methods.improve.candidates.problem import Problem
from fairtrial.methods.improve.candidates.rules import Floats, Index, Inputs, Rule, capacity_threshold
from fairtrial.methods.improve.candidates.utilities import Worth, evaluate
from fairtrial.methods.improve.solver.milp import (
    LinearRule,
    Program,
    fairest_classifier,
    fairest_selection,
    most_accurate_classifier,
)
from fairtrial.metrics.metric import Metric

MAX_COLUMNS = 6


@dataclass(frozen=True, slots=True)
class LinearProgram:
    """(F.5), (F.6) or (P′) on `rows` rows of the training half, within `seconds`.

    Accuracy and fairness must both be "accuracy" for (F.5) and (F.6), and both the mean outcome of the selected
    ("ppv") with a capacity for (P′). The columns most correlated with the outcome are used (at most six). The search
    starts from least squares; a rule it cannot improve on is returned as it is. The time limit makes results depend
    on the machine.
    """

    program: Program = "F.5"
    rows: int = 40
    seconds: float = 10.0

    @property
    def name(self) -> str:
        return f"linear program {self.program}"

    def variants(self, problem: Problem) -> tuple[str, ...]:
        return (self.name,)

    def check(self, problem: Problem) -> None:
        needed = "ppv" if self.program == "P'" else "accuracy"
        worths = problem.claim.worths
        fits = all(isinstance(w.what, Metric) and w.name == needed for w in worths) and len(worths) == 2
        if not fits or len(problem.names) != 2:
            raise NotApplicable(
                "improve",
                f"the program {self.program} needs two groups and {needed!r} as accuracy and as fairness",
            )
        if self.program == "P'" and problem.capacity is None:
            raise NotApplicable("improve", "the program P' needs a capacity")
        if self.program == "P'" and problem.seen.outcome is not None and problem.seen.outcome.min() < 0:
            raise NotApplicable("improve", "the program P' needs outcomes of at least 0")

    def fit(self, problem: Problem, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
        outcome = problem.seen.outcome
        assert outcome is not None
        few = _subsample(problem, index, self.rows, rng)
        columns = _leading_columns(problem.inputs.matrix[index], outcome[index])
        x = problem.inputs.matrix[:, columns]
        mean, spread = x[index].mean(axis=0), np.maximum(x[index].std(axis=0), 1e-12)

        def design(matrix: Floats) -> Floats:
            return np.column_stack([np.ones(len(matrix)), (matrix - mean) / spread])

        found = self._solve(problem, few, design(x[few]), outcome, index)
        beta = (
            found.coefficients
            if found.coefficients is not None
            else _least_squares(design(x[index]), outcome[index])
        )

        def score_of(inputs: Inputs) -> Floats:
            return np.asarray(design(inputs.matrix[:, columns]) @ beta)

        threshold = 0.0
        if problem.capacity is not None:
            threshold = capacity_threshold(design(x[index]) @ beta, problem.capacity)
        rule = Rule(
            self.name,
            score_of,
            threshold,
            problem.features,
            problem.inputs.names,
            found,
            statement=found.statement(),
        )
        return {self.name: rule}

    def _solve(self, problem: Problem, few: Index, x: Floats, outcome: Floats, index: Index) -> LinearRule:
        y, group = outcome[few], problem.group[few]
        decision, score = problem.status_quo(index)
        levels = _levels(problem.claim.accuracy, problem, few, decision, score)
        start = _least_squares(x, y - (0.5 if problem.outcome_is_binary else 0.0))
        start = start / max(float(np.abs(start).max()), 1e-12)
        if self.program == "F.5":
            return fairest_classifier(x, y, group, levels, time_limit=self.seconds, start=start)
        if self.program == "F.6":
            return most_accurate_classifier(x, y, group, levels, time_limit=self.seconds, start=start)
        assert problem.capacity is not None
        capacity = max(2, round(problem.capacity * few.size))
        shifted = start.copy()
        shifted[0] -= capacity_threshold(x @ start, capacity / few.size)
        shifted = shifted / max(float(np.abs(shifted).max()), 1e-12)
        return fairest_selection(x, y, group, levels, capacity, time_limit=self.seconds, start=shifted)


def _subsample(problem: Problem, index: Index, rows: int, rng: np.random.Generator) -> Index:
    """Half of the rows from each group where possible, so that both levels exist."""
    chosen = []
    for code in range(2):
        inside = index[problem.group[index] == code]
        chosen.append(rng.choice(inside, min(rows // 2, inside.size), replace=False))
    return np.sort(np.concatenate(chosen))


def _leading_columns(x: Floats, y: Floats) -> Index:
    spread = x.std(axis=0)
    covariance = np.abs(((x - x.mean(axis=0)) * (y - y.mean())[:, None]).mean(axis=0))
    tied = np.divide(covariance, spread, out=np.zeros_like(spread), where=spread > 0)
    return np.sort(np.argsort(-tied, kind="stable")[:MAX_COLUMNS])


def _least_squares(x: Floats, y: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0])


def _levels(
    worth: Worth, problem: Problem, few: Index, decision: Floats, score: Floats | None
) -> tuple[float, float]:
    """The status quo's levels on the subsample; a group of which it selects nobody asks for nothing."""
    u, w = evaluate(worth, problem.seen.part(few), decision[few], None if score is None else score[few])
    group = problem.group[few]
    levels = [u[group == g].sum() / w[group == g].sum() if w[group == g].sum() > 0 else 0.0 for g in (0, 1)]
    return float(levels[0]), float(levels[1])
