"""From the question to the answer of explain: rows, coalitions, both stages, and the result they make."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.direction import harmed_side
from fairtrial._audit.groups import by_attributes
from fairtrial._errors import FairtrialWarning, Fault, InputError, Note, check_choice
from fairtrial._explain.coalition_outputs import coalition_outputs
from fairtrial._explain.estimate_rows import (
    FEW_VALUES,
    Explanation,
    estimate_rows,
    panel_rows,
    pareto_rows,
    votes,
)
from fairtrial._explain.explained_rows import ExplainedRows, read_explained_rows, with_target_last
from fairtrial._explain.game import TwoStageGame, check_allocation, make_game, plan_coalitions
from fairtrial._explain.models import check_metric
from fairtrial._explain.request import (
    ALLOCATION_NAMES,
    CARRIES,
    DIFFERS,
    EXPLAINED_GAP,
    GAP,
    TO_GAP,
    WHO,
    ExplainRequest,
    is_ready,
    p_text,
    tested,
)
from fairtrial._explain.result import ExplainResult
from fairtrial._explain.stages import audited_groups, counted_strata, first_stage, second_stage
from fairtrial._explain.verdict_and_notes import another_system, drivers_text, notes, verdict
from fairtrial._inference.multiplicity import holm
from fairtrial._results.column import Verdict, defined_or, scalar, undefined

# The share of rows evaluated when models are fitted here.
TEST_SHARE = 0.3
# Scores this near are the same.
SAME_SCORE = 0.01
# Rates per coalition are listed up to this many coalitions.
LISTED_COALITIONS = 64


def answer_all(
    audit: Audit, asked: str, requests: Sequence[ExplainRequest], result: type[ExplainResult] = ExplainResult
) -> ExplainResult:
    """One result, for a metric or for all metrics of a criterion."""
    sides = {"above": "lower", "below": "higher", None: None}
    parts = []
    for request in requests:
        side = request.better or sides[harmed_side(audit, request.metric)]
        parts.append(answer(audit, replace(request, better=side), result))
    return parts[0] if len(parts) == 1 else judge_together(asked, parts, result)


def answer(
    audit: Audit, request: ExplainRequest, result: type[ExplainResult] = ExplainResult
) -> ExplainResult:
    """Evaluate the coalitions, solve both stages, and say what they show."""
    if request.coalitions is None:
        asked: Any = "marginal" if request.model is None or is_ready(request.model) else "retrain"
        request = replace(request, coalitions=asked)
    _check(request)
    if request.from_model and isinstance(
        request.test, str | float | int | None
    ):  # nothing is given row by row
        audit = audit.sampled(request.seed)
    explanation = _solve(audit, request)
    trained = explanation.explained.train.size > 0
    rows, panel = estimate_rows(explanation), panel_rows(explanation)
    code, finding = verdict(explanation)
    details = _details(explanation) | {
        "finding": finding,
        "panel": panel,
        "votes": votes(explanation, panel),
        "pareto": pareto_rows(explanation),
        "drivers_text": drivers_text(explanation, rows),
    }
    told = [note for note in audit.notes() if not (note.code == "not-fitted-here" and trained)]
    if other := another_system(explanation):
        warnings.warn(f"{WHO}: {other}", FairtrialWarning, stacklevel=5)  # the line that called explain
    label = request.metric.label
    return result(
        question=f"Which features carry the disparity in {label} by {explanation.by_text}?",
        null=f"Every group has the same {label}.",
        verdict=Verdict(code, f"{code}: {finding}", ({},)),  # the largest gap of all
        estimates=tuple(rows),
        details=details,
        notes=(*told, *notes(explanation, details)),
        provenance=_provenance(audit, explanation),
        objects=_objects(explanation),
    )


def _check(request: ExplainRequest) -> None:
    """What can be refused before any data are read."""
    metric = request.metric
    check_metric(metric, request.scores)
    if request.from_model:
        check_choice(WHO, "coalitions", request.coalitions, ["retrain", "marginal"])
    if request.scores and request.baseline == "prior":
        required = f"must be a number: no coin has such a {metric.label}"
        raise InputError(WHO, Fault("baseline", required, subject=f"'baseline' of {metric.name!r}"))
    check_allocation(request.allocation)


def _read(audit: Audit, request: ExplainRequest) -> ExplainedRows:
    """The rows, with a part of them set aside where models are fitted here."""
    if request.test is None and (request.imitates or request.learns_the_outcome):
        request = replace(request, test=TEST_SHARE)
    explained = read_explained_rows(audit, request)
    if not request.from_model and not audit.source.ordered:
        subject = "decisions given as a function or a matrix"
        required, cure = "need rows in a fixed order", "collect the data first"
        raise InputError(WHO, Fault("coalitions", required, cure=cure, subject=subject))
    return with_target_last(explained, request.target)


def _solve(audit: Audit, request: ExplainRequest) -> Explanation:
    """Both stages on the decisions of every coalition."""
    explained = _read(audit, request)
    plan = plan_coalitions(request.allocation, len(explained.players), request.budget, request.seed)
    game = make_game(request, explained, plan, *coalition_outputs(request, audit, explained, plan.masks))
    by_text = ", ".join(by_attributes(WHO, audit, request.by))
    first = first_stage(game, request.gaps, audited_groups(audit, request, explained, game.pairs))
    return Explanation(
        request, by_text, explained, game, first, second_stage(game), _agreement(request, explained, game)
    )


def _provenance(audit: Audit, explanation: Explanation) -> dict[str, Any]:
    """The data and the arguments; decisions and marks of rows are data and are not recorded."""
    explained, request = explanation.explained, explanation.request
    by_name = request.model is None or isinstance(request.model, str)
    told = {
        "metric": request.metric.to_dict(),
        "model": request.model if by_name else type(request.model).__name__,
        "features": {player.name: list(player.columns) for player in explained.players},
        "coalitions": request.kind,
        "sensitive": explained.sensitive,
    }
    if not isinstance(request.test, str | float | int | None):
        told["test"] = "given"
    return audit.provenance(explained.rows, seed=request.seed, rows=int(explained.test.size), arguments=told)


def _objects(explanation: Explanation) -> dict[str, Any]:
    """What a comparison with another explanation of this session needs."""
    return {
        "found": explanation.second.found,
        "background": explanation.second.background,
        "rows": explanation.explained.test,
        "stratum": counted_strata(explanation.game),
        "pairs": explanation.pair_labels,
        "groups": explanation.labels,
    }


# -- details ---------------------------------------------------------------------------------------------------------
def _details(explanation: Explanation) -> dict[str, Any]:
    """What charts and sentences need besides the table."""
    game = explanation.game
    return {
        "metric": explanation.metric.name,
        "label": explanation.metric.label,
        "value_kind": explanation.value_kind,
        "by_text": explanation.by_text,
        "confidence_level": game.level,
        "allocation": explanation.allocation,
        "allocation_label": ALLOCATION_NAMES[explanation.allocation],
        "coalitions": explanation.request.kind,
        "meaning": explanation.request.meaning,
        "sensitive": explanation.explained.sensitive,
        "features": list(explanation.explained.names),
        "baseline": {"kind": game.baseline.kind, "value": game.baseline.value},
        "groups": _group_details(explanation),
        "omnibus": _test_details(explanation.first.judged.omnibus, "a rate is undefined or has no variation"),
        "agreement": explanation.agreement,
        "another_system": explanation.another_system,
        "favourable": explanation.favourable,
        "coalition_count": int(game.masks.size),
        "coalition_rates": _coalition_details(explanation),
        "multi_stage": _multi_stage(explanation),
    }


def _group_details(explanation: Explanation) -> list[dict[str, Any]]:
    first, value = explanation.first.explained, explanation.first.value
    why = "nobody meets the metric's condition"
    return [
        {
            "group": label,
            "place": explanation.explained.groups[g].place,
            "n": int(first.count[g]),
            "rate": defined_or(first.rate[g], why),
            "rate_low": defined_or(first.low[g], why if np.isnan(first.rate[g]) else FEW_VALUES),
            "rate_high": defined_or(first.high[g], why if np.isnan(first.rate[g]) else FEW_VALUES),
            "values": {
                allocation.name: defined_or(value.value[g, v, 0], why)
                for v, allocation in enumerate(explanation.game.allocations)
            },
        }
        for g, label in enumerate(explanation.labels)
    ]


def _test_details(test: Any, why: str) -> dict[str, Any]:
    if test is None:
        return {"statistic": undefined(why), "df": None, "p_value": undefined(why)}
    statistic = defined_or(test.statistic, "the gap's own test decides")
    return {"statistic": statistic, "df": test.df, "p_value": test.p_value}


def _coalition_details(explanation: Explanation) -> list[dict[str, Any]]:
    """Rates per coalition and group, unless there are very many."""
    game, second = explanation.game, explanation.second
    if game.masks.size > LISTED_COALITIONS:
        return []
    singles = np.searchsorted(second.targets.unions, game.singles)
    rows = []
    for m, mask in enumerate(game.masks):
        for g, label in enumerate(explanation.labels):
            known = bool(second.rates.defined[singles[g], m])
            rate = float(second.rates.rate[singles[g], m]) if known else None
            names = list(explanation.explained.names_of(int(mask)))
            n = int(explanation.first.explained.count[g])
            rows.append({"coalition": names, "group": label, "n": n, "rate": rate})
    return rows


def _multi_stage(explanation: Explanation) -> dict[str, Any] | None:
    """Values of the cells of several attributes (Theorem A.1) and the interaction that margins cannot show."""
    if not explanation.game.levels:
        return None
    why, cells = "a cell has nobody who counts", explanation.first.value
    listed = [
        {
            "cell": label,
            "n": int(explanation.first.explained.count[c]),
            "value": defined_or(cells.value[c, 0, 0], why),
            "value_low": defined_or(cells.low[c, 0, 0], why),
            "value_high": defined_or(cells.high[c, 0, 0], why),
        }
        for c, label in enumerate(explanation.labels)
    ]
    return {"cells": listed, "interaction": _test_details(explanation.first.interaction, why)}


def _agreement(request: ExplainRequest, explained: ExplainedRows, game: TwoStageGame) -> float | None:
    """Share of the rows evaluated whose audited decision (or score, to .01) is the explained system's."""
    audited = explained.rows.roles.get("score" if request.scores else "decision")
    if audited is None:
        return None
    away = np.abs(audited[explained.test] - game.scores_or_decisions)
    return float((away <= (SAME_SCORE if request.scores else 0.0)).mean())


# -- A criterion that joins metrics (separation, sufficiency): each is explained, and both are judged at once.
#
# Amri-Jouidel, Kemel and Mussard, Theorems 3.1 and 4.1: the criterion holds exactly when the groups' values
# are equal for every one of its metrics, so it is rejected when one of them is, corrected by Holm over the
# metrics.
def judge_together(
    criterion: str, parts: Sequence[ExplainResult], result: type[ExplainResult] = ExplainResult
) -> ExplainResult:
    """One result about all metrics of the criterion, their tests corrected over all of them."""
    name, first = criterion.replace("_", " "), parts[0]
    labels = " and ".join(part.details["label"] for part in parts)
    level = first.details["confidence_level"]
    rows = [dict(row) for part in parts for row in part.estimates]
    for kind, shown in ((GAP, DIFFERS), (EXPLAINED_GAP, DIFFERS), (TO_GAP, CARRIES)):
        _correct([row for row in rows if row["part"] == kind], 1.0 - level, shown)
    p = _p_of_all(parts)
    return result(
        question=f"Which features carry the disparities in {labels} ({name}) by {first.details['by_text']}?",
        null=f"Every group has the same {labels}.",
        verdict=_joint_verdict(name, labels, p, parts, 1.0 - level),
        estimates=tuple(rows),
        details=_joined_details(criterion, p, parts),
        notes=_joined_notes(parts),
        provenance=_joined_provenance(criterion, parts),
    )


def _correct(rows: list[dict[str, Any]], alpha: float, shown: Any) -> None:
    """Holm over the rows of all metrics; what is undefined counts with p = 1."""
    p = [scalar(row["p_value"]) for row in rows]
    if not p:
        return
    adjusted = holm([1.0 if value is None else value for value in p])
    for row, value, corrected in zip(rows, p, adjusted, strict=True):
        if value is not None:
            row["p_adjusted"] = float(corrected)
            row |= tested(row["p_adjusted"], alpha, shown).cells()


def _p_of_all(parts: Sequence[ExplainResult]) -> float | None:
    known = [part.p_value for part in parts if part.p_value is not None]
    return min(1.0, len(parts) * min(known)) if known else None


def _joint_verdict(
    name: str, labels: str, p: float | None, parts: Sequence[ExplainResult], alpha: float
) -> Verdict:
    """What both together show, then each metric's own finding."""
    own = "; ".join(part.details["finding"] for part in parts)
    unknown = any(part.p_value is None for part in parts)
    if p is None or (unknown and p > alpha):
        return Verdict("undetermined", f"undetermined: {name} cannot be tested; {own}", ({},))
    code = "violated" if p <= alpha else "no violation shown"
    rejected = "rejected" if p <= alpha else "not rejected"
    return Verdict(
        code, f"{code}: {name} (equal {labels}) is {rejected}, {p_text(p)} for both at once; {own}", ({},)
    )


def _joined_details(criterion: str, p: float | None, parts: Sequence[ExplainResult]) -> dict[str, Any]:
    first = parts[0].details
    shared = (
        "by_text",
        "confidence_level",
        "allocation",
        "allocation_label",
        "coalitions",
        "meaning",
        "sensitive",
    )
    more = ("features", "favourable", "agreement", "another_system", "coalition_count", "value_kind")
    why = "it is the smaller of the metrics' p-values times their number"
    return {
        **{key: first[key] for key in (*shared, *more)},
        "criterion": criterion,
        "metric": criterion,
        "label": criterion.replace("_", " "),
        "omnibus": {
            "statistic": undefined(why), "df": None, "p_value": undefined("no metric has a test") if p is None else p,
        },
        "drivers_text": " ".join(part.details["drivers_text"] for part in parts),
        "pareto": [entry for part in parts for entry in part.details["pareto"]],
        "parts": {part.details["metric"]: part.details for part in parts},
    }  # fmt: skip


def _joined_notes(parts: Sequence[ExplainResult]) -> tuple[Note, ...]:
    """Each note once; those that differ are named by their metric."""
    found: list[Note] = []
    for index, part in enumerate(parts):
        for note in part.notes:
            if note in found:
                continue
            alone = index == 0 and all(note in other.notes for other in parts)
            text = note.text if alone else f"{part.details['label'].capitalize()}: {note.text}"
            found.append(Note(note.code, text))
    joined = "Tests of gaps and of features are corrected by Holm over all metrics of the criterion."
    return (Note("criterion", joined), *found)


def _joined_provenance(criterion: str, parts: Sequence[ExplainResult]) -> dict[str, Any]:
    first = parts[0].provenance
    return {**first, "arguments": {**first["arguments"], "metric": criterion}}
