"""What leaves the house: numbers about very few people are masked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import compress
from typing import Any

from fairtrial.results.column import LABELS, MASKED, Column, is_masked, undefined
from fairtrial.results.complements import complements
from fairtrial.results.result import Result

# details that hold one entry per row of the estimates
ROW_LISTS = frozenset({"places"})


def mask_result(result: Result, below: int) -> dict[str, Any]:
    """The result's dict with every row about fewer than `below` people reduced to its labels and a reason."""
    content = result.to_dict()
    if below <= 1:
        return content
    people = {column.name for column in result.columns if column.kind == "people"}
    small = [row for row in content["estimates"] if _small(row, below, people)]
    uncompared = {kind.code for kind in result.states if not kind.compared}
    others, given_away = complements(content, below, uncompared)
    for row in small:
        _hide(row, result.columns, f"fewer than {below} people")
    for row in others:
        if any(row is own for own in content["estimates"]):
            _hide(row, result.columns, f"a group of fewer than {below} people could be worked out from it")
        else:
            content["details"]["untested"].remove(row)
    pruned = _prune(content["details"], below, result.people_in_details)
    content["notes"] += _notes(below, len(small), len(others), pruned, given_away)
    return content


def _notes(below: int, small: int, others: int, pruned: int, given_away: list[str]) -> list[dict[str, str]]:
    """What was masked, and what is given away all the same."""
    notes = []
    if small + others + pruned:
        rows = f"{small} row{'' if small == 1 else 's'} of the table"
        if others:
            rows += f", and {others} more from which they could be worked out"
        text = f"Numbers about fewer than {below} people are masked ({rows})."
        notes.append({"code": "masked", "text": text})
    if given_away:
        text = (
            f"The number of people in {'; '.join(given_away)} is masked, but totals and the groups compared give it "
            "away. Where that matters, join small groups before the audit."
        )
        notes.append({"code": "given-away", "text": text})
    return notes


def _hide(row: dict[str, Any], columns: tuple[Column, ...], why: str) -> None:
    """Labels stay, numbers go, the state says why."""
    kinds = {column.name: column.kind for column in columns}
    for name in row:
        if kinds.get(name) == "state":
            row[name] = MASKED.code
        elif name == "state_reason":
            row[name] = why
        elif kinds.get(name) not in LABELS:
            row[name] = undefined(why, masked=True)


def _small(row: Mapping[str, Any], below: int, people: frozenset[str] | set[str]) -> bool:
    counts = [value for name, value in row.items() if name in people]
    return any(
        isinstance(value, int) and not isinstance(value, bool) and 0 < value < below for value in counts
    )


def _prune(value: Any, below: int, people: frozenset[str]) -> int:
    """Take every record about fewer than `below` people out of the details; returns how many."""
    if not isinstance(value, list | dict):
        return 0
    items = dict(enumerate(value)) if isinstance(value, list) else dict(value)
    few = [key for key, item in items.items() if isinstance(item, dict) and _small(item, below, people)]
    for key in reversed(few):
        del value[key]
    return len(few) + sum(_prune(item, below, people) for key, item in items.items() if key not in few)


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
