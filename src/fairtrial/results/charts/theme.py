"""Colours and type, once for all charts. Colours keep their meaning and are told apart by colour-blind readers."""

from __future__ import annotations

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
    "reference": "#2f5d9b",
    "no violation shown": "#5b6470",
    "no difference shown": "#5b6470",
    "not tested": "#8d939c",
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


def finish(chart: Any, width: int | None = None, height: int | None = None) -> Any:
    """Size and theme; call it once, on the outermost chart."""
    sizes = {name: size for name, size in (("width", width), ("height", height)) if size is not None}
    if sizes:
        chart = chart.properties(**sizes)
    return chart.configure(**CONFIG)
