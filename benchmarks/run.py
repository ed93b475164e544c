"""Run the benchmarks and print their table.

    python benchmarks/run.py [--quick] [--check] [--write] [part ...]

--quick takes small sizes; --check does too, and fails when a ratio falls below half its goal; --write also writes
docs/benchmarks.md and its growth chart. Parts are names of files: `measure` is bench_measure.py.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

# Before anything imports NumPy: one thread each, as the page says, and no spinning ones.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from harness import Growth, Row, versions  # noqa: E402

# A ratio may fall to this share of its goal before `--check` fails: other work on the machine moves ratios too, and
# plain limits more than those.
SLACK = 0.5
SLACK_OF_LIMITS = 0.25
PACKAGES = ["fairtrial", "numpy", "scipy", "pandas", "polars", "pyarrow", "duckdb", "numba"]
PEERS = ["fairlearn", "aif360", "aequitas", "statsmodels"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Race fairtrial against its peers and against physical limits."
    )
    parser.add_argument("parts", nargs="*", help="which benchmarks to run; all when left out")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--check", action="store_true", help="small sizes, and fail below half of a goal")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    available = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    unknown = set(options.parts) - set(available)
    if unknown:
        parser.error(f"unknown benchmarks {sorted(unknown)}; there are {available}")
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
        write(rows, growths)
    return check([row for part in rows.values() for row in part]) if options.check else 0


def show(rows: dict[str, list[Row]], growths: Sequence[Growth]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 160)
    table = Table("part", "work", "ours", "peer", "peer's", "ratio", "goal", "met", "note")
    for part, its_rows in rows.items():
        for row in its_rows:
            table.add_row(part, *cells(row))
    console.print(table)
    for growth in growths:
        sizes = ", ".join(f"{size:,}: {amount(second, 's')}" for size, second in points(growth))
        console.print(f"{growth.name} by {growth.axis}: slope {growth.slope:.2f} ({sizes})")
    console.print(machine())


def cells(row: Row) -> list[str]:
    return [
        row.name,
        amount(row.ours_seconds, row.unit),
        row.peer,
        amount(row.peer_seconds, row.unit),
        "–" if row.ratio is None else f"{row.ratio:.3g}×",
        row.goal_text,
        {True: "yes", False: "NO", None: "–"}[row.met],
        row.note,
    ]


def amount(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    if unit != "s":
        return f"{value:,.0f} {unit}"
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.3g} ms"


def points(growth: Growth) -> list[tuple[int, float]]:
    return list(zip(growth.sizes, growth.seconds, strict=True))


def machine() -> str:
    found = ", ".join(f"{name} {number}" for name, number in versions(PACKAGES + PEERS).items())
    return f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores; {found}."


def check(rows: Sequence[Row]) -> int:
    slow = [row for row in rows if row.ratio is not None and row.ratio < floor(row)]
    for row in slow:
        print(f"too slow: {row.name} against {row.peer}: {row.ratio:.3g}×, floor {floor(row):.3g}×")
    print(f"{len(rows) - len(slow)} passed, {len(slow)} failed")
    return 1 if slow else 0


def floor(row: Row) -> float:
    return (SLACK_OF_LIMITS if row.peer == "limit" else SLACK) * row.goal


def write(rows: dict[str, list[Row]], growths: Sequence[Growth]) -> None:
    docs = HERE.parent / "docs"
    docs.mkdir(exist_ok=True)
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Every comparison is timed in one run, the contestants taking turns, and the",
        "shortest time counts; one thread for numerical libraries. The ratio is the peer's time divided by ours:",
        "above 1 fairtrial is faster. Peers compute less than fairtrial does: rates without intervals or reasons.",
        "",
        machine(),
        "",
    ]
    for part, its_rows in rows.items():
        lines += [f"## {part}", "", "| work | ours | peer | peer's | ratio | goal | met | note |"]
        lines += ["|---|---:|---|---:|---:|---:|---|---|"]
        lines += ["| " + " | ".join(cells(row)) + " |" for row in its_rows]
        lines.append("")
    if growths:
        lines += ["## Growth", "", "![Time against size on logarithmic axes](benchmarks-growth.svg)", ""]
        lines += ["| work | grows with | slope | times |", "|---|---|---:|---|"]
        for growth in growths:
            times = ", ".join(f"{size:,}: {amount(second, 's')}" for size, second in points(growth))
            lines.append(f"| {growth.name} | {growth.axis} | {growth.slope:.2f} | {times} |")
        lines.append("")
        growth_chart(growths, docs / "benchmarks-growth.svg")
    (docs / "benchmarks.md").write_text("\n".join(lines), encoding="utf-8")
    print(f"wrote {docs / 'benchmarks.md'}")


def growth_chart(growths: Sequence[Growth], path: Path) -> None:
    import altair

    data = [
        {
            "work": f"{growth.name} (slope {growth.slope:.2f})",
            "axis": growth.axis,
            "size": size,
            "seconds": second,
        }
        for growth in growths
        for size, second in points(growth)
    ]
    chart = (
        altair.Chart(altair.Data(values=data))
        .mark_line(point=True)
        .encode(
            x=altair.X("size:Q", scale=altair.Scale(type="log"), title="size"),
            y=altair.Y("seconds:Q", scale=altair.Scale(type="log"), title="seconds"),
            color=altair.Color("work:N", title=None, legend=altair.Legend(labelLimit=400)),
            strokeDash=altair.StrokeDash("axis:N", title="grows with"),
        )
        .properties(width=560, height=360)
    )
    chart.save(str(path))


if __name__ == "__main__":
    sys.exit(main())
