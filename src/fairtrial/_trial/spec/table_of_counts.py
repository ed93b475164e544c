"""Files whose rows stand for several people each: a column of how many, found by its name and by the other columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairtrial._trial.spec import name_words as words
from fairtrial._trial.spec.profile import Profile

FEW = 2_000  # rows of a table; a longer one is asked about
PERCENT = 100.0


def count_column(profiles: Sequence[Profile], taken: Collection[str]) -> str | None:
    """The column of how many people each row stands for, where no two rows have the same labels; else None."""
    able = [profile for profile in profiles if may_count(profile) and profile.name not in taken]
    ranked = sorted((words.role_rank(profile.name, "count") or 0, profile.name) for profile in able)
    return ranked[0][1] if ranked and _each_row_once(ranked[0][1], profiles) else None


def may_count(profile: Profile) -> bool:
    """Whether it is named as numbers of people are, and holds such."""
    named = words.role_rank(profile.name, "count") is not None
    return named and profile.whole and profile.low >= 0 and profile.high > 1


def counted_part(count: str, profiles: Sequence[Profile], role: str) -> str | None:
    """The column named as a decision or an outcome that says how many of the people had it, or which share."""
    people = next(profile for profile in profiles if profile.name == count)
    for profile in profiles:
        part = profile.numeric and not profile.zero_one and profile.name != count and profile.low >= 0
        share = profile.high <= PERCENT and not profile.whole
        if (
            part
            and (share or profile.high <= people.high)
            and words.role_rank(profile.name, role) is not None
        ):
            return profile.name
    return None


def people_of(profile: Profile) -> int:
    """All people that a column counts."""
    return sum(int(float(label)) * rows for label, rows in zip(profile.labels, profile.counts, strict=True))


def in_people(profiles: Sequence[Profile], count: str | None) -> list[Profile]:
    """The labels of the other columns, counted as people."""
    if count is None:
        return list(profiles)
    column = next(profile for profile in profiles if profile.name == count)
    people = np.array([*map(float, column.labels), 0.0])[column.codes]
    return [profile if profile is column else _recounted(profile, people) for profile in profiles]


def _recounted(profile: Profile, people: NDArray[np.float64]) -> Profile:
    known = profile.codes >= 0
    counts = np.bincount(profile.codes[known], people[known], len(profile.labels))
    everyone = int(people.sum())
    missing = everyone - int(people[known].sum())
    return replace(profile, counts=tuple(int(n) for n in counts), missing=missing, rows=everyone)


def _each_row_once(count: str, profiles: Sequence[Profile]) -> bool:
    labels = [profile for profile in profiles if profile.name != count and profile.category]
    if not labels or labels[0].rows > FEW:
        return False
    rows = np.stack([profile.codes for profile in labels], axis=1)
    return len(np.unique(rows, axis=0)) == len(rows)
