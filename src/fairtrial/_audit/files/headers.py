"""The header of a CSV file: its names, its delimiter, and what stands around the table."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairtrial._audit.engine import WHO
from fairtrial._audit.files.encodings import PART, unpacked
from fairtrial._audit.files.rows import (
    LOOKED_AT,
    TableStart,
    count_footer,
    find_start,
    is_even,
    numbers_under,
)
from fairtrial._errors import Fault, InputError

LONGEST_NAME = 10_000  # characters
NUMBERED_ROWS = 1_000  # looked at; further on it can only be a column that nobody can name
WITHOUT_NUMBERS = (
    "name it; or, where it holds row numbers, write the file without them "
    "(pandas: index=False, R: row.names=FALSE)"
)
DELIMITERS = ",;\t|"
END = 1 << 14  # bytes at the end of a file, where totals and remarks stand


class Header(NamedTuple):
    """Where the names are and what they are."""

    names: list[str]
    delimiter: str
    blank: int  # lines before it
    numbered: bool  # whether the first column only counts the rows: nobody can name it


class OfficeTable(NamedTuple):
    """A table with something around it, which is written anew without that."""

    start: TableStart
    delimiter: str
    lines: int  # above the first row of data
    newline: str


def unreadable(path: str, why: str) -> InputError:
    """A file that cannot be read, and why."""
    return InputError(WHO, file_fault(path, f"cannot be read: {why}"))


def file_fault(path: str, required: str) -> Fault:
    """A fault of a file."""
    return Fault("data", required, subject=path)


def first_text(path: str, name: str) -> str:
    """The text that a file in UTF-8 begins with; a fault calls it by its name."""
    try:
        with unpacked(path) as file:
            start = file.read(PART)
    except (OSError, EOFError) as error:
        raise unreadable(name, str(error)) from None
    if not start.strip():
        raise InputError(WHO, file_fault(name, "is empty"))
    return start.decode("utf-8-sig", errors="ignore")


def read_header(path: str, text: str, delimiter: str | None = None) -> Header:
    """The names of the first line that is not blank."""
    lines = text.lstrip("\r\n")
    before = text[: len(text) - len(lines)]
    blank = len(before.replace("\r\n", "\n"))
    if "\r\n" in before and "\r\n" not in lines:  # the rows after it would not be found
        raise unreadable(path, "its lines end in different ways; save it anew")
    delimiter = delimiter or likely_delimiter(lines)
    try:
        rows = csv.reader(io.StringIO(lines, newline=None), delimiter=delimiter)
        names = next(rows)
        numbered = counts_rows(names, rows)
    except csv.Error as error:
        raise unreadable(path, f"the header: {error}") from None
    check_names(path, names, int(numbered))
    return Header(names, delimiter, blank, numbered)


def likely_delimiter(text: str) -> str:
    """The one that the first line has most often."""
    outside_quotes = re.sub(r'"[^"]*"', "", text).splitlines()[0]
    return max(DELIMITERS, key=outside_quotes.count)


def counts_rows(names: Sequence[str], rows: Iterable[Sequence[str]]) -> bool:
    """Whether the first column has no name and only counts the rows, as R's write.csv and pandas' to_csv put it.

    Of a selection of rows the numbers have gaps, and still rise from 0, 1 or more. The last row that is looked at may
    be cut off, and speaks only where it is the only one.
    """
    if len(names) < 2 or names[0].strip():
        return False
    numbers = [row[0] for row in itertools.islice(rows, NUMBERED_ROWS) if row]
    seen = numbers[: max(1, len(numbers) - 1)]
    if not seen or not all(re.fullmatch(r"0|[1-9][0-9]{0,15}", number) for number in seen):
        return False
    counted = [int(number) for number in seen]
    return counted[0] in (0, 1) if len(counted) == 1 else all(map(int.__lt__, counted, counted[1:]))


def check_names(path: str, names: list[str], first: int = 0) -> None:
    """Every column has a name, and none that nobody would read."""
    nameless = [i for i, name in enumerate(names) if i >= first and not name.strip()]
    if nameless:
        subject, cure = f"{path}: column {nameless[0] + 1}", "" if nameless[0] else WITHOUT_NUMBERS
        raise InputError(WHO, Fault("data", "has no name in the header", subject=subject, cure=cure))
    if max(map(len, names)) > LONGEST_NAME:
        required = f"has a name of more than {LONGEST_NAME:,} characters; rename it"
        raise InputError(WHO, file_fault(f"{path}: the header", required))


# -- office files: titles above the table, totals and remarks below it
def find_office_table(text: str, delimiter: str | None = None) -> OfficeTable | None:
    """The table among titles, of a header of two rows or of another delimiter than the first line's.

    None where the first line is a header like any other, or where nothing better is found.
    """
    declared = re.match(r"sep=(.)\r?\n", text)  # how Excel is told the delimiter
    lines = text[declared.end() :] if declared else text.lstrip("\r\n")
    delimiter = delimiter or (declared[1] if declared else None)
    if not lines.strip() or "\n" not in lines:
        return None
    likely = delimiter or likely_delimiter(lines)
    rows = _sample(lines, likely)
    if declared is None and is_even([row for row, _ in rows if row]):
        return None
    one_column = all(len(row) < 2 for row, _ in rows)  # or the first line is a title
    found = [
        (start, mark)
        for mark in (delimiter or DELIMITERS)
        for start in [find_start([row for row, _ in _sample(lines, mark)])]
        if start is not None and _is_consistent(_sample(lines, mark), start, one_column)
    ]
    if not found:
        return None
    start, mark = max(found, key=lambda one: len(one[0].names))
    above = text[: len(text) - len(lines)].count("\n")
    if (
        start.row == 0
        and not above
        and not start.merged
        and mark == likely
        and len(rows[0][0]) == len(start.names)
    ):
        return None
    newline = "\r\n" if "\r\n" in text else "\n"
    return OfficeTable(start, mark, above + _sample(lines, mark)[start.row][1], newline)


def _sample(text: str, delimiter: str) -> list[tuple[list[str], int]]:
    """The first rows, each with the lines down to its end; the last one may be cut off."""
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
    rows: list[tuple[list[str], int]] = []
    try:
        for row in itertools.islice(reader, LOOKED_AT):
            rows.append((row, reader.line_num))
    except csv.Error:
        pass
    return rows[:-1] if len(text) > PART // 2 and len(rows) < LOOKED_AT else rows


def _is_consistent(rows: Sequence[tuple[list[str], int]], start: TableStart, strictly: bool) -> bool:
    """Whether nearly all rows below the header have its cells; `strictly` where some must be numbers, too."""
    below = [row for row, _ in rows[start.row + 1 :] if row]
    if strictly and not numbers_under(start.names, below):
        return False
    return bool(below) and sum(len(row) >= len(start.names) for row in below) >= 0.8 * len(below)


def find_footer(path: str, delimiter: str, width: int) -> tuple[int, list[str]]:
    """How many bytes at the end of a file, once it is unpacked, are no part of the table, and what they say."""
    size, end = 0, b""
    with unpacked(path) as file:
        if not isinstance(file, gzip.GzipFile):
            size = max(0, os.path.getsize(path) - END)
            file.seek(size)
        while part := file.read(PART):
            size += max(0, len(end) + len(part) - END)
            end = (end + part)[-END:]
    lines = end.splitlines(keepends=True)
    if size:
        lines = lines[1:]  # the first one may be cut off
    rows = [_row(line, delimiter) for line in lines]
    first = next((place for place in range(len(rows), 0, -1) if rows[place - 1] is None), 0)
    known = [row for row in rows[first:] if row is not None]
    below = min(count_footer(known, width), max(0, len(known) - 1))
    cut = lines[len(lines) - below :] if below else []
    said = [" ".join(cell.strip() for cell in row if cell.strip()) for row in known[len(known) - below :]]
    texts = [text for text in said if text] if below else []
    padded = below and any(line.strip() for line in cut)
    return (sum(map(len, cut)), texts) if texts or padded else (0, [])


def _row(line: bytes, delimiter: str) -> list[str] | None:
    """The cells of a line; None where it may be a part of a cell of several lines."""
    if line.count(b'"') % 2:
        return None
    try:
        return next(csv.reader([line.decode("utf-8")], delimiter=delimiter), [])
    except (csv.Error, UnicodeDecodeError):
        return None
