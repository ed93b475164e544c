"""The card of a rule to take away: where it comes from, what was shown of it, and its limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairtrial._improve.arguments import Wanted
from fairtrial._improve.result import ImproveResult

REFITTED = (
    "This rule was fitted on all rows after the test. What was tested are the rules that the same search fitted on "
    "part of them; the levels expected of this one are theirs."
)


def card_of(result: ImproveResult, wanted: Wanted) -> dict[str, Any]:
    """Where a rule comes from, what was shown of it, and its limits."""
    from fairtrial import __version__

    details = result.details
    return {
        "rule": details["refit"]["candidate"],
        "threshold": details["refit"]["threshold"],
        "shown": result.rejected,
        "verdict": result.verdict.text,
        "null": result.null,
        "p_value": details["p_value"],
        "alpha": details["alpha"],
        "rows": details["rows"],
        "data": result.provenance["data"],
        "roles": dict(result.provenance["roles"]),
        "constraints": {
            "capacity": wanted.capacity,
            "blind": wanted.blind,
            "banned": list(wanted.banned),
            "monotone": dict(wanted.monotone),
            "independent_given": listed(wanted.independent_given),
            "permissible": getattr(wanted.permissible, "__name__", None),
        },
        "checks": details["search_checks"],
        "expected_levels": details["refit"]["expected_levels"],
        "changes": details["refit"]["changes"],
        "limits": [
            *([] if details["all_rows"] else [REFITTED]),
            *result.assumptions,
            *(note.text for note in result.notes),
        ],
        "seed": result.provenance["seed"],
        "fairtrial": __version__,
    }


def listed(names: str | Sequence[str] | None) -> list[str] | None:
    return None if names is None else [names] if isinstance(names, str) else list(names)
