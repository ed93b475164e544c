"""An audit in a few words: which column plays which part."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairtrial._audit.roles import Roles


def shown_roles(audit: Roles) -> list[tuple[str, str]]:
    """The parts that are played, with their columns, as they were declared; the data are not read."""
    score = audit.score
    if score is not None and audit.threshold is not None:
        score = f"{score} (1 from {audit.threshold:g} on)"
    favourable = None if audit._favourable is None else str(audit._favourable)
    parts = {
        "outcome": audit.outcome,
        "decision": audit.decision,
        "score": score,
        "favourable": favourable,
        "groups": ", ".join(audit.groups),
        "features": ", ".join(audit.features),
        "weight": audit.weight,
        "unit": audit.unit,
        "pair": audit.pair,
        "missing": None if audit.missing == "error" else audit.missing,
    }
    return [(name, str(text)) for name, text in parts.items() if text]
