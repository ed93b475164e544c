"""Subgroups from near: what they get, what comparable people get, and how the search came upon them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from fairtrial._results.column import CloseUp, Mark, reason, scalar
from fairtrial._results.result import Result
from fairtrial._results.text import counted, format_value, interval_text

SEARCHES = {
    "exact": "every subgroup of these features was considered",
    "depth 2": "every subgroup that restricts at most two features was considered",
    "restarts": "the search climbed from many starts, and a better subgroup may exist",
}


def close_up(result: Result, row: Mapping[str, Any]) -> CloseUp:
    """One subgroup that was found or listed; what is masked says so."""
    subgroup = str(scalar(row["subgroup"]) or "everyone")
    who = "everyone of it" if subgroup == "everyone" else subgroup
    return CloseUp(
        title=f"{row['protected']}: {who}",
        marks=tuple(_marks(result, row)),
        numbers=tuple(_numbers(result, row)),
        found=tuple(
            text for text in (_restricted(subgroup), _searched(result, row), _luck(result, row)) if text
        ),
    )


def _marks(result: Result, row: Mapping[str, Any]) -> list[Mark]:
    """The rates that may be shown, its own first."""
    found: list[tuple[str, Literal["own", "expected", "others"], str]] = [
        (str(row["protected"]), "own", "rate"),
        ("comparable people outside it", "expected", "expected"),
        (_others(result, row), "others", "target_rate"),
    ]
    return [
        Mark(label, role, float(rate), scalar(row.get(f"{name}_low")), scalar(row.get(f"{name}_high")))
        for label, role, name in found
        if (rate := scalar(row.get(name))) is not None
    ]


def _others(result: Result, row: Mapping[str, Any]) -> str:
    return str(row.get("target") or result.details.get("target") or "everyone else")


def _numbers(result: Result, row: Mapping[str, Any]) -> list[tuple[str, str]]:
    level = f"{100 * float(result.details['confidence_level']):g}% interval for all subgroups at once"
    told = [
        ("Its rate", _rate(row, "rate", "n", level)),
        ("Comparable people outside the class get", _shown(row, "expected", "rate")),
        ("Difference to them, in points", _shown(row, "difference", "points")),
        (f"The same subgroup among {_others(result, row)}", _rate(row, "target_rate", "target_n", level)),
        ("Without a comparable person outside", _shown(row, "unsupported", "people")),
    ]
    return [(name, text) for name, text in told if text]


def _rate(row: Mapping[str, Any], name: str, people: str, level: str) -> str:
    """'46.1% of 1,390 people (95% interval …: 40.2 to 52.2)'."""
    rate, n = scalar(row.get(name)), scalar(row.get(people))
    if rate is None:
        return _shown(row, name, "rate")
    text = format_value(rate, "rate")
    if n is not None:
        text += f" of {counted(int(n), 'person', 'people')}"
    limits = scalar(row.get(f"{name}_low")), scalar(row.get(f"{name}_high"))
    return text if None in limits else f"{text} ({level}: {interval_text(*limits, 'rate')}%)"


def _shown(row: Mapping[str, Any], name: str, kind: Any) -> str:
    """A cell in words: its value, why it has none, nothing where the table has no such column."""
    if name not in row:
        return ""
    why = reason(row[name])
    if (
        why and kind == "points" and row[name].get("masked")
    ):  # a difference is nobody's number: the count behind it is
        return "masked, since few people could be worked out from it"
    return why or format_value(scalar(row[name]), kind)


def _restricted(subgroup: str) -> str:
    """Which features define it."""
    if subgroup == "everyone":
        return "No feature restricts it: it is the whole class."
    return f"It is defined by {subgroup.replace('; ', ' and ')}."


def _searched(result: Result, row: Mapping[str, Any]) -> str:
    """Its place in the search, and what was searched."""
    score = scalar(row.get("score"))
    scored = "" if score is None else f" with a score of {float(score):.1f}"
    search = SEARCHES[str(row.get("search") or result.details["search"])]
    place = "It came out first" if row.get("rank", 1) == 1 else f"It came out at rank {row['rank']}"
    return f"{place}{scored}; {search}."


def _luck(result: Result, row: Mapping[str, Any]) -> str:
    """What luck would have found."""
    p = scalar(row.get("p_adjusted")) if "p_adjusted" in row else scalar(row.get("p_value"))
    if p is None:
        return "It was not tested by itself and carries no claim of its own."
    draws = row.get("draws") or result.details.get("null_draws")
    times = f" {counted(int(draws), 'time')}" if draws else ""
    corrected = ", corrected over all classes" if "p_adjusted" in row else ""
    told = format_value(p, "p")
    chance = f"p {told}" if told.startswith("<") else f"p = {told}"
    return f"The whole search was repeated{times} on data in which the class does not matter: {chance}{corrected}."
