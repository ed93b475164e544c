"""Charts of `scan`: which values make the subgroup, and how its score compares with luck."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from fairtrial._results.charts import Picture
from fairtrial._results.charts.theme import COLOURS, finish, inline, layered
from fairtrial._results.column import scalar
from fairtrial._results.result import Result

INSIDE, OUTSIDE = "in the subgroup", "left out"
EXPECTED = "expected"
TICK = "M-0.16,-1.1L0.16,-1.1L0.16,1.1L-0.16,1.1Z"  # an upright bar, as a path in the unit square
WIDTH = 430


def scan_pictures(result: Result, best: Mapping[str, Any] | None) -> list[Picture]:
    """The subgroup first; then the null distribution, when one was drawn and the best subgroup may be shown."""
    found = [_subgroup(result)]
    if "null_histogram" in result.details and best is not None:
        found.append(_luck(result.details, float(best["score"])))
    return found


def _subgroup(result: Result) -> Picture:
    details = result.details
    names = list(dict.fromkeys(str(row["attribute"]) for row in details["values"]))
    panels = [_panel(result, name, last=name == names[-1]) for name in names]
    if panels:
        chart = alt.vconcat(*panels, spacing=10).resolve_scale(x="shared", color="shared", shape="shared")
    else:
        chart = _nothing("no features: the subgroup is the whole class")
    alternative = f"Rates per value of each feature, within the subgroup found. {result.verdict.text}"
    return Picture("subgroup", "The subgroup, value by value", alternative, finish(chart))


def _panel(result: Result, name: str, *, last: bool) -> Any:
    """One feature: for each of its values the class's rate, what was expected, and the others' rate."""
    details = result.details
    rows = [_value_row(row) for row in details["values"] if row["attribute"] == name]
    y = alt.Y(
        "label:N",
        sort=[row["label"] for row in rows],
        title=None,
        axis=alt.Axis(minExtent=180, maxExtent=180, labelLimit=170),
    )
    x = alt.X(
        "expected:Q",
        title=details["label"] if last else None,
        axis=alt.Axis(format="%", tickCount=6, labels=last, ticks=last, domain=last),
        scale=alt.Scale(zero=False, nice=True),
    )
    gap = (
        alt.Chart(inline([row for row in rows if None not in (row["rate"], row["expected"])]))
        .mark_rule(strokeWidth=4, color=COLOURS["violated"])
        .encode(y=y, x=x, x2=alt.X2("rate:Q"), opacity=_fade(0.3, 0.1))
    )
    layers = layered(gap, _points(details, rows, y)).resolve_scale(opacity="independent")
    return layers.properties(title=_panel_title(name, rows), width=WIDTH, height=alt.Step(22))


def _points(details: Mapping[str, Any], rows: list[dict[str, Any]], y: alt.Y) -> Any:
    protected, others = str(details["protected"]), str(details["target"])
    legend = [protected, EXPECTED, others]
    colours = alt.Scale(domain=legend, range=[COLOURS["violated"], COLOURS["neutral"], COLOURS["accent"]])
    shapes = alt.Scale(domain=legend, range=["diamond", TICK, "circle"])
    marks = [
        {**row, "who": who, "mark": row[field], "people": row[count]}
        for row in rows
        for who, field, count in (
            (EXPECTED, "expected", "n"), (others, "target_rate", "target_n"), (protected, "rate", "n"),
        )
        if row[field] is not None
    ]  # fmt: skip
    return (
        alt.Chart(inline(marks))
        .mark_point(filled=True, size=95)
        .encode(
            y=y,
            x=alt.X("mark:Q"),
            color=alt.Color("who:N", scale=colours, title=None, legend=alt.Legend(orient="top")),
            shape=alt.Shape("who:N", scale=shapes, title=None),
            opacity=_fade(1.0, 0.3),
            tooltip=[
                alt.Tooltip("attribute:N", title="feature"),
                alt.Tooltip("value:N", title="value"),
                alt.Tooltip("place:N", title="this value is"),
                alt.Tooltip("who:N", title="who"),
                alt.Tooltip("mark:Q", title="rate", format=".1%"),
                alt.Tooltip("people:Q", title="n", format=","),
            ],
        )
    )


def _panel_title(name: str, rows: list[dict[str, Any]]) -> alt.TitleParams:
    chosen = _short(", ".join(str(row["value"]) for row in rows if row["inside"]), 60)
    left = f" ({len(rows)} of {rows[0]['of']} values shown)" if rows[0]["of"] > len(rows) else ""
    text = f"{name}: {chosen if rows[0]['restricted'] else 'all values'}{left}"
    return alt.TitleParams(text, fontSize=12, frame="bounds", offset=6)


def _value_row(row: dict[str, Any]) -> dict[str, Any]:
    """Filled and empty circles before the labels tell the values apart without colour."""
    place, sign = (INSIDE, "●") if row["inside"] else (OUTSIDE, "○")
    return {**row, "place": place, "label": f"{sign} {row['value']}"}


def _fade(inside: float, outside: float) -> alt.Opacity:
    scale = alt.Scale(domain=[INSIDE, OUTSIDE], range=[inside, outside])
    return alt.Opacity("place:O", scale=scale, title=None, legend=None)


def _short(text: str, most: int = 70) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _luck(details: Mapping[str, Any], observed: float) -> Picture:
    """The best scores when the class does not matter, and the one observed."""
    draws = int(details["null_draws"])
    bars = (
        alt.Chart(inline(details["null_histogram"]))
        .mark_bar(color=COLOURS["faint"], binSpacing=1)
        .encode(
            x=alt.X("low:Q", title="best score of the whole search", axis=alt.Axis(grid=False), bin="binned"),
            x2=alt.X2("high:Q"),
            y=alt.Y("draws:Q", title=f"of {draws:,} draws"),
            tooltip=[
                alt.Tooltip("low:Q", title="score from", format=".2f"),
                alt.Tooltip("highest:Q", title="to", format=".2f"),
                alt.Tooltip("draws:Q", title="draws", format=","),
            ],
        )
    )
    alternative = f"Histogram of the best score in {draws:,} draws; the observed one is {observed:.2f}."
    chart = finish(layered(bars, _limits(details, observed)), width=WIDTH + 90, height=190)
    return Picture("luck", "Could it be luck?", alternative, chart)


def _limits(details: Mapping[str, Any], observed: float) -> Any:
    """The observed score, and the one that few draws reach."""
    critical = float(details["null_critical"])
    level = f"{100 * details['confidence_level']:g}% of draws are below"
    lines: list[dict[str, Any]] = [
        {"x": critical, "what": f"{level} {critical:.1f}"},
        {"x": observed, "what": f"observed {observed:.1f}"},
    ]
    scale = alt.Scale(
        domain=[str(line["what"]) for line in lines], range=[COLOURS["neutral"], COLOURS["violated"]]
    )
    return (
        alt.Chart(inline(lines))
        .mark_rule(strokeWidth=2.5)
        .encode(
            x=alt.X("x:Q"),
            color=alt.Color("what:N", scale=scale, legend=alt.Legend(orient="top", title=None)),
        )
    )


def every_class_pictures(result: Result) -> list[Picture]:
    """One line per protected class: what is expected, what is observed, and whether it remains after adjustment."""
    rows = [_class_row(row) for row in result.estimates if scalar(row["rate"]) is not None]
    if not rows:
        nothing = finish(_nothing("no class could be scanned"))
        return [Picture("scans", "All scans", result.verdict.text, nothing)]
    alternative = (
        f"Expected and observed rate of the best subgroup of each protected class. {result.verdict.text}"
    )
    chart = finish(_expected_and_observed(rows, str(result.details["label"])))
    return [Picture("scans", "All scans: expected and observed", alternative, chart)]


def _class_row(row: dict[str, Any]) -> dict[str, Any]:
    label = _short(f"{row['protected']} · {row['subgroup']}", 60)
    numbers = {name: scalar(row[name]) for name in ("rate", "expected", "n", "score", "state")}
    return {"label": label, **numbers, "p": scalar(row["p_adjusted"])}


def _expected_and_observed(rows: list[dict[str, Any]], label: str) -> Any:
    states = ["found", "not shown", "nothing found"]
    colours = alt.Scale(domain=states, range=[COLOURS["violated"], COLOURS["neutral"], COLOURS["faint"]])
    y = alt.Y("label:N", sort=[row["label"] for row in rows], title=None, axis=alt.Axis(labelLimit=380))
    base = alt.Chart(inline(rows)).encode(
        y=y,
        tooltip=[
            alt.Tooltip("label:N", title="class and subgroup"),
            alt.Tooltip("rate:Q", title="rate", format=".1%"),
            alt.Tooltip("expected:Q", title="expected", format=".1%"),
            alt.Tooltip("n:Q", title="n", format=","),
            alt.Tooltip("score:Q", title="score", format=".2f"),
            alt.Tooltip("p:Q", title="adjusted p", format=".3f"),
        ],
    )
    title = f"{label}: expected (bar) and observed (symbol)"
    x = alt.X("expected:Q", title=title, axis=alt.Axis(format="%", tickCount=6), scale=alt.Scale(nice=True))
    colour = alt.Color("state:N", scale=colours, title=None, legend=alt.Legend(orient="top"))
    rules = base.mark_rule(strokeWidth=3, opacity=0.5).encode(x=x, x2=alt.X2("rate:Q"), color=colour)
    ticks = base.mark_tick(thickness=2, size=14).encode(x=alt.X("expected:Q"), color=colour)
    points = base.mark_point(shape="diamond", filled=True, size=85, opacity=1).encode(
        x=alt.X("rate:Q"), color=colour
    )
    return layered(rules, ticks, points).properties(width=WIDTH, height=alt.Step(22))


def _nothing(text: str) -> Any:
    return (
        alt.Chart(inline([{"text": text}]))
        .mark_text(color=COLOURS["neutral"])
        .encode(text=alt.Text("text:N"))
    )
