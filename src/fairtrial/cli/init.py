"""`fairtrial init`: look at a data file, propose roles, write a commented audit.toml."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from fairtrial._audit import arguments
from fairtrial._audit.audit import Audit
from fairtrial._audit.files import Files
from fairtrial._errors import Fault, Faults, InputError, Set, Words, check_choice, column_fault
from fairtrial._method.selective_labels import selective_labels
from fairtrial._trial.spec.compose import PRESET_WORDS, compose
from fairtrial._trial.spec.guess import (
    Guess,
    compare_by,
    explaining,
    guess,
    left_out,
    make_answerable,
    settle,
    settle_favourable,
)
from fairtrial._trial.spec.one_hot import families
from fairtrial._trial.spec.profile import Profile, profile_file
from fairtrial._trial.spec.score_direction import settle_score_favours
from fairtrial._trial.spec.tables import PRESETS
from fairtrial._work.kept_files import check_output_file, write_whole
from fairtrial.cli.init_checks import check, listed
from fairtrial.cli.init_questions import alike_said, ask, no_names, not_one_person
from fairtrial.cli.init_screens import threshold
from fairtrial.cli.method_commands import completing

app = typer.Typer(add_completion=False)
ROLES = ("decision", "outcome", "score")


@app.command()
def init(
    data: Annotated[str, typer.Argument(help="CSV, Excel, Parquet, Arrow or JSON file, or a glob of them.")],
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing, take the guesses.")] = False,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset", help=f"{', '.join(PRESETS)}; default: a guess.", autocompletion=completing(PRESETS)
        ),
    ] = None,
    decision: Annotated[str | None, typer.Option("--decision", help="Column of the decision.")] = None,
    outcome: Annotated[str | None, typer.Option("--outcome", help="Column of what really happened.")] = None,
    score: Annotated[str | None, typer.Option("--score", help="Column of the score.")] = None,
    cut: Annotated[
        str | None, typer.Option("--threshold", help="Decision = score at or above it; a number or median.")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", help="Column whose groups are compared (repeat it).")
    ] = None,
    favourable: Annotated[
        str | None,
        typer.Option("--favourable", help="The decision that is good for a person: 1, 0 or its label."),
    ] = None,
    positive: Annotated[
        list[str] | None,
        typer.Option("--positive", help="A label that counts as 1, such as yes or decision=yes (repeat it)."),
    ] = None,
    reading: Annotated[
        list[str] | None,
        typer.Option("--reading", help="How the file is read, such as sheet=Data or decimal=, (repeat it)."),
    ] = None,
    missing: Annotated[
        str | None, typer.Option("--missing", help="error, drop or category; default: a guess.")
    ] = None,
    out: Annotated[str, typer.Option("--out", help="The spec to write.")] = "audit.toml",
    force: Annotated[bool, typer.Option("--force", help="Write over an existing spec.")] = False,
) -> None:
    """Look at a data file and write a commented audit.toml."""
    target = _target(out, force)
    labels = tuple(positive or ())
    named = GivenRoles(decision, outcome, score, cut, tuple(group or ()), favourable, missing, labels)
    named.check(preset)
    if not yes and not named.given and not sys.stdin.isatty():
        cure = Words(
            "name the columns with {}, {}, {} and {}, or take the guesses with {} and check the file",
            Set("decision"), Set("outcome"), Set("score"), Set("group"), Set("yes"),
        )  # fmt: skip
        raise InputError("init", Fault("", "questions need a terminal", cure=cure))
    how = _reading(reading or [])
    profiles = _looked_at(data, how)
    found = named.put_into(guess(profiles, preset), profiles)
    asked = not yes and not named.given
    if asked:
        found = ask(found, profiles, missing)
    else:
        found.within = explaining(found, profiles)
        found.warnings += [*named.left_out_of(found, profiles), *alike_said(found, profiles)]
    check(found, profiles)
    if preset is None:
        make_answerable(found)
    found.warnings += [*_selective(data, how, found), *not_one_person(found, profiles)]
    source = os.path.relpath(data, target.absolute().parent) if not os.path.isabs(data) else data
    title = f"Fairness audit of {Path(data).stem}"
    settle_score_favours(found, data, how)
    _write(target, compose(found, source, title, how))
    _tell(found, target, guessed=not asked, outside=os.path.isabs(source) or source.startswith(".."))


@dataclass(frozen=True, slots=True)
class GivenRoles:
    """The parts that were named on the command line; the others are guessed."""

    decision: str | None
    outcome: str | None
    score: str | None
    threshold: str | None
    groups: tuple[str, ...]
    favourable: str | None
    missing: str | None
    positive: tuple[str, ...]

    @property
    def given(self) -> bool:
        """Whether anything was named: then nothing is asked."""
        parts = (self.decision, self.outcome, self.score, self.threshold, self.groups, self.favourable)
        return any((*parts, self.positive))

    def check(self, preset: str | None) -> None:
        if preset is not None:
            check_choice("init", "preset", preset, PRESETS)
        if self.missing is not None:
            check_choice("init", "missing", self.missing, ("error", "drop", "category"))

    def put_into(self, found: Guess, profiles: list[Profile]) -> Guess:
        """The guess with what was named in place of it; what follows from the parts is found anew."""
        if not self.given and self.missing is None:
            return found
        self._check_columns(profiles)
        named = {role: getattr(self, role) for role in ROLES}
        taken = {name for name in (*named.values(), *self.groups) if name}
        for role, name in named.items():
            guessed = getattr(found, role)
            setattr(found, role, name or (None if guessed in taken or any(named.values()) else guessed))
        left = [name for name in found.attributes if name not in taken]
        compare_by(found, self.groups or left, profiles)
        found.remarks, found.warnings = {}, []
        settle(found, profiles)
        self._add_to(found)
        return found

    def _add_to(self, found: Guess) -> None:
        """What was named beside the columns."""
        if self.threshold is not None:
            found.threshold = threshold(self.threshold)
            found.remarks["threshold"] = "decision = score at or above it"
        found.missing = self.missing or found.missing
        for role in ("decision", "outcome"):
            labels = self._labels(role)
            if labels and getattr(found, role) is not None:
                found.positive[role] = labels[0] if len(labels) == 1 else labels
                found.remarks["positive"] = "the labels that count as 1"
        settle_favourable(found)
        if self.favourable is not None:
            found.favourable = int(self.favourable) if self.favourable in ("0", "1") else self.favourable
            found.remarks.pop("favourable", None)

    def _labels(self, role: str) -> list[str]:
        """The labels of a role that count as 1, those of both roles among them."""
        typed = [arguments.label(text) for text in self.positive]
        both = [label for label in typed if isinstance(label, str)]
        return both + [label[1] for label in typed if not isinstance(label, str) and label[0] == role]

    def left_out_of(self, found: Guess, profiles: list[Profile]) -> list[str]:
        """What is not compared although its name suggests it, where it was not said whom to compare."""
        names = [] if self.groups else left_out(found, profiles)
        text = f"not compared though their names suggest it: {listed(names)}; add --group"
        return [f"{text} {names[0]}"] if names else []

    def _check_columns(self, profiles: list[Profile]) -> None:
        columns = [profile.name for profile in profiles]
        attributes = [*columns, *(family.name for family in families(profiles))]
        faults = Faults("init")
        for argument in ("decision", "outcome", "score"):
            name = getattr(self, argument)
            fault = None if name is None else column_fault(argument, name, columns)
            if fault is not None:
                faults.add(fault)
        for name in self.groups:
            fault = column_fault("group", name, attributes)
            if fault is not None:
                faults.add(fault)
        faults.raise_any()


def _target(out: str, force: bool) -> Path:
    """The file to write, which may be there already only when it may be written over."""
    target = Path(out)
    if target.is_file() and not force:
        cure = Words("choose another name with {}, or write over it with {}", Set("out"), Set("force"))
        raise InputError("init", Fault("out", "exists already", cure=cure, subject=repr(out)))
    return check_output_file("init", target)


def _reading(texts: list[str]) -> dict[str, str]:
    """How the file is read, as it was typed."""
    try:
        return dict(map(arguments.key_and_text, texts))
    except ValueError as error:
        raise InputError("init", Fault("reading", f"must be a key and its value, such as {error}")) from None


def _looked_at(data: str, reading: Mapping[str, str]) -> list[Profile]:
    """What the columns hold; a fault of the file is told by the command that was called."""
    try:
        profiles = profile_file(data, reading)
    except InputError as error:
        raise InputError("init", error.faults) from None
    files = Files(data, reading)
    for said in files.said(()):
        typer.echo(f"Note: {said}", err=True)
    if files.csv and any(header.numbered for header in files.headers.values()):
        typer.echo("Note: the first column has no name and counts the rows; it is not read.", err=True)
    if files.csv and (text := no_names(profiles)):
        typer.echo(f"Note: {text}", err=True)
    return profiles


def _write(target: Path, text: str) -> None:
    try:
        write_whole(target, text)
    except OSError as error:
        required = f"cannot be written: {error.strerror}"
        fault = Fault("out", required, got=str(target), cure="name another file")
        raise InputError("init", fault) from None


def _selective(data: str, reading: Mapping[str, str], found: Guess) -> list[str]:
    """What selective labels leave unanswered; looked for before anything is proposed."""
    if found.missing != "drop" or found.outcome is None or found.decision is None:
        return []
    roles: dict[str, Any] = {
        "decision": found.decision,
        "outcome": found.outcome,
        "positive": found.positive or None,
    }
    try:
        labels = selective_labels(Audit(data, missing="drop", reading=reading, **roles))
    except InputError:
        return []  # `run` says what is wrong with these columns
    if labels is None:
        return []
    return [
        f"{labels.words[:1].upper()}{labels.words[1:]}: error rates, accuracy and calibration cannot be told from "
        "these data, and are not asked. Selection rates can."
    ]


def _tell(found: Guess, target: Path, guessed: bool, outside: bool) -> None:
    """What was written, line by line, and how each line is changed."""
    typer.echo(f"wrote {target}")
    for option, value in _parts(found):
        typer.echo(f"  {option:<14}{value}")
    for text in found.warnings:
        typer.echo(f"Check: {text}", err=True)
    if found.decision is None and found.threshold is None:
        text = "without a decision an audit can only show how the groups differ, not how they were treated."
        typer.echo(f"Check: {text}", err=True)
    if guessed:
        typer.echo(
            "What you did not name is a guess from names and values. To change a line, edit the file or name it"
        )
        typer.echo("with the option in front of it.")
    typer.echo(f"Then: fairtrial run {target}{' --trust' if outside else ''}")


def _parts(found: Guess) -> Iterator[tuple[str, str]]:
    """The option of each part, and what it is."""
    yield "--group", ", ".join(found.attributes) + (" (numbers in quarters)" if found.bins else "")
    for role in ROLES:
        yield f"--{role}", _role_words(found, role)
    if found.threshold is not None:
        yield "--threshold", f"{found.threshold} ({found.remarks['threshold']})"
    if found.decision is not None or found.threshold is not None:
        unknown = "not known whether 1 or 0 is good for a person: no finding says who is harmed"
        good = f"{found.favourable}: the decision that is good for a person"
        amounts = {
            "high": "high: more of it is good for a person",
            "low": "low: less of it is good for a person",
        }
        good = amounts.get(str(found.favourable), good)
        yield "--favourable", unknown if found.favourable is None else good
    yield "--preset", f"{found.preset}: {PRESET_WORDS[found.preset]}"


def _role_words(found: Guess, role: str) -> str:
    name = getattr(found, role)
    if name is None:
        made = role == "decision" and found.threshold is not None
        return "made from the score" if made else "none"
    counted = found.positive.get(role, [])
    labels = [counted] if isinstance(counted, str) else counted
    meaning = f", where {' or '.join(map(repr, labels))} means yes" if labels else ""
    remark = f" ({found.remarks[role]})" if role in found.remarks else ""
    return f"{name}{meaning}{remark}"
