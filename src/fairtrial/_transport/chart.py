"""Charts of `transport`: rates before and after, and where on the way to the boundary the moved people are."""

from __future__ import annotations

from typing import Any

import altair as alt

from fairtrial._results.charts import Picture
from fairtrial._results.charts.theme import COLOURS, finish, inline, layered
from fairtrial._results.column import scalar
from fairtrial._results.result import Result
from fairtrial._results.text import format_value

_MOST_PANELS = 12


def pictures(result: Result) -> list[Picture]:
    """The rates first; then the signed distances, where there are any."""
    found = [_rates(result)]
    if result.details["histogram"]:
        found.append(_distances(result))
    return found


def _rates(result: Result) -> Picture:
    """A line from each group's rate now to its rate after the smallest change."""
    rows = [row for row in map(_rate_row, result.estimates) if row is not None]
    known = any(row["after"] is not None for row in rows)
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    panels = [_rate_panel([row for row in rows if row["metric"] == name], name, known) for name in metrics]
    title = "Rates now and after the smallest change" if known else "Rates now"
    chart = alt.vconcat(*panels, spacing=14).resolve_scale(x="shared", color="shared", shape="shared")
    return Picture("rates", title, f"{title}, per group. {result.verdict.text}", finish(chart))


def _rate_row(row: dict[str, Any]) -> dict[str, Any] | None:
    now, after = scalar(row["rate"]), scalar(row["rate_after"])
    if now is None:
        return None
    gained, lost = scalar(row["gained"]), scalar(row["lost"])
    moved = "" if gained is None or lost is None else f"{gained:.1f} gain, {lost:.1f} lose the decision"
    return {
        "metric": row["metric"],
        "group": row["group"],
        "now": now,
        "after": after,
        "n": int(row["n"]),
        "moved": moved,
        "change": "" if after is None else f"{format_value(now, 'rate')} → {format_value(after, 'rate')}",
        "rate_now": "now",
        "rate_after": "after the change",
    }


def _rate_panel(rows: list[dict[str, Any]], name: str, known: bool) -> Any:
    base = alt.Chart(inline(rows), title=name)
    tooltip = _rate_tooltip(known)
    if not known:
        return _rate_size(_dots(base, ("now", "rate_now"), 90, tooltip))
    way = base.mark_rule(color=COLOURS["faint"], strokeWidth=3).encode(
        x=alt.X("now:Q"), x2=alt.X2("after:Q"), y=_group_axis()
    )
    words = (
        base.mark_text(align="left", dx=12, color=COLOURS["neutral"], fontSize=11)
        .transform_calculate(end="max(datum.now, datum.after)")
        .encode(x=alt.X("end:Q"), y=_group_axis(), text=alt.Text("change:N"))
    )
    dots = _dots(base, ("now", "rate_now"), 90, tooltip), _dots(base, ("after", "rate_after"), 110, tooltip)
    return _rate_size(way, *dots, words)


def _rate_size(*layers: Any) -> Any:
    return layered(*layers).properties(width=460, height=alt.Step(28))


def _group_axis() -> Any:
    return alt.Y("group:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False))


def _rate_tooltip(known: bool) -> list[Any]:
    tooltip = [
        alt.Tooltip("group:N", title="group"),
        alt.Tooltip("n:Q", title="people", format=","),
        alt.Tooltip("now:Q", title="rate now", format=".1%"),
    ]
    if known:
        tooltip += [
            alt.Tooltip("after:Q", title="rate after", format=".1%"),
            alt.Tooltip("moved:N", title="moved"),
        ]
    return tooltip


def _dots(base: Any, fields: tuple[str, str], size: int, tooltip: list[Any]) -> Any:
    """A dot per group; `fields` are the rate and the words that say which one it is."""
    rate, words = fields
    kinds, legend = ["now", "after the change"], alt.Legend(orient="top")
    colour = alt.Scale(domain=kinds, range=[COLOURS["second"], COLOURS["accent"]])
    shape = alt.Scale(domain=kinds, range=["circle", "diamond"])
    axis = alt.Axis(format="%", tickCount=6, gridOpacity=0.6)
    return base.mark_point(filled=True, size=size, opacity=1).encode(
        x=alt.X(f"{rate}:Q", title="rate", axis=axis, scale=alt.Scale(zero=False, padding=16)),
        y=_group_axis(),
        color=alt.Color(f"{words}:N", scale=colour, title=None, legend=legend),
        shape=alt.Shape(f"{words}:N", scale=shape, title=None, legend=legend),
        tooltip=tooltip,
    )


def _distances(result: Result) -> Picture:
    """Signed distances per group: grey stays, colour moves; zero is the boundary."""
    bins = result.details["histogram"]
    panels: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in bins:
        panels.setdefault((row["metric"], row["group"]), []).append(row)
    several = len({metric for metric, _ in panels}) > 1
    unit = result.details["distance"]["unit"]
    low, high = min(row["low"] for row in bins), max(row["high"] for row in bins)
    charts = [
        _histogram(rows, f"{group}: {metric}" if several else group, unit, (low, high))
        for (metric, group), rows in list(panels.items())[:_MOST_PANELS]
    ]
    chart = alt.concat(
        *charts, columns=2 if len(charts) > 2 else 1, spacing={"row": 70, "column": 60}
    ).resolve_scale(x="shared", color="shared")
    chart = chart.properties(bounds="flush", align="all")
    title = "How far from the boundary, and who moves"
    words = "Histogram of signed distances to the decision boundary per group, the moved part coloured."
    if len(charts) < len(panels):
        words += f" The first {len(charts)} of {len(panels)} groups are shown."
    return Picture("distances", title, words, finish(chart))


def _histogram(rows: list[dict[str, Any]], title: str, unit: str, span: tuple[float, float]) -> Any:
    words = {"stays_words": "stays", "moves_words": "moves across"}
    bins = [{name: row[name] for name in ("low", "high", "count", "moved")} | words for row in rows]
    base = alt.Chart(inline(bins), title=title)
    axis = alt.X(
        "low:Q",
        bin="binned",
        title=f"signed distance ({unit}; below 0: decision 0)",
        scale=alt.Scale(domain=list(span)),
    )
    boundary = (
        alt.Chart(inline([{"at": 0}]))
        .mark_rule(color=COLOURS["violated"], strokeDash=[4, 3], strokeWidth=1.5)
        .encode(x=alt.X("at:Q"))
    )
    bars = _bars(base, axis, "count", "stays_words"), _bars(base, axis, "moved", "moves_words")
    return layered(*bars, boundary).properties(width=360, height=140)


def _bars(base: Any, axis: Any, height: str, words: str) -> Any:
    colour = alt.Scale(domain=["stays", "moves across"], range=[COLOURS["faint"], COLOURS["accent"]])
    return base.mark_bar(binSpacing=0.5).encode(
        x=axis,
        x2=alt.X2("high:Q"),
        y=alt.Y(f"{height}:Q", title="people", axis=alt.Axis(tickCount=4)),
        color=alt.Color(f"{words}:N", scale=colour, title=None, legend=alt.Legend(orient="top")),
        tooltip=[
            alt.Tooltip("low:Q", title="from", format=".3g"),
            alt.Tooltip("high:Q", title="to", format=".3g"),
            alt.Tooltip("count:Q", title="people", format=","),
            alt.Tooltip("moved:Q", title="of them move", format=".1f"),
        ],
    )
