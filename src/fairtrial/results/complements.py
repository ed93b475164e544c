"""Which masked groups the others would give away: their total minus what is shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fairtrial.results.column import scalar

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
        waiting = False
        for group in sums.values():
            hidden = [member for member in group if member.hidden and not member.given_away]
            others = [member for member in group if (member.given_away or not member.hidden) and member.n > 0]
            if len(hidden) != 1 or not others:
                continue
            free = [member for member in others if not member.hidden and not member.compared]
            waiting = True
            if free:
                smallest = min(free, key=lambda member: member.n)
                smallest.hidden = True
                chosen.append(smallest.row)
            else:
                hidden[0].given_away = True  # and with it perhaps another one, masked for its sake
    known = [str(member.row["group"]) for member in members if member.given_away and member.n < below]
    return chosen, list(dict.fromkeys(known))


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
