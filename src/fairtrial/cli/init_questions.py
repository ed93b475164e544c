"""What `fairtrial init` asks on a terminal: each guess is offered, each answer is checked at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import typer

from fairtrial._errors import did_you_mean
from fairtrial._trial.spec import name_words as words
from fairtrial._trial.spec.attributes import comparable
from fairtrial._trial.spec.cards import values_in_people
from fairtrial._trial.spec.guess import (
    Guess,
    compare_by,
    compared_columns,
    find_features,
    settle_parts,
)
from fairtrial._trial.spec.items import UNKNOWN
from fairtrial._trial.spec.more_items import repeats
from fairtrial._trial.spec.name_words import positive_label, readable
from fairtrial._trial.spec.one_hot import families
from fairtrial._trial.spec.profile import Profile
from fairtrial._trial.spec.speech import value_text
from fairtrial._trial.spec.spellings import alike_labels
from fairtrial._trial.spec.table_of_counts import may_count, people_of
from fairtrial.cli.init_screens import confirm_parts, confirm_rest, is_nothing

QUESTIONS = {
    "decision": "What was decided about each person, such as approved or hired",
    "outcome": "What really happened to each person, such as repaid or reoffended",
    "score": "The score that the decision rests on",
}
SHOWN = 40  # columns; more would push the questions off the screen


def ask(found: Guess, profiles: Sequence[Profile], missing: str | None = None) -> Guess:
    """At most seven questions: what the file shows on one screen, what it does not show, and the rest on another."""
    by_name = {profile.name: profile for profile in profiles}
    keys = "Enter takes what stands in brackets; - means there is none, or that you do not know; ? lists all columns."
    for line in (*described(profiles), "", keys):
        typer.echo(line, err=True)
    profile = by_name.get(str(found.decision))
    said = profile is not None and (found.amount or found.total is not None or readable(profile))
    known = said and found.favourable is not None
    again = confirm_parts(found, _good_words(found) if known else None)
    for role in QUESTIONS:
        if role in again:
            _ask_part(found, role, by_name)
    if not known or again & {"decision", "good"}:
        _ask_good(found, by_name)
    if "compared" in again:
        compare_by(found, _ask_groups(found, profiles), profiles)
    find_features(found, profiles)
    confirm_rest(found, profiles, missing)
    find_features(found, profiles)
    return found


def _ask_part(found: Guess, role: str, by_name: Mapping[str, Profile]) -> None:
    """A column for a part, and what follows from it."""
    before = getattr(found, role)
    found.remarks.pop(role, None)
    setattr(found, role, _ask_column(QUESTIONS[role], before, by_name))
    if getattr(found, role) != before:
        settle_parts(found, by_name)


def _good_words(found: Guess) -> str:
    if found.amount:
        return "high values are good for the person"
    good, counted = "good" if found.favourable == 1 else "not good", found.positive.get("decision", "1")
    return f"{counted if isinstance(counted, str) else ' or '.join(counted)} is {good} for the person"


def _ask_good(found: Guess, by_name: Mapping[str, Profile]) -> None:
    """Which value of the decision is good for a person, with what the file shows; nobody needs to know."""
    found.remarks.pop("favourable", None)
    profile = by_name.get(str(found.decision))
    if profile is None or found.total is not None or found.amount:
        if profile is not None or found.threshold is not None:
            found.favourable = _ask_side(found)
        return
    yes = "1" if profile.zero_one and "1" in profile.labels else positive_label(profile)
    shown, default = values_in_people(profile), UNKNOWN
    if found.favourable is not None and yes is not None and profile.binary:
        default = yes if found.favourable == 1 else next(label for label in profile.labels if label != yes)
    while True:
        answer = str(
            typer.prompt(f"{profile.name}: {shown}. Which is good for the person", default=default)
        ).strip()
        if is_nothing(answer) and answer not in profile.labels:
            _nobody_knows(found, profile, yes)
            return
        labels = split_names(answer, profile.labels)
        unknown = [label for label in labels if label not in profile.labels]
        if labels and not unknown and len(labels) < len(profile.labels):
            _take_good(found, profile, labels, yes)
            return
        hint = did_you_mean(unknown[0], profile.labels) if unknown else ""
        typer.echo(f"It is one of {', '.join(profile.labels)}, or {UNKNOWN}.{hint}", err=True)


def _nobody_knows(found: Guess, profile: Profile, yes: str | None) -> None:
    """Of two labels the rarer one counts as 1 where no word says yes: no finding depends on which."""
    found.favourable = None
    if profile.binary and not profile.zero_one:
        rarer = profile.labels[profile.counts[0] > profile.counts[1]]
        found.positive["decision"] = yes or rarer
        found.remarks["positive"] = "the labels that count as 1"


def _take_good(found: Guess, profile: Profile, labels: list[str], yes: str | None) -> None:
    if profile.binary and yes is not None:
        found.favourable = int(labels == [yes])
        labels = [yes]
    else:
        found.favourable = 1
    if not profile.zero_one:
        found.positive["decision"] = labels[0] if len(labels) == 1 else labels
        found.remarks["positive"] = "the labels that count as 1"


_GOOD: dict[str, int | str] = {"yes": 1, "y": 1, "1": 1, "no": 0, "n": 0, "0": 0}


def _ask_side(found: Guess) -> int | str | None:
    """Whether being counted, a high amount or a score above the cut-off is good for a person."""
    sides: tuple[int | str, int | str] = ("high", "low") if found.amount else (1, 0)
    if found.amount:
        words = f"Are high values of {found.decision} good for a person"
    elif found.total is not None:
        words = f"Is it good for a person to be counted in {found.decision}"
    else:
        words = f"Is it good for a person when {found.score} is {found.threshold} or more"
    default = UNKNOWN if found.favourable is None else "yes" if found.favourable == sides[0] else "no"
    while True:
        answer = str(typer.prompt(f"{words} (yes, no)", default=default)).strip().lower()
        if answer in _GOOD:
            return sides[0] if _GOOD[answer] == 1 else sides[1]
        if is_nothing(answer):
            return None
        typer.echo(f"It is yes or no, or: {UNKNOWN}.", err=True)


def described(profiles: Sequence[Profile], most: int = SHOWN) -> list[str]:
    """The columns and what they hold, an attribute that is written as columns of 0 and 1 as one line."""
    written = families(profiles)
    inside = {column for family in written for column in family.columns.values()}
    lines = [(profile.name, _holds(profile)) for profile in profiles if profile.name not in inside]
    lines += [
        (f"{family.name} …", f"{len(family.columns)} columns of 0 and 1: {_listed(list(family.columns))}")
        for family in written
    ]
    width = min(30, max(len(name) for name, _ in lines[:most])) if lines else 0
    shown = [f"  {name:<{width}}  {holds}" for name, holds in lines[:most]]
    more = [f"  and {len(lines) - most} more"] if len(lines) > most else []
    return ["Columns, and what the rows looked at hold:", *shown, *more]


def _holds(profile: Profile) -> str:
    if len(profile.labels) < 2:
        return f"nothing but {profile.labels[0]}" if profile.labels else "nothing"
    if profile.category:
        return f"{len(profile.labels)} labels: {_listed(profile.labels)}"
    if profile.numeric:
        return f"numbers from {profile.low:g} to {profile.high:g}"
    return f"{len(profile.labels):,} different texts"


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(labels[:6]) + (", …" if len(labels) > 6 else "")


def needs_labels(profile: Profile, role: str) -> bool:
    """Whether it has to be said which labels count as 1; an outcome may also be a number."""
    if profile.zero_one:
        return False
    return profile.category and (profile.binary or not (role == "outcome" and profile.numeric))


def split_names(text: str, known: Sequence[str]) -> list[str]:
    """Names with commas between them; a name may hold one itself."""
    return (
        [text.strip()]
        if text.strip() in known
        else [part.strip() for part in text.split(",") if part.strip()]
    )


def _ask_column(words: str, default: str | None, by_name: Mapping[str, Profile]) -> str | None:
    while True:
        answer = str(typer.prompt(words, default=default or "-")).strip()
        if answer in by_name:
            return answer
        if is_nothing(answer):
            return None
        _tell_columns([answer], list(by_name), list(by_name.values()))


def _tell_columns(unknown: Sequence[str], known: Sequence[str], profiles: Sequence[Profile]) -> None:
    """What an answer that names no column is told; a question mark asks for all of them."""
    for name in unknown:
        lines = described(profiles, len(known)) if name == "?" else [f"There is no column {name!r}."]
        typer.echo("\n".join(lines) + ("" if name == "?" else did_you_mean(name, known)), err=True)


def _ask_groups(found: Guess, profiles: Sequence[Profile]) -> list[str]:
    written = families(profiles)
    known = [profile.name for profile in profiles] + [family.name for family in written]
    words = "Whom to compare: the attributes, such as race, sex (with commas)"
    while True:
        offered = ", ".join(found.attributes)
        answer = str(typer.prompt(words, default=offered, show_default=bool(offered)))
        named = split_names(answer, known)
        unknown = [name for name in named if name not in known]
        if named and not unknown:
            return named
        _tell_columns(unknown, known, profiles)
        if not named:
            _tell_comparable(found, profiles)


def _tell_comparable(found: Guess, profiles: Sequence[Profile]) -> None:
    able = [name for name in comparable(profiles) if name not in (found.decision, found.outcome)]
    typer.echo(f"Somebody must be compared. Columns of few labels: {', '.join(able) or 'none'}.", err=True)


# -- Signs that a row of a file is not one person of its own, or that its first line does not name the columns.
def alike_said(found: Guess, profiles: Sequence[Profile]) -> list[str]:
    """Spellings that nobody was asked about, with the line that merges them."""
    return [
        f"{profile.name!r} seems to spell one group in several ways. To count them as one, add this under [data]: "
        f"merge = {value_text({profile.name: alike})}"
        for profile in profiles
        if profile.name in found.groups and (alike := alike_labels(profile))
    ]


def not_one_person(found: Guess, profiles: Sequence[Profile]) -> list[str]:
    """What an audit would get wrong, and the line that puts it right."""
    taken = {found.decision, found.outcome, found.score, found.unit, *compared_columns(found)}
    counted = found.count or found.total
    if counted is not None:
        profile = next(profile for profile in profiles if profile.name == counted)
        return [
            f"{counted!r} is taken as how many people each row stands for: {profile.rows:,} rows are "
            f"{people_of(profile):,} people. If each row is one person, take it out."
        ]
    return [text for profile in profiles if profile.name not in taken for text in _signs(profile)]


def _signs(profile: Profile) -> Iterator[str]:
    name, shown = profile.name, repr(profile.name)
    several = profile.numeric and profile.high > 1
    if may_count(profile):
        line = f"count = {value_text(name)}"
        yield f"{shown} may say how many people a row stands for. If it does, add {line} under [data]."
    elif several and words.role_rank(name, "weight") is not None and not profile.category:
        line = f"weight = {value_text(name)}"
        yield f"{shown} may be a survey weight, and people count alike. If it is, add {line} under [data]."
    elif repeats(profile):
        yield (
            f"{shown} has {len(profile.labels):,} values in {profile.rows - profile.missing:,} rows looked at. If it "
            f"names people, add unit = {value_text(name)} under [data]: rows of one person are not independent."
        )


def no_names(profiles: Sequence[Profile]) -> str | None:
    """Names that are numbers, where the first line is likely one of the rows."""
    found = [repr(profile.name) for profile in profiles if _is_number(profile.name)]
    if not found:
        return None
    listed = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
    return f"the first line names columns {listed}. If it holds a row instead of names, put a line of names above it."


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
