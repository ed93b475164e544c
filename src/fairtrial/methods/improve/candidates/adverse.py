"""The adverse row of the accuracy test: the worst change that another decision could have brought anybody.

A sample in which the rare large loss did not occur shows no sign of it, and its mean looks safe. The test of accuracy
therefore adds one row with the worst change that is known to be possible: from the whole file, both halves, or stated
by the caller (`Payoff(at_least=…)`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairtrial.inference.numeric.cell_bootstrap import LevelCells, Levels
from fairtrial.methods.improve.candidates.contest import Contest, Decided
from fairtrial.methods.improve.candidates.utilities import Worth, evaluate
from fairtrial.methods.improve.payoff import Payoff

Floats = NDArray[np.float64]


def adverse_rows(
    contest: Contest, cells: LevelCells, levels: Levels, m: int, everyone: tuple[Decided, Decided]
) -> Floats:
    """(groups + everybody, 2 rules, u and w): the change that lowers each level's improvement most."""
    worth = contest.claim.accuracies[m]
    ends = [contest]
    if contest.unlabelled is not None:
        ends.append(replace(contest, seen=contest.unlabelled.high))
    changes = np.concatenate(
        [scored_changes(worth, end, everyone) if worth.by_score else switched(worth, end) for end in ends]
    )
    totals = np.zeros((len(contest.names) + 1, 2))
    for g in range(len(contest.names)):
        totals[g] = cells.counts[cells.group == g] @ cells.values[cells.group == g, m, :, 1]
    totals[-1] = totals[:-1].sum(axis=0)
    found = np.zeros((len(contest.names) + 1, 2, 2))
    for g, total in enumerate(totals):
        if (total > 0).all():
            effect = (changes[..., 0] - levels.estimate[m, :, g] * changes[..., 1]) / total
            found[g] = changes[int(np.argmin(effect[:, 1] - effect[:, 0]))]
    return (
        found if contest.person is None else found * np.bincount(contest.person).max()
    )  # all of a person's rows


def switched(worth: Worth, contest: Contest) -> Floats:
    """What the other decision would have done to each row's (u, w): (changes, 2 rules, 2)."""
    ones = np.ones(contest.rows)
    (u1, w1), (u0, w0) = (evaluate(worth, contest.seen, d, contest.score) for d in (ones, 1.0 - ones))
    selected, rejected = np.stack([u1, w1], axis=-1), np.stack([u0, w0], axis=-1)
    changes = [np.stack([rejected, selected], axis=1), np.stack([selected, rejected], axis=1)]
    if isinstance(worth.what, Payoff) and worth.what.at_least is not None:
        changes.append(np.array([[[u0.max(), 1.0], [worth.what.at_least, 1.0]]]))
    return np.concatenate(changes)


def scored_changes(worth: Worth, contest: Contest, everyone: tuple[Decided, Decided]) -> Floats:
    """From the best value that any row has under either rule to the worst."""
    found = [evaluate(worth, contest.seen, *decided) for decided in everyone]
    values = np.concatenate([u[w > 0] for u, w in found])
    return np.array([[[values.max(), 1.0], [values.min(), 1.0]]])
