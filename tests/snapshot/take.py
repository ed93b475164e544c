"""Takes the snapshot: runs the cases on the tree that is imported and writes the kept records.

python tests/snapshot/take.py [--only PREFIX] [--fast] [--spark] [--out FOLDER] [--times]
A part (--only, --fast, or without --spark) replaces its own cases and leaves the others as they are.
python tests/snapshot/take.py --rename
Runs nothing: writes the kept records by the new names of renames.toml, and empties that table.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")
if __package__ in (None, ""):
    sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[1:3]]

from snapshot.case import Case
from snapshot.cases import all_cases
from snapshot.kept import FOLDER, Flat, read, write
from snapshot.record import take
from snapshot.renames import TABLE, empty, read_renames


def chosen_cases(only: str = "", fast: bool = False, spark: bool = False) -> list[Case]:
    """The cases asked for."""
    return [
        case
        for case in all_cases()
        if case.name.startswith(only) and (case.fast or not fast) and (spark or not case.spark)
    ]


def run_cases(cases: Sequence[Case], times: dict[str, float] | None = None) -> dict[str, Flat]:
    """The record of every case."""
    records = {}
    for case in cases:
        clock = time.perf_counter()
        records[case.name] = take(case)
        if times is not None:
            times[case.name] = time.perf_counter() - clock
    return records


def options(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", default="", metavar="PREFIX", help="cases whose name starts so")
    parser.add_argument("--fast", action="store_true", help="a part that takes about half a minute")
    parser.add_argument("--spark", action="store_true", help="also the cases that need Java and pyspark")
    parser.add_argument("--times", action="store_true", help="show the slowest cases")
    return parser


def show_times(times: dict[str, float]) -> None:
    by_part: dict[str, float] = {}
    for name, seconds in times.items():
        by_part[name.split("/")[0]] = by_part.get(name.split("/")[0], 0.0) + seconds
    print("  ".join(f"{part} {seconds:.1f} s" for part, seconds in by_part.items()))
    for name, seconds in sorted(times.items(), key=lambda item: -item[1])[:40]:
        print(f"{seconds:7.2f} s  {name[:140]}")


def rename(folder: Path = FOLDER, table: Path = TABLE) -> None:
    """The kept records by their new names; of two that have become one, the first."""
    kept, renames = read(folder), read_renames(table)
    records = {new: renames.record(old[0], kept[old[0]]) for new, old in renames.cases(kept).items()}
    print(
        f"{len(kept)} cases kept as {len(records)}, {write(records, folder):,} bytes; {table.name} is empty"
    )
    empty(table)


def main() -> None:
    parser = options("Take the snapshot of all numbers.")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where to write it")
    parser.add_argument(
        "--rename", action="store_true", help="only write the kept records by their new names"
    )
    given = parser.parse_args()
    if given.rename:
        rename(given.out)
        return
    if read_renames():
        sys.exit(
            "renames.toml is not empty: the other cases would keep their old names. First: take.py --rename"
        )
    times: dict[str, float] = {}
    clock = time.perf_counter()
    cases = chosen_cases(given.only, given.fast, given.spark)
    records = run_cases(cases, times)
    kept = read(given.out)
    known = {case.name: case for case in all_cases()}
    whole = not given.only and not given.fast
    kept = {name: flat for name, flat in kept.items() if name in known and (not whole or known[name].spark)}
    size = write(kept | records, given.out)
    values = [value for flat in records.values() for value in flat.values()]
    numbers = sum(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    faults = sum("faults/0" in flat for flat in records.values())
    odd = [name for name, flat in records.items() if "error" in flat and "faults/0" not in flat]
    print(
        f"{len(records)} cases ({faults} refused), {numbers:,} numbers, {len(values):,} values, "
        f"{size:,} bytes, {time.perf_counter() - clock:.0f} s"
    )
    for name in odd:
        print(f"not a fault of the package's own: {name}: {records[name]}")
    if given.times:
        show_times(times)


if __name__ == "__main__":
    main()
