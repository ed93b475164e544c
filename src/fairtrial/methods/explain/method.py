"""Which features carry a disparity? Two-stage efficient, symmetric and linear values with intervals that hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.data.groups import by_attributes
from fairtrial.errors import InputError
from fairtrial.methods.explain.arguments import (
    check_choices,
    is_fitted,
    make_problem,
    order_groups,
    plan_coalitions,
    read_asked,
)
from fairtrial.methods.explain.models import Asked, coalition_outputs
from fairtrial.methods.explain.numbers import counted_strata, first_stage, second_stage
from fairtrial.methods.explain.players import WHO, Material, read_material
from fairtrial.methods.explain.problem import Problem
from fairtrial.methods.explain.result import WORDS, CompareResult, ExplainResult
from fairtrial.methods.explain.rows import Told, estimate_rows, panel_rows, pareto_rows, votes
from fairtrial.methods.explain.sentences import coalition_kind, drivers_text, meaning, notes, verdict
from fairtrial.methods.explain.two_rules import compare
from fairtrial.metrics.metric import Metric
from fairtrial.metrics.table import find_metric
from fairtrial.results.column import defined_or, undefined
from fairtrial.work import Progress

__all__ = ["CompareResult", "ExplainResult", "compare", "explain"]

# The share of rows evaluated when models are fitted here.
TEST_SHARE = 0.3


def explain(
    audit: Audit,
    metric: str | Metric | Mapping[str, Any],
    *,
    by: Any = None,
    model: Any = None,
    features: Any = None,
    allocation: Any = "shapley",
    coalitions: Any = "retrain",
    sensitive: str | None = None,
    baseline: str | float = "random",
    reference: Mapping[str, Any] | None = None,
    test: Any = None,
    budget: int | None = None,
    averaged: str = "decisions",
    background: int = 100,
    favourable: str | None = None,
    interval: str = "certify",
    confidence_level: float = 0.95,
    seed: int = 0,
    jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ExplainResult:
    """Share the gap between groups out over the features of a model.

    `by` names the attribute (several: their cells, with the interaction) or lists groups as dicts; `reference` is
    the group the others are compared with. `features` lists the model's inputs, or maps players to columns.
    `coalitions` says what leaving a feature out means: "retrain" refits `model` (any scikit-learn classifier, or
    "logistic", "tree", "forest", "boosting") on every subset; "marginal" imputes absent features of a fitted `model`
    from `background` rows, averaging "decisions" or "probabilities" (`averaged`); a function takes the tuple of
    feature names and returns decisions; a matrix (rows × 2^features, bit k of the column for feature k) or a dict of
    tuples gives them. `sensitive` says whether models see `by`: as a "player" (default when it is a feature),
    "always", or "absent". `test` is the share evaluated (default 0.3 when models are fitted here), a column of
    train/test, or booleans. `allocation` is one of the five ESL members or {"groups": b, "features": b};
    `baseline` "random", "prior" or a number; `budget` the coalitions to evaluate when there are too many features.

    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", groups="sex",
    ...                         features=["priors_count", "age"])
    >>> result = fairtrial.explain(audit, "fpr", model="logistic", reference={"sex": "Female"})
    >>> [(row["feature"], round(100 * row["points"], 1)) for row in result.drivers]
    [('priors_count', 9.9), ('age', -0.3)]
    """
    audit.refuse(WHO)
    chosen = find_metric(WHO, metric)
    asked = read_asked(audit, chosen, coalitions, model, averaged, background, seed, jobs, progress)
    check_choices(allocation, baseline, interval, favourable, confidence_level, chosen, asked)
    from_model = isinstance(coalitions, str)
    if test is None and from_model and (coalitions == "retrain" or not is_fitted(model)):
        test = TEST_SHARE
    material = read_material(
        audit, chosen, by, features, sensitive, test, seed,
        reads_columns=from_model, needs_outcome=test is not None or baseline == "prior",
    )  # fmt: skip
    if not from_model and not audit.source.ordered:
        raise InputError(
            WHO,
            "decisions given as a function or a matrix need rows in a fixed order: collect the data first",
        )
    material = order_groups(material, reference)
    masks, orders = plan_coalitions(allocation, len(material.players), budget, seed)
    outputs = coalition_outputs(asked, audit, material, masks)
    problem = make_problem(
        chosen, asked, material, masks, orders, outputs, allocation, baseline, confidence_level, reference
    )
    first = first_stage(problem, interval)
    side = favourable or ("lower" if chosen.hurts == "above" else "higher")
    told = Told(chosen, material, problem, first, second_stage(problem), side)
    return _result(audit, asked, told, outputs, by, seed, interval)


def _result(
    audit: Audit, asked: Asked, told: Told, outputs: Any, by: object, seed: int, interval: str
) -> ExplainResult:
    by_text = ", ".join(by_attributes(WHO, audit, by))
    rows = estimate_rows(told)
    panel = panel_rows(told)
    tally, pareto = votes(told, panel), pareto_rows(told)
    problem, material, first = told.problem, told.material, told.first
    details = {
        "metric": told.metric.name,
        "metric_label": told.metric.label,
        "by_text": by_text,
        "confidence_level": problem.level,
        "binary": first.binary,
        "allocation": problem.allocations[0].name,
        "allocation_label": WORDS[problem.allocations[0].name],
        "coalitions": coalition_kind(asked),
        "meaning": meaning(asked),
        "sensitive": material.sensitive,
        "features": list(material.names),
        "baseline": {"kind": problem.baseline.kind, "value": problem.baseline.value},
        "groups": _group_details(told),
        "omnibus": _test_details(first.omnibus, "a rate is undefined or has no variation"),
        "panel": panel,
        "votes": tally,
        "pareto": pareto,
        "favourable": told.favourable,
        "coalition_count": int(problem.masks.size),
        "coalition_rates": _coalition_details(told),
        "multi_stage": _multi_stage(told),
        "drivers_text": drivers_text(told, rows),
    }
    extra = [note for note in audit.notes() if not (note.code == "not-fitted-here" and material.train.size)]
    named = asked.model is None or isinstance(asked.model, str)
    facts = {
        "seed": seed,
        "coalitions": coalition_kind(asked),
        "model": asked.model if named else type(asked.model).__name__,
        "features": list(material.names),
        "interval": interval,
        "sensitive": material.sensitive,
        "rows": int(material.test.size),
    }
    agreement = _agreement(material, problem, outputs, asked.scores)
    return ExplainResult(
        question=f"Which features carry the disparity in {told.metric.label} by {by_text}?",
        null=f"Every group has the same {told.metric.label}.",
        verdict=verdict(told),
        estimates=tuple(rows),
        details=details,
        notes=(*extra, *notes(told, asked, agreement, by_text, tally, pareto)),
        provenance=audit.provenance(material.rows, **facts),
        objects={
            "found": told.second.found,
            "rows": material.test,
            "stratum": counted_strata(problem),
            "digest": material.rows.digest,
            "pairs": told.pair_labels,
            "groups": told.labels,
        },
    )


# -- details ---------------------------------------------------------------------------------------------------------
def _group_details(told: Told) -> list[dict[str, Any]]:
    first = told.first
    why = "nobody meets the metric's condition"
    return [
        {
            "group": label,
            "n": int(first.count[g]),
            "rate": defined_or(first.rate[g], why),
            "low": defined_or(first.low[g], why),
            "high": defined_or(first.high[g], why),
            "values": {
                allocation.name: defined_or(first.value.value[g, v, 0], why)
                for v, allocation in enumerate(told.problem.allocations)
            },
        }
        for g, label in enumerate(told.labels)
    ]


def _test_details(test: Any, why: str) -> dict[str, Any]:
    if test is None:
        return {"statistic": undefined(why), "df": None, "p_value": undefined(why)}
    return {"statistic": test.statistic, "df": test.df, "p_value": test.p_value}


def _coalition_details(told: Told) -> list[dict[str, Any]]:
    """Rates per coalition and group, for up to 64 coalitions."""
    if told.problem.masks.size > 64:
        return []
    singles = np.searchsorted(told.second.targets.unions, [1 << g for g in range(told.problem.groups)])
    rows = []
    for m, mask in enumerate(told.problem.masks):
        for g, label in enumerate(told.labels):
            known = bool(told.second.rates.defined[singles[g], m])
            rate = float(told.second.rates.rate[singles[g], m]) if known else None
            rows.append({"coalition": list(told.material.names_of(int(mask))), "group": label, "rate": rate})
    return rows


def _multi_stage(told: Told) -> dict[str, Any] | None:
    """Values of the cells of several attributes (Theorem A.1) and the interaction that margins cannot show."""
    cells = told.first.cells
    if cells is None:
        return None
    why = "a cell has nobody who counts"
    listed = [
        {
            "cell": label,
            "value": defined_or(cells.value[c, 0, 0], why),
            "low": defined_or(cells.low[c, 0, 0], why),
            "high": defined_or(cells.high[c, 0, 0], why),
        }
        for c, label in enumerate(told.labels)
    ]
    return {"cells": listed, "interaction": _test_details(told.first.interaction, why)}


def _agreement(material: Material, problem: Problem, outputs: Any, scores: bool) -> float | None:
    """Share of rows whose audited decision is the full coalition's."""
    if "decision" not in material.rows.roles or scores:
        return None
    return float((material.rows.roles["decision"][material.test] == outputs[:, problem.full]).mean())
