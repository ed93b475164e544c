"""The field's own tables, as the presets ask for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._method.declaration import EVIDENCE, find_method
from fairtrial._trial.spec.tables import Bias, Employment, Lending

Questions = list[tuple[str, dict[str, Any]]]


def employment_tables(settings: Employment, by: Sequence[Any]) -> Questions:
    """The law's summary, and how far from chance the selections are."""
    stated = {
        name: getattr(settings, name)
        for name in ("tool", "audit_date", "distribution_date", "data_source", "justification")
        if getattr(settings, name)
    }
    law = {"table": "local-law-144", "by": by, "smallest": settings.smallest_category}
    if stated:
        law["about"] = stated
    practice: dict[str, Any] = {"table": "adverse-impact", "by": by}
    if settings.requisition is not None:
        practice["within"] = [settings.requisition]
    return [("tabulate", law), ("tabulate", practice)]


def credit_tables(settings: Lending, audit: Audit, references: Mapping[str, Any]) -> Questions:
    """Decisions, scores and prices of each attribute against its reference."""
    questions: Questions = []
    within = {} if settings.within is None else {"within": settings.within}
    price = {} if settings.price is None else {"price": settings.price, "price_unit": settings.price_unit}
    for name in audit.groups:
        asked: dict[str, Any] = {"by": [name], "depth": 1}
        if name in references:
            asked["target"] = {name: references[name]}
        questions.append(("tabulate", {"table": "credit-decisions", **asked, **within}))
        if audit.has("score") or price:
            means = {"table": "score-and-price", "denominator": settings.denominator, **asked, **price}
            questions.append(("tabulate", means))
        if audit.has("score"):
            questions.append(("tabulate", {"table": "score-quantiles", **asked}))
    return questions


def bias_record(settings: Bias, usual: Sequence[Mapping[str, Any]]) -> Questions:
    """The record that the file holds; else one entry per group and measure, whose thresholds nobody stated."""
    return [("tabulate", {"table": "bias-record", "records": list(settings.records or usual)})]


def usual_entries(
    by: Sequence[Mapping[str, Any]], measures: Sequence[Any], hazard: str = ""
) -> list[dict[str, Any]]:
    """One entry per group and measure."""
    stated = {"hazard": hazard} if hazard else {}
    return [{"group": dict(group), "measure": measure, **stated} for measure in measures for group in by]


def answerable_tables(questions: Questions, audit: Audit) -> tuple[Questions, list[str]]:
    """The questions without tables that count people where rows are weighted, repeated, paired or partly unknown."""
    roles = [name for name in EVIDENCE if audit.has(name)]
    if not roles:
        return questions, []
    able = set(roles) <= set(find_method("tabulate").evidence)
    kept = [
        (name, arguments)
        for name, arguments in questions
        if name != "tabulate" or (able and arguments["table"] == "bias-record")
    ]
    if len(kept) == len(questions):
        return questions, []
    text = f"The field's tables count people, each once and with a known decision: not asked with {', '.join(roles)}."
    return kept, [text]
