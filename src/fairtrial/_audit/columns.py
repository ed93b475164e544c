"""The columns of an audit before they mean anything: what they hold, which rows lack a value, lazy frames of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from fairtrial._audit.expressions import missing_counts, present
from fairtrial._audit.source import Kind, Source, collect
from fairtrial._errors import Fault, InputError

if TYPE_CHECKING:
    from fairtrial._audit.fingerprint import Fingerprint


MOST_ROWS = 1_000_000  # whose real values are compared row by row, and that models are fitted to


class Columns(ABC):
    """A source with the rule for missing values; who names columns says which are `declared`."""

    missing: str

    def __init__(self, source: Source) -> None:
        self.source = source
        self.frame = source.frame
        self._kinds: dict[str, Kind] = {}
        self._dropped: tuple[int, int] | None = None
        self._rows: int | None = None
        self._lacks: dict[str, bool] = {}
        self.may_lack: frozenset[str] = frozenset()  # columns whose missing values are kept, as NaN
        self._fingerprints: dict[tuple[str, ...], Fingerprint] = {}
        self.drawn_by: int | None = None  # the seed of a sample, where not every row is read

    @property
    @abstractmethod
    def declared(self) -> list[str]:
        """The columns that are named, each once."""

    @property
    def needed(self) -> list[str]:
        """The named columns that a complete row has."""
        return [name for name in self.declared if name not in self.may_lack]

    def kind(self, column: str) -> Kind:
        """What a column holds: 'bool', 'int', 'float', 'text' or 'other'."""
        if column not in self._kinds:
            declared = self.declared  # together: a CSV file is then read once
            self._kinds.update(self.source.kinds(declared if column in declared else [column]))
        if self._kinds[column] == "unfit":
            required = "holds values that are neither numbers, texts nor dates"
            cure = "make a column of numbers or labels from it"
            raise InputError("Audit", Fault("data", required, subject=repr(column), cure=cure))
        return self._kinds[column]

    def lazy(
        self, columns: Iterable[str], *, complete: Iterable[str] = (), in_order: bool = False
    ) -> nw.LazyFrame[Any]:
        """The data, in the order of rows() where asked for; where rows are dropped, those complete in some columns."""
        wanted = set(columns) or {self.source.any_column}
        sort = in_order and not self.source.ordered
        if sort:  # by every column: only rows alike in all of them can change places
            wanted = set(self.source.columns)
        kept = sorted(complete) if self.missing == "drop" else []
        frame = self.source.lazy(sorted(wanted | set(kept)))
        if kept:
            frame = frame.filter(*[present(name, self.kind(name)) for name in kept])
        return frame.sort(*sorted(wanted)) if sort else frame

    def fingerprint(self, columns: Iterable[str], *, declared: bool = True) -> Fingerprint:
        """The fingerprint of some columns, with those that are declared unless said otherwise."""
        from fairtrial._audit.fingerprint import fingerprint

        wanted = set(columns) | set(self.declared if declared else ())
        key = tuple(sorted(wanted or {self.source.any_column}))
        if key not in self._fingerprints:
            self._fingerprints[key] = fingerprint(self.source, key, many=self.very_many)
        return self._fingerprints[key]

    @property
    def by_sums(self) -> bool:
        """Whether real values are compared by their sums and not row by row: decided once, for every question."""
        return self.source.on_cluster or self.very_many

    @property
    def very_many(self) -> bool:
        """Whether there are more rows than are read one by one."""
        return self.count_rows() > MOST_ROWS

    @property
    def why_sums(self) -> str:
        """Why real values are compared by their sums."""
        return "The rows stay in Spark" if self.source.on_cluster else f"More than {MOST_ROWS:,} rows"

    def drawn(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Rows that were read, or a sample of them, always the same for one seed, where the audit is `sampled`."""
        length = len(next(iter(answer.values())))
        if self.drawn_by is None or length <= MOST_ROWS:
            return answer
        places = np.random.default_rng([self.drawn_by, length]).choice(length, MOST_ROWS, replace=False)
        return {name: column.take(np.sort(places)) for name, column in answer.items()}

    def and_counts(self, columns: Iterable[str]) -> list[str]:
        """Columns, with the one that says how many rows a line stands for."""
        return [*columns] if self.source.counted is None else [*columns, self.source.counted]

    @property
    def rows_expression(self) -> nw.Expr:
        """How many rows the lines are."""
        return nw.len() if self.source.counted is None else nw.col(self.source.counted).sum()

    def count_read(self) -> int:
        """How many rows are read at most: those of the sample where one is drawn."""
        return self.count_rows() if self.drawn_by is None else min(self.count_rows(), MOST_ROWS)

    def count_rows(self) -> int:
        """All rows of the source."""
        if self._rows is None:
            frame = self.source.lazy(self.and_counts([self.source.any_column]))
            self._rows = int(collect(frame.select(self.rows_expression.alias("n")))["n"][0].as_py() or 0)
        return self._rows

    def lacks(self, column: str) -> bool:
        """Whether a column has missing values."""
        if column not in self._lacks:
            counts, _ = missing_counts(self.source, [column])
            self._lacks[column] = counts[column] > 0
        return self._lacks[column]

    def count_dropped(self) -> tuple[int, int]:
        """Rows left out for a missing value, and all rows; zeros where none are left out."""
        if self.missing != "drop":
            return 0, 0
        if self._dropped is None:
            declared = self.needed or [self.source.any_column]
            flag = nw.lit(1).cast(nw.Int64)
            for name in declared:
                flag = nw.when(present(name, self.kind(name))).then(flag).otherwise(nw.lit(0).cast(nw.Int64))
            if self.source.counted is not None:
                flag = flag * nw.col(self.source.counted)
            frame = self.source.lazy(self.and_counts(declared)).select(*self.and_counts([]), kept=flag)
            counts = collect(
                frame.select(self.rows_expression.alias("n"), nw.col("kept").sum().alias("kept"))
            )
            total, kept = int(counts["n"][0].as_py()), int(counts["kept"][0].as_py() or 0)
            self._dropped = (total - kept, total)
        return self._dropped
