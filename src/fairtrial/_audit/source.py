"""Where the data lie: any dataframe, file or table in, one lazy narwhals frame out; and what was found in it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import narwhals as nw

from fairtrial._audit.engine import (
    WHO,
    Fingerprint,
    collect,
    connect,
    open_table,
    quote,
    reading,
    row_fingerprint,
    text_fingerprint,
)
from fairtrial._audit.frames import (
    Counted,
    Frame,
    arrow_column,
    as_table,
    frame_kind,
    is_files,
    is_name,
    named_intervals,
    streamed,
)
from fairtrial._errors import Fault, InputError
from fairtrial._labels import canonical

if TYPE_CHECKING:
    from fairtrial._audit.files import Files

Kind = Literal["bool", "int", "float", "text", "other", "unfit"]
BATCH = 1 << 18  # rows that are looked at together

COUNT = "\x1frows"
MOST_LINES = 200_000
TRIED = 100_000  # rows that tell whether there are many alike


class Source:
    """A table wherever it lives. In-memory frames and files are queried through DuckDB, lazy ones in place."""

    def __init__(self, data: object, reading: Mapping[str, Any] | None = None) -> None:
        self._files: Files | None = None
        self._eager: nw.DataFrame[Any] | None = None
        self._lazy: nw.LazyFrame[Any] | None = None
        self._arrow: dict[str, Any] = {}
        self.frame: Frame = "pyarrow"
        self.orders: dict[str, tuple[str, ...]] = {}  # categories that have an order, as declared
        self.ordered = True
        self.derived: dict[str, tuple[str, ...]] = {}  # columns made of others, with those
        self.expression_of: Callable[[str], nw.Expr] | None = None  # says how they are made
        # A relation of the caller's own has one connection, which refuses a second call at the same time.
        self.alone: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
        self.counted = data.column if isinstance(data, Counted) else None
        self.columns: tuple[str, ...] = ()
        self.found: dict[tuple[Any, ...], Any] = {}  # what was read of the data, under all that it depends on
        self.alike: dict[str, list[str]] = {}  # labels of an attribute that differ only by case or blanks
        self._open(data.table if isinstance(data, Counted) else data, reading)
        if isinstance(data, Counted):
            self.columns = tuple(str(name) for name in data.table.column_names if name != data.column)

    def _open(self, data: object, reading: Mapping[str, Any] | None) -> None:
        if is_files(data):
            from fairtrial._audit.files import Files

            self._files = Files(data, reading)
            self.columns = self._files.columns
            return
        if reading:
            required = f"is for files, and the data are a {type(data).__name__}"
            raise InputError(WHO, Fault("reading", required, cure="leave it out"))
        data = open_table(as_table(data))
        _check_duplicates(data)
        data = named_intervals(data)
        try:
            native = nw.from_native(_frame(data))
        except TypeError:
            required = (
                "must be a dataframe (pandas, Polars, PyArrow, DuckDB, PySpark, Ibis), a Delta table, an Arrow stream, "
                f"a dict of columns, an array of two dimensions, a path or an open file, got {type(data).__name__}"
            )
            raise InputError(WHO, Fault("data", required)) from None
        if isinstance(native, nw.DataFrame) and native.implementation.is_polars():
            self._lazy = native.lazy()
        elif isinstance(native, nw.DataFrame):
            self._eager = native
        else:
            self._lazy = _nan_to_null(native) if native.implementation.is_duckdb() else native
            self.alone = threading.RLock()
            self.ordered = False  # a lazy frame may hold a join or a grouping, which return rows as they come
        self.frame = frame_kind(native)
        schema = native.collect_schema()
        self.columns = tuple(filter(is_name, schema.names()))
        self.orders = {name: _order(dtype) for name, dtype in schema.items() if isinstance(dtype, nw.Enum)}

    def said(self, columns: Iterable[str]) -> list[str]:
        """What was changed when files were read, for some of their columns."""
        return [] if self._files is None else self._files.said(columns)

    def stays_text(self, column: str) -> str:
        """Why a column of a file that mostly holds numbers is not read as numbers, if it is one."""
        return "" if self._files is None else self._files.stays_text(column)

    @property
    def any_column(self) -> str:
        """A column to count rows by: the first whose name is no other's, whatever the case."""
        names = [name.lower() for name in (self.columns if self._files is None else self._files.header)]
        return next((name for name in self.columns if names.count(name.lower()) == 1), self.columns[0])

    def lazy(self, columns: Sequence[str]) -> nw.LazyFrame[Any]:
        """The chosen columns as a lazy frame, run where the data lives."""
        made = [name for name in columns if name in self.derived]
        if not made:
            return self._lazy_own(columns)
        assert self.expression_of is not None
        expressions = [self.expression_of(name).alias(name) for name in made]
        needed = {name for part in made for name in self._made_of(part)}
        own = sorted(needed | (set(columns) - set(made)))
        return self._lazy_own(own).with_columns(*expressions).select(list(columns))

    def _made_of(self, name: str) -> list[str]:
        """The columns behind a derived one, with their labels as written."""
        kinds = self.kinds(self.derived[name])
        return [part for column, kind in kinds.items() for part in (column, self.label_column(column, kind))]

    def derive(self, name: str, made_of: Sequence[str]) -> None:
        """One more column of texts, made of others when it is read."""
        self.derived[name] = tuple(made_of)
        self.columns = (*self.columns, name)

    def once(self, key: tuple[Any, ...], read: Callable[[], Any]) -> Any:
        """What is read of the data and never changes: under its key, which names all that it depends on."""
        if key not in self.found:
            self.found[key] = read()
        return self.found[key]

    @property
    def rows_in_memory(self) -> bool:
        """Whether the rows are at hand in their order, so that a mask can name some of them."""
        return self._files is None and self.ordered

    @property
    def on_cluster(self) -> bool:
        """Whether the rows are in Spark, where they stay."""
        return self._lazy is not None and self._lazy.implementation.is_spark_like()

    def with_count(self, columns: Iterable[str]) -> list[str]:
        """Columns, with the one that says how many rows a line stands for."""
        return [*columns] if self.counted is None else [*dict.fromkeys([*columns, self.counted])]

    @property
    def number_of_rows(self) -> nw.Expr:
        """How many rows the lines are, as an expression."""
        return nw.len() if self.counted is None else nw.col(self.counted).sum()

    def count_rows(self) -> int:
        """All rows."""
        return int(self.once(("rows", self.counted), lambda: self._count(self.number_of_rows)))

    def count_lines(self) -> int:
        """The lines, whatever they stand for."""
        return int(self.once(("rows", None), lambda: self._count(nw.len())))

    def _count(self, number: nw.Expr) -> int:
        frame = self.lazy(self.with_count([self.any_column])).select(number.alias("n"))
        return int(collect(frame)["n"][0].as_py() or 0)

    def fingerprint(self, columns: Iterable[str], *, many: bool) -> Fingerprint:
        """The fingerprint of all values of some columns; of `many` rows the engine hashes them where it can."""
        names = sorted((set(columns) or {self.any_column}) - {self.counted})
        key = ("fingerprint", self.counted, *names)
        return cast(Fingerprint, self.once(key, lambda: self._fingerprint(names, many)))

    def _fingerprint(self, names: Sequence[str], many: bool) -> Fingerprint:
        elsewhere = self._sums_of_hashes(names, many)
        if elsewhere is None:
            batches = self._batches(self.with_count(names))
            return row_fingerprint(names, batches, self.ordered, self.counted is not None)
        (engine, *hashes), in_order = elsewhere
        content = text_fingerprint(engine, names, *hashes)
        return Fingerprint(content, text_fingerprint(content, in_order) if in_order else "")

    def replaced(self, table: Any) -> Source:
        """The same columns with other rows, which are counted and may still be called by their place."""
        other = Source(table)
        other.frame, other.orders, other.counted = self.frame, self.orders, self.counted
        other.found["rows", None] = self.count_lines()
        for name, made_of in self.derived.items():
            other.derive(name, made_of)
        return other

    def add_labels(self, name: str, mask: Any, otherwise: str) -> None:
        """One more column: `name` where the mask holds, `otherwise` where it does not, null where it is null."""
        import pyarrow as pa
        from pyarrow import compute

        texts = compute.if_else(pa.array(mask, type=pa.bool_()), name, otherwise)
        if self._eager is not None:
            self._arrow[name] = texts
        else:
            import polars as pl

            assert self._lazy is not None
            column = pl.Series(name, pl.from_arrow(texts))
            self._lazy = nw.from_native(self._lazy.to_native().with_columns(column))
        self.columns = (*self.columns, name)

    def _lazy_own(self, columns: Sequence[str]) -> nw.LazyFrame[Any]:
        if self._lazy is not None:
            return self._lazy.select(list(columns))
        relation = self._relation(columns) if self._files is None else self._files.relation(columns)
        frame: nw.LazyFrame[Any] = nw.from_native(relation)
        return frame.select(list(columns))

    def label_column(self, name: str, kind: Kind) -> str:
        """Where a column's labels are: beside the numbers in a CSV file, whose labels stay as they are written."""
        written = self._files is not None and self._files.csv and kind == "float"
        if not written:
            return name
        from fairtrial._audit.files import AS_WRITTEN

        return name + AS_WRITTEN

    def _relation(self, columns: Sequence[str]) -> Any:
        """In-memory columns as a DuckDB relation; each is converted once."""
        return connect().from_arrow(self._table(columns))

    def _table(self, columns: Sequence[str]) -> Any:
        import pyarrow as pa

        assert self._eager is not None
        _check_case(columns)
        for name in columns:
            if name not in self._arrow:
                self._arrow[name] = arrow_column(self._eager, name)
        return pa.table({name: self._arrow[name] for name in columns})

    def first(self, name: str, rows: int) -> Any:
        """A column's first values where the rows are in memory as they are; None where a query must fetch them."""
        if self._eager is None or name in self.derived:
            return None
        return self._table([name]).column(0).slice(0, rows).combine_chunks()

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """The chosen columns as Arrow, a part of the rows at a time."""
        if self._eager is not None and not set(columns) & set(self.derived):
            yield from self._table(columns).to_batches(max_chunksize=BATCH)
            return
        frame = self.lazy(columns)
        if frame.implementation.is_duckdb():
            with self.alone, reading():
                yield from _reader(frame.to_native())
        elif frame.implementation.is_ibis():
            with self.alone:
                yield from frame.to_native().to_pyarrow_batches(chunk_size=BATCH)
        else:
            yield from frame.collect("pyarrow").to_native().to_batches(max_chunksize=BATCH)

    def _sums_of_hashes(self, columns: Sequence[str], many: bool) -> tuple[list[str], str] | None:
        """Sums of the hashes that the engine makes of the rows, whatever their order, and one of them in their order.

        In Spark, whose rows cannot be fetched, and in DuckDB where there are many; else None.
        """
        if self.on_cluster:
            return self._hashed_by_spark(columns), ""
        frame = self.lazy(self.with_count(columns)) if many else None
        if frame is None or not frame.implementation.is_duckdb():
            return None
        quoted = ", ".join(map(quote, columns))
        place = "row_number() OVER ()" if self.ordered else "0"
        n, rows = (
            ("", "count(*)") if self.counted is None else (f"{quote(self.counted)}::hugeint * ", "sum(n)")
        )
        with self.alone, reading():
            hashed = frame.to_native().project(f"hash({quoted}) AS h, {place} AS place, {n}1 AS n")
            times = "n * " if n else ""
            sums = ", ".join(f"sum({times}{one})" for one in ("h", "hash(h)", "hash(h, place)"))
            answer = hashed.aggregate(f"{rows}, {sums}").fetchall()[0]
        *content, in_order = (str(value) for value in answer)
        return ["duckdb", *content], in_order if self.ordered else ""

    def _hashed_by_spark(self, columns: Sequence[str]) -> list[str]:
        from pyspark.sql import functions as spark

        quoted = [spark.col("`" + name.replace("`", "``") + "`") for name in columns]
        rows = (
            spark.lit(1) if self.counted is None else spark.col("`" + self.counted.replace("`", "``") + "`")
        )
        rows = rows.cast("decimal(18,0)")
        hashes = [spark.xxhash64(spark.lit(salt), *quoted).cast("decimal(20,0)") for salt in (1, 2)]
        sums = [
            spark.sum(part).cast("decimal(38,0)").cast("string")
            for part in (rows, *(rows * one for one in hashes))
        ]
        answer = self.lazy(self.with_count(columns)).to_native().select(*sums).collect()
        return ["spark", *(str(value) for value in answer[0])]

    def kinds(self, columns: Sequence[str]) -> dict[str, Kind]:
        """What each column holds."""
        own = [name for name in columns if name not in self.derived]
        found: dict[str, Kind] = dict.fromkeys(self.derived, "text")
        if own and self._eager is not None:
            schema = nw.from_native(self._table(own)).schema
            found.update({name: _kind(schema[name]) for name in own})
        elif own:
            schema = self._lazy_own(own).collect_schema()
            found.update({name: _kind(dtype) for name, dtype in schema.items()})
        return {name: found[name] for name in columns}

    def categories(self, name: str) -> tuple[str, ...]:
        """The values of an ordered category, in their order; nothing where the column is none."""
        frame = self._eager if self._eager is not None else self._lazy
        dtype = None if frame is None else frame.collect_schema().get(name)
        return tuple(dtype.categories) if isinstance(dtype, nw.Enum) else ()


def _frame(data: Any) -> Any:
    """What narwhals knows, as it is; anything else as a table where it gives its rows as an Arrow stream."""
    known = isinstance(nw.from_native(data, pass_through=True), nw.DataFrame | nw.LazyFrame)
    return data if known else streamed(data)


def with_hash(frame: nw.LazyFrame[Any], columns: Sequence[str], name: str) -> nw.LazyFrame[Any] | None:
    """The frame with one more column, DuckDB's hash of some others; None where another engine has it."""
    if not frame.implementation.is_duckdb():
        return None
    quoted = ", ".join(map(quote, columns))
    hashed: nw.LazyFrame[Any] = nw.from_native(frame.to_native().project(f'*, hash({quoted}) AS "{name}"'))
    return hashed


def _reader(relation: Any) -> Any:
    """The relation's rows in parts; DuckDB has renamed the call."""
    named = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    return named(BATCH)


def _check_duplicates(data: object) -> None:
    if hasattr(data, "collect_schema"):
        return  # Polars has no duplicates, and asking a lazy frame for its columns costs
    names = [str(name) for name in getattr(data, "column_names", getattr(data, "columns", []))]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        required = f"has duplicated columns: {', '.join(map(repr, twice))}; rename them"
        raise InputError(WHO, Fault("data", required))


def _nan_to_null(relation: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """On a caller's DuckDB, isnan() of a Parquet column may be taken for always false; of exp() it never is."""
    floats = [name for name, dtype in relation.collect_schema().items() if dtype.is_float()]
    cleaned = [nw.when(~nw.col(name).exp().is_nan()).then(nw.col(name)).alias(name) for name in floats]
    return relation.with_columns(*cleaned) if cleaned else relation


def _check_case(names: Sequence[str]) -> None:
    """DuckDB does not tell such columns apart."""
    folded: dict[str, str] = {}
    for name in names:
        other = folded.setdefault(name.lower(), name)
        if other != name:
            subject = f"the columns {other!r} and {name!r}"
            required = "differ only in case and are used together; rename one"
            raise InputError(WHO, Fault("data", required, subject=subject))


def _order(dtype: nw.Enum) -> tuple[str, ...]:
    return tuple(canonical(category) for category in dtype.categories)


UNFIT = (nw.List, nw.Array, nw.Struct, nw.Object, nw.Duration, nw.Int128, nw.UInt128)


def _kind(dtype: nw.dtypes.DType) -> Kind:
    if isinstance(dtype, UNFIT):
        return "unfit"
    if dtype == nw.Boolean:
        return "bool"
    if dtype.is_integer():
        return "int"
    if dtype.is_float() or dtype.is_decimal():
        return "float"
    return "text" if dtype in (nw.String, nw.Categorical) or isinstance(dtype, nw.Enum) else "other"


def count_alike(rows: nw.LazyFrame[Any], columns: Sequence[str]) -> Counted | None:
    """The distinct rows with how often each is there; None where hardly any are alike."""
    distinct = rows.head(TRIED).unique().select(nw.len()).collect().item()
    if distinct > TRIED // 2:
        return None
    table = rows.group_by(*columns).agg(nw.len().alias(COUNT)).collect("pyarrow").to_native()
    return Counted(table, COUNT) if len(table) <= MOST_LINES else None
