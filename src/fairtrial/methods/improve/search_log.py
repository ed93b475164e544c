"""The search as a document: every candidate tried, what it came to in training and in the test, why it was chosen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairtrial.inference.numeric.cell_bootstrap import distinct_rows
from fairtrial.methods.improve.candidates.contest import Contest
from fairtrial.methods.improve.claim_tests import gap_levels
from fairtrial.methods.improve.search import SURE, Found
from fairtrial.methods.improve.solver.thoroughness import FEWEST_ROWS, MOST_CELLS, least_gap_bound
from fairtrial.methods.improve.splits import TestedSplits
from fairtrial.results.column import Column

COLUMNS = (
    Column("candidate", "candidate", "text"),
    Column("accuracy", "accuracy, out of fold", "number"),
    Column("accuracy_error", "standard error", "number", shown=False),
    Column("gap", "gap, out of fold", "number"),
    Column("gap_error", "standard error of the gap", "number", shown=False),
    Column("test_accuracy", "accuracy, other halves", "number"),
    Column("test_gap", "gap, other halves", "number"),
    Column("z", "weakest z", "number"),
    Column("chosen", "times chosen", "count"),
    Column("why", "why", "text"),
)


def log_of(
    contest: Contest, tested: TestedSplits, found: Found | None, on_all: Found | None
) -> dict[str, Any]:
    """The log's rows and what stands out in it: the status quo, and the least discriminatory rule within the margin."""
    if found is None or on_all is None:
        return {
            "search": [],
            "search_status_quo": None,
            "least_discriminatory": None,
            "smallest_possible_gap": None,
        }
    rows = [_row(contest, tested, found, on_all, v) for v in range(len(found.names))]
    least = on_all.least_discriminatory(0)
    return {
        "search": rows,
        "search_status_quo": _status_quo(contest, tested),
        "least_discriminatory": None if least is None else rows[least],
        "smallest_possible_gap": _bound(contest, tested.settings.alpha),
    }


def _bound(contest: Contest, alpha: float) -> float | None:
    """The least gap of any rule on the permitted features, where they have few combinations; None otherwise."""
    claim, matrix = contest.claim, contest.inputs.matrix
    if not _can_be_bounded(contest):
        return None
    cell = distinct_rows([matrix[:, i] for i in range(matrix.shape[1])])[0]
    if int(cell.max()) >= MOST_CELLS:
        return None
    decision, _ = contest.status_quo(np.arange(contest.rows))
    margin = max(0.0, -min(claim.accuracy_delta[0]))
    level = float(np.mean(decision == contest.outcome))
    wanted = level * (1 - margin) if claim.kind == "relative" else level - margin
    return least_gap_bound(cell, contest.group == 1, contest.outcome, wanted, alpha)


def _can_be_bounded(contest: Contest) -> bool:
    """Whether the claim is about accuracy and selection rates of two groups, with enough rows and no capacity."""
    claim = contest.claim
    simple = [worth.name for worth in claim.worths] == ["accuracy", "selection_rate"] and len(
        contest.names
    ) == 2
    free = contest.constraints.capacity is None and claim.scale == "difference" and not claim.one_sided
    return (
        simple
        and free
        and contest.unlabelled is None
        and contest.person is None
        and contest.outcome_is_binary
        and contest.rows >= FEWEST_ROWS
        and bool(contest.features)
    )


def seconds_of(found: Found | None) -> dict[str, float]:
    """Processor seconds of each candidate over all splits: they differ from run to run and are not saved."""
    if found is None:
        return {}
    return dict(zip(found.names, found.arrays["seconds"].sum(axis=0).tolist(), strict=True))


def _row(contest: Contest, tested: TestedSplits, found: Found, on_all: Found, v: int) -> dict[str, Any]:
    sign = contest.claim.accuracy.sign
    every, each = on_all.arrays, found.arrays
    times = int(np.count_nonzero(tested.arrays["chosen"] == v))
    return {
        "candidate": found.names[v],
        "accuracy": _finite(sign * every["accuracy"][0, v, 0, -1]),
        "accuracy_error": _finite(every["accuracy_error"][0, v, 0]),
        "gap": _gap(contest, every["gaps"][0, v, 0]),
        "gap_error": _finite(every["gap_error"][0, v, 0]),
        "test_accuracy": _finite(sign * each["test_accuracy"][:, v, 0, -1].mean()),
        "test_gap": _gap(contest, each["test_gaps"][:, v, 0].mean()),
        "z": _finite(every["merit"][0, v]),
        "chosen": times,
        "why": _why(found, v, times),
        "permissible": bool(each["permissible"][:, v].all()),
        "groups": [
            {
                "group": name,
                "accuracy": _finite(sign * every["accuracy"][0, v, 0, g]),
                "test_accuracy": _finite(sign * each["test_accuracy"][:, v, 0, g].mean()),
            }
            for g, name in enumerate(contest.names)
        ],
    }


def _why(found: Found, v: int, times: int) -> str:
    """Why a candidate was tested, or was not."""
    count = len(found.arrays["merit"])
    if times:
        return f"chosen in {times} of {count} splits"
    if not found.arrays["permissible"][:, v].all():
        return "not permissible"
    merit = np.asarray(found.arrays["merit"][:, v], dtype=np.float64)
    sure = int(np.count_nonzero(merit >= SURE))
    if sure:
        return f"sure enough in {sure} of {count} splits, but another has a smaller gap"
    return f"not sure enough: its weakest z is below {SURE:g} in every split"


def _status_quo(contest: Contest, tested: TestedSplits) -> dict[str, Any]:
    """Mean levels of the status quo on the test halves."""
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
