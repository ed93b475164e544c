"""The rows of improve's table, the rule's card, the search as a document and the least gap there could be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.special import ndtri

from fairtrial._improve.arguments import Payoff
from fairtrial._improve.claim_tests import gap_levels
from fairtrial._improve.contest import Constraints, Contest
from fairtrial._improve.result import ImproveResult
from fairtrial._improve.search import Searched
from fairtrial._improve.sentences import BLIND
from fairtrial._improve.splits import TestedSplits, gaps
from fairtrial._improve.terms import Terms
from fairtrial._improve.worth import Area, Revenue, Worth, evaluate
from fairtrial._inference.numeric.cell_bootstrap import distinct_rows
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


# -- The search as a document: every candidate tried, what it came to in training and in the test, why it
# was chosen.

# -- How small a gap could have been: a bound over all rules on a stated finite set of cells.
# Rules that decide by the same permitted features differ only in the share d of each cell (combination of
# features) that they select. The least gap at an accuracy is then a linear program, and because its
# solution is one fixed rule, ordinary standard errors of that rule's accuracy and gap make it a bound that
# holds with confidence 1 − α: no uniform bound over rules is needed. It is worth having from about 5,000
# rows and up to 50 cells; otherwise none is given.
Floats = NDArray[np.float64]

MOST_CELLS = 50
FEWEST_ROWS = 5_000


def least_gap(share_a: Floats, share_b: Floats, gain: Floats, wanted: float) -> float | None:
    """min |Σ d(p_a − p_b)| subject to Σ d·gain ≥ wanted and 0 ≤ d ≤ 1; None where no rule has that accuracy."""
    cells = gain.size
    difference = share_a - share_b
    above = np.vstack([np.append(difference, -1.0), np.append(-difference, -1.0), np.append(-gain, 0.0)])
    found = linprog(
        np.append(np.zeros(cells), 1.0),
        A_ub=above,
        b_ub=np.array([0.0, 0.0, -wanted]),
        bounds=[(0.0, 1.0)] * cells + [(0.0, None)],
    )
    return float(found.fun) if found.success and found.fun is not None else None


def least_gap_bound(
    cell: NDArray[np.int64], second: NDArray[np.bool_], outcome: Floats, wanted: float, alpha: float
) -> float | None:
    """A lower bound of every rule's gap in selection rates, at an accuracy of at least `wanted`.

    `cell` numbers each person's combination of features, `second` says who is in the second group.
    """
    rows, cells = cell.size, int(cell.max()) + 1
    z = float(ndtri(1 - alpha / 3))
    share_a, share_b = (np.bincount(cell[who], minlength=cells) / who.sum() for who in (~second, second))
    gain = np.bincount(cell, 2 * outcome - 1, cells) / rows
    needed = wanted - float(np.mean(outcome == 0)) - z / math.sqrt(rows)
    smallest = least_gap(share_a, share_b, gain, needed)
    if smallest is None:
        return None
    error = math.sqrt(0.25 / int((~second).sum()) + 0.25 / int(second.sum()))
    return max(0.0, smallest - z * error)


def log_of(
    contest: Contest,
    tested: TestedSplits,
    found: Searched | None,
    on_all: Searched | None,
    given: Sequence[str] | None,
) -> dict[str, Any]:
    """The log's rows and what stands out in it: the status quo, and the least discriminatory rule within the margin.

    `given` are the columns given which decisions may not depend on the group.
    """
    if found is None or on_all is None:
        return {
            "search": [],
            "search_checks": [],
            "search_status_quo": None,
            "least_discriminatory": None,
            "smallest_possible_gap": None,
        }
    rows = [_row(contest, tested, found, on_all, v) for v in range(len(found.names))]
    least = on_all.least_discriminatory(0)
    return {
        "search": rows,
        "search_checks": checks_of(contest.constraints, given),
        "search_status_quo": _status_quo(contest, tested),
        "least_discriminatory": None if least is None else rows[least],
        "smallest_possible_gap": _bound(contest, tested.request.alpha),
    }


def _bound(contest: Contest, alpha: float) -> float | None:
    """The least gap of any rule on the permitted features, where they have few combinations; None otherwise."""
    claim, matrix = contest.claim, contest.inputs.matrix
    if not _can_be_bounded(contest):
        return None
    seen = [matrix[:, i] for i in range(matrix.shape[1])]
    if not contest.constraints.blind:  # a rule may decide by group
        seen.append(contest.group.astype(np.float64))
    cell = distinct_rows(seen)[0]
    if int(cell.max()) >= MOST_CELLS:
        return None
    decision, _ = contest.status_quo(np.arange(contest.rows))
    margin = max(0.0, -min(claim.accuracy_delta[0]))
    level = float(np.mean(decision == contest.outcome))
    wanted = level * (1 - margin) if claim.kind == "relative" else level - margin
    return (
        least_gap_bound(cell, contest.group == 1, contest.outcome, wanted, alpha) or None
    )  # 0 bounds nothing


def _can_be_bounded(contest: Contest) -> bool:
    """Whether the claim is about accuracy and selection rates of two groups, with enough rows and no capacity."""
    claim = contest.claim
    simple = [worth.name for worth in claim.worths] == ["accuracy", "selection_rate"] and len(
        contest.names
    ) == 2
    free = contest.constraints.capacity is None and claim.scale == "difference" and not claim.one_sided
    free &= claim.weights is None or claim.pooled  # weighted groups are not the accuracy that is bounded
    return (
        simple
        and free
        and contest.unlabelled is None
        and contest.person is None
        and contest.outcome_is_binary
        and contest.rows >= FEWEST_ROWS
        and bool(contest.features)
    )


def seconds_of(found: Searched | None) -> dict[str, float]:
    """Processor seconds of each candidate over all splits: they differ from run to run and are not saved."""
    if found is None:
        return {}
    return dict(zip(found.names, found.arrays["seconds"].sum(axis=0).tolist(), strict=True))


def _row(contest: Contest, tested: TestedSplits, found: Searched, on_all: Searched, v: int) -> dict[str, Any]:
    sign = contest.claim.accuracy.sign
    every, each = on_all.arrays, found.arrays
    times = int(np.count_nonzero(tested.arrays["chosen"] == v))
    return {
        "candidate": found.names[v],
        "settings": found.settings[v] if found.settings else "",
        "accuracy": _finite(sign * every["accuracy"][0, v, 0, -1]),
        "accuracy_error": _finite(every["accuracy_error"][0, v, 0]),
        "gap": _gap(contest, every["gaps"][0, v, 0]),
        "gap_error": _finite(every["gap_error"][0, v, 0]),
        "test_accuracy": _finite(sign * each["test_accuracy"][:, v, 0, -1].mean()),
        "test_gap": _gap(contest, each["test_gaps"][:, v, 0].mean()),
        "z": _finite(every["merit"][0, v]),
        "chosen": times,
        "why": _why(found, v, times, bool(tested.rules)),
        "permissible": bool(each["permissible"][:, v].all()),
        "groups": _by_group(contest, found, on_all, v),
    }


def _by_group(contest: Contest, found: Searched, on_all: Searched, v: int) -> list[dict[str, Any]]:
    """Every level of the claim in each group, of every accuracy and of every metric whose gap counts."""
    claim, rows = contest.claim, []
    support = on_all.arrays["support"][0, v]
    for part, worths, key, first in (
        ("accuracy", claim.accuracies, "accuracy", 0),
        ("fairness", claim.fairness, "levels", len(claim.accuracies)),
    ):
        out_of_fold, tested = on_all.arrays[key][0, v], found.arrays[f"test_{key}"][:, v].mean(axis=0)
        for m, worth in enumerate(worths):
            if isinstance(worth.what, Area):
                continue  # everybody's: it has no level in a group
            rows += [
                {
                    "part": part,
                    "metric": worth.label,
                    "group": name,
                    "n": int(support[first + m, g]),
                    "level": _finite(worth.sign * out_of_fold[m, g]),
                    "test_level": _finite(worth.sign * tested[m, g]),
                }
                for g, name in enumerate(contest.names)
            ]
    return rows


def checks_of(constraints: Constraints, given: Sequence[str] | None) -> list[str]:
    """What every candidate was held to, in words: on training rows, or because rules are not given anything else."""
    checks = []
    if constraints.capacity is not None:
        checks.append(f"at most {constraints.capacity:.1%} selected")
    checks += [
        f"never {'falls' if s > 0 else 'rises'} with {name}" for name, s in constraints.monotone.items()
    ]
    if constraints.blind:
        checks.append(BLIND)
    checks += [f"without {name}" for name in constraints.banned]
    if given is not None:
        checks.append(f"independent of the group given {', '.join(given) or 'nothing'}")
    if constraints.permissible is not None:
        checks.append("permitted by your own function")
    return checks


def _why(found: Searched, v: int, times: int, forward: bool) -> str:
    """Why a candidate was tested, or was not."""
    count = len(found.arrays["merit"])
    parts = "pasts" if forward else "splits"
    if times:
        return f"chosen in {times} of {count} {parts}"
    if not found.arrays["permissible"][:, v].all():
        return "not permissible"
    merit = np.asarray(found.arrays["merit"][:, v], dtype=np.float64)
    sure = int(np.count_nonzero(merit >= found.sure))
    if sure:
        return f"sure enough in {sure} of {count} {parts}, but another has a smaller gap"
    return f"not sure enough: its weakest z is below {float(np.max(found.sure)):.2f} in every {parts[:-1]}"


def _status_quo(contest: Contest, tested: TestedSplits) -> dict[str, Any]:
    """Mean levels of the status quo on the tested rows."""
    estimate = np.asarray(tested.arrays["estimate"], dtype=np.float64).mean(axis=0)
    return {
        "accuracy": _finite(contest.claim.accuracy.sign * estimate[0, 0, -1]),
        "gap": _gap(contest, gap_levels(contest, estimate)[0, 0]),
    }


def _gap(contest: Contest, value: float) -> float | None:
    """A gap, or the impact ratio that a difference of logs stands for."""
    if not math.isfinite(value):
        return None
    return math.exp(-value) if contest.claim.scale == "ratio" else float(value)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
