"""How a result leaves a command: on the terminal, and in the files that were asked for."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairtrial._errors import Fault, InputError, Named, Words
from fairtrial._work.kept_files import check_output_file, write_whole

if TYPE_CHECKING:
    from fairtrial._results.result import Result

_PANEL = "Output"
# parameter of a command -> what Typer reads it from
OUTPUT_OPTIONS = {
    "json": Annotated[
        str | None,
        typer.Option("--json", help="Write the result as JSON; - for the terminal.", rich_help_panel=_PANEL),
    ],
    "csv": Annotated[
        str | None, typer.Option("--csv", help="Write the table as CSV.", rich_help_panel=_PANEL)
    ],
    "chart": Annotated[
        str | None, typer.Option("--chart", help="Write the chart: .html, .png or .svg.", rich_help_panel=_PANEL)
    ],
}  # fmt: skip
QUIET = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print the verdict and nothing else.", rich_help_panel=_PANEL),
]
# outputs of methods that make more than tables and charts: what the result must hold, and its option
MORE_OUTPUTS = {
    "improve": {
        "save": Annotated[
            str | None,
            typer.Option(
                "--save",
                help="Write the rule to take away, for `fairtrial apply`: rule.skops.",
                rich_help_panel=_PANEL,
            ),
        ]
    },
    "transport": {
        "moved": Annotated[
            str | None,
            typer.Option(
                "--moved",
                help="Write who moves from where to where as CSV: single people, not for publishing.",
                rich_help_panel=_PANEL,
            ),
        ]
    },
}


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """The files a result is to be written to."""

    json: str | None = None
    csv: str | None = None
    chart: str | None = None
    save: str | None = None
    moved: str | None = None

    def check(self) -> None:
        """Raise before any work is done for a file that cannot be written."""
        for name, path in (("csv", self.csv), ("moved", self.moved)):
            if path == "-":
                cure = Words("only {} writes to the terminal", Named("json"))
                raise InputError("output", Fault(name, "must be a file", got="-", cure=cure))
        if self.chart is not None:
            from fairtrial._results.charts.page import check_chart_file

            check_chart_file(self.chart)
        if self.save is not None:
            from fairtrial._improve.rule_file import skops_io

            skops_io()  # a missing extra is told before any work
        for path in (self.json, self.csv, self.chart, self.save, self.moved):
            if path not in (None, "-"):
                check_output_file("output", str(path))

    def take(self, result: Result, quiet: bool = False) -> None:
        """Print the result and write the files asked for; `--json -` prints JSON alone, quiet the verdict alone."""
        content = json.dumps(result.to_dict(), indent=2, ensure_ascii=False)
        typer.echo(content if self.json == "-" else result.verdict.text if quiet else on_terminal(result))
        written = []
        if self.json not in (None, "-"):
            written.append(write_text(str(self.json), content + "\n"))
        if self.csv is not None:
            from fairtrial._report.tables import csv_text

            written.append(write_text(self.csv, csv_text(result)))
        if self.chart is not None:
            result.plot(self.chart)
            written.append(Path(self.chart))
        if self.save is not None:
            written.append(result.objects["rule"].save(self.save))
        if self.moved is not None:
            from fairtrial._report.tables import frame_csv

            written.append(write_text(self.moved, frame_csv(result.moved("pyarrow"))))  # type: ignore[attr-defined]
        for path in [] if quiet else written:
            typer.echo(f"wrote {path}", err=True)


# A sign and a colour for each tone: without colours the sign and the word still say it.
SIGNS = {"good": ("✓", "green"), "bad": ("✗", "red"), "open": ("?", "yellow")}


def on_terminal(result: Result) -> str:
    """The summary: whole where programs read it; on a terminal cut to its width, the verdict marked."""
    if not sys.stdout.isatty():
        return result.summary()
    text = result.summary(shutil.get_terminal_size().columns)
    sign, colour = SIGNS.get(result.tone, SIGNS["open"])
    marked = f"Verdict {sign}"
    if "NO_COLOR" not in os.environ:
        marked = typer.style(marked, fg=colour, bold=True)
    return text.replace("\nVerdict:", f"\n{marked}", 1)


def write_text(path: str, text: str) -> Path:
    target = Path(path)
    write_whole(target, text)
    return target
