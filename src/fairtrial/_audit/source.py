"""The only file that knows dataframe libraries: any source in, one lazy narwhals frame out."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import narwhals as nw
import numpy as np

from fairtrial._audit.counted import Counted
from fairtrial._audit.databases import arrow_batches, opened
from fairtrial._audit.odd_kinds import is_name, named_intervals, no_text, readable
from fairtrial._errors import Fault, InputError, Set, Words

Frame = Literal["pandas", "polars", "pyarrow"]
Kind = Literal["bool", "int", "float", "text", "other", "unfit"]
WHO = "Audit"
UNREADABLE = "open it in what wrote it and save it again as CSV or Parquet"
BATCH = 1 << 18  # rows that are looked at together


class Source:
    """A table wherever it lives. In-memory frames and files are queried through DuckDB, lazy ones in place."""

    def __init__(self, data: object) -> None:
        self._files: Any = None
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
        self._open(data.table if isinstance(data, Counted) else data)
        if isinstance(data, Counted):
            self.columns = tuple(str(name) for name in data.table.column_names if name != data.column)

    def _open(self, data: object) -> None:
        if isinstance(data, str | os.PathLike):
            from fairtrial._audit.files import Files

            self._files = Files(data)
            self.columns = self._files.columns
            return
        data = opened(as_table(data))
        _check_duplicates(data)
        data = named_intervals(data)
        try:
            native = nw.from_native(data)  # type: ignore[call-overload]
        except TypeError:
            required = (
                "must be a dataframe (pandas, Polars, PyArrow, DuckDB, PySpark, Ibis), a Delta table, a dict of "
                f"columns, an array of two dimensions or a path of CSV or Parquet files, got {type(data).__name__}"
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
        self.frame = _frame_kind(native)
        schema = native.collect_schema()
        self.columns = tuple(filter(is_name, schema.names()))
        self.orders = {name: _order(dtype) for name, dtype in schema.items() if isinstance(dtype, nw.Enum)}

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

    @property
    def rows_in_memory(self) -> bool:
        """Whether the rows are at hand in their order, so that a mask can name some of them."""
        return self._files is None and self.ordered

    @property
    def on_cluster(self) -> bool:
        """Whether the rows are in Spark, where they stay."""
        return self._lazy is not None and self._lazy.implementation.is_spark_like()

    def count(self) -> int:
        """The number of rows in memory."""
        if self._eager is not None:
            return len(self._eager)
        return int(self._lazy_own([self.columns[0]]).select(nw.len()).collect().item())

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
        from fairtrial._audit.files import AS_WRITTEN

        written = self._files is not None and self._files.csv and kind == "float"
        return name + AS_WRITTEN if written else name

    def _relation(self, columns: Sequence[str]) -> Any:
        """In-memory columns as a DuckDB relation; each is converted once."""
        from fairtrial._audit.files import connect

        return connect().from_arrow(self._table(columns))

    def _table(self, columns: Sequence[str]) -> Any:
        import pyarrow as pa

        assert self._eager is not None
        _check_case(columns)
        for name in columns:
            if name not in self._arrow:
                self._arrow[name] = _arrow_column(self._eager, name)
        return pa.table({name: self._arrow[name] for name in columns})

    def first(self, name: str, rows: int) -> Any:
        """A column's first values where the rows are in memory as they are; None where a query must fetch them."""
        if self._eager is None or name in self.derived:
            return None
        return self._table([name]).column(0).slice(0, rows).combine_chunks()

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
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
                yield from arrow_batches(frame.to_native(), BATCH)
        else:
            yield from frame.collect("pyarrow").to_native().to_batches(max_chunksize=BATCH)

    def sums_of_hashes(self, columns: Sequence[str], many: bool) -> tuple[list[str], str] | None:
        """Sums of the hashes that the engine makes of the rows, whatever their order, and one of them in their order.

        In Spark, whose rows cannot be fetched, and in DuckDB where there are many; else None.
        """
        if self.on_cluster:
            return self._hashed_by_spark(columns), ""
        frame = self.lazy(columns) if many else None
        if frame is None or not frame.implementation.is_duckdb():
            return None
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        place = "row_number() OVER ()" if self.ordered else "0"
        with self.alone, reading():
            hashed = frame.to_native().project(f"hash({quoted}) AS h, {place} AS place")
            answer = hashed.aggregate("count(*), sum(h), sum(hash(h)), sum(hash(h, place))").fetchall()[0]
        *content, in_order = (str(value) for value in answer)
        return ["duckdb", *content], in_order if self.ordered else ""

    def _hashed_by_spark(self, columns: Sequence[str]) -> list[str]:
        from pyspark.sql import functions as spark

        quoted = [spark.col("`" + name.replace("`", "``") + "`") for name in columns]
        sums = [
            spark.sum(spark.xxhash64(spark.lit(salt), *quoted).cast("decimal(38,0)")).cast("string")
            for salt in (1, 2)
        ]
        answer = (
            self.lazy(columns).to_native().select(spark.count(spark.lit(1)).cast("string"), *sums).collect()
        )
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


def as_table(data: object) -> object:
    """A dict of columns, a list of dicts or an array as a PyArrow table; anything else as it is.

    Columns of an array without names are called by their place: "0", "1", ….
    """
    if isinstance(data, np.ndarray):
        data = _array_columns(data)
    if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        names = dict.fromkeys(key for row in data for key in row)
        data = {str(name): [row.get(name) for row in data] for name in names}
    if not isinstance(data, Mapping):
        return data
    import pyarrow as pa

    columns = {str(name): np.asarray(column, dtype=object).tolist() if isinstance(column, list | tuple) else column
               for name, column in data.items()}  # fmt: skip
    if not columns:
        raise InputError(
            WHO, Fault("data", "has no columns", cure="give a table with a column for each role")
        )
    lengths = {name: len(column) if hasattr(column, "__len__") else None for name, column in columns.items()}
    if None in lengths.values() or len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r}: {length or 'no list'}" for name, length in list(lengths.items())[:6])
        raise InputError(
            WHO, Fault("data", f"must have one value per row in each column, got lengths {shown}")
        )
    return pa.table({name: _array(name, column) for name, column in columns.items() if is_name(name)})


def _array_columns(data: Any) -> object:
    if data.dtype.names:
        return {name: data[name] for name in data.dtype.names}
    return {str(place): data[:, place] for place in range(data.shape[1])} if data.ndim == 2 else data


def _array(name: str, column: Any) -> Any:
    """One column of a dict; values of several kinds become texts, as in a CSV file."""
    import pyarrow as pa

    from fairtrial._labels import canonical, is_missing

    column = _fit_array(name, column)
    for kind in (None, pa.uint64()):  # whole numbers above those that have a sign
        try:
            return pa.array(column, type=kind, from_pandas=True)
        except UnicodeEncodeError:
            raise no_text(WHO, name) from None
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            break
        except OverflowError:
            continue
    return pa.array([None if is_missing(value) else canonical(value) for value in column], type=pa.string())


def _fit_array(name: str, column: Any) -> Any:
    """An array of a kind that Arrow has; complex numbers are no values of people."""
    kind = getattr(column, "dtype", None)
    if getattr(kind, "kind", "") == "c":
        required = "holds complex numbers, which are neither numbers nor labels here"
        raise InputError(
            WHO,
            Fault(
                "data",
                required,
                subject=repr(name),
                cure="take their real part or their size, or leave the column out",
            ),
        )
    if getattr(kind, "kind", "") == "m":
        return np.asarray(column).astype("timedelta64[us]")
    wide = getattr(kind, "kind", "") == "f" and getattr(kind, "itemsize", 8) > 8
    return np.asarray(column, dtype=np.float64) if wide else column


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """What DuckDB has against the data, as a fault."""
    try:
        yield
    except Exception as error:
        from fairtrial._audit.files import check_interrupted, of_the_data

        check_interrupted(error)
        if not of_the_data(error):
            raise
        raise InputError(
            WHO, Fault("data", f"cannot be read: {str(error).splitlines()[0]}", cure=UNREADABLE)
        ) from None


def is_frame(data: object) -> bool:
    """Whether this is a dataframe in memory."""
    return isinstance(nw.from_native(data, pass_through=True), nw.DataFrame)


def series_kind(values: object) -> Frame | None:
    """The kind of library a series comes from; None where it is no series."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    return _frame_kind(series.to_frame()) if isinstance(series, nw.Series) else None


def arrow_of(name: str, values: Any) -> Any:
    """An array, a list or a series as one Arrow array."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _arrow_column(series.alias("values").to_frame(), "values").combine_chunks()
    return _array(name, values)


def with_hash(frame: nw.LazyFrame[Any], columns: Sequence[str], name: str) -> nw.LazyFrame[Any] | None:
    """The frame with one more column, DuckDB's hash of some others; None where another engine has it."""
    if not frame.implementation.is_duckdb():
        return None
    quoted = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
    hashed: nw.LazyFrame[Any] = nw.from_native(frame.to_native().project(f'*, hash({quoted}) AS "{name}"'))
    return hashed


def collect(frame: nw.LazyFrame[Any]) -> dict[str, Any]:
    """Run the query; columns as PyArrow arrays."""
    with reading():
        table = frame.collect("pyarrow").to_native()
    return {name: table.column(name).combine_chunks() for name in table.column_names}


def _reader(relation: Any) -> Any:
    """The relation's rows in parts; DuckDB has renamed the call."""
    named = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    return named(BATCH)


def to_native(table: Mapping[str, Sequence[Any]], backend: str, kinds: Mapping[str, str]) -> Any:
    """A dict of columns as a dataframe of the asked kind; undefined values are null.

    `kinds` says what each column holds ("text", "state", "count", "people", "flag", else numbers), in their order.
    """
    import pyarrow as pa

    if backend not in ("pandas", "polars", "pyarrow"):
        fault = Fault("backend", "must be 'pandas', 'polars' or 'pyarrow'", got=backend)
        raise InputError("to_frame", fault)
    types = {"flag": pa.bool_()}
    types |= dict.fromkeys(("text", "state"), pa.string()) | dict.fromkeys(("count", "people"), pa.int64())
    arrays = {name: pa.array(table[name], type=types.get(kind, pa.float64())) for name, kind in kinds.items()}
    return from_arrow(pa.table(arrays), backend)


def from_arrow(table: Any, backend: str) -> Any:
    """A PyArrow table as the asked kind of frame."""
    if backend == "pandas":
        _require("pandas")
        return table.to_pandas()
    if backend == "polars":
        _require("polars")
        import polars as pl

        return pl.from_arrow(table)
    return table


def frame_for_estimators(table: Any, frame: Frame) -> Any:
    """A frame scikit-learn takes: the caller's kind, or pandas or Polars where one is installed."""
    if frame != "pyarrow":
        return from_arrow(table, frame)
    for backend in ("pandas", "polars"):
        if importlib.util.find_spec(backend):
            return from_arrow(table, backend)
    return np.column_stack([np.asarray(column.to_pylist(), dtype=object) for column in table.columns])


def _require(backend: str) -> None:
    if importlib.util.find_spec(backend) is None:
        cure = Words(f"use {{}} or install {backend}", Set("backend", "pyarrow"))
        raise InputError("to_frame", Fault("backend", "is not installed", subject=backend, cure=cure))


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
    from fairtrial._labels import canonical

    return tuple(canonical(category) for category in dtype.categories)


def _frame_kind(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> Frame:
    if frame.implementation.is_pandas():
        return "pandas"
    return "polars" if frame.implementation.is_polars() else "pyarrow"


def _arrow_column(frame: nw.DataFrame[Any], name: str) -> Any:
    """One column as Arrow; a pandas column of mixed Python objects becomes text."""
    import pyarrow as pa

    try:
        return readable(frame.select(name).to_arrow().column(name))
    except pa.ArrowNotImplementedError:
        return _array(name, frame.get_column(name).to_numpy())
    except UnicodeEncodeError:
        raise no_text(WHO, name) from None
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError):
        from fairtrial._labels import canonical, is_missing

        texts: list[str | None] = []
        first: dict[str, Any] = {}
        for value in frame.get_column(name).to_list():
            text = None if is_missing(value) else canonical(value)
            texts.append(text)
            if text is not None and first.setdefault(text, value) != value:
                required = (
                    f"has the labels {first[text]!r} and {value!r}, which are one label here; make them one"
                )
                raise InputError(WHO, Fault("data", required, subject=repr(name))) from None
        return pa.array(texts, type=pa.string())


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
