"""What cannot be claimed about the people of a contest: ratios of what can be negative, a gap that is not there."""

from __future__ import annotations

import numpy as np

from fairtrial.errors import Fault, InputError, NotApplicable, Set, Use, Words
from fairtrial.methods.improve.candidates.contest import Contest
from fairtrial.methods.improve.candidates.utilities import evaluate
from fairtrial.methods.improve.solver.improvement import gap_of

WHO = "improve"
BY_DIFFERENCE = Set("scale", "difference")


def check_ratios(contest: Contest) -> None:
    """Ratios only make sense for utilities that cannot be negative (Definition 2)."""
    if contest.claim.scale != "ratio":
        return
    worth = contest.claim.accuracy
    subject = f"the accuracy {worth.name!r}"
    if worth.sign < 0:
        cure = Words("take {} or its complement", BY_DIFFERENCE)
        raise InputError(WHO, Fault("accuracy", "is better when lower", subject=subject, cure=cure))
    ones = np.ones(contest.rows)
    for decision in (ones, 1.0 - ones):
        lowest = float(evaluate(worth, contest.seen, decision, contest.score)[0].min())
        if lowest < 0:
            cure = Words("compare it with {}", BY_DIFFERENCE)
            fault = Fault("accuracy", f"can be negative ({lowest:g})", subject=subject, cure=cure)
            raise InputError(WHO, fault)


def refuse_equal_levels(contest: Contest) -> None:
    """Assumption 1: without a disparity of the status quo there is nothing to reduce."""
    decision, score = contest.status_quo(np.arange(contest.rows))
    for worth in contest.claim.fairness:
        u, w = evaluate(worth, contest.seen, decision, score)
        totals = np.bincount(contest.group, w, len(contest.names))
        if (totals <= 0).any():
            empty = [contest.names[i] for i in np.flatnonzero(totals <= 0)]
            required = "is undefined: nobody of the group meets its condition"
            raise InputError(WHO, Fault("fairness", required, subject=f"the {worth.label} of {empty}"))
        levels = np.bincount(contest.group, u, len(contest.names)) / totals
        if gap_of(levels, contest.claim.pairs) <= 1e-12 * (1 + float(np.abs(levels).max())):
            shown = [round(float(v), 6) for v in levels]
            required = f"has no disparity in {worth.label} (levels {shown}), so there is none to reduce"
            cure = Words("{} says how sure that is", Use("certify"))
            raise NotApplicable(WHO, Fault("fairness", required, subject="the status quo", cure=cure))
