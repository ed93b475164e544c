"""Colours and type, once for all charts. Colours keep their meaning and are told apart by colour-blind readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

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
