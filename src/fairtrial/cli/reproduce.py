"""`fairtrial papers elfa reproduce --table 1`: a table or figure of a paper, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import fairtrial
from fairtrial._errors import Fault, InputError

# Papers whose tables and figures can be had; a room of one's own has none.
REPRODUCED = ("elfa", "transport", "conditional_bias_scan", "shapley_rawls", "improvability")


def reproducer(paper: str) -> typer.Typer:
    """The command of one paper."""
    application = typer.Typer(add_completion=False)

    def reproduce(
        table: Annotated[str | None, typer.Option(help="A table's number.")] = None,
        figure: Annotated[str | None, typer.Option(help="A figure's number.")] = None,
        full: Annotated[bool, typer.Option("--full", help="The paper's own numbers of repeats.")] = False,
        data: Annotated[
            Path | None, typer.Option(help="File, or folder of files, that the package does not hold.")
        ] = None,
        out: Annotated[Path | None, typer.Option(help="An SVG file for the figure.")] = None,
    ) -> None:
        """Compute one table or figure of the paper again: printed, by its formula and valid side by side."""
        room: Any = getattr(fairtrial.papers, paper)
        found = room.reproduce(table, figure=figure, full=full, data=data)
        if found.text:
            print(found.text)
        drawing = found.svg()
        if out is not None:
            if drawing is None:
                raise InputError(
                    "reproduce",
                    Fault("out", "is for figures; a table is printed", got=str(out), cure="leave it out"),
                )
            out.write_text(drawing, encoding="utf-8")
        elif drawing is not None:
            print("Name an SVG file with --out to have the figure.")

    application.command(help=reproduce.__doc__)(reproduce)
    return application
