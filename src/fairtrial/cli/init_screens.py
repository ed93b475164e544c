"""The two screens of `fairtrial init` that need one answer each: what the file shows, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer

from fairtrial._errors import Fault, InputError, did_you_mean
from fairtrial._trial.spec.compose import PRESET_WORDS
from fairtrial._trial.spec.guess import (
    Guess,
    answerable_presets,
    compared_columns,
    find_missing,
    fitting_preset,
)
from fairtrial._trial.spec.more_items import explaining_items, repeated_items, spelling_item
from fairtrial._trial.spec.profile import Profile
from fairtrial._trial.spec.spellings import alike_labels

PARTS = {"decision": "decision", "compared": "attributes", "outcome": "outcome", "score": "score"}
NOTHING = {"-", "no", "none", "i don't know", "i dont know", "don't know", "dont know", "unknown"}


def is_nothing(answer: str) -> bool:
    """Whether an answer says that there is none, or that the person does not know."""
    return answer.strip().strip(".").replace("\u2019", "'").lower() in NOTHING


def confirm_parts(found: Guess, good: str | None) -> set[str]:
    """What the file shows, on one screen; gives the parts that are not right, or that nothing is known of."""
    known = {key: value for key, role in PARTS.items() if (value := getattr(found, role))}
    if not known:
        return set(PARTS)
    typer.echo("\nWhat the file shows:", err=True)
    for key, value in known.items():
        shown = ", ".join(value) if isinstance(value, list) else str(value)
        also = f", and {good}" if key == "decision" and good else ""
        typer.echo(f"  {key:<10}{shown}{also}", err=True)
    listed = ", ".join([*known, *(["good"] if good else [])])
    while True:
        answer = str(typer.prompt(f"Is this right? Enter for yes, or what is not ({listed})", default="yes"))
        wrong = {part.strip() for part in answer.split(",")} - {"yes", "y", ""}
        if wrong <= {*known, "good"}:
            return wrong | (PARTS.keys() - known.keys())
        typer.echo(f"Name one of {listed}.{did_you_mean(min(wrong - set(known)), list(known))}", err=True)


@dataclass(slots=True)
class ScreenLine:
    """One line of the last screen: what is written unless it is changed."""

    key: str
    value: str
    words: str
    change: Callable[[str], str]  # gives what is wrong with a value, or nothing


def confirm_rest(found: Guess, profiles: Sequence[Profile], asked_missing: str | None) -> None:
    """What follows from the parts, on one screen; each line is changed as key=value."""
    by_name = {profile.name: profile for profile in profiles}
    _propose(found, profiles, asked_missing)
    while True:
        lines = list(_lines(found, profiles, by_name))
        typer.echo("\nWhat will be written, too:", err=True)
        for line in lines:
            typer.echo(f"  {line.key} = {line.value:<12} {line.words}", err=True)
        text = "Enter takes these; to change one type it, such as " + f"{lines[-1].key}={lines[-1].value}"
        answer = str(typer.prompt(text, default="")).strip()
        if not answer or is_nothing(answer):
            break
        key, _, value = (part.strip() for part in answer.partition("="))
        able = {line.key: line for line in lines}
        wrong = (
            able[key].change(value)
            if key in able
            else f"There is no {key!r} here.{did_you_mean(key, list(able))}"
        )
        if wrong:
            typer.echo(wrong, err=True)
    if found.missing != "drop":
        found.warnings = []  # they say that rows are left out


def _propose(found: Guess, profiles: Sequence[Profile], missing: str | None) -> None:
    """Spellings are merged and repeated people named: the person sees it before it is written."""
    find_missing(found, {profile.name: profile for profile in profiles})
    found.missing = missing or found.missing
    compared = compared_columns(found)
    found.merge = {p.name: alike for p in profiles if p.name in compared and (alike := alike_labels(p))}
    repeated = repeated_items(found, profiles)
    found.unit = repeated[0].value if repeated else None
    found.preset = fitting_preset(found)


def _lines(found: Guess, profiles: Sequence[Profile], by_name: Mapping[str, Profile]) -> list[ScreenLine]:
    lines = []
    outcome = by_name.get(str(found.outcome))
    if outcome is not None and "outcome" in found.positive:
        words = f"what counts as 1 in {outcome.name}: {', '.join(outcome.labels)}"
        shown = found.positive["outcome"]
        shown = shown if isinstance(shown, str) else ", ".join(shown)
        lines.append(ScreenLine("counts as 1", shown, words, _positive(found, outcome)))
    if found.threshold is not None:
        lines.append(
            ScreenLine(
                "threshold", str(found.threshold), "the decision is a score of at least this", _cut(found)
            )
        )
    lines += [
        _merge_line(found, by_name[name])
        for name in by_name
        if name in found.groups and alike_labels(by_name[name])
    ]
    for item in repeated_items(found, profiles):
        able = [choice.value for choice in item.choices if choice.value is not None]
        lines.append(ScreenLine("unit", found.unit or "-", item.question, _named(found, "unit", able)))
    for item in explaining_items(found, profiles):
        able = [choice.value for choice in item.choices]
        words = f"{item.question} ({', '.join(able)})"
        lines.append(ScreenLine("within", ", ".join(found.within) or "-", words, _factors(found, able)))
    ways = "what is done with rows that lack a value: error, drop or category"
    lines.append(
        ScreenLine("missing", found.missing, ways, _one_of(found, "missing", ("error", "drop", "category")))
    )
    able = answerable_presets(found)
    lines.append(
        ScreenLine(
            "kind",
            found.preset,
            PRESET_WORDS[found.preset] + _others(found, able),
            _one_of(found, "preset", able),
        )
    )
    return lines


def _others(found: Guess, able: Sequence[str]) -> str:
    others = [name for name in able if name != found.preset]
    return f"; others are {', '.join(others)}" if others else ""


def _merge_line(found: Guess, profile: Profile) -> ScreenLine:
    item, key = spelling_item(profile), f"merge {profile.name}"

    def change(value: str) -> str:
        if value not in ("yes", "no"):
            return "It is yes or no."
        found.merge.pop(profile.name, None)
        if value == "yes":
            found.merge[profile.name] = alike_labels(profile)
        return ""

    return ScreenLine(
        key, "yes" if profile.name in found.merge else "no", item.reason if item else "", change
    )


def _one_of(found: Guess, name: str, able: Sequence[str]) -> Callable[[str], str]:
    def change(value: str) -> str:
        if value not in able:
            return f"It is one of {', '.join(able)}.{did_you_mean(value, list(able))}"
        setattr(found, name, value)
        return ""

    return change


def _named(found: Guess, name: str, able: Sequence[Any]) -> Callable[[str], str]:
    def change(value: str) -> str:
        if is_nothing(value):
            setattr(found, name, None)
            return ""
        return _one_of(found, name, able)(value)

    return change


def _factors(found: Guess, able: Sequence[Any]) -> Callable[[str], str]:
    def change(value: str) -> str:
        named = [] if is_nothing(value) else [part.strip() for part in value.split(",") if part.strip()]
        if not set(named) <= set(able):
            return f"They are among {', '.join(able)}."
        found.within = named
        return ""

    return change


def _positive(found: Guess, outcome: Profile) -> Callable[[str], str]:
    def change(value: str) -> str:
        named = [value] if value in outcome.labels else [part.strip() for part in value.split(",")]
        unknown = [part for part in named if part not in outcome.labels]
        if unknown:
            return f"{outcome.name} has no label {unknown[0]!r}.{did_you_mean(unknown[0], outcome.labels)}"
        found.positive["outcome"] = named[0] if len(named) == 1 else named
        return ""

    return change


def _cut(found: Guess) -> Callable[[str], str]:
    def change(value: str) -> str:
        try:
            found.threshold = threshold(value)
        except InputError:
            return "It is a number, or median."
        found.remarks["threshold"] = "decision = score at or above it"
        return ""

    return change


def threshold(text: str) -> float | str:
    """A cut-off as it is typed."""
    if text == "median":
        return text
    try:
        return float(text)
    except ValueError:
        fault = Fault("", "must be a number or median", got=text, subject="the threshold")
        raise InputError("init", fault) from None
