"""memory: the peak of a whole process that reads a Parquet file, against the number of its rows."""

from __future__ import annotations

import os
import tempfile

from bench_measure import ATTRIBUTES, BARE_ON_DISK, OURS_ON_DISK, people
from harness import Growth, Row, in_subprocess

SCAN_ON_DISK = f"""
import sys

def prepare():
    import fairtrial
    fairtrial.Audit, fairtrial.scan

def work():
    import fairtrial
    audit = fairtrial.Audit(sys.argv[1], outcome="outcome", decision="decision", groups={ATTRIBUTES!r})
    fairtrial.scan(audit, "fpr", protected={{"race": "A"}}, permutations=199)
"""
WORK = {
    "measure, 4 rates × 24 groups, Parquet": OURS_ON_DISK,
    "scan with 199 draws, Parquet": SCAN_ON_DISK,
    "bare DuckDB grouping, Parquet": BARE_ON_DISK,
}


def run(quick: bool) -> list[Row]:
    """The one limit on memory is in bench_measure, beside the time of the same work."""
    return []


def growth(quick: bool) -> list[Growth]:
    sizes = (100_000, 1_000_000) if quick else (100_000, 1_000_000, 10_000_000)
    peaks: dict[str, list[float]] = {name: [] for name in WORK}
    for size in sizes:
        for name, peak in peaks_of(size).items():
            peaks[name].append(peak)
    return [
        Growth(name=name, axis="rows", sizes=sizes, seconds=tuple(found), unit="MB")
        for name, found in peaks.items()
    ]


def peaks_of(rows: int) -> dict[str, float]:
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "people.parquet")
        pq.write_table(people(rows), path)
        return {name: in_subprocess(code, path)["peak_mb"] for name, code in WORK.items()}
