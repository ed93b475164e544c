"""Colours, type and ticks, once for all charts. Colours keep their meaning, for colour-blind readers too."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import altair as alt

# verdicts carry a shape besides the colour
COLOURS = {
    "violated": "#b3261e",
    "differs": "#b3261e",
    "harmed": "#b3261e",
    "favoured": "#2f5d9b",
    "flagged": "#b3261e",
    "certified": "#1b7f5c",
    "undetermined": "#8a6d1d",
    "measured": "#2f5d9b",
    "reference": "#20262e",
    "no violation shown": "#5b6470",
    "no difference shown": "#5b6470",
    "not tested": "#656c76",
    "neutral": "#5b6470",
    "accent": "#2f5d9b",
    "second": "#c46a12",
    "faint": "#c9ced6",
}
# one colour per group, in order
CATEGORIES = ["#2f5d9b", "#c46a12", "#1b7f5c", "#8b3f8f", "#b3261e", "#5b6470", "#7a8b1f", "#0f7c8a"]
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": "transparent",
    "padding": 14,  # room for a reader's font that is wider than the one the chart was measured with
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titleColor": "#5b6470",
        "labelColor": "#3c434c",
        "gridColor": "#e3e6ea",
        "domainColor": "#c9ced6",
        "tickColor": "#c9ced6",
        "labelLimit": 260,
        "labelSeparation": 10,
    },
    "legend": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 260,
        "columnPadding": 28,
    },
    "title": {"fontSize": 14, "fontWeight": 600, "anchor": "start", "color": "#20262e"},
    "header": {"labelFontSize": 12, "titleFontSize": 12, "labelFontWeight": 600},
    "range": {"category": CATEGORIES},
}


def inline(values: Iterable[Mapping[str, Any]]) -> Any:
    """Rows as a chart's data. Altair copies lists whenever charts are put together; a tuple it takes as it is."""
    import altair as alt

    return alt.Data(values=tuple(dict(row) for row in values))


def layered(*charts: Any, **settings: Any) -> Any:
    """Charts on top of each other. Altair copies every part of every layer each time charts are put together, which
    took most of a report's time; what is finished is handed on as it is."""
    import altair as alt
    from altair.utils.schemapi import SchemaBase

    for chart in charts:
        parts = chart._kwds.values() if isinstance(chart, alt.Chart) else ()
        for part in parts:
            if isinstance(part, SchemaBase):
                object.__setattr__(part, "__deepcopy__", lambda same: same)
    return alt.layer(*charts, **settings)


def finish(chart: Any, width: int | None = None, height: int | None = None) -> Any:
    """Size and theme; call it once, on the outermost chart."""
    sizes = {name: size for name, size in (("width", width), ("height", height)) if size is not None}
    if sizes:
        chart = chart.properties(**sizes)
    return chart.configure(**CONFIG)


# -- Ticks with as many digits as tell them apart; differences of rates in points, never in percent.

Unit = Literal["rate", "points", "ratio", "number"]
NEUTRAL: dict[Unit, float] = {"points": 0.0, "number": 0.0, "ratio": 1.0}  # of gaps; a rate has none
TICKS = 6
LINE = 32  # letters


def ends(values: Iterable[float | None], include: Iterable[float] = ()) -> tuple[float, float]:
    """The least and the largest of the values that are there, with what must be in view.

    >>> ends([0.2, None, 0.4], [0.0])
    (0.0, 0.4)
    """
    known = [*include, *(float(value) for value in values if value is not None and math.isfinite(value))]
    low, high = min(known, default=0.0), max(known, default=1.0)
    return (low, high) if high > low else (low - 0.05, high + 0.05)


def padded(low: float, high: float) -> tuple[float, float]:
    """With a little room, so that no mark stands on the edge; a rate or a ratio is never below zero."""
    room = 0.03 * (high - low)
    return (low - room if low < 0 or low > room else low, high + room)


def digits(span: float, unit: Unit) -> int:
    """Decimals at which neighbouring ticks differ: of 1% to 2%, one.

    >>> digits(0.5, "rate"), digits(0.012, "rate"), digits(0.012, "points"), digits(0.3, "ratio")
    (0, 1, 1, 2)
    """
    step = span / TICKS * (100.0 if unit in ("rate", "points") else 1.0)
    # ticks stand at 1, 2 or 5 times a power of ten near the step
    return max(0, -math.floor(math.log10(step))) if step > 0 else 0


def axis(span: float, unit: Unit, **settings: Any) -> alt.Axis:
    """An axis of this unit."""
    decimals = digits(span, unit)
    if unit == "points":
        text = f"format(100 * datum.value, '+.{decimals}f')"
        # zero has no sign
        words = f"datum.value == 0 ? '0' : {text}"
        return alt.Axis(labelExpr=words, tickCount=TICKS, **settings)
    form = f".{decimals}%" if unit == "rate" else "~g"
    return alt.Axis(format=form, tickCount=TICKS, **settings)


def titled(title: str, unit: Unit) -> str | list[str]:
    """The axis's title with its unit where the ticks do not show it; a long one in lines that a phone has room for."""
    text = f"{title} (points)" if unit == "points" else title
    return text if len(text) <= LINE else textwrap.wrap(text, LINE)
