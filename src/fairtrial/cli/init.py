"""`fairtrial init`: look at a data file, propose roles, write a commented audit.toml."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from fairtrial.data.audit import Audit
from fairtrial.data.schema import column_fault
from fairtrial.errors import Fault, Faults, InputError, Set, Words, check_choice, did_you_mean
from fairtrial.methods.gaps.known_outcomes import selective_labels
from fairtrial.results.output import check_output_file
from fairtrial.trial.spec.compose import compose
from fairtrial.trial.spec.guess import Guess, guess, positive_label, settle
from fairtrial.trial.spec.profile import Profile, profile_file
from fairtrial.trial.spec.tables import PRESETS
from fairtrial.work.whole_files import write_whole

app = typer.Typer(add_completion=False)
_COLUMNS = {
    "decision": "Column of the decision",
    "outcome": "Column of what really happened",
    "score": "Column of the score",
}


@app.command()
def init(
    data: Annotated[str, typer.Argument(help="CSV or Parquet file, or a glob of them.")],
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing, take the guesses.")] = False,
    preset: Annotated[
        str | None,
        typer.Option("--preset", help=f"{', '.join(PRESETS)}; default: a guess."),
    ] = None,
    decision: Annotated[str | None, typer.Option("--decision", help="Column of the decision.")] = None,
    outcome: Annotated[str | None, typer.Option("--outcome", help="Column of what really happened.")] = None,
    score: Annotated[str | None, typer.Option("--score", help="Column of the score.")] = None,
    threshold: Annotated[
        str | None, typer.Option("--threshold", help="Decision = score at or above it; a number or median.")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", help="Column whose groups are compared (repeat it).")
    ] = None,
    favourable: Annotated[
        str | None,
        typer.Option("--favourable", help="The decision that is good for a person: 1, 0 or its label."),
    ] = None,
    missing: Annotated[
        str | None, typer.Option("--missing", help="error, drop or category; default: a guess.")
    ] = None,
    out: Annotated[str, typer.Option("--out", help="The spec to write.")] = "audit.toml",
    force: Annotated[bool, typer.Option("--force", help="Write over an existing spec.")] = False,
) -> None:
    """Look at a data file and write a commented audit.toml."""
    target = _target(out, force)
    named = Named(decision, outcome, score, threshold, tuple(group or ()), favourable, missing)
    named.check(preset)
    if not yes and not named.given and not sys.stdin.isatty():
        cure = Words(
            "name the columns with {}, {}, {} and {}, or take the guesses with {} and check the file",
            Set("decision"), Set("outcome"), Set("score"), Set("group"), Set("yes"),
        )  # fmt: skip
        raise InputError("init", Fault("", "questions need a terminal", cure=cure))
    profiles = profile_file(data)
    found = named.put_into(guess(profiles, preset), profiles)
    if not yes and not named.given:
        found = _ask(found, profiles)
    _check(found)
    if preset is None:
        _make_answerable(found)
    found.warnings += _selective(data, found)
    source = os.path.relpath(data, target.absolute().parent) if not os.path.isabs(data) else data
    title = f"Fairness audit of {Path(data).stem}"
    try:
        write_whole(target, compose(found, source, title))
    except OSError as error:
        raise InputError("init", Fault("out", f"cannot be written: {error.strerror}", got=out)) from None
    _tell(found, target)


def _make_answerable(found: Guess) -> None:
    """A guessed preset must find what it needs: what is written has to run as it stands."""
    if found.outcome is None and found.preset in ("risk-score", "healthcare"):
        found.preset = "employment"
    if found.decision is None and found.score is not None and found.threshold is None:
        found.threshold = "median"
        found.remarks["threshold"] = "a guess: the decision is a score above the sample's median"
    if found.decision is None and found.threshold in (None, "median"):
        found.favourable = None  # whether more of a score is good for a person is not to be guessed


@dataclass(frozen=True, slots=True)
class Named:
    """The parts that were named on the command line; the others are guessed."""

    decision: str | None
    outcome: str | None
    score: str | None
    threshold: str | None
    groups: tuple[str, ...]
    favourable: str | None
    missing: str | None

    @property
    def given(self) -> bool:
        """Whether anything was named: then nothing is asked."""
        return any((self.decision, self.outcome, self.score, self.threshold, self.groups, self.favourable))

    def check(self, preset: str | None) -> None:
        if preset is not None:
            check_choice("init", "preset", preset, PRESETS)
        if self.missing is not None:
            check_choice("init", "missing", self.missing, ("error", "drop", "category"))

    def put_into(self, found: Guess, profiles: list[Profile]) -> Guess:
        """The guess with what was named in place of it; what follows from the parts is found anew."""
        if not self.given and self.missing is None:
            return found
        columns = [profile.name for profile in profiles]
        self._check_columns(columns)
        named = {role: getattr(self, role) for role in _COLUMNS}
        taken = {name for name in (*named.values(), *self.groups) if name}
        for role, name in named.items():
            guessed = getattr(found, role)
            setattr(found, role, name or (None if guessed in taken or any(named.values()) else guessed))
        found.groups = list(self.groups) or [name for name in found.groups if name not in taken]
        found.remarks, found.warnings = {}, []
        settle(found, profiles)
        if self.threshold is not None:
            found.threshold = _threshold(self.threshold)
            found.remarks["threshold"] = "decision = score at or above it"
        if self.favourable is not None:
            found.favourable = int(self.favourable) if self.favourable in ("0", "1") else self.favourable
            found.remarks.pop("favourable", None)
        found.missing = self.missing or found.missing
        return found

    def _check_columns(self, columns: list[str]) -> None:
        faults = Faults("init")
        for argument in ("decision", "outcome", "score"):
            name = getattr(self, argument)
            fault = None if name is None else column_fault(argument, name, columns)
            if fault is not None:
                faults.add(fault)
        for name in self.groups:
            fault = column_fault("group", name, columns)
            if fault is not None:
                faults.add(fault)
        faults.raise_any()


def _threshold(text: str) -> float | str:
    return "median" if text == "median" else _number(text)


def _target(out: str, force: bool) -> Path:
    """The file to write, which may be there already only when it may be written over."""
    target = Path(out)
    if target.is_file() and not force:
        cure = Words("choose another name with {}, or write over it with {}", Set("out"), Set("force"))
        raise InputError("init", Fault("out", "exists already", cure=cure, subject=repr(out)))
    return check_output_file("init", target)


def _check(found: Guess) -> None:
    if not found.groups:
        text = "found no column to compare people by (2 to 25 different labels)"
        raise InputError("init", Fault("", text, cure=Words("name one with {}", Set("group"))))
    if found.decision is None and found.outcome is None and found.score is None:
        cure = Words("name one with {}, {} or {}", Set("decision"), Set("outcome"), Set("score"))
        raise InputError("init", Fault("", "found no decision, outcome or score", cure=cure))


def _selective(data: str, found: Guess) -> list[str]:
    """What selective labels leave unanswered; looked for before anything is proposed."""
    if found.missing != "drop" or found.outcome is None or found.decision is None:
        return []
    roles: dict[str, Any] = {
        "decision": found.decision,
        "outcome": found.outcome,
        "positive": found.positive or None,
    }
    try:
        labels = selective_labels(Audit(data, missing="drop", **roles))
    except InputError:
        return []  # `run` says what is wrong with these columns
    if labels is None:
        return []
    return [
        f"{labels.words[:1].upper()}{labels.words[1:]}: error rates, accuracy and calibration cannot be told from "
        "these data, and are not asked. Selection rates can."
    ]


def _ask(found: Guess, profiles: list[Profile]) -> Guess:
    """Each guess is offered as the default; an empty answer with - takes the part away."""
    by_name = {profile.name: profile for profile in profiles}
    typer.echo("Columns: " + ", ".join(by_name), err=True)
    typer.echo("Enter takes the proposal in brackets; - means there is none.\n", err=True)
    while (
        preset := typer.prompt(f"Kind of audit ({', '.join(PRESETS)})", default=found.preset)
    ) not in PRESETS:
        typer.echo(f"There is no preset {preset!r}.{did_you_mean(preset, PRESETS)}", err=True)
    found.preset = preset
    for role, words in _COLUMNS.items():
        setattr(found, role, _ask_column(words, getattr(found, role), by_name))
    found.positive = _ask_labels(found, by_name)
    if found.positive:
        found.remarks["positive"] = "the labels that count as 1"
    if found.score is not None and found.decision is None:
        answer = typer.prompt("Decision is a score of at least", default=str(found.threshold or "median"))
        found.threshold = _threshold(answer)
        found.remarks["threshold"] = "decision = score at or above it"
    else:
        found.threshold = None
    found.favourable = _ask_favourable(found)
    if found.missing == "drop":
        for text in found.warnings:
            typer.echo(text, err=True)
        left_out = typer.confirm("Leave such rows out of what needs the value?", default=True)
        found.missing = "drop" if left_out else "error"
    groups = typer.prompt("Attributes to compare, with commas", default=", ".join(found.groups))
    found.groups = [_existing(name.strip(), by_name) for name in groups.split(",") if name.strip()]
    return found


def _ask_favourable(found: Guess) -> int | str | None:
    """Which decision is good for a person; - where nobody can say."""
    if found.decision is None and found.threshold is None:
        return None
    found.remarks.pop("favourable", None)
    default = "-" if found.favourable is None else str(found.favourable)
    while (
        answer := str(typer.prompt("Decision that is good for a person (1, 0)", default=default)).strip()
    ) not in ("0", "1", "-"):
        typer.echo("It is 1 or 0, or - where nobody can say.", err=True)
    return None if answer == "-" else int(answer)


def _ask_labels(found: Guess, by_name: dict[str, Profile]) -> dict[str, str]:
    """Which label counts as 1, where a role has two others."""
    named = {role: getattr(found, role) for role in ("decision", "outcome")}
    return {
        role: typer.prompt(
            f"Label of {role} that counts as 1 ({', '.join(by_name[name].labels)})",
            default=positive_label(by_name[name]),
        )
        for role, name in named.items()
        if name is not None and by_name[name].binary and not by_name[name].zero_one
    }


def _ask_column(words: str, default: str | None, by_name: dict[str, Profile]) -> str | None:
    while True:
        answer = str(typer.prompt(words, default=default or "-")).strip()
        if answer == "-":
            return None
        if answer in by_name:
            return answer
        typer.echo(f"There is no column {answer!r}.{did_you_mean(answer, by_name)}", err=True)


def _existing(name: str, by_name: dict[str, Profile]) -> str:
    if name not in by_name:
        raise InputError("init", Fault("", f"there is no column {name!r}", hint=did_you_mean(name, by_name)))
    return name


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        fault = Fault("", "must be a number or median", got=text, subject="the threshold")
        raise InputError("init", fault) from None


def _tell(found: Guess, target: Path) -> None:
    parts = [f"preset {found.preset}"]
    parts += [
        f"{role} {getattr(found, role)}" for role in ("decision", "outcome", "score") if getattr(found, role)
    ]
    parts.append(f"groups {', '.join(found.groups)}")
    typer.echo(f"wrote {target}: {'; '.join(parts)}")
    for text in found.warnings:
        typer.echo(f"Check: {text}", err=True)
    typer.echo(f"Check it, then: fairtrial run {target}")
