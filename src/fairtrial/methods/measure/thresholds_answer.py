"""From lines over all thresholds to the answer of measure: adjusted p-values, rows, verdict, notes and curves."""

from __future__ import annotations

from typing import Any

from fairtrial.errors import Note
from fairtrial.methods.gaps.known_outcomes import refuse_selective
from fairtrial.methods.measure.answer import adjust, notes_of, row_of, verdict_of
from fairtrial.methods.measure.curves import STEP, all_curves
from fairtrial.methods.measure.lines import Line, Plan
from fairtrial.methods.measure.result import MeasureResult
from fairtrial.methods.measure.thresholds import (
    AREA,
    WHO,
    area_lines,
    at_thresholds,
    check_thresholds,
    condition_of,
    scored_people,
    share_lines,
)
from fairtrial.metrics.harm import harmed_side
from fairtrial.results.text import in_a_sentence


def answer_thresholds(plan: Plan) -> MeasureResult:
    """Every group's largest gap over all thresholds of the score, its area under the curve, and the curves."""
    check_thresholds(plan)
    audit = plan.audit
    refuse_selective(WHO, audit, plan.metrics, "metrics")
    people, plan, rows = scored_people(plan)
    lines: list[Line] = []
    for metric in plan.metrics:
        lines += share_lines(plan, metric, people, people.part(condition_of(metric)))
    lines += area_lines(plan, people)
    for line in lines:
        line.harmed = harmed_side(line.metric, audit.favourable)
    adjust(lines)
    alpha = 1 - plan.level
    return MeasureResult(
        question=f"What are the rates by {in_a_sentence(plan.attributes)}, at every threshold of {audit.score}?",
        null=f"At every threshold each group's rate equals that of {plan.target.label}.",
        verdict=verdict_of(lines, alpha, plan),
        estimates=tuple(row_of(line, alpha) for line in lines),
        details={**_details(plan, lines), "curves": all_curves(plan, people)},
        notes=(
            *audit.notes(complete=False),
            *_notes(plan.level),
            *(note for note in notes_of(lines, plan.minimum) if note.code != "pointwise"),
        ),
        provenance=audit.provenance(
            rows,
            arguments={
                "metrics": [metric.to_dict() for metric in plan.metrics],
                "target": plan.target.to_dict(),
                "by": list(plan.attributes),
            },
        ),
    )


def _details(plan: Plan, lines: list[Line]) -> dict[str, Any]:
    asked = [at_thresholds(metric) for metric in plan.metrics]
    return {
        "labels": {metric.name: metric.label for metric in (*asked, AREA)},
        "described": [],
        "confidence_level": plan.level,
        "scale": plan.scale,
        "tolerance": None,
        "left_out": [],
        "places": [line.group.place for line in lines],
        "thresholds": "all",
        "score": plan.audit.score,
        "curve_labels": {metric.name: metric.label for metric in plan.metrics},
    }


def _notes(level: float) -> list[Note]:
    line = (
        "A line's rate and gap are those at the threshold where its gap is largest; its limits hold at every threshold "
        "at once, and so does its p-value. Findings use p-values adjusted by Holm over the table."
    )
    curve = (
        f"Curves have {100 * level:g}% bands that hold at all thresholds of a group at once; they are drawn at points "
        f"at least {STEP} people apart."
    )
    return [Note("all-thresholds", line), Note("curves", curve)]
