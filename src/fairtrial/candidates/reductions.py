"""fairlearn's reductions as a candidate, where fairlearn is installed (the extra `fair`).

Agarwal, Beygelzimer, Dudík, Langford and Wallach, "A reductions approach to fair classification": a randomised
classifier that trades the error rate against a parity constraint. Its probability of a positive decision serves as
the score, so that the rule itself is not random.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from fairtrial.candidates.adapters import chosen_threshold
from fairtrial.candidates.problem import Problem
from fairtrial.candidates.rules import Floats, Index, Inputs, Rule

# fairness metric -> fairlearn's constraint
CONSTRAINTS = {
    "selection_rate": "DemographicParity",
    "tpr": "TruePositiveRateParity",
    "fnr": "TruePositiveRateParity",
    "fpr": "FalsePositiveRateParity",
    "tnr": "FalsePositiveRateParity",
    "accuracy": "ErrorRateParity",
    "error_rate": "ErrorRateParity",
}
MAX_ROWS = 2_000  # the reduction refits its model many times
MAX_STEPS = 5


@dataclass(frozen=True, slots=True)
class Reductions:
    """Exponentiated gradient over logistic regressions."""

    label: str = "fairlearn reductions"

    @property
    def name(self) -> str:
        return self.label

    def variants(self, problem: Problem) -> tuple[str, ...]:
        return (self.label,)

    def fit(self, problem: Problem, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
        from fairlearn import reductions
        from sklearn.linear_model import LogisticRegression

        outcome = problem.seen.outcome
        assert outcome is not None
        few = index if index.size <= MAX_ROWS else np.sort(rng.choice(index, MAX_ROWS, replace=False))
        constraint = getattr(reductions, CONSTRAINTS[problem.claim.fairness[0].name])(difference_bound=0.01)
        model = reductions.ExponentiatedGradient(
            LogisticRegression(max_iter=200), constraint, max_iter=MAX_STEPS
        )
        x = problem.inputs.matrix
        mean, spread = x[index].mean(axis=0), x[index].std(axis=0)
        factor = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        model.fit((x[few] - mean) * factor, outcome[few], sensitive_features=problem.group[few])

        def score_of(inputs: Inputs) -> Floats:
            return np.asarray(model._pmf_predict((inputs.matrix - mean) * factor)[:, 1], dtype=np.float64)

        threshold = chosen_threshold(problem, index, score_of(problem.inputs.part(index)), None)
        if problem.capacity is None:
            threshold = 0.5
        return {
            self.label: Rule(self.label, score_of, threshold, problem.features, problem.inputs.names, model)
        }


def installed() -> bool:
    return find_spec("fairlearn") is not None


def applicable(problem: Problem) -> bool:
    """The reduction needs a binary outcome and a constraint it knows; it cannot keep monotone directions."""
    return (
        problem.outcome_is_binary
        and problem.claim.fairness[0].name in CONSTRAINTS
        and not problem.monotone
        and problem.capacity is None
    )
