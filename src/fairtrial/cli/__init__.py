"""The command line. Each command is a small file of its own, imported when it is called."""

from __future__ import annotations

import importlib
import sys

import click

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
    "validity": "Check that every p-value and interval holds its level.",
}


class Commands(click.Group):
    """Lists commands without importing them, so that --help answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        import typer

        module = importlib.import_module(f"fairtrial.cli.{cmd_name}")
        command: click.Command = typer.main.get_command(module.app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fairtrial")
def program() -> None:
    """Give your model a fair trial: is it fair, to whom is it not, why, and did it have to be so?"""


def main() -> None:
    """Entry point: exit code 2 for bad input with one clear message, 1 for the unexpected."""
    from fairtrial.errors import Cancelled, FairtrialError

    try:
        program(prog_name="fairtrial")
    except FairtrialError as error:
        click.echo(str(error), err=True)
        sys.exit(1 if isinstance(error, Cancelled) else 2)
