"""The loops of improve: choose on each training half, test on each other half, refit after a rejection."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from fairtrial.methods.improve.candidates.choice import (
    Tested,
    claim_test,
    decisions_of,
    fitted,
    out_of_fold_merits,
    split_rows,
    status_quo_pairs,
)
from fairtrial.methods.improve.candidates.contest import Candidate, Contest
from fairtrial.methods.improve.candidates.rules import Index, Rule
from fairtrial.methods.improve.solver.delta_surface import split_thresholds
from fairtrial.methods.improve.solver.improvement import gap_of
from fairtrial.methods.improve.solver.improvement_splits import Aggregation, combine_p_values, split_level
from fairtrial.work import Arrays, Progress, Task, generator, map_batches

# Levels at which the Δ-surface is kept, besides α
SURFACE_LEVELS = (0.001, 0.01, 0.05, 0.1, 0.2)
# A level must rest on at least this many people of the test half, or the split cannot reject
FEWEST = 10
STATEMENT = 300
# A status quo of zero is improved by any factor: the surface ends here
LARGEST = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the splits are run."""

    splits: int
    train_share: float
    bootstrap: int
    aggregate: Aggregation
    alpha: float
    seed: int
    jobs: int | None
    progress: Callable[[Progress], None] | None
    # all that the numbers depend on, so that kept batches are never taken for others
    key: str = ""

    @property
    def levels(self) -> list[float]:
        return sorted({*SURFACE_LEVELS, round(self.alpha, 12)})

    def split(self, contest: Contest, k: int) -> tuple[Index, Index]:
        """Split k is the same for every candidate."""
        return split_rows(contest.rows, self.train_share, generator(self.seed, "improve/split", k))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TestedSplits:
    """Arrays with one entry per split, and what follows from them."""

    settings: Settings
    variants: list[str]
    arrays: Arrays
    block: list[int]
    names: list[str]

    @property
    def p_values(self) -> list[float]:
        """The p-value of each split: its largest component (intersection-union)."""
        return [float(value) for value in self.arrays["p"].max(axis=1)]

    @property
    def p_value(self) -> float:
        return combine_p_values(self.p_values, self.settings.aggregate)

    @property
    def rejected(self) -> bool:
        return self.p_value < self.settings.alpha

    def chosen(self, k: int) -> str:
        return self.variants[int(self.arrays["chosen"][k])]

    def positions(self, metric: int) -> list[int]:
        """Which components belong to the accuracy (0) or to a fairness metric (1, 2, …)."""
        return [i for i, b in enumerate(self.block) if b == metric]


def run_splits(contest: Contest, candidates: Sequence[Candidate], settings: Settings) -> TestedSplits:
    """Steps 1 to 5 of Section 3.1 for all splits."""
    variants = _variants(contest, candidates)
    halves = [settings.split(contest, k) for k in range(settings.splits)]
    merits = _choose(contest, candidates, [train for train, _ in halves], settings)

    def task(part: range, rng: np.random.Generator) -> Arrays:
        (k,) = part
        train, test = halves[k]
        best = int(np.argmax(merits[k])) if merits is not None else 0
        candidate = _owner(candidates, contest, best)
        new, new_score, statement = decisions_of(contest, candidate, variants[best], train, rng)
        cells = contest.cells(test, contest.status_quo_of(test, train), (new[test], new_score[test]))
        tested = claim_test(contest, cells, status_quo_pairs(contest, train), settings.bootstrap, rng)
        return {
            "chosen": np.array([best]),
            "merit": np.array([merits[k][best] if merits is not None else np.nan]),
            "statement": np.array([statement[:STATEMENT]], dtype=f"<U{STATEMENT}"),
            **_numbers_of(tested, contest, settings),
        }

    name = "improve: testing on the other half of each split"
    arrays = _loop(task, settings.splits, name, settings.key, settings)
    names, block = _component_names(contest)
    return TestedSplits(settings=settings, variants=variants, arrays=arrays, block=block, names=names)


def _numbers_of(tested: Tested, contest: Contest, settings: Settings) -> Arrays:
    """The numbers of one split, each with a first axis of length one."""
    used = tested.levels.support[..., -1:] if contest.claim.pooled else tested.levels.support[..., :-1]
    enough = bool((used >= FEWEST).all())
    pairs = list(zip(tested.components, tested.deltas(contest.claim), strict=True))
    thresholds = [
        split_thresholds(tested.components, split_level(level, settings.aggregate))
        for level in settings.levels
    ]
    corner = [(min(c.accuracy, LARGEST), c.fairness) if enough else (-math.inf,) * 2 for c in thresholds]
    return {
        "estimate": tested.levels.estimate[None],
        "support": tested.levels.support[None],
        "p": np.array([[c.p_value(d) if enough else 1.0 for c, d in pairs]]),
        "delta": np.array([[_number(c.delta_method(d)) for c, d in pairs]]),
        "statistic": np.array([[c.statistic(d) for c, d in pairs]]),
        "error": np.array([[c.standard_error(d) for c, d in pairs]]),
        "thresholds": np.array([corner]),
        "enough": np.array([enough]),
    }


def refit_rule(
    contest: Contest, candidates: Sequence[Candidate], settings: Settings
) -> tuple[Rule, dict[str, Any]]:
    """The selection rule applied to all data (Section 3.1), and whose decision would change."""
    everyone = np.arange(contest.rows)
    variants = _variants(contest, candidates)
    merits = _choose(contest, candidates, [everyone], settings)
    best = int(np.argmax(merits[0])) if merits is not None else 0
    rng = generator(settings.seed, "improve/refit")
    with threadpool_limits(1):
        rule = fitted(contest, _owner(candidates, contest, best), everyone, rng)[variants[best]]
    decision, _ = rule.outcome_of(contest.inputs)
    old, _ = contest.status_quo(everyone)
    changes = []
    for code, name in enumerate(contest.names):
        inside = contest.group == code
        changes.append(
            {
                "group": name,
                "n": int(inside.sum()),
                "gain_decision": int(np.count_nonzero(inside & (old == 0) & (decision == 1))),
                "lose_decision": int(np.count_nonzero(inside & (old == 1) & (decision == 0))),
                "selected_status_quo": int(old[inside].sum()),
                "selected_alternative": int(decision[inside].sum()),
            }
        )
    return rule, {
        "candidate": rule.name,
        "threshold": rule.threshold,
        "proved": rule.statement,
        "changes": changes,
    }


def _choose(
    contest: Contest, candidates: Sequence[Candidate], halves: Sequence[Index], settings: Settings
) -> NDArray[np.float64] | None:
    """Out-of-fold merit of every variant in every training half; None when there is nothing to choose."""
    widths = [len(candidate.variants(contest)) for candidate in candidates]
    if sum(widths) == 1:
        return None

    def task(part: range, rng: np.random.Generator) -> Arrays:
        (i,) = part
        half, which = divmod(i, len(candidates))
        found = np.full((1, max(widths)), -np.inf)
        found[0, : widths[which]] = out_of_fold_merits(contest, candidates[which], halves[half], rng)
        return {"merit": found}

    key = f"{settings.key}|{[half.size for half in halves]}"
    name = "improve: choosing among candidates in each training half"
    merits = _loop(task, len(halves) * len(candidates), name, key, settings)["merit"]
    by_half = merits.reshape(len(halves), len(candidates), -1)
    return np.array(
        [np.concatenate([row[:width] for row, width in zip(half, widths, strict=True)]) for half in by_half]
    )


def _loop(task: Task, steps: int, name: str, key: str, settings: Settings) -> Arrays:
    """One batch per step. Models run on one thread each: parallel work is over steps, and spinning threads of small
    fits cost more than they bring."""
    with threadpool_limits(1):
        return map_batches(
            task,
            steps,
            name=name,
            seed=settings.seed,
            batch_size=1,
            key=key,
            jobs=settings.jobs,
            progress=settings.progress,
        )


def _variants(contest: Contest, candidates: Sequence[Candidate]) -> list[str]:
    return [name for candidate in candidates for name in candidate.variants(contest)]


def _owner(candidates: Sequence[Candidate], contest: Contest, variant: int) -> Candidate:
    """The candidate that a position in the list of all variants belongs to."""
    for candidate in candidates:
        width = len(candidate.variants(contest))
        if variant < width:
            return candidate
        variant -= width
    raise IndexError(variant)


def _component_names(contest: Contest) -> tuple[list[str], list[int]]:
    rows = np.arange(contest.rows)
    old, score = contest.status_quo(rows)
    cells = contest.cells(rows, (old, score), (old, score))
    tested = claim_test(contest, cells, status_quo_pairs(contest, rows), 0, np.random.default_rng(0))
    return [component.name for component in tested.components], tested.block


def gaps(contest: Contest, estimate: NDArray[np.float64], m: int) -> tuple[float, float]:
    """Gap of the status quo and of the alternative in fairness metric m (1-based) of one split."""
    return tuple(gap_of(estimate[m, rule, :-1], contest.claim.pairs) for rule in (0, 1))  # type: ignore[return-value]


def _number(value: float | None) -> float:
    return math.nan if value is None else value
