"""What an audit costs: measure the constants of the cost model, and compare what it predicts with what is measured.

    python benchmarks/cost.py [--sizes 1e6,1e7,1e8] [--repeats 3] [--keep] [--write docs/cost.md]

Files of made-up decisions are written (scripts/make_rows.py) and deleted afterwards unless --keep is said. Every
question runs in a process of its own, beside the bare grouping query with the same keys.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "scripts")]

from cost_model import Constants, fit  # noqa: E402
from cost_page import machine, sections  # noqa: E402
from cost_work import QUESTIONS  # noqa: E402
from make_rows import file_of, write  # noqa: E402

SMALL, FEWEST = 100_000, 10_000  # rows of which only the fixed costs are felt
READ = ("transport", "measure, means")  # questions that read rows up to a million of them
# Bare queries whose times the cost of a row is made of: how many text columns, how many of numbers, whose moments.
CALIBRATION: tuple[tuple[tuple[str, ...], bool], ...] = (
    (("sex",), False),
    (("region", "race"), False),
    (("region", "race", "sex"), False),
    (("region", "race", "sex", "grade"), False),
    (("sex", "decision"), False),
    (("sex", "decision", "outcome"), False),
    (("race", "score", "outcome"), False),
    (("region", "race", "sex"), True),
    (("sex",), True),
)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what questions cost, and compare with the model.")
    parser.add_argument("--sizes", default="1e6,1e7,1e8", help="numbers of rows")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=Path, default=Path(".cache/rows"), help="where the files of rows go")
    parser.add_argument("--keep", action="store_true", help="keep the files of rows")
    parser.add_argument("--write", type=Path, help="the page whose tables are written anew")
    parser.add_argument("--out", type=Path, default=Path(".cache/cost.json"), help="what was measured so far")
    options = parser.parse_args()
    measured = measure([int(float(size)) for size in options.sizes.split(",")], options)
    constants = fit(measured)
    text = sections(measured, constants)
    print(text)
    if options.write is not None:
        rewrite(options.write, text)
    return check(measured, constants)


def measure(sizes: Sequence[int], options: argparse.Namespace) -> dict[str, Any]:
    """All that the model and its tables are made of."""
    paths = {size: str(file_of(options.rows, size, 0)) for size in (FEWEST, SMALL, *sizes)}
    for size, path in paths.items():
        if not os.path.exists(path):
            say(f"writing {size:,} rows")
            write(Path(path), size, 0)
    middle, times = sorted(sizes)[len(sizes) // 2], str(options.repeats)
    kept = Kept(options.out, f"{sizes} {options.repeats}")
    bare = [
        kept.get("cost_bare.py", paths[middle], ",".join(keys), str(int(moments)), times)
        for keys, moments in CALIBRATION
    ]
    found = {
        "machine": machine(),
        "small": SMALL,
        "fewest": FEWEST,
        "middle": middle,
        "repeats": options.repeats,
        "bare": bare,
        "fixed": {name: kept.get("cost_work.py", name, paths[SMALL], times) for name in QUESTIONS},
        "fewer_rows": {name: kept.get("cost_work.py", name, paths[FEWEST], times) for name in READ},
        "fewer_draws": kept.get("cost_work.py", "scan, 99 draws", paths[SMALL], times),
        "cells": kept.get("cost_cells.py", times),
        "growth": {
            name: {str(size): kept.get("cost_work.py", name, paths[size], times) for size in sizes}
            for name in QUESTIONS
        },
        "spark": kept.get("cost_spark.py", paths[middle], times),
    }
    if not options.keep:
        for path in paths.values():
            os.remove(path)
    return found


class Kept:
    """What children have measured, on disk: a run that was stopped goes on where it was."""

    def __init__(self, path: Path, about: str) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self.answers: dict[str, Any] = known if known.get("about") == about else {"about": about}

    def get(self, script: str, *arguments: str) -> Any:
        """A child's answer; None where it could not be had."""
        key = " ".join((script, *arguments))
        if key not in self.answers:
            say(key)
            self.answers[key] = child(script, *arguments)
            self.path.write_text(json.dumps(self.answers, indent=1), encoding="utf-8")
        return self.answers[key]


def child(script: str, *arguments: str) -> dict[str, Any] | None:
    done = subprocess.run([sys.executable, str(HERE / script), *arguments], capture_output=True, text=True)
    if done.returncode != 0 and script == "cost_spark.py":
        say(f"Spark is left out: {done.stderr.splitlines()[-1:]}")
        return None
    if done.returncode != 0:
        raise RuntimeError(f"{script} {arguments} failed:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def rewrite(page: Path, text: str) -> None:
    """Put the tables between their two marks."""
    start, end = "<!-- measured: make cost -->", "<!-- end of measured -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(start)
    _, _, after = rest.partition(end)
    page.write_text(f"{before}{start}\n\n{text}\n{end}{after}", encoding="utf-8")


def check(measured: dict[str, Any], constants: Constants) -> int:
    """Fails where a prediction is off by more than twice, or memory passes 1.5 GB."""
    wrong = []
    for name, sizes in measured["growth"].items():
        for size, found in sizes.items():
            predicted = constants.seconds(name, int(size))
            if not 0.5 <= predicted / found["ours"] <= 2:
                wrong.append(
                    f"{name}, {int(size):,} rows: predicted {predicted:.2f} s, measured {found['ours']:.2f} s"
                )
            if found["peak_mb"] > 1500:
                wrong.append(f"{name}, {int(size):,} rows: {found['peak_mb']:,.0f} MB")
    for line in wrong:
        print(f"cost: {line}")
    return 1 if wrong else 0


def say(text: str) -> None:
    print(f"cost: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
