"""What leaves the house: numbers about very few people are masked before anything is written."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

from fairtrial._results.column import LABELS, MASKED, Column, is_masked, scalar, undefined
from fairtrial._results.result import Result

# details that hold one entry per row of the estimates
ROW_LISTS = frozenset({"places"})
MADE = frozenset({"points", "ratio", "number"})  # kinds of columns that are made of the rates beside them


def mask_result(result: Result, below: int) -> dict[str, Any]:
    """The result's dict as its owner may pass it on.

    A row about fewer than `below` people is reduced to its labels and a reason. In a row about more, a count or a rate
    that tells of fewer reads "fewer than 10 of 500", and what is made of it (gaps, ratios, limits) goes with it.
    """
    content = result.to_dict()
    if below <= 1:
        return content
    told = [row for row in content["estimates"] if result.verdict.tells_of(row)]
    small, others, parts, given_away = _mask_rows(content, result, below)
    pruned = _mask_details(content["details"], below, result.people_in_details)
    if 0 < (result.verdict.people or 0) < below or any(map(is_masked, told)):
        _mask_verdict(content, result, below)
    notes = [mask_note(note, below) for note in content["notes"]]
    content["notes"] = [*notes, *_notes(below, small, others, parts + pruned, given_away)]
    content["claims"] = [claim.to_dict() for claim in type(result).from_dict(content).claims()]
    return content


def _mask_rows(content: dict[str, Any], result: Result, below: int) -> tuple[int, int, int, list[str]]:
    """Hide in the table what tells of few; how many rows are small, how many go with them, in how many a part is
    hidden, and which groups are given away all the same."""
    rows = content["estimates"]
    small = [row for row in rows if is_small(row, result.columns, below)]
    uncompared = {kind.code for kind in result.states if not kind.compared}
    others, given_away = complements(content, below, uncompared)
    for row in small:
        _hide(row, result.columns, f"fewer than {below} people")
    _hide_others(content, others, result.columns, below)
    parts = sum(hide_parts(row, result.columns, below) for row in rows)
    return len(small), len(others), parts, given_away


def _mask_verdict(content: dict[str, Any], result: Result, below: int) -> None:
    """What was found stays, the sentence with its numbers goes, wherever it stands; what may be shown is told."""
    why = f"masked, since it tells of fewer than {below} people"
    hidden = f"{result.verdict.code.replace('-', ' ')}: {why}"
    content["verdict"]["text"] = result.verdict_of_shown(content["estimates"]) or hidden
    content["verdict"].pop("people", None)
    for name in result.told_in_details & content["details"].keys():
        content["details"][name] = why


def _hide_others(
    content: dict[str, Any], others: Iterable[dict[str, Any]], columns: tuple[Column, ...], below: int
) -> None:
    """Hide the lines that would give small ones away."""
    for row in others:
        if any(row is own for own in content["estimates"]):
            _hide(row, columns, f"a group of fewer than {below} people could be worked out from it")
        else:
            content["details"]["untested"].remove(row)


def mask_note(note: Mapping[str, Any], below: int) -> dict[str, Any]:
    """A note without a count of few people."""
    if not 0 < note.get("people", 0) < below:
        return dict(note)
    return {"code": note["code"], "text": f"A note about fewer than {below} people is masked."}


def _notes(below: int, small: int, others: int, inside: int, given_away: list[str]) -> list[dict[str, Any]]:
    """What was masked, and what is given away all the same."""
    notes = []
    if small + others + inside:
        away = "from which they could be worked out"
        rows = [f"{small} row{'' if small == 1 else 's'} of the table"] if small else []
        if others:
            rows.append(
                f"and {others} more {away}" if small else f"{others} row{'' if others == 1 else 's'} {away}"
            )
        text = f"Numbers about fewer than {below} people are masked ({', '.join(rows) or 'single cells'})."
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


def is_small(row: Mapping[str, Any], columns: tuple[Column, ...], below: int) -> bool:
    """Whether the row is about fewer people."""
    return _small(row, below, [column.name for column in columns if column.counts_people])


def _small(row: Mapping[str, Any], below: int, people: Collection[str]) -> bool:
    counts = [value for name, value in row.items() if name in people]
    return any(
        isinstance(value, int) and not isinstance(value, bool) and 0 < value < below for value in counts
    )


def part(row: Mapping[str, Any], column: Column) -> tuple[float, float] | None:
    """How many people the column tells of, and out of how many; None where it tells of no part."""
    whole, value = scalar(row.get(column.part_of or column.share_of)), scalar(row.get(column.name))
    if not whole or value is None or isinstance(value, bool | str):
        return None
    if column.part_of:
        return float(value), float(whole)
    if row.get("value_kind") == "number" or not 0 <= value <= 1:
        return None  # a mean of real values counts nobody
    return round(value * whole, 6), float(whole)


def people_told(row: Mapping[str, Any], columns: tuple[Column, ...]) -> int | None:
    """The fewest people, but nobody, that any number of the row tells of; None where none tells."""
    counts = [scalar(row.get(column.name)) for column in columns if column.counts_people]
    parts = [found for column in columns if (found := part(row, column)) is not None]
    told = [*counts, *(count for count, _ in parts), *(whole - count for count, whole in parts)]
    return min((math.ceil(count) for count in told if count and count > 0), default=None)


def few_of(row: Mapping[str, Any], column: Column, below: int) -> str:
    """What stands in place of a number that tells of few people; empty where it tells of none or of many."""
    found = part(row, column)
    if found is None:
        return ""
    count, whole = found
    if 0 < count < below:
        return f"fewer than {below} of {whole:,.0f}"
    return f"all but fewer than {below} of {whole:,.0f}" if 0 < whole - count < below else ""


def hide_parts(row: dict[str, Any], columns: tuple[Column, ...], below: int) -> bool:
    """Hide what tells of few people in a row about many, and what is made of it; whether there was any."""
    few = {column.name: text for column in columns if (text := few_of(row, column, below))}
    if not few:
        return False
    why = next(iter(few.values()))
    for column in columns:
        made = column.kind in MADE and not (column.part_of or column.share_of)
        text = few.get(column.estimate, why if made else "")
        if text and scalar(row.get(column.name)) is not None:
            row[column.name] = undefined(text, masked=True)
    return True


def _mask_details(details: dict[str, Any], below: int, people: frozenset[str]) -> int:
    """Take counts of few people out of the details, with the records that hold them; returns how many."""
    pruned = _prune(details, below, people)
    few = [name for name in people & details.keys() if _small(details, below, [name])]
    details.update({name: undefined(f"fewer than {below} people", masked=True) for name in few})
    return pruned + len(few)


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


def masked_rows(
    rows: Iterable[Mapping[str, Any]], columns: tuple[Column, ...], below: int
) -> tuple[dict[str, Any], ...]:
    """The rows of any table whose columns say what they are, masked as a result's own."""
    shown = [dict(row) for row in rows]
    for row in shown if below > 1 else []:
        if is_small(row, columns, below):
            _hide(row, columns, f"fewer than {below} people")
        hide_parts(row, columns, below)
    return tuple(shown)


def hidden_values(result: Result, content: Mapping[str, Any]) -> set[float]:
    """Numbers that the result's table holds and the masked one does not."""
    rows = zip(result.estimates, content["estimates"], strict=True)
    return {
        float(scalar(cell))
        for row, masked in rows
        for name, cell in row.items()
        if isinstance(scalar(cell), float)
        and isinstance(masked[name], Mapping)
        and masked[name].get("masked")
    }


def mask_entry(entry: dict[str, Any], below: int, hidden: Collection[float] = ()) -> dict[str, Any]:
    """An entry of the corrected family as published: the p-values stay, what tells of few people goes."""
    if entry["effect"] not in hidden and (entry["n"] is None or not 0 < entry["n"] < below):
        return entry
    return {**entry, "effect": None, "low": None, "high": None, "n": None, "masked": True}


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


# -- which masked groups the others would give away: their total minus what is shown --------------------------------
Pair = tuple[str, str]
# What is added up: a metric, the attributes of the groups, the one that varies, and the values of the others.
Sum = tuple[str, tuple[str, ...], str, frozenset[Pair]]


@dataclass(slots=True, eq=False)
class Member:
    """A line about one group: how many people, and whether it is hidden or was compared."""

    row: dict[str, Any]
    metric: str
    place: tuple[Pair, ...]
    n: int
    hidden: bool
    compared: bool
    given_away: bool = False

    @property
    def unknown(self) -> bool:
        """Whether a reader cannot tell its number."""
        return self.hidden and not self.given_away

    @property
    def sums(self) -> Iterator[Sum]:
        """Each attribute's values add up to a total when the other attributes are held fixed."""
        names = tuple(name for name, _ in self.place)
        for varying in names:
            fixed = frozenset(pair for pair in self.place if pair[0] != varying)
            yield self.metric, names, varying, fixed


def complements(
    content: Mapping[str, Any], below: int, uncompared: Collection[str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Lines to mask besides the small ones, and the small groups that are given away all the same.

    Where exactly one group of a sum is masked it is the total minus the rest, so the next smallest is masked as
    well. A group that was compared (its state is not in `uncompared`) is what an audit is about: it stays, and the
    report says what it gives away.
    """
    members = _members(content, below, uncompared)
    sums: dict[Sum, list[Member]] = defaultdict(list)
    for member in members:
        for total in member.sums:
            sums[total].append(member)
    chosen: list[dict[str, Any]] = []
    waiting = True
    while waiting:
        waiting = sum(_protect(group, chosen) for group in sums.values()) > 0
    known = [str(member.row["group"]) for member in members if member.given_away and member.n < below]
    return chosen, list(dict.fromkeys(known))


def _protect(group: Iterable[Member], chosen: list[dict[str, Any]]) -> bool:
    """Where one alone of a sum is hidden, hide the smallest that may be (into `chosen`), or admit that it is given
    away; whether anything was done."""
    alone = [member for member in group if member.unknown]
    others = [member for member in group if not member.unknown and member.n > 0]
    if len(alone) != 1 or not others:
        return False
    free = (member for member in others if not (member.hidden or member.compared))
    smallest = min(free, key=lambda member: member.n, default=None)
    if smallest is None:
        alone[0].given_away = True  # and with it perhaps another one, masked for its sake
    else:
        smallest.hidden = True
        chosen.append(smallest.row)
    return True


def _members(content: Mapping[str, Any], below: int, uncompared: Collection[str]) -> list[Member]:
    """The lines of the table and the groups listed as not tested, for results that record where each belongs."""
    rows, details = content["estimates"], content["details"]
    places = details.get("places", [])
    if not rows or len(places) != len(rows):
        return []
    found = [(row, place, str(row["metric"])) for row, place in zip(rows, places, strict=True)]
    found += [(item, item["place"], str(rows[0]["metric"])) for item in details.get("untested", [])]
    return [
        Member(
            row=row,
            metric=metric,
            place=tuple((name, value) for name, value in place),
            n=scalar(row["n"]) or 0,
            hidden=scalar(row["n"]) is None or 0 < scalar(row["n"]) < below,  # None: masked before
            compared=row.get("state") not in uncompared,
        )
        for row, place, metric in found
    ]
