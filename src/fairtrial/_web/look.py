"""A first look at a file that was brought, in a process of its own: whatever is in it, the server goes on.

python -m fairtrial._web.look FILE FOLDER MEMORY UNPACKED
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, cast

from fairtrial._audit.engine import UNREADABLE
from fairtrial._audit.files import Files
from fairtrial._errors import FairtrialError, Fault, InputError, MissingExtra
from fairtrial._labels import canonical, is_missing
from fairtrial._trial.spec.cards import cards
from fairtrial._trial.spec.guess import Guess, guess, make_answerable
from fairtrial._trial.spec.name_words import good_for_a_person, positive_label
from fairtrial._trial.spec.profile import Profile, first_rows, profile_file
from fairtrial._web.store import COPY
from fairtrial._work.memory import limit_memory

MOST_COLUMNS = 2_000
MOST_ROWS = 100_000_000
LONGEST_LINE = 2 * 1024**2
PART = 1024**2
LABELS_SHOWN = 30
ROWS_SHOWN = 6
LARGE = 16 * 1024**2  # bytes of a CSV file that is not read anew for every look
TEXT_SHOWN = 60


def main(place: str, folder: str, memory: str, unpacked: str) -> None:
    """Say what the file holds, or what is wrong with it, as one line of JSON; what is made of it goes to the folder."""
    limit_memory(int(memory))
    try:
        answer = looked_at(Path(place), Path(folder), int(unpacked))
    except MissingExtra as error:
        answer = {"status": 501, "faults": [str(error)]}
    except FairtrialError as error:
        answer = {"status": 422, "faults": str(error).splitlines()}
    except MemoryError:
        answer = {"status": 422, "faults": ["file: needs more memory to be read than one may use here."]}
    sys.stdout.write(json.dumps(answer, ensure_ascii=True, default=str))


def looked_at(place: Path, folder: Path | None = None, unpacked: int = 0) -> dict[str, Any]:
    """Where the rows are now, what each column holds, and a proposal of roles for a person to check.

    Of a large file the folder gets a copy that is quicker to read. `unpacked` is the most bytes that it may unpack to;
    0 is for files that are trusted to be what they seem.
    """
    if place.suffix == ".xlsx":
        place = _excel_as_csv(place, unpacked)
    elif place.suffix in (".arrow", ".feather"):
        place = _arrow_as_parquet(place)
    lines = _count_lines(place, unpacked) if place.name.endswith((".csv", ".tsv", ".gz")) else 0
    names = Files(str(place)).columns
    if len(names) > MOST_COLUMNS:
        cure = "leave out those that the audit does not need"
        raise InputError(
            "file", Fault("", f"has {len(names):,} columns; {MOST_COLUMNS:,} are the most", cure=cure)
        )
    count = lines - 1 if lines else _parquet_rows(place, unpacked)
    if folder is not None and lines and place.stat().st_size > LARGE:
        Files(str(place)).copy_typed(folder / COPY)
    profiles = profile_file(str(place))
    rows = first_rows(str(place), ROWS_SHOWN)
    found = guess(profiles)
    make_answerable(found)
    return {
        "stored": place.name,
        "columns": [_column(profile) for profile in profiles],
        "rows_looked_at": profiles[0].rows if profiles else 0,
        "rows": count,
        "first_rows": [[_shown(row.get(name)) for name in names] for row in rows],
        "proposal": {**asdict(found), "groups": _columns_compared(found)},
        "cards": [asdict(card) for card in cards(found, profiles)],
    }


def _columns_compared(found: Guess) -> list[str]:
    """The page compares by columns: of an attribute that is written as several, by each of them."""
    defined = [column for group in found.define.values() for column in group]
    return [name for name in found.groups if name not in found.define] + defined


def _shown(value: Any) -> str | None:
    return None if is_missing(value) else canonical(value)[:TEXT_SHOWN]


def _column(profile: Profile) -> dict[str, Any]:
    alike = len({label.strip().casefold() for label in profile.labels}) < len(profile.labels)
    yes = positive_label(profile)
    return {
        "name": profile.name,
        "kind": _kind(profile),
        "labels": list(profile.labels[:LABELS_SHOWN]) if profile.category or profile.binary else [],
        "missing": profile.missing,
        "rows": profile.rows,
        "low": profile.low,
        "high": profile.high,
        "numeric": profile.numeric,
        "messy": alike and profile.category,
        "yes": yes,
        "good": good_for_a_person(profile.name, yes or "") if profile.zero_one or yes else None,
    }


def _kind(profile: Profile) -> str:
    if profile.identifier and not profile.numeric:
        return "identifier"
    if profile.binary:
        return "yes or no" if set(profile.labels) <= {"0", "1"} else "two labels"
    return "numbers" if profile.numeric else "groups" if profile.category else "text"


# -- what could be meant to fill the memory ------------------------------------------------------------------------
def _count_lines(place: Path, unpacked: int) -> int:
    """Refuses a file that unpacks to more than one may have, or has a line that is not one of a table."""
    size = since_line = lines = 0
    for part in _parts(place):
        size += len(part)
        lines += part.count(b"\n")
        last = part.rfind(b"\n")
        since_line = since_line + len(part) if last < 0 else len(part) - last - 1
        if size > unpacked > 0:
            raise InputError(
                "file",
                Fault(
                    "",
                    f"is larger than {unpacked // PART:,} MB once it is unpacked",
                    cure="audit it on the command line, with fairtrial run",
                ),
            )
        if since_line > LONGEST_LINE:
            raise InputError(
                "file",
                Fault(
                    "",
                    f"has a line of more than {LONGEST_LINE // PART} MB",
                    cure="check that it is a table of one line per row",
                ),
            )
    return lines + (since_line > 0)


def _parquet_rows(place: Path, unpacked: int) -> int:
    """A few bytes of Parquet can stand for any number of rows."""
    import pyarrow.parquet as parquet

    rows = int(parquet.read_metadata(place).num_rows)
    if rows > MOST_ROWS and unpacked:
        cure = "audit it on the command line, with fairtrial run"
        raise InputError("file", Fault("", f"has {rows:,} rows; {MOST_ROWS:,} are the most", cure=cure))
    return rows


def _parts(place: Path) -> Iterator[bytes]:
    try:
        with gzip.open(place, "rb") if place.suffix == ".gz" else place.open("rb") as file:
            while part := cast(BinaryIO, file).read(PART):
                yield part
    except (OSError, EOFError) as error:
        raise InputError("file", Fault("", f"cannot be unpacked: {error}", cure="Pack it anew")) from None


def _arrow_as_parquet(place: Path) -> Path:
    """The same rows as Parquet, which every engine reads."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    target = place.with_name("data.parquet")
    try:
        with pa.memory_map(str(place)) as source:
            parquet.write_table(pa.ipc.open_file(source).read_all(), target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, OSError) as error:
        raise InputError(
            "file", Fault("", f"cannot be read: {str(error).splitlines()[0]}", cure=UNREADABLE)
        ) from None
    place.unlink()
    return target


def _excel_as_csv(place: Path, unpacked: int) -> Path:
    """The first sheet as CSV, so that numbers and labels are told apart as in any other file of texts.

    Its first row is the header; a formula is what it last showed.
    """
    names, rows = _sheet(place, unpacked)
    named = [(index, name) for index, name in enumerate(names) if name is not None]
    twice = sorted({name for _, name in named if sum(name == other for _, other in named) > 1})
    if twice:
        text = f"names a column twice: {', '.join(map(repr, twice))}"
        raise InputError("file", Fault("", text, cure="Rename them"))
    if not named:
        cure = "Write the columns' names into its first row"
        raise InputError("file", Fault("", "is empty: its first sheet has no header", cure=cure))
    target = place.with_name("data.csv")
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([name for _, name in named])
        for row in rows:
            cells = [row[index] if index < len(row) else None for index, _ in named]
            if any(cell is not None for cell in cells):  # sheets often end in rows that are empty
                writer.writerow(["" if cell is None else str(cell) for cell in cells])
    place.unlink()
    return target


def _sheet(place: Path, unpacked: int) -> tuple[list[str | None], list[tuple[Any, ...]]]:
    """The first row of the first sheet, and the others."""
    try:
        import openpyxl
    except ImportError:
        cure = "Install it, or save the sheet as CSV."
        raise MissingExtra(f"Excel files need the package 'openpyxl'. {cure}") from None
    try:
        with zipfile.ZipFile(place) as archive:
            if sum(item.file_size for item in archive.infolist()) > unpacked > 0:
                text = f"is larger than {unpacked // PART:,} MB once it is unpacked"
                raise InputError(
                    "file", Fault("", text, cure="audit it on the command line, with fairtrial run")
                )
        book = openpyxl.load_workbook(place, read_only=True, data_only=True)
        rows = book.worksheets[0].iter_rows(values_only=True)
        names = [None if name is None else str(name) for name in next(rows, ())]
        return names, list(rows)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, IndexError, SyntaxError) as error:
        raise InputError("file", Fault("", f"cannot be read as Excel: {error}", cure=UNREADABLE)) from None


if __name__ == "__main__":
    main(*sys.argv[1:])
