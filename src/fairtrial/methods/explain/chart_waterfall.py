"""The waterfall from one group's rate to another's, a step per feature."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import altair as alt

from fairtrial.methods.explain.chart_parts import (
    INK,
    ROW,
    WIDTH,
    is_percent,
    only_text,
    signed,
    tooltips,
    whiskers,
)
from fairtrial.results.charts.picture import Picture
from fairtrial.results.charts.theme import COLOURS, finish
from fairtrial.results.column import reason, scalar
from fairtrial.results.result import Result

UP, DOWN, END = "adds to the gap", "takes from the gap", "rate"


def waterfall(result: Result) -> Picture:
    """From the compared group's rate to the group's, over the gap that is largest."""
    gap = largest_gap(result)
    group, target = gap["group"], gap["target"]
    title = f"From {target} to {group}: which features carry the gap in {result.details['label']}"
    steps = _steps(result, group, target)
    if not steps:
        why = _reason(result)
        return Picture("waterfall", title, f"No waterfall: {why}", only_text(why))
    listed = "; ".join(f"{step['label']} {step['text']}" for step in steps)
    chart = finish(_layers(result, steps), width=WIDTH, height=ROW * len(steps))
    return Picture("waterfall", title, f"Waterfall from {target} to {group}: {listed}.", chart)


def largest_gap(result: Result) -> dict[str, Any]:
    gaps = [row for row in result.estimates if row["part"] == "gap"]
    return max(gaps, key=lambda row: abs(scalar(row["difference"]) or 0.0))


def _reason(result: Result) -> str:
    found = [why for row in result.estimates if (why := reason(row["difference"]))]
    return found[0] if found else "the contributions are undefined"


# -- steps -----------------------------------------------------------------------------------------------------------
def _steps(result: Result, group: str, target: str) -> list[dict[str, Any]]:
    """The lower end, one step per feature in falling order, the upper end."""
    rates = {entry["group"]: scalar(entry["rate"]) for entry in result.details["groups"]}
    rows = [
        row
        for row in result.estimates
        if row["part"] == "contribution to the gap" and (row["group"], row["target"]) == (group, target)
    ]
    start, stop = rates.get(target), rates.get(group)
    if start is None or stop is None or any(scalar(row["difference"]) is None for row in rows):
        return []
    sign = 1.0 if stop >= start else -1.0
    rows.sort(key=lambda row: -sign * row["difference"])
    steps = [_end(result, target, start)]
    level = start
    for row in rows:
        steps.append(_step(result, row, level, sign))
        level += row["difference"]
    return [*steps, _end(result, group, stop)]


def _step(result: Result, row: dict[str, Any], level: float, sign: float) -> dict[str, Any]:
    """One feature's bar from the level reached before it."""
    difference = row["difference"]
    after, low, high = level + difference, scalar(row["difference_low"]), scalar(row["difference_high"])
    return {
        "label": row["feature"], "start": level, "end": after, "what": UP if sign * difference >= 0 else DOWN,
        "low": None if low is None else level + low, "high": None if high is None else level + high,
        "right": max(level, after, level + high if high is not None else after), "text": signed(result, difference),
    }  # fmt: skip


def _end(result: Result, label: str, rate: float) -> dict[str, Any]:
    text = f"{100 * rate:.1f}%" if is_percent(result) else f"{rate:.3g}"
    shown = f"{label} (rate)" if label in result.details["features"] else label
    return {
        "label": shown, "start": 0.0, "end": rate, "what": END, "low": None, "high": None, "right": rate, "text": text,
    }  # fmt: skip


def _links(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A thin line from the end of each bar to the next one's start."""
    return [
        {"link": i, "x": first["end"], "label": step["label"]}
        for i, (first, second) in enumerate(pairwise(steps))
        for step in (first, second)
    ]


# -- drawing ---------------------------------------------------------------------------------------------------------
def _layers(result: Result, steps: list[dict[str, Any]]) -> Any:
    axis, order = str(result.details["label"]), [step["label"] for step in steps]
    y = alt.Y("label:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8))
    base = alt.Chart(alt.Data(values=steps)).encode(y=y, tooltip=tooltips(label="step", text="points"))
    links = (
        alt.Chart(alt.Data(values=_links(steps)))
        .mark_line(color=COLOURS["faint"], strokeWidth=1)
        .encode(x=alt.X("x:Q", title=axis), y=alt.Y("label:N", sort=order), detail="link:N")
    )
    known = base.transform_filter("datum.low != null")
    caps = [
        known.mark_tick(thickness=1.5, size=9, color=INK).encode(x=alt.X(f"{side}:Q", title=axis))
        for side in ("low", "high")
    ]
    numbers = base.mark_text(align="left", dx=8, fontSize=12, color=INK).encode(
        x=alt.X("right:Q", title=axis), text="text:N"
    )
    return alt.layer(links, _bars(result, base, axis), whiskers(base, axis), *caps, numbers)


def _bars(result: Result, base: Any, axis: str) -> Any:
    colours = alt.Scale(
        domain=[END, UP, DOWN], range=[COLOURS["neutral"], COLOURS["second"], COLOURS["accent"]]
    )
    x = alt.X(
        "start:Q",
        title=axis,
        axis=alt.Axis(format=".0%" if is_percent(result) else "~g", tickCount=7),
        scale=alt.Scale(zero=False, nice=True),
    )
    colour = alt.Color("what:N", scale=colours, title=None, legend=alt.Legend(orient="bottom"))
    return base.mark_bar(height=18, cornerRadius=1).encode(x=x, x2="end:Q", color=colour)
