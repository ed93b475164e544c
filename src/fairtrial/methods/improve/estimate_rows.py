"""The rows of improve's table: each accuracy level and each fairness gap of every split."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from fairtrial.methods.improve.candidates.contest import Contest
from fairtrial.methods.improve.splits import TestedSplits, gaps
from fairtrial.results.column import defined_or, undefined

NOBODY = "nobody to average"


def estimates_of(tested: TestedSplits, contest: Contest) -> tuple[dict[str, Any], ...]:
    """One row per split for each accuracy level and each fairness gap."""
    rows: list[dict[str, Any]] = []
    for k in range(tested.settings.splits):
        common = {"split": k + 1, "candidate": tested.chosen(k), "p_split": tested.p_values[k]}
        rows += [{**common, **row} for row in _accuracy_rows(tested, contest, k)]
        rows += [{**common, **row} for row in _fairness_rows(tested, contest, k)]
    return tuple(rows)


def _accuracy_rows(tested: TestedSplits, contest: Contest, k: int) -> Iterator[dict[str, Any]]:
    estimate, weights = tested.arrays["estimate"][k], contest.claim.weights
    for m, worth in enumerate(contest.claim.accuracies):
        for position, i in enumerate(tested.positions(m)):
            weight = np.eye(estimate.shape[-1])[position] if weights is None else np.array(weights)
            used = np.flatnonzero(weight)
            old, new = (worth.sign * float(estimate[m, rule, used] @ weight[used]) for rule in (0, 1))
            yield {
                "part": "accuracy",
                "metric": worth.name,
                "group": tested.names[i],
                "n": int(tested.arrays["support"][k, m][:, used].min()),
                "status_quo": defined_or(old, NOBODY),
                "alternative": defined_or(new, NOBODY),
                **_test(tested, k, [i]),
            }


def _fairness_rows(tested: TestedSplits, contest: Contest, k: int) -> Iterator[dict[str, Any]]:
    for m, worth in enumerate(contest.claim.fairness, start=len(contest.claim.accuracies)):
        old, new = gaps(contest, tested.arrays["estimate"][k], m)
        yield {
            "part": "fairness",
            "metric": worth.name,
            "group": "impact ratio" if contest.claim.scale == "ratio" else "gap",
            "n": int(tested.arrays["support"][k, m, :, :-1].min()),
            "status_quo": defined_or(old, NOBODY),
            "alternative": defined_or(new, NOBODY),
            **_test(tested, k, tested.positions(m)),
        }


def _test(tested: TestedSplits, k: int, which: list[int]) -> dict[str, Any]:
    """The component with the largest p-value stands for all of its metric."""
    weakest = max(which, key=lambda i: float(tested.arrays["p"][k, i]))
    enough = bool(tested.arrays["enough"][k])
    p_value = float(tested.arrays["p"][k, weakest])
    delta = float(tested.arrays["delta"][k, weakest])
    return {
        "statistic": defined_or(float(tested.arrays["statistic"][k, weakest]), NOBODY),
        "standard_error": defined_or(float(tested.arrays["error"][k, weakest]), NOBODY),
        "p_value": p_value if enough else undefined("fewer than 10 people behind a level"),
        "p_delta_method": undefined("no spread") if math.isnan(delta) else delta,
    }
