"""Write Parquet files of any number of made-up decisions, a part at a time, for trying out what large data cost.

    python scripts/make_rows.py 1e6 1e7 1e8 --out .cache/rows [--seed 0]

The file of 1e8 rows takes about 1.1 GB and under 200 MB of memory. A smaller file holds the first rows of a larger one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

PART = 500_000  # rows made together, and one row group of the file
LABELS = {
    "region": ("North", "East", "South", "West"),
    "race": ("A", "B", "C"),
    "sex": ("F", "M"),
    "grade": tuple(f"grade {number}" for number in range(1, 7)),
    "week": tuple(f"2026-W{number:02d}" for number in range(1, 13)),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Write Parquet files of made-up decisions.")
    parser.add_argument(
        "sizes", nargs="+", type=lambda text: int(float(text)), help="numbers of rows, such as 1e8"
    )
    parser.add_argument("--out", type=Path, default=Path(".cache/rows"), help="folder of the files")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for size in options.sizes:
        path = file_of(options.out, size, options.seed)
        if not path.exists():
            write(path, size, options.seed)
        print(f"{path}: {size:,} rows, {path.stat().st_size / 1e6:,.0f} MB", flush=True)
    return 0


def file_of(folder: Path, size: int, seed: int) -> Path:
    """Where the file of so many rows is."""
    return folder / f"decisions-{size}-{seed}.parquet"


def write(path: Path, size: int, seed: int) -> None:
    """Make the file, whole or not at all."""
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    with pq.ParquetWriter(
        unfinished, part(0, 1, seed).schema, compression="zstd", compression_level=1
    ) as writer:
        for number, start in enumerate(range(0, size, PART)):
            writer.write_table(part(number, min(PART, size - start), seed))
    unfinished.rename(path)


def part(number: int, length: int, seed: int) -> Any:
    """The first rows of part `number`, as an Arrow table: the same whatever else is written.

    The score is a whole number from 300 to 850, the amount a skewed one in cents.  People of race B have
    lower scores, and women of race B in the West are declined more often than their scores say.
    """
    import pyarrow as pa

    random = np.random.default_rng([seed, number])
    codes = {name: random.integers(0, len(labels), PART, dtype=np.int8) for name, labels in LABELS.items()}
    ability = random.standard_normal(PART, dtype=np.float32) - 0.2 * (codes["race"] == 1)
    score = np.clip(np.rint(575 + 90 * ability), 300, 850).astype(np.int16)
    outcome = random.random(PART, dtype=np.float32) < 0.4 + 0.0005 * (score - 575)
    harmed = (codes["race"] == 1) & (codes["sex"] == 0) & (codes["region"] == 3)
    decision = score + random.integers(-60, 61, PART) >= 560 + 12 * harmed
    amount = np.rint(100 * np.exp(8 + 0.8 * random.standard_normal(PART, dtype=np.float32))) / 100
    columns = {name: _texts(codes[name], labels) for name, labels in LABELS.items()}
    columns |= {
        "score": pa.array(score),
        "amount": pa.array(amount.astype(np.float64)),
        "outcome": pa.array(outcome.astype(np.int8)),
        "decision": pa.array(decision.astype(np.int8)),
    }
    return pa.table(columns).slice(0, length)


def _texts(codes: Any, labels: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(labels))


if __name__ == "__main__":
    sys.exit(main())
