"""Training where outcomes are unknown: they are filled in from a model of the known ones of the same rows.

That only steers the search: what it finds is tested on other rows, at the outcomes that are worst for the claim.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairtrial.methods.improve.candidates.contest import Contest
from fairtrial.methods.improve.candidates.rules import Index
from fairtrial.methods.improve.candidates.scorers import SignedLinear


def filled_in(contest: Contest, index: Index, rng: np.random.Generator) -> Contest:
    """The contest with unknown outcomes of the training rows drawn from a model of the known ones among them."""
    unlabelled = contest.unlabelled
    if unlabelled is None or not contest.features or contest.seen.outcome is None:
        return contest
    unknown = index[~unlabelled.known[index]]
    labelled = index[unlabelled.known[index]]
    if not unknown.size or not labelled.size:
        return contest
    outcome, matrix = contest.seen.outcome.copy(), contest.inputs.matrix
    if np.ptp(outcome[labelled]) == 0:
        outcome[unknown] = outcome[labelled[0]]
    else:
        model = SignedLinear(1.0, contest.outcome_is_binary, None).fit(matrix[labelled], outcome[labelled])
        if contest.outcome_is_binary:
            outcome[unknown] = rng.random(unknown.size) < model.predict_proba(matrix[unknown])[:, 1]
        else:
            outcome[unknown] = model.predict(matrix[unknown])
    return replace(contest, seen=replace(contest.seen, outcome=outcome))
