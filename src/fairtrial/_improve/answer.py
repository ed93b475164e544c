"""From the question to the answer of improve: prepare, test every split, refit after a rejection."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._errors import Note
from fairtrial._improve.candidates import identity
from fairtrial._improve.claim_tests import MARGINS
from fairtrial._improve.combining import (
    ASSUMES,
    Corner,
    combine_p_values,
    combined,
    splits_against_manipulation,
    staircase,
)
from fairtrial._improve.contest import Contest
from fairtrial._improve.details import card_of, estimates_of, is_rate, log_of, seconds_of
from fairtrial._improve.forward import confirming, forward_or_half, half_alone
from fairtrial._improve.preparation import Prepared, prepare
from fairtrial._improve.request import ImproveRequest
from fairtrial._improve.result import ImproveResult
from fairtrial._improve.sentences import null_of, question_of, verdict_of
from fairtrial._improve.splits import (
    FEWEST,
    TestedSplits,
    gaps,
    refit_rule,
    run_challenge,
    run_forward,
    run_splits,
)
from fairtrial._improve.terms import Beforehand
from fairtrial._improve.worth import Area, Worth
from fairtrial._results.text import counted
from fairtrial._work.kept_files import sameness

Answer = TypeVar("Answer", bound=ImproveResult)

ADVERSE = (
    "Accuracy is tested with one more row, the worst change that a decision could have brought anybody in these data; "
    "against a larger loss, which no row shows and nobody stated, there is no protection."
)
UNSTATED = (
    "The direction of the status quo's gap was not stated beforehand, so the p-value of the gap is the smallest of {} "
    "directions times their number."
)
OTHER_WAY = (
    "The {} under the status quo was stated, or found in the earlier sample, to be higher for {} than for {}; in these "
    "rows it is lower, so that no smaller gap in that direction can be shown."
)
SURFACE = (
    "The largest fairness gain at an accuracy loss fixed in advance is valid at the level asked for; a point picked "
    "freely off the surface only at twice that level."
)


REPEATED = (
    "A person may have several rows: halves and draws are of persons, each with the sums of their rows, and n counts "
    "persons. Decisions that change are rows."
)

# How many standard errors the adverse row must cost before a claim is said to rest on few losses.
FEW_LOSSES_COST = 0.25


def answer(audit: Audit, asked: ImproveRequest, returns: type[Answer]) -> Answer:
    """Every split's test of the best candidate, or the fixed rules' on all rows, and what follows from all of them."""
    ready = prepare(audit.sampled(asked.seed), asked)
    contest, candidates = ready.contest, ready.candidates
    request = _decided(asked, ready)
    found = None
    if ready.stated is None:
        run = run_forward if request.aggregate == "forward" else run_splits
        tested, found = run(contest, candidates, request)
    else:
        tested = run_challenge(contest, candidates, request, ready.stated)
    best = int(tested.arrays["chosen"][int(np.argmin(tested.p_values))])
    rule, refitted, on_all = refit_rule(contest, candidates, request, ready.stated, best)
    given = ready.terms.independent
    details = {**details_of(tested, contest, refitted), **log_of(contest, tested, found, on_all, given)}
    again = confirming(asked, contest, ready.terms.groups, rule, ready.stated)
    result = returns(
        question=question_of(details),
        null=null_of(details),
        verdict=verdict_of(details),
        estimates=estimates_of(tested, contest),
        details=details,
        notes=(
            *ready.audit.notes(),
            *ready.notes,
            *half_alone(asked, ready.contest, ready.candidates, ready.stated),
            *_notes(tested, contest, ready.stated),
        ),
        provenance=audit.provenance(ready.rows, arguments=_resolved(details, ready), seed=request.seed),
        objects={
            "rule": rule,
            "seconds": seconds_of(found),
            "confirming": None if again is None else partial(_again, again, returns),
        },
    )
    rule.card = card_of(result, ready.terms, contest)
    return result


def _again(asked: ImproveRequest, returns: type[Answer], audit: Audit, seed: int) -> Answer:
    """The same question of other people."""
    return answer(audit, replace(asked, seed=seed), returns)


def _decided(request: ImproveRequest, ready: Prepared) -> ImproveRequest:
    """How many tests there are and how they become one: one split is its own p-value."""
    variant = None if request.gap_variant is None else request.gap_variant.name
    what = replace(request, seed=0, jobs=None, progress=None, gap_variant=None)
    tried = [identity(candidate) for candidate in ready.candidates]
    request = replace(request, key=sameness((ready.rows.digest, what, tried, variant)))
    if ready.stated is not None:
        count = sum(len(candidate.variants(ready.contest)) for candidate in ready.candidates)
        return replace(request, splits=count, aggregate="all rows")
    if request.aggregate == "forward":
        return forward_or_half(request, ready.contest, ready.candidates)
    if request.aggregate == "single" or request.tests == 1:
        return replace(request, splits=1, aggregate="single")
    return request


def _resolved(details: Mapping[str, Any], ready: Prepared) -> dict[str, Any]:
    """What the arguments came to: the claim with its groups and numbers, every rule that was tried."""
    told = {"method", "margin_kind", "reduction"}  # which the arguments say themselves
    claim = {name: value for name, value in details["claim"].items() if name not in told}
    return {
        "metric": claim.pop("fairness"),
        "keep": claim.pop("accuracy"),
        **claim,
        "candidates": details["candidates"],
        "splits": None if details["aggregate"] in ("all rows", "forward") else len(details["splits"]),
        "constraints": ready.terms.constraints.to_dict(),
    }


def _notes(tested: TestedSplits, contest: Contest, stated: Beforehand | None) -> list[Note]:
    """How the p-value was made, and every weakening."""
    request, claim = tested.request, contest.claim
    notes = [Note("aggregation", f"The p-value is {ASSUMES[request.aggregate]}.")]
    if request.aggregate in ("median", "running-median"):
        notes.append(_splits_note(request))
    if stated is not None and None in stated.pairs and len(claim.pairs) > 1 and claim.gap_variant is None:
        notes.append(Note("direction-not-stated", UNSTATED.format(len(claim.pairs))))
    notes += _other_way_round(tested, contest, stated)
    notes += _few_people(tested)
    if contest.person is not None:
        notes.append(Note("repeated-people", REPEATED))
    for worth in claim.accuracies:
        if getattr(worth.what, "hurts", "below") is None:
            notes.append(Note("higher-is-better", f"A higher {worth.label} is taken as better."))
    own = claim.gap_variant
    notes.append(Note("adverse-row", ADVERSE) if own is None else Note("paper-fairness", own.note))
    return [*notes, Note("surface", SURFACE)]


def _other_way_round(tested: TestedSplits, contest: Contest, stated: Beforehand | None) -> list[Note]:
    """Gaps of the status quo that the rows show in the direction opposite to the one stated."""
    notes = []
    for m, pair in enumerate([] if stated is None else stated.pairs):
        levels = tested.arrays["estimate"][0, len(contest.claim.accuracies) + m, 0]
        if pair is not None and contest.claim.gap_variant is None and levels[pair[0]] < levels[pair[1]]:
            above, below = (contest.names[code] for code in pair)
            text = OTHER_WAY.format(contest.claim.fairness[m].label, above, below)
            notes.append(Note("other-direction", text))
    return notes


def _few_people(tested: TestedSplits) -> list[Note]:
    few = int(np.count_nonzero(tested.arrays["enough"] == 0))
    splits = tested.request.aggregate in ("median", "running-median", "single")
    what = counted(few, "split" if splits else "test")
    cannot = "it cannot" if few == 1 else "they cannot"
    text = f"In {what} a level rests on fewer than {FEWEST} people: {cannot} reject."
    return [Note("few-people", text)] if few else []


def _splits_note(request: ImproveRequest) -> Note:
    needed = splits_against_manipulation(request.alpha)
    verb = "at least" if request.tests >= needed else "fewer than"
    return Note(
        "splits",
        f"{counted(request.tests, 'split')}, {verb} the {needed} from which re-running cannot pay at this level "
        "(Proposition 1, independent p-values).",
    )


def details_of(tested: TestedSplits, contest: Contest, refitted: dict[str, Any]) -> dict[str, Any]:
    """The claim, every split, levels, gaps and surface, and the refitted rule."""
    request, levels = tested.request, _levels(tested, contest)
    forward = {
        "learned_forward": {
            "p_first": tested.p_values[0],
            "count": len(tested.rules),
            "rules": tested.rules,
        }
    }
    return {
        **(forward if tested.rules else {}),
        "p_value": tested.p_value,
        "p_value_delta_method": tested.together("delta"),
        "alpha": round(request.alpha, 12),
        "aggregate": request.aggregate,
        "aggregate_assumes": ASSUMES[request.aggregate],
        "all_rows": request.aggregate == "all rows",
        "splits_against_manipulation": splits_against_manipulation(request.alpha),
        "rows": contest.rows,
        "unlabelled": _unlabelled(tested, contest),
        "candidates": tested.variants,
        "claim": _claim(contest),
        "few_losses": _few_losses(tested),
        "margins": _margins(tested, contest),
        "splits": [_split(tested, k) for k in range(request.tests)],
        "levels": levels,
        "gaps": _gaps(tested, contest),
        "surface": _surface(tested),
        "refit": {**refitted, "shown": tested.rejected, "expected_levels": _expected(levels)},
    }


def _claim(contest: Contest) -> dict[str, Any]:
    claim = contest.claim
    return {
        **_accuracy_claim(contest),
        "fairness": [worth.name for worth in claim.fairness],
        "fairness_labels": [worth.label for worth in claim.fairness],
        "fairness_is_rate": is_rate(contest, claim.fairness[0]),
        "groups": list(contest.names),
        "margin_kind": claim.kind,
        "reduction": claim.fairness_delta,
        "scale": claim.scale,
        "one_sided": claim.one_sided,
        "method": "smooth" if claim.gap_variant is None else claim.gap_variant.name,
    }


def _accuracy_claim(contest: Contest) -> dict[str, Any]:
    claim = contest.claim
    weighted = "everyone" if claim.pooled else "groups"
    return {
        "accuracy": [worth.name for worth in claim.accuracies],
        "accuracy_labels": [worth.label for worth in claim.accuracies],
        "better_lower": [worth.label for worth in claim.accuracies if worth.sign < 0],
        "rates": [worth.label for worth in claim.accuracies if is_rate(contest, worth)],
        "margins": [(0.0 - np.array(deltas)).tolist() for deltas in claim.accuracy_delta],
        "weighted": None if claim.weights is None else weighted,
    }


def _unlabelled(tested: TestedSplits, contest: Contest) -> dict[str, Any] | None:
    """Whose outcome is unknown, which parts of the claim need it, and the p-value were it at its best."""
    found = contest.unlabelled
    if found is None:
        return None
    best = combine_p_values([float(p) for p in tested.arrays["p_best"]], tested.request.aggregate)
    odds = found.assumed.odds
    return {
        "unknown": found.unknown,
        "assumed": "bounds" if math.isinf(odds) else "odds",
        "odds": None if math.isinf(odds) else odds,
        "alike": ["group", *(["decision"] if found.assumed.by_decision else []), *found.assumed.alike],
        "needed_by": list(
            dict.fromkeys(worth.label for worth in contest.claim.worths if found.matters(worth))
        ),
        "p_value_at_best": best,
    }


def _few_losses(tested: TestedSplits) -> int | None:
    """On how many losses the accuracy rests, where normal theory would show the claim and the adverse row does not.

    Only where the adverse row costs a good part of a standard error: at the edge of the level the two also disagree
    about hundreds of losses, and by the chance of the draws.
    """
    from scipy.stats import norm

    accuracy = [i for i, b in enumerate(tested.block) if b < tested.accuracies]
    p, plain = tested.arrays["p"], tested.arrays["delta"]
    naive = np.array(p, dtype=np.float64)
    naive[:, accuracy] = np.where(np.isnan(plain[:, accuracy]), 1.0, plain[:, accuracy])
    would = combined(naive, tested.request.aggregate)
    if tested.rejected or would >= tested.request.alpha:
        return None
    splits, weakest = np.arange(len(p)), p[:, accuracy].argmax(axis=1)
    cost = norm.isf(naive[:, accuracy][splits, weakest]) - norm.isf(p[:, accuracy][splits, weakest])
    if np.median(np.nan_to_num(cost)) < FEW_LOSSES_COST:
        return None
    losses = tested.arrays["losses"][splits, weakest]
    return int(np.sort(losses)[(len(losses) - 1) // 2])


def _margins(tested: TestedSplits, contest: Contest) -> list[dict[str, Any]]:
    """The p-value had another margin been conceded, in the units of the first accuracy."""
    unit = contest.margin_units[0]
    return [
        {
            "margin": margin * unit,
            "p_value": combined(
                np.asarray(tested.arrays["margins"][:, i], dtype=np.float64), tested.request.aggregate
            ),
        }
        for i, margin in enumerate(MARGINS)
    ]


def _split(tested: TestedSplits, k: int) -> dict[str, Any]:
    arrays = tested.arrays
    components = [
        {"name": name, "p_value": float(p), "statistic": _finite(t)}
        for name, p, t in zip(tested.names, arrays["p"][k], arrays["statistic"][k], strict=True)
    ]
    return {
        "split": k + 1,
        "candidate": tested.chosen(k),
        "merit": _finite(float(arrays["merit"][k])),
        "p_value": tested.p_values[k],
        "enough_people": bool(arrays["enough"][k]),
        "proved": str(arrays["statement"][k]),
        "components": components,
    }


def _levels(tested: TestedSplits, contest: Contest) -> list[dict[str, Any]]:
    """Mean level over the splits of each metric, rule and group, and each split's own."""
    rows = []
    for m, worth in enumerate(contest.claim.worths):
        for g, name in _whose(contest, m, worth):
            for rule, label in enumerate(("status quo", "alternative")):
                values = worth.sign * np.asarray(tested.arrays["estimate"][:, m, rule, g], dtype=np.float64)
                rows.append(
                    {
                        "metric": worth.label,
                        "use": "accuracy" if m < len(contest.claim.accuracies) else "fairness",
                        "rule": label,
                        "group": name,
                        "mean": _finite(float(np.mean(values))),
                        "splits": [_finite(float(v)) for v in values],
                    }
                )
    return rows


def _whose(contest: Contest, m: int, worth: Worth) -> list[tuple[int, str]]:
    """The groups whose levels mean something, and everybody where the claim is about them."""
    groups = [] if isinstance(worth.what, Area) else list(enumerate(contest.names))
    everyone = contest.claim.pooled and m < len(contest.claim.accuracies)
    return [*groups, *([(-1, "everyone")] if everyone else [])]


def _expected(levels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the refitted rule can be expected to reach: mean levels on tested rows, where nothing was fitted."""
    means = {(row["use"], row["metric"], row["group"], row["rule"]): row["mean"] for row in levels}
    return [
        {
            "use": key[0],
            "metric": key[1],
            "group": key[2],
            "status_quo": means[*key, "status quo"],
            "alternative": means[*key, "alternative"],
        }
        for key in dict.fromkeys(key[:3] for key in means)
    ]


def _gaps(tested: TestedSplits, contest: Contest) -> list[dict[str, Any]]:
    """Gap of both rules in every split, per fairness metric."""
    rows = []
    for m, worth in enumerate(contest.claim.fairness, start=len(contest.claim.accuracies)):
        estimates = np.asarray(tested.arrays["estimate"], dtype=np.float64)
        old, new = zip(*(gaps(contest, estimate, m) for estimate in estimates), strict=True)
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


def _surface(tested: TestedSplits) -> list[dict[str, Any]]:
    """The staircase of every level that is kept."""
    found = []
    for i, level in enumerate(tested.request.levels):
        rectangles = [Corner(float(a), float(f)) for a, f in tested.arrays["thresholds"][:, i]]
        steps = staircase(rectangles, level, tested.request.aggregate)
        corners = [{"accuracy": c.accuracy, "fairness": c.fairness} for c in steps.corners]
        found.append({"level": level, "corners": corners})
    return found


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
