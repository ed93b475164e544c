"""Files of any kind made plain: CSV in UTF-8 or Parquet, which DuckDB reads; and what was changed on the way.

A file that is plain already is read where it lies. Any other is written anew into a folder of its own, in little
memory, which goes when nobody reads it any more.
"""

from __future__ import annotations

import codecs
import csv
import glob
import io
import os
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fairtrial._audit.engine import UNREADABLE, WHO, connect
from fairtrial._audit.files.encodings import CALLED, PART, find_encoding, unpacked, write_utf8
from fairtrial._audit.files.headers import (
    Header,
    OfficeTable,
    check_names,
    file_fault,
    find_footer,
    find_office_table,
    first_text,
    read_header,
    unreadable,
)
from fairtrial._audit.files.spreadsheets import footer_said, titles_said, write_sheet
from fairtrial._errors import Fault, Faults, InputError, did_you_mean

TEXTS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data", ".asc")
KNOWN = (
    *TEXTS,
    ".xlsx",
    ".xlsm",
    ".parquet",
    ".pq",
    ".feather",
    ".arrow",
    ".ipc",
    ".jsonl",
    ".ndjson",
    ".json",
)
Kind = Literal["text", "parquet", "arrow", "feather", "excel", "json"]
_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"PAR1", "parquet"), (b"ARROW1", "arrow"), (b"\xff\xff\xff\xff", "arrow"), (b"FEA1", "feather"),
    (b"PK\x03\x04", "excel"),
)  # fmt: skip
_BY_NAME: dict[str, Kind] = {
    ".parquet": "parquet", ".pq": "parquet", ".xlsx": "excel", ".xlsm": "excel", ".feather": "arrow", ".arrow": "arrow",
    ".ipc": "arrow", ".jsonl": "json", ".ndjson": "json", ".json": "json",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileReading:
    """What a person says of how files are to be read, where the files themselves do not tell."""

    sheet: str | None = None
    decimal: Literal[",", "."] | None = None
    encoding: str | None = None
    delimiter: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> FileReading:
        """From the keys of a table; every one that is wrong is a fault."""
        keys = tuple(cls.__dataclass_fields__)
        faults = Faults(WHO)
        if not isinstance(given, Mapping | None):
            required = f"must be a table with the keys {', '.join(keys)}"
            raise InputError(WHO, Fault("reading", required, got=given))
        for key, value in (given or {}).items():
            required = _wrong(key, value, keys)
            if required:
                hint = did_you_mean(str(key), keys) if key not in keys else ""
                faults.add(Fault("reading", required, hint=hint))
        faults.raise_any()
        return cls(**dict(given or {}))


def _wrong(key: object, value: object, keys: Sequence[str]) -> str:
    if key not in keys:
        return f"has the keys {', '.join(keys)}, got {key!r}"
    if key == "decimal" and value not in (",", "."):
        return f"decimal must be ',' or '.', got {value!r}"
    if key == "delimiter" and not (
        isinstance(value, str) and len(value.encode()) == 1 and value not in '"\r\n'
    ):
        return f"delimiter must be one sign, got {value!r}"
    if not isinstance(value, str):
        return f"{key} must be a text, got {value!r}"
    if key == "encoding":
        try:
            "".encode(value)
        except LookupError:
            return f"encoding must be one that Python knows, such as 'cp1252', got {value!r}"
    return ""


class WorkFolder:
    """A folder for files that are written anew; it goes with the last object that reads them."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="fairtrial-read-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        self._made = 0

    def new(self, ending: str) -> Path:
        """A name that no file has yet."""
        self._made += 1
        return self.path / f"{self._made}{ending}"


@dataclass(frozen=True, eq=False)
class PlainFile:
    """A file as DuckDB reads it, under the name that a person knows."""

    name: str
    path: str
    header: Header | None = None  # None: Parquet
    numbers: frozenset[str] = frozenset()  # columns whose values were numbers before they became texts
    said: list[str] = field(default_factory=list)
    folder: WorkFolder | None = None


# -- which files
def find_files(data: Any) -> tuple[list[str], WorkFolder | None]:
    """The files that are named, or a copy of what an open file holds, with the folder where it is."""
    if hasattr(data, "read"):
        folder = WorkFolder()
        return [_copied(data, folder)], folder
    listed = data if isinstance(data, list | tuple) else [data]
    return list(dict.fromkeys(path for item in listed for path in _find(item))), None


def _copied(file: Any, folder: WorkFolder) -> str:
    ending = Path(str(getattr(file, "name", ""))).suffix
    target = folder.new(ending if ending.lower() in KNOWN else "")
    try:
        with target.open("wb") as copy:
            while part := file.read(PART):
                copy.write(part.encode() if isinstance(part, str) else part)
    except (OSError, ValueError, TypeError) as error:
        cure = "open the file anew and give it from its start"
        raise InputError(WHO, Fault("data", f"cannot be read: {error}", cure=cure)) from None
    return str(target)


def _find(path: Any) -> list[str]:
    text = os.path.expanduser(os.fspath(path))
    if "://" in text:
        cure = "nothing is fetched from elsewhere"
        raise InputError(WHO, Fault("data", "must be a local file", got=text, cure=cure))
    if split_sheet(text)[1] is not None:
        return [text]
    found = [text] if os.path.exists(text) else sorted(glob.glob(text, recursive=True))
    if not found:
        required = f"names no file: {text!r} does not exist"
        cure = "Check the spelling and the folder it is looked for in"
        raise InputError(WHO, Fault("data", required, cure=cure))
    strange = next((file for file in found if not os.path.isdir(file) and not os.path.isfile(file)), None)
    if strange is not None:  # a pipe would be waited for without end, and can be read only once
        raise InputError(WHO, file_fault(repr(strange), "is no plain file; save its content in one"))
    if os.path.isdir(text):
        cure = f"Name its files, e.g. {os.path.join(text, '*.parquet')!r}"
        raise InputError(WHO, Fault("data", f"is a folder: {text!r}", cure=cure))
    return found


def split_sheet(path: str) -> tuple[str, str | None]:
    """A path and the sheet that stands behind it: staff.xlsx#Applicants."""
    file, mark, sheet = path.rpartition("#")
    named = mark and sheet and not os.path.exists(path) and os.path.isfile(file)
    return (file, sheet) if named else (path, None)


# -- what kind each is, and its plain form
_written: weakref.WeakValueDictionary[tuple[Any, ...], PlainFile] = weakref.WeakValueDictionary()


def open_plain(path: str, reading: FileReading) -> PlainFile:
    """The plain form of a file; one that somebody reads already is not written again."""
    try:
        state = os.stat(split_sheet(path)[0])
    except OSError as error:
        raise unreadable(path, str(error)) from None
    key = (path, state.st_mtime_ns, state.st_size, reading)
    found = _written.get(key)
    if found is None:
        found = _open(path, reading)
        if found.folder is not None:
            _written[key] = found
    return found


def _open(path: str, reading: FileReading) -> PlainFile:
    file, sheet = split_sheet(path)
    kind = _kind(file)
    if sheet is not None:
        reading = FileReading(sheet, reading.decimal, reading.encoding, reading.delimiter)
    if reading.sheet is not None and kind != "excel":
        raise InputError(
            WHO, Fault("reading", f"names a sheet, and {file} is no Excel file", cure="leave the sheet out")
        )
    if kind == "parquet":
        return PlainFile(file, file)
    if kind == "text":
        return _plain_text(file, reading)
    folder = WorkFolder()
    if kind == "excel":
        target = folder.new(".csv")
        written = write_sheet(file, reading.sheet, target)
        header = read_header(file, first_text(str(target), file), ",")
        return PlainFile(path, str(target), header, written.numbers, written.said, folder)
    if kind == "json":
        return _plain_json(file, folder)
    target = folder.new(".parquet")
    _arrow_to_parquet(file, kind, target)
    return PlainFile(file, str(target), folder=folder)


def _kind(path: str) -> Kind:
    """By what the file begins with; texts by their names."""
    try:
        with open(path, "rb") as file:
            start = file.read(8)
    except OSError as error:
        raise unreadable(path, str(error)) from None
    found = next((kind for magic, kind in _MAGIC if start.startswith(magic)), None)
    name = path.lower().removesuffix(".gz")
    ending = os.path.splitext(name)[1]
    if found == "excel" and ending not in (".xlsx", ".xlsm") and not _is_workbook(path):
        cure = "unpack it; of other spreadsheets save the sheet as .xlsx or .csv"
        raise InputError(WHO, Fault("data", "is a zip archive", subject=path, cure=cure))
    if start.startswith(b"\xd0\xcf\x11\xe0"):
        cure = "open it in Excel and save it as .xlsx"
        raise InputError(
            WHO,
            Fault("data", "is an Excel file of before 2007, or has a password", subject=path, cure=cure),
        )
    if found is not None:
        return found
    if ending not in KNOWN and ending:
        text = f"must be a table: a file of text, Excel, Parquet, Arrow or JSON ({', '.join(KNOWN)}; texts also .gz)"
        raise InputError(WHO, Fault("data", text, got=path))
    if not ending and start.lstrip()[:1] in (b"{", b"["):
        return "json"
    return _BY_NAME.get(ending, "text")


def _is_workbook(path: str) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except zipfile.BadZipFile:
        return False


def _arrow_to_parquet(path: str, kind: Kind, target: Path) -> None:
    """The same rows as Parquet, a batch at a time."""
    import pyarrow as pa
    from pyarrow import feather, parquet

    try:
        with pa.memory_map(path) as source:
            if kind == "feather":  # of the first version
                parquet.write_table(feather.read_table(path), target)
                return
            try:
                reader = pa.ipc.open_file(source)
                batches = (reader.get_batch(place) for place in range(reader.num_record_batches))
            except pa.ArrowInvalid:
                reader = batches = pa.ipc.open_stream(source)
            with parquet.ParquetWriter(target, reader.schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
    except (pa.ArrowException, OSError) as error:
        fault = Fault("data", f"cannot be read: {str(error).splitlines()[0]}", subject=path, cure=UNREADABLE)
        raise InputError(WHO, fault) from None


def _plain_json(path: str, folder: WorkFolder) -> PlainFile:
    """Objects, one a line or in one list, as CSV; every value as its text."""
    import duckdb

    with unpacked(path) as file:
        start = file.read(PART).lstrip(b"\xef\xbb\xbf \t\r\n")
    form = "array" if start.startswith(b"[") else "newline_delimited"
    scan = f"read_json_objects('{_escaped(path)}', format='{form}', maximum_object_size=67108864)"
    target = folder.new(".csv")
    body = folder.new(".body")
    try:
        names = [str(name) for (name,) in connect().execute(
            f"SELECT name FROM (SELECT name, min(place) AS place FROM (SELECT unnest(json_keys(json)) AS name, "
            f"unnest(range(len(json_keys(json)))) AS place FROM {scan}) GROUP BY name) ORDER BY place, name"
        ).fetchall()]  # fmt: skip
        if not names:
            raise InputError(WHO, file_fault(path, "has no objects with names and values, one for each row"))
        columns = ", ".join(f"json ->> {_path(name)} AS column{place}" for place, name in enumerate(names))
        connect().execute(
            f"COPY (SELECT {columns} FROM {scan}) TO '{body}' (FORMAT csv, HEADER false, DELIMITER ',')"
        )
    except duckdb.Error as error:
        raise unreadable(path, str(error).splitlines()[0]) from None
    check_names(path, names)
    with target.open("wb") as file, body.open("rb") as rows:
        file.write(_line(names, ","))
        shutil.copyfileobj(rows, file)
    body.unlink()
    return PlainFile(path, str(target), Header(names, ",", 0, False), folder=folder)


def _path(name: str) -> str:
    inside = name.replace("\\", "\\\\").replace('"', '\\"')
    return "'" + f'$."{inside}"'.replace("'", "''") + "'"


def _escaped(path: str) -> str:
    return path.replace("'", "''")


# -- texts
def _plain_text(path: str, reading: FileReading) -> PlainFile:
    """A text as it is where it is UTF-8 and holds nothing but the table; else written anew."""
    plain, said, folder = path, [], None
    try:
        encoding = reading.encoding or find_encoding(path)
        if codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig"):
            folder = WorkFolder()
            target = folder.new(".csv")
            shown = write_utf8(path, encoding, target)
            plain, said = str(target), [_encoding_said(encoding, shown)]
        text = first_text(plain, path)
        _check_text(path, text)
        found = find_office_table(text, reading.delimiter)
        header = read_header(path, text, reading.delimiter) if found is None else _new_header(path, found)
        footer, below = find_footer(plain, header.delimiter, len(header.names))
        if found is not None or footer:
            folder = folder or WorkFolder()
            plain = _without_surroundings(plain, header, found, footer, folder.new(".csv"))
            said += titles_said(found.start.titles, found.start.merged) if found else []
            said += footer_said(below)
    except (OSError, EOFError) as error:
        raise unreadable(path, str(error)) from None
    return PlainFile(path, plain, header, said=said, folder=folder)


def _encoding_said(encoding: str, shown: str) -> str:
    such = f", such as {shown!r}" if shown else ""
    return f"The text is read as {CALLED.get(encoding, encoding)}{such}."


def _check_text(path: str, text: str) -> None:
    if text.lstrip()[:200].lower().startswith(("<!doctype", "<html", "<table", "<?xml")):
        cure = "open it in a spreadsheet and save the table as .xlsx or .csv"
        raise InputError(WHO, Fault("data", "is a web page, whatever its name", subject=path, cure=cure))


def _new_header(path: str, found: OfficeTable) -> Header:
    check_names(path, found.start.names)
    return Header(found.start.names, found.delimiter, 0, False)


def _without_surroundings(
    path: str, header: Header, found: OfficeTable | None, footer: int, target: Path
) -> str:
    """The header and the rows alone."""
    with unpacked(path) as source, target.open("wb") as file:
        for _ in range(0 if found is None else found.lines):
            source.readline()
        if found is not None:
            file.write(_line(header.names, header.delimiter, found.newline))
        held = b""  # the last bytes, which may be what stands below the table
        while part := source.read(PART):
            held += part
            cut = max(0, len(held) - footer)
            file.write(held[:cut])
            held = held[cut:]
    return str(target)


def _line(names: Sequence[str], delimiter: str, newline: str = "\n") -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=newline).writerow(names)
    return text.getvalue().encode()
