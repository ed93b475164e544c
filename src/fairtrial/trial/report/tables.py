"""Estimates as tables: cells for the page, CSV that a spreadsheet cannot run, Parquet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairtrial.results.column import Column, Kind, reason, scalar
from fairtrial.results.result import Result
from fairtrial.results.text import (
    format_value,
    interval_heading,
    interval_text,
    kind_in,
    shown_columns,
    state_text,
)
from fairtrial.work.whole_files import write_whole

SHORT = 26  # characters that need not be broken into lines
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
    title: str
    css: str


def number_class(kind: str) -> str:
    """Numbers stand right, texts left."""
    return {"text": "text", "flag": "flag", "state": "text verdict"}.get(kind, "num")


def build_table(result: Result) -> dict[str, Any]:
    """Columns and lines of a result's estimates, as the page shows them: two limits in one cell."""
    columns = [
        column
        for column in shown_columns(result)
        if not column.is_high and any(scalar(row.get(column.name)) is not None for row in result.estimates)
    ]
    interval = interval_heading(result)
    return {
        "columns": [
            TableColumn(interval if column.is_low else column.title, number_class(column.kind))
            for column in columns
        ],
        "lines": [_line(result, row, columns) for row in result.estimates],
    }


def _line(result: Result, row: Mapping[str, Any], columns: Sequence[Column]) -> list[Cell]:
    """A reason is told in words once per line: by the verdict's column where there is one, else in its first cell."""
    told = {str(row["state_reason"])} if row.get("state_reason") else set()
    line: list[Cell] = []
    for column in columns:
        cell = row.get(column.name)
        value, why, css = scalar(cell), reason(cell) or "", number_class(column.kind)
        if not why:
            text = _text(result, row, column)
            short = " short" if len(text) <= SHORT else ""
            line.append(Cell(text, "" if value is None else value, css + short))
        elif any(why in text or text in why for text in told if text):
            line.append(Cell("–", "", f"{css} none", why))
        else:
            line.append(Cell(why, "", f"{css} why", why))
            told.add(why)
    return line


def _text(result: Result, row: Mapping[str, Any], column: Column) -> str:
    if column.kind == "state":
        return state_text(result, row, column.name)
    kind = kind_in(row, column)
    if column.is_low:
        high = row.get(column.partner)
        return true_minus(interval_text(scalar(row.get(column.name)), scalar(high), kind))
    return shown(scalar(row.get(column.name)), kind)


def true_minus(text: str) -> str:
    """Typography: a minus sign before numbers instead of a hyphen."""
    return re.sub(r"(?<![\w–-])-(?=[\d.])", "−", text)


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
