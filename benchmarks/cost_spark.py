"""What a row costs in Spark, by the processor's time of its Java process: python cost_spark.py FILE REPEATS."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

CORES = 2


def session() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{CORES}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.driver.memory", "2g")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def java_seconds() -> float:
    """The processor's time of the Java process below this one, and of this one."""
    total = sum(os.times()[:2])
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                name = (folder / "comm").read_text()
            except OSError:
                continue
            if name.strip() == "java" and int(fields[1]) == os.getpid():
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def best(call: Callable[[], Any], repeats: int) -> float:
    """After two warm-ups: Java compiles what it runs often."""
    call()
    call()
    found = []
    for _ in range(repeats):
        before = java_seconds()
        call()
        found.append(java_seconds() - before)
    return min(found)


def main(path: str, repeats: int) -> dict[str, Any]:
    import fairtrial
    from cost_work import BINARY, GROUPS, RATES

    warnings.simplefilter("ignore")
    spark = session()
    frame = spark.read.parquet(path)
    rows = frame.count()

    def ours() -> Any:
        audit = fairtrial.Audit(frame, outcome="outcome", decision="decision", groups=list(GROUPS))
        return fairtrial.measure(audit, RATES)

    found = {
        "rows": rows,
        "bare": best(lambda: frame.groupBy(*BINARY).count().collect(), repeats),
        "ours": best(ours, repeats),
        "cores": CORES,
    }
    spark.stop()
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
