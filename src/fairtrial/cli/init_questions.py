"""What `fairtrial init` asks on a terminal: each guess is offered, each answer is checked at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import typer

from fairtrial._errors import Fault, InputError, did_you_mean
from fairtrial._trial.spec import name_words as words
from fairtrial._trial.spec.attributes import comparable
from fairtrial._trial.spec.compose import PRESET_WORDS
from fairtrial._trial.spec.guess import (
    Guess,
    answerable_presets,
    compare_by,
    compared_columns,
    find_features,
    find_missing,
    fitting_preset,
    settle_favourable,
)
from fairtrial._trial.spec.more_items import repeats
from fairtrial._trial.spec.name_words import positive_label
from fairtrial._trial.spec.one_hot import families
from fairtrial._trial.spec.profile import Profile
from fairtrial._trial.spec.speech import value_text
from fairtrial._trial.spec.table_of_counts import may_count, people_of
from fairtrial._trial.spec.tables import PRESETS

QUESTIONS = {
    "decision": "What was decided about each person, such as approved or hired",
    "outcome": "What really happened to each person, such as repaid or reoffended",
    "score": "The score that the decision rests on",
}
SHOWN = 40  # columns; more would push the questions off the screen


def ask(found: Guess, profiles: Sequence[Profile], missing: str | None = None) -> Guess:
    """Each guess is offered as the default; an answer of - takes the part away."""
    by_name = {profile.name: profile for profile in profiles}
    keys = "Enter takes what stands in brackets; - means there is none; ? lists all columns."
    for line in (*described(profiles), "", keys):
        typer.echo(line, err=True)
    for role, asked in QUESTIONS.items():
        found.remarks.pop(role, None)
        setattr(found, role, _ask_column(asked, getattr(found, role), by_name))
    found.positive = _ask_labels(found, by_name)
    if found.positive:
        found.remarks["positive"] = "the labels that count as 1"
    found.threshold = _ask_threshold(found)
    found.favourable = _ask_favourable(found)
    compare_by(found, _ask_groups(found, profiles), profiles)
    found.missing = missing or _ask_missing(found, by_name)
    find_features(found, profiles)
    found.alike = _ask_alike(found, by_name)
    found.preset = _ask_preset(found)
    return found


def _ask_alike(found: Guess, by_name: Mapping[str, Profile]) -> list[str]:
    """What may rightly explain a difference, so that people alike in it are compared as well."""
    if not found.alike:
        return []
    asked = "What may rightly explain a difference, such as the job (- for nothing)"
    name = _ask_column(asked, found.alike[0], by_name)
    return [] if name is None else [name]


def _ask_missing(found: Guess, by_name: Mapping[str, Profile]) -> str:
    """What is done with rows that lack a part, now that it is known which columns are parts."""
    find_missing(found, by_name)
    if found.missing != "drop":
        return found.missing
    for text in found.warnings:
        typer.echo(text, err=True)
    left_out = typer.confirm("Leave such rows out of what needs the value?", default=True)
    found.warnings = found.warnings if left_out else []  # they say that the rows are left out
    return "drop" if left_out else "error"


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


def _ask_preset(found: Guess) -> str:
    """The kind of audit, among those that the parts can answer."""
    able = answerable_presets(found)
    typer.echo("\nKinds of audit:", err=True)
    for name in able:
        typer.echo(f"  {name:<14}{PRESET_WORDS[name]}", err=True)
    while (preset := str(typer.prompt("Kind of audit", default=fitting_preset(found))).strip()) not in able:
        lacks = f"{preset} needs parts that you did not name." if preset in PRESETS else ""
        typer.echo(lacks or f"There is no preset {preset!r}.{did_you_mean(preset, able)}", err=True)
    return preset


def _ask_threshold(found: Guess) -> float | str | None:
    if found.score is None or found.decision is not None:
        return None
    found.remarks["threshold"] = "decision = score at or above it"
    while True:
        answer = str(
            typer.prompt("The decision is a score of at least", default=str(found.threshold or "median"))
        )
        try:
            return threshold(answer)
        except InputError:
            typer.echo("It is a number, or median.", err=True)


def threshold(text: str) -> float | str:
    """A cut-off as it is typed."""
    if text == "median":
        return text
    try:
        return float(text)
    except ValueError:
        fault = Fault("", "must be a number or median", got=text, subject="the threshold")
        raise InputError("init", fault) from None


_GOOD = {"yes": 1, "y": 1, "1": 1, "no": 0, "n": 0, "0": 0, "-": None}


def _ask_favourable(found: Guess) -> int | str | None:
    """Which decision is good for a person; - where nobody can say."""
    if found.decision is None and found.threshold is None:
        return None
    settle_favourable(found)
    found.remarks.pop("favourable", None)
    if found.amount:
        asked = f"Which end of {found.decision} is good for a person (high, low)"
        good = str(typer.prompt(asked, default=found.favourable or "-"))
        return good if good in ("high", "low") else None
    default = next(word for word, value in _GOOD.items() if value == found.favourable)
    words = f"Is it good for a person when {_decision_words(found)} (yes, no)"
    while (answer := str(typer.prompt(words, default=default)).strip().lower()) not in _GOOD:
        typer.echo("It is yes or no, or - where nobody can say.", err=True)
    return _GOOD[answer]


def _decision_words(found: Guess) -> str:
    if found.decision is None:
        return f"{found.score} is {found.threshold} or more"
    counted = found.positive.get("decision", "1")
    return f"{found.decision} is {counted if isinstance(counted, str) else ' or '.join(counted)}"


def _ask_labels(found: Guess, by_name: Mapping[str, Profile]) -> dict[str, str | list[str]]:
    """Which labels count as 1, where a role has others than 0 and 1."""
    answers: dict[str, str | list[str]] = {}
    for role in ("decision", "outcome"):
        profile = by_name.get(str(getattr(found, role)))
        if profile is None or not needs_labels(profile, role):
            continue
        words = f"Which of {profile.name} counts as 1: {', '.join(profile.labels)}"
        default = positive_label(profile)
        while unknown := set(
            labels := split_names(str(typer.prompt(words, default=default)), profile.labels)
        ) - set(profile.labels):
            typer.echo(
                f"{profile.name} has no label {min(unknown)!r}.{did_you_mean(min(unknown), profile.labels)}",
                err=True,
            )
        answers[role] = labels[0] if len(labels) == 1 else labels
    return answers


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
        if answer == "-":
            return None
        if answer in by_name:
            return answer
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
def not_one_person(found: Guess, profiles: Sequence[Profile]) -> list[str]:
    """What an audit would get wrong, and the line that puts it right."""
    taken = {found.decision, found.outcome, found.score, *compared_columns(found)}
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
