"""Long loops in a notebook: a bar that comes when a loop takes longer than a second, and goes with it."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

BEFORE_SHOWN = 1.0  # seconds
BETWEEN = 0.25


def notebook_bar() -> Callable[[Progress], None] | None:
    """What shows the progress of a loop in a notebook; None elsewhere."""
    return _Bar().take if "ipykernel" in sys.modules else None


class _Bar:
    def __init__(self) -> None:
        self.handle: Any = None
        self.drawn = 0.0

    def take(self, progress: Progress) -> None:
        """Draw the bar where it is time to; at the end of the loop it goes."""
        ended = progress.done >= progress.total
        if self.handle is None and (ended or progress.seconds < BEFORE_SHOWN):
            return
        if ended or time.monotonic() - self.drawn >= BETWEEN:
            self.drawn = time.monotonic()
            self._draw("" if ended else bar_html(progress))
        if ended:
            self.handle = None

    def _draw(self, text: str) -> None:
        from IPython.display import HTML, display

        if self.handle is None:
            self.handle = display(HTML(text), display_id=True)
        else:
            self.handle.update(HTML(text))


def bar_html(progress: Progress) -> str:
    """The bar as HTML, with its numbers in words.

    >>> bar_html(Progress("draws", 250, 1000, 10.0))
    "<progress value='250' max='1000'></progress> draws: 250 of 1,000, about 30 s left"
    """
    left = f", {progress.left}" if progress.left else ""
    bar = f"<progress value='{progress.done}' max='{progress.total}'></progress>"
    return f"{bar} {html.escape(progress.name)}: {progress.done:,} of {progress.total:,}{left}"


# -- How far a loop is, and how long the rest will take.
@dataclass(frozen=True, slots=True)
class Progress:
    """How far a named loop is; of a total of 0, what is being done before one begins."""

    name: str
    done: int
    total: int
    seconds: float

    @property
    def left(self) -> str:
        """About how long the rest will take, in words; nothing before the first part is done."""
        return time_left(self.done, self.total, self.seconds)


def time_left(done: int, total: int, seconds: float) -> str:
    """About how long the rest of a loop will take, at the pace so far.

    >>> time_left(250, 1000, 10.0), time_left(1, 100, 60.0), time_left(0, 10, 3.0), time_left(10, 10, 3.0)
    ('about 30 s left', 'about 99 min left', '', '')
    """
    if not 0 < done < total or seconds <= 0:
        return ""
    rest = seconds / done * (total - done)
    return f"about {rest:.0f} s left" if rest < 120 else f"about {rest / 60:.0f} min left"
