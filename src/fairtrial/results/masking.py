"""What leaves the house: numbers about very few people are masked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import compress
from typing import Any

from fairtrial.results.complements import complements
from fairtrial.results.result import Column, Result, reason, undefined

# names under which methods count people, in estimates and in the details that charts read
PEOPLE = frozenset({"n", "rows", "people", "size", "members", "n_group", "comparators"})
# details that hold one entry per row of the estimates
ROW_LISTS = frozenset({"places"})
MASKED = "masked:"
_KEPT = ("text", "flag", "verdict")


def mask_result(result: Result, below: int) -> dict[str, Any]:
    """The result's dict with every row about fewer than `below` people reduced to its labels and a reason."""
    content = result.to_dict()
    if below <= 1:
        return content
    columns = {column.name: column for column in result.columns}
    small = [row for row in content["estimates"] if _small(row, below, columns)]
    others, given_away = complements(content, below)
    for row in small:
        _hide(row, columns, f"{MASKED} fewer than {below} people")
    for row in others:
        if any(row is own for own in content["estimates"]):
            _hide(row, columns, f"{MASKED} a group of fewer than {below} people could be worked out from it")
        else:
            content["details"]["untested"].remove(row)
    if len(small) + len(others) + _prune(content["details"], below):
        rows = f"{len(small)} row{'' if len(small) == 1 else 's'} of the table"
        if others:
            rows += f", and {len(others)} more from which they could be worked out"
        text = f"Numbers about fewer than {below} people are masked ({rows})."
        content["notes"].append({"code": "masked", "text": text})
    if given_away:
        text = (
            f"The number of people in {'; '.join(given_away)} is masked, but totals and the groups compared give it "
            "away. Where that matters, join small groups before the audit."
        )
        content["notes"].append({"code": "given-away", "text": text})
    return content


def _hide(row: dict[str, Any], columns: Mapping[str, Column], why: str) -> None:
    """Labels stay, numbers go."""
    for name in row:
        if name not in columns or columns[name].kind not in _KEPT:
            row[name] = undefined(why)
        elif columns[name].kind == "verdict":
            row[name] = why


def _small(row: Mapping[str, Any], below: int, columns: Mapping[str, Column] | None = None) -> bool:
    counts = [
        value
        for name, value in row.items()
        if name in PEOPLE and (columns is None or name not in columns or columns[name].kind == "count")
    ]
    return any(
        isinstance(value, int) and not isinstance(value, bool) and 0 < value < below for value in counts
    )


def _prune(value: Any, below: int) -> int:
    """Take every record about fewer than `below` people out of the details; returns how many."""
    if isinstance(value, list):
        small = [item for item in value if isinstance(item, dict) and _small(item, below)]
        value[:] = [item for item in value if not any(item is other for other in small)]
        return len(small) + sum(_prune(item, below) for item in value)
    if isinstance(value, dict):
        small_keys = [key for key, item in value.items() if isinstance(item, dict) and _small(item, below)]
        for key in small_keys:
            del value[key]
        return len(small_keys) + sum(_prune(item, below) for item in value.values())
    return 0


def is_masked(row: Mapping[str, Any]) -> bool:
    """Whether a row of published estimates was masked."""
    return any(reason(cell) and str(reason(cell)).startswith(MASKED) for cell in row.values())


def mask_groups(groups: Mapping[str, Any], below: int) -> dict[str, Any]:
    """Sizes of the groups as published: never exactly one is masked, since the total is known."""
    published = {}
    for name, levels in groups.items():
        hidden = [index for index, level in enumerate(levels) if 0 < level["n"] < below]
        shown = [index for index, level in enumerate(levels) if level["n"] >= max(below, 1)]
        if len(hidden) == 1 and shown:
            hidden.append(min(shown, key=lambda index: levels[index]["n"]))
        published[name] = [
            {**level, "n": None if index in hidden else level["n"]} for index, level in enumerate(levels)
        ]
    return published


def mask_entry(entry: dict[str, Any], below: int) -> dict[str, Any]:
    """An entry of the corrected family as published: the p-values stay, the numbers about few people go."""
    if entry["n"] is None or not 0 < entry["n"] < below:
        return entry
    return {**entry, "effect": None, "low": None, "high": None, "n": None}


def published_rows(result: Result) -> Result:
    """The result without its masked rows: what charts and sentences may be about."""
    kept = [not is_masked(row) for row in result.estimates]
    if all(kept):
        return result
    details = {
        name: list(compress(value, kept)) if name in ROW_LISTS and len(value) == len(kept) else value
        for name, value in result.details.items()
    }
    return replace(result, estimates=tuple(compress(result.estimates, kept)), details=details)
