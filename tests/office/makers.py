"""One table of people as fifteen office habits write it: each maker puts a file into a folder and gives its path."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

NAMES = ("Geschlecht", "Alter", "Gehalt", "Treffer %", "Eingestellt", "Datum")
PEOPLE = [
    ("weiblich", 31, 41250.5, 45.0, 1, datetime(2024, 1, 31)),
    ("männlich", 46, 68695.0, 7.5, 0, datetime(2024, 2, 1)),
    ("weiblich", 28, 1234.25, 100.0, 1, datetime(2024, 2, 29)),
    ("männlich", 59, 99999.75, 0.0, 0, datetime(2024, 12, 24)),
    ("divers", 33, 50100.0, 62.25, 1, datetime(2024, 3, 5)),
]
Row = Sequence[object]


def text_of(rows: Sequence[Row], delimiter: str = ",") -> str:
    """Rows as CSV."""
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    return out.getvalue()


def american(value: float) -> str:
    return f"{value:,.2f}"


def german(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def french(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", "\u202f,"))


def swiss(value: float) -> str:
    return f"{value:,.2f}".replace(",", "’")


def table(
    money: Callable[[float], str], percent: Callable[[float], str], date: str = "%Y-%m-%d"
) -> list[Row]:
    """The header and the people, their numbers as some country writes them."""
    rows: list[Row] = [NAMES]
    rows += [
        (sex, age, money(pay), percent(share), hired, when.strftime(date))
        for sex, age, pay, share, hired, when in PEOPLE
    ]
    return rows


def plain_percent(value: float) -> str:
    return f"{value:g}%"


def comma_percent(value: float) -> str:
    return f"{value:g} %".replace(".", ",")


def germany(folder: Path) -> Path:
    """Excel's CSV of a German computer: Windows-1252, semicolons, decimal commas, a euro sign."""
    rows = table(lambda pay: f"{german(pay)} €", comma_percent, "%d.%m.%Y")
    return written(folder, text_of(rows, ";").encode("cp1252"))


def america(folder: Path) -> Path:
    rows = table(lambda pay: f"${american(pay)}", plain_percent, "%m/%d/%Y")
    return written(folder, text_of(rows).encode("utf-8-sig"))


def france(folder: Path) -> Path:
    rows = table(lambda pay: f"{french(pay)} €", comma_percent, "%d/%m/%Y")
    return written(folder, text_of(rows, ";").encode("utf-8"))


def switzerland(folder: Path) -> Path:
    rows = table(lambda pay: f"CHF {swiss(pay)}", plain_percent)
    return written(folder, text_of(rows, ";").encode("utf-8"))


def sweden(folder: Path) -> Path:
    rows = table(lambda pay: f"{french(pay)} kr", comma_percent)
    return written(folder, text_of(rows, "\t").encode("utf-16"), "people.txt")


def no_mark(folder: Path) -> Path:
    """UTF-16 without the mark that says so."""
    return written(folder, text_of(table(german, comma_percent), "|").encode("utf-16-le"))


def titles_and_totals(folder: Path) -> Path:
    rows = table(german, comma_percent)
    above: list[Row] = [("Bewerbungen 2024",), ("Stand:", "31.12.2024"), ()]
    below: list[Row] = [("Summe", "", german(261279.5), "", 3, ""), (), ("Quelle: Personalabteilung",)]
    return written(folder, text_of([*above, *rows, *below], ";").encode("cp1252"))


def padded_titles(folder: Path) -> Path:
    """As Excel saves a sheet with a title: every line has all delimiters."""
    width = len(NAMES)
    above: list[Row] = [("Bewerbungen 2024", *[""] * (width - 1)), ("",) * width]
    below: list[Row] = [("",) * width, ("Quelle: Personalabteilung", *[""] * (width - 1)), ("",) * width]
    return written(folder, text_of([*above, *table(german, comma_percent), *below], ";").encode("utf-8"))


def separator_line(folder: Path) -> Path:
    """Excel's own first line, which names the delimiter."""
    return written(folder, b"sep=|\r\n" + text_of(table(american, plain_percent), "|").encode("utf-8"))


def merged_header(folder: Path) -> Path:
    rows = table(german, comma_percent)
    groups = ("Person", "", "Angebot", "", "Ergebnis", "")
    return written(folder, text_of([groups, *rows], ";").encode("utf-8"))


def packed(folder: Path) -> Path:
    content = text_of(table(german, comma_percent), ";").encode("cp1252")
    return written(folder, gzip.compress(content), "people.csv.gz")


def json_lines(folder: Path) -> Path:
    lines = [
        json.dumps(dict(zip(NAMES, (*row[:5], row[5].strftime("%Y-%m-%d")), strict=True))) for row in PEOPLE
    ]
    return written(folder, "\n".join(lines).encode(), "people.jsonl")


def workbook(folder: Path, *, above: Sequence[Row] = (), below: Sequence[Row] = (), first: str = "") -> Path:
    """A sheet with numbers as numbers, a format of percent, and dates as dates."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    if first:
        sheet.title = first
        sheet.append(["Deckblatt"])
        sheet = book.create_sheet("Bewerber")
    for row in above:
        sheet.append(list(row))
    sheet.append(list(NAMES))
    for sex, age, pay, share, hired, when in PEOPLE:
        sheet.append([sex, age, pay, share / 100, hired, when])
        sheet.cell(sheet.max_row, 4).number_format = "0.00%"
    for row in below:
        sheet.append(list(row))
    path = folder / "people.xlsx"
    book.save(path)
    return path


def excel(folder: Path) -> Path:
    return workbook(folder)


def excel_titles(folder: Path) -> Path:
    """A cover sheet, a title, a header with merged cells above it, a row of totals."""
    import openpyxl

    above: list[Row] = [("Bewerbungen 2024",), (), ("Person", "", "Angebot", "", "Ergebnis", "")]
    path = workbook(folder, above=above, below=[("Summe", None, 261279.5)], first="Deckblatt")
    book = openpyxl.load_workbook(path)
    for cells in ("A3:B3", "C3:D3", "E3:F3"):
        book["Bewerber"].merge_cells(cells)
    book.save(path)
    return path


def feather(folder: Path) -> Path:
    import pyarrow as pa
    from pyarrow import feather as library

    columns = [[row[place] for row in PEOPLE] for place in range(len(NAMES))]
    library.write_feather(pa.table(dict(zip(NAMES, columns, strict=True))), folder / "people.feather")
    return folder / "people.feather"


def written(folder: Path, content: bytes, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


MAKERS: tuple[Callable[[Path], Any], ...] = (
    germany, america, france, switzerland, sweden, no_mark, titles_and_totals, padded_titles, separator_line,
    merged_header, packed, json_lines, excel, excel_titles, feather,
)  # fmt: skip
