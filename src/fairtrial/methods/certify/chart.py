"""Charts of `certify`: disparities against the tolerance, with intervals that hold alone and all at once."""

from __future__ import annotations

from typing import Any

import altair as alt

from fairtrial.methods.gaps.chart import gap_rows, line_label
from fairtrial.results.charts.forest import ForestRow, forest
from fairtrial.results.charts.picture import Picture
from fairtrial.results.charts.theme import COLOURS, finish
from fairtrial.results.column import scalar
from fairtrial.results.result import Result
from fairtrial.results.text import state_text


def pictures(result: Result) -> list[Picture]:
    """The forest of disparities; the shaded band is the tolerance."""
    details = result.details
    percent = details["value_kind"] == "percent"
    tolerance = details["tolerance"] or [None, None]
    shown = details.get("scale", "difference") == "difference" and None not in tolerance
    band = (tolerance[0], tolerance[1]) if shown else None
    rows = [
        line
        for row in result.estimates
        for line in gap_rows(row, percent, result.state_of(row).text, line_label(row, details))
    ]
    rows += [
        ForestRow(
            label=line_label(item, details), panel="", estimate=None, low=None, high=None, n=int(item["n"]),
            state="not tested", text=state_text(result, item),
        )
        for item in details["untested"]
    ]  # fmt: skip
    axis = f"{details['label']}: difference to {details['target']}"
    chart = alt.layer(
        _together(result, rows), forest(rows, axis=axis, percent=percent, zero=True, band=band)
    ).properties(width=460, height=alt.Step(28))
    level = f"{100 * details['confidence_level']:g}%"
    title = f"Disparities with {level} intervals (thick: each alone, thin: all at once)"
    shaded = " The shaded band is the tolerance." if band else ""
    return [
        Picture("disparities", title, f"Disparity per group.{shaded} {result.verdict.text}", finish(chart))
    ]


def _together(result: Result, rows: list[ForestRow]) -> Any:
    """The wider intervals that hold for all groups at once, drawn faintly behind."""
    values = [
        {
            "label": line_label(row, result.details),
            "low": scalar(row["together_low"]),
            "high": scalar(row["together_high"]),
        }
        for row in result.estimates
        if scalar(row["together_low"]) is not None and scalar(row["together_high"]) is not None
    ]
    order = list(dict.fromkeys(row["label"] for row in rows))
    return (
        alt.Chart(alt.Data(values=values))
        .mark_rule(strokeWidth=1, color=COLOURS["neutral"], opacity=0.7)
        .encode(y=alt.Y("label:N", sort=order, title=None), x=alt.X("low:Q"), x2="high:Q")
    )
