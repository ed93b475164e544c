"""One table or figure of a paper, computed again beside what is printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairtrial._errors import Fault, InputError, did_you_mean

Drawing = Any  # an Altair chart, or the text of an SVG file
Made = tuple[str, Drawing | None]  # Markdown, and the drawing of a figure


@dataclass(frozen=True, slots=True)
class Asked:
    """How a study is made: in full or in short, and where files are that the package may not hold."""

    full: bool = False
    data: Path | None = None
    share: float = 1.0  # of the full repeats
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A table or figure of a paper: what is printed, what its formula gives here, and what is valid.

    `text` is Markdown with the tables, `rows` the same cells by their column's name, and `chart` the figure: an Altair
    chart, or the text of an SVG file.
    """

    paper: str
    item: str
    text: str
    chart: Drawing | None = field(default=None, repr=False)

    @property
    def rows(self) -> list[dict[str, str]]:
        """Every row of the text's tables, as texts by the column's name."""
        found: list[dict[str, str]] = []
        head: list[str] | None = None
        for line in self.text.splitlines():
            if not line.startswith("|"):
                head = None
                continue
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if head is None:
                head = cells
            elif not set("".join(cells)) <= set("-: "):
                found.append(dict(zip(head, cells, strict=False)))
        return found

    def __str__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return self.text

    def svg(self) -> str | None:
        """The figure as an SVG file's text."""
        if self.chart is None or isinstance(self.chart, str):
            return self.chart
        from fairtrial.papers._studies.parts.drawing import drawn

        return drawn(self.chart)


def reproduced(
    paper: str,
    items: Mapping[str, Callable[[Asked], Made]],
    table: str | int | None,
    figure: str | int | None,
    full: bool,
    data: str | Path | None,
) -> Reproduction:
    """The table or the figure that is asked for; a fault names those there are."""
    if (table is None) == (figure is None):
        listed = ", ".join(items)
        raise InputError(
            "reproduce", Fault("", "asks for one table or one figure", cure=f"Here are: {listed}")
        )
    argument, number = ("table", table) if figure is None else ("figure", figure)
    item = f"{argument} {re.sub(r'[. ()]', '', str(number)).lower()}"
    if item not in items:
        known = [name.split()[1] for name in items if name.startswith(argument)]
        hint = did_you_mean(item, items)
        raise InputError("reproduce", Fault(argument, f"must be one of {known}", got=number, hint=hint))
    folder = None if data is None else Path(data)
    text, chart = items[item](Asked(full=full, data=folder))
    return Reproduction(paper, item, text, chart)
