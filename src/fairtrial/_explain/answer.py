"""From the question to the answer of explain: rows, coalitions, both stages, and the result they make."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import by_attributes
from fairtrial._errors import FairtrialWarning, Fault, InputError, check_choice
from fairtrial._explain.allocation import check_allocation, plan_coalitions
from fairtrial._explain.coalition_outputs import coalition_outputs
from fairtrial._explain.estimate_rows import FEW_VALUES, estimate_rows, panel_rows, pareto_rows, votes
from fairtrial._explain.explained_rows import ExplainedRows, read_explained_rows, with_reference_last
from fairtrial._explain.explanation import Explanation
from fairtrial._explain.first_stage import audited_groups, first_stage
from fairtrial._explain.metric import check_metric
from fairtrial._explain.readiness import is_ready
from fairtrial._explain.result import ALLOCATION_NAMES, ExplainResult
from fairtrial._explain.second_stage import counted_strata, second_stage
from fairtrial._explain.two_stage_game import TwoStageGame, make_game
from fairtrial._explain.verdict_and_notes import another_system, drivers_text, notes, verdict
from fairtrial._explain.wanted import WHO, Wanted
from fairtrial._results.column import Verdict, defined_or, undefined

# The share of rows evaluated when models are fitted here.
TEST_SHARE = 0.3
# Scores this near are the same.
SAME_SCORE = 0.01
# Rates per coalition are listed up to this many coalitions.
LISTED_COALITIONS = 64


def answer(audit: Audit, wanted: Wanted) -> ExplainResult:
    """Evaluate the coalitions, solve both stages, and say what they show."""
    if wanted.coalitions is None:
        asked: Any = "marginal" if wanted.model is None or is_ready(wanted.model) else "retrain"
        wanted = replace(wanted, coalitions=asked)
    _check(wanted)
    if wanted.from_model and isinstance(wanted.test, str | float | int | None):  # nothing is given row by row
        audit = audit.sampled(wanted.seed)
    explanation = _solve(audit, wanted)
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
    label = wanted.metric.label
    return ExplainResult(
        question=f"Which features carry the disparity in {label} by {explanation.by_text}?",
        null=f"Every group has the same {label}.",
        verdict=Verdict(code, f"{code}: {finding}", ({},)),  # the largest gap of all
        estimates=tuple(rows),
        details=details,
        notes=(*told, *notes(explanation, details)),
        provenance=_provenance(audit, explanation),
        objects=_objects(explanation),
    )


def _check(wanted: Wanted) -> None:
    """What can be refused before any data are read."""
    metric = wanted.metric
    check_metric(metric, wanted.scores)
    if wanted.from_model:
        check_choice(WHO, "coalitions", wanted.coalitions, ["retrain", "marginal"])
    if wanted.scores and wanted.baseline == "prior":
        required = f"must be a number: no coin has such a {metric.label}"
        raise InputError(WHO, Fault("baseline", required, subject=f"'baseline' of {metric.name!r}"))
    check_allocation(wanted.allocation)


def _read(audit: Audit, wanted: Wanted) -> ExplainedRows:
    """The rows, with a part of them set aside where models are fitted here."""
    if wanted.test is None and (wanted.imitates or wanted.learns_the_outcome):
        wanted = replace(wanted, test=TEST_SHARE)
    explained = read_explained_rows(audit, wanted)
    if not wanted.from_model and not audit.source.ordered:
        subject = "decisions given as a function or a matrix"
        required, cure = "need rows in a fixed order", "collect the data first"
        raise InputError(WHO, Fault("coalitions", required, cure=cure, subject=subject))
    return with_reference_last(explained, wanted.reference)


def _solve(audit: Audit, wanted: Wanted) -> Explanation:
    """Both stages on the decisions of every coalition."""
    explained = _read(audit, wanted)
    plan = plan_coalitions(wanted.allocation, len(explained.players), wanted.budget, wanted.seed)
    game = make_game(wanted, explained, plan, coalition_outputs(wanted, audit, explained, plan.masks))
    by_text = ", ".join(by_attributes(WHO, audit, wanted.by))
    first = first_stage(game, wanted.interval, audited_groups(audit, wanted, explained, game.pairs))
    return Explanation(
        wanted, by_text, explained, game, first, second_stage(game), _agreement(wanted, explained, game)
    )


def _provenance(audit: Audit, explanation: Explanation) -> dict[str, Any]:
    """The data and the arguments; decisions and marks of rows are data and are not recorded."""
    explained, wanted = explanation.explained, explanation.wanted
    by_name = wanted.model is None or isinstance(wanted.model, str)
    told = {
        "metric": wanted.metric.to_dict(),
        "model": wanted.model if by_name else type(wanted.model).__name__,
        "features": {player.name: list(player.columns) for player in explained.players},
        "coalitions": wanted.kind,
        "sensitive": explained.sensitive,
    }
    if not isinstance(wanted.test, str | float | int | None):
        told["test"] = "given"
    return audit.provenance(explained.rows, seed=wanted.seed, rows=int(explained.test.size), arguments=told)


def _objects(explanation: Explanation) -> dict[str, Any]:
    """What a comparison with another explanation of this session needs."""
    return {
        "found": explanation.second.found,
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
        "coalitions": explanation.wanted.kind,
        "meaning": explanation.wanted.meaning,
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


def _agreement(wanted: Wanted, explained: ExplainedRows, game: TwoStageGame) -> float | None:
    """Share of the rows evaluated whose audited decision (or score, to .01) is the explained system's."""
    audited = explained.rows.roles.get("score" if wanted.scores else "decision")
    if audited is None:
        return None
    away = np.abs(audited[explained.test] - game.scores_or_decisions)
    return float((away <= (SAME_SCORE if wanted.scores else 0.0)).mean())
