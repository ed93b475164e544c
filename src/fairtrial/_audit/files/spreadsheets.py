"""Excel sheets as plain CSV: the cells as they are shown, the header on the first line, nothing below the table."""

from __future__ import annotations

import csv
import datetime
import itertools
import re
import zipfile
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fairtrial._audit.engine import WHO
from fairtrial._audit.files.headers import counts_rows
from fairtrial._audit.files.rows import LOOKED_AT, count_footer, filled, find_start, table_width
from fairtrial._errors import Fault, InputError

FOOTER = 30  # rows at the end that may be no part of the table
UNREADABLE_BOOK = (
    zipfile.BadZipFile,
    KeyError,
    ValueError,
    TypeError,
    IndexError,
    SyntaxError,
    OSError,
    EOFError,
)


class SheetAsText(NamedTuple):
    """What was written: names of the columns whose cells are all numbers, and what was left out."""

    numbers: frozenset[str]
    said: list[str]


def write_sheet(path: str, sheet: str | None, target: Path) -> SheetAsText:
    """Write the table of a sheet as CSV; without a name, of the first visible sheet that holds a table."""
    import openpyxl

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            chosen, said = _choose(path, book, sheet)
            found = _write(path, _rows(chosen), target)
        finally:
            book.close()
    except InputError:
        raise
    except UNREADABLE_BOOK as error:
        cure = "open it in Excel and save it again"
        required = (
            f"cannot be read as Excel: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        )
        raise InputError(WHO, Fault("data", required, subject=path, cure=cure)) from None
    return SheetAsText(found.numbers, [*said, *found.said])


def _choose(path: str, book: Any, wanted: str | None) -> tuple[Any, list[str]]:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if wanted is not None:
        if wanted not in sheets:
            listed = ", ".join(map(repr, sheets))
            required = f"names no sheet of {path}"
            fault = Fault("reading", required, subject=f"sheet {wanted!r}", cure=f"its sheets are {listed}")
            raise InputError(WHO, fault)
        return sheets[wanted], []
    visible = [name for name, sheet in sheets.items() if sheet.sheet_state == "visible"] or list(sheets)
    tables = [name for name in visible if _has_table(sheets[name])]
    name = (tables or visible)[0]
    others = [other for other in tables if other != name]
    if not others:
        return sheets[name], [f"Sheet {name!r} is read."] if len(sheets) > 1 else []
    listed = ", ".join(map(repr, others[:4])) + (", …" if len(others) > 4 else "")
    return sheets[name], [f"Sheet {name!r} is read, the first that holds a table; others are {listed}."]


def _has_table(sheet: Any) -> bool:
    rows = [row for row in itertools.islice(_rows(sheet), 50) if len(filled(row)) > 1]
    return len(rows) > 1


class _Cell(str):
    """A cell's text, which may stand for a number."""

    __slots__ = ("number",)

    number: bool


def _cell(cell: Any) -> _Cell:
    value = cell.value
    text = _Cell("" if value is None else _shown(value, cell))
    text.number = isinstance(value, int | float) and not isinstance(value, bool) and not text.endswith("%")
    return text


def _shown(value: Any, cell: Any) -> str:
    """A value as Excel shows it and CSV has it: 0.45 of a percent format is 45%."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        if "%" in (cell.number_format or ""):
            return f"{float(f'{100 * value:.12g}'):.15g}%"
        return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    return str(value)


def _rows(sheet: Any) -> Iterator[list[str]]:
    if not hasattr(sheet, "iter_rows"):  # a sheet that holds only a chart
        return
    if hasattr(sheet, "reset_dimensions"):
        sheet.reset_dimensions()  # some programs write wrong ones
    for row in sheet.iter_rows():
        yield [_cell(cell) for cell in row]


def _write(path: str, rows: Iterator[list[str]], target: Path) -> SheetAsText:
    first = list(itertools.islice(rows, LOOKED_AT))
    width = max(table_width(_padded(first)), 1)
    names, data, said = _header(path, first, width)
    numbered = counts_rows(names, data)
    kept = [place for place, name in enumerate(names) if name or (numbered and place == 0)]
    numbers: dict[int, bool] = {}
    nameless: set[int] = set()
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([names[place] for place in kept])
        ended: deque[list[str]] = deque()
        for row in itertools.chain(data, rows):
            ended.append(row)
            if len(ended) > FOOTER:
                nameless.update(_write_row(writer, ended.popleft(), kept, numbers))
        below = count_footer(_padded(list(ended)), len(names))
        rest = list(ended)
        for row in rest[: len(rest) - below]:
            nameless.update(_write_row(writer, row, kept, numbers))
    texts = [
        " ".join(cell for cell in row if cell.strip()) for row in rest[len(rest) - below :] if filled(row)
    ]
    numeric = frozenset(names[place] for place, only in numbers.items() if only)
    if numbered:
        nameless.discard(0)
    return SheetAsText(numeric, [*said, *nameless_said(nameless), *footer_said(texts)])


def _header(
    path: str, first: Sequence[list[str]], width: int
) -> tuple[list[str], list[list[str]], list[str]]:
    """The names of the columns, the rows below them, and what stood above."""
    start = find_start(_padded(first))
    if start is not None:
        said = titles_said(start.titles, start.merged)
        names, data = [_one_line(name) for name in start.names], first[start.row + 1 :]
    else:
        place = next((place for place, row in enumerate(first) if filled(row)), None)
        if place is None:
            cure = "write the columns' names into its first row"
            raise InputError(WHO, Fault("data", "has no table in its sheet", subject=path, cure=cure))
        names, data, said = [_one_line(name) for name in first[place]], first[place + 1 :], []
        width = max((len(row) for row in first), default=0)
    names += [""] * (width - len(names))
    return names, list(data), said


def _one_line(name: str) -> str:
    return re.sub(r"\s+", " ", name).strip()


def _padded(rows: Sequence[list[str]]) -> list[list[str]]:
    """Rows of one length: a sheet's rows end with their last cell."""
    width = max(map(len, rows), default=0)
    return [[*row, *[""] * (width - len(row))] for row in rows]


def _write_row(writer: Any, row: list[str], kept: Sequence[int], numbers: dict[int, bool]) -> list[int]:
    """Write a row's cells below a name; gives the places of those that have none."""
    places = filled(row)
    named = [place for place in places if place in kept]
    for place in named:
        numbers[place] = numbers.get(place, True) and getattr(row[place], "number", False)
    if named:
        writer.writerow([row[place] if place < len(row) else "" for place in kept])
    return [place for place in places if place not in kept]


# -- what is said of rows and columns that are no part of the table
def nameless_said(places: set[int]) -> list[str]:
    """Columns with values and no name above them."""
    listed = ", ".join(_letters(place) for place in sorted(places))
    return [f"Without a name in the header, and not read: column {listed}."] if places else []


def _letters(place: int) -> str:
    """A column as a sheet calls it: A, B, …, AA."""
    return (_letters(place // 26 - 1) if place > 25 else "") + chr(ord("A") + place % 26)


def titles_said(titles: Sequence[str], merged: bool) -> list[str]:
    """What stood above the table."""
    said = []
    if titles:
        lines = "1 line" if len(titles) == 1 else f"{len(titles)} lines"
        said.append(
            f"{lines} above the table {'is' if len(titles) == 1 else 'are'} not read: {_quoted(titles)}."
        )
    if merged:
        said.append("The header has two rows, which are read as one.")
    return said


def footer_said(texts: Sequence[str]) -> list[str]:
    """What stood below the table."""
    if not texts:
        return []
    lines = "1 line" if len(texts) == 1 else f"{len(texts)} lines"
    return [f"{lines} below the table {'is' if len(texts) == 1 else 'are'} not read: {_quoted(texts)}."]


def _quoted(texts: Sequence[str]) -> str:
    shown = ", ".join(repr(text[:60]) for text in texts[:3])
    return shown + (", …" if len(texts) > 3 else "")
