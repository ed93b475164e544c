"""What the charts of explain share: lines with their texts, axes, the line of zero, whiskers."""

from __future__ import annotations

import textwrap
from typing import Any

import altair as alt

from fairtrial.results.charts.theme import COLOURS, finish
from fairtrial.results.column import scalar
from fairtrial.results.result import Result

INK = "#20262e"
WIDTH = 520
ROW = 34


def is_percent(result: Result) -> bool:
    return bool(result.details["value_kind"] == "percent")


def signed(result: Result, value: float) -> str:
    """As texts show a difference: in points where values are shares."""
    return f"{100 * value:+.1f}" if is_percent(result) else f"{value:+.3g}"


def drawn(result: Result, cell: Any) -> float | None:
    """As charts draw a difference: in points where values are shares."""
    value = scalar(cell)
    return None if value is None else (100.0 if is_percent(result) else 1.0) * float(value)


def in_points(result: Result) -> str:
    return ", in points" if is_percent(result) else ""


def line(result: Result, row: dict[str, Any], **named: Any) -> dict[str, Any]:
    """A difference with its interval as it is drawn and told, under the names given."""
    cells = {
        "value": row["difference"],
        "low": row["difference_low"],
        "high": row["difference_high"],
    }
    value, low, high = (scalar(cell) for cell in cells.values())
    text = "undefined" if value is None else signed(result, value)
    if value is not None and low is not None and high is not None:
        text += f" [{signed(result, low)}, {signed(result, high)}]"
    return {**named, **{name: drawn(result, cell) for name, cell in cells.items()}, "text": text}


def sentence(title: str, lines: list[dict[str, Any]]) -> str:
    """What a chart shows, for those who do not see it."""
    listed = "; ".join(f"{entry['feature']}, {entry['group']}: {entry['text']}" for entry in lines[:24])
    return f"{title}. {listed}{' …' if len(lines) > 24 else ''}"


def feature_axis(features: list[str], **more: Any) -> alt.Y:
    axis = alt.Axis(ticks=False, labelPadding=8, **more)
    return alt.Y("feature:N", sort=features, title=None, axis=axis)


def difference_axis() -> alt.Axis:
    return alt.Axis(format="+~g", tickCount=7)


def tooltips(**titles: str) -> list[alt.Tooltip]:
    """Texts by their field."""
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in titles.items()]


def whiskers(base: Any, axis: str) -> Any:
    """Intervals, where there are any."""
    known = base.transform_filter("datum.low != null")
    return known.mark_rule(color=INK, strokeWidth=1.5).encode(x=alt.X("low:Q", title=axis), x2="high:Q")


def zero_line(**mark: Any) -> Any:
    """No difference."""
    data = alt.Data(values=[{"x": 0}])
    return alt.Chart(data).mark_rule(color=COLOURS["neutral"], **mark).encode(x="x:Q")


def side_texts(base: Any) -> Any:
    """A text at the right edge of every line."""
    return base.mark_text(align="left", dx=6, fontSize=11, color=COLOURS["neutral"]).encode(
        x=alt.value(WIDTH), text="text:N"
    )


def only_text(text: str) -> Any:
    """A chart that says why there is none."""
    lines = textwrap.wrap(text, 90)
    rows = [{"text": part, "line": i} for i, part in enumerate(lines)]
    chart = alt.Chart(alt.Data(values=rows)).mark_text(
        align="left", fontSize=12, fontStyle="italic", color=COLOURS["neutral"], limit=640
    )
    place = alt.Y("line:O", axis=None)
    return finish(chart.encode(x=alt.value(4), y=place, text="text:N"), width=640, height=20 * len(lines))
