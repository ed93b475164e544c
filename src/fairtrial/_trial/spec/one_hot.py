"""Columns of 0 and 1 that are one attribute: Race_Black, Race_White, …, of which one is 1 in each row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairtrial._trial.spec.profile import MAX_CATEGORIES, Profile

_ZERO_ONE = {"0", "1", "true", "false"}
_YES = {"1", "true"}


@dataclass(frozen=True, slots=True)
class Family:
    """An attribute and the column of each of its labels."""

    name: str
    columns: dict[str, str]
    counts: dict[str, int]

    @property
    def category(self) -> bool:
        """Few enough labels to compare people by."""
        return len(self.columns) <= MAX_CATEGORIES

    def definitions(self) -> dict[str, dict[str, int]]:
        """The groups as an audit defines them; of two labels the rarer says all."""
        labels = [label for label in self.columns if self.counts[label]]
        if len(self.columns) == 2:
            labels = [min(labels, key=lambda label: self.counts[label])]
        return {f"{self.name}: {label}": {self.columns[label]: 1} for label in labels}


def families(profiles: Sequence[Profile]) -> list[Family]:
    """The attributes of a file that are written as columns of 0 and 1.

    Names are cut at their first mark, and where those columns are not one attribute, at their last. That each row has
    just one 1 is judged by the counts: together there are as many as rows.
    """
    found: list[Family] = []
    usable = [profile for profile in profiles if _zero_one(profile)]
    for place in (0, -1):
        used = {column for family in found for column in family.columns.values()}
        found += _cut_at([profile for profile in usable if profile.name not in used], place)
    return found


def _cut_at(profiles: Sequence[Profile], place: int) -> Iterator[Family]:
    named: dict[str, list[tuple[str, Profile]]] = {}
    for profile in profiles:
        cuts = list(re.finditer(r"[_=:.]|(?<=[a-z])(?=[A-Z])", profile.name))
        name, label = (
            (profile.name[: cuts[place].start()], profile.name[cuts[place].end() :]) if cuts else ("", "")
        )
        if name and label:
            named.setdefault(name, []).append((label, profile))
    for name, members in named.items():
        counts = {label: _ones(profile) for label, profile in members}
        if len(members) > 1 and sum(counts.values()) == members[0][1].rows:
            yield Family(name, {label: profile.name for label, profile in members}, counts)


def _zero_one(profile: Profile) -> bool:
    return bool(profile.labels) and set(profile.labels) <= _ZERO_ONE and not profile.missing


def _ones(profile: Profile) -> int:
    counted = zip(profile.labels, profile.counts, strict=True)
    return sum(count for label, count in counted if label in _YES)
