"""The command line: commands of its own, and one for each declared method."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import warnings
from collections.abc import Callable
from importlib import metadata
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from fairtrial._errors import (
    PYTHON,
    Cancelled,
    FairtrialError,
    FairtrialWarning,
    Fault,
    InputError,
    MissingExtra,
    Speech,
    did_you_mean,
)
from fairtrial._method.declaration import Method, paper_methods
from fairtrial._work.extras import installing
from fairtrial.cli import apply, demo, diff, init, report, run, seal, serve
from fairtrial.cli.method_commands import Question, questions
from fairtrial.cli.speech import CommandSpeech

# command -> its application; the first line of its help is what the program's help shows
OWN = {
    "demo": demo.app,
    "init": init.app,
    "run": run.app,
    "report": report.app,
    "diff": diff.app,
    "seal": seal.app,
    "verify": seal.verify_app,
    "recheck": seal.recheck_app,
    "apply": apply.app,
    "serve": serve.app,
}


PAPERS = "papers"
PAPERS_HELP = (
    "The five papers' own systems, with the papers' defaults; the other commands are the valid ones."
)


MORE_MEMORY = "Raise the limit, take a sample of the rows, or name fewer columns."


class Refused(FairtrialError):
    """Input that cannot be used, in the words of the command line."""


def command_help() -> dict[str, str]:
    """Every command with one line of help."""
    own = {name: _first_line(app.registered_commands[0].callback) for name, app in OWN.items()}
    return {**own, **{name: method.help for name, method in questions().items()}, PAPERS: PAPERS_HELP}


def _first_line(command: Callable[..., Any] | None) -> str:
    return str(command.__doc__).strip().split("\n")[0]


class Commands(TyperGroup):
    """Makes a command when it is called for, so that --help answers at once."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(command_help())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in command_help():
            hint = did_you_mean(cmd_name, command_help()) or "`fairtrial --help` lists them."
            raise InputError("fairtrial", Fault("", f"there is no command {cmd_name!r}", hint=hint))
        if cmd_name == PAPERS:
            return papers_group()
        application = OWN[cmd_name] if cmd_name in OWN else _application(questions()[cmd_name])
        return plain(typer.main.get_command(application), cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(command_help().items()))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what it cannot use is said in its own words."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            raise Refused(error.said(self._speech(ctx, ctx.invoked_subcommand))) from error

    def _speech(self, ctx: Any, name: str | None) -> Speech:
        if name is None or name not in questions().keys() | OWN.keys():
            return PYTHON
        if name in OWN:
            return CommandSpeech((), {part.name: part.opts[0] for part in self.get_command(ctx, name).params})
        return Question.of(questions()[name]).speech


def _application(method: Method) -> typer.Typer:
    application = typer.Typer(add_completion=False)
    application.command(help=method.help, cls=Sectioned)(Question.of(method).command())
    return application


def papers_group() -> Any:
    """`fairtrial papers elfa certify DATA …`: a group of groups, one for each paper."""
    from fairtrial.cli.reproduce import REPRODUCED, reproducer

    group = TyperGroup(name=PAPERS, help=PAPERS_HELP, no_args_is_help=True)
    for paper, methods in paper_methods().items():
        inner = TyperGroup(name=paper, help=f"The methods of fairtrial.papers.{paper}.", no_args_is_help=True)
        for name, method in methods.items():
            command = plain(typer.main.get_command(_application(method)), name)
            command.callback = _worded(command.callback, Question.of(method).speech)
            inner.add_command(command, name)
        if paper in REPRODUCED:
            command = plain(typer.main.get_command(reproducer(paper)), "reproduce")
            command.callback = _worded(
                command.callback, CommandSpeech((), {"table": "--table", "figure": "--figure"})
            )
            inner.add_command(command, "reproduce")
        group.add_command(inner, paper)
    group.rich_markup_mode = None
    return group


def _worded(command: Callable[..., Any], speech: Speech) -> Callable[..., Any]:
    """The command, whose faults are said in the words of its own options."""

    def worded(*args: Any, **values: Any) -> Any:
        try:
            return command(*args, **values)
        except InputError as error:
            raise Refused(error.said(speech)) from error

    return worded


program = typer.Typer(
    cls=Commands,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"fairtrial {version('fairtrial')}")
        raise typer.Exit


@program.callback(
    help="Give your model a fair trial: is it fair, to whom is it not, why, and did it have to be so?"
)
def _program_options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Options of the program itself."""


def main() -> None:
    """Entry point: exit code 2 for bad input with one clear message, 1 for the unexpected."""
    warnings.simplefilter("ignore", FairtrialWarning)  # the results' notes say the same
    _open_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without a sign or a letter shows ? in its place
    try:
        check_installed()
        program(prog_name="fairtrial")
    except FairtrialError as error:
        typer.echo(str(error), err=True)
        sys.exit(1 if isinstance(error, Cancelled) else 2)
    except MemoryError:
        typer.echo(f"fairtrial: the memory that may be used is not enough. {MORE_MEMORY}", err=True)
        sys.exit(2)
    finally:
        _flush()


def _open_streams() -> None:
    """Whoever closed the output or the errors wants none of them: neither is a reason to fail."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _flush() -> None:
    """Say the last words; where nobody listens any more, Python's own attempt at the end must not complain."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- Help as plain text in sections: it fits 80 columns, no name is cut, and it needs no colours.
class Sectioned(TyperCommand):
    """A command whose options stand under the headings they were declared with."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for part in self.get_params(ctx):
            record = part.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if part.param_type_name == "argument" else "Options"
                sections.setdefault(getattr(part, "rich_help_panel", None) or usual, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def plain(command: Any, name: str) -> Any:
    """The command under its name, without frames and colours; what is typed after an option has one word for it."""
    command.name, command.rich_markup_mode = name, None
    for part in command.params:
        if part.param_type_name == "option" and part.metavar is None and not part.is_flag:
            part.metavar = "TEXT"
    return command


# -- Whether what the program rests on is installed as it must be: half an installation must not pass a gate.
_BOUND = re.compile(r"([A-Za-z0-9._-]+)\s*>=\s*([0-9.]+)")


def check_installed() -> None:
    """Raise unless every dependency is there, no older than its lower bound.

    With typer 0.12 and click 8.5 `fairtrial run --fail-on violated` ran nothing and left with 0.
    """
    wanted = [_BOUND.match(line) for line in metadata.requires("fairtrial") or [] if "extra ==" not in line]
    faults = [
        (bound[0], text)
        for bound in wanted
        if bound is not None and (text := _fault(*bound.groups())) is not None
    ]
    if faults:
        listed = "; ".join(text for _, text in faults)
        again = installing([package for package, _ in faults])
        raise MissingExtra(f"fairtrial is only half installed: {listed}. Install what is wrong: {again}")


def _fault(name: str, least: str) -> str | None:
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is missing"
    return None if _numbers(found) >= _numbers(least) else f"{name} {found} is older than {least}"


def _numbers(version: str) -> tuple[int, ...]:
    """The release of a version: 1.10.2 of 1.10.2rc1.post3."""
    numbers = [int(part) for part in re.findall(r"\d+", re.split(r"[a-z+]", version)[0])]
    return tuple([*numbers, 0, 0, 0, 0][:4])
