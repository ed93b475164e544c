"""The rows of improve's table: each accuracy level and each fairness gap of every split."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from fairtrial._improve.arguments import Payoff
from fairtrial._improve.contest import Contest
from fairtrial._improve.result import ImproveResult
from fairtrial._improve.splits import TestedSplits, gaps
from fairtrial._improve.terms import Terms
from fairtrial._improve.worth import Revenue, Worth, evaluate
from fairtrial._results.column import defined_or, undefined

NOBODY = "nobody to average"


def estimates_of(tested: TestedSplits, contest: Contest) -> tuple[dict[str, Any], ...]:
    """One row per split for each accuracy level and each fairness gap."""
    rows: list[dict[str, Any]] = []
    for k in range(tested.request.tests):
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
                "value_kind": "percent" if is_rate(contest, worth) else "number",
                "group": tested.names[i],
                "fewest": None,
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
            "value_kind": "number",  # the difference of two rates is no share of people
            "group": "impact ratio" if contest.claim.scale == "ratio" else "gap",
            "fewest": _fewest(tested, k, m) if is_rate(contest, worth) else None,
            "n": int(tested.arrays["support"][k, m, :, :-1].min()),
            "status_quo": defined_or(old, NOBODY),
            "alternative": defined_or(new, NOBODY),
            **_test(tested, k, tested.positions(m)),
        }


def _fewest(tested: TestedSplits, k: int, m: int) -> int | None:
    """The fewest people, but nobody, that a group's rate behind a gap tells of, selected or not."""
    support = np.asarray(tested.arrays["support"][k, m, :, :-1], dtype=np.float64)
    count = np.abs(np.nan_to_num(np.asarray(tested.arrays["estimate"][k, m, :, :-1]))) * support
    told = np.round(np.concatenate([count, support - count]))
    return int(told[told > 0].min()) if (told > 0).any() else None


def is_rate(contest: Contest, worth: Worth) -> bool:
    """Whether a level is a share of people."""
    everyone = np.arange(contest.rows)
    u, _ = evaluate(worth, contest.seen, *contest.status_quo(everyone))
    return bool(np.isin(np.abs(u), (0.0, 1.0)).all() and not isinstance(worth.what, Payoff | Revenue))


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


# -- The card of a rule to take away: where it comes from, what was shown of it, and its limits.
REFITTED = (
    "This rule was fitted on all rows after the test. What was tested are the rules that the same search fitted on "
    "part of them; the levels expected of this one are theirs."
)


def card_of(result: ImproveResult, terms: Terms, contest: Contest) -> dict[str, Any]:
    """Where a rule comes from, what was shown of it, and its limits."""
    from fairtrial import __version__

    details, permissible = result.details, contest.constraints.permissible
    return {
        "rule": details["refit"]["candidate"],
        "threshold": details["refit"]["threshold"],
        "shown": result.rejected,
        "verdict": result.verdict.text,
        "null": result.null,
        "p_value": details["p_value"],
        "alpha": details["alpha"],
        "rows": details["rows"],
        "data": result.provenance["data"],
        "roles": dict(result.provenance["roles"]),
        "constraints": {
            **terms.constraints.to_dict(),
            **({} if terms.independent is None else {"independent_given": list(terms.independent)}),
            **({} if permissible is None else {"permissible": getattr(permissible, "__name__", None)}),
        },
        "checks": details["search_checks"],
        "expected_levels": details["refit"]["expected_levels"],
        "changes": details["refit"]["changes"],
        "limits": [
            *([] if details["all_rows"] else [REFITTED]),
            *result.assumptions,
            *(note.text for note in result.notes),
        ],
        "seed": result.provenance["seed"],
        "fairtrial": __version__,
    }
