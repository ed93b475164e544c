"""Charts of `measure`: differences to the target, and the rates themselves."""

from __future__ import annotations

from typing import Any

import altair as alt

from fairtrial._compare.chart import cut_words, ends_text, fitting, without_mirrors
from fairtrial._results.charts.axes import Unit
from fairtrial._results.charts.forest import ForestRow, both_ends, drawn_states, forest, sized
from fairtrial._results.charts.picture import Picture
from fairtrial._results.charts.theme import finish
from fairtrial._results.column import scalar
from fairtrial._results.result import Result
from fairtrial._results.text import format_value, state_text


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
    kinds = {str(row["metric"]): row["value_kind"] for row in result.estimates}
    panels = {
        name: [
            line
            for row in _drawn(result, name, difference)
            for line in _forest_rows(result, row, difference, len(names) > 1)
        ]
        for name in names
    }
    states = drawn_states(line for lines in panels.values() for line in lines)
    charts = []
    for name, lines in panels.items():
        percent: Unit = "points" if difference else "rate"
        label = str(result.details["labels"][name])
        chart = forest(
            lines,
            title=f"difference in {label}" if difference else label,
            unit=percent if kinds[name] == "percent" else "number",
            states=states,
        )
        charts.append(sized(chart, lines))
    return finish(alt.vconcat(*charts).resolve_scale(color="shared", shape="shared"))


def _drawn(result: Result, name: str, difference: bool) -> list[dict[str, Any]]:
    """The rows of one metric that are drawn."""
    rows = [row for row in result.estimates if row["metric"] == name]
    if difference:
        rows = without_mirrors([row for row in rows if row["state"] != "reference"])
    return fitting(rows)


def _cut(result: Result, names: list[str]) -> str:
    return cut_words(max(sum(row["metric"] == name for row in result.estimates) for name in names))


def _forest_rows(result: Result, row: dict[str, Any], difference: bool, several: bool) -> list[ForestRow]:
    percent = row["value_kind"] == "percent"
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
        metric=str(result.details["labels"][str(row["metric"])]) if several else "",
    )  # fmt: skip
    return both_ends(found, *ends) if known_ends else [found]
