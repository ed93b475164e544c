"""Tables of databases and lakes: what is read in place, what is read as Arrow in parts, and what names no table."""

from __future__ import annotations

from typing import Any

from fairtrial._errors import Fault, InputError

WHO = "Audit"


def opened(data: Any) -> Any:
    """A Delta table or an Arrow dataset as a relation of DuckDB, which reads it in parts; anything else as it is."""
    module, kind = type(data).__module__.split(".")[0], type(data).__name__
    if module == "deltalake" and kind == "DeltaTable":
        data = data.to_pyarrow_dataset()
        module = "pyarrow"
    if module == "pyarrow" and hasattr(data, "scanner"):
        from fairtrial._audit.files import connect

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
        return connection.table('"' + names[0].replace('"', '""') + '"')
    listed = ", ".join(map(repr, names[:10])) or "none"
    required = f"must be a table, and a DuckDB connection holds {len(names)}: {listed}"
    cure = "Give a relation of it: connection.table('loans'), or connection.sql('select …')"
    raise InputError(WHO, Fault("data", required, cure=cure))


def _cure(module: str) -> str:
    if module == "pyspark":
        return "Give a dataframe of it: spark.table('loans'), or spark.sql('select …')"
    return "Give an Ibis table of it, such as ibis.postgres.connect(…).table('loans')"


def arrow_batches(native: Any, size: int) -> Any:
    """An Ibis table's rows as Arrow, a part at a time."""
    return native.to_pyarrow_batches(chunk_size=size)
