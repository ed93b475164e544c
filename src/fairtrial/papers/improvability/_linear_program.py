"""The programs of Appendix F as a selection rule: an exact search among linear rules on a subsample."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairtrial._errors import Fault, NotApplicable, Note
from fairtrial._improve.contest import Contest, OneRule
from fairtrial._improve.rules import Floats, Index, Rule, capacity_threshold
from fairtrial._improve.scorers import Linear
from fairtrial._improve.worth import evaluate
from fairtrial._metrics.values import Metric
from fairtrial.papers.improvability._milp import LinearRule, Program, ProgramRows, best_linear_rule

MAX_COLUMNS = 6


@dataclass(frozen=True, slots=True)
class LinearProgram(OneRule):
    """(F.5), (F.6), (P′) or its counterpart for (F.6) on `rows` rows of the training half, within `seconds`.

    Accuracy and fairness must both be "accuracy" for (F.5) and (F.6), and both the mean outcome of the selected
    ("ppv") with a capacity for the others. The columns most correlated with the outcome are used (at most six). The
    search starts from least squares; a rule it cannot improve on is returned as it is. The time limit makes results
    depend on the machine.
    """

    program: Program = "F.5"
    rows: int = 40
    seconds: float = 10.0

    @property
    def name(self) -> str:
        """What it is called in results."""
        return f"linear program {self.program}"

    def check(self, contest: Contest) -> list[Note]:
        """Refuse what the program was not made for, and say what it depends on."""
        required = self._lacks(contest)
        if required:
            raise NotApplicable(
                "improve", Fault("candidates", required, subject=f"the program {self.program}")
            )
        return [
            Note("time-limit", "The program's time limit makes its result depend on the machine's speed.")
        ]

    def _lacks(self, contest: Contest) -> str:
        selects = self.program.startswith("P'")
        needed = "ppv" if selects else "accuracy"
        named = [isinstance(worth.what, Metric) and worth.name for worth in contest.claim.worths]
        if named != [needed, needed] or len(contest.names) != 2:
            return f"needs two groups and {needed!r} as accuracy and as fairness"
        if selects and contest.constraints.capacity is None:
            return "needs a capacity"
        if contest.lacks_features:
            return "needs features without missing values"
        return "needs outcomes of at least 0" if selects and contest.outcome.min() < 0 else ""

    def fit(self, contest: Contest, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
        """Its rules, fitted on the rows of `index`."""
        outcome, capacity = contest.outcome, contest.constraints.capacity
        few = _subsample(contest, index, self.rows, rng)
        matrix = contest.inputs.matrix
        columns = _leading_columns(matrix[index], outcome[index])
        x = matrix[index][:, columns]
        scorer = Linear(columns, x.mean(axis=0), np.maximum(x.std(axis=0), 1e-12), np.zeros(columns.size + 1))
        found = self._solve(contest, few, scorer.design(matrix[few]), index)
        beta = found.coefficients
        if beta is None:
            beta = _least_squares(scorer.design(matrix[index]), outcome[index])
        scorer = replace(scorer, coefficients=np.asarray(beta))
        score = scorer(contest.inputs.part(index))
        threshold = 0.0 if capacity is None else capacity_threshold(score, capacity)
        return {self.name: contest.rule(self.name, scorer, threshold, found.statement())}

    def _solve(self, contest: Contest, few: Index, x: Floats, index: Index) -> LinearRule:
        y, group = contest.outcome[few], contest.group[few]
        levels = _levels(contest, few, index)
        start = _least_squares(x, y - (0.5 if contest.outcome_is_binary else 0.0))
        start = start / max(float(np.abs(start).max()), 1e-12)
        capacity = 0
        if self.program.startswith("P'"):
            assert contest.constraints.capacity is not None
            capacity = max(2, round(contest.constraints.capacity * few.size))
            start[0] -= capacity_threshold(x @ start, capacity / few.size)
            start = start / max(float(np.abs(start).max()), 1e-12)
        sample = ProgramRows(x, y, group, levels, capacity)
        return best_linear_rule(self.program, sample, time_limit=self.seconds, start=start)


def _subsample(contest: Contest, index: Index, rows: int, rng: np.random.Generator) -> Index:
    """Half of the rows from each group where possible, so that both levels exist."""
    chosen = []
    for code in range(2):
        inside = index[contest.group[index] == code]
        chosen.append(rng.choice(inside, min(rows // 2, inside.size), replace=False))
    return np.sort(np.concatenate(chosen))


def _leading_columns(x: Floats, y: Floats) -> Index:
    spread = x.std(axis=0)
    covariance = np.abs(((x - x.mean(axis=0)) * (y - y.mean())[:, None]).mean(axis=0))
    tied = np.divide(covariance, spread, out=np.zeros_like(spread), where=spread > 0)
    return np.sort(np.argsort(-tied, kind="stable")[:MAX_COLUMNS])


def _least_squares(x: Floats, y: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0])


def _levels(contest: Contest, few: Index, train: Index) -> tuple[float, float]:
    """The status quo's levels on the subsample; a group of which it selects nobody asks for nothing."""
    u, w = evaluate(contest.claim.accuracy, contest.seen.part(few), *contest.status_quo_of(few, train))
    group = contest.group[few]
    levels = [u[group == g].sum() / w[group == g].sum() if w[group == g].sum() > 0 else 0.0 for g in (0, 1)]
    return float(levels[0]), float(levels[1])
