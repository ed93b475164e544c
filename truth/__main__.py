"""`python -m truth`: play the scenarios; `make truth` plays all of them and writes their page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truth.board import Line, run_board
from truth.page import write_page

app = typer.Typer(add_completion=False)


@app.command(help="Check that whole audits claim what is true; exit code 1 when one does not.")
def truth(
    long: Annotated[
        bool, typer.Option("--long/--short", help="All scenarios, 20 times, or ten of them twice.")
    ] = False,
    only: Annotated[list[str] | None, typer.Option(help="Only the scenario of this name; repeat it.")] = None,
    out: Annotated[str | None, typer.Option(help="Folder for truth.md.")] = None,
) -> None:
    def tell(line: Line) -> None:
        mark = "true" if line.holds else "NOT TRUE"
        typer.echo(f"{line.scenario.name}: {mark} ({len(line.outcomes)} repeats, {line.seconds:.0f} s)")
        for outcome in line.outcomes if not line.holds else ():
            for text in (
                *outcome.false,
                *(f"missing {t}" for t in outcome.missing),
                *(f"forbidden {t}" for t in outcome.forbidden),
            ):
                typer.echo(f"  {text}")

    lines = run_board(long=long, names=tuple(only or ()), tell=tell)
    if out is not None:
        typer.echo(f"wrote {write_page(lines, Path(out))}")
    good = sum(line.holds for line in lines)
    typer.echo(f"{good} of {len(lines)} scenarios hold")
    raise typer.Exit(0 if good == len(lines) else 1)


if __name__ == "__main__":
    app(prog_name="python -m truth")
