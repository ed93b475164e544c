"""The forest chart: one line per group, its estimate and interval, a mark for what it is compared with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict

import altair as alt

from fairtrial.results.charts.theme import COLOURS

SHAPES = {
    "violated": "diamond",
    "differs": "diamond",
    "harmed": "diamond",
    "favoured": "square",
    "flagged": "diamond",
    "certified": "circle",
    "undetermined": "triangle-up",
    "measured": "circle",
    "not tested": "cross",
    "reference": "square",
    "no violation shown": "circle",
    "no difference shown": "circle",
}


class ForestRow(TypedDict):
    """What the chart needs of one group."""

    label: str
    panel: str
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    state: str
    text: str


def both_ends(row: ForestRow, least: float, most: float) -> list[ForestRow]:
    """A group of which only the ends are known: a mark at each, and one line from limit to limit."""
    return [{**row, "estimate": least, "high": most}, {**row, "estimate": most, "low": least}]


def forest(
    rows: list[ForestRow],
    *,
    axis: str,
    percent: bool,
    zero: bool,
    band: tuple[float, float] | None = None,
    states: Iterable[str] | None = None,
) -> Any:
    """Estimates with intervals; `zero` draws the line of no difference, `band` the tolerance.

    Panels that share one legend give the `states` of all of them, so that a colour means the same in each.
    """
    data = alt.Data(values=[dict(row) for row in rows])
    order = list(dict.fromkeys(row["label"] for row in rows))
    y = alt.Y("label:N", sort=order, title=None)
    present = set(states) if states is not None else {row["state"] for row in rows}
    known = [state for state in SHAPES if state in present]
    states = [*known, *sorted(present - set(known))]
    scale = alt.Scale(domain=states, range=[COLOURS.get(state, COLOURS["neutral"]) for state in states])
    shapes = alt.Scale(domain=states, range=[SHAPES.get(state, "circle") for state in states])
    form = ".0%" if percent else "~g"
    x = alt.X("estimate:Q", title=axis, axis=alt.Axis(format=form), scale=alt.Scale(zero=False, nice=True))
    tooltip = [
        alt.Tooltip("label:N", title="group"),
        alt.Tooltip("text:N", title="estimate"),
        alt.Tooltip("n:Q", title="n", format=","),
        alt.Tooltip("state:N", title="verdict"),
    ]
    base = alt.Chart(data).transform_filter("datum.estimate != null").encode(y=y, tooltip=tooltip)
    intervals = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=axis), x2="high:Q", color=alt.Color("state:N", scale=scale, title=None)
    )
    points = base.mark_point(filled=True, size=90, opacity=1).encode(
        x=x,
        color=alt.Color("state:N", scale=scale, title=None),
        shape=alt.Shape("state:N", scale=shapes, title=None),
    )
    absent = (
        alt.Chart(data)
        .transform_filter("datum.estimate == null")
        .mark_text(align="left", color=COLOURS["not tested"], fontStyle="italic", fontSize=11)
        .encode(y=y, x=alt.value(4), text="text:N")
    )
    layers = [absent, intervals, points]
    if zero:
        line = alt.Chart(alt.Data(values=[{"x": 0}])).mark_rule(color=COLOURS["neutral"], strokeDash=[4, 3])
        layers.insert(0, line.encode(x="x:Q"))
    if band is not None:
        shade = alt.Chart(alt.Data(values=[{"low": band[0], "high": band[1]}]))
        layers.insert(
            0, shade.mark_rect(color=COLOURS["certified"], opacity=0.08).encode(x="low:Q", x2="high:Q")
        )
    return alt.layer(*layers)
