"""The command line. Each command is a small file of its own, imported when it is called."""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

# command -> one line of help; the module has the same name
COMMANDS = {
    "demo": "Audit the bundled COMPAS data and write a report.",
    "init": "Look at a data file and write a commented audit.toml.",
    "run": "Run a whole audit from audit.toml and write its report.",
    "report": "Render the report of saved results again.",
    "diff": "Compare two audits.",
    "measure": "What are the rates? Rates, differences and ratios with intervals.",
    "certify": "Is it fair? Joint test, disparities, and a verdict per group.",
    "flag": "Which known groups are harmed? Tests over all intersections.",
    "plan": "How many rows are needed to certify or to detect?",
    "scan": "Which unknown subgroups are harmed? Search with a valid p-value.",
    "transport": "How little would have to change?",
    "explain": "Which features carry the disparity?",
    "improve": "Was there a fairer way, just as good?",
}


class Commands(TyperGroup):
    """Lists commands without importing them, so that --help answers at once."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            from fairtrial.errors import InputError, did_you_mean

            hint = did_you_mean(cmd_name, COMMANDS) or " `fairtrial --help` lists them."
            raise InputError("fairtrial", f"there is no command {cmd_name!r}.{hint}")
        command = typer.main.get_command(importlib.import_module(f"fairtrial.cli.{cmd_name}").app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


program = typer.Typer(
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from fairtrial import __version__

        typer.echo(f"fairtrial {__version__}")
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
    from fairtrial.cli.wording import QUESTIONS, in_options
    from fairtrial.errors import Cancelled, FairtrialError, FairtrialWarning

    warnings.simplefilter("ignore", FairtrialWarning)  # the results' notes say the same
    try:
        program(prog_name="fairtrial")
    except FairtrialError as error:
        text = str(error)
        if len(sys.argv) > 1 and sys.argv[1] in QUESTIONS:
            text = in_options(text)
        typer.echo(text, err=True)
        sys.exit(1 if isinstance(error, Cancelled) else 2)
