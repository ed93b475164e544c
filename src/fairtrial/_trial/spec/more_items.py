"""Items that most files do not need: spellings to merge, what may explain a difference, people who appear twice."""

from __future__ import annotations

from collections.abc import Sequence

from fairtrial._trial.spec import name_words as words
from fairtrial._trial.spec.attributes import comparable
from fairtrial._trial.spec.guess import Guess, compared_columns
from fairtrial._trial.spec.items import Choice, Item
from fairtrial._trial.spec.profile import Profile
from fairtrial._trial.spec.spellings import alike_labels

FEW_ROWS = 20  # of one person; an identifier that more rows share names a place rather than people


def spelling_items(found: Guess, profiles: Sequence[Profile]) -> list[Item]:
    """For each attribute whose labels are spelled in several ways: which count as one group."""
    return [
        item
        for profile in profiles
        if profile.name in found.groups and (item := spelling_item(profile)) is not None
    ]


def spelling_item(profile: Profile) -> Item | None:
    """Whether spellings of one group count as one; None where each label has one spelling."""
    alike = alike_labels(profile)
    if not alike:
        return None
    said = "; ".join(
        f"{_listed(same)} {'counts' if len(same) == 1 else 'count'} as {one!r}" for one, same in alike.items()
    )
    left = len(profile.labels) - sum(map(len, alike.values()))
    return Item(
        f"merge {profile.name}",
        f"{profile.name} has {len(profile.labels)} labels, some of which look like spellings of one group. Merge them?",
        True,
        f"they differ in case, blanks, accents or abbreviation: {said}",
        False,
        (
            Choice(
                True,
                f"merge them into {left} groups: {said}",
                writes={"data": {"merge": {profile.name: alike}}},
            ),
            Choice(None, f"keep all {len(profile.labels)} apart"),
        ),
    )


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(map(repr, labels))


def explaining_items(found: Guess, profiles: Sequence[Profile]) -> list[Item]:
    """What may explain a difference: people are compared with those alike in it, such as the same job."""
    taken = {found.decision, found.outcome, found.score, found.count, found.total, *compared_columns(found)}
    able = [
        name
        for name in comparable(profiles)
        if name not in taken and words.role_rank(name, "factor") is not None
    ]
    if not able or (found.decision is None and found.threshold is None):
        return []
    choices = [
        Choice(name, f"people alike in {name!r} are compared, too", writes=_within(found, name))
        for name in able
    ]
    question = "What may rightly explain a difference, such as the job that people applied for?"
    reason = (
        "its name may say so; it is for you to judge"
        if len(able) == 1
        else "their names may say so; it is for you to judge"
    )
    return [Item("within", question, [], reason, False, tuple(choices), several=True)]


def _within(found: Guess, name: str) -> dict[str, object]:
    metric = "mean_decision" if found.amount else "selection_rate"
    return {"flag": {"metric": metric, "within": [name]}}


def repeated_items(found: Guess, profiles: Sequence[Profile]) -> list[Item]:
    """Whether several rows are about one person: proposed where a column names people and its values repeat."""
    taken = {found.decision, found.outcome, found.score, found.count, found.total, *compared_columns(found)}
    able = [] if found.count or found.total else [p for p in profiles if p.name not in taken and repeats(p)]
    if not able:
        return []
    first = able[0]
    choices = [
        Choice(p.name, f"each value of {p.name!r} is one person", len(p.labels), {"data": {"unit": p.name}})
        for p in able
    ]
    question = (
        f"{first.name} has {len(first.labels):,} values in {first.rows - first.missing:,} rows. Does it name people, "
        "some of whom have several rows?"
    )
    alone = Choice(None, "no: each row is a different person", first.rows)
    return [
        Item(
            "unit",
            question,
            first.name,
            "its name speaks of people, and its values repeat",
            False,
            (*choices, alone),
        )
    ]


def repeats(profile: Profile) -> bool:
    """Whether a column is named as people are, and several rows, but not many, share a value."""
    rows = profile.rows - profile.missing
    named = words.role_rank(profile.name, "person") is not None
    return named and rows / FEW_ROWS < len(profile.labels) < rows
