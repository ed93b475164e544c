"""Live displays: the sections of a run, line by line, and the progress of a single question."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from fairtrial._work import COMPILING, time_left

if TYPE_CHECKING:
    from fairtrial._trial.running import Event

_SIGNS = {
    "waiting": ("·", "dim"),
    "running": ("▸", "bold cyan"),
    "kept": ("✓", "green"),
    "done": ("✓", "green"),
    "failed": ("✗", "bold red"),
    "stopped": ("■", "yellow"),
}
_BAR = 16
BETWEEN_SIGNS = 30.0  # seconds


@contextmanager
def show_trial(quiet: bool = False) -> Iterator[Callable[[Event], None]]:
    """A function that takes a run's events: a live table on a terminal, plain lines elsewhere, nothing if quiet."""
    if quiet:
        yield lambda event: None
        return
    if not sys.stderr.isatty():
        yield _PlainLines().take
        return
    from rich.console import Console
    from rich.live import Live

    table = _Table()
    with Live(
        table, console=Console(stderr=True), refresh_per_second=8, vertical_overflow="visible"
    ):  # rich calls the table again for every frame, so the running time goes on between events
        yield table.take


class _PlainLines:
    """One line per section for logs, and a sign of life from long loops twice a minute."""

    words: ClassVar = {"kept": "kept from before", "done": "done", "failed": "failed", "stopped": "stopped"}

    def __init__(self) -> None:
        self.told = time.monotonic()

    def take(self, event: Event) -> None:
        if event.status in self.words:
            self._tell(event, self.words[event.status], f"{event.seconds:6.1f} s  {_told(event)}")
        elif event.text == COMPILING:
            self._tell(event, "running", event.text)
        elif event.total and time.monotonic() - self.told > BETWEEN_SIGNS:
            self._tell(event, "running", f"{event.done:,} of {event.total:,}  {_left(event)}")

    def _tell(self, event: Event, state: str, text: str) -> None:
        self.told = time.monotonic()
        typer.echo(f"{event.section:<12} {state:<16} {text}".rstrip(), err=True)


def _left(event: Event) -> str:
    return time_left(event.done, event.total, event.seconds)


def _told(event: Event) -> str:
    """Why a question was not answered; what was found is told after the correction over all of them."""
    return "" if event.status in ("done", "kept") else _short(event.text)


def _short(text: str, width: int = 110) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= width else line[: width - 1] + "…"


class _Table:
    """The lines of the display; the last event of each section and when it began to run."""

    def __init__(self) -> None:
        self.events: dict[str, Event] = {}
        self.began: dict[str, float] = {}

    def take(self, event: Event) -> None:
        self.events[event.section] = event
        if event.status == "running":
            self.began.setdefault(event.section, time.monotonic())

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(no_wrap=True)
        width = max(len(event.title) for event in self.events.values()) if self.events else 0
        table.add_column(no_wrap=True, min_width=min(width, 48))
        table.add_column(justify="right", no_wrap=True)
        table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        for event in self.events.values():
            sign, style = _SIGNS[event.status]
            table.add_row(
                Text(sign, style=style),
                Text(event.title),
                Text(self._seconds(event), style="dim"),
                self._doing(event),
            )
        return table

    def _seconds(self, event: Event) -> str:
        if event.status == "running":
            return f"{time.monotonic() - self.began[event.section]:.0f} s"
        return "" if event.status in ("waiting", "kept") else f"{event.seconds:.1f} s"

    def _doing(self, event: Event) -> Any:
        from rich.text import Text

        if event.status == "running" and event.total:
            filled = round(_BAR * event.done / event.total)
            bar = "━" * filled + "─" * (_BAR - filled)
            left = f"{_left(event)}  " if _left(event) else ""
            return Text(f"{bar} {event.done:,} of {event.total:,}  {left}{event.text}", style="cyan")
        style = "red" if event.status == "failed" else "dim"
        kept = "kept from before" if event.status == "kept" else ""
        return Text(kept + _told(event), style=style)


def show_progress(quiet: bool = False) -> Any:
    """A Rich progress display with the time left on a terminal, nothing otherwise."""
    if quiet or not sys.stderr.isatty():
        return None
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    bar = Progress(*columns, console=console, transient=True)
    tasks: dict[str, Any] = {}

    def tell(event: Any) -> None:
        if not event.total:
            console.print(event.name, style="dim")
            return
        if event.name not in tasks:
            bar.start()
            tasks[event.name] = bar.add_task(event.name, total=event.total)
        bar.update(tasks[event.name], completed=event.done)
        if event.done >= event.total:
            bar.stop()

    return tell
