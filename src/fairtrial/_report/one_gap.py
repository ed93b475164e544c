"""One gap, one number: the strongest finding told in people, and why two sections show different numbers for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairtrial._metrics.table import METRICS
from fairtrial._report.tables import shown
from fairtrial._results.claims import place_words, target_words
from fairtrial._results.column import CloseUp, Mark, scalar
from fairtrial._trial.family import clearest, metric_label
from fairtrial._trial.in_people import in_people

SAME = 1e-9  # up to which two differences are one number


def strongest_in_people(content: Mapping[str, Any]) -> str:
    """The strongest finding that remains, in natural frequencies, from the harmed side; empty where there is none."""
    row = strongest_row(content)
    return "" if row is None else _sentence(row, described_roles(content)) or ""


def clearest_in_people(content: Mapping[str, Any]) -> str:
    """The finding that the verdict calls the clearest, in natural frequencies; empty where it has no such words."""
    named = _clearest(content)
    row = strongest_row(content) if named is None else row_of(content, named)
    return "" if row is None else _sentence(row, described_roles(content)) or ""


def _clearest(content: Mapping[str, Any]) -> Mapping[str, Any] | None:
    answered = {one["id"]: one["result"] for one in content["sections"] if one["result"]}
    tables = {name: (result["estimates"], result["details"]) for name, result in answered.items()}
    return clearest(content["family"], tables)


def strongest_row(content: Mapping[str, Any]) -> dict[str, Any] | None:
    """The row of the strongest finding that remains and can be told in people, one that harms where there is any."""
    roles, named = described_roles(content), _clearest(content)
    first = None if named is None else row_of(content, named)
    if first is not None and _sentence(first, roles) is not None:
        return first
    told = [
        row
        for entry in content["family"]
        if entry["significant"] and not entry["of_many"]
        if (row := row_of(content, entry)) is not None and _sentence(row, roles) is not None
    ]
    harmed = [row for row in told if row.get("effect") == "harmed"]
    return next(iter(harmed or told), None)


def described_roles(content: Mapping[str, Any]) -> dict[str, Any]:
    """The columns' roles with the labels that count as 1."""
    data = content["spec"]["content"].get("data", {})
    positive = data.get("positive") if isinstance(data, Mapping) else None
    return {**content["data"]["roles"], "positive": positive}


def borne_out(content: Mapping[str, Any]) -> set[tuple[str, str, str]]:
    """Sections, metrics and groups whose finding remains after the correction."""
    remaining = (entry for entry in content["family"] if entry["significant"])
    return {(entry["section"], entry["metric"], entry["subject"]) for entry in remaining}


def row_of(content: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """The row that an entry of the family is about; None where its section has no such table."""
    section = next(one for one in content["sections"] if one["id"] == entry["section"])
    rows: Sequence[dict[str, Any]] = section["result"]["estimates"] if section["result"] is not None else []
    for place, row in enumerate(rows):
        if row.get("group") != entry["subject"]:
            continue
        if metric_label(row, section["result"]["details"]) == entry["metric"]:
            return with_attributes(section, place)
    return None


def with_attributes(section: Mapping[str, Any], place: int) -> dict[str, Any]:
    """A row of an answered section whose group and target are told with their attributes, and its intervals' level."""
    result = section["result"]
    row, places = result["estimates"][place], result["details"].get("places", [])
    own = places[place] if len(places) == len(result["estimates"]) else []
    adjusted = bool(result["details"].get("within"))  # its target is told with whom people are alike in
    named = not adjusted and (row.get("target") or _is_of_people(section, row))
    target = _target(section) if named else ""
    return {
        **row,
        **({"group": place_words(own)} if own else {}),
        **({"target": target} if target else {}),
        "level": result["details"].get("confidence_level"),
    }


def _is_of_people(section: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether a table without a column for it compares with people, by their own rates: no stated or estimated rate,
    nothing adjusted."""
    target = section["result"]["provenance"].get("arguments", {}).get("target")
    if "target" in row or section["result"]["details"].get("within"):
        return False
    return isinstance(target, str) or (isinstance(target, Mapping) and "estimate" not in target)


def _sentence(row: Mapping[str, Any], roles: Mapping[str, Any]) -> str | None:
    rate, target = scalar(row.get("rate")), scalar(row.get("target_rate"))
    if not isinstance(rate, float) or not isinstance(target, float) or not row.get("target"):
        return None
    if row.get("value_kind") == "number":  # a mean is nobody's yes or no
        return None
    if row.get("compared") is not None:  # an adjusted gap is not that of the two rates
        return None
    if row.get("target_n") == 0:  # a rate that was stated is nobody's
        return None
    sides = ((str(row["group"]), rate), (str(row["target"]), target))
    # what is told first is whom it harms
    ordered = sides[::-1] if row.get("effect") == "favoured" else sides
    return in_people(METRICS[str(row["metric"])], roles, ordered)


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
