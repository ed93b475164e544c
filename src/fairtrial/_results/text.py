"""Results as text and as HTML. Views compute nothing: they format what the result holds."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from fairtrial._errors import Note
from fairtrial._results.charts import Picture
from fairtrial._results.column import LABELS, MASKED, Column, Kind, StateKind, Verdict, escape, reason, scalar

LONGEST_REASON = 36  # letters of a reason that a cell of the text table can hold


class Shown(Protocol):
    """What a view needs of a result."""

    @property
    def columns(self) -> tuple[Column, ...]: ...
    @property
    def states(self) -> tuple[StateKind, ...]: ...
    @property
    def question(self) -> str: ...
    @property
    def verdict(self) -> Verdict: ...
    @property
    def estimates(self) -> tuple[dict[str, Any], ...]: ...
    @property
    def details(self) -> dict[str, Any]: ...
    @property
    def notes(self) -> tuple[Note, ...]: ...
    @property
    def confidence_level(self) -> float | None: ...
    def pictures(self) -> list[Picture]: ...


def format_value(value: Any, kind: Kind) -> str:
    """One value as people read it: rates in percent, differences in points, p-values with three digits.

    >>> format_value(0.44847, "rate"), format_value(0.2139, "points"), format_value(3e-7, "p"), format_value(None, "p")
    ('44.8%', '+21.4', '<0.001', '–')
    """
    return "–" if value is None else _without_minus_zero(_FORMATS.get(kind, _number)(value), kind)


def counted(number: int, one: str, many: str = "") -> str:
    """How many of what, by its own plural where that is not one letter more.

    >>> counted(1, "row"), counted(2164, "row"), counted(1, "person", "people"), counted(0, "person", "people")
    ('1 row', '2,164 rows', '1 person', '0 people')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def true_minus(text: str) -> str:
    """Typography: a minus sign before numbers instead of a hyphen."""
    return re.sub(r"(?<![\w–-])-(?=[\d.])", "−", text)


def _without_minus_zero(text: str, kind: Kind) -> str:
    """Nothing is minus zero, and no limit near zero is said to lie on one side of it."""
    if kind in LABELS or text[:1] not in "+-" or text.strip("+-0.,%"):
        return text
    return text[1:]


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


_FORMATS: dict[Kind, Callable[[Any], str]] = {
    "text": str,
    "state": str,
    "flag": lambda value: "yes" if value else "no",
    "count": lambda value: f"{int(value):,}",
    "people": lambda value: f"{int(value):,}",
    "rate": lambda value: f"{100 * value:.1f}%",
    "points": lambda value: f"{100 * value:+.1f}",
    "p": lambda value: "<0.001" if value < 0.001 else f"{value:.3f}",
}


def shown_columns(result: Shown) -> list[Column]:
    """Columns that are shown and not empty throughout; what is masked alone fills none."""

    def filled(name: str) -> bool:
        cells = (row.get(name) for row in result.estimates)
        return any(
            cell is not None and not (isinstance(cell, Mapping) and cell.get("masked")) for cell in cells
        )

    return [
        column
        for column in result.columns
        if (column.shown or filled(column.shown_with)) and filled(column.name)
    ]


def table(result: Shown) -> tuple[list[str], list[list[str]]]:
    """Headings and formatted lines; two limits become one cell, an undefined value shows its reason once per line."""
    columns = shown_columns(result)
    interval = interval_heading(result)
    headings = [interval if column.is_low else column.title for column in columns if not column.is_high]
    return headings, [_line(result, row, columns) for row in result.estimates]


def interval_heading(result: Shown) -> str:
    """'95% interval', at the result's own level."""
    level = result.confidence_level
    return f"{100 * level:g}% interval" if level else "interval"


def kind_in(row: Mapping[str, Any], column: Column) -> Kind:
    """A real-valued metric has no percent and no points."""
    real = row.get("value_kind") == "number" and column.kind in ("rate", "points")
    return "number" if real else column.kind


def state_text(result: Shown, row: Mapping[str, Any], column: str = "state") -> str:
    """A row's state in words, with its reason: 'not tested: fewer than 30 members'.

    Where all groups at once say something else than the row by itself, theirs comes first, as in the verdict.
    """
    code, family = row.get(column), row.get("family_state") if column == "state" else None
    if code is None:
        return "–"
    kind = next((kind for kind in (*result.states, MASKED) if kind.code == code), StateKind(str(code)))
    if family not in (None, code):
        return f"{state_text(result, row, 'family_state')} ({kind.text} by itself)"
    why = row.get(f"{column}_reason")
    return f"{kind.text}: {why}" if why else kind.text


def _line(result: Shown, row: dict[str, Any], columns: list[Column]) -> list[str]:
    line: list[str] = []
    told: set[str | None] = {row.get("state_reason")}
    for column in columns:
        if column.is_high:
            continue
        cell = row.get(column.name)
        kind = kind_in(row, column)
        why = reason(cell)
        if column.kind == "state":
            line.append(state_text(result, row, column.name))
        elif why is not None:
            line.append("–" if why in told else why)
            told.add(why)
        elif column.is_low:
            line.append(interval_text(scalar(cell), scalar(row.get(column.partner)), kind))
        else:
            line.append(format_value(scalar(cell), kind))
    return line


def interval_text(low: Any, high: Any, kind: Kind) -> str:
    """'18.2 to 24.5'."""
    if low is None and high is None:
        return "–"
    return f"{format_value(low, kind).rstrip('%')} to {format_value(high, kind).rstrip('%')}"


def text_table(headings: Sequence[str], lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Columns aligned with spaces; a long cell does not widen the numeric columns of the others."""
    widths = [len(heading) for heading in headings]
    for line in lines:
        for i, cell in enumerate(line):
            widths[i] = max(widths[i], min(len(cell), 18 if right[i] else 60))
    out = []
    for line in [list(headings), *lines]:
        cells = [
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(line, widths, right, strict=True)
        ]
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)


def _long_reasons_below(result: Shown, lines: list[list[str]]) -> tuple[list[list[str]], list[str]]:
    """Reasons too long for a cell become numbers, explained once below the table; the last cell has room."""
    reasons = {why for row in result.estimates for cell in row.values() if (why := reason(cell))}
    shown = {cell for line in lines for cell in line[:-1]}
    told = {why for why in reasons & shown if len(why) > LONGEST_REASON}
    marks = {why: f"[{i}]" for i, why in enumerate(sorted(told), start=1)}
    below = [textwrap.fill(f"{mark} {why}", 110, subsequent_indent="    ") for why, mark in marks.items()]
    return [[*(marks.get(cell, cell) for cell in line[:-1]), *line[-1:]] for line in lines], below


def summary_text(result: Shown, width: int | None = None) -> str:
    """Question, table, verdict and notes; with a width, the table's most needed columns that fit into it."""
    headings, lines = table(result)
    lines, footnotes = _long_reasons_below(result, lines)
    columns = [column for column in shown_columns(result) if not column.is_high]
    right = [column.kind not in LABELS for column in columns]
    shown = text_table(headings, lines, right)
    if width is not None:
        shown, left = fit_table(columns, headings, lines, width)
        footnotes += [textwrap.fill(f"No room for: {', '.join(left)}.", width)] if left else []
    wrapped = min(width or 110, 110)
    verdict = f"Verdict: {result.verdict.text}"
    parts = [_wrapped(result.question, width), "", shown, *footnotes, "", _wrapped(verdict, width)]
    parts += [
        textwrap.fill(f"Left out: {text}.", wrapped, subsequent_indent="  ")
        for text in left_out_texts(result)
    ]
    if result.notes:
        notes = (textwrap.fill(f"- {note.text}", wrapped, subsequent_indent="  ") for note in result.notes)
        parts += ["", "Notes", *notes]
    return "\n".join(parts)


def _wrapped(text: str, width: int | None) -> str:
    return text if width is None else textwrap.fill(text, width, subsequent_indent="  ")


# What a narrow table keeps longest, the most needed first; columns that are not named here go before these.
NEEDED = (
    "group", "subgroup", "state", "difference", "ratio", "rate", "difference_low", "ratio_low", "n", "p_adjusted",
    "p_value", "metric",
)  # fmt: skip
NARROWEST = 12  # letters that a text is never cut below


def fit_table(
    columns: Sequence[Column], headings: Sequence[str], lines: Sequence[Sequence[str]], width: int
) -> tuple[str, list[str]]:
    """The table within the width, and the headings of the columns that had no room.

    The least needed columns go first, whole; then texts are cut, with an ellipsis. A column that tells lines apart
    (a metric, where there are several) stays.
    """
    kept = list(range(len(columns)))

    def need(place: int) -> int:
        name = columns[place].name
        varies = len({line[place] for line in lines}) > 1
        if place == 0 and columns[place].kind in LABELS and varies:
            return -1
        return NEEDED.index(name) if name in NEEDED else len(NEEDED) + place

    def drawn(longest: int) -> str:
        cut = [[_cut(line[i], longest) for i in kept] for line in lines]
        return text_table([headings[i] for i in kept], cut, [columns[i].kind not in LABELS for i in kept])

    while len(kept) > 3 and _broadest(drawn(26)) > width:
        kept.remove(max(kept, key=need))
    longest = next((size for size in range(60, NARROWEST, -2) if _broadest(drawn(size)) <= width), NARROWEST)
    return drawn(longest), [headings[i] for i in range(len(columns)) if i not in kept]


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def _broadest(text: str) -> int:
    return max(len(line) for line in text.split("\n"))


def left_out_texts(result: Shown) -> list[str]:
    """What stands beside the verdict: metrics that much of the data was left out of."""
    return [str(entry["text"]) for entry in result.details.get("left_out", ()) if entry["much"]]


def html_table(result: Shown) -> str:
    """The estimates as an HTML table; every text from data is escaped."""
    headings, lines = table(result)
    head = "".join(f"<th scope='col'>{escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def summary_html(result: Shown) -> str:
    """Table and chart for a notebook: no script, nothing fetched."""
    from fairtrial._results.charts.drawing import ChartFailed, svg

    try:
        drawn = "".join(svg(one.chart.to_dict()) for one in result.pictures()[:1])
    except ChartFailed as error:
        drawn = f"<p>{escape(str(error))}</p>"
    left_out = "".join(f"<p>Left out: {escape(text)}.</p>" for text in left_out_texts(result))
    notes = "".join(f"<li>{escape(note.text)}</li>" for note in result.notes)
    return (
        f"<h4>{escape(result.question)}</h4><p>{escape(result.verdict.text)}</p>{left_out}{html_table(result)}"
        f"<div>{drawn}</div><ul>{notes}</ul>"
    )
