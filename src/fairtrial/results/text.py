"""Results as text and as HTML. Views compute nothing: they format what the result holds."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.results.result import escape, reason, scalar

if TYPE_CHECKING:
    from fairtrial.results.result import Column, Kind, Result

LONGEST_REASON = 36  # letters of a reason that a cell of the text table can hold


def format_value(value: Any, kind: Kind) -> str:
    """One value as people read it: rates in percent, differences in points, p-values with three digits.

    >>> format_value(0.44847, "rate"), format_value(0.2139, "points"), format_value(3e-7, "p"), format_value(None, "p")
    ('44.8%', '+21.4', '<0.001', '–')
    """
    if value is None:
        return "–"
    if kind in ("text", "verdict"):
        return str(value)
    if kind == "flag":
        return "yes" if value else "no"
    if kind == "count":
        return f"{int(value):,}"
    if kind == "rate":
        return f"{100 * value:.1f}%"
    if kind == "points":
        return f"{100 * value:+.1f}"
    if kind == "p":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def shown_columns(result: Result) -> list[Column]:
    """Columns that are shown and not empty throughout."""
    return [
        column
        for column in result.columns
        if column.shown and any(row.get(column.name) is not None for row in result.estimates)
    ]


def table(result: Result) -> tuple[list[str], list[list[str]]]:
    """Headings and formatted lines; two limits become one cell, an undefined value shows its reason once per line."""
    columns = shown_columns(result)
    interval = interval_heading(result)
    headings = [interval if is_low(column) else column.title for column in columns if not is_high(column)]
    return headings, [_line(row, columns) for row in result.estimates]


def interval_heading(result: Result) -> str:
    """'95% interval', at the result's own level."""
    level = result.details.get("confidence_level")
    return f"{100 * level:g}% interval" if level else "interval"


def kind_in(row: Mapping[str, Any], column: Column) -> Kind:
    """A real-valued metric has no percent and no points."""
    return "number" if row.get("scale") == "number" and column.kind in ("rate", "points") else column.kind


def _line(row: dict[str, Any], columns: list[Column]) -> list[str]:
    line: list[str] = []
    told: set[str] = set()
    for column in columns:
        if is_high(column):
            continue
        cell = row.get(column.name)
        kind = kind_in(row, column)
        why = reason(cell)
        if why is not None:
            line.append("–" if why in told or why == row.get("finding") else why)
            told.add(why)
        elif is_low(column):
            high = row.get(column.name.removesuffix("low") + "high")
            line.append(interval_text(scalar(cell), scalar(high), kind))
        else:
            line.append(format_value(scalar(cell), kind))
    return line


def is_low(column: Column) -> bool:
    """Whether the column holds lower limits; its partner of upper limits is shown in the same cell."""
    return column.name == "low" or column.name.endswith("_low")


def is_high(column: Column) -> bool:
    return column.name == "high" or column.name.endswith("_high")


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


def _long_reasons_below(result: Result, lines: list[list[str]]) -> tuple[list[list[str]], list[str]]:
    """Reasons too long for a cell become numbers, explained once below the table; the last cell has room."""
    reasons = {reason(cell) for row in result.estimates for cell in row.values()} - {None}
    told = {cell for line in lines for cell in line[:-1] if len(cell) > LONGEST_REASON and cell in reasons}
    marks = {why: f"[{i}]" for i, why in enumerate(sorted(told), start=1)}
    below = [textwrap.fill(f"{mark} {why}", 110, subsequent_indent="    ") for why, mark in marks.items()]
    return [[*(marks.get(cell, cell) for cell in line[:-1]), *line[-1:]] for line in lines], below


def summary_text(result: Result) -> str:
    """Question, table, verdict and notes."""
    headings, lines = table(result)
    lines, footnotes = _long_reasons_below(result, lines)
    right = [
        column.kind not in ("text", "verdict", "flag")
        for column in shown_columns(result)
        if not is_high(column)
    ]
    notes = [textwrap.fill(f"- {note.text}", 110, subsequent_indent="  ") for note in result.notes]
    parts = [result.question, "", text_table(headings, lines, right), *footnotes]
    parts += ["", f"Verdict: {result.verdict.text}"]
    if notes:
        parts += ["", "Notes", *notes]
    return "\n".join(parts)


def html_table(result: Result) -> str:
    """The estimates as an HTML table; every text from data is escaped."""
    headings, lines = table(result)
    head = "".join(f"<th scope='col'>{escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def summary_html(result: Result) -> str:
    """Table and chart for a notebook: no script, nothing fetched."""
    import vl_convert

    from fairtrial.results.charts.files import main_chart

    picture = vl_convert.vegalite_to_svg(main_chart(result).to_dict())
    notes = "".join(f"<li>{escape(note.text)}</li>" for note in result.notes)
    return (
        f"<h4>{escape(result.question)}</h4><p>{escape(result.verdict.text)}</p>{html_table(result)}"
        f"<div>{picture}</div><ul>{notes}</ul>"
    )
