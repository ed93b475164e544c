"""scale: four rates by three attributes from a Parquet file, beside what people use where rows are very many.

LinkedIn's LiFT computes a metric of a protected attribute by a grouping job of its own in Spark: its way is taken here
with Spark's own group-bys, one job per metric and attribute. fairlearn takes rows in memory: it is given the file in
parts, whose counts are added up. Bare Spark SQL and bare DuckDB ask the one grouping that holds all of it.
Times are of the processor, the Java process included: the contestants use one and two processes.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "scripts")]

from cost_spark import java_seconds, session  # noqa: E402
from cost_work import BINARY, GROUPS, RATES, audit, bare  # noqa: E402
from harness import Row, missing, peer, row, within  # noqa: E402
from make_rows import write  # noqa: E402

PART = 500_000  # rows that fairlearn is given at once
NOTE = "seconds of the processor; peer: no intervals"


def run(quick: bool) -> list[Row]:
    rows = 1_000_000 if quick else 10_000_000
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "decisions.parquet")
        write(Path(path), rows, 0)
        return on_this_machine(path, rows, quick) + in_spark(path, rows)


def on_this_machine(path: str, rows: int, quick: bool) -> list[Row]:
    """DuckDB and fairlearn."""
    name = f"4 rates × 9 groups, {rows:,} rows, Parquet"
    by_parts = None if peer("fairlearn") is None else lambda: fairlearn_by_parts(path)
    times = best({"ours": lambda: measured(path), "bare": lambda: bare(path, BINARY)}, 3)
    found = [row(name, times["ours"], "bare DuckDB", times["bare"], None if quick else within(2), note=NOTE)]
    if by_parts is None:
        return [*found, missing(name, times["ours"], "fairlearn by parts", 20.0)]
    theirs = best({"fairlearn": by_parts}, 1, warm=False)["fairlearn"]
    return [*found, row(name, times["ours"], "fairlearn by parts", theirs, 20.0, note=NOTE)]


def in_spark(path: str, rows: int) -> list[Row]:
    """The same question of a Spark dataframe."""
    name = f"4 rates × 9 groups, {rows:,} rows, Spark on two cores"
    peers = {"LiFT's way, a job per metric": 2.0, "bare Spark SQL": within(2)}
    if peer("pyspark") is None:
        return [missing(name, None, other, goal) for other, goal in peers.items()]
    spark = session()
    frame = spark.read.parquet(path)
    times = best(
        {
            "ours": lambda: measured(frame),
            "LiFT's way, a job per metric": lambda: a_job_per_metric(frame),
            "bare Spark SQL": lambda: frame.groupBy(*BINARY).count().collect(),
        },
        3,
    )
    spark.stop()
    return [row(name, times["ours"], other, times[other], goal, note=NOTE) for other, goal in peers.items()]


def measured(data: Any) -> Any:
    import fairtrial

    return fairtrial.measure(audit(data), RATES)


def best(calls: dict[str, Callable[[], Any]], repeats: int, warm: bool = True) -> dict[str, float]:
    """The shortest time of each, in turns after one warm-up each."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats + warm):
        for name, call in calls.items():
            before = java_seconds()
            call()
            if turn or not warm:
                found[name].append(java_seconds() - before)
    return {name: min(times) for name, times in found.items()}


def a_job_per_metric(frame: Any) -> list[Any]:
    """Each rate of each attribute by its own group-by."""
    from pyspark.sql import functions as spark

    given = {"selection_rate": None, "tpr": "outcome = 1", "fpr": "outcome = 0", "ppv": "decision = 1"}
    value = {"ppv": "outcome"}
    answers = []
    for attribute in GROUPS:
        for metric in RATES:
            rows = frame if given[metric] is None else frame.where(given[metric])
            rates = rows.groupBy(attribute).agg(spark.avg(value.get(metric, "decision")), spark.count("*"))
            answers.append(rates.collect())
    return answers


def fairlearn_by_parts(path: str) -> dict[str, Any]:
    """Counts of every group from MetricFrames of parts of the file, added up."""
    import pyarrow.parquet as pq
    from fairlearn.metrics import MetricFrame, count

    sums = {
        "n": count,
        "selected": lambda truth, decided: decided.sum(),
        "positive": lambda truth, decided: truth.sum(),
        "true_positive": lambda truth, decided: (truth * decided).sum(),
    }
    totals: dict[str, Any] = {}
    wanted = [*GROUPS, "outcome", "decision"]
    for batch in pq.ParquetFile(path).iter_batches(PART, columns=wanted):
        part = batch.to_pandas()
        for name in GROUPS:
            frame = MetricFrame(
                metrics=sums,
                y_true=part["outcome"],
                y_pred=part["decision"],
                sensitive_features=part[name].astype(str),
            )
            totals[name] = frame.by_group if name not in totals else totals[name].add(frame.by_group)
    return totals
