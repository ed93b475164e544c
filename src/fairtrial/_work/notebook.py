"""Long loops in a notebook: a bar that comes when a loop takes longer than a second, and goes with it."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable
from typing import Any

from fairtrial._work.progress import Progress

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
