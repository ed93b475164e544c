"""A first look at a data file: what each column could be, from its name and a sample of its rows."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Any

import numpy as np

from fairtrial._audit.engine import UNREADABLE
from fairtrial._audit.files import Files
from fairtrial._errors import Fault, InputError
from fairtrial._labels import canonical, is_missing

ROWS = 20_000  # drawn from the first READ, always the same: a file may be sorted by what is asked for
READ = 200_000
MAX_CATEGORIES = 25


@dataclass(frozen=True, slots=True)
class Profile:
    """What the sampled rows say about one column."""

    name: str
    labels: tuple[str, ...]
    counts: tuple[int, ...]
    missing: int
    rows: int
    numeric: bool
    low: float = 0.0
    high: float = 0.0
    whole: bool = False  # whether all its numbers are
    codes: Any = field(
        default=None, compare=False, repr=False
    )  # of each row its label's place, -1 where missing

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
        """A different text or whole number in nearly every row; an amount is none."""
        different = len(self.labels) > 0.9 * max(1, self.rows - self.missing) and self.rows > 20
        return different and (self.whole or not self.numeric)


def profile_file(path: str) -> list[Profile]:
    """Profiles of all columns, from a sample of the file's rows (of the first file of a glob)."""
    files = Files(path)
    columns = files.columns
    values: dict[str, list[Any]] = {name: [] for name in columns}
    try:
        rows = _drawn(_csv_rows(files)) if files.csv else _drawn_batches(files.paths[0])
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
    if not files.csv:
        return list(islice(_drawn_batches(files.paths[0], count), count))
    return list(islice(_csv_rows(files), count))


def _drawn(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """ROWS of the first READ rows, each as likely as any other (Vitter's algorithm R)."""
    choose = Random(0)
    kept: list[dict[str, Any]] = []
    for index, row in enumerate(islice(rows, READ)):
        if index < ROWS:
            kept.append(row)
        elif (place := choose.randrange(index + 1)) < ROWS:
            kept[place] = row
    return kept


def _csv_rows(files: Files) -> Iterator[dict[str, Any]]:
    path = files.paths[0]
    header = files.headers[path]
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        for _ in range(header.blank):
            file.readline()
        yield from csv.DictReader(file, delimiter=header.delimiter)


def _drawn_batches(path: str, most: int = READ) -> Iterator[dict[str, Any]]:
    """Of a Parquet file's first rows at most ROWS, as many from each batch as it has its share of them."""
    import pyarrow.parquet as parquet

    choose = Random(0)
    with parquet.ParquetFile(path) as file:
        total = min(most, file.metadata.num_rows)
        seen = taken = 0
        for batch in file.iter_batches(batch_size=ROWS):
            batch = batch.slice(0, total - seen)
            seen += len(batch)
            wanted = seen * min(total, ROWS) // total - taken
            taken += wanted
            yield from batch.take(sorted(choose.sample(range(len(batch)), wanted))).to_pylist()
            if seen >= total:
                return


def _profile(name: str, values: Iterable[Any]) -> Profile:
    listed = list(values)
    texts = [None if is_missing(value) else canonical(value) for value in listed]
    counts = Counter(text for text in texts if text is not None)
    labels = sorted(counts)
    numbers = [_number(label) for label in labels]
    numeric = bool(labels) and all(number is not None for number in numbers)
    known = [number for number in numbers if number is not None] if numeric else [0.0]
    place = {label: index for index, label in enumerate(labels)}
    return Profile(
        name=name,
        labels=tuple(labels),
        counts=tuple(counts[label] for label in labels),
        missing=len(listed) - counts.total(),
        rows=len(listed),
        numeric=numeric,
        low=min(known),
        high=max(known),
        whole=numeric and all(number == int(number) for number in known),
        codes=np.array([-1 if text is None else place[text] for text in texts], dtype=np.int16),
    )


def _number(label: str) -> float | None:
    if label in ("true", "false"):
        return float(label == "true")
    try:
        number = float(label)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None
