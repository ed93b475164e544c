"""What was understood of a file, as three cards of plain data: the terminal asks them, the page shows them.

*What was decided?*, *Who is compared?* and *What else counts?* hold items. Each has what is proposed, why, and what
else it could be; each choice says what it writes into the audit file, so that a front end has nothing to work out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairtrial._trial.spec import name_words as words
from fairtrial._trial.spec.attributes import comparable
from fairtrial._trial.spec.guess import (
    Guess,
    binary_columns,
    compared_columns,
    is_amount,
    numbers,
    speaks_for_a_role,
)
from fairtrial._trial.spec.items import NO_COLUMN, UNKNOWN, Card, Choice, Item
from fairtrial._trial.spec.more_items import explaining_items, repeated_items, spelling_items
from fairtrial._trial.spec.name_words import good_for_a_person, positive_label
from fairtrial._trial.spec.one_hot import Family, families
from fairtrial._trial.spec.profile import Profile
from fairtrial._trial.spec.table_of_counts import in_people, may_count, people_of


def cards(found: Guess, profiles: Sequence[Profile]) -> tuple[Card, ...]:
    """The three cards of a guess; `dataclasses.asdict` makes them JSON."""
    counted = found.count or found.total
    people = in_people(profiles, counted)
    compared = (groups_item(found, people), *spelling_items(found, people))
    decided = (decision_item(found, people if found.total is None else profiles),)
    other = [outcome_item(found, profiles), score_item(found, profiles), *count_items(found, profiles)]
    other += [*explaining_items(found, profiles), *repeated_items(found, profiles)]
    return (
        Card("decided", "What was decided?", decided),
        Card("compared", "Who is compared?", compared),
        Card("else", "What else counts?", tuple(other)),
    )


def decision_item(found: Guess, profiles: Sequence[Profile]) -> Item:
    """The column of decisions, and of each that it could be which value is good for a person."""
    by_name = {profile.name: profile for profile in profiles}
    named = _candidates(found.decision, profiles, compared_columns(found))
    counted = found.decision if found.total is not None else None
    choices = [
        Choice(
            name,
            name,
            writes={"data": {"decision": name}},
            then=(_counted_direction(found) if counted == name else direction_item(by_name[name]),),
        )
        for name in named
    ]
    choices.append(Choice(None, NO_COLUMN))
    sure = found.decision is not None
    return Item(
        "decision",
        "Which column says what was decided about each person?",
        found.decision,
        _role_reason(found, "decision"),
        sure,
        tuple(choices),
    )


def direction_item(profile: Profile) -> Item:
    """Which of a decision's values is good for a person; nothing is proposed where no word says it."""
    if is_amount(profile):
        return _amount_direction(profile)
    yes = "1" if profile.zero_one else positive_label(profile)
    tone = good_for_a_person(profile.name, yes or "") if profile.zero_one or yes else None
    choices = [_direction_choice(profile, label, yes) for label in profile.labels]
    value = None
    if tone is not None and profile.binary:
        no = next(label for label in profile.labels if label != yes)
        value = yes if tone else no
    shown = values_in_people(profile)
    question = f"{profile.name}: {shown}. Which is good for the person?"
    if yes is not None:
        question = f"{profile.name}: {shown}. Is {yes!r} good for the person?"
    reason = "the names say so" if value is not None else "neither its name nor its values say it"
    return Item("favourable", question, value, reason, value is not None, (*choices, Choice(None, UNKNOWN)))


def _amount_direction(profile: Profile) -> Item:
    """Of a decision that is an amount, such as pay: whether much of it is good."""
    paid = words.role_rank(profile.name, "pay") is not None
    choices = [
        Choice(value, f"{value} values", writes={"data": {"favourable": value}}) for value in ("high", "low")
    ]
    question = f"{profile.name}: {values_in_people(profile)}. Are high values good for the person?"
    reason = "more pay is good for a person" if paid else "its name does not say it"
    return Item(
        "favourable", question, "high" if paid else None, reason, paid, (*choices, Choice(None, UNKNOWN))
    )


def _direction_choice(profile: Profile, label: str, yes: str | None) -> Choice:
    """What is written where this value is the good one; the label that means yes stays decision 1."""
    counted = yes or label
    writes: dict[str, Any] = {"favourable": int(label == counted)}
    if not profile.zero_one:
        writes["positive"] = {"decision": counted}
    return Choice(label, label, _people(profile, label), {"data": writes})


def _counted_direction(found: Guess) -> Item:
    """Whether it is good for a person to be among those whom a column counts."""
    said = {1: "yes", 0: "no"}
    choices = [Choice(value, text, writes={"data": {"favourable": value}}) for value, text in said.items()]
    question = f"{found.decision!r} counts some of the people in {found.total!r}. Is that decision good for the person?"
    reason = "its name says so" if found.favourable is not None else "its name does not say it"
    sure = found.favourable is not None
    return Item("favourable", question, found.favourable, reason, sure, (*choices, Choice(None, UNKNOWN)))


def count_items(found: Guess, profiles: Sequence[Profile]) -> list[Item]:
    """How many people a row stands for, where a column's name speaks of it."""
    counted = found.count or found.total
    able = [
        p for p in profiles if p.name == counted or (may_count(p) and p.name not in compared_columns(found))
    ]
    if not able:
        return []
    role = "count" if found.total is None else "total"
    choices = [
        Choice(p.name, f"as many as {p.name!r} says", people_of(p), {"data": {role: p.name}}) for p in able
    ]
    rows = able[0].rows
    reason = "no two rows have the same labels" if counted else "its name may say so, and many rows are alike"
    question = "How many people does each row stand for?"
    alone = Choice(None, "one person", rows)
    return [Item("count", question, counted, reason, False, (*choices, alone))]


def outcome_item(found: Guess, profiles: Sequence[Profile]) -> Item:
    """The column of what really happened."""
    taken = compared_columns(found) | {str(found.decision)}
    choices = [
        Choice(name, name, writes={"data": {"outcome": name}})
        for name in _candidates(found.outcome, profiles, taken)
    ]
    return Item(
        "outcome",
        "Which column says what really happened to each person, such as repaid or reoffended?",
        found.outcome,
        _role_reason(found, "outcome"),
        found.outcome is not None,
        (*choices, Choice(None, NO_COLUMN)),
    )


def score_item(found: Guess, profiles: Sequence[Profile]) -> Item:
    """The score that the decision rests on."""
    able = [name for name in numbers(profiles) if name != found.score and name not in compared_columns(found)]
    named = [found.score, *able] if found.score else able
    choices = [
        Choice(
            name,
            name,
            writes={"data": {"score": name}},
            then=(_score_direction(found if name == found.score else None),) if found.decision else (),
        )
        for name in named
    ]
    return Item(
        "score",
        "Which column is the score that the decision rests on?",
        found.score,
        _role_reason(found, "score"),
        found.score is not None,
        (*choices, Choice(None, NO_COLUMN)),
    )


def _score_direction(found: Guess | None) -> Item:
    """Whether a high score is good for a person, beside a decision that has its own direction."""
    value = found.score_favours if found else None
    reason = found.remarks["score_favours"] if found and value else "its name does not say it"
    said = {"high": "high scores are", "low": "low scores are"}
    choices = [Choice(one, text, writes={"data": {"score_favours": one}}) for one, text in said.items()]
    question = "Which scores are good for a person?"
    return Item("score_favours", question, value, reason, False, (*choices, Choice(None, UNKNOWN)))


def groups_item(found: Guess, profiles: Sequence[Profile]) -> Item:
    """The attributes whose groups are compared, each with its groups and their sizes."""
    by_name = {profile.name: profile for profile in profiles}
    written = {family.name: family for family in families(profiles)}
    taken = {found.decision, found.outcome, found.score, found.count, found.total}
    named = dict.fromkeys([*found.attributes, *comparable(profiles)])
    choices = []
    for name in named:
        if name in taken:
            continue
        if name in by_name:
            choices.append(
                Choice(
                    name, f"{name}: {values_in_people(by_name[name])}", by_name[name].rows, _grouping(name)
                )
            )
        elif name in written:
            choices.append(_family_choice(written[name]))
    reason = "the names or the values say so" if found.attributes else "no name says sex, race or the like"
    return Item(
        "groups",
        "Whose treatment is compared?",
        list(found.attributes),
        reason,
        bool(found.attributes),
        tuple(choices),
        several=True,
    )


def _grouping(name: str) -> dict[str, Any]:
    return {"data": {"groups": [name]}}


def _family_choice(family: Family) -> Choice:
    shown = ", ".join(f"{label} {count:,}" for label, count in family.counts.items())
    defined = family.definitions()
    return Choice(
        family.name,
        f"{family.name}: {shown}",
        sum(family.counts.values()),
        {"data": {"groups": list(defined)}, "groups": defined},
    )


def _candidates(proposed: str | None, profiles: Sequence[Profile], taken: set[str]) -> list[str]:
    """The proposed column first, then those of two values, then those of a few that are named like a role."""
    able = [*([proposed] if proposed else []), *binary_columns(profiles, taken)]
    able += [p.name for p in profiles if p.name not in taken and speaks_for_a_role(p)]
    return list(dict.fromkeys(able))


def _role_reason(found: Guess, role: str) -> str:
    name = getattr(found, role)
    if name is None:
        return "no name says so"
    if role in found.remarks:
        return found.remarks[role]
    said = any(words.role_rank(name, one) is not None for one in (role, *(["pay"] if found.amount else [])))
    return "its name says so" if said else "as you said"


def values_in_people(profile: Profile, most: int = 8) -> str:
    """'yes for 12 of 100, no for 88 of 100', the values of a column as counts of people."""
    if not profile.category and not profile.binary:
        return f"numbers from {profile.low:g} to {profile.high:g}" if profile.numeric else "texts"
    told = sorted(zip(profile.labels, profile.counts, strict=True), key=lambda pair: -pair[1])
    total = sum(profile.counts)
    shown = [f"{label} for {of_hundred(count, total)}" for label, count in told[:most]]
    return ", ".join(shown) + (f" and {len(told) - most} more" if len(told) > most else "")


def of_hundred(count: int, total: int) -> str:
    """A share as a count of people."""
    share = 100 * count / max(total, 1)
    if 0.5 <= share <= 99.5 or count in (0, total):
        return f"{share:.0f} of 100"
    return f"{round(10 * share) or 1} of 1,000" if share < 50 else f"{min(round(10 * share), 999)} of 1,000"


def _people(profile: Profile, label: str) -> int | None:
    return dict(zip(profile.labels, profile.counts, strict=True)).get(label)
