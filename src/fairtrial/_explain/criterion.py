"""A criterion that joins metrics (separation, sufficiency): each is explained, and both are judged at once.

Amri-Jouidel, Kemel and Mussard, Theorems 3.1 and 4.1: the criterion holds exactly when the groups' values are equal for
every one of its metrics, so it is rejected when one of them is, corrected by Holm over the metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairtrial._errors import Note
from fairtrial._explain.result import (
    CARRIES,
    DIFFERS,
    EXPLAINED_GAP,
    GAP,
    TO_GAP,
    ExplainResult,
    tested,
)
from fairtrial._explain.words import p_text
from fairtrial._inference.multiplicity import holm
from fairtrial._results.column import Verdict, scalar, undefined


def judge_together(criterion: str, parts: Sequence[ExplainResult]) -> ExplainResult:
    """One result about all metrics of the criterion, their tests corrected over all of them."""
    name, first = criterion.replace("_", " "), parts[0]
    labels = " and ".join(part.details["label"] for part in parts)
    level = first.details["confidence_level"]
    rows = [dict(row) for part in parts for row in part.estimates]
    for kind, shown in ((GAP, DIFFERS), (EXPLAINED_GAP, DIFFERS), (TO_GAP, CARRIES)):
        _correct([row for row in rows if row["part"] == kind], 1.0 - level, shown)
    p = _p_of_all(parts)
    return ExplainResult(
        question=f"Which features carry the disparities in {labels} ({name}) by {first.details['by_text']}?",
        null=f"Every group has the same {labels}.",
        verdict=_verdict(name, labels, p, parts, 1.0 - level),
        estimates=tuple(rows),
        details=_details(criterion, p, parts),
        notes=_notes(parts),
        provenance=_provenance(criterion, parts),
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


def _verdict(
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


def _details(criterion: str, p: float | None, parts: Sequence[ExplainResult]) -> dict[str, Any]:
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


def _notes(parts: Sequence[ExplainResult]) -> tuple[Note, ...]:
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


def _provenance(criterion: str, parts: Sequence[ExplainResult]) -> dict[str, Any]:
    first = parts[0].provenance
    return {**first, "arguments": {**first["arguments"], "metric": criterion}}
