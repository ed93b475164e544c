"""Which columns of a table fit a screen beside each other; the others are folded until they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

ROOM = 940.0  # pixels of a table on a wide screen
LETTER, PADDING = 8.0, 18.0  # pixels
BROKEN = 26  # letters after which a text is broken into lines
LEAST = 112.0  # pixels of the first and the last column
LINES = {"why": 13, "verdict": 17, "text": 21}  # letters of a line of what is broken, by the cell's class


def letters(text: str, css: str) -> int:
    """How wide a cell's text stands: numbers and short texts in one line, others broken into several."""
    classes = css.split()
    if "why" not in classes and len(text) <= BROKEN:
        return len(text)
    return next((min(len(text), line) for name, line in LINES.items() if name in classes), len(text))


def width(title: str, cells: Iterable[tuple[str, str]]) -> float:
    """A column's width in pixels, from its heading and the texts and classes of its cells."""
    longest = max((letters(text, css) for text, css in cells), default=0)
    return LETTER * max(longest, len(title)) + PADDING


def kept(wanted: Sequence[str], always: Sequence[str], widths: Mapping[str, float]) -> set[str]:
    """The columns that stay: those that always do, then the wanted ones in order, each where it fits."""
    stay, room = set(always), ROOM - sum(max(widths[name], LEAST) for name in set(always))
    for name in wanted:
        if name not in stay and widths[name] <= room:
            stay.add(name)
            room -= widths[name]
    return stay
