"""docs/benchmarks.md and its growth chart, from what was measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import Growth, Row, amount, versions

PACKAGES = ["fairtrial", "numpy", "scipy", "pandas", "polars", "pyarrow", "duckdb", "numba"]
PEERS = ["fairlearn", "aif360", "aequitas", "statsmodels"]
# What each part races, in the words of its goals; the order of the page.
SUBJECTS = {
    "measure": "group metrics with intervals",
    "certify": "empirical likelihood intervals",
    "gaps": "ratios, adjusted and weighted gaps",
    "transport": "transport projections",
    "scan": "subgroup scan",
    "explain": "inference for explanations",
    "improve": "bootstrap of improvements",
    "scale": "what people use for very many rows",
    "memory": "peak memory",
    "office": "files as offices write them",
    "serve": "the page in a browser",
    "serve_load": "the page while many watch",
}
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "stroke"]
MET = {True: "yes", False: "**no**", None: "–"}
INTRODUCTION = """\
Written by `make bench`. Every comparison is timed in one run, the contestants taking turns, and the shortest time
counts; peers that take seconds run once; one thread for numerical libraries. The ratio is the peer's time divided by
ours: above 1 fairtrial is faster. Work of less than a millisecond is called many times in a row, which keeps it warm;
its note then also gives a single call after a pause, with which a ratio is several times smaller and its goal may be
missed. Rows without a goal are there for scale.

What a ratio means depends on the peer. fairlearn, AIF360's metrics and Aequitas give rates without intervals,
p-values or reasons, so they do less than fairtrial does beside them. A bare grouping, one sort and a plain limit are
floors: a part of the work, or none. statsmodels, the bootstraps, HiGHS and `bias_scan` are asked for the same
answer."""


def page(rows: Mapping[str, Sequence[Row]], growths: Sequence[Growth], chart: str) -> str:
    parts = {name: rows[name] for name in [*SUBJECTS, *(set(rows) - set(SUBJECTS))] if rows.get(name)}
    lines = ["# Benchmarks", "", *goals(parts), "", INTRODUCTION, "", machine(), ""]
    for name, its_rows in parts.items():
        lines += [f"## {name}: {SUBJECTS.get(name, name)}", ""]
        lines += ["| work | ours | peer | peer's | ratio | goal | met | note |"]
        lines += ["|---|---:|---|---:|---:|---:|---|---|"]
        lines += ["| " + " | ".join(cells(row)) + " |" for row in its_rows]
        lines.append("")
    if growths:
        lines += growth_section(growths, chart)
    return "\n".join(lines)


def goals(parts: Mapping[str, Sequence[Row]]) -> list[str]:
    """How many goals each part meets, what they are, and every one that is missed."""
    everything = [row for its_rows in parts.values() for row in its_rows]
    missed = [row for row in everything if row.met is False]
    told = f"**{count_met(everything)} goals are met.**"
    unknown = [row for row in everything if row.goal is not None and row.met is None]
    if unknown:
        told += f" {len(unknown)} could not be raced: a peer does not install here."
    lines = [told + (" Missed:" if missed else ""), ""]
    lines += [f"- {row.name}, {against(row)}: {reached(row)}" for row in missed]
    lines += [""] if missed else []
    lines += ["| part | goals met | the goals | missed |", "|---|---:|---|---|"]
    for name, its_rows in parts.items():
        short = [row for row in its_rows if row.met is False]
        names = "; ".join(f"{row.name}, {against(row)}" for row in short) or "none"
        if any(row.goal is not None for row in its_rows):
            lines.append(
                f"| {SUBJECTS.get(name, name)} (`{name}`) | {count_met(its_rows)} | {set_goals(its_rows)} | {names} |"
            )
    return lines


def count_met(rows: Sequence[Row]) -> str:
    known = [row for row in rows if row.met is not None]
    return f"{sum(bool(row.met) for row in known)} of {len(known)}"


def set_goals(rows: Sequence[Row]) -> str:
    """The goals of a part, each once: '≥ 20× HiGHS'."""
    return "; ".join(dict.fromkeys(against(row) for row in rows if row.goal is not None))


def against(row: Row) -> str:
    """'≥ 20× HiGHS', 'within 4× of one argsort', '≤ 10 ms'."""
    if row.goal is None or row.peer == "limit":
        return row.goal_text
    if row.goal >= 1:
        return f"{row.goal_text} {row.peer}"
    return f"{row.goal_text.removesuffix('it')}{row.peer}"


def reached(row: Row) -> str:
    if row.peer == "limit":
        return amount(row.ours_seconds, row.unit)
    assert row.ratio is not None
    return times(row.ratio)


def times(ratio: float) -> str:
    """Three digits, and never as a power of ten: 0.139×, 607×, 81,300×."""
    return f"{float(f'{ratio:.3g}'):,.0f}×" if ratio >= 1000 else f"{ratio:.3g}×"


def cells(row: Row) -> list[str]:
    ratio = row.ratio if row.peer_seconds is not None else None
    return [
        row.name,
        amount(row.ours_seconds, row.unit),
        row.peer,
        amount(row.peer_seconds, row.unit),
        "–" if ratio is None else times(ratio),
        row.goal_text,
        MET[row.met],
        row.note,
    ]


def machine() -> str:
    found = ", ".join(f"{name} {number}" for name, number in versions(PACKAGES + PEERS).items())
    return f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores; {found}."


def points(growth: Growth) -> list[tuple[int, float]]:
    return list(zip(growth.sizes, growth.seconds, strict=True))


def sizes_and_amounts(growth: Growth) -> str:
    return ", ".join(f"{size:,}: {amount(value, growth.unit)}" for size, value in points(growth))


def growth_section(growths: Sequence[Growth], chart: str) -> list[str]:
    lines = [
        "## Growth",
        "",
        "Both axes are logarithmic, so the slope is the power of growth: 1 is proportional to the size, 0 constant.",
        "Fixed costs flatten the small sizes; the last step's slope shows them least. The scan's exact search is",
        "exponential in the number of attributes, which no straight line describes.",
        "",
        f"![Time and memory against size on logarithmic axes]({chart})",
        "",
        "| work | grows with | slope | last step | measured |",
        "|---|---|---:|---:|---|",
    ]
    for growth in growths:
        slopes = f"{growth.slope:.2f} | {growth.last_slope:.2f}"
        lines.append(f"| {growth.name} | {growth.axis} | {slopes} | {sizes_and_amounts(growth)} |")
    return [*lines, ""]


def growth_chart(growths: Sequence[Growth], path: Path) -> None:
    """One panel per axis and unit, so that lines are only compared with their like; the fullest is on top."""
    import altair

    from inside.results import finish

    panels: dict[tuple[str, str], list[Growth]] = {}
    for growth in growths:
        panels.setdefault((growth.axis, growth.unit), []).append(growth)
    (first, its_lines), *others = sorted(
        panels.items(), key=lambda item: (item[0][1] != "s", -len(item[1]), item[0][0])
    )
    drawn = [_panel(altair, *first, its_lines, width=904)]
    if others:
        small = [_panel(altair, *key, lines, width=400) for key, lines in others]
        grid = altair.concat(*small, columns=2, spacing={"row": 30, "column": 40})
        drawn.append(grid.resolve_scale(color="independent", shape="independent"))
    chart = altair.vconcat(*drawn, spacing=30).resolve_scale(color="independent", shape="independent")
    finish(chart).properties(background="white", padding=16).save(str(path))


def _panel(altair: Any, axis: str, unit: str, growths: Sequence[Growth], *, width: int) -> Any:
    """Lines with their slopes in the legend, and in time a dashed line that is proportional to the size."""
    from inside.results import CATEGORIES, COLOURS

    names = [
        f"{growth.name}: slope {growth.slope:.2f}, last step {growth.last_slope:.2f}" for growth in growths
    ]
    data = [
        {"work": name, "size": size, "value": value}
        for name, growth in zip(names, growths, strict=True)
        for size, value in points(growth)
    ]
    sizes = sorted({size for growth in growths for size in growth.sizes})
    values = [value for growth in growths for value in growth.seconds]
    low, high = min(values) / 1.6, max(values) * 1.6
    seconds = "datum.value >= 1 ? format(datum.value, '~g') + ' s' : format(datum.value * 1000, '~g') + ' ms'"
    x = altair.X(
        "size:Q",
        title=axis,
        scale=altair.Scale(type="log", domain=[sizes[0] / 1.12, sizes[-1] * 1.12], nice=False),
        axis=altair.Axis(values=sizes, format="," if sizes[-1] < 10_000 else "~s", grid=False),
    )
    y = altair.Y(
        "value:Q",
        title=None,
        scale=altair.Scale(type="log", domain=[low, high], nice=False),
        axis=altair.Axis(
            values=_ticks(low, high), labelExpr=seconds if unit == "s" else f"datum.value + ' {unit}'"
        ),
    )
    columns = 2 if width > 600 else 1
    legend = altair.Legend(
        orient="bottom",
        direction="vertical",
        columns=columns,
        title=None,
        labelLimit=width // columns,
        columnPadding=80,
    )
    shown = {
        "color": altair.Color(
            "work:N", scale=altair.Scale(domain=names, range=CATEGORIES[: len(names)]), legend=legend
        ),
        "shape": altair.Shape(
            "work:N", scale=altair.Scale(domain=names, range=SHAPES[: len(names)]), legend=legend
        ),
    }
    base = altair.Chart(altair.Data(values=data)).encode(x=x, y=y)
    lines = base.mark_line(strokeWidth=2).encode(color=shown["color"])
    marks = base.mark_point(size=60, filled=True, opacity=1).encode(**shown)
    layers = [lines, marks]
    told, under = "Time", "a search that is exponential in them"
    if unit == "s" and axis != "attributes":
        under = f"dashed: proportional to {axis}"
        each = min(growth.seconds[-1] / growth.sizes[-1] for growth in growths)
        ends = [{"size": size, "value": each * size} for size in (sizes[0], sizes[-1])]
        guide = altair.Chart(altair.Data(values=ends)).encode(x=x, y=y)
        layers.insert(0, guide.mark_line(strokeDash=[5, 4], color=COLOURS["faint"], clip=True))
    if unit != "s":
        told, under = "Peak memory", "of the whole process, Python and its libraries included"
    title = altair.TitleParams(f"{told} by {axis}", subtitle=under, subtitleColor=COLOURS["neutral"])
    return altair.layer(*layers).properties(width=width, height=250, title=title)


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten in reach; with less than two of them also their halves and fifths."""
    powers = [10.0**power for power in range(-7, 8)]
    tens = [power for power in powers if low <= power <= high]
    if len(tens) > 2:
        return tens
    return [step * power for power in powers for step in (1.0, 2.0, 5.0) if low <= step * power <= high]
