"""The search for an alternative inside training rows: every candidate out of fold, and which one is tested.

Tested is the least gap among candidates whose every part of the claim is sure enough out of fold (a z at which the test
on the other half shows it in nine of ten cases), else the one whose weakest part is the surest. The rule with
the least gap whose accuracy is within the margin is noted beside it: it is the least discriminatory one that was found,
and not shown.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial._errors import FairtrialError, Fault, NotApplicable
from fairtrial._improve.claim_tests import (
    ClaimTest,
    examine,
    gap_levels,
    levels_of,
    status_quo_pairs,
    z_values,
)
from fairtrial._improve.combining import Compared
from fairtrial._improve.components import Pair
from fairtrial._improve.constraints import check_rule, permissible
from fairtrial._improve.contest import WHO, Candidate, Contest, Decided
from fairtrial._improve.rules import Index, Rule, refusal
from fairtrial._improve.scorers import SignedLinear
from fairtrial._work import Arrays

Floats = NDArray[np.float64]

# How likely the test on the other part is to show what is sure enough. Of 100 data sets with a known better rule three
# halves showed 95, with a gap of .109; with 80% at the level of a single test (z of 2.49) 83, with one of .074.
POWER = 0.9


def sure_enough(level: float, train_share: float) -> float:
    """The z out of fold at which a test at this level, on the rows that are not trained on, has the power."""
    return float(special.ndtri(1.0 - level) + special.ndtri(POWER)) * math.sqrt(
        train_share / (1.0 - train_share)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """What every variant came to, with axes (training parts, variants, …).

    `merit` is the smallest z of the claim, `gap` the largest gap by the status quo's, `within` whether every accuracy
    is within its margin; `accuracy`, `gaps` and the groups' `levels` behind them are out of fold, `support` whom they
    rest on, `accuracy_error` and `gap_error` standard errors; `test_accuracy`, `test_gaps` and `test_levels` are of the
    other half. A merit of `sure` is sure enough.
    """

    arrays: Arrays
    names: list[str]
    sure: float | Floats  # one of each training part, or one of all
    settings: tuple[str, ...] = ()

    def best(self, k: int) -> int:
        """The variant to test: the least gap of those that are sure enough, else the surest."""
        merit, gap = self.arrays["merit"][k], self.arrays["gap"][k]
        if not np.isfinite(merit).any():
            required = "are not permissible, or have no level in some group"
            raise NotApplicable(
                WHO,
                Fault(
                    "candidates",
                    required,
                    subject="all candidates",
                    cure="loosen the constraints or name others",
                ),
            )
        sure = merit >= np.broadcast_to(self.sure, len(self.arrays["merit"]))[k]
        if sure.any():
            return int(np.argmin(np.where(sure, gap, np.inf)))
        return int(np.argmax(np.where(np.isnan(merit), -np.inf, merit)))

    def least_discriminatory(self, k: int) -> int | None:
        """The variant with the least gap of those whose accuracy is within the margin; None where none is."""
        within, gap = self.arrays["within"][k] == 1, self.arrays["gap"][k]
        return int(np.argmin(np.where(within, gap, np.inf))) if within.any() else None


def variants_of(contest: Contest, candidates: Sequence[Candidate]) -> list[tuple[Candidate, str]]:
    """Every rule that can be chosen, with the candidate that gives it."""
    return [(candidate, name) for candidate in candidates for name in candidate.variants(contest)]


def settings_of(contest: Contest, candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """How each variant's model is made, where its candidate says so."""
    told = [getattr(candidate, "settings", "") for candidate in candidates]
    counts = [len(candidate.variants(contest)) for candidate in candidates]
    return tuple(str(text) for text, count in zip(told, counts, strict=True) for _ in range(count))


def fitted(
    contest: Contest, candidate: Candidate, index: Index | None, rng: np.random.Generator
) -> dict[str, Rule]:
    """The candidate's rules, fitted on some rows or all; whatever goes wrong inside it is told with its name."""
    rows = np.arange(contest.rows) if index is None else index
    try:
        return candidate.fit(filled_in(contest, rows, rng), rows, rng)
    except FairtrialError:
        raise
    except Exception as error:
        raise refusal(candidate.name, f"could not be fitted: {error}") from error


def judged_out_of_fold(
    contest: Contest, candidate: Candidate, train: Index, test: Index | None, rng: np.random.Generator
) -> Arrays:
    """Every variant of a candidate from decisions on folds it was not fitted on, and on the other half if there is one.

    Arrays have a first axis of the candidate's variants.
    """
    started = time.thread_time()  # other candidates may run beside it
    names = candidate.variants(contest)
    decided, allowed = _out_of_fold(contest, candidate, train, rng)
    old = contest.status_quo_of(train)
    worst = status_quo_pairs(contest, old, train)
    found = [_judged(contest, train, old, (both[0], both[1]), worst) for both in decided.values()]
    if test is not None:
        rules = fitted(contest, candidate, train, rng)
        inputs, before = contest.inputs.part(test), contest.status_quo_of(test, train)
        for one, name in zip(found, names, strict=True):
            one.update(_on_test(contest, Compared(test, before, rules[name].outcome_of(inputs)), worst))
    for one, name in zip(found, names, strict=True):
        if not allowed[name]:
            one.update(merit=-np.inf, within=0.0)
        one.update(permissible=float(allowed[name]), seconds=(time.thread_time() - started) / len(names))
    return {key: np.array([one[key] for one in found]) for key in found[0]}


def _out_of_fold(
    contest: Contest, candidate: Candidate, train: Index, rng: np.random.Generator
) -> tuple[dict[str, Floats], dict[str, bool]]:
    """Decisions and scores of every variant on folds it was not fitted on, and whether it is permissible."""
    names = candidate.variants(contest)
    decided = {name: np.empty((2, train.size)) for name in names}
    allowed = dict.fromkeys(names, True)
    fold = rng.permutation(train.size) % contest.folds
    for held in range(contest.folds):
        rest, out = train[fold != held], train[fold == held]
        rules = fitted(contest, candidate, rest, rng)
        inputs = contest.inputs.part(out)
        for name, both in decided.items():
            check_rule(rules[name], contest, rest)
            allowed[name] &= permissible(rules[name], contest, rest)
            both[:, fold == held] = rules[name].outcome_of(inputs)
    return decided, allowed


def _judged(
    contest: Contest, index: Index, old: Decided, new: Decided, worst: Sequence[Pair]
) -> dict[str, Any]:
    tested = examine(contest, Compared(index, old, new), worst, 0, np.random.default_rng(0))
    z = z_values(tested)
    accuracy = [t for (c, d), t in zip(tested.pairs, z, strict=True) if c.part == "accuracy"]
    gaps, first = gap_levels(contest, tested.levels.estimate), len(contest.claim.accuracies)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = gaps[1] / gaps[0]
    return {
        "merit": min(z),
        "gap": float(np.max(np.where(np.isfinite(ratio), ratio, np.inf))),
        "within": float(all(t >= 0 for t in accuracy)),
        "accuracy": tested.levels.estimate[:first, 1],
        "accuracy_error": _errors(tested)[:first, -1],
        "levels": tested.levels.estimate[first:, 1, :-1],
        "support": tested.levels.support[:, 1, :-1],
        "gaps": gaps[1],
        "gap_error": _gap_errors(contest, tested, worst),
    }


def _on_test(contest: Contest, compared: Compared, worst: Sequence[Pair]) -> dict[str, Any]:
    levels = levels_of(contest, compared, worst)
    accuracies = len(contest.claim.accuracies)
    return {
        "test_accuracy": levels.estimate[:accuracies, 1],
        "test_levels": levels.estimate[accuracies:, 1, :-1],
        "test_gaps": gap_levels(contest, levels.estimate)[1],
    }


def _errors(tested: ClaimTest) -> Floats:
    """Standard errors of the candidate's levels: (metrics, groups + everybody)."""
    counts, psi = tested.levels.counts, tested.levels.influence[:, :, 1]
    return np.asarray(np.sqrt(np.einsum("c,cmg->mg", counts, psi**2)) / counts.sum())


def _gap_errors(contest: Contest, tested: ClaimTest, worst: Sequence[Pair]) -> Floats:
    """Standard errors of the candidate's gaps between the status quo's worst pairs."""
    counts, first = tested.levels.counts, len(contest.claim.accuracies)
    found = []
    for m, (a, b) in enumerate(worst, start=first):
        psi = tested.levels.influence[:, m, 1, a] - tested.levels.influence[:, m, 1, b]
        found.append(math.sqrt(float(counts @ psi**2)) / float(counts.sum()))
    return np.array(found)


# -- Training where outcomes are unknown: they are filled in from a model of the known ones of the same rows.
# That only steers the search: what it finds is tested on other rows, at the outcomes that are worst for the
# claim.
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
