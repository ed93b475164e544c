"""fairlearn's reductions as a candidate, where fairlearn is installed (the extra `fair`).

Agarwal, Beygelzimer, Dudík, Langford and Wallach, "A reductions approach to fair classification":
classifiers that trade the error rate against a parity constraint. The grid search is used: its classifiers are not
random, and blind to the group when they decide.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from fairtrial.methods.improve.candidates.adapters import model_score
from fairtrial.methods.improve.candidates.contest import Contest
from fairtrial.methods.improve.candidates.rules import Floats, Index, Inputs, Rule

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
GRID = 7  # multipliers tried; each is one logistic regression
LIMIT = 1.0  # of the multipliers: beyond it the constraint swamps the accuracy
WEIGHTS = (0.25, 0.5, 0.75)  # of the constraint's violation against the error, one variant each


@dataclass(frozen=True, slots=True)
class Reductions:
    """Grid search over Lagrange multipliers; each variant weighs violation and error differently."""

    label: str = "fairlearn reductions"

    @property
    def name(self) -> str:
        """What it is called in results."""
        return self.label

    def variants(self, contest: Contest) -> tuple[str, ...]:
        """The names of the rules it can give."""
        return tuple(f"{self.label}, {weight:g}" for weight in WEIGHTS)

    def fit(self, contest: Contest, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
        """Its rules, fitted on the rows of `index`."""
        from fairlearn import reductions
        from sklearn.linear_model import LogisticRegression

        outcome = contest.seen.outcome
        assert outcome is not None
        x = contest.inputs.matrix
        mean, spread = x[index].mean(axis=0), x[index].std(axis=0)
        factor = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        constraint = getattr(reductions, CONSTRAINTS[contest.claim.fairness[0].name])()
        search = reductions.GridSearch(
            LogisticRegression(max_iter=200), constraint, grid_size=GRID, grid_limit=LIMIT
        )
        with warnings.catch_warnings(), _no_advice_on_the_grid():
            warnings.simplefilter("ignore")  # fairlearn's own use of pandas
            search.fit((x[index] - mean) * factor, outcome[index], sensitive_features=contest.group[index])
        errors = np.asarray(search.objectives_, dtype=np.float64)
        violations = np.asarray([float(gamma.max()) for gamma in search.gammas_.to_numpy().T])
        rules = {}
        for weight, name in zip(WEIGHTS, self.variants(contest), strict=True):
            model = search.predictors_[int(np.argmin((1 - weight) * errors + weight * violations))]

            def score_of(inputs: Inputs, model: Any = model) -> Floats:
                return model_score(model, (inputs.matrix - mean) * factor)

            rules[name] = Rule(name, score_of, 0.5, contest.features, contest.inputs.names, model)
        return rules


@contextmanager
def _no_advice_on_the_grid() -> Iterator[None]:
    """fairlearn logs at every fit that a finer grid is recommended; the grid is coarse on purpose, see `GRID`."""
    logger = logging.getLogger("fairlearn.reductions._grid_search._grid_generator")
    disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = disabled


def installed() -> bool:
    return find_spec("fairlearn") is not None


def applicable(contest: Contest) -> bool:
    """The reduction needs a binary outcome and a constraint it knows; it cannot keep monotone directions."""
    return (
        contest.outcome_is_binary
        and contest.claim.fairness[0].name in CONSTRAINTS
        and not contest.constraints.monotone
        and contest.constraints.capacity is None
    )
