"""Choosing a candidate inside the training half, and testing it on the other half."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial.errors import FairtrialError
from fairtrial.inference.numeric.cell_bootstrap import LevelCells, Levels, bootstrap_levels
from fairtrial.methods.improve.candidates.claim import Claim
from fairtrial.methods.improve.candidates.constraints import check_rule
from fairtrial.methods.improve.candidates.contest import Candidate, Contest
from fairtrial.methods.improve.candidates.rules import Floats, Index, Rule, refusal
from fairtrial.methods.improve.solver.improvement import (
    TIE,
    Component,
    Pair,
    accuracy_components,
    paper_fairness_component,
    smooth_fairness_components,
    worst_pair,
)

# A z of this size stands for a difference that has no spread at all.
CERTAIN = 50.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tested:
    """Components of the claim in the order accuracy, then each fairness metric; `block` says which metric."""

    components: list[Component]
    block: list[int]
    levels: Levels

    def deltas(self, claim: Claim) -> list[float]:
        accuracy = claim.accuracy_delta
        return [accuracy[i] if b == 0 else claim.fairness_delta for i, b in enumerate(self.block)]


def split_rows(rows: int, share: float, rng: np.random.Generator) -> tuple[Index, Index]:
    """⌊β·n⌋ training rows uniformly at random, and the rest (Section 3.1, step 1)."""
    order = rng.permutation(rows)
    train = math.floor(share * rows)
    return np.sort(order[:train]), np.sort(order[train:])


def status_quo_pairs(contest: Contest, train: Index) -> list[Pair]:
    """The worst pair of the status quo in the training half, per fairness metric."""
    old = contest.status_quo_of(train)
    levels = bootstrap_levels(contest.cells(train, old, old), 0, np.random.default_rng(0))
    return [
        worst_pair(levels.estimate[1 + m, 0, :-1], contest.claim.pairs)
        for m in range(len(contest.claim.fairness))
    ]


def claim_test(
    contest: Contest, cells: LevelCells, worst: list[Pair], draws: int, rng: np.random.Generator
) -> Tested:
    """Every component of the claim on the given cells."""
    claim = contest.claim
    levels = bootstrap_levels(cells, draws, rng)
    components = accuracy_components(
        levels, 0, [*contest.names, "everyone"], scale=claim.scale, pooled=claim.pooled
    )
    block = [0] * len(components)
    for m, pair in enumerate(worst, start=1):
        found = _fairness_components(contest, levels, m, pair)
        components += found
        block += [m] * len(found)
    return Tested(components=components, block=block, levels=levels)


def _fairness_components(contest: Contest, levels: Levels, metric: int, worst: Pair) -> list[Component]:
    claim = contest.claim
    scale, pairs, one_sided = claim.scale, claim.pairs, claim.one_sided
    if claim.method == "paper":
        return [paper_fairness_component(levels, metric, scale=scale, pairs=pairs, one_sided=one_sided)]
    return smooth_fairness_components(
        levels, metric, contest.names, scale=scale, pairs=pairs, worst=worst, one_sided=one_sided
    )


def merit(contest: Contest, cells: LevelCells, worst: list[Pair]) -> float:
    """The smallest z of all components: how sure the weakest part of the claim is."""
    tested = claim_test(contest, cells, worst, 0, np.random.default_rng(0))
    smallest = math.inf
    for component, delta in zip(tested.components, tested.deltas(contest.claim), strict=True):
        estimate, error = component.statistic(delta), component.standard_error(delta)
        if not math.isfinite(estimate):
            return -math.inf
        flat = error <= TIE * (1.0 + abs(component.candidate) + abs(component.status_quo))
        z = estimate / error if not flat else CERTAIN * float(np.sign(round(estimate, 12)))
        smallest = min(smallest, z)
    return smallest


def out_of_fold_merits(
    contest: Contest, candidate: Candidate, train: Index, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Merit of each variant from decisions on folds it was not fitted on, constraints checked in each."""
    names = candidate.variants(contest)
    decisions = {name: np.empty(train.size) for name in names}
    scores = {name: np.empty(train.size) for name in names}
    fold = rng.permutation(train.size) % contest.folds
    for held in range(contest.folds):
        rest, out = train[fold != held], train[fold == held]
        rules = fitted(contest, candidate, rest, rng)
        inputs = contest.inputs.part(out)
        for name in names:
            check_rule(rules[name], contest, rest)
            decisions[name][fold == held], scores[name][fold == held] = rules[name].outcome_of(inputs)
    worst = status_quo_pairs(contest, train)
    old = contest.status_quo_of(train)
    return np.array(
        [merit(contest, contest.cells(train, old, (decisions[n], scores[n])), worst) for n in names]
    )


def fitted(contest: Contest, candidate: Candidate, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
    """The candidate's rules; whatever goes wrong inside it is told with its name."""
    try:
        return candidate.fit(contest, index, rng)
    except FairtrialError:
        raise
    except Exception as error:
        raise refusal(candidate.name, f"could not be fitted: {error}") from error


def decisions_of(
    contest: Contest, candidate: Candidate, variant: str, train: Index, rng: np.random.Generator
) -> tuple[Floats, Floats, str]:
    """Fit on `train`, check the constraints, and decide for all rows: (decisions, scores, what was proved)."""
    rule = fitted(contest, candidate, train, rng)[variant]
    check_rule(rule, contest, train)
    decision, score = rule.outcome_of(contest.inputs)
    return decision, score, rule.statement
