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
    claim_test,
    decisions_of,
    fitted,
    out_of_fold_merits,
    split_rows,
    status_quo_pairs,
)
from fairtrial.methods.improve.candidates.problem import Candidate, Problem
from fairtrial.methods.improve.candidates.rules import Index, Rule
from fairtrial.methods.improve.candidates.utilities import evaluate
from fairtrial.methods.improve.solver.delta_surface import Corner, split_thresholds, staircase
from fairtrial.methods.improve.solver.improvement import gap_of
from fairtrial.methods.improve.solver.improvement_splits import (
    ASSUMES,
    Aggregation,
    combine_p_values,
    split_level,
    splits_against_manipulation,
)
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
    key: str

    @property
    def levels(self) -> list[float]:
        return sorted({*SURFACE_LEVELS, round(self.alpha, 12)})

    def split(self, problem: Problem, k: int) -> tuple[Index, Index]:
        """Split k is the same for every candidate."""
        return split_rows(problem.rows, self.train_share, generator(self.seed, "improve/split", k))


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

    def surface(self) -> list[dict[str, Any]]:
        found = []
        for i, level in enumerate(self.settings.levels):
            rectangles = [Corner(float(a), float(f)) for a, f in self.arrays["thresholds"][:, i]]
            steps = staircase(rectangles, level, self.settings.aggregate)
            corners = [{"accuracy": c.accuracy, "fairness": c.fairness} for c in steps.corners]
            found.append({"level": level, "corners": corners})
        return found

    def details(self, problem: Problem, refitted: dict[str, Any] | None) -> dict[str, Any]:
        """Everything views need, as plain values."""
        claim = problem.claim
        return {
            "p_value": self.p_value,
            "p_value_delta_method": self._delta_method(),
            "alpha": round(self.settings.alpha, 12),
            "aggregate": self.settings.aggregate,
            "aggregate_assumes": ASSUMES[self.settings.aggregate],
            "splits_against_manipulation": splits_against_manipulation(self.settings.alpha),
            "rows": problem.rows,
            "candidates": self.variants,
            "claim": {
                "accuracy": claim.accuracy.name,
                "accuracy_label": claim.accuracy.label,
                "fairness": [worth.name for worth in claim.fairness],
                "fairness_labels": [worth.label for worth in claim.fairness],
                "fairness_is_rate": _is_rate(problem),
                "groups": list(problem.names),
                "accuracy_delta": list(claim.accuracy_delta),
                "fairness_delta": claim.fairness_delta,
                "pooled": claim.pooled,
                "one_sided": claim.one_sided,
                "scale": claim.scale,
                "method": claim.method,
            },
            "splits": [self._split(k) for k in range(self.settings.splits)],
            "levels": self._levels(problem),
            "gaps": self._gaps(problem),
            "surface": self.surface(),
            "refit": refitted and {**refitted, "expected_levels": self._expected(problem)},
        }

    def _split(self, k: int) -> dict[str, Any]:
        merit = float(self.arrays["merit"][k])
        components = [
            {"name": name, "p_value": float(p), "statistic": _finite(t)}
            for name, p, t in zip(self.names, self.arrays["p"][k], self.arrays["statistic"][k], strict=True)
        ]
        return {
            "split": k + 1,
            "candidate": self.chosen(k),
            "merit": _finite(merit),
            "p_value": self.p_values[k],
            "enough_people": bool(self.arrays["enough"][k]),
            "proved": str(self.arrays["statement"][k]),
            "components": components,
        }

    def _levels(self, problem: Problem) -> list[dict[str, Any]]:
        """Mean level over the splits of each metric, rule and group, and each split's own."""
        rows = []
        for m, worth in enumerate(problem.claim.worths):
            for g, name in enumerate(problem.names):
                for rule, label in enumerate(("status quo", "alternative")):
                    values = worth.sign * np.asarray(self.arrays["estimate"][:, m, rule, g], dtype=np.float64)
                    rows.append(
                        {
                            "metric": worth.label,
                            "use": "accuracy" if m == 0 else "fairness",
                            "rule": label,
                            "group": name,
                            "mean": _finite(float(np.mean(values))),
                            "splits": [_finite(float(v)) for v in values],
                        }
                    )
        return rows

    def _expected(self, problem: Problem) -> list[dict[str, Any]]:
        """What the refitted rule can be expected to reach: mean levels on test halves, where nothing was fitted."""
        means = {
            (row["use"], row["metric"], row["group"], row["rule"]): row["mean"]
            for row in self._levels(problem)
        }
        keys = dict.fromkeys(key[:3] for key in means)
        return [
            {
                "use": key[0],
                "metric": key[1],
                "group": key[2],
                "status_quo": means[*key, "status quo"],
                "alternative": means[*key, "alternative"],
            }
            for key in keys
        ]

    def _gaps(self, problem: Problem) -> list[dict[str, Any]]:
        """Gap of both rules in every split, per fairness metric."""
        rows = []
        for m, worth in enumerate(problem.claim.fairness, start=1):
            estimates = np.asarray(self.arrays["estimate"], dtype=np.float64)
            pairs = [gaps(problem, estimate, m) for estimate in estimates]
            old, new = zip(*pairs, strict=True)
            rows.append(
                {
                    "metric": worth.label,
                    "status_quo": [_finite(value) for value in old],
                    "alternative": [_finite(value) for value in new],
                    "mean_status_quo": _finite(float(np.mean(old))),
                    "mean_alternative": _finite(float(np.mean(new))),
                }
            )
        return rows

    def _delta_method(self) -> float | None:
        """The same combination of delta-method p-values; undefined components count as 1."""
        values = np.where(np.isnan(self.arrays["delta"]), 1.0, self.arrays["delta"]).max(axis=1)
        return combine_p_values([float(v) for v in values], self.settings.aggregate)


def run_splits(problem: Problem, candidates: Sequence[Candidate], settings: Settings) -> TestedSplits:
    """Steps 1 to 5 of Section 3.1 for all splits."""
    variants = [name for candidate in candidates for name in candidate.variants(problem)]
    halves = [settings.split(problem, k) for k in range(settings.splits)]
    merits = _choose(problem, candidates, [train for train, _ in halves], settings)

    def task(part: range, rng: np.random.Generator) -> Arrays:
        (k,) = part
        train, test = halves[k]
        best = int(np.argmax(merits[k])) if merits is not None else 0
        candidate = _owner(candidates, problem, best)
        new, new_score, statement = decisions_of(problem, candidate, variants[best], train, rng)
        old, old_score = problem.status_quo(train)
        worst = status_quo_pairs(problem, train)
        cells = problem.cells(
            test, (old[test], None if old_score is None else old_score[test]), (new[test], new_score[test])
        )
        tested = claim_test(problem, cells, worst, settings.bootstrap, rng)
        deltas = tested.deltas(problem.claim)
        used = tested.levels.support[..., -1:] if problem.claim.pooled else tested.levels.support[..., :-1]
        enough = bool((used >= FEWEST).all())
        pairs = list(zip(tested.components, deltas, strict=True))
        thresholds = [
            split_thresholds(tested.components, split_level(level, settings.aggregate))
            for level in settings.levels
        ]
        corner = [(min(c.accuracy, LARGEST), c.fairness) if enough else (-math.inf,) * 2 for c in thresholds]
        return {
            "chosen": np.array([best]),
            "merit": np.array([merits[k][best] if merits is not None else np.nan]),
            "estimate": tested.levels.estimate[None],
            "support": tested.levels.support[None],
            "p": np.array([[c.p_value(d) if enough else 1.0 for c, d in pairs]]),
            "delta": np.array([[_number(c.delta_method(d)) for c, d in pairs]]),
            "statistic": np.array([[c.statistic(d) for c, d in pairs]]),
            "error": np.array([[c.standard_error(d) for c, d in pairs]]),
            "thresholds": np.array([corner]),
            "enough": np.array([enough]),
            "statement": np.array([statement[:STATEMENT]], dtype=f"<U{STATEMENT}"),
        }

    arrays = _loop(
        task, settings.splits, "improve: testing on the other half of each split", settings.key, settings
    )
    names, block = _component_names(problem)
    return TestedSplits(settings=settings, variants=variants, arrays=arrays, block=block, names=names)


def refit_rule(
    problem: Problem, candidates: Sequence[Candidate], settings: Settings
) -> tuple[Rule, dict[str, Any]]:
    """The selection rule applied to all data (Section 3.1), and whose decision would change."""
    everyone = np.arange(problem.rows)
    variants = [name for candidate in candidates for name in candidate.variants(problem)]
    merits = _choose(problem, candidates, [everyone], settings)
    best = int(np.argmax(merits[0])) if merits is not None else 0
    rng = generator(settings.seed, "improve/refit")
    with threadpool_limits(1):
        rule = fitted(problem, _owner(candidates, problem, best), everyone, rng)[variants[best]]
    decision, _ = rule.outcome_of(problem.inputs)
    old, _ = problem.status_quo(everyone)
    changes = []
    for code, name in enumerate(problem.names):
        inside = problem.group == code
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
    problem: Problem, candidates: Sequence[Candidate], halves: Sequence[Index], settings: Settings
) -> NDArray[np.float64] | None:
    """Out-of-fold merit of every variant in every training half; None when there is nothing to choose."""
    widths = [len(candidate.variants(problem)) for candidate in candidates]
    if sum(widths) == 1:
        return None

    def task(part: range, rng: np.random.Generator) -> Arrays:
        (i,) = part
        half, which = divmod(i, len(candidates))
        found = np.full((1, max(widths)), -np.inf)
        found[0, : widths[which]] = out_of_fold_merits(problem, candidates[which], halves[half], rng)
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


def _owner(candidates: Sequence[Candidate], problem: Problem, variant: int) -> Candidate:
    """The candidate that a position in the list of all variants belongs to."""
    for candidate in candidates:
        width = len(candidate.variants(problem))
        if variant < width:
            return candidate
        variant -= width
    raise IndexError(variant)


def _component_names(problem: Problem) -> tuple[list[str], list[int]]:
    rows = np.arange(problem.rows)
    old, score = problem.status_quo(rows)
    cells = problem.cells(rows, (old, score), (old, score))
    tested = claim_test(problem, cells, status_quo_pairs(problem, rows), 0, np.random.default_rng(0))
    return [component.name for component in tested.components], tested.block


def gaps(problem: Problem, estimate: NDArray[np.float64], m: int) -> tuple[float, float]:
    """Gap of the status quo and of the alternative in fairness metric m (1-based) of one split."""
    return tuple(gap_of(estimate[m, rule, :-1], problem.claim.pairs) for rule in (0, 1))  # type: ignore[return-value]


def _is_rate(problem: Problem) -> bool:
    """Whether the first fairness metric is a share of people."""
    everyone = np.arange(problem.rows)
    u, _ = evaluate(problem.claim.fairness[0], problem.seen, *problem.status_quo(everyone))
    return bool(np.isin(u, (0.0, 1.0)).all())


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
