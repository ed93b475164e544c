"""Charts of `flag`: the forest of tested groups, and the tree of intersections with flagged ones marked."""

from __future__ import annotations

from typing import Any

import altair as alt

from fairtrial.methods.gaps.chart import gap_rows, line_label
from fairtrial.results.charts.picture import Picture
from fairtrial.results.charts.theme import COLOURS, finish
from fairtrial.results.column import scalar
from fairtrial.results.result import Result
from fairtrial.results.text import format_value

# More lines than this do not fit a page; the strongest are shown and the rest counted.
MOST_LINES = 60
MOST_TILES = 400


def pictures(result: Result) -> list[Picture]:
    """Forest first; then one grid per set of attributes, small groups greyed."""
    return [_forest(result), *_grids(result)]


def _forest(result: Result) -> Picture:
    from fairtrial.results.charts.forest import forest

    details = result.details
    percent = details["value_kind"] == "percent"
    tested = [row for row in result.estimates if scalar(row["p_value"]) is not None]
    shown = sorted(tested, key=lambda row: float(row["p_adjusted"]))[:MOST_LINES]
    shown.sort(key=lambda row: -_size(row))
    rows = [
        line
        for row in shown
        for line in gap_rows(row, percent, result.state_of(row).text, line_label(row, details))
    ]
    low, high = details["tolerance"]
    band = (low, high) if low < high and details.get("scale", "difference") == "difference" else None
    axis = f"{details['label']}: difference to {details['target']}"
    chart = forest(rows, axis=axis, percent=percent, zero=True, band=band).properties(
        width=460, height=alt.Step(20)
    )
    title = f"Disparities with {100 * details['confidence_level']:g}% intervals, {details['flagged']} flagged"
    if len(tested) > len(shown):
        title += f" (the {len(shown)} smallest p-values of {len(tested)})"
    return Picture("disparities", title, f"Disparity per group. {result.verdict.text}", finish(chart))


def _size(row: dict[str, Any]) -> float:
    """The gap, or the largest that is possible."""
    known = scalar(row["difference"])
    return float(scalar(row["difference_most"]) if known is None else known)


def _grids(result: Result) -> list[Picture]:
    """One tile per group: single attributes as rows of tiles, pairs as grids, deeper ones faceted."""
    tiles = [
        _tile(result, row, place)
        for row, place in zip(result.estimates, result.details["places"], strict=True)
    ]
    tiles = tiles[:MOST_TILES]
    panels: dict[str, list[dict[str, Any]]] = {}
    for tile in tiles:
        panels.setdefault(str(tile["panel"]), []).append(tile)
    if not panels:
        return []
    sizes = [abs(tile["disparity"]) for tile in tiles if tile["disparity"] is not None]
    charts = [_panel(name, rows, max(sizes, default=0.0) or 1.0) for name, rows in panels.items()]
    chart = alt.vconcat(*charts, spacing=18)
    title = "Groups and intersections: flagged ones outlined, untested ones grey"
    text = f"Tiles per group, coloured by disparity. {result.verdict.text}"
    return [Picture("intersections", title, text, finish(chart))]


def _tile(result: Result, row: dict[str, Any], place: list[list[str]]) -> dict[str, Any]:
    names, values = [pair[0] for pair in place], [pair[1] for pair in place]
    percent = result.details["value_kind"] == "percent"
    cut = result.details.get("cuts", {}).get(row["metric"])
    disparity = scalar(row["difference"])
    state = result.state_of(row).text
    kind: Any = "points" if percent else "number"
    return {
        "panel": " × ".join(names)
        + (f", {row.get('metric_label') or cut}" if row.get("metric_label") or cut else ""),
        "column": values[-1],
        "line": ", ".join(values[:-1]) if len(values) > 1 else names[0],
        "group": str(row["group"]),
        "n": int(row["n"]),
        "people": f"n {int(row['n']):,}",
        "disparity": disparity,
        "text": format_value(disparity, kind) if disparity is not None else "–",
        "interval": _interval(row, kind),
        "state": state,
        "p": format_value(scalar(row["p_adjusted"]), "p"),
    }


def _interval(row: dict[str, Any], kind: Any) -> str:
    low, high = scalar(row["difference_low"]), scalar(row["difference_high"])
    return "–" if low is None or high is None else f"{format_value(low, kind)} to {format_value(high, kind)}"


def _panel(name: str, rows: list[dict[str, Any]], largest: float) -> Any:
    columns, lines = sorted({row["column"] for row in rows}), sorted({row["line"] for row in rows})
    gap = alt.Scale(paddingInner=0.06, paddingOuter=0.03)
    top = alt.Axis(orient="top", labelAngle=0, labelLimit=110, domain=False, ticks=False)
    # A single attribute needs no name beside its only line: the panel's title says it.
    side = alt.Axis(domain=False, ticks=False, labels=len(lines) > 1 or "×" in name)
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("column:N", sort=columns, title=None, axis=top, scale=gap),
        y=alt.Y("line:N", sort=lines, title=None, axis=side, scale=gap),
        tooltip=[
            alt.Tooltip("group:N", title="group"),
            alt.Tooltip("n:Q", title="n", format=","),
            alt.Tooltip("text:N", title="disparity"),
            alt.Tooltip("interval:N", title="interval"),
            alt.Tooltip("p:N", title="adjusted p"),
            alt.Tooltip("state:N", title="finding"),
        ],
    )
    scale = alt.Scale(
        domain=[-largest, 0, largest],
        range=[COLOURS["accent"], "#f7f7f5", COLOURS["second"]],
        clamp=True,
        interpolate="rgb",
    )
    grey = base.transform_filter("datum.disparity == null").mark_rect(fill="#eceef0", cornerRadius=3)
    filled = base.transform_filter("datum.disparity != null").mark_rect(cornerRadius=3)
    filled = filled.encode(fill=alt.Fill("disparity:Q", scale=scale, legend=None))
    marked = base.transform_filter("datum.state == 'flagged'").mark_rect(
        fill=None, stroke=COLOURS["flagged"], strokeWidth=3, cornerRadius=3
    )
    ink = (
        f"datum.disparity == null ? '{COLOURS['not tested']}' : "
        f"(abs(datum.disparity) > {0.55 * largest} ? '#ffffff' : '#20262e')"
    )
    colour = alt.Color("ink:N", scale=None)
    written = base.transform_calculate(ink=ink)
    number = written.mark_text(dy=-6, fontSize=13, fontWeight=600).encode(text="text:N", color=colour)
    people = written.mark_text(dy=9, fontSize=10).encode(text="people:N", color=colour)
    tiles = alt.layer(grey, filled, marked, number, people)
    return tiles.properties(title=f"by {name}", width=alt.Step(108), height=alt.Step(46))
