"""measure: four rates with intervals for a 24-cell intersection, against bare groupings and fairlearn."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

from harness import Growth, Row, compare, in_subprocess, interleaved, limit, missing, peer, row, within

RATES = ["selection_rate", "tpr", "fpr", "ppv"]
ATTRIBUTES = ["region", "race", "sex"]  # 4 × 3 × 2 = 24 cells
BARE_SQL = """
select region, race, sex, count(*) as n, sum(decision) as selected, sum(outcome) as positive,
       sum(decision * outcome) as true_positive, sum(decision * (1 - outcome)) as false_positive
from {source} group by all
"""


def run(quick: bool) -> list[Row]:
    rows = against_groupings(1_000_000)
    rows += against_libraries(100_000 if quick else 1_000_000)
    rows += on_disk(10_000_000)
    return rows + intervals()


def growth(quick: bool) -> list[Growth]:
    sizes = (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000)
    by_rows = [best(lambda data=data: measured(data)) for data in map(people, sizes)]
    groups = (10, 100) if quick else (10, 100, 1_000)
    by_groups = [best(lambda data=data: measured_units(data)) for data in map(people_of_units, groups)]
    return [
        Growth(name="measure, in memory", axis="rows", sizes=sizes, seconds=tuple(by_rows)),
        Growth(name="measure, 100,000 rows", axis="groups", sizes=groups, seconds=tuple(by_groups)),
    ]


def best(call: Callable[[], Any]) -> float:
    return interleaved({"ours": call}, repeats=3)["ours"]


def people_of_units(units: int) -> Any:
    """100,000 decisions about people of many units: schools, branches, courts."""
    import pyarrow as pa

    labels = np.random.default_rng(units).integers(0, units, 100_000).astype(str)
    return people(100_000).append_column("unit", pa.array(labels))


def measured_units(data: Any) -> Any:
    import fairtrial

    audit = fairtrial.Audit(data, outcome="outcome", decision="decision", groups=["unit"])
    return fairtrial.measure(audit, RATES)


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


def against_groupings(n: int) -> list[Row]:
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
    return rows + against_polars(table, n)


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


def against_libraries(n: int) -> list[Row]:
    """The same four rates of the same 24 groups from a pandas frame; the libraries give no intervals."""
    frame = people(n).to_pandas()
    peers = {
        "fairlearn MetricFrame": (fairlearn_rates(frame), 20.0),
        "aif360 ClassificationMetric": (aif360_rates(frame), None),
        "aequitas get_crosstabs": (aequitas_rates(frame), None),
    }
    name = f"4 rates × 24 groups, {n:,} rows, pandas"
    slow = ["fairlearn MetricFrame", "aif360 ClassificationMetric"]
    return compare(
        name, lambda: measured(frame), peers, repeats=3, once=slow, note="peer: no intervals", least=0.5
    )


def fairlearn_rates(frame: Any) -> Callable[[], Any] | None:
    fairlearn = peer("fairlearn.metrics")
    if fairlearn is None:
        return None
    from sklearn.metrics import precision_score

    metrics = {
        "selection_rate": fairlearn.selection_rate,
        "tpr": fairlearn.true_positive_rate,
        "fpr": fairlearn.false_positive_rate,
        "ppv": precision_score,
    }

    def rates() -> Any:
        found = fairlearn.MetricFrame(
            metrics=metrics,
            y_true=frame["outcome"],
            y_pred=frame["decision"],
            sensitive_features=frame[ATTRIBUTES],
        )
        return found.by_group

    return rates


def aif360_rates(frame: Any) -> Callable[[], Any] | None:
    datasets, metrics = peer("aif360.datasets"), peer("aif360.metrics")
    if datasets is None or metrics is None:
        return None

    def rates() -> Any:
        # It takes numbers only, and compares one group with the others at a time.
        codes = joined(frame).astype("category").cat.codes
        numbers = frame[["outcome"]].astype(float).assign(cell=codes.astype(float))
        truth = datasets.BinaryLabelDataset(
            df=numbers, label_names=["outcome"], protected_attribute_names=["cell"]
        )
        decided = truth.copy()
        decided.labels = frame["decision"].to_numpy(float).reshape(-1, 1)
        groups = range(int(codes.max()) + 1)
        return [aif360_group(metrics, truth, decided, group, groups) for group in groups]

    return rates


def aif360_group(metrics: Any, truth: Any, decided: Any, group: int, groups: range) -> tuple[float, ...]:
    found = metrics.ClassificationMetric(
        truth,
        decided,
        unprivileged_groups=[{"cell": group}],
        privileged_groups=[{"cell": other} for other in groups if other != group],
    )
    return (
        found.selection_rate(False),
        found.true_positive_rate(False),
        found.false_positive_rate(False),
        found.positive_predictive_value(False),
    )


def aequitas_rates(frame: Any) -> Callable[[], Any] | None:
    aequitas = peer("aequitas.group")
    if aequitas is None:
        return None

    def rates() -> Any:
        columns = {"score": frame["decision"], "label_value": frame["outcome"], "cell": joined(frame)}
        return aequitas.Group().get_crosstabs(type(frame)(columns), attr_cols=["cell"])

    return rates


def joined(frame: Any) -> Any:
    """The intersection as one text column, for libraries that take one attribute at a time."""
    return frame["region"] + ", " + frame["race"] + ", " + frame["sex"]


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
    """What the intervals cost once the counts are there, and what the whole result costs: 4 rates of 24 groups."""
    import fairtrial
    from inside.direct_calls import gap_limits, gap_p, ratio_interval
    from inside.inference import PartCounts, rate_interval

    audit = fairtrial.Audit(people(20_000), outcome="outcome", decision="decision", groups=ATTRIBUTES)
    metrics = [fairtrial.METRICS[name] for name in RATES]
    cells = audit.cells(ATTRIBUTES, metrics)
    n, k = (
        np.concatenate([part[name].astype(float) for name in RATES]) for part in (cells.count, cells.total)
    )
    whole, ones = (values.reshape(len(RATES), -1).sum(axis=1).repeat(len(INTERSECTION)) for values in (n, k))
    none = np.zeros(n.size)

    def statistics() -> None:
        parts = PartCounts(none, none, k, n, ones - k, whole - n)
        rate_interval(k, n)
        gap_limits(parts, 0.95)
        gap_p(parts, none)
        ratio_interval(k, n, ones - k, whole - n)

    def whole_result() -> None:
        # The difference of two timings with a query each would be mostly noise.
        with patch.object(fairtrial.Audit, "cells", lambda *_, **__: cells):
            fairtrial.measure(audit, RATES, by=INTERSECTION)

    statsmodels = peer("statsmodels.stats.proportion")
    calls: dict[str, Callable[[], Any]] = {
        "statistics": statistics,
        "whole result": whole_result,
    }
    if statsmodels is not None:
        calls["statsmodels"] = lambda: statsmodels_intervals(statsmodels)
    times = interleaved(calls, repeats=15)
    name = "intervals of 4 rates × 24 groups"
    rows = [
        limit(name, times["statistics"], 0.005, note="rates, differences with p-values, ratios"),
        limit(
            "the whole result on top of the counts",
            times["whole result"],
            0.005,
            note="measure, its counting query answered beforehand: groups, intervals, findings, notes",
        ),
    ]
    if statsmodels is None:
        return [*rows, missing(name, times["statistics"], "statsmodels", None)]
    note = "Wilson, score difference, score ratio, one by one"
    return [
        *rows,
        row(name, times["statistics"], "statsmodels", times["statsmodels"], None, note=note, least=0.5),
    ]


def statsmodels_intervals(statsmodels: Any) -> None:
    for _ in range(len(RATES) * len(INTERSECTION)):
        statsmodels.proportion_confint(300, 1_000, method="wilson")
        for kind in ("diff", "ratio"):
            statsmodels.confint_proportions_2indep(300, 1_000, 5_000, 19_000, method="score", compare=kind)
