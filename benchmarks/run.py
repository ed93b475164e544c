"""Run the benchmarks and print their table.

    python benchmarks/run.py [--quick] [--check] [--write] [part ...]

--quick takes small sizes; --check does too, and fails when a ratio falls below half its goal (a quarter of a plain
limit, or the row's own floor); --write also writes docs/benchmarks.md and its growth chart. Parts are names of files:
`measure` is bench_measure.py.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

# Before anything imports NumPy: one thread each, as the page says, and no spinning ones.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
HERE = Path(__file__).resolve().parent
sys.path[:0] = [
    str(HERE),
    str(HERE.parent / "tests"),
]  # the slow ways that the tests check against are peers here

from harness import Growth, Row  # noqa: E402
from page import cells, growth_chart, machine, page, sizes_and_amounts  # noqa: E402

CHART = "benchmarks-growth.svg"


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Race fairtrial against its peers and against physical limits."
    )
    parser.add_argument("parts", nargs="*", help="which benchmarks to run; all when left out")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--check", action="store_true", help="small sizes, and fail far below a goal")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    available = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    unknown = set(options.parts) - set(available)
    if unknown:
        parser.error(f"unknown benchmarks {sorted(unknown)}; there are {available}")
    quiet_peers()
    quick = options.quick or options.check
    rows: dict[str, list[Row]] = {}
    growths: list[Growth] = []
    for part in options.parts or available:
        print(f"benchmarks: running {part}", file=sys.stderr, flush=True)
        module = importlib.import_module(f"bench_{part}")
        rows[part] = module.run(quick)
        if hasattr(module, "growth") and not options.check:
            growths += module.growth(quick)
    show(rows, growths)
    if options.write:
        write(rows, growths, HERE.parent / "docs")
    return check([row for part in rows.values() for row in part]) if options.check else 0


def quiet_peers() -> None:
    """Warnings that peers cause inside themselves are not ours to print."""
    for name in ("aif360", "aequitas", "fairlearn", "statsmodels", "sklearn"):
        warnings.filterwarnings("ignore", module=rf"{name}\b.*")


def show(rows: dict[str, list[Row]], growths: Sequence[Growth]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 160)
    table = Table("part", "work", "ours", "peer", "peer's", "ratio", "goal", "met", "note")
    for part, its_rows in rows.items():
        for row in its_rows:
            table.add_row(part, *(cell.replace("**no**", "NO") for cell in cells(row)))
    console.print(table)
    for growth in growths:
        console.print(
            f"{growth.name} by {growth.axis}: slope {growth.slope:.2f} ({sizes_and_amounts(growth)})"
        )
    console.print(machine())


def check(rows: Sequence[Row]) -> int:
    """Fails when a ratio is below its floor; a row that has neither goal nor floor, or no peer, is not checked."""
    floors = [(row, row.ratio, row.floor) for row in rows]
    checked = [(row, ratio, floor) for row, ratio, floor in floors if ratio is not None and floor is not None]
    slow = [(row, ratio, floor) for row, ratio, floor in checked if ratio < floor]
    for row, ratio, floor in slow:
        print(f"too slow: {row.name} against {row.peer}: {ratio:.3g}×, floor {floor:.3g}×")
    print(
        f"{len(checked) - len(slow)} passed, {len(slow)} failed, {len(rows) - len(checked)} without a floor or a peer"
    )
    return 1 if slow else 0


def write(rows: dict[str, list[Row]], growths: Sequence[Growth], docs: Path) -> None:
    docs.mkdir(exist_ok=True)
    if growths:
        growth_chart(growths, docs / CHART)
    (docs / "benchmarks.md").write_text(page(rows, growths, CHART), encoding="utf-8")
    print(f"wrote {docs / 'benchmarks.md'}")


if __name__ == "__main__":
    sys.exit(main())
