"""From the question to the answer of explain: rows, coalitions, both stages, and the result they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.data.groups import by_attributes
from fairtrial.errors import Fault, InputError
from fairtrial.methods.explain.allocation import check_allocation, plan_coalitions
from fairtrial.methods.explain.baseline import check_baseline
from fairtrial.methods.explain.classifiers import is_fitted
from fairtrial.methods.explain.coalition_outputs import coalition_outputs
from fairtrial.methods.explain.coalition_source import CoalitionSource
from fairtrial.methods.explain.estimate_rows import estimate_rows
from fairtrial.methods.explain.explained_rows import (
    ExplainedRows,
    RowsWanted,
    read_explained_rows,
    with_reference_last,
)
from fairtrial.methods.explain.explanation import Explanation
from fairtrial.methods.explain.first_stage import first_stage
from fairtrial.methods.explain.metric import WHO
from fairtrial.methods.explain.mitigation import pareto_rows
from fairtrial.methods.explain.panel import panel_rows, votes
from fairtrial.methods.explain.result import ALLOCATION_NAMES, ExplainResult
from fairtrial.methods.explain.second_stage import counted_strata, second_stage
from fairtrial.methods.explain.two_stage_game import GameChoices, make_game
from fairtrial.methods.explain.verdict_and_notes import drivers_text, notes, verdict
from fairtrial.metrics.metric import Metric
from fairtrial.results.column import defined_or, undefined

# The share of rows evaluated when models are fitted here.
TEST_SHARE = 0.3
# Rates per coalition are listed up to this many coalitions.
LISTED_COALITIONS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked, besides where the coalitions' decisions come from."""

    by: Any
    features: Any
    sensitive: str | None
    test: Any
    reference: Mapping[str, Any] | None
    allocation: Any
    baseline: str | float
    budget: int | None
    favourable: str | None
    interval: str
    confidence_level: float
    seed: int


def answer(audit: Audit, metric: Metric, wanted: Wanted, source: CoalitionSource) -> ExplainResult:
    """Evaluate the coalitions, solve both stages, and say what they show."""
    check_baseline(wanted.baseline, metric, source.scores)
    check_allocation(wanted.allocation)
    explanation = _solve(audit, metric, wanted, source)
    trained = explanation.explained.train.size > 0
    rows, panel = estimate_rows(explanation), panel_rows(explanation)
    details = _details(explanation) | {
        "panel": panel,
        "votes": votes(explanation, panel),
        "pareto": pareto_rows(explanation),
        "drivers_text": drivers_text(explanation, rows),
    }
    told = [note for note in audit.notes() if not (note.code == "not-fitted-here" and trained)]
    return ExplainResult(
        question=f"Which features carry the disparity in {metric.label} by {explanation.by_text}?",
        null=f"Every group has the same {metric.label}.",
        verdict=verdict(explanation),
        estimates=tuple(rows),
        details=details,
        notes=(*told, *notes(explanation, _agreement(explanation), details["votes"], details["pareto"])),
        provenance=_provenance(audit, explanation, wanted),
        objects=_objects(explanation),
    )


def _read(audit: Audit, metric: Metric, wanted: Wanted, source: CoalitionSource) -> ExplainedRows:
    """The rows, with a part of them set aside where models are fitted here."""
    test = wanted.test
    if test is None and source.from_model and (source.kind == "retrain" or not is_fitted(source.model)):
        test = TEST_SHARE
    asked = RowsWanted(
        by=wanted.by, features=wanted.features, sensitive=wanted.sensitive, test=test, seed=wanted.seed,
        reads_columns=source.from_model, needs_outcome=test is not None or wanted.baseline == "prior",
    )  # fmt: skip
    explained = read_explained_rows(audit, metric, asked)
    if not source.from_model and not audit.source.ordered:
        subject = "decisions given as a function or a matrix"
        required, cure = "need rows in a fixed order", "collect the data first"
        raise InputError(WHO, Fault("coalitions", required, cure=cure, subject=subject))
    return with_reference_last(explained, wanted.reference)


def _solve(audit: Audit, metric: Metric, wanted: Wanted, source: CoalitionSource) -> Explanation:
    """Both stages on the decisions of every coalition."""
    explained = _read(audit, metric, wanted, source)
    plan = plan_coalitions(wanted.allocation, len(explained.players), wanted.budget, wanted.seed)
    outputs = coalition_outputs(source, audit, explained, plan.masks)
    choices = GameChoices(
        wanted.allocation, wanted.baseline, wanted.reference, wanted.confidence_level, source.scores
    )
    game = make_game(metric, explained, plan, outputs, choices)
    return Explanation(
        metric=metric,
        by_text=", ".join(by_attributes(WHO, audit, wanted.by)),
        source=source,
        explained=explained,
        game=game,
        first=first_stage(game, wanted.interval),
        second=second_stage(game),
        favourable=wanted.favourable or ("lower" if metric.hurts == "above" else "higher"),
    )


def _provenance(audit: Audit, explanation: Explanation, wanted: Wanted) -> dict[str, Any]:
    """The data and the arguments; decisions and marks of rows are data and are not recorded."""
    explained, source = explanation.explained, explanation.source
    told = {
        "metric": explanation.metric.to_dict(),
        "model": source.model_name,
        "features": {player.name: list(player.columns) for player in explained.players},
        "coalitions": source.kind,
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
        "digest": explanation.explained.rows.digest,
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
        "coalitions": explanation.source.kind,
        "meaning": explanation.source.meaning,
        "sensitive": explanation.explained.sensitive,
        "features": list(explanation.explained.names),
        "baseline": {"kind": game.baseline.kind, "value": game.baseline.value},
        "groups": _group_details(explanation),
        "omnibus": _test_details(explanation.first.omnibus, "a rate is undefined or has no variation"),
        "favourable": explanation.favourable,
        "coalition_count": int(game.masks.size),
        "coalition_rates": _coalition_details(explanation),
        "multi_stage": _multi_stage(explanation),
    }


def _group_details(explanation: Explanation) -> list[dict[str, Any]]:
    first = explanation.first
    why = "nobody meets the metric's condition"
    return [
        {
            "group": label,
            "n": int(first.count[g]),
            "rate": defined_or(first.rate[g], why),
            "rate_low": defined_or(first.low[g], why),
            "rate_high": defined_or(first.high[g], why),
            "values": {
                allocation.name: defined_or(first.value.value[g, v, 0], why)
                for v, allocation in enumerate(explanation.game.allocations)
            },
        }
        for g, label in enumerate(explanation.labels)
    ]


def _test_details(test: Any, why: str) -> dict[str, Any]:
    if test is None:
        return {"statistic": undefined(why), "df": None, "p_value": undefined(why)}
    return {"statistic": test.statistic, "df": test.df, "p_value": test.p_value}


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
            rows.append({"coalition": names, "group": label, "rate": rate})
    return rows


def _multi_stage(explanation: Explanation) -> dict[str, Any] | None:
    """Values of the cells of several attributes (Theorem A.1) and the interaction that margins cannot show."""
    cells = explanation.first.cells
    if cells is None:
        return None
    why = "a cell has nobody who counts"
    listed = [
        {
            "cell": label,
            "value": defined_or(cells.value[c, 0, 0], why),
            "value_low": defined_or(cells.low[c, 0, 0], why),
            "value_high": defined_or(cells.high[c, 0, 0], why),
        }
        for c, label in enumerate(explanation.labels)
    ]
    return {"cells": listed, "interaction": _test_details(explanation.first.interaction, why)}


def _agreement(explanation: Explanation) -> float | None:
    """Share of rows whose audited decision is the full coalition's."""
    explained = explanation.explained
    if "decision" not in explained.rows.roles or explanation.source.scores:
        return None
    audited = explained.rows.roles["decision"][explained.test]
    return float((audited == explanation.game.whole[:, 0]).mean())
