"""Flags of a criterion that joins metrics: every group's rates, corrected over all of them at once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.flag_answer import Wanted, answer, group_p_values
from fairtrial._compare.results import FlagResult
from fairtrial._results.column import Verdict


def answer_criterion(audit: Audit, name: str, asked: Sequence[tuple[Disparities, Wanted]]) -> FlagResult:
    """One result about all rates of the criterion."""
    p = [group_p_values(disparities.gaps, wanted.direction, wanted.band) for disparities, wanted in asked]
    parts = [
        answer(audit, {"": disparities}, wanted, [*p[:place], *p[place + 1 :]])
        for place, (disparities, wanted) in enumerate(asked)
    ]
    labels = [disparities.metric.label for disparities, _ in asked]
    return FlagResult(
        question=" ".join(part.question for part in parts),
        null=" ".join(part.null for part in parts),
        verdict=_verdict(name, labels, parts),
        estimates=tuple(
            {**row, "metric_label": label}
            for label, part in zip(labels, parts, strict=True)
            for row in part.estimates
        ),
        details=_details(name, labels, parts),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        provenance=_provenance(name, parts),
    )


def _verdict(name: str, labels: list[str], parts: list[FlagResult]) -> Verdict:
    flagged = [label for label, part in zip(labels, parts, strict=True) if part.details["flagged"]]
    own = "; ".join(f"{label}: {part.verdict.text}" for label, part in zip(labels, parts, strict=True))
    told = tuple(row for part in parts for row in part.verdict.about)
    return Verdict("flagged" if flagged else "none-flagged", f"{name.replace('_', ' ')}: {own}", told)


def _details(name: str, labels: list[str], parts: list[FlagResult]) -> dict[str, Any]:
    first = parts[0].details
    directions = {part.details["direction"] for part in parts}
    return {
        **first,
        "label": name.replace("_", " "),
        "criterion": name,
        "labels": {part.estimates[0]["metric"]: label for label, part in zip(labels, parts, strict=True)},
        "direction": first["direction"] if len(directions) == 1 else "harmed",
        "tested": sum(part.details["tested"] for part in parts),
        "flagged": sum(part.details["flagged"] for part in parts),
        "left_out": [item for part in parts for item in part.details["left_out"]],
        "places": [place for part in parts for place in part.details["places"]],
    }


def _provenance(name: str, parts: list[FlagResult]) -> dict[str, Any]:
    first = parts[0].provenance
    digests = "".join(str(part.provenance["data"]) for part in parts)
    digest = hashlib.sha256(digests.encode()).hexdigest()[:16]
    return {**first, "data": digest, "arguments": {**first["arguments"], "metric": name}}
