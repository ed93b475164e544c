"""Charts of `certify`: disparities against the tolerance, with intervals that hold alone and all at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from fairtrial._compare.chart import (
    cut_words,
    fitting,
    gap_band,
    gap_rows,
    gap_title,
    gap_unit,
    legend_words,
    line_label,
    without_mirrors,
)
from fairtrial._results.charts.axes import Unit
from fairtrial._results.charts.forest import MOST_LINES, ForestRow, forest, sized
from fairtrial._results.charts.picture import Picture
from fairtrial._results.charts.theme import COLOURS, finish, inline, layered
from fairtrial._results.column import scalar
from fairtrial._results.result import Result
from fairtrial._results.text import interval_text, state_text


def pictures(result: Result) -> list[Picture]:
    """The forest of disparities; the shaded band is the tolerance."""
    details = result.details
    unit, band = gap_unit(details), gap_band(details)
    told_once = without_mirrors(result.estimates)
    rows = [
        line
        for row in fitting(told_once)
        for line in gap_rows(row, unit, result.state_of(row, _judged(row)).text, line_label(row, details))
    ]
    rows += [
        ForestRow(
            label=line_label(item, details), panel="", estimate=None, low=None, high=None, n=int(item["n"]),
            state="not tested", text=state_text(result, item),
        )
        for item in details["untested"][: max(0, MOST_LINES - len(rows))]
    ]  # fmt: skip
    drawn = forest(rows, title=gap_title(details, unit), unit=unit, band=band)
    chart = sized(layered(drawn, _together(result, rows, unit)), rows)
    level = f"{100 * details['confidence_level']:g}%"
    told = "; ".join(filter(None, ("thick: each alone, thin: all at once", legend_words(rows, unit, band))))
    title = f"Disparities with {level} intervals ({told}){cut_words(len(told_once))}"
    return [Picture("disparities", title, f"Disparity per group. {result.verdict.text}", finish(chart))]


def _judged(row: Mapping[str, Any]) -> str:
    """The column whose state is drawn: that of all groups at once, as in the verdict, where there is one."""
    return "state" if row.get("family_state") is None else "family_state"


def _together(result: Result, rows: list[ForestRow], unit: Unit) -> Any:
    """The wider intervals that hold for all groups at once, drawn faintly."""
    low, high = (f"{'ratio_' if unit == 'ratio' else ''}together_{end}" for end in ("low", "high"))
    order = list(dict.fromkeys(row["label"] for row in rows))
    values = [
        {
            "label": line_label(row, result.details),
            "low": scalar(row[low]),
            "high": scalar(row[high]),
            "text": f"all at once {interval_text(scalar(row[low]), scalar(row[high]), unit)}",
        }
        for row in result.estimates
        if scalar(row.get(low)) is not None and scalar(row.get(high)) is not None
    ]
    values = [value for value in values if value["label"] in order]
    return (
        alt.Chart(inline(values))
        .mark_rule(strokeWidth=1, color=COLOURS["neutral"], opacity=0.7)
        .encode(y=alt.Y("label:N", sort=order, title=None), x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    )
