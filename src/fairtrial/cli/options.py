"""Options that commands share: how the data is opened, how results leave."""

from __future__ import annotations

import inspect
import json as json_module
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairtrial.errors import InputError
from fairtrial.labels import canonical
from fairtrial.results.output import check_output_file

if TYPE_CHECKING:
    from fairtrial.data.audit import Audit
    from fairtrial.results.result import Result

_DATA, _ASK, _OUT = "Data", "Question", "Output"

Data = Annotated[str, typer.Argument(help="CSV or Parquet file, or a glob of them.", metavar="DATA")]
Outcome = Annotated[str | None, typer.Option(help="Column of what really happened.", rich_help_panel=_DATA)]
Decision = Annotated[str | None, typer.Option(help="Column of the decision.", rich_help_panel=_DATA)]
Score = Annotated[str | None, typer.Option(help="Column of the score.", rich_help_panel=_DATA)]
Threshold = Annotated[float | None, typer.Option(help="Decision = score ≥ threshold.", rich_help_panel=_DATA)]
Positive = Annotated[
    list[str] | None,
    typer.Option(help="Label that counts as 1; or decision=LABEL, outcome=LABEL.", rich_help_panel=_DATA),
]
Bins = Annotated[
    list[str] | None,
    typer.Option(help="Cut a column: age=25,45 (edges) or age=4 (quarters).", rich_help_panel=_DATA),
]
Missing = Annotated[str, typer.Option(help="Missing values: error, drop or category.", rich_help_panel=_DATA)]
Features = Annotated[
    list[str] | None, typer.Option("--feature", help="Feature column; repeat it.", rich_help_panel=_DATA)
]
Weight = Annotated[str | None, typer.Option(help="Column of survey weights.", rich_help_panel=_DATA)]
Unit = Annotated[
    str | None, typer.Option(help="Column naming the person of repeated rows.", rich_help_panel=_DATA)
]
By = Annotated[list[str], typer.Option("--by", help="Attribute to compare; repeat it.", rich_help_panel=_ASK)]
MetricName = Annotated[str, typer.Option("--metric", help="Metric, e.g. fpr.", rich_help_panel=_ASK)]
MetricNames = Annotated[
    list[str], typer.Option("--metric", help="Metric, e.g. fpr; repeat it.", rich_help_panel=_ASK)
]
Depth = Annotated[
    int, typer.Option(help="Intersections of up to this many attributes.", rich_help_panel=_ASK)
]
TargetText = Annotated[
    str,
    typer.Option(
        "--target", help="rest, overall, a number, or a group: race=Caucasian.", rich_help_panel=_ASK
    ),
]
ToleranceText = Annotated[
    str | None,
    typer.Option(
        "--tolerance", help="0.05, or two numbers low,high such as -0.02,0.05.", rich_help_panel=_ASK
    ),
]
Minimum = Annotated[int, typer.Option(help="Smaller groups are listed as not tested.", rich_help_panel=_ASK)]
Likelihood = Annotated[str, typer.Option(help="empirical or euclidean.", rich_help_panel=_ASK)]
Level = Annotated[float, typer.Option("--confidence-level", help="Of the intervals.", rich_help_panel=_ASK)]
Seed = Annotated[int, typer.Option(help="Same seed, same numbers.", rich_help_panel=_ASK)]
Jobs = Annotated[
    int, typer.Option(help="Parallel workers; numbers do not depend on it.", rich_help_panel=_ASK)
]


def _output_file(path: str | None) -> str | None:
    """Checked while the options are read, so that no work is done for a file that cannot be written."""
    if path not in (None, "-"):
        check_output_file("output", str(path))
    return path


def _table_file(path: str | None) -> str | None:
    if path == "-":
        raise InputError("--csv", "must be a file, got '-': only --json writes to the terminal")
    return _output_file(path)


def _chart_file(path: str | None) -> str | None:
    if path is not None:
        from fairtrial.results.charts.files import check_chart_file

        check_chart_file(path)
    return _output_file(path)


Json = Annotated[
    str | None,
    typer.Option(
        "--json",
        help="Write the result as JSON; - for the terminal.",
        rich_help_panel=_OUT,
        callback=_output_file,
    ),
]
Csv = Annotated[
    str | None,
    typer.Option("--csv", help="Write the table as CSV.", rich_help_panel=_OUT, callback=_table_file),
]
Chart = Annotated[
    str | None,
    typer.Option(
        "--chart", help="Write the chart: .html, .png or .svg.", rich_help_panel=_OUT, callback=_chart_file
    ),
]


# option -> its kind and default: how the data are read, and where the answer goes
_OPENING: dict[str, tuple[Any, Any]] = {
    "outcome": (Outcome, None),
    "decision": (Decision, None),
    "score": (Score, None),
    "threshold": (Threshold, None),
    "positive": (Positive, None),
    "bins": (Bins, None),
    "missing": (Missing, "error"),
}
_MORE_OPENING: dict[str, tuple[Any, Any]] = {
    "features": (Features, None),
    "weight": (Weight, None),
    "unit": (Unit, None),
}
_WRITING: dict[str, tuple[Any, Any]] = {"json": (Json, None), "csv": (Csv, None), "chart": (Chart, None)}


def asks(*more: str, by_needed: bool = True) -> Callable[[Callable[..., Result]], Callable[..., None]]:
    """Turns `(audit, own options…) -> Result` into a command that has the shared options as well.

    The audit is opened before the function is called, and its result is printed and written afterwards. `more` names
    options of the data that only some commands have: features, weight, unit.
    """
    needed = inspect.Parameter.empty
    before = {"data": (Data, needed), "by": (By, needed if by_needed else None), **_OPENING}
    before |= {name: _MORE_OPENING[name] for name in more}

    def decorate(question: Callable[..., Result]) -> Callable[..., None]:
        own = list(inspect.signature(question, eval_str=True).parameters.values())[1:]
        parameters = [
            *[_parameter(name, *kind) for name, kind in before.items()],
            *[_parameter(part.name, part.annotation, part.default) for part in own],
            *[_parameter(name, *kind) for name, kind in _WRITING.items()],
        ]

        def command(**values: Any) -> None:
            audit = open_audit(**{name: values[name] for name in before})
            result = question(audit, **{part.name: values[part.name] for part in own})
            emit(result, **{name: values[name] for name in _WRITING})

        # what Typer reads the options from
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {part.name: part.annotation for part in parameters}
        return command

    return decorate


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def open_audit(
    data: str,
    *,
    positive: list[str] | None = None,
    bins: list[str] | None = None,
    by: list[str] | None = None,
    features: list[str] | None = None,
    **roles: Any,
) -> Audit:
    """The Audit that the options describe."""
    from fairtrial.data.audit import Audit

    return Audit(
        data,
        groups=by or (),
        features=features or (),
        positive=_positive(positive or []),
        bins=dict(_cut(text) for text in bins or []),
        **roles,
    )


def parse_target(text: str) -> object:
    """`rest`, `overall`, a number, or `attribute=value` pairs joined by commas."""
    if "=" in text:
        pairs: list[list[str]] = []
        for part in text.split(","):
            if "=" in part:
                pairs.append(part.split("=", 1))
            elif pairs:
                pairs[-1][1] += f",{part}"  # a label may hold commas
            else:
                raise InputError("--target", f"must look like race=Caucasian, got {text!r}")
        return {name.strip(): label for name, label in pairs}
    try:
        return float(text)
    except ValueError:
        return text


def parse_tolerance(who: str, text: str | None) -> float | list[float] | None:
    """`0.05`, or `low,high`."""
    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(who, f"'tolerance' must be a number or low,high, got {text!r}") from None
    return numbers[0] if len(numbers) == 1 else numbers


def emit(
    result: Result, *, json: str | None = None, csv: str | None = None, chart: str | None = None
) -> None:
    """Print the result and write the files asked for; `--json -` prints JSON alone."""
    content = json_module.dumps(result.to_dict(), indent=2, ensure_ascii=False)
    if json == "-":
        typer.echo(content)
    else:
        typer.echo(result.summary())
    written = []
    if json not in (None, "-"):
        written.append(_write(str(json), content + "\n"))
    if csv is not None:
        from fairtrial.trial.report.tables import csv_text

        written.append(_write(csv, csv_text(result)))
    if chart is not None:
        from fairtrial.results.charts.files import save_chart

        written.append(save_chart(result, chart))
    for path in written:
        typer.echo(f"wrote {path}", err=True)


def _write(path: str, text: str) -> Path:
    target = Path(path)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError("output", f"cannot write {path}: {error.strerror}") from None
    return target


def _positive(texts: list[str]) -> object:
    named = [text.split("=", 1) for text in texts if text.startswith(("decision=", "outcome="))]
    if len(texts) > max(1, len(named)) or (named and len(named) < len(texts)):
        raise InputError("--positive", "must be one label, or decision=LABEL and outcome=LABEL")
    if named:
        return {name: canonical(label) for name, label in named}
    return canonical(texts[0]) if texts else None


def _cut(text: str) -> tuple[str, int | list[float]]:
    name, _, edges = text.partition("=")
    try:
        numbers = [float(edge) for edge in edges.split(",")]
    except ValueError:
        raise InputError("--bins", f"must look like age=25,45 or age=4, got {text!r}") from None
    if len(numbers) == 1 and "," not in edges and numbers[0].is_integer():
        return name, int(numbers[0])
    return name, numbers


def show_progress() -> Any:
    """A Rich progress display on a terminal, nothing otherwise."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    tasks: dict[str, Any] = {}

    def tell(event: Any) -> None:
        if event.name not in tasks:
            bar.start()
            tasks[event.name] = bar.add_task(event.name, total=event.total)
        bar.update(tasks[event.name], completed=event.done)
        if event.done >= event.total:
            bar.stop()

    return tell
