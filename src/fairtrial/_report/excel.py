"""The tables of a trial as one Excel workbook: a sheet of facts and notes, and a sheet per table."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fairtrial._method.declaration import read_result
from fairtrial._report.builder import capital, left_out, limits
from fairtrial._report.findings import correction_text, findings
from fairtrial._report.tables import safe_cell
from fairtrial._results.charts.drawing import cleaned
from fairtrial._results.column import Column, reason, scalar
from fairtrial._results.masking import masked_rows
from fairtrial._results.result import FurtherTable, Result
from fairtrial._results.text import kind_in
from fairtrial._work.kept_files import write_whole

FORMATS = {
    "rate": "0.0%", "points": "+0.000;-0.000;0.000", "p": "0.000", "people": "#,##0", "count": "#,##0",
    "ratio": "0.00",
}  # fmt: skip
_NOT_IN_NAMES = re.compile(r"[\[\]:*?/\\']")
LONGEST_NAME, LONGEST_TEXT, WIDEST = 31, 32_000, 60


def write_excel(content: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write every table with its notes to an .xlsx file; no text is ever a formula.

    Parameters
    ----------
    content : dict
        Of a results.json.
    path : str
        The file to write.
    """
    target = Path(path)
    write_whole(target, workbook_bytes(content))
    return target


def workbook_bytes(content: Mapping[str, Any]) -> bytes:
    """The workbook of a results.json, as it is written to a file or sent to a browser."""
    from openpyxl import Workbook

    workbook = Workbook()
    _facts_sheet(workbook.active, content)
    names: set[str] = {"Summary"}
    for section in content["sections"]:
        if section["result"] is None:
            continue
        result = read_result(section["result"])
        _table_sheet(workbook.create_sheet(_name(section["id"], names)), section, result)
        for more in result.further_tables():
            sheet = workbook.create_sheet(_name(f"{section['id']} {more.name}", names))
            below = content["report"]["suppress_below"]
            _rows(sheet, 1, more, masked_rows(more.estimates, more.columns, below))
    buffer = io.BytesIO()
    workbook.save(buffer)
    return buffer.getvalue()


def _name(wanted: str, taken: set[str]) -> str:
    """A sheet's name as Excel takes it, told apart from the others."""
    name = _NOT_IN_NAMES.sub(" ", wanted).strip()[:LONGEST_NAME] or "table"
    number = 2
    while name.lower() in {one.lower() for one in taken}:
        name = f"{name[: LONGEST_NAME - 4]} ({number})"
        number += 1
    taken.add(name)
    return name


def _text(value: Any) -> Any:
    """What a cell holds: a text that no spreadsheet runs, a number as it is."""
    safe = safe_cell(value)
    return cleaned(safe)[:LONGEST_TEXT] if isinstance(safe, str) else safe


def _put(sheet: Any, row: int, column: int, value: Any, form: str = "") -> Any:
    cell = sheet.cell(row, column, _text(value))
    if isinstance(cell.value, str):
        cell.data_type = "s"  # never a formula, whatever it begins with
    elif form:
        cell.number_format = form
    return cell


def _facts_sheet(sheet: Any, content: Mapping[str, Any]) -> None:
    """The verdict, findings, limits and where the numbers come from."""
    sheet.title = "Summary"
    for number, (name, value) in enumerate(_facts(content), 1):
        _bold(_put(sheet, number, 1, name))
        _wrap(_put(sheet, number, 2, value))
    sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = 24, 110


def _facts(content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    report, data = content["report"], content["data"]
    yield "Title", report["title"]
    for name in ("context", "decision", "author"):
        if report[name]:
            yield capital(name), report[name]
    yield "Verdict", capital(content["verdict"]["text"])
    yield from (("Left out", text) for text in left_out(content))
    for finding in findings(content):
        interval = f", interval {finding['interval']}" if finding["interval"] else ""
        told = f"{finding['effect']} {finding['unit']}".strip()
        yield "Finding", f"{finding['what']}: {told}{interval}, adjusted p {finding['adjusted']}"
    yield "Correction", correction_text(content)
    yield from (("Limit", text) for text in limits(content))
    yield "Rows", data["rows"]
    yield "Data fingerprint", data["digest"]
    yield "Date", str(content["run"].get("started", ""))[:10]
    yield "Made with", f"fairtrial {content['versions'].get('fairtrial', '')}"


def _table_sheet(sheet: Any, section: Mapping[str, Any], result: Result) -> None:
    """Question and answer, the table, and its notes below."""
    _bold(_put(sheet, 1, 1, section["title"] or result.question))
    _put(sheet, 2, 1, capital(result.verdict.text))
    last = _rows(sheet, 4, result, result.estimates)
    notes = [note.text for note in result.notes]
    if result.confidence_level:
        notes.insert(0, f"Intervals (low, high) have the level {100 * result.confidence_level:g}%.")
    for number, text in enumerate(notes, last + 2):
        _put(sheet, number, 1, text)


def _rows(sheet: Any, first: int, table: Result | FurtherTable, rows: Any) -> int:
    """The table from line `first` on, numbers as numbers; a value that does not exist says why. The last line."""
    columns = [column for column in table.columns if any(row.get(column.name) is not None for row in rows)]
    for place, column in enumerate(columns, 1):
        _bold(_put(sheet, first, place, _heading(column)))
        sheet.column_dimensions[sheet.cell(first, place).column_letter].width = _width(column, rows)
    for number, row in enumerate(rows, first + 1):
        for place, column in enumerate(columns, 1):
            cell = row.get(column.name)
            value = reason(cell) if scalar(cell) is None else scalar(cell)
            _put(sheet, number, place, value, FORMATS.get(kind_in(row, column), ""))
    sheet.freeze_panes = sheet.cell(first + 1, 2)
    last = first + len(rows)
    if columns and rows:
        sheet.auto_filter.ref = f"A{first}:{sheet.cell(last, len(columns)).coordinate}"
    return int(last)


def _heading(column: Column) -> str:
    """The title, with the estimate's name before a limit's, and the column's own name where they differ."""
    return column.name.replace("_", " ") if column.is_low or column.is_high else column.title


def _width(column: Column, rows: Any) -> float:
    longest = max((len(str(scalar(row.get(column.name)))) for row in rows[:200]), default=0)
    return float(min(max(len(_heading(column)), longest if column.kind == "text" else 8) + 2, WIDEST))


def _bold(cell: Any) -> None:
    from openpyxl.styles import Font

    cell.font = Font(bold=True)


def _wrap(cell: Any) -> None:
    from openpyxl.styles import Alignment

    cell.alignment = Alignment(wrap_text=True, vertical="top")
