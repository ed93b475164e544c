"""Charts of an explanation: the waterfall, both groups' bars, the panel of allocations, the mitigation."""

from __future__ import annotations

from typing import Any

import altair as alt

from fairtrial.methods.explain.chart_panel import panel
from fairtrial.methods.explain.chart_parts import (
    WIDTH,
    difference_axis,
    feature_axis,
    in_points,
    line,
    sentence,
    tooltips,
    whiskers,
    zero_line,
)
from fairtrial.methods.explain.chart_waterfall import waterfall
from fairtrial.results.charts.picture import Picture
from fairtrial.results.charts.theme import CATEGORIES, COLOURS, finish
from fairtrial.results.result import Result


def pictures(result: Result) -> list[Picture]:
    """The waterfall first; the panel where there is more than one allocation."""
    several = len({row["allocation"] for row in result.details["panel"]}) > 1
    panels = [panel(result)] if several else []
    return [waterfall(result), _groups(result), *panels, _mitigation(result)]


def _groups(result: Result) -> Picture:
    lines = [
        line(result, row, feature=row["feature"], group=row["group"])
        for row in result.estimates
        if row["part"] == "contribution to the group"
    ]
    label = result.details["label"]
    title = f"What each feature contributes to each group's {label}"
    chart = _bars_by_group(result, lines, f"contribution to {label}{in_points(result)}")
    return Picture("groups", title, sentence(title, lines), chart)


def _mitigation(result: Result) -> Picture:
    lines = [
        line(result, change, feature=entry["feature"], group=change["group"])
        for entry in result.details["pareto"]
        for change in entry["changes"]
    ]
    label, better = result.details["label"], result.details["favourable"]
    basis = result.details["pareto"][0]["changes"][0]["basis"]
    title = f"What mitigating a feature would do to each group's {label} ({better} is better)"
    chart = _bars_by_group(result, lines, f"change of {label}{in_points(result)}: {basis}")
    return Picture("mitigation", title, sentence(title, lines), chart)


def _bars_by_group(result: Result, lines: list[dict[str, Any]], axis: str) -> Any:
    """A bar with its interval per feature and group."""
    features = result.details["features"]
    groups = list(dict.fromkeys(entry["group"] for entry in lines))
    base = alt.Chart(alt.Data(values=lines)).encode(
        y=feature_axis(features),
        yOffset=alt.YOffset("group:N", sort=groups),
        tooltip=tooltips(feature="feature", group="group", text="points"),
    )
    scale = alt.Scale(domain=groups, range=CATEGORIES[: len(groups)])
    bars = (
        base.transform_filter("datum.value != null")
        .mark_bar(opacity=0.85)
        .encode(
            x=alt.X("value:Q", title=axis, axis=difference_axis()),
            color=alt.Color("group:N", scale=scale, title=None, legend=alt.Legend(orient="bottom")),
        )
    )
    absent = (
        base.transform_filter("datum.value == null")
        .mark_text(align="left", dx=4, fontStyle="italic", fontSize=11, color=COLOURS["not tested"])
        .encode(x=alt.datum(0), text="text:N")
    )
    height = max(80, len(features) * (18 * len(groups) + 10))
    chart = alt.layer(bars, zero_line(), whiskers(base, axis), absent)
    return finish(chart, width=WIDTH, height=height)
