"""A first look at a data file: what each column could be, from its name and its first rows."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from fairtrial.data.files import Files
from fairtrial.data.source import UNREADABLE
from fairtrial.errors import Fault, InputError
from fairtrial.labels import canonical, is_missing

ROWS = 20_000
MAX_CATEGORIES = 25


@dataclass(frozen=True, slots=True)
class Profile:
    """What the first rows say about one column."""

    name: str
    labels: tuple[str, ...]
    counts: tuple[int, ...]
    missing: int
    rows: int
    numeric: bool
    low: float = 0.0
    high: float = 0.0

    @property
    def binary(self) -> bool:
        return len(self.labels) == 2

    @property
    def zero_one(self) -> bool:
        return set(self.labels) <= {"0", "1", "true", "false"} and self.binary

    @property
    def category(self) -> bool:
        """Few enough labels to compare people by."""
        return 2 <= len(self.labels) <= MAX_CATEGORIES

    @property
    def identifier(self) -> bool:
        """A different text or whole number in nearly every row."""
        return len(self.labels) > 0.9 * max(1, self.rows - self.missing) and self.rows > 20


def profile_file(path: str) -> list[Profile]:
    """Profiles of all columns, from the first rows of the file (of the first file of a glob)."""
    files = Files(path)
    columns = files.columns
    values: dict[str, list[Any]] = {name: [] for name in columns}
    rows = _csv_rows(files) if files.csv else _parquet_rows(files.paths[0])
    try:
        for row in rows:
            for name in columns:
                values[name].append(row.get(name))
    except (OSError, EOFError, ValueError, NotImplementedError, MemoryError, csv.Error) as error:
        fault = Fault(
            "data", f"cannot be read: {str(error).splitlines()[0]}", subject=files.paths[0], cure=UNREADABLE
        )
        raise InputError("Audit", fault) from None
    return [_profile(name, values[name]) for name in columns]


def first_rows(path: str, count: int) -> list[dict[str, Any]]:
    """The first rows of the file (of the first file of a glob), as they are written."""
    files = Files(path)
    return list(islice(_csv_rows(files) if files.csv else _parquet_rows(files.paths[0]), count))


def _csv_rows(files: Files) -> Iterator[dict[str, Any]]:
    path = files.paths[0]
    header = files.headers[path]
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        for _ in range(header.blank):
            file.readline()
        for index, row in enumerate(csv.DictReader(file, delimiter=header.delimiter)):
            if index >= ROWS:
                return
            yield row


def _parquet_rows(path: str) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=ROWS):
            yield from batch.to_pylist()
            return


def _profile(name: str, values: Iterable[Any]) -> Profile:
    listed = list(values)
    present = [canonical(value) for value in listed if not is_missing(value)]
    counts = Counter(present)
    labels = sorted(counts)
    numbers = [_number(label) for label in labels]
    numeric = bool(labels) and all(number is not None for number in numbers)
    known = [number for number in numbers if number is not None] if numeric else [0.0]
    return Profile(
        name=name,
        labels=tuple(labels),
        counts=tuple(counts[label] for label in labels),
        missing=len(listed) - len(present),
        rows=len(listed),
        numeric=numeric,
        low=min(known),
        high=max(known),
    )


def _number(label: str) -> float | None:
    if label in ("true", "false"):
        return float(label == "true")
    try:
        number = float(label)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None
