"""The loops of improve: choose on each training part, test on rows it has not seen, refit after a rejection."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from fairtrial._improve.candidates import FixedRule
from fairtrial._improve.claim_tests import ClaimTest, examine, gap_levels, status_quo_pairs
from fairtrial._improve.combining import Compared, combined, split_level, split_thresholds
from fairtrial._improve.components import Pair
from fairtrial._improve.constraints import check_permissible, check_rule
from fairtrial._improve.contest import Candidate, Contest, Decided
from fairtrial._improve.forward import (
    STATEMENT,
    best_of,
    decided_forward,
    forward_parts,
    one_order,
    rules_told,
    surface_corners,
)
from fairtrial._improve.request import CHUNKS, ORDERS, ImproveRequest
from fairtrial._improve.rules import Floats, Index, Rule
from fairtrial._improve.search import (
    Searched,
    fitted,
    judged_out_of_fold,
    settings_of,
    variants_of,
)
from fairtrial._improve.terms import Beforehand
from fairtrial._work import Arrays, Task, generator, map_batches

# A level must rest on at least this many people of the test half, or the split cannot reject
FEWEST = 10
# A status quo of zero is improved by any factor: the surface ends here
LARGEST = 10.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TestedSplits:
    """Arrays with one entry per split, and what follows from them."""

    request: ImproveRequest
    variants: list[str]
    arrays: Arrays
    block: list[int]
    names: list[str]
    accuracies: int
    rules: list[dict[str, Any]] = field(default_factory=list)  # that were learned forward

    @property
    def p_values(self) -> list[float]:
        """The p-value of each split: its largest component (intersection-union)."""
        return [float(value) for value in self.arrays["p"].max(axis=1)]

    @property
    def p_value(self) -> float:
        return self.together("p")

    def together(self, name: str) -> float:
        """One p-value from those of every test and part; an undefined one counts as 1."""
        values = np.asarray(self.arrays[name], dtype=np.float64)
        return combined(np.where(np.isnan(values), 1.0, values), self.request.aggregate)

    @property
    def rejected(self) -> bool:
        return self.p_value < self.request.alpha

    def chosen(self, k: int) -> str:
        if self.rules:
            return " / ".join(dict.fromkeys(one["candidate"] for one in self.rules if one["order"] == k + 1))
        return self.variants[int(self.arrays["chosen"][k])]

    def positions(self, metric: int) -> list[int]:
        """Which components belong to one metric of the claim."""
        return [i for i, b in enumerate(self.block) if b == metric]


def run_splits(
    contest: Contest, candidates: Sequence[Candidate], request: ImproveRequest
) -> tuple[TestedSplits, Searched | None]:
    """Steps 1 to 5 of Section 3.1 for all splits, and what the search found in each; None when nothing was chosen."""
    variants = variants_of(contest, candidates)
    parts = [request.split(contest, k) for k in range(request.tests)]
    found = search(contest, candidates, parts, request)

    def task(part: range, rng: np.random.Generator) -> Arrays:
        (k,) = part
        best = 0 if found is None else found.best(k)
        merit = math.nan if found is None else float(found.arrays["merit"][k, best])
        numbers = test_split(contest, request, variants[best], k, rng)
        return {"chosen": np.array([best]), "merit": np.array([merit]), **numbers}

    name = "improve: testing on the other half of each split"
    arrays = _loop(task, request.tests, name, request.key, request)
    return _tested(contest, request, variants, arrays, _any_pairs(contest)), found


def run_forward(
    contest: Contest, candidates: Sequence[Candidate], request: ImproveRequest
) -> tuple[TestedSplits, Searched | None]:
    """Rules learned on earlier chunks and tested on later ones, in every order; what each past found."""
    variants, parts = variants_of(contest, candidates), forward_parts(contest, request.seed)
    found = search(contest, candidates, parts, request)
    chosen, merit = best_of(found, len(parts))
    width = max(chunk.size for _, chunk in parts)

    def task(part: range, rng: np.random.Generator) -> Arrays:
        (k,) = part
        return decided_forward(contest, variants[int(chosen[k])], parts[k], width, rng)

    arrays = _loop(task, len(parts), "improve: learning on each past", request.key, request)
    each = CHUNKS - 1
    tests = []
    for order in range(ORDERS):
        mine = slice(order * each, (order + 1) * each)
        whole = one_order(contest, parts[mine], {name: values[mine] for name, values in arrays.items()})
        tests.append(
            whole.examined(contest, request.bootstrap, generator(request.seed, "improve/forward", order))
        )
    numbers = [_numbers_of(test, contest, request) for test in tests]
    together: Arrays = {name: np.concatenate([one[name] for one in numbers]) for name in numbers[0]}
    together["thresholds"] = np.array([surface_corners(tests, request, bool(together["enough"].all()))])
    together |= {"chosen": chosen, "merit": merit.reshape(ORDERS, each).min(axis=1)}
    together |= {"statement": arrays["statement"][each - 1 :: each], "p_best": together["p"].max(axis=1)}
    tested = _tested(contest, request, variants, together, _any_pairs(contest))
    rules = rules_told(contest, tested.variants, chosen, arrays)
    return replace(tested, rules=rules), found


def _any_pairs(contest: Contest) -> list[Pair | None]:
    """A pair for each fairness metric, only so that the components can be listed."""
    return [contest.claim.pairs[0]] * len(contest.claim.fairness)


def run_challenge(
    contest: Contest, candidates: Sequence[Candidate], request: ImproveRequest, stated: Beforehand
) -> TestedSplits:
    """Section 3.2 on all rows: each rule that was fixed beforehand is tested on everybody, without splits."""
    variants = variants_of(contest, candidates)
    everyone = np.arange(contest.rows)

    def task(part: range, rng: np.random.Generator) -> Arrays:
        (k,) = part
        candidate, name = variants[k]
        rule = fitted(contest if stated.earlier is None else stated.earlier, candidate, None, rng)[name]
        check_rule(rule, contest, everyone)
        check_permissible(rule, contest, everyone)
        old, new = stated.status_quo(contest), rule.outcome_of(contest.inputs)
        numbers = _tested_ends(contest, Compared(everyone, old, new), stated.pairs, request, rng, (old, new))
        statement = np.array([rule.statement[:STATEMENT]], dtype=f"<U{STATEMENT}")
        return {"chosen": np.array([k]), "merit": np.array([np.nan]), "statement": statement, **numbers}

    arrays = _loop(task, len(variants), "improve: testing on all rows", request.key, request)
    return _tested(contest, request, variants, arrays, stated.pairs)


def _tested(
    contest: Contest,
    request: ImproveRequest,
    variants: Sequence[tuple[Candidate, str]],
    arrays: Arrays,
    pairs: Sequence[Pair | None],
) -> TestedSplits:
    few = np.arange(min(contest.rows, 2))
    old = contest.status_quo_of(few)
    claimed = examine(contest, Compared(few, old, old), pairs, 0, generator(0, ""))
    return TestedSplits(
        request=request,
        variants=[name for _, name in variants],
        arrays=arrays,
        block=claimed.block,
        names=[component.name for component in claimed.components],
        accuracies=len(contest.claim.accuracies),
    )


def test_split(
    contest: Contest,
    request: ImproveRequest,
    variant: tuple[Candidate, str],
    k: int,
    rng: np.random.Generator,
) -> Arrays:
    """The numbers of one split, each with a first axis of length one."""
    (candidate, name), (train, test) = variant, request.split(contest, k)
    rule = fitted(contest, candidate, train, rng)[name]
    check_rule(rule, contest, train)
    new, new_score = rule.outcome_of(contest.inputs)
    old, old_score = contest.status_quo(train)
    numbers = _tested_ends(
        contest,
        Compared(test, contest.status_quo_of(test, train), (new[test], new_score[test])),
        status_quo_pairs(contest, contest.status_quo_of(train), train),
        request,
        rng,
        ((old, old_score), (new, new_score)),
    )
    statement = np.array([rule.statement[:STATEMENT]], dtype=f"<U{STATEMENT}")
    return {"statement": statement, **numbers}


def _tested_ends(
    contest: Contest,
    compared: Compared,
    pairs: Sequence[Pair | None],
    request: ImproveRequest,
    rng: np.random.Generator,
    everyone: tuple[Decided, Decided],
) -> Arrays:
    """The test's numbers, and its p-value were everything that is unknown at its best for the claim."""
    tested = examine(contest, compared, pairs, request.bootstrap, rng, everyone)
    numbers = _numbers_of(tested, contest, request)
    best = float(numbers["p"].max())
    if contest.unlabelled is not None and any(map(contest.unlabelled.matters, contest.claim.worths)):
        hoped = examine(contest, compared, pairs, request.bootstrap, rng, everyone, optimistic=True)
        best = max(c.p_value(d) for c, d in hoped.pairs) if enough_people(hoped, contest) else 1.0
    return {**numbers, "p_best": np.array([best])}


def _numbers_of(tested: ClaimTest, contest: Contest, request: ImproveRequest) -> Arrays:
    """What is kept of one test, each with a first axis of length one."""
    enough = enough_people(tested, contest)
    pairs = tested.pairs
    margins = tested.margin_p_values(contest.margin_units)
    return {
        "estimate": tested.levels.estimate[None],
        "support": tested.levels.support[None],
        "p": np.array([[c.p_value(d) if enough else 1.0 for c, d in pairs]]),
        "delta": np.array([[c.delta_method(d) for c, d in pairs]], dtype=np.float64),
        "statistic": np.array([[c.statistic(d) for c, d in pairs]]),
        "error": np.array([[c.standard_error(d) for c, d in pairs]]),
        "losses": np.array([tested.losses]),
        "margins": np.array([np.array(margins) if enough else np.ones_like(margins)]),
        "thresholds": np.array([[] if request.aggregate == "forward" else _corners(tested, request, enough)]),
        "enough": np.array([enough]),
    }


def _corners(tested: ClaimTest, request: ImproveRequest, enough: bool) -> list[tuple[float, float]]:
    """What each kept level rejects: the corner of its rectangle."""
    found = []
    for level in request.levels:
        each = split_level(level, request.aggregate, request.tests)
        corner = split_thresholds(tested.components, each)
        found.append((min(corner.accuracy, LARGEST), corner.fairness) if enough else (-math.inf, -math.inf))
    return found


def enough_people(tested: ClaimTest, contest: Contest) -> bool:
    """Whether every level that is tested rests on enough people."""
    claim, support = contest.claim, tested.levels.support
    first = len(claim.accuracies)
    accuracy = support[:first, :, -1:] if claim.pooled else support[:first, :, :-1]
    return bool((accuracy >= FEWEST).all() and (support[first:, :, :-1] >= FEWEST).all())


def refit_rule(
    contest: Contest,
    candidates: Sequence[Candidate],
    request: ImproveRequest,
    stated: Beforehand | None,
    best: int,
) -> tuple[Rule, dict[str, Any], Searched | None]:
    """The selection rule applied to all data (Section 3.1), or the fixed rule `best`, and whose decision changes."""
    everyone = np.arange(contest.rows)
    found = None
    if stated is None:
        found = search(contest, candidates, [(everyone, None)], request)
        best = 0 if found is None else found.best(0)
    candidate, name = variants_of(contest, candidates)[best]
    fitted_on = contest if stated is None or stated.earlier is None else stated.earlier
    with threadpool_limits(1):
        rule = fitted(fitted_on, candidate, None, generator(request.seed, "improve/refit"))[name]
    decision, _ = rule.outcome_of(contest.inputs)
    if isinstance(candidate, FixedRule):
        rule = candidate.taken_away(rule.threshold)
    old, _ = contest.status_quo(everyone) if stated is None else stated.status_quo(contest)
    return rule, _told(contest, rule, old, decision), found


def _told(contest: Contest, rule: Rule, old: Floats, new: Floats) -> dict[str, Any]:
    """Which rule it is and whose decision changes; no decision does where the claim is about scores alone."""
    told = {"candidate": rule.name, "threshold": rule.threshold, "proved": rule.statement}
    if not contest.decides:
        return {**told, "threshold": None, "changes": [], "decides": False}
    changes = [_changed(contest, code, old, new) for code in range(len(contest.names))]
    return {**told, "changes": changes}


def _changed(contest: Contest, code: int, old: Floats, new: Floats) -> dict[str, Any]:
    """Whose decision would change in one group."""
    inside = contest.group == code
    return {
        "group": contest.names[code],
        "n": int(inside.sum()) if contest.person is None else int(np.unique(contest.person[inside]).size),
        "gain_decision": int(np.count_nonzero(inside & (old == 0) & (new == 1))),
        "lose_decision": int(np.count_nonzero(inside & (old == 1) & (new == 0))),
        "selected_status_quo": int(old[inside].sum()),
        "selected_alternative": int(new[inside].sum()),
    }


def search(
    contest: Contest,
    candidates: Sequence[Candidate],
    parts: Sequence[tuple[Index, Index | None]],
    request: ImproveRequest,
) -> Searched | None:
    """Every variant in every training part, out of fold and on the rows kept for testing; None for a single one."""
    widths = [len(candidate.variants(contest)) for candidate in candidates]
    if sum(widths) == 1 and contest.constraints.permissible is None and contest.strata is None:
        return None

    def task(part: range, rng: np.random.Generator) -> Arrays:
        (i,) = part
        half, which = divmod(i, len(candidates))
        train, test = parts[half]
        found = judged_out_of_fold(contest, candidates[which], train, test, rng)
        room = [(0, max(widths) - widths[which])]
        return {key: np.pad(v, room + [(0, 0)] * (v.ndim - 1))[None] for key, v in found.items()}

    key = f"{request.key}|{[train.size for train, _ in parts]}"
    name = "improve: choosing among candidates in each training part"
    arrays = _loop(task, len(parts) * len(candidates), name, key, request)
    kept = {
        name: np.array(
            [
                np.concatenate([row[:width] for row, width in zip(half, widths, strict=True)])
                for half in values.reshape(len(parts), len(candidates), *values.shape[1:])
            ]
        )
        for name, values in arrays.items()
    }
    names = [name for _, name in variants_of(contest, candidates)]
    sure = np.array([request.sure_in(train.size, contest.rows) for train, _ in parts])
    return Searched(kept, names, sure, settings_of(contest, candidates))


def _loop(task: Task, steps: int, name: str, key: str, request: ImproveRequest) -> Arrays:
    """One batch per step. Models run on one thread each: parallel work is over steps, and spinning threads of small
    fits cost more than they bring."""
    with threadpool_limits(1):
        return map_batches(
            task,
            steps,
            name=name,
            seed=request.seed,
            batch_size=1,
            key=key,
            jobs=request.jobs,
            progress=request.progress,
        )


def gaps(contest: Contest, estimate: NDArray[np.float64], m: int) -> tuple[float, float]:
    """Gap, or impact ratio, of the status quo and of the alternative in the claim's metric m in one split."""
    old, new = gap_levels(contest, estimate)[:, m - len(contest.claim.accuracies)]
    if contest.claim.scale == "ratio":
        return math.exp(-old), math.exp(-new)
    return float(old), float(new)
