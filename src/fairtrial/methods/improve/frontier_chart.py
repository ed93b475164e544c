"""The chart of the search: every candidate's gap and accuracy, and which of them stand out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from fairtrial.results.charts.theme import COLOURS, inline, layered

STANDS_FOR = ["tried", "tested", "least gap within the margin, not shown", "status quo"]


def frontier(details: Mapping[str, Any]) -> Any:
    """Every candidate's gap and accuracy out of fold; bars are one standard error of those that stand out."""
    points = _frontier_points(details)
    colours = [COLOURS["faint"], COLOURS["accent"], COLOURS["violated"], COLOURS["second"]]
    colour = alt.Color(
        "stands:N",
        title=None,
        scale=alt.Scale(domain=STANDS_FOR, range=colours),
        legend=alt.Legend(orient="top", columns=2, labelLimit=320),
    )
    shape = alt.Shape(
        "stands:N",
        title=None,
        scale=alt.Scale(domain=STANDS_FOR, range=["circle", "circle", "diamond", "square"]),
    )
    label = details["claim"]["accuracy_labels"][0]
    what = "impact ratio" if details["claim"]["scale"] == "ratio" else "gap"
    x = alt.X(
        "gap:Q", title=f"{what} in {details['claim']['fairness_labels'][0]}", scale=alt.Scale(zero=False)
    )
    y = alt.Y("accuracy:Q", title=f"{label}, everyone", scale=alt.Scale(zero=False))
    base = alt.Chart(inline(points))
    marks = base.mark_point(filled=True, size=70, opacity=0.9).encode(
        x=x,
        y=y,
        color=colour,
        shape=shape,
        tooltip=[
            alt.Tooltip("candidate:N", title="candidate"),
            alt.Tooltip("gap:Q", title=what, format=".4f"),
            alt.Tooltip("accuracy:Q", title=label, format=".4f"),
        ],
    )
    noted = base.transform_filter("datum.gap_low != null")
    across = noted.mark_rule(strokeWidth=1.2).encode(
        x=alt.X("gap_low:Q"), x2=alt.X2("gap_high:Q"), y=y, color=colour
    )
    up = noted.mark_rule(strokeWidth=1.2).encode(
        x=x, y=alt.Y("accuracy_low:Q"), y2=alt.Y2("accuracy_high:Q"), color=colour
    )
    title = alt.TitleParams(
        "out of fold, all rows",
        subtitle="bars: one standard error",
        fontSize=12,
        fontWeight="normal",
        offset=8,
        subtitleColor=COLOURS["neutral"],
        subtitleFontSize=11,
    )
    return layered(marks, across, up, title=title).properties(width=460, height=320)


def _frontier_points(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    least = details["least_discriminatory"]
    points = []
    for row in details["search"]:
        if row["gap"] is None or row["accuracy"] is None:
            continue
        stands = STANDS_FOR[1] if row["chosen"] else STANDS_FOR[0]
        if least is not None and row["candidate"] == least["candidate"]:
            stands = STANDS_FOR[2]
        points.append({**_point(row, bars=stands != STANDS_FOR[0]), "stands": stands})
    quo = details["search_status_quo"]
    points.append({**_point({"candidate": "status quo", **quo}, bars=False), "stands": STANDS_FOR[3]})
    return points


def _point(row: Mapping[str, Any], *, bars: bool) -> dict[str, Any]:
    point = {key: row[key] for key in ("candidate", "gap", "accuracy")}
    for name in ("gap", "accuracy"):
        error = row.get(f"{name}_error") if bars else None
        point[f"{name}_low"] = None if error is None else row[name] - error
        point[f"{name}_high"] = None if error is None else row[name] + error
    return point
