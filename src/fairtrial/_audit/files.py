"""CSV and Parquet files through DuckDB, read so that nothing is changed or lost on the way.

DuckDB's own CSV guessing turns Yes/No into booleans, 1-5-10 into a date, renames duplicate headers and swaps
columns between the files of a glob. So the header is read here, every column is read as text, and only
columns in which every value is a plain number become numbers.
"""

from __future__ import annotations

import contextlib
import csv
import glob
import gzip
import io
import itertools
import os
import re
import threading
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fairtrial._audit.engine import WHO, check_interrupted, connect, quote
from fairtrial._errors import Fault, InputError
from fairtrial._labels import INFINITE

LONGEST_NAME = 10_000  # characters
AS_WRITTEN = (
    "\x1fas written"  # asks for a column's texts although they are numbers: 250.1 and 250.10 are two codes
)
_NUMBER = r"^[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_WHOLE = r"^-?(0|[1-9][0-9]{0,17})$"
_WORD = r"^[+-]?(nan|inf|infinity)$"
_TOO_LONG = r"[0-9]{16}"  # more digits than a float keeps: such a number is a name, and stays text

NUMBERED_ROWS = 1_000  # looked at; further on it can only be a column that nobody can name
WITHOUT_NUMBERS = (
    "name it; or, where it holds row numbers, write the file without them "
    "(pandas: index=False, R: row.names=FALSE)"
)
_numbers = itertools.count()


def _drop(names: list[str]) -> None:
    """Forget tables that nobody reads any more."""
    with contextlib.suppress(Exception):  # at the end of the program the database may be gone already
        for name in names:
            connect().execute(f"DROP TABLE IF EXISTS {name}")


class Files:
    """One or several files of one kind, seen as one table.

    Every call has a cursor of its own, so that threads may share it.
    """

    def __init__(self, path: str | os.PathLike[str] | list[str]) -> None:
        self.paths = _find(path)
        self.csv = not _is_parquet(self.paths)
        if self.csv:
            self.headers = {file: _header(file) for file in self.paths}
            columns = {file: header.names[header.numbered :] for file, header in self.headers.items()}
        else:
            columns = _parquet_columns(connect(), self.paths)
            parted = _partitions(self.paths)
            columns = {
                file: [*names, *(key for key in parted if key not in names)]
                for file, names in columns.items()
            }
        _check_same_columns(columns)
        self.header: tuple[str, ...] = tuple(columns[self.paths[0]])
        self.columns: tuple[str, ...] = tuple(dict.fromkeys(columns[self.paths[0]]))
        self._loaded: dict[frozenset[str], str] = {}
        self._names: list[str] = []
        self._lock = threading.Lock()
        weakref.finalize(self, _drop, self._names)

    def __reduce__(self) -> tuple[type[Files], tuple[list[str]]]:
        """Files are passed on by their paths and read again there."""
        return type(self), (self.paths,)

    def relation(self, columns: Sequence[str]) -> Any:
        """The chosen columns: a scan for Parquet, a table loaded once for CSV."""
        self._check_case(columns)
        if not self.csv:
            listed = ", ".join(quote(name) for name in columns)
            return self._run(f"SELECT {listed} FROM {_parquet_scan(self.paths)}")
        wanted = frozenset(columns)
        with self._lock:
            name = next((name for loaded, name in self._loaded.items() if wanted <= loaded), None)
            if name is None:
                name = self._loaded[wanted] = self._load_csv(sorted(wanted))
        return connect().table(name)

    def _check_case(self, columns: Sequence[str]) -> None:
        """DuckDB does not tell names apart by case: of a CSV file one of them can be read, of Parquet none."""
        used = {name.removesuffix(AS_WRITTEN) for name in columns}
        for name in sorted(used):
            alike = [other for other in self.columns if other != name and other.lower() == name.lower()]
            if alike and (not self.csv or set(alike) & used):
                text = f"has {name!r} and {alike[0]!r}, which differ only in case; rename one"
                raise InputError(WHO, _file_fault(f"{self.paths[0]}: the header", text))

    def _check_twice(self, file: str, columns: Sequence[str]) -> None:
        """A column that stands twice in the header is read where it holds the same values both times."""
        names = self.headers[file].names
        for name in {name.removesuffix(AS_WRITTEN) for name in columns}:
            first, *others = [f"column{place}" for place, other in enumerate(names) if other == name]
            differs = " OR ".join(f"{first} IS DISTINCT FROM {other}" for other in others)
            scan = _csv_scan(file, self.headers[file])
            if (
                others
                and self._run(f"SELECT count(*) FROM {scan} WHERE {differs}", execute=True).fetchone()[0]
            ):
                text = f"has {name!r} twice, with different values; rename one"
                raise InputError(WHO, _file_fault(f"{file}: the header", text))

    def _load_csv(self, columns: list[str]) -> str:
        parts = []
        for file in self.paths:
            names = self.headers[file].names
            self._check_twice(file, columns)
            places = {name: names.index(name.removesuffix(AS_WRITTEN)) for name in columns}
            listed = ", ".join(f"column{place} AS {quote(name)}" for name, place in places.items())
            parts.append(f"SELECT {listed} FROM {_csv_scan(file, self.headers[file])}")
        own = f"{next(_numbers)}"
        raw, typed = f"raw{own}", f"typed{own}"
        self._names += [raw, typed]
        self._run(f"CREATE TABLE {raw} AS " + " UNION ALL ".join(parts), execute=True)
        self._run(f"CREATE TABLE {typed} AS SELECT {self._casts(columns, raw)} FROM {raw}", execute=True)
        connect().execute(f"DROP TABLE {raw}")
        return typed

    def copy_typed(self, target: str | os.PathLike[str]) -> bool:
        """One CSV file as Parquet, each column as it would be read; in two passes, so that little memory is used.

        Not where a name stands twice or differs from another only in case: there is no such Parquet file.
        """
        [file] = self.paths
        header = self.headers[file]
        names = header.names[header.numbered :]
        if len({name.lower() for name in names}) < len(names):
            return False
        listed = ", ".join(
            f"column{place} AS {quote(name)}" for place, name in enumerate(names, start=header.numbered)
        )
        rows = f"(SELECT {listed} FROM {_csv_scan(file, header)})"
        select = f"SELECT {self._casts(names, rows)} FROM {rows}"
        self._run(f"COPY ({select}) TO {_text(os.fspath(target))} (FORMAT parquet)", execute=True)
        return True

    def _casts(self, columns: list[str], raw: str) -> str:
        """What makes of a table of texts the columns that all of their values allow."""
        tests = ", ".join(
            f"count({name}), count(*) FILTER (regexp_matches({name}, '{_NUMBER}') OR regexp_matches({name}, '{_WORD}',"
            f" 'i')), count(*) FILTER (regexp_matches({name}, '{_WHOLE}')),"
            f" count(*) FILTER (regexp_matches(split_part({name}, '.', 1), '{_TOO_LONG}'))"
            for name in map(quote, columns)
        )
        counts = self._run(f"SELECT {tests} FROM {raw}", execute=True).fetchone()
        return ", ".join(_cast(name, *counts[4 * i : 4 * i + 4]) for i, name in enumerate(columns))

    def _run(self, sql: str, execute: bool = False) -> Any:
        import duckdb

        try:
            return connect().execute(sql) if execute else connect().sql(sql)
        except duckdb.Error as error:
            raise _unreadable(self.paths[0], _first_lines(error)) from None
        except RuntimeError as error:
            check_interrupted(error)
            raise


class _Header(NamedTuple):
    names: list[str]
    delimiter: str
    blank: int  # lines before it
    numbered: bool  # whether the first column only counts the rows: nobody can name it


def _find(path: str | os.PathLike[str] | list[str]) -> list[str]:
    if isinstance(path, list):
        return path
    text = os.path.expanduser(os.fspath(path))
    if "://" in text:
        cure = "nothing is fetched from elsewhere"
        raise InputError(WHO, Fault("data", "must be a local file", got=text, cure=cure))
    found = [text] if os.path.exists(text) else sorted(glob.glob(text, recursive=True))
    if not found:
        required = f"names no file: {text!r} does not exist"
        cure = "Check the spelling and the folder it is looked for in"
        raise InputError(WHO, Fault("data", required, cure=cure))
    strange = next((file for file in found if not os.path.isdir(file) and not os.path.isfile(file)), None)
    if strange is not None:  # a pipe would be waited for without end, and can be read only once
        raise InputError(WHO, _file_fault(repr(strange), "is no plain file; save its content in one"))
    if os.path.isdir(text):
        cure = f"Name its files, e.g. {os.path.join(text, '*.parquet')!r}"
        raise InputError(WHO, Fault("data", f"is a folder: {text!r}", cure=cure))
    return found


def _is_parquet(paths: list[str]) -> bool:
    kinds = {".parquet" if path.lower().endswith((".parquet", ".pq")) else ".csv" for path in paths}
    if len(kinds) > 1:
        raise InputError(
            WHO, Fault("data", f"mixes CSV and Parquet files: {paths[:4]}", cure="name files of one kind")
        )
    known = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".parquet", ".pq")
    other = [path for path in paths if not path.lower().endswith(known)]
    if other:
        raise InputError(WHO, Fault("data", f"must be CSV or Parquet ({', '.join(known)})", got=other[0]))
    return kinds == {".parquet"}


def _header(path: str) -> _Header:
    """Names and delimiter from the first line, with the faults a reader would hide."""
    try:
        with gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb") as file:
            start = file.read(1 << 20)
    except (OSError, EOFError) as error:
        raise _unreadable(path, str(error)) from None
    if not start.strip():
        raise InputError(WHO, _file_fault(path, "is empty"))
    if b"\0" in start[:4096]:
        raise InputError(WHO, _file_fault(path, "is not a text file; save it as CSV in UTF-8"))
    try:
        text = start.decode("utf-8-sig", errors="strict" if len(start) < 1 << 20 else "ignore")
    except UnicodeDecodeError as error:
        line = start[: error.start].count(b"\n") + 1
        required = f"is not UTF-8 (line {line}); it looks like Latin-1: save it as UTF-8"
        raise InputError(WHO, _file_fault(path, required)) from None
    return _header_of(path, text)


def _header_of(path: str, text: str) -> _Header:
    """The names of the first line that is not blank."""
    lines = text.lstrip("\r\n")
    before = text[: len(text) - len(lines)]
    blank = len(before.replace("\r\n", "\n"))
    if "\r\n" in before and "\r\n" not in lines:  # the rows after it would not be found
        raise _unreadable(path, "its lines end in different ways; save it anew")
    outsidequotes = re.sub(r'"[^"]*"', "", lines).splitlines()[0]
    delimiter = max(",;\t|", key=outsidequotes.count)
    try:
        rows = csv.reader(io.StringIO(lines, newline=None), delimiter=delimiter)
        names = next(rows)
        numbered = _counts_rows(names, rows)
    except csv.Error as error:
        raise _unreadable(path, f"the header: {error}") from None
    _check_names(path, names, int(numbered))
    return _Header(names, delimiter, blank, numbered)


def _counts_rows(names: Sequence[str], rows: Iterable[Sequence[str]]) -> bool:
    """Whether the first column has no name and only counts the rows, as R's write.csv and pandas' to_csv put it.

    The last row that is looked at may be cut off, and speaks only where it is the only one.
    """
    if len(names) < 2 or names[0].strip():
        return False
    numbers = [row[0] for row in itertools.islice(rows, NUMBERED_ROWS) if row]
    seen = numbers[: max(1, len(numbers) - 1)]
    return bool(seen) and any(
        seen == [str(number) for number in range(first, first + len(seen))] for first in (0, 1)
    )


def _check_names(path: str, names: list[str], first: int = 0) -> None:
    nameless = [i for i, name in enumerate(names) if i >= first and not name.strip()]
    if nameless:
        subject, cure = f"{path}: column {nameless[0] + 1}", "" if nameless[0] else WITHOUT_NUMBERS
        raise InputError(WHO, Fault("data", "has no name in the header", subject=subject, cure=cure))
    if max(map(len, names)) > LONGEST_NAME:
        required = f"has a name of more than {LONGEST_NAME:,} characters; rename it"
        raise InputError(WHO, _file_fault(f"{path}: the header", required))


def _check_same_columns(columns: dict[str, list[str]]) -> None:
    first, expected = next(iter(columns.items()))
    for path, names in columns.items():
        differing = sorted(set(names) ^ set(expected))
        if differing:
            required = f"do not have the same columns: {differing[:5]}"
            raise InputError(WHO, _file_fault(f"{path} and {first}", required))


def _csv_scan(path: str, header: _Header) -> str:
    # by place and not by name: real headers have names that differ only in case
    columns = ", ".join(f"column{place}: 'VARCHAR'" for place in range(len(header.names)))
    return (
        f"read_csv({_literal(path)}, header=true, auto_detect=false, columns={{{columns}}}, "
        f"delim={_text(header.delimiter)}, skip={header.blank}, "
        "quote='\"', escape='\"', strict_mode=true, null_padding=false, ignore_errors=false)"
    )


def _parquet_scan(paths: list[str]) -> str:
    parted = ", hive_partitioning=true, hive_types_autocast=false" if _partitions(paths) else ""
    return f"read_parquet([{', '.join(map(_literal, paths))}], union_by_name=true{parted})"


def _partitions(paths: list[str]) -> tuple[str, ...]:
    """Columns that the names of folders hold, year=2026/month=11, where all files lie in such folders.

    Their values are labels, as they are written there.
    """
    folders = [[part.split("=", 1) for part in Path(path).parts[:-1]] for path in paths]
    keys = [tuple(part[0] for part in parts if len(part) == 2 and part[0]) for parts in folders]
    return keys[0] if len(set(keys)) == 1 else ()


def _parquet_columns(connection: Any, paths: list[str]) -> dict[str, list[str]]:
    import duckdb

    try:
        # The schema as written: the scan itself renames a column whose name another has too.
        columns = {path: _written_columns(connection, path) for path in paths}
    except duckdb.Error as error:
        raise _unreadable(paths[0], _first_lines(error)) from None
    for path, names in columns.items():
        _check_names(path, names)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:  # the scan would rename the second one and say nothing
            raise InputError(WHO, _file_fault(f"{path}: the header", f"has {twice!r} twice; rename one"))
    return columns


def _written_columns(connection: Any, path: str) -> list[str]:
    """Names of the top level: a depth-first listing in which each element tells how many lie below it."""
    rows = connection.execute(f"SELECT name, num_children FROM parquet_schema({_literal(path)})").fetchall()
    names, position = [], 1
    while position < len(rows):
        names.append(str(rows[position][0]))
        below = 1
        while below:
            below += (rows[position][1] or 0) - 1
            position += 1
    return names


def _file_fault(path: str, required: str) -> Fault:
    return Fault("data", required, subject=path)


def _unreadable(path: str, why: str) -> InputError:
    return InputError(WHO, _file_fault(path, f"cannot be read: {why}"))


def _first_lines(error: Exception) -> str:
    """What DuckDB found, without its hints to switch the checks off."""
    lines = []
    for line in str(error).splitlines():
        if line.startswith(("Possible", "*")):
            break
        if line.strip():
            lines.append(line.strip())
    return "; ".join(lines[:4])


def _cast(column: str, present: int, numbers: int, whole: int, too_long: int) -> str:
    """A column of a CSV file as the numbers that all of its values are, or as their texts.

    Of a column of numbers whose texts were asked for, what is no number is missing or infinite, as everywhere.
    """
    name = quote(column)
    if not column.endswith(AS_WRITTEN):
        fits = {"BIGINT": whole == present, "DOUBLE": numbers == present and not too_long}
        kind = next((kind for kind, all_are in fits.items() if present and all_are), "VARCHAR")
        return f"CAST({name} AS {kind}) AS {name}"
    return (
        f"CASE WHEN regexp_matches({name}, '^[+-]?nan$', 'i') THEN NULL WHEN regexp_matches({name}, '{_WORD}', 'i') "
        f"THEN '{INFINITE}' ELSE {name} END AS {name}"
    )


def _literal(path: str) -> str:
    """A path that DuckDB takes as it is written, not as a pattern."""
    return _text(re.sub(r"([*?\[])", r"[\1]", path))


def _text(value: str | Path) -> str:
    return "'" + str(value).replace("'", "''") + "'"
