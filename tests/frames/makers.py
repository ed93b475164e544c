"""One table in every form an Audit takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Columns = dict[str, list[Any]]


def pandas(columns: Columns, folder: Path) -> Any:
    import pandas as pd

    return pd.DataFrame(columns)


def pandas_categorical(columns: Columns, folder: Path) -> Any:
    frame = pandas(columns, folder)
    return frame.astype({name: "category" for name in frame if isinstance(columns[name][0], str)})


def pandas_nullable(columns: Columns, folder: Path) -> Any:
    return pandas(columns, folder).convert_dtypes()


def pandas_object(columns: Columns, folder: Path) -> Any:
    return pandas(columns, folder).astype(object)


def polars(columns: Columns, folder: Path) -> Any:
    import polars as pl

    return pl.DataFrame(columns)


def polars_categorical(columns: Columns, folder: Path) -> Any:
    import polars as pl

    return polars(columns, folder).with_columns(pl.col(pl.String).cast(pl.Categorical))


def polars_lazy(columns: Columns, folder: Path) -> Any:
    return polars(columns, folder).lazy()


def polars_lazy_categorical(columns: Columns, folder: Path) -> Any:
    return polars_categorical(columns, folder).lazy()


def pyarrow(columns: Columns, folder: Path) -> Any:
    import pyarrow as pa

    return pa.table(columns)


_CONNECTIONS: list[Any] = []  # before DuckDB 1.5 a relation does not keep its connection open


def duckdb(columns: Columns, folder: Path) -> Any:
    import duckdb as library

    connection = library.connect()
    _CONNECTIONS.append(connection)
    return connection.from_arrow(pyarrow(columns, folder))


def csv(columns: Columns, folder: Path) -> Any:
    path = folder / "people, all.csv"
    pandas(columns, folder).to_csv(path, index=False)
    return path


def csv_glob(columns: Columns, folder: Path) -> Any:
    """Two files, the second with its columns in reverse order."""
    frame = pandas(columns, folder)
    half = len(frame) // 2
    frame.iloc[:half].to_csv(folder / "part-1.csv", index=False)
    frame.iloc[half:, ::-1].to_csv(folder / "part-2.csv", index=False)
    return str(folder / "part-*.csv")


def parquet(columns: Columns, folder: Path) -> Any:
    from pyarrow import parquet as library

    path = folder / "people.parquet"
    library.write_table(pyarrow(columns, folder), path)
    return path


MAKERS: dict[str, Callable[[Columns, Path], Any]] = {
    "pandas": pandas,
    "pandas-categorical": pandas_categorical,
    "pandas-nullable": pandas_nullable,
    "pandas-object": pandas_object,
    "polars": polars,
    "polars-categorical": polars_categorical,
    "polars-lazy": polars_lazy,
    "polars-lazy-categorical": polars_lazy_categorical,
    "pyarrow": pyarrow,
    "duckdb": duckdb,
    "csv": csv,
    "csv-glob": csv_glob,
    "parquet": parquet,
}
# Spark is asked for by its fixture only where it is used, so that the other kinds run without Java.
KINDS = [*MAKERS, pytest.param("spark", marks=pytest.mark.spark)]


def make(kind: str, columns: Columns, folder: Path, request: pytest.FixtureRequest) -> Any:
    """The table as the asked kind."""
    if kind == "spark":
        return request.getfixturevalue("spark").read.parquet(str(parquet(columns, folder)))
    return MAKERS[kind](columns, folder)
