"""`fairtrial seal`, `verify` and `recheck`: sign a report folder, check one, check what somebody else published."""

from __future__ import annotations

from typing import Annotated

import typer

from fairtrial._trial import sealing
from fairtrial._trial.rechecking import recheck as check
from fairtrial.cli.method_commands import CONDITION_MET

app = typer.Typer(add_completion=False)
verify_app = typer.Typer(add_completion=False)
recheck_app = typer.Typer(add_completion=False)

Folder = Annotated[str, typer.Argument(help="The folder of a report, as `fairtrial run` writes it.")]


@app.command()
def seal(
    folder: Folder,
    key: Annotated[str, typer.Option("--key", help="File of your SSH key, such as ~/.ssh/id_ed25519.")],
) -> None:
    """Sign a report folder, so that others can tell it is as you left it."""
    path = sealing.seal(folder, key)
    typer.echo(f"sealed   {path}\nTo check it: fairtrial verify {folder}")


@verify_app.command()
def verify(
    folder: Folder,
    signers: Annotated[
        str | None,
        typer.Option("--signers", help="File of allowed signers: a line per key, a name in front of it."),
    ] = None,
    signer: Annotated[
        str | None, typer.Option("--signer", help="Who must have signed; default: any of the file.")
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", help="Also check that this is the file that was audited.")
    ] = None,
) -> None:
    """Check a sealed report folder and say what its seal proves."""
    found = sealing.verify(folder, signers=signers, signer=signer, data=data)
    typer.echo(str(found))
    if not found.holds:
        raise typer.Exit(CONDITION_MET)


@recheck_app.command()
def recheck(
    table: Annotated[
        str, typer.Argument(help="CSV with a line per group: group and some of n, events, rate, ratio.")
    ],
) -> None:
    """Check published numbers: are they possible, do they fit each other, how sure could one be?"""
    found = check(table)
    typer.echo(str(found))
    if found.contradictions:
        raise typer.Exit(CONDITION_MET)
