"""Charts of `tabulate`: one forest for each ratio or difference that the table has limits of."""

from __future__ import annotations

from typing import Any

from fairtrial._results.charts.axes import Unit
from fairtrial._results.charts.forest import MOST_LINES, ForestRow, forest, sized
from fairtrial._results.charts.picture import Picture
from fairtrial._results.charts.theme import finish
from fairtrial._results.column import scalar
from fairtrial._results.result import Result
from fairtrial._results.text import format_value

DRAWN = {"impact_ratio": "impact ratio", "ratio": "ratio", "difference": "difference"}


def pictures(result: Result) -> list[Picture]:
    """Impact ratios, ratios, then differences; one chart per quantity, so that no axis mixes units."""
    return [_picture(result, name, metrics) for name, metrics in _quantities(result)]


def _quantities(result: Result) -> list[tuple[str, list[str]]]:
    """Each drawn column with the metrics that share its axis."""
    chosen: list[tuple[str, list[str]]] = []
    for name in DRAWN:
        rows = [row for row in result.estimates if scalar(row.get(name)) is not None]
        metrics = list(dict.fromkeys(str(row["metric"]) for row in rows))
        if name == "difference":
            chosen += [(name, [metric]) for metric in metrics]
        elif metrics:
            chosen.append((name, metrics))
    return chosen


def _picture(result: Result, name: str, metrics: list[str]) -> Picture:
    rows = [row for row in result.estimates if row["metric"] in metrics and scalar(row.get(name)) is not None]
    several = len(metrics) > 1
    gap: Unit = "points" if rows[0]["value_kind"] == "percent" else "number"
    unit: Unit = gap if name == "difference" else "ratio"
    lines = [_line(result, row, name, several) for row in rows[:MOST_LINES]]
    told = DRAWN[name] if several else f"{metrics[0]}: {DRAWN[name]}"
    chart = forest(lines, title=told, unit=unit)
    level = f"{100 * result.details['confidence_level']:g}%"
    title = f"{told[:1].upper()}{told[1:]} with {level} intervals"
    title += " (dotted: four fifths)" if unit == "ratio" else ""
    if len(rows) > len(lines):
        title += f" (the first {len(lines)} of {len(rows)} lines)"
    words = f"{title}, per group. {result.verdict.text}"
    return Picture(f"{name}-{metrics[0]}", title, words, finish(sized(chart, lines)))


def _line(result: Result, row: dict[str, Any], name: str, several: bool) -> ForestRow:
    kind = "ratio" if name != "difference" else ("points" if row["value_kind"] == "percent" else "number")
    value = scalar(row[name])
    return ForestRow(
        label=f"{row['metric']}: {row['group']}" if several else str(row["group"]), panel="", estimate=value,
        low=scalar(row.get(f"{name}_low")), high=scalar(row.get(f"{name}_high")), n=int(scalar(row["n"]) or 0),
        state=result.state_of(row).text, text=format_value(value, kind),  # type: ignore[arg-type]
    )  # fmt: skip
