"""Parquet files through DuckDB: their columns as they are written, and scans of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from fairtrial._audit.engine import WHO, connect
from fairtrial._audit.files.headers import check_names, file_fault, unreadable
from fairtrial._errors import InputError

SAID = "fairtrial_read"  # what was changed in a copy of a file


def parquet_scan(paths: list[str]) -> str:
    """The files as one table."""
    parted = ", hive_partitioning=true, hive_types_autocast=false" if partitions(paths) else ""
    return f"read_parquet([{', '.join(map(literal, paths))}], union_by_name=true{parted})"


def read_said(path: str) -> dict[str, Any]:
    """What is said in a copy of our own of what was changed when its rows were read."""
    import duckdb

    query = f"SELECT decode(value) FROM parquet_kv_metadata({literal(path)}) WHERE decode(key) = '{SAID}'"
    try:
        found = connect().execute(query).fetchone()
        told = json.loads(found[0]) if found else {}
    except (duckdb.Error, ValueError):
        told = {}
    if not isinstance(told, dict):
        return {}
    lines, columns = told.get("file", []), told.get("columns", {})
    return {
        "file": [line for line in lines if isinstance(line, str)],
        "columns": {name: said for name, said in columns.items() if isinstance(said, str)},
    }


def partitions(paths: list[str]) -> tuple[str, ...]:
    """Columns that the names of folders hold, year=2026/month=11, where all files lie in such folders.

    Their values are labels, as they are written there.
    """
    folders = [[part.split("=", 1) for part in Path(path).parts[:-1]] for path in paths]
    keys = [tuple(part[0] for part in parts if len(part) == 2 and part[0]) for parts in folders]
    return keys[0] if len(set(keys)) == 1 else ()


def parquet_columns(connection: Any, paths: list[str]) -> dict[str, list[str]]:
    """The columns of each file."""
    import duckdb

    try:
        # The schema as written: the scan itself renames a column whose name another has too.
        columns = {path: _written_columns(connection, path) for path in paths}
    except duckdb.Error as error:
        raise unreadable(paths[0], first_lines(error)) from None
    for path, names in columns.items():
        check_names(path, names)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:  # the scan would rename the second one and say nothing
            raise InputError(WHO, file_fault(f"{path}: the header", f"has {twice!r} twice; rename one"))
    return columns


def _written_columns(connection: Any, path: str) -> list[str]:
    """Names of the top level: a depth-first listing in which each element tells how many lie below it."""
    rows = connection.execute(f"SELECT name, num_children FROM parquet_schema({literal(path)})").fetchall()
    names, position = [], 1
    while position < len(rows):
        names.append(str(rows[position][0]))
        below = 1
        while below:
            below += (rows[position][1] or 0) - 1
            position += 1
    return names


def first_lines(error: Exception) -> str:
    """What DuckDB found, without its hints to switch the checks off."""
    lines = []
    for line in str(error).splitlines():
        if line.startswith(("Possible", "*")):
            break
        if line.strip():
            lines.append(line.strip())
    return "; ".join(lines[:4])


def literal(path: str) -> str:
    """A path that DuckDB takes as it is written, not as a pattern."""
    return text(re.sub(r"([*?\[])", r"[\1]", path))


def text(value: object) -> str:
    """A text in SQL."""
    return "'" + str(value).replace("'", "''") + "'"
