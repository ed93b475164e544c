"""Estimates as tables: cells for the page, CSV that a spreadsheet cannot run, Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairtrial._metrics.table import METRICS
from fairtrial._results.column import Column, Kind, reason, scalar
from fairtrial._results.result import Result
from fairtrial._results.text import (
    format_value,
    interval_heading,
    interval_text,
    kind_in,
    shown_columns,
    state_text,
    true_minus,
)
from fairtrial._trial.family import metric_label
from fairtrial._work.kept_files import write_whole

# -- Which columns of a table fit a screen beside each other; the others are folded until they are asked for.
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


# what is wanted first of what does not fit
FIRST = (
    "metric",
    "metric_label",
    "cut",
    "n",
    "rate",
    "difference",
    "difference_low",
    "unadjusted",
    "impact_ratio",
    "p_adjusted",
)
MOST_PRINTED = 120  # lines of a table on paper; about three sheets
SHORT = BROKEN  # characters that need not be broken into lines
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell shows, what it sorts by, and why it is empty if it is."""

    text: str
    value: Any
    css: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A heading; `detail` says that the column is folded away until it is asked for, `of` whose interval it heads
    where a table has several."""

    title: str
    css: str
    detail: bool = False
    of: str = ""


def number_class(kind: str) -> str:
    """Numbers stand right, texts left."""
    return {"text": "text", "flag": "flag", "state": "text verdict"}.get(kind, "num")


def build_table(result: Result) -> dict[str, Any]:
    """Columns and lines of a result's estimates, as the page shows them: two limits in one cell.

    Who it is about stands first and the verdict last, where they stay in view; what does not fit between is folded.
    """
    columns = _in_view(
        column
        for column in shown_columns(result)
        if not column.is_high and any(scalar(row.get(column.name)) is not None for row in result.estimates)
    )
    interval = interval_heading(result)
    titles = [interval if column.is_low else _title(result, column) for column in columns]
    lines = [_line(result, row, columns) for row in result.estimates]
    folded = _folded(columns, titles, lines)
    tones = {kind.code: kind.tone for kind in result.states}
    owners = _owners(columns, titles)
    return {
        "columns": [
            TableColumn(title, number_class(column.kind), column.name in folded, owners.get(column.name, ""))
            for title, column in zip(titles, columns, strict=True)
        ],
        "lines": lines,
        "off_paper": off_paper([tones.get(str(row.get("state"))) == "bad" for row in result.estimates]),
    }


def _owners(columns: Sequence[Column], titles: Sequence[str]) -> dict[str, str]:
    """Whose limits a column holds, in words, where several do and their headings are the same."""
    named = {column.name: title for column, title in zip(columns, titles, strict=True)}
    limits = [column for column in columns if column.is_low and column.estimate in named]
    if len(limits) < 2:
        return {}
    return {column.name: f" of {named[column.estimate]}" for column in limits}


def off_paper(found: Sequence[bool]) -> set[int]:
    """The lines of a long table that are not printed: findings come first, then the others in their order."""
    ranked = sorted(range(len(found)), key=lambda line: not found[line])
    return set(ranked[MOST_PRINTED:])


def _title(result: Result, column: Column) -> str:
    """The heading; a difference that is adjusted is not that of the rates beside it."""
    adjusted = column.name == "difference" and result.details.get("within")
    return f"adjusted {column.title}" if adjusted else column.title


def _in_view(columns: Iterable[Column]) -> list[Column]:
    """The group first, its state last, everything else between them as it is."""
    ends = {"group": 0, "subgroup": 0, "state": 2}
    return sorted(columns, key=lambda column: ends.get(column.name, 1))


def _folded(columns: Sequence[Column], titles: Sequence[str], lines: Sequence[Sequence[Cell]]) -> set[str]:
    """Columns beyond what a screen holds: who, how many, the gap with its interval, p and verdict stay."""
    names = [column.name for column in columns]
    cells = list(zip(*lines, strict=True)) or [()] * len(names)
    widths = {
        name: width(title, [(cell.text, cell.css) for cell in below])
        for name, title, below in zip(names, titles, cells, strict=True)
    }
    # the corrected p-value is what judges, and the state says what a flag says
    told = {"p_value": "p_adjusted", "flagged": "state"}
    out = {name for name, other in told.items() if {name, other} <= {*names}}
    if sum(widths[name] for name in names if name not in out) > ROOM:
        # a label that is the same in every row tells nobody anything
        same = zip(columns, cells, strict=True)
        out |= {
            one.name for one, below in same if one.kind == "text" and len({cell.text for cell in below}) == 1
        }
    ratios = [
        name.replace("difference", "ratio") for name in FIRST if "ratio_low" in names
    ]  # then they are judged
    wanted = [name for name in (*ratios, *FIRST, *names) if name in names and name not in out]
    return {*names} - kept(wanted, [*names[:1], *names[-1:]], widths)


def _line(result: Result, row: Mapping[str, Any], columns: Sequence[Column]) -> list[Cell]:
    """A reason is told in words once per line: by the verdict's column where there is one, else in its first cell."""
    told = {str(row["state_reason"])} if row.get("state_reason") else set()
    line: list[Cell] = []
    for column in columns:
        cell = row.get(column.name)
        value, why, css = scalar(cell), reason(cell) or "", number_class(column.kind)
        if not why:
            text = _text(result, row, column)
            css += " none" if text == "–" else " short" if len(text) <= SHORT else ""
            line.append(Cell(text, "" if value is None else value, css))
        elif any(why in text or text in why for text in told if text):
            line.append(Cell("–", "", f"{css} none", why))
        else:
            line.append(Cell(why, "", f"{css} why", why))
            told.add(why)
    return line


def _text(result: Result, row: Mapping[str, Any], column: Column) -> str:
    if column.kind == "state":
        return state_text(result, row, column.name)
    if column.name == "metric" and row["metric"] in METRICS:
        return metric_label(row, result.details)  # the file has its short name
    kind = kind_in(row, column)
    if column.is_low:
        high = row.get(column.partner)
        return true_minus(interval_text(scalar(row.get(column.name)), scalar(high), kind))
    return shown(scalar(row.get(column.name)), kind)


def shown(value: Any, kind: Kind) -> str:
    """A value as the page prints it: like everywhere, with a true minus sign."""
    text = format_value(value, kind)
    return text if kind in ("text", "state") else true_minus(text)


def csv_text(result: Result) -> str:
    """The estimates as CSV; a text that a spreadsheet would run as a formula gets an apostrophe before it."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([*[column.name for column in result.columns], "reason"])
    for row in result.estimates:
        cells = [row.get(column.name) for column in result.columns]
        why = next((text for cell in cells if (text := reason(cell))), "")
        writer.writerow([safe_cell(scalar(cell)) for cell in cells] + [safe_cell(why)])
    return out.getvalue()


def frame_csv(table: Any) -> str:
    """A PyArrow table as CSV, with the same care for spreadsheets."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([safe_cell(name) for name in table.column_names])
    columns = [column.to_pylist() for column in table.columns]
    writer.writerows([safe_cell(cell) for cell in row] for row in zip(*columns, strict=True))
    return out.getvalue()


def safe_cell(value: Any) -> Any:
    """A cell no spreadsheet takes for a formula.

    >>> safe_cell("=1+1"), safe_cell(-0.5), safe_cell(None)
    ("'=1+1", -0.5, '')
    """
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return "" if value is None else value


def write_parquet(result: Result, path: Path) -> None:
    """The estimates as Parquet, undefined values as nulls."""
    import pyarrow.parquet as parquet

    buffer = io.BytesIO()
    parquet.write_table(result.to_frame(backend="pyarrow"), buffer)
    write_whole(path, buffer.getvalue())


# -- What a chart shows, as lines of text: for those who cannot see it, and for those who want to read it.
MOST_LINES = 130  # of sixty groups two each, and the tolerance
# what a chart draws with but does not say
_UNSAID = {
    "panel",
    "fill",
    "ink",
    "sort",
    "order",
    "place",
    "link",
    "right",
    "line",
    "column",
    "people",
    "sign",
    "mark",
}


def chart_lines(spec: Mapping[str, Any]) -> list[str]:
    """One line per row of the chart's data, its words and numbers; long ones are cut, the table has the rest."""
    lines = list(dict.fromkeys(line for row in _rows(spec) if (line := _numbers_line(row))))
    if len(lines) > MOST_LINES:
        return [*lines[:MOST_LINES], f"and {len(lines) - MOST_LINES:,} more, in the table"]
    return lines


def _rows(spec: Any) -> Iterator[Mapping[str, Any]]:
    """The rows of every view, wherever they stand in the spec."""
    if isinstance(spec, Mapping):
        for name, part in spec.items():
            if name == "values" and isinstance(part, list):
                yield from (row for row in part if isinstance(row, Mapping))
            else:
                yield from _rows(part)
    elif isinstance(spec, list):
        for part in spec:
            yield from _rows(part)


def _numbers_line(row: Mapping[str, Any]) -> str:
    """'race: Hispanic: 21.5% (17.6% to 25.8%), no difference shown'; nothing where nobody and nothing is named."""
    who = next(
        (str(row[name]) for name in ("label", "group", "words", "feature", "attribute") if row.get(name)), ""
    )
    if row.get("text") is not None and who:
        text, metric = true_minus(str(row["text"])), f"{row['metric']}, " if row.get("metric") else ""
        state = f", {row['state']}" if row.get("state") and str(row["state"]) not in text else ""
        return f"{metric}{who}: {text}{state}"
    told = [
        f"{name.replace('_', ' ')} {value:.4g}"
        if isinstance(value, float)
        else f"{name.replace('_', ' ')} {value}"
        for name, value in row.items()
        if name not in _UNSAID
        and value is not None
        and not isinstance(value, bool | dict | list)
        and str(value) != who
    ]
    numbers = any(isinstance(value, int | float) and not isinstance(value, bool) for value in row.values())
    return f"{who}: {', '.join(told)}".removeprefix(": ") if numbers and len(told) > 1 else ""
