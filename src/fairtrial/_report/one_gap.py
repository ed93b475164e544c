"""Why two sections show different numbers for one group, and close-ups as the page draws them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairtrial._report.tables import shown
from fairtrial._results.claims import target_words
from fairtrial._results.column import CloseUp, Mark, scalar

SAME = 1e-9  # up to which two differences are one number


def why_numbers_differ(sections: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """For each section that compares with somebody else than one before it, in one line, which one that is."""
    found: dict[str, str] = {}
    for place, section in enumerate(sections):
        compared = compared_with(section)
        before = [other for other in sections[:place] if _other_numbers(section, other)]
        apart = {
            compared_with(other): other for other in before if compared_with(other) not in ("", compared)
        }
        if compared and apart:
            named = "; ".join(f"under “{_short(other)}” with {words}" for words, other in apart.items())
            found[section["id"]] = (
                f"Here groups are compared with {compared}, {named}: the same group's difference is another "
                "number there."
            )
    return found


def _other_numbers(section: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether some group has another difference in the same metric there."""
    here, there = _differences(section), _differences(other)
    return any(abs(here[key] - there[key]) > SAME for key in here.keys() & there.keys())


def _differences(section: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """The difference of each metric and group, where it has one."""
    rows = section["result"]["estimates"] if section["result"] is not None else []
    told = {(str(row.get("metric")), str(row.get("group"))): scalar(row.get("difference")) for row in rows}
    return {key: value for key, value in told.items() if isinstance(value, float)}


def compared_with(section: Mapping[str, Any]) -> str:
    """Whom a section compares with, and in what they are alike, in words; empty where it has no such choice."""
    target = _target(section)
    within = section["result"]["details"].get("within") if target else None
    return f"{target} alike in {' and '.join(map(str, within))}" if within else target


def _target(section: Mapping[str, Any]) -> str:
    """Whose rate the others' are compared with."""
    arguments = section["result"]["provenance"].get("arguments", {}) if section["result"] is not None else {}
    return target_words(arguments["target"]) if arguments.get("target") is not None else ""


def _short(section: Mapping[str, Any]) -> str:
    return str(section["title"] or section["result"]["question"])


# -- Close-ups as the page draws them: places in percent of the line, so that no script is needed.
SHAPES = {
    "own": "M0-7 7 0 0 7-7 0z",
    "expected": "M-1.5-8h3v16h-3z",
    "others": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0",
}
STEP = 0.1  # the scale ends at a multiple of this rate


def drawn(one: CloseUp) -> dict[str, Any]:
    """A close-up with its marks on one scale that begins at zero."""
    ends = [end for mark in one.marks for end in (mark.rate, mark.high) if end is not None]
    most = min(1.0, STEP * math.ceil(max(ends, default=1.0) / STEP)) or STEP
    return {
        "title": one.title,
        "marks": [_drawn(mark, most) for mark in one.marks],
        "most": f"{100 * most:.0f}%",
        "numbers": [(name, text) for name, text in one.numbers],
        "found": one.found,
    }


def _drawn(mark: Mark, most: float) -> dict[str, str]:
    limits = {} if mark.low is None or mark.high is None else {"low": mark.low, "high": mark.high}
    return {
        "label": mark.label,
        "role": mark.role,
        "shape": SHAPES[mark.role],
        "text": shown(mark.rate, "rate"),
        "low": "",
        "high": "",
        **{name: f"{100 * value / most:.2f}%" for name, value in {"at": mark.rate, **limits}.items()},
    }
