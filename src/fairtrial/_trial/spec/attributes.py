"""Whom to compare: the attributes that names or values of a file's columns speak for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fairtrial._trial.spec import name_words as words
from fairtrial._trial.spec.name_words import positive_label
from fairtrial._trial.spec.one_hot import Family, families
from fairtrial._trial.spec.profile import Profile

MAX_GROUPS = 3


def named_attributes(profiles: Sequence[Profile], grouped: Sequence[Family]) -> list[str]:
    """The attributes whose names or values speak; not those that join others, such as race-sex."""
    single = _single(profiles, grouped)
    by_name = {profile.name: profile for profile in profiles}
    named: list[str] = []
    for name in [*_ranked(single), *_held(single, by_name)]:
        named += [] if any(says_the_same(by_name, name, other) for other in named) else [name]
    named = named[:MAX_GROUPS]
    return named + _labels(single, named, profiles) or _ranked_else(single)[:1]


def comparable(profiles: Sequence[Profile]) -> list[str]:
    """What people could be compared by."""
    grouped = families(profiles)
    inside = columns_inside(grouped)
    columns = [p.name for p in profiles if p.category and p.name not in inside and not _numbers_rows(p)]
    return columns + [family.name for family in grouped if family.category]


def _numbers_rows(profile: Profile) -> bool:
    """Whether each row has a number of its own."""
    return (
        profile.whole and len(profile.labels) > 2 and len(set(profile.codes.tolist())) == len(profile.codes)
    )


def left_out_of(taken: Collection[str], profiles: Sequence[Profile]) -> list[str]:
    """What is not among those taken although its name says that people may be compared by it."""
    single = _single(profiles, families(profiles))
    several = {profile.name for profile in profiles if profile.category and not profile.binary}
    labels = [name for name in single if name in several and words.label_of(name) is not None]
    by_name = {profile.name: profile for profile in profiles}
    listed = dict.fromkeys([*_ranked(single), *labels])
    said = [name for name in listed if any(says_the_same(by_name, name, other) for other in taken)]
    return [name for name in listed if name not in taken and name not in said]


def speaks_for_a_group(name: str) -> bool:
    """Whether people may be compared by what the name says."""
    return words.attribute_rank(name) is not None or words.else_rank(name) is not None


def says_the_same(by_name: dict[str, Profile], name: str, other: str) -> bool:
    """Whether one column of an attribute is the other in a code, as SexCode is Sex."""
    one, two = by_name.get(name), by_name.get(other)
    if one is None or two is None or words.attribute_of(name) != words.attribute_of(other):
        return False
    return one_to_one(one, two)


def one_to_one(one: Profile, two: Profile) -> bool:
    """Whether each label of one column stands beside one label of the other, and the other way round."""
    pairs = {pair for pair in zip(one.codes.tolist(), two.codes.tolist(), strict=True) if -1 not in pair}
    return len(one.labels) == len(two.labels) == len(pairs)


def columns_inside(grouped: Sequence[Family]) -> set[str]:
    """The columns that attributes of several columns are written as."""
    return {column for family in grouped for column in family.columns.values()}


def _held(names: Sequence[str], by_name: dict[str, Profile]) -> list[str]:
    """Columns whose labels are groups of people though their names do not say so."""
    held = {name: words.held_by(by_name[name].labels) for name in names if name in by_name}
    lacking = _not_held(_ranked(names))
    return [name for name, of in held.items() if of in lacking]


def _single(profiles: Sequence[Profile], grouped: Sequence[Family]) -> list[str]:
    known = {words.spoken(name) for name in (*(p.name for p in profiles), *(f.name for f in grouped))}
    return [name for name in comparable(profiles) if not _joins(name, known)]


def _ranked(names: Sequence[str]) -> list[str]:
    ranked = [(place, name) for name in names if (place := words.attribute_rank(name)) is not None]
    return [name for _, name in sorted(ranked)]


def _ranked_else(names: Sequence[str]) -> list[str]:
    ranked = [(place, name) for name in names if (place := words.else_rank(name)) is not None]
    return [name for _, name in sorted(ranked)]


def _labels(names: Sequence[str], named: Sequence[str], profiles: Sequence[Profile]) -> list[str]:
    """Columns of two values that say who is in one group of an attribute that no column of its own holds.

    Of two that say the same of everybody, as male and female do, the rarer's is taken.
    """
    labels = {name for name in names if words.label_of(name) in _not_held(named)}
    found: list[Profile] = []
    for profile in sorted((p for p in profiles if p.binary and p.name in labels), key=_said_yes):
        alike = [other for other in found if words.label_of(other.name) == words.label_of(profile.name)]
        found += [] if any(one_to_one(profile, other) for other in alike) else [profile]
    return [profile.name for profile in profiles if profile in found]


_HELD_BY = {"sex": ("sex",), "race": ("race", "ethnic"), "ethnic": ("ethnic",)}


def _not_held(named: Sequence[str]) -> list[str]:
    """The attributes that no column of their own holds."""
    held = {words.attribute_of(name) for name in named}
    return [of for of, holders in _HELD_BY.items() if not held & set(holders)]


def _said_yes(profile: Profile) -> int:
    counts = dict(zip(profile.labels, profile.counts, strict=True))
    return counts.get(positive_label(profile) or "", 0)


def _joins(name: str, known: Collection[str]) -> bool:
    """Whether a name is made of other columns' names."""
    found = words.parts(name)
    return len(found) > 1 and all(part in known for part in found)
