"""Forward cross-fitting: rules are learned on earlier chunks of the rows and tested on later ones.

The rows are dealt into five chunks, balanced by group only: a split that is balanced by outcome tells the past the
outcome's rate in the future. Rules, thresholds and the direction of the status quo's gap that test chunk k come from
chunks 1 to k−1 alone, so what each chunk adds to T − θ is a martingale difference: variances add up whatever the
learner is, and z = T/se of all four tested chunks together is valid for one order. Folds that test each other have no
such rule: a rule chosen by noise makes them agree, and their variance is up to twice the ordinary one (the board has
a size of .087).

The z of each part is averaged over three orders. Jointly normal, that is conservative; in general it is measured
(the board's sizes are below .05), not proved: the first order's own p-value stands beside it. Accuracy is tested
under Dirichlet weights with one adverse row, as everywhere, so rare losses never rest on a z of T/se; so is a gap
behind which fewer than 60 people of a group stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._errors import Note
from fairtrial._improve.arguments import Fixed
from fairtrial._improve.candidates import FixedColumn, FixedRule
from fairtrial._improve.claim_tests import ClaimTest, examine, gap_levels, levels_of, status_quo_pairs
from fairtrial._improve.combining import ClaimPart, Compared, combined
from fairtrial._improve.components import Pair
from fairtrial._improve.constraints import check_rule
from fairtrial._improve.contest import Candidate, Contest, Decided
from fairtrial._improve.request import CHUNKS, ORDERS, ImproveRequest
from fairtrial._improve.rules import Floats, Index, Rule
from fairtrial._improve.search import Searched, fitted
from fairtrial._improve.worth import Area
from fairtrial._metrics.groups import Group
from fairtrial._work import Arrays, generator

Integers = NDArray[np.int64]

# The first chunk must have this many rows for every feature, and as many people of each group and outcome
ROWS_PER_FEATURE, FEWEST_TO_LEARN = 15, 10
STATEMENT = 300
LARGEST_CHANGE = 10.0  # the surface ends here
STEPS = 40  # halvings in which an edge of the surface is found


def dealt(group: Integers, key: Floats | Integers, chunks: int) -> Integers:
    """The chunk of each row: each group by its key, dealt in turn, the next going on where the one before stopped."""
    found, next_chunk = np.empty(group.size, dtype=np.int64), 0
    for code in range(int(group.max()) + 1):
        members = np.flatnonzero(group == code)
        order = members[np.argsort(key[members], kind="stable")]
        found[order] = (next_chunk + np.arange(order.size)) % chunks
        next_chunk = (next_chunk + order.size) % chunks
    return found


def chunks_of(contest: Contest, seed: int, order: int) -> Integers:
    """The chunk of each row in one order; all rows of a person are in one chunk."""
    rng = generator(seed, "improve/order", order)
    if contest.person is None:
        return dealt(contest.group, rng.random(contest.rows), CHUNKS)
    _, first = np.unique(contest.person, return_index=True)
    return dealt(contest.group[first], rng.random(first.size), CHUNKS)[contest.person]


def forward_parts(contest: Contest, seed: int) -> list[tuple[Index, Index]]:
    """(past, chunk) of every rule: the tested chunks of the first order, then of the second and the third."""
    found = []
    for order in range(ORDERS):
        chunk = chunks_of(contest, seed, order)
        found += [(np.flatnonzero(chunk < k), np.flatnonzero(chunk == k)) for k in range(1, CHUNKS)]
    return found


def why_not(contest: Contest, candidates: Sequence[Candidate]) -> str:
    """Why the first chunk cannot teach, or the claim is not one of a mixture of rules; empty where it can and is."""
    if any(isinstance(worth.what, Area) for worth in contest.claim.worths):
        return "An area under the curve is not that of a mixture of rules"
    if all(isinstance(candidate, FixedColumn | FixedRule) for candidate in candidates):
        return ""  # nothing is learned: the past only chooses
    first = contest.rows // CHUNKS
    needed = ROWS_PER_FEATURE * max(1, len(contest.features))
    if first < needed:
        return f"A fifth of the rows is {first:,}, and {len(contest.features)} features need {needed:,}"
    known = contest.outcome_is_binary and contest.unlabelled is None
    classes = np.unique(contest.outcome, return_counts=True)[1] if known else np.array([contest.rows])
    groups = np.bincount(contest.group)
    fewest = int(min(classes.min(), groups[groups > 0].min())) // CHUNKS
    if fewest < FEWEST_TO_LEARN:
        return f"A fifth of the rows holds {fewest} people of a group or an outcome, too few to learn from"
    return ""


def forward_or_half(
    request: ImproveRequest, contest: Contest, candidates: Sequence[Candidate]
) -> ImproveRequest:
    """Forward, unless a fifth of the rows cannot teach, or the claim cannot be that of a mixture of rules."""
    if contest.unlabelled is not None and any(map(contest.unlabelled.matters, contest.claim.worths)):
        return replace(request, aggregate="median")  # each split completes what is unknown for itself
    if why_not(contest, candidates):
        return replace(request, splits=1, aggregate="single")
    return request


def half_alone(
    asked: ImproveRequest, contest: Contest, candidates: Sequence[Candidate], stated: object
) -> list[Note]:
    """Why rules were not learned on earlier rows and tested on later ones."""
    if (
        asked.aggregate != "forward"
        or stated is not None
        or forward_or_half(asked, contest, candidates).splits is None
    ):
        return []
    half = "rules were learned on one random half of the rows and tested on the other"
    return [Note("half-alone", f"{why_not(contest, candidates)}: {half}.")]


def decided_forward(
    contest: Contest,
    variant: tuple[Candidate, str],
    part: tuple[Index, Index],
    width: int,
    rng: np.random.Generator,
) -> Arrays:
    """What one rule, learned on the past, decides in its chunk, and the status quo there; rows up to `width`."""
    (candidate, name), (past, chunk) = variant, part
    rule = fitted(contest, candidate, past, rng)[name]
    check_rule(rule, contest, past)
    new, new_score = rule.outcome_of(contest.inputs.part(chunk))
    old, old_score = contest.status_quo_of(chunk, past)
    pairs = status_quo_pairs(contest, contest.status_quo_of(past), past)
    levels = levels_of(contest, Compared(chunk, (old, old_score), (new, new_score)), pairs)
    return {
        "old": _padded(old, width),
        "old_score": _padded(old_score, width),
        "new": _padded(new, width),
        "new_score": _padded(new_score, width),
        "pairs": np.array([pairs], dtype=np.int64),
        "rule_gaps": gap_levels(contest, levels.estimate)[None],
        "fewest": np.array([levels.support[len(contest.claim.accuracies) :, :, :-1].min()]),
        "statement": np.array([rule.statement[:STATEMENT]], dtype=f"<U{STATEMENT}"),
    }


def _padded(values: Floats | None, width: int) -> Floats:
    row = np.full((1, width), np.nan)
    if values is not None:
        row[0, : values.size] = values
    return row


@dataclass(frozen=True, slots=True, eq=False)
class OneOrder:
    """The tested rows of one order, with both rules' decisions of them and the direction each chunk's past found."""

    compared: Compared
    first: list[Pair]
    everyone: tuple[Decided, Decided]

    def examined(self, contest: Contest, draws: int, rng: np.random.Generator) -> ClaimTest:
        """Every part of the claim on all tested rows together."""
        return examine(contest, self.compared, self.first, draws, rng, self.everyone)


def one_order(contest: Contest, parts: Sequence[tuple[Index, Index]], arrays: Arrays) -> OneOrder:
    """The chunks of one order put together; `arrays` are those of its rules."""
    decided = {name: np.full(contest.rows, np.nan) for name in ("old", "old_score", "new", "new_score")}
    turned = np.zeros((arrays["pairs"].shape[1], contest.rows))
    for k, (_, chunk) in enumerate(parts):
        for name, values in decided.items():
            values[chunk] = arrays[name][k, : chunk.size]
        for m, (above, below) in enumerate(arrays["pairs"][k]):
            turned[m, chunk] = 1.0 * (contest.group[chunk] == above) - (contest.group[chunk] == below)
    index = np.sort(np.concatenate([chunk for _, chunk in parts]))
    both = [_whole(contest, decided, parts, index, rule) for rule in ("old", "new")]
    (old, new), everyone = ([pair[i] for pair in both] for i in (0, 1))
    first = [(int(a), int(b)) for a, b in arrays["pairs"][0]]
    return OneOrder(Compared(index, old, new, turned[:, index]), first, (everyone[0], everyone[1]))


def _whole(
    contest: Contest,
    decided: dict[str, Floats],
    parts: Sequence[tuple[Index, Index]],
    index: Index,
    rule: str,
) -> tuple[Decided, Decided]:
    """One rule's decisions and scores of the tested rows, and of all: the first chunk's are the status quo's."""
    scored = np.isfinite(decided[f"{rule}_score"][index]).all()
    tested = (decided[rule][index], decided[f"{rule}_score"][index] if scored else None)
    whole, score = (values.copy() for values in (decided[rule], decided[f"{rule}_score"]))
    past = parts[0][0]
    before, before_score = contest.status_quo_of(past)
    whole[past] = before
    if not scored or before_score is None:
        return tested, (whole, None)
    score[past] = before_score
    return tested, (whole, score)


def surface_corners(
    tests: Sequence[ClaimTest], request: ImproveRequest, enough: bool
) -> list[tuple[float, float]]:
    """What the orders together reject at each kept level: the corner of a rectangle."""
    found = []
    for level in request.levels:
        edges = {"accuracy": LARGEST_CHANGE, "fairness": np.inf}
        for parts in zip(*(test.components for test in tests), strict=True):
            edges[parts[0].part] = min(edges[parts[0].part], largest_together(parts, level))
        found.append((edges["accuracy"], edges["fairness"]) if enough else (-np.inf, -np.inf))
    return found


def largest_together(parts: Sequence[ClaimPart], level: float) -> float:
    """The Δ below which the mean z over the orders rejects: it lies between those of the orders."""
    each = [part.largest_delta(level) for part in parts]
    low, high = min(each), min(max(each), LARGEST_CHANGE)
    if not np.isfinite(low) or high <= low:
        return low
    for _ in range(STEPS):
        middle = (low + high) / 2
        p = np.array([[part.p_value(middle)] for part in parts])
        low, high = (middle, high) if combined(p, "forward") < level else (low, middle)
    return low


def rules_told(
    contest: Contest, names: Sequence[str], chosen: Integers, arrays: Arrays
) -> list[dict[str, Any]]:
    """Each rule that was learned, with the gaps of its own chunk: what is tested is the mixture of them."""
    ratio, gaps = contest.claim.scale == "ratio", np.asarray(arrays["rule_gaps"], dtype=np.float64)
    told = []
    for k, v in enumerate(chosen):
        old, new = (np.exp(-gaps[k]) if ratio else gaps[k])[:, 0]
        told.append(
            {
                "order": k // (CHUNKS - 1) + 1,
                "chunk": k % (CHUNKS - 1) + 2,
                "candidate": names[int(v)],
                "n": int(arrays["fewest"][k]),
                "gap_status_quo": float(old) if np.isfinite(old) else None,
                "gap_alternative": float(new) if np.isfinite(new) else None,
            }
        )
    return told


def best_of(found: Searched | None, parts: int) -> tuple[Integers, Floats]:
    """Which variant each past chooses, and its merit there."""
    if found is None:
        return np.zeros(parts, dtype=np.int64), np.full(parts, np.nan)
    best = np.array([found.best(k) for k in range(parts)], dtype=np.int64)
    return best, np.asarray(found.arrays["merit"][np.arange(parts), best], dtype=np.float64)


def confirming(
    asked: ImproveRequest, contest: Contest, groups: Sequence[Group], rule: Rule, stated: object
) -> ImproveRequest | None:
    """The same claim of the rule alone, to be tested on other people; nothing for rules that were fixed beforehand."""
    if stated is not None or asked.gap_variant is not None:
        return None
    everyone = np.arange(contest.rows)
    pairs = status_quo_pairs(contest, contest.status_quo_of(everyone), everyone)
    shown = 1 if len(groups) == 2 else 2  # of two groups the higher one says it all
    sign = [groups[code].to_dict() for pair in pairs for code in pair[:shown]]
    return replace(asked, candidates=Fixed(rule, sign=sign), splits=None, progress=None, key="")
