"""The tables of docs/cost.md, from what `make cost` has measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from cost_model import Constants


class Cluster(NamedTuple):
    """A Spark cluster that is assumed."""

    rows: float
    machines: int
    cores: int


CLUSTERS = (Cluster(1e9, 4, 8), Cluster(1e11, 32, 16))
OVERHEAD = 1.5  # uneven parts, shuffling, waiting for the last task
LATENCY = 10.0  # seconds to start a job and fetch its answer
JOBS = 3  # of a question at most: counting rows, the grouping, the digest of real values


def machine() -> str:
    parts = ", ".join(f"{name} {version(name)}" for name in ("fairtrial", "duckdb", "numpy"))
    return f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores; {parts}"


def sections(measured: dict[str, Any], constants: Constants) -> str:
    """All tables, as text."""
    lines = [f"{measured['machine']}.", ""]
    lines += ["### Constants", "", *_constants(constants), ""]
    lines += ["### Growth: 1e6 to 1e8 rows on one machine", "", *_growth(measured, constants), ""]
    lines += ["### On a cluster", "", *_clusters(measured, constants), ""]
    return "\n".join(lines)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    marks = ["---"] * left + ["---:"] * (len(head) - left)
    return ["| " + " | ".join(line) + " |" for line in (head, marks, *rows)]


def _constants(found: Constants) -> list[str]:
    def nanoseconds(value: float) -> str:
        return f"{1e9 * value:.1f} ns"

    rows = [
        ["a row, before any column", nanoseconds(found.scan)],
        ["a row's label, per column of texts", nanoseconds(found.text)],
        ["a row's number as a key (decision, outcome, score)", nanoseconds(found.number)],
        ["a row's real value: six sums", nanoseconds(found.value)],
        ["one draw of the scan (576 cells)", f"{1e6 * found.draw:.0f} µs"],
    ]
    rows += [
        [f"`{name}`, a row that is read, up to a million", nanoseconds(each)]
        for name, each in found.read.items()
    ]
    rows += [[f"`{name}`, fixed", f"{seconds:.2f} s"] for name, seconds in found.fixed.items()]
    rows += [[f"`{name}`, per group", f"{1e3 * seconds:.2f} ms"] for name, seconds in found.group.items()]
    return table(["what", "one core"], rows)


def _growth(measured: dict[str, Any], constants: Constants) -> list[str]:
    head = [
        "question",
        "rows",
        "ours",
        "bare query",
        "ratio",
        "peak memory",
        "predicted",
        "predicted / measured",
    ]
    rows = []
    for name, sizes in measured["growth"].items():
        for size, found in sizes.items():
            predicted = constants.seconds(name, int(size))
            rows.append(
                [
                    f"`{name}`",
                    f"{int(size):,}",
                    f"{found['ours']:.2f} s",
                    f"{found['bare']:.2f} s",
                    f"{found['ours'] / found['bare']:.2f}×",
                    f"{found['peak_mb']:,.0f} MB",
                    f"{predicted:.2f} s",
                    f"{predicted / found['ours']:.2f}",
                ]
            )
    return table(head, rows)


def _clusters(measured: dict[str, Any], constants: Constants) -> list[str]:
    spark = measured["spark"]
    if spark is None:
        return ["Spark was not measured: it needs Java 17 and pyspark."]
    row = spark["ours"] / spark["rows"]
    lines = [
        f"In Spark on {spark['cores']} cores of this machine one row of `measure` took {1e9 * row:.0f} ns of a core "
        f"(the bare Spark SQL grouping {1e9 * spark['bare'] / spark['rows']:.0f} ns), from Parquet, after warming up.",
        "",
    ]
    rows = []
    for cluster in CLUSTERS:
        cores = cluster.machines * cluster.cores
        seconds = OVERHEAD * cluster.rows * row / cores + JOBS * LATENCY
        driver = sum(
            constants.fixed[name] for name in ("measure", "certify", "flag", "scan", "transport", "watch")
        )
        whole = 6 * seconds + driver
        rows.append(
            [
                f"{cluster.rows:.0e}".replace("e+0", "e").replace("e+", "e"),
                f"{cluster.machines} machines × {cluster.cores} cores",
                _time(seconds),
                _time(whole),
                f"{whole * cores / 3600:,.1f}",
            ]
        )
    return lines + table(["rows", "cluster", "one question", "six questions", "core hours"], rows, left=2)


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
