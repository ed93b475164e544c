"""The forest chart: one line per group, its estimate and interval, a mark for what it is compared with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NotRequired, TypedDict

import altair as alt

from fairtrial._results.charts.theme import (
    COLOURS,
    NEUTRAL,
    Unit,
    axis,
    ends,
    inline,
    layered,
    padded,
    titled,
)
from fairtrial._results.text import format_value

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
FOUR_FIFTHS = 0.8
MOST_LINES = 60  # more do not fit a page; the table has them
LONG = 25  # lines; of more than these each is lower, so that a sheet of paper holds all
HIGH, LOW = 24, 16  # pixels of a line
WIDTH = 460


class ForestRow(TypedDict):
    """What the chart needs of one group; `target` is the rate it is compared with, `beside` its unadjusted gap.

    `metric` is said where a chart has several.
    """

    label: str
    panel: str
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    state: str
    text: str
    target: NotRequired[float | None]
    beside: NotRequired[float | None]
    metric: NotRequired[str]


def both_ends(row: ForestRow, least: float, most: float) -> list[ForestRow]:
    """A group of which only the ends are known: a mark at each, and one line from limit to limit."""
    return [{**row, "estimate": least, "high": most}, {**row, "estimate": most, "low": least}]


def forest(
    rows: Sequence[ForestRow],
    *,
    title: str,
    unit: Unit,
    band: tuple[float, float] | None = None,
    states: Iterable[str] | None = None,
) -> Any:
    """Estimates with intervals; gaps with the line of none, `band` the tolerance, ratios with four fifths.

    Panels that share one legend give the `states` of all of them, so that a colour means the same in each.
    """
    order = list(dict.fromkeys(row["label"] for row in rows))
    y = alt.Y("label:N", sort=order, title=None)
    domain = _domain(rows, unit, band)
    x = alt.X(
        "estimate:Q", title=titled(title, unit), axis=axis(domain[1] - domain[0], unit, **side_of(order)),
        scale=alt.Scale(domain=list(domain), nice=False, zero=False),
    )  # fmt: skip
    data = inline(_drawable(row) for row in rows)
    layers = [*behind(domain, unit, band), *_marks(data, x, y, _states(rows, states))]
    if any(row.get("target") is not None for row in rows):
        layers.append(_extra(data, "target", y).mark_tick(thickness=2, size=16, color=COLOURS["neutral"]))
    if any(row.get("beside") is not None for row in rows):
        hollow = _extra(data, "beside", y).mark_point(
            filled=False, size=70, strokeWidth=1.5, color=COLOURS["neutral"]
        )
        layers.append(hollow)
    return layered(*layers)


def sized(chart: Any, rows: Iterable[ForestRow]) -> Any:
    """A forest, alone or with more drawn over it, as high as its lines need."""
    lines = len({row["label"] for row in rows})
    return chart.properties(width=WIDTH, height=alt.Step(HIGH if lines <= LONG else LOW))


def drawn_states(rows: Iterable[ForestRow]) -> set[str]:
    """The states that have a mark; a row without an estimate has words in place of one."""
    return {row["state"] for row in rows if row["estimate"] is not None}


def side_of(order: Sequence[str]) -> dict[str, str]:
    """Where the axis stands: above a chart that is longer than a screen."""
    return {"orient": "top"} if len(order) > LONG else {}


def _drawable(row: ForestRow) -> dict[str, Any]:
    """Without limits that no axis reaches."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }


def _domain(rows: Sequence[ForestRow], unit: Unit, band: tuple[float, float] | None) -> tuple[float, float]:
    """All intervals, with no gap (or the target) and the tolerance in view."""
    names = ("estimate", "low", "high", "target", "beside")
    values = [row.get(name) for row in rows for name in names]
    inside = [end for end in band or () if math.isfinite(end)]
    neutral = [NEUTRAL[unit]] if unit in NEUTRAL else []
    fifths = [FOUR_FIFTHS] if unit == "ratio" else []
    return padded(*ends(values, [*inside, *neutral, *fifths]))  # type: ignore[arg-type]


def _states(rows: Sequence[ForestRow], states: Iterable[str] | None) -> list[str]:
    present = set(states) if states is not None else drawn_states(rows)
    known = [state for state in SHAPES if state in present]
    return [*known, *sorted(present - set(known))]


def behind(domain: tuple[float, float], unit: Unit, band: tuple[float, float] | None) -> list[Any]:
    """The tolerance as a band, the lines of no gap and of four fifths."""
    layers = []
    if band is not None:
        low, high = max(band[0], domain[0]), min(band[1], domain[1])
        text = " to ".join(format_value(end, unit) if math.isfinite(end) else "no limit" for end in band)
        shade = alt.Chart(inline([{"low": low, "high": high, "words": "the tolerance", "text": text}]))
        layers.append(
            shade.mark_rect(color=COLOURS["certified"], opacity=0.12).encode(
                x=alt.X("low:Q"), x2=alt.X2("high:Q")
            )
        )
    lines = [(NEUTRAL[unit], [4, 3])] if unit in NEUTRAL else []
    lines += [(FOUR_FIFTHS, [1, 3])] if unit == "ratio" else []
    for at, dashes in lines:
        line = alt.Chart(inline([{"x": at}])).mark_rule(color=COLOURS["neutral"], strokeDash=dashes)
        layers.append(line.encode(x=alt.X("x:Q")))
    return layers


def _marks(data: Any, x: alt.X, y: alt.Y, states: list[str]) -> list[Any]:
    """Intervals, estimates, and words where there is neither."""
    scale = alt.Scale(domain=states, range=[COLOURS.get(state, COLOURS["neutral"]) for state in states])
    shapes = alt.Scale(domain=states, range=[SHAPES.get(state, "circle") for state in states])
    tooltip = [
        alt.Tooltip("label:N", title="group"),
        alt.Tooltip("text:N", title="estimate"),
        alt.Tooltip("n:Q", title="n", format=","),
        alt.Tooltip("state:N", title="verdict"),
    ]
    base = alt.Chart(data).transform_filter("datum.estimate != null").encode(y=y, tooltip=tooltip)
    intervals = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q"), x2=alt.X2("high:Q"), color=alt.Color("state:N", scale=scale, title=None)
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
        .encode(y=y, x=alt.XValue(4), text=alt.Text("text:N"))
    )
    return [points, intervals, absent]


def _extra(data: Any, name: str, y: alt.Y) -> Any:
    return alt.Chart(data).transform_filter(f"datum.{name} != null").encode(y=y, x=alt.X(f"{name}:Q"))
