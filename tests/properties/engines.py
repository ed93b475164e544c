"""The same call on every engine: the same answer or the same fault."""

from __future__ import annotations

import math
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fairtrial
from properties.odd_calls import Call, draw_call
from properties.random_tables import FRAMES, Table, as_arrow, draw_table
from properties.tally import Tally


def fuzz_engines(seed: int, count: int, folder: Path) -> Tally:
    """Random calls on pandas, Polars, PyArrow, plain lists, and a Parquet file read by DuckDB."""
    tally = Tally()
    for index in range(count):
        generator = np.random.default_rng([seed, 4, index])
        table = draw_table(generator)
        call = draw_call(generator, table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fairtrial.FairtrialWarning)
            where = f"seed {seed}, call {index}: {call.method}({call.arguments})"
            tally.attempt(where, partial(_differing, call, _everywhere(table, folder), tally))
    return tally


def _differing(call: Call, tables: dict[str, Any], tally: Tally) -> list[str]:
    """Which engines answer otherwise than the first; its refusal is raised where all refuse."""
    (first, table), *others = tables.items()
    expected = _answer(call, table)
    found = []
    for name, other in others:
        answer = _answer(call, other)
        if isinstance(expected, list):
            tally.numbers += sum(isinstance(value, float) for row in expected for value in row.values())
            same = isinstance(answer, list) and equal(expected, answer)
        else:  # messages may name the kind of frame
            same = isinstance(answer, fairtrial.FairtrialError)
        if not same:
            found.append(f"{first} and {name} differ")
    if isinstance(expected, fairtrial.FairtrialError) and not found:
        raise expected
    return found


def _everywhere(table: Table, folder: Path) -> dict[str, Any]:
    import pyarrow.parquet as pq

    path = folder / "people.parquet"
    pq.write_table(as_arrow(table.columns), path)
    return {frame.__name__: frame(table.columns) for frame in FRAMES} | {"parquet": str(path)}


def _answer(call: Call, data: Any) -> list[dict[str, Any]] | fairtrial.FairtrialError:
    """The rows, or the refusal."""
    try:
        audit = fairtrial.Audit(data, **call.roles)
        result = getattr(fairtrial, call.method)(audit, **call.arguments)
    except fairtrial.FairtrialError as refusal:
        return refusal
    return list(result.to_dict()["estimates"])


def equal(one: Any, other: Any, tolerance: float = 1e-9) -> bool:
    """Texts and counts equal, reals to the tolerance."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key], tolerance) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(partial(equal, tolerance=tolerance), one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
    return bool(one == other)
