"""Charts of `measure`: differences to the target, and the rates themselves."""

from __future__ import annotations

from typing import Any

import altair as alt

from fairtrial.methods.gaps.chart import ends_text, without_mirrors
from fairtrial.results.charts.axes import Unit
from fairtrial.results.charts.forest import ForestRow, both_ends, forest
from fairtrial.results.charts.picture import Picture
from fairtrial.results.charts.theme import finish
from fairtrial.results.column import scalar
from fairtrial.results.result import Result
from fairtrial.results.text import format_value, state_text

MOST_LINES = 60  # more do not fit a page; the table has them


def pictures(result: Result) -> list[Picture]:
    """Rates first: it is what was asked."""
    level = f"{100 * result.details['confidence_level']:g}%"
    names = list(dict.fromkeys(str(row["metric"]) for row in result.estimates))
    rates = _panels(result, names, difference=False)
    gaps = _panels(result, names, difference=True)
    found = [
        Picture(
            "rates",
            f"Rates with {level} intervals; bars: what they are compared with{_cut(result, names)}",
            f"Rate and interval per group. {result.verdict.text}",
            rates,
        )
    ]
    if any(scalar(row["difference_low"]) is not None for row in result.estimates):
        title = f"Differences with {level} intervals{_cut(result, names)}"
        found.append(
            Picture("differences", title, f"Difference to the target per group. {result.verdict.text}", gaps)
        )
    return found


def _panels(result: Result, names: list[str], *, difference: bool) -> Any:
    charts = []
    states = {
        result.state_of(row).text
        for row in result.estimates
        if not (difference and row["state"] == "reference")
    }
    for name in names:
        rows = _drawn(result, name, difference)
        percent = any(row["value_kind"] == "percent" for row in rows)
        unit: Unit = ("points" if difference else "rate") if percent else "number"
        label = str(result.details["labels"][name])
        chart = forest(
            [line for row in rows for line in _forest_rows(result, row, difference, percent)],
            title=f"difference in {label}" if difference else label,
            unit=unit,
            states=states,
        )
        charts.append(chart.properties(width=420, height=alt.Step(26)))
    return finish(alt.vconcat(*charts).resolve_scale(color="shared", shape="shared"))


def _drawn(result: Result, name: str, difference: bool) -> list[dict[str, Any]]:
    """The rows of one metric that fit a page, those with the smallest p-values where there are too many."""
    rows = [row for row in result.estimates if row["metric"] == name]
    if difference:
        rows = without_mirrors([row for row in rows if row["state"] != "reference"])
    if len(rows) <= MOST_LINES:
        return rows
    strongest = sorted(rows, key=lambda row: _p(row))[:MOST_LINES]
    chosen = {id(row) for row in strongest}
    return [row for row in rows if id(row) in chosen]


def _p(row: dict[str, Any]) -> float:
    value = scalar(row["p_value"])
    return 2.0 if value is None else float(value)


def _cut(result: Result, names: list[str]) -> str:
    """What a title says of rows that are left to the table."""
    most = max(sum(row["metric"] == name for row in result.estimates) for name in names)
    return f" (the {MOST_LINES} smallest p-values of {most:,} groups)" if most > MOST_LINES else ""


def _forest_rows(result: Result, row: dict[str, Any], difference: bool, percent: bool) -> list[ForestRow]:
    stem = "difference" if difference else "rate"
    estimate, low, high = (scalar(row[name]) for name in (stem, f"{stem}_low", f"{stem}_high"))
    kind: Any = ("points" if difference else "rate") if percent else "number"
    ends = scalar(row.get(f"{stem}_least")), scalar(row.get(f"{stem}_most"))
    known_ends = None not in ends and low is not None
    if known_ends:
        text = ends_text(*ends, low, high, kind)
    elif estimate is None:
        text = state_text(result, row)
    else:
        text = f"{format_value(estimate, kind)} ({format_value(low, kind)} to {format_value(high, kind)})"
    found = ForestRow(
        label=str(row["group"]), panel=str(row["metric"]), estimate=estimate, low=low, high=high,
        n=int(scalar(row["n"]) or 0), state=result.state_of(row).text, text=text,
        target=None if difference or estimate is None else scalar(row.get("target_rate")),
    )  # fmt: skip
    return both_ends(found, *ends) if known_ends else [found]
