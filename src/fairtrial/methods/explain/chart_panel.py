"""The panel: the contributions to the largest gap by every allocation, and how many of them reject."""

from __future__ import annotations

from typing import Any

import altair as alt

from fairtrial.methods.explain.chart_parts import (
    WIDTH,
    difference_axis,
    feature_axis,
    in_points,
    line,
    sentence,
    side_texts,
    tooltips,
    zero_line,
)
from fairtrial.methods.explain.chart_waterfall import largest_gap
from fairtrial.results.charts.picture import Picture
from fairtrial.results.charts.theme import CATEGORIES, finish
from fairtrial.results.result import Result

SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]


def panel(result: Result) -> Picture:
    """One dot with its interval per feature and allocation."""
    gap = largest_gap(result)
    pair = (gap["group"], gap["target"])
    lines = [
        line(result, row, feature=row["feature"], group=row["label"], member=row["label"])
        for row in result.details["panel"]
        if (row["group"], row["target"]) == pair
    ]
    members = list(dict.fromkeys(entry["member"] for entry in lines))
    title = f"{pair[0]} minus {pair[1]}: the same question put to {len(members)} values"
    features = result.details["features"]
    layers = _layers(result, lines, members)
    tally = [
        {"feature": vote["feature"], "text": f"{vote['rejecting']} of {vote['of']} reject"}
        for vote in result.details["votes"]
        if (vote["group"], vote["target"]) == pair
    ]
    if tally:
        place = alt.Y("feature:N", sort=features)
        layers.append(side_texts(alt.Chart(alt.Data(values=tally)).encode(y=place)))
    chart = finish(alt.layer(*layers), width=WIDTH, height=max(100, len(features) * 16 * len(members)))
    return Picture("panel", title, sentence(title, lines), chart)


def _layers(result: Result, lines: list[dict[str, Any]], members: list[str]) -> list[Any]:
    axis = f"contribution to the gap{in_points(result)}"
    legend = alt.Legend(orient="bottom", columns=3)
    scale = alt.Scale(domain=members, range=CATEGORIES[: len(members)])
    shapes = alt.Scale(domain=members, range=SHAPES[: len(members)])
    colour = alt.Color("member:N", scale=scale, title=None, legend=legend)
    base = (
        alt.Chart(alt.Data(values=lines))
        .transform_filter("datum.value != null")
        .encode(
            y=feature_axis(result.details["features"], grid=True, tickBand="extent"),
            yOffset=alt.YOffset("member:N", sort=members),
            tooltip=tooltips(feature="feature", member="value", text="points"),
        )
    )
    rules = (
        base.transform_filter("datum.low != null")
        .mark_rule(strokeWidth=1.5)
        .encode(x=alt.X("low:Q", title=axis), x2="high:Q", color=colour)
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("value:Q", title=axis, axis=difference_axis()),
        color=colour,
        shape=alt.Shape("member:N", scale=shapes, title=None, legend=legend),
    )
    return [zero_line(), rules, dots]
