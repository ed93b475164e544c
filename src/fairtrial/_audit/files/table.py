"""CSV and Parquet files through DuckDB, read so that nothing is changed or lost on the way.

DuckDB's own CSV guessing turns Yes/No into booleans, 1-5-10 into a date, renames duplicate headers and swaps
columns between the files of a glob. So the header is read here, every column is read as text, and only
columns in which every value is a number become numbers. Files of other kinds are made plain before (intake.py).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairtrial._audit.engine import WHO, check_interrupted, connect, quote
from fairtrial._audit.files.column_reading import AS_WRITTEN, ColumnReader, ColumnReading, find_decimal
from fairtrial._audit.files.encodings import is_packed
from fairtrial._audit.files.headers import Header, file_fault, unreadable
from fairtrial._audit.files.intake import FileReading, PlainFile, find_files, open_plain
from fairtrial._audit.files.number_marks import Mark
from fairtrial._audit.files.parquet import (
    SAID,
    first_lines,
    literal,
    parquet_columns,
    parquet_scan,
    partitions,
    read_said,
    text,
)
from fairtrial._errors import Fault, InputError

_numbers = itertools.count()


def _drop(names: list[str]) -> None:
    """Forget tables that nobody reads any more."""
    with contextlib.suppress(Exception):  # at the end of the program the database may be gone already
        for name in names:
            connect().execute(f"DROP TABLE IF EXISTS {name}")


class Files:
    """One or several files, seen as one table.

    Every call has a cursor of its own, so that threads may share it.
    """

    def __init__(self, data: Any, reading: Mapping[str, Any] | None = None) -> None:
        self.reading = FileReading.of(reading)
        found, self._copied = find_files(data)
        self._given = found, reading
        self.plain: list[PlainFile] = [open_plain(path, self.reading) for path in found]
        self.paths = [file.path for file in self.plain]
        self.csv = _is_text(self.plain)
        if self.csv:
            self.headers = {file.path: file.header for file in self.plain if file.header is not None}
            columns = {file: header.names[header.numbered :] for file, header in self.headers.items()}
        else:
            columns = self._parquet_columns()
        _check_same_columns({file.name: columns[file.path] for file in self.plain})
        self.header: tuple[str, ...] = tuple(columns[self.paths[0]])
        self.columns: tuple[str, ...] = tuple(dict.fromkeys(columns[self.paths[0]]))
        self._loaded: dict[frozenset[str], str] = {}
        self._read_as: dict[str, ColumnReading] = {}
        self._decimal: list[Mark | None] = []
        self._names: list[str] = []
        self._lock = threading.Lock()
        weakref.finalize(self, _drop, self._names)

    def __reduce__(self) -> tuple[type[Files], tuple[Any, ...]]:
        """Files are passed on by their paths and read again there."""
        return type(self), self._given

    def _parquet_columns(self) -> dict[str, list[str]]:
        columns = parquet_columns(connect(), self.paths)
        parted = partitions(self.paths)
        return {
            file: [*names, *(key for key in parted if key not in names)] for file, names in columns.items()
        }

    def relation(self, columns: Sequence[str]) -> Any:
        """The chosen columns: a scan for Parquet, a table loaded once for CSV."""
        self._check_case(columns)
        if not self.csv:
            listed = ", ".join(quote(name) for name in columns)
            return self._run(f"SELECT {listed} FROM {parquet_scan(self.paths)}")
        return connect().table(self._table(columns))

    def _table(self, columns: Iterable[str]) -> str:
        wanted = frozenset(columns)
        with self._lock:
            name = next((name for loaded, name in self._loaded.items() if wanted <= loaded), None)
            if name is None:
                name = self._loaded[wanted] = self._load_csv(sorted(wanted))
        return name

    def said(self, columns: Iterable[str]) -> list[str]:
        """What was changed when the files were read, and the values of some of their columns."""
        several = len(self.plain) > 1
        notes = [f"{file.name}: {text}" if several else text for file in self.plain for text in file.said]
        known = [name for name in self.columns if name in set(columns)]
        if not self.csv:
            told = read_said(self.paths[0])
            return [*notes, *told.get("file", []), *filter(None, map(told.get("columns", {}).get, known))]
        if known and self.csv:
            if any(name not in self._read_as for name in known):
                self._table(known)
            notes += [self._read_as[name].said for name in known if self._read_as[name].said]
        return notes

    def stays_text(self, column: str) -> str:
        """Why a column that mostly holds numbers is not read as numbers, if it is one."""
        if not self.csv or column not in self.columns:
            return ""
        self._table([column])
        return self._read_as[column].wrong

    def _check_case(self, columns: Sequence[str]) -> None:
        """DuckDB does not tell names apart by case: of a CSV file one of them can be read, of Parquet none."""
        used = {name.removesuffix(AS_WRITTEN) for name in columns}
        for name in sorted(used):
            alike = [other for other in self.columns if other != name and other.lower() == name.lower()]
            if alike and (not self.csv or set(alike) & used):
                required = f"has {name!r} and {alike[0]!r}, which differ only in case; rename one"
                raise InputError(WHO, file_fault(f"{self.plain[0].name}: the header", required))

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
                required = f"has {name!r} twice, with different values; rename one"
                raise InputError(WHO, file_fault(f"{self._called(file)}: the header", required))

    def _called(self, path: str) -> str:
        return next(file.name for file in self.plain if file.path == path)

    def _load_csv(self, columns: list[str]) -> str:
        for file in self.paths:
            self._check_twice(file, columns)
        own = f"{next(_numbers)}"
        raw, typed = f"raw{own}", f"typed{own}"
        self._names += [raw, typed]
        self._run(f"CREATE TABLE {raw} AS {self._texts(columns)}", execute=True)
        self._run(f"CREATE TABLE {typed} AS SELECT {self._casts(columns, raw)} FROM {raw}", execute=True)
        connect().execute(f"DROP TABLE {raw}")
        return typed

    def _texts(self, columns: Sequence[str], called: Sequence[str] | None = None) -> str:
        """A query for columns of all files as texts, under names that may be others."""
        parts = []
        for file in self.paths:
            names = self.headers[file].names
            places = [names.index(name.removesuffix(AS_WRITTEN)) for name in columns]
            listed = ", ".join(
                f"column{place} AS {quote(name)}"
                for place, name in zip(places, called or columns, strict=True)
            )
            parts.append(f"SELECT {listed} FROM {_csv_scan(file, self.headers[file])}")
        return " UNION ALL ".join(parts)

    def _file_says(self) -> Mark | None:
        """The decimal mark: the one that was named, or what all other columns agree on; looked for once."""
        if not self._decimal:
            written = [name for name in self.columns if all(name not in file.numbers for file in self.plain)]
            called = [f"c{place}" for place in range(len(written))]  # two may differ only in case
            run = partial(self._run, execute=True)
            found = self.reading.decimal or find_decimal(run, called, f"({self._texts(written, called)})")
            self._decimal.append(found)
        return self._decimal[0]

    def _reader(self) -> ColumnReader:
        numbers = frozenset.intersection(*(file.numbers for file in self.plain))
        semicolons = any(header.delimiter == ";" for header in self.headers.values())
        return ColumnReader(partial(self._run, execute=True), numbers, self._file_says, semicolons)

    def _casts(self, columns: list[str], rows: str) -> str:
        """What makes of a table of texts the columns that all of their values allow."""
        found = self._reader().read(columns, rows)
        self._read_as |= {name.removesuffix(AS_WRITTEN): how for name, how in found.items()}
        return ", ".join(how.cast(name) for name, how in found.items())

    def copy_typed(self, target: str | Path) -> bool:
        """One file as Parquet, each column as it would be read; in two passes, so that little memory is used.

        What was changed is written into it. Not where a name stands twice or differs from another only in case: there
        is no such Parquet file.
        """
        if not self.csv:
            shutil.copyfile(self.paths[0], target)
            return True
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
        told = {"file": self.plain[0].said, "columns": {name: self._read_as[name].said for name in names}}
        kept = f"KV_METADATA {{{SAID}: {text(json.dumps(told))}}}"
        self._run(f"COPY ({select}) TO {text(target)} (FORMAT parquet, {kept})", execute=True)
        return True

    def read_numbers(self, sample: Mapping[str, Sequence[str | None]]) -> dict[str, list[float | None]]:
        """Those columns of a sample of the texts that are numbers as offices write them, as numbers."""
        import pyarrow as pa

        called = {f"c{place}": name for place, name in enumerate(sample)}
        texts = pa.table({short: pa.array(sample[name], pa.string()) for short, name in called.items()})
        rows = f"sample{next(_numbers)}"
        self._names.append(rows)
        found: dict[str, list[float | None]] = {}
        with connect() as cursor:
            cursor.register(f"{rows}_arrow", texts)
            cursor.execute(f"CREATE TABLE {rows} AS SELECT * FROM {rows}_arrow")
        for short, name in called.items():
            try:
                how = self._reader().read([short], rows)[short]
            except InputError:  # nothing settles its marks: asked for when it is used
                continue
            if not how.kind:
                told = self._run(f"SELECT {how.cast(short)} FROM {rows}", execute=True).fetchall()
                found[name] = [value for (value,) in told]
        return found

    def _run(self, sql: str, execute: bool = False) -> Any:
        import duckdb

        try:
            return connect().execute(sql) if execute else connect().sql(sql)
        except duckdb.Error as error:
            raise unreadable(self._named(error), first_lines(error)) from None
        except RuntimeError as error:
            check_interrupted(error)
            raise

    def _named(self, error: Exception) -> str:
        """The file that DuckDB speaks of, or the first."""
        return next((file.name for file in self.plain if file.path in str(error)), self.plain[0].name)


def _is_text(files: Sequence[PlainFile]) -> bool:
    kinds = {file.header is not None for file in files}
    if len(kinds) > 1:
        listed = [file.name for file in files[:4]]
        required = f"mixes CSV and Parquet files: {listed}"
        raise InputError(WHO, Fault("data", required, cure="name files of one kind"))
    return kinds == {True}


def _check_same_columns(columns: dict[str, list[str]]) -> None:
    first, expected = next(iter(columns.items()))
    for path, names in columns.items():
        differing = sorted(set(names) ^ set(expected))
        if differing:
            required = f"do not have the same columns: {differing[:5]}"
            raise InputError(WHO, file_fault(f"{path} and {first}", required))


def _csv_scan(path: str, header: Header) -> str:
    # by place and not by name: real headers have names that differ only in case
    columns = ", ".join(f"column{place}: 'VARCHAR'" for place in range(len(header.names)))
    return (
        f"read_csv({literal(path)}, header=true, auto_detect=false, columns={{{columns}}}, "
        f"delim={text(header.delimiter)}, skip={header.blank}, compression='{'gzip' if is_packed(path) else 'none'}', "
        "quote='\"', escape='\"', strict_mode=true, null_padding=false, ignore_errors=false)"
    )
