"""Close-ups as the page draws them: places in percent of the line, so that no script is needed."""

from __future__ import annotations

import math
from typing import Any

from fairtrial._report.tables import shown
from fairtrial._results.close_up import CloseUp, Mark

SHAPES = {
    "own": "M0-7 7 0 0 7-7 0z",
    "expected": "M-1.5-8h3v16h-3z",
    "others": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0",
}
STEP = 0.1  # the scale ends at a multiple of this rate


def drawn(one: CloseUp) -> dict[str, Any]:
    """A close-up with its marks on one scale that begins at zero."""
    ends = [end for mark in one.marks for end in (mark.rate, mark.high) if end is not None]
    most = min(1.0, STEP * math.ceil(max(ends, default=1.0) / STEP)) or STEP
    return {
        "title": one.title,
        "marks": [_drawn(mark, most) for mark in one.marks],
        "most": f"{100 * most:.0f}%",
        "numbers": [(name, text) for name, text in one.numbers],
        "found": one.found,
    }


def _drawn(mark: Mark, most: float) -> dict[str, str]:
    limits = {} if mark.low is None or mark.high is None else {"low": mark.low, "high": mark.high}
    return {
        "label": mark.label,
        "role": mark.role,
        "shape": SHAPES[mark.role],
        "text": shown(mark.rate, "rate"),
        "low": "",
        "high": "",
        **{name: f"{100 * value / most:.2f}%" for name, value in {"at": mark.rate, **limits}.items()},
    }
