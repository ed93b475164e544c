"""`fairtrial run`: a whole audit from its spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairtrial.cli.live import show_trial
from fairtrial.errors import check_choice

if TYPE_CHECKING:
    from fairtrial.trial import Trial

app = typer.Typer(add_completion=False)

SpecPath = Annotated[str, typer.Argument(help="The spec, as `fairtrial init` writes it.")]
Out = Annotated[
    str | None, typer.Option("--out", help="Folder to write to; default: audit-report beside the spec.")
]
RunJobs = Annotated[int | None, typer.Option("--jobs", help="Parallel workers; numbers do not depend on it.")]
RunSeed = Annotated[int | None, typer.Option("--seed", help="Same seed, same numbers; default: the spec's.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on where an interrupted run in the folder stopped.")
]
FailOn = Annotated[
    list[str] | None,
    typer.Option("--fail-on", help="Exit with 3 when the verdict is: violated, undetermined; repeat it."),
]

SOME_FAILED, CONDITION_MET, UNEXPECTED = 4, 3, 1


@app.command()
def run(
    spec: SpecPath = "audit.toml",
    out: Out = None,
    jobs: RunJobs = None,
    seed: RunSeed = None,
    resume: Resume = False,
    fail_on: FailOn = None,
) -> None:
    """Run a whole audit from audit.toml and write its report.

    Exit codes: 0 done, 1 unexpected failure, 2 bad input, 3 the --fail-on condition is met, 4 some sections failed.
    """
    from fairtrial.trial import run as run_trial

    for condition in fail_on or []:
        check_choice("run", "--fail-on", condition, ["violated", "undetermined"])
    folder = Path(out) if out is not None else Path(spec).parent / "audit-report"
    with show_trial() as tell:
        trial = run_trial(spec, out=folder, jobs=jobs, seed=seed, resume=resume, progress=tell)
    finish(trial, folder, fail_on or [], again=f"fairtrial run {spec} --out {folder} --resume")


def finish(trial: Trial, folder: Path, fail_on: list[str], again: str) -> None:
    """Say what was found and where it is, then leave with the exit code that says how it went."""
    typer.echo(f"\n{trial.verdict.text}")
    for answer in trial.answers:
        if answer.status != "done":
            typer.echo(f"\nnot answered: {answer.section.id}: {answer.error}", err=True)
        if answer.unexpected:
            typer.echo(answer.unexpected, err=True)
    if not trial.complete:
        typer.echo(f"\nFinished sections are kept. To go on: {again}", err=True)
    typer.echo(
        f"\nresults  {folder / 'results.json'}\ntables   {folder / 'tables'}\ncharts   {folder / 'charts'}"
    )
    typer.echo(f"report   {folder / 'report.html'}")
    if any(answer.unexpected for answer in trial.answers):
        raise typer.Exit(UNEXPECTED)
    if not trial.complete:
        raise typer.Exit(SOME_FAILED)
    if trial.verdict.code in fail_on:
        raise typer.Exit(CONDITION_MET)
