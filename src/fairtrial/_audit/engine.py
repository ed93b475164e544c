"""Database engines: DuckDB's connection and its errors, answers as arrays, tables of databases, lakes and Spark."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairtrial._errors import Fault, InputError
from fairtrial._labels import MISSING, canonical
from fairtrial._work.extras import installing, packages

WHO = "Audit"
UNREADABLE = "open it in what wrote it and save it again"
_one_database = threading.Lock()


@cache
def _database() -> Any:
    import duckdb

    connection = duckdb.connect(
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    )
    # Parquet's statistics leave NaN out, and this optimizer then takes isnan() for always false.
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    return connection


def connect() -> Any:
    """A connection to an in-memory DuckDB of our own that never downloads an extension."""
    with _one_database:
        return _database().cursor()


def quote(name: str) -> str:
    """A column's or a table's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


# What DuckDB says of a query that is wrong itself, and of sums beyond all numbers, which the query looks after.
_NOT_OF_DATA = (
    "BinderException",
    "CatalogException",
    "ParserException",
    "SyntaxException",
    "OutOfRangeException",
)


def _of_the_data(error: Exception) -> bool:
    """Whether an error of DuckDB is about what it reads: a damaged file has many."""
    return "duckdb" in type(error).__module__ and type(error).__name__ not in _NOT_OF_DATA


def check_interrupted(error: Exception) -> None:
    """Ctrl-C during a query of DuckDB ends it with an error of its own; it is Ctrl-C all the same."""
    if isinstance(error, RuntimeError) and str(error) == "Query interrupted":
        raise KeyboardInterrupt from None


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """What DuckDB has against the data, as a fault."""
    try:
        yield
    except Exception as error:
        check_interrupted(error)
        if not _of_the_data(error):
            raise
        raise InputError(
            WHO, Fault("data", f"cannot be read: {str(error).splitlines()[0]}", cure=UNREADABLE)
        ) from None


def collect(frame: nw.LazyFrame[Any]) -> dict[str, Any]:
    """Run the query; columns as PyArrow arrays."""
    with reading():
        table = frame.collect("pyarrow").to_native()
    return {name: table.column(name).combine_chunks() for name in table.column_names}


# -- answers as arrays
def read_ints(column: Any) -> NDArray[np.int64]:
    """Counts, zero where there is none."""
    values: NDArray[Any] = np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False))
    return values.astype(np.int64)


def read_hashes(column: Any) -> NDArray[np.uint64]:
    """Sums of hashes, of any size, as their last 64 bits."""
    return np.array([int(value or 0) % 2**64 for value in column.to_pylist()], dtype=np.uint64)


def read_floats(column: Any) -> NDArray[np.float64]:
    """Numbers, NaN where there is none."""
    import pyarrow as pa

    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


# -- databases, lakes and Spark
def open_table(data: Any) -> Any:
    """A Delta table or an Arrow dataset as a relation of DuckDB, which reads it in parts; anything else as it is."""
    module, kind = type(data).__module__.split(".")[0], type(data).__name__
    if module == "deltalake" and kind == "DeltaTable":
        data = data.to_pyarrow_dataset()
        module = "pyarrow"
    if module == "pyarrow" and hasattr(data, "scanner"):
        return connect().from_arrow(data)
    if kind == "DuckDBPyConnection":
        return _only_table(data)
    if kind in ("Connection", "SparkSession") or module in ("sqlalchemy", "psycopg"):
        required = f"must be a table, and a {module} {kind} is a connection"
        raise InputError(WHO, Fault("data", required, cure=_cure(module)))
    return data


def _only_table(connection: Any) -> Any:
    """The one table or view of a DuckDB connection; of several nobody knows which is meant."""
    names = [name for (name,) in connection.sql("show tables").fetchall()]
    if len(names) == 1:
        return connection.table(quote(names[0]))
    listed = ", ".join(map(repr, names[:10])) or "none"
    required = f"must be a table, and a DuckDB connection holds {len(names)}: {listed}"
    cure = "Give a relation of it: connection.table('loans'), or connection.sql('select …')"
    raise InputError(WHO, Fault("data", required, cure=cure))


def _cure(module: str) -> str:
    if module == "pyspark":
        return "Give a dataframe of it: spark.table('loans'), or spark.sql('select …')"
    return "Give an Ibis table of it, such as ibis.postgres.connect(…).table('loans')"


def repeated_in_spark(frame: nw.LazyFrame[Any], column: str) -> nw.LazyFrame[Any]:
    """Spark's rows, each as often as a column says."""
    from pyspark.sql import functions as spark

    native: Any = frame.to_native()
    times = spark.array_repeat(spark.lit(1), spark.col("`" + column.replace("`", "``") + "`").cast("int"))
    repeated: nw.LazyFrame[Any] = nw.from_native(native.withColumn(column, spark.explode(times)))
    return repeated


def spark_frame(
    who: str, *, table: str | None = None, path: str | None = None, sql: str | None = None
) -> Any:
    """A lazy Spark dataframe; the session is the active one, or is made as spark-submit and SPARK_REMOTE say."""
    if importlib.util.find_spec("pyspark") is None:
        raise InputError(who, Fault("engine", "'spark' needs PySpark", cure=installing(packages("spark"))))
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    session = SparkSession.builder.appName("fairtrial").getOrCreate()
    try:
        if table is not None:
            frame = session.table(table)
        elif sql is not None:
            frame = session.sql(sql)
        elif str(path).lower().endswith((".csv", ".csv.gz")):
            frame = session.read.csv(str(path), header=True, inferSchema=False)
        else:
            frame = session.read.load(str(path))  # Parquet, unless the session says otherwise
        frame.schema  # noqa: B018 - Spark Connect finds faults only when it is asked
    except PySparkException as error:
        place = "table" if table is not None else "sql" if sql is not None else "source"
        required = f"cannot be read by Spark: {str(error).splitlines()[0]}"
        raise InputError(
            who, Fault(place, required, cure="Check its name, and that this session may read it")
        ) from None
    return frame


# -- Fingerprints of columns, values included: the same on every engine that hands its rows over as Arrow.
# Spark, and DuckDB where there are very many rows, sum up hashes of their own: handing the rows over
# takes longer than all the rest of a question. DuckDB may change its hash from one release to the next;
# the rows then count as others. Each row becomes one number, which depends on the value of every column;
# sums of these numbers do not depend on the order of the rows, and a second sum does. A number has one
# form whatever its type is, a label its canonical text. They tell data apart that differ by accident;
# whoever must be sure of a file's bytes has the run's SHA-256 of them.

Words = NDArray[np.uint64]
_EXACT = 2**53  # up to here a whole number and the float that is equal to it are one
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]+)?")


class Fingerprint(NamedTuple):
    """Of the rows whatever their order, and of the rows as they follow one another."""

    content: str
    order: str


def row_fingerprint(
    names: Sequence[str], batches: Iterable[Any], ordered: bool, counted: bool = False
) -> Fingerprint:
    """The fingerprint of all values of some columns, from their rows as Arrow; `ordered` where their order is told.

    Where one more column has `counted` the people of each row, the fingerprint is that of the people, one row each;
    the order stays that of the rows.
    """
    rows, people, sums = 0, 0, np.zeros(3, dtype=np.uint64)
    for batch in batches:
        times = _whole(batch.column(len(names))) if counted else np.ones(batch.num_rows, dtype=np.uint64)
        row = np.zeros(batch.num_rows, dtype=np.uint64)
        for place in range(len(names)):
            row = _mixed(row + _mixed(_words(batch.column(place)) + np.uint64(place + 1)))
        places = np.arange(rows, rows + batch.num_rows, dtype=np.uint64)
        numbers = (row, _mixed(row ^ np.uint64(0x9E3779B97F4A7C15)), _mixed(row + _mixed(places)))
        sums += np.array([(times * part).sum() for part in numbers])
        rows += batch.num_rows
        people += int(times.sum())
    one, other, in_order = (int(total) for total in sums)
    content = text_fingerprint("rows", names, people, one, other)
    return Fingerprint(content, text_fingerprint(content, in_order) if ordered else "")


def _whole(column: Any) -> Words:
    """Counts, whatever their type is."""
    return np.asarray(_as_floats(column.cast("float64"))).astype(np.uint64)


def text_fingerprint(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _mixed(words: Words) -> Words:
    """Every bit of a word in every bit of the result (the last steps of splitmix64)."""
    mixed: Words = words ^ (words >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _words(column: Any) -> Words:
    """One word per value."""
    import pyarrow.types as kinds

    kind = column.type
    if kinds.is_floating(kind) or kinds.is_decimal(kind):
        return _float_words(_as_floats(column))
    if kinds.is_integer(kind):
        return _integer_words(column)
    return _label_words(column)


def _as_floats(column: Any) -> NDArray[np.float64]:
    import pyarrow as pa

    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _float_words(values: NDArray[np.float64]) -> Words:
    words = (values + 0.0).view(np.uint64)  # −0 is 0
    return np.where(np.isnan(values), _label_word(MISSING), words)


def _integer_words(column: Any) -> Words:
    whole = np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False))
    words = whole.astype(np.float64).view(np.uint64)
    if whole.size and (int(whole.max()) > _EXACT or int(whole.min()) < -_EXACT):
        large = (whole > _EXACT) | (whole < -_EXACT)
        words = np.where(large, _mixed(whole.astype(np.uint64)), words)
    absent = np.asarray(column.is_null().to_numpy(zero_copy_only=False))
    return np.where(absent, _label_word(MISSING), words) if absent.any() else words


def _label_words(column: Any) -> Words:
    """Labels by their canonical text, each worked out once."""
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        return np.array([_label_word(str(value)) for value in column.to_pylist()], dtype=np.uint64)
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    labels = encoded.dictionary.to_pylist()
    words = np.array([*(_label_word(canonical(label)) for label in labels), _label_word(MISSING)], np.uint64)
    places = encoded.indices.fill_null(len(labels))
    return words[np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)]


def _label_word(text: str) -> np.uint64:
    """A text that is just how a number is written is that number: files do not tell the two apart."""
    if _NUMBER.fullmatch(text) and canonical(float(text)) == text:
        return np.float64(text).view(np.uint64)
    return np.uint64(
        int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())
    )
