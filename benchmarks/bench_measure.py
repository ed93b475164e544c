"""measure: four rates with intervals for a 24-cell intersection, against bare groupings and fairlearn."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from harness import Growth, Row, compare, in_subprocess, interleaved, limit, peer, row, within

RATES = ["selection_rate", "tpr", "fpr", "ppv"]
ATTRIBUTES = ["region", "race", "sex"]  # 4 × 3 × 2 = 24 cells
BARE_SQL = """
select region, race, sex, count(*) as n, sum(decision) as selected, sum(outcome) as positive,
       sum(decision * outcome) as true_positive, sum(decision * (1 - outcome)) as false_positive
from {source} group by all
"""


def run(quick: bool) -> list[Row]:
    rows = in_memory(100_000 if quick else 1_000_000)
    rows += on_disk(1_000_000 if quick else 10_000_000)
    return rows + intervals()


def growth(quick: bool) -> list[Growth]:
    sizes = (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000)
    seconds = []
    for size in sizes:
        data = people(size)
        seconds.append(interleaved({"ours": lambda data=data: measured(data)}, repeats=3)["ours"])
    return [Growth(name="measure, PyArrow in memory", axis="rows", sizes=sizes, seconds=tuple(seconds))]


def people(n: int) -> Any:
    """A PyArrow table of n decisions about people of 24 kinds."""
    import pyarrow as pa

    generator = np.random.default_rng(20_240_501)

    def labels(names: list[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(
            generator.integers(0, len(names), n, dtype=np.int32), pa.array(names)
        ).cast(pa.string())

    region, race, sex = (
        labels(["North", "East", "South", "West"]),
        labels(["A", "B", "C"]),
        labels(["F", "M"]),
    )
    outcome = (generator.random(n) < 0.4).astype(np.int64)
    decision = (generator.random(n) < 0.25 + 0.4 * outcome).astype(np.int64)
    return pa.table({"region": region, "race": race, "sex": sex, "outcome": outcome, "decision": decision})


def measured(data: Any) -> Any:
    """All 24 groups of the three attributes, with intervals, from the raw data: nothing is cached between calls."""
    import fairtrial

    audit = fairtrial.Audit(data, outcome="outcome", decision="decision", groups=ATTRIBUTES)
    return fairtrial.measure(audit, RATES, by=INTERSECTION)


INTERSECTION = [
    {"region": region, "race": race, "sex": sex}
    for region in ("North", "East", "South", "West")
    for race in ("A", "B", "C")
    for sex in ("F", "M")
]


def in_memory(n: int) -> list[Row]:
    import duckdb

    table = people(n)
    connection = duckdb.connect()

    def bare_duckdb() -> Any:
        return connection.from_arrow(table).query("people", BARE_SQL.format(source="people")).fetchall()

    rows = compare(
        f"4 rates × 24 groups, {n:,} rows, PyArrow",
        lambda: measured(table),
        {"bare DuckDB grouping": (bare_duckdb, within(3))},
    )
    rows += against_polars(table, n)
    return rows + against_fairlearn(table.to_pandas(), n)


def against_polars(table: Any, n: int) -> list[Row]:
    import polars as pl

    frame = pl.from_arrow(table)

    def bare_polars() -> Any:
        decision, outcome = pl.col("decision"), pl.col("outcome")
        return frame.group_by(ATTRIBUTES).agg(
            pl.len(), decision.sum(), outcome.sum(), (decision * outcome).sum().alias("true_positive")
        )

    goal = {"bare Polars grouping": (bare_polars, within(3))}
    return compare(f"4 rates × 24 groups, {n:,} rows, Polars", lambda: measured(frame), goal)


def against_fairlearn(frame: Any, n: int) -> list[Row]:
    fairlearn = peer("fairlearn.metrics")
    call: Callable[[], Any] | None = None
    if fairlearn is not None:
        from sklearn.metrics import precision_score

        metrics = {
            "selection_rate": fairlearn.selection_rate,
            "tpr": fairlearn.true_positive_rate,
            "fpr": fairlearn.false_positive_rate,
            "ppv": precision_score,
        }

        def call() -> Any:
            found = fairlearn.MetricFrame(
                metrics=metrics,
                y_true=frame["outcome"],
                y_pred=frame["decision"],
                sensitive_features=frame[ATTRIBUTES],
            )
            return found.by_group

    goal = {"fairlearn MetricFrame": (call, 20.0)}
    note = "fairlearn: rates without intervals"
    return compare(
        f"4 rates × 24 groups, {n:,} rows, pandas", lambda: measured(frame), goal, repeats=3, note=note
    )


OURS_ON_DISK = f"""
import sys

def prepare():
    import fairtrial
    fairtrial.Audit, fairtrial.measure

def work():
    import fairtrial
    audit = fairtrial.Audit(sys.argv[1], outcome="outcome", decision="decision", groups={ATTRIBUTES!r})
    fairtrial.measure(audit, {RATES!r}, by={INTERSECTION!r})
"""
BARE_ON_DISK = f"""
import sys

def prepare():
    import duckdb

def work():
    import duckdb
    duckdb.connect().query('''{BARE_SQL}'''.format(source=f"read_parquet('{{sys.argv[1]}}')")).fetchall()
"""


def on_disk(n: int) -> list[Row]:
    import duckdb
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "people.parquet")
        pq.write_table(people(n), path)
        connection = duckdb.connect()
        sql = BARE_SQL.format(source=f"read_parquet('{path}')")
        times = interleaved(
            {"ours": lambda: measured(path), "bare": lambda: connection.query(sql).fetchall()}, repeats=5
        )
        ours, bare = in_subprocess(OURS_ON_DISK, path), in_subprocess(BARE_ON_DISK, path)
    name = f"4 rates × 24 groups, {n:,} rows, Parquet file"
    memory = f"bare DuckDB query: {bare['peak_mb']:.0f} MB"
    return [
        row(name, times["ours"], "bare DuckDB query", times["bare"], within(1.5)),
        limit(f"{name}: peak memory", ours["peak_mb"], 600, unit="MB", note=memory),
    ]


def intervals() -> list[Row]:
    """What the statistics cost once the counts are there: 4 rates, gaps and ratios of 24 groups."""
    import fairtrial

    audit = fairtrial.Audit(people(20_000), outcome="outcome", decision="decision", groups=ATTRIBUTES)
    metrics = [fairtrial.METRICS[name] for name in RATES]
    times = interleaved(
        {
            "cells": lambda: audit.cells(ATTRIBUTES, metrics),
            "measure": lambda: fairtrial.measure(audit, RATES, by=INTERSECTION),
        },
        repeats=9,
    )
    added = max(times["measure"] - times["cells"], 1e-9)
    return [limit("intervals of 4 rates × 24 groups, on top of the counts", added, 0.005)]
