"""A table of Spark by its name, a path or a query, in the session that is there: classic or Spark Connect."""

from __future__ import annotations

import importlib.util
from typing import Any

from fairtrial._errors import Fault, InputError


def spark_frame(
    who: str, *, table: str | None = None, path: str | None = None, sql: str | None = None
) -> Any:
    """A lazy Spark dataframe; the session is the active one, or is made as spark-submit and SPARK_REMOTE say."""
    if importlib.util.find_spec("pyspark") is None:
        raise InputError(who, Fault("engine", "'spark' needs PySpark", cure="Install fairtrial[spark]"))
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
