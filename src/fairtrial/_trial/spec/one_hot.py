"""Columns of 0 and 1 that are one attribute: Race_Black, Race_White, …; or black, hispan, white without a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fairtrial._trial.spec.name_words import label_of, parts, words_for
from fairtrial._trial.spec.profile import MAX_CATEGORIES, Profile

REST = "other"
_ZERO_ONE = {"0", "1", "true", "false"}
_YES = {"1", "true"}


@dataclass(frozen=True, slots=True)
class Family:
    """An attribute and the column of each of its labels; `rest` people are in none of them."""

    name: str
    columns: dict[str, str]
    counts: dict[str, int]
    rest: int = 0

    @property
    def category(self) -> bool:
        """Few enough labels to compare people by."""
        return len(self.columns) <= MAX_CATEGORIES

    def definitions(self) -> dict[str, dict[str, int]]:
        """The groups as an audit defines them; of two labels that are all the rarer says all."""
        labels = [label for label in self.columns if self.counts[label]]
        if len(self.columns) == 2 and not self.rest:
            labels = [min(labels, key=lambda label: self.counts[label])]
        defined = {f"{self.name}: {label}": {self.columns[label]: 1} for label in labels}
        if self.rest:
            defined[f"{self.name}: {REST}"] = dict.fromkeys(self.columns.values(), 0)
        return defined


def families(profiles: Sequence[Profile]) -> list[Family]:
    """The attributes of a file that are written as columns of 0 and 1.

    Names are cut at their first mark, and where those columns are not one attribute, at their last. Each row must have
    just one 1. Columns that share no name are one attribute where they are named as groups of it and no row has two.
    """
    found: list[Family] = []
    usable = [profile for profile in profiles if _zero_one(profile)]
    for place in (0, -1):
        found += _cut_at(_left(usable, found), place)
    names = {profile.name.lower() for profile in profiles} | {family.name.lower() for family in found}
    return found + list(_named_as_groups(_left(usable, found), names))


def _left(profiles: Sequence[Profile], found: Sequence[Family]) -> list[Profile]:
    used = {column for family in found for column in family.columns.values()}
    return [profile for profile in profiles if profile.name not in used]


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
        most, none = _ones_of([profile for _, profile in members])
        if len(members) > 1 and most == 1 and none == 0:
            yield _family(name, members, 0)


def _named_as_groups(profiles: Sequence[Profile], names: set[str]) -> Iterator[Family]:
    """black, hispan and white as race; a row may be in none of them, and then it is of the rest."""
    beside = words_for("members", "beside")
    taken: set[str] = set()
    for attribute, of in (("race", ("race", "ethnic")), ("sex", ("sex",))):
        members = [
            (next(part for part in parts(profile.name) if part not in beside), profile)
            for profile in profiles
            if label_of(profile.name) in of and profile.name not in taken
        ]
        labels = {label for label, _ in members}
        if len(members) < 2 or len(labels) < len(members) or attribute in names:
            continue
        most, none = _ones_of([profile for _, profile in members])
        if len(members) == 2 and not none:
            continue  # one of the two says all: it is compared as it is
        if most == 1 and REST not in labels and all(_ones(profile) for _, profile in members):
            taken |= {profile.name for _, profile in members}
            yield _family(attribute, members, none)


def _family(name: str, members: Sequence[tuple[str, Profile]], rest: int) -> Family:
    columns = {label: profile.name for label, profile in members}
    return Family(name, columns, {label: _ones(profile) for label, profile in members}, rest)


def _ones_of(profiles: Sequence[Profile]) -> tuple[int, int]:
    """How many of the columns are 1 in one row at most, and how many rows have no 1."""
    together = sum(
        np.isin(profile.codes, [i for i, label in enumerate(profile.labels) if label in _YES]).astype(int)
        for profile in profiles
    )
    ones = np.asarray(together)
    return int(ones.max(initial=0)), int((ones == 0).sum())


def _zero_one(profile: Profile) -> bool:
    return bool(profile.labels) and set(profile.labels) <= _ZERO_ONE and not profile.missing


def _ones(profile: Profile) -> int:
    counted = zip(profile.labels, profile.counts, strict=True)
    return sum(count for label, count in counted if label in _YES)
