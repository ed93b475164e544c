"""`fairtrial run`: a whole audit from its spec; the options are the declared arguments of `run`."""

from __future__ import annotations

import inspect
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from fairtrial._errors import GateClosed, check_choice
from fairtrial._options import arguments_of
from fairtrial._report.first_screen import first_sentence
from fairtrial._report.pdf import print_pdf
from fairtrial._trial.record import GATES, Trial
from fairtrial._trial.running import run as run_trial
from fairtrial._work.memory import check_limits
from fairtrial.cli.live import show_trial
from fairtrial.cli.method_commands import CONDITION_MET, option_parameter, read, set_signature, writable
from fairtrial.cli.printing import QUIET
from fairtrial.cli.report import Open, Pdf, chromium_for_pdf, open_in_browser

app = typer.Typer(add_completion=False)

SpecPath = Annotated[str, typer.Argument(help="The spec, as `fairtrial init` writes it.")]
FailOn = Annotated[
    list[str] | None,
    typer.Option("--fail-on", help="Exit with 3 when the verdict is: violated, undetermined; repeat it."),
]
RUN_OPTIONS = writable(arguments_of(run_trial))

SOME_FAILED, UNEXPECTED = 4, 1


def run(
    spec: str = "audit.toml",
    fail_on: list[str] | None = None,
    pdf: bool = False,
    open_page: bool = False,
    quiet: bool = False,
    **texts: Any,
) -> None:
    """Run a whole audit from audit.toml and write its report.

    Exit codes: 0 done, 1 unexpected failure, 2 bad input, 3 the --fail-on condition is met, 4 some sections failed.
    """
    check_limits("run")
    for condition in fail_on or []:
        check_choice("run", "fail_on", condition, GATES)
    chromium = chromium_for_pdf() if pdf else None
    given = read(RUN_OPTIONS, texts)
    folder = Path(given.pop("out", Path(spec).parent / "audit-report"))
    again = f"fairtrial run {spec} --out {folder} --resume"
    trial = run_shown(spec, folder, again, quiet, **given)
    if chromium is not None:
        print_pdf(chromium, folder / "report.html")
    if open_page:
        open_in_browser(folder / "report.html")
    finish(trial, folder, fail_on or [], again, quiet)


def run_shown(spec: str | Path, folder: Path, again: str, quiet: bool = False, **given: Any) -> Trial:
    """Run with a live display; stopped outside of a question, it says how to go on."""
    try:
        with term_is_interrupt(), show_trial(quiet) as tell:
            return run_trial(spec, out=folder, progress=tell, **given)
    except KeyboardInterrupt:
        typer.echo(f"\nStopped. {_go_on(again)}", err=True)
        raise typer.Exit(SOME_FAILED) from None


@contextmanager
def term_is_interrupt() -> Iterator[None]:
    """A terminated run ends as an interrupted one does: what is finished is written and the way to go on is said."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may listen
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _go_on(again: str) -> str:
    return f"Finished sections are kept. To go on: {again}"


_parameter = inspect.Parameter
set_signature(
    run,
    [
        _parameter("spec", _parameter.KEYWORD_ONLY, annotation=SpecPath, default="audit.toml"),
        *[option_parameter(argument) for argument in RUN_OPTIONS],
        _parameter("fail_on", _parameter.KEYWORD_ONLY, annotation=FailOn, default=None),
        _parameter("pdf", _parameter.KEYWORD_ONLY, annotation=Pdf, default=False),
        _parameter("open_page", _parameter.KEYWORD_ONLY, annotation=Open, default=False),
        _parameter("quiet", _parameter.KEYWORD_ONLY, annotation=QUIET, default=False),
    ],
)
app.command()(run)


def finish(trial: Trial, folder: Path, fail_on: list[str], again: str, quiet: bool = False) -> None:
    """Say what was found and where it is, then leave with the exit code that says how it went."""
    if not quiet:
        typer.echo(f"\n{first_sentence(trial.to_dict())}")
    typer.echo(trial.shown_verdict.text)
    for text in trial.left_out:
        typer.echo(f"{text}.")
    for text in trial.unpublished:
        typer.echo(text)
    for answer in trial.answers:
        if answer.status != "done":
            typer.echo(f"\nnot answered: {answer.section.id}: {answer.error}", err=True)
        if answer.unexpected:
            typer.echo(answer.unexpected, err=True)
    if not trial.complete:
        typer.echo(f"\n{_go_on(again)}", err=True)
    if not quiet:
        _tell_files(folder)
    if any(answer.unexpected for answer in trial.answers):
        raise typer.Exit(UNEXPECTED)
    try:
        trial.check(fail_on)
    except GateClosed:
        raise typer.Exit(CONDITION_MET if trial.complete else SOME_FAILED) from None


def _tell_files(folder: Path) -> None:
    typer.echo(
        f"\nresults  {folder / 'results.json'}\ntables   {folder / 'tables'}\ncharts   {folder / 'charts'}"
    )
    typer.echo(f"summary  {folder / 'summary.md'}\nreport   {folder / 'report.html'}")
    if (folder / "report.pdf").exists():
        typer.echo(f"pdf      {folder / 'report.pdf'}")
