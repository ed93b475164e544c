"""`fairtrial demo`: the bundled audit of COMPAS, from data to report."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated

import typer

from fairtrial._work.kept_files import make_output_folder, write_whole
from fairtrial.cli.printing import QUIET, on_terminal
from fairtrial.cli.run import finish, run_shown

app = typer.Typer(add_completion=False)


@app.command()
def demo(
    out: Annotated[str, typer.Option("--out", help="Folder to write to.")] = "fairtrial-demo",
    jobs: Annotated[int, typer.Option("--jobs", help="Parallel workers; numbers do not depend on it.")] = 2,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an interrupted run in the folder stopped.")
    ] = False,
    quiet: QUIET = False,
) -> None:
    """Audit the bundled COMPAS data and write a report."""
    folder = make_output_folder("demo", "out", out, files=("audit.toml",))
    spec = folder / "audit.toml"
    write_whole(spec, files("fairtrial.datasets").joinpath("compas.toml").read_bytes())
    if not quiet:
        typer.echo("Auditing COMPAS: 7,214 people scored in Broward County, Florida, 2013-2014", err=True)
    again = f"fairtrial demo --out {folder} --resume"
    trial = run_shown(spec, folder, again, quiet, jobs=jobs, resume=resume)
    rates = trial.shown.get("measure-1")
    if rates is not None and not quiet:
        typer.echo(f"\n{on_terminal(rates)}")
    finish(trial, folder, [], again, quiet)
