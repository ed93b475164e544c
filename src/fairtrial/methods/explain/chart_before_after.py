"""The chart of a comparison: every feature's contribution to the gap before and after."""

from __future__ import annotations

from typing import Any

import altair as alt

from fairtrial.methods.explain.chart_parts import (
    ROW,
    WIDTH,
    difference_axis,
    drawn,
    feature_axis,
    in_points,
    line,
    side_texts,
    tooltips,
    zero_line,
)
from fairtrial.results.charts.picture import Picture
from fairtrial.results.charts.theme import COLOURS, finish
from fairtrial.results.result import Result

WHEN = ["before", "after"]


def before_after(result: Result) -> Picture:
    """Two dots per feature, and the change beside them."""
    first = result.estimates[0]
    pair = ("gap", first["group"], first["target"])
    rows = [row for row in result.estimates if (row["part"], row["group"], row["target"]) == pair]
    texts = {row["feature"]: line(result, row)["text"] for row in rows}
    lines = [
        {"feature": name, "when": when, "value": drawn(result, row[when]), "text": texts[name]}
        for row in rows
        for name in [row["feature"]]
        for when in WHEN
    ]
    title = f"{first['group']} minus {first['target']}, before and after"
    chart = finish(_layers(result, lines, list(texts)), width=WIDTH, height=ROW * len(rows))
    listed = "; ".join(f"{feature} {text}" for feature, text in texts.items())
    return Picture("before-after", title, f"{title}: change of {listed}.", chart)


def _layers(result: Result, lines: list[dict[str, Any]], features: list[str]) -> Any:
    axis = f"contribution to the gap{in_points(result)}"
    base = (
        alt.Chart(alt.Data(values=lines))
        .transform_filter("datum.value != null")
        .encode(y=feature_axis(features), tooltip=tooltips(feature="feature", when="when", text="change"))
    )
    bridge = base.mark_line(color=COLOURS["faint"], strokeWidth=3).encode(
        x=alt.X("value:Q", title=axis), detail="feature:N"
    )
    legend = alt.Legend(orient="bottom")
    scale = alt.Scale(domain=WHEN, range=[COLOURS["second"], COLOURS["accent"]])
    shapes = alt.Scale(domain=WHEN, range=["circle", "diamond"])
    dots = base.mark_point(filled=True, size=110, opacity=1).encode(
        x=alt.X("value:Q", title=axis, axis=difference_axis()),
        color=alt.Color("when:N", scale=scale, title=None, legend=legend),
        shape=alt.Shape("when:N", scale=shapes, title=None, legend=legend),
    )
    changes = side_texts(base.transform_filter("datum.when == 'after'"))
    return alt.layer(zero_line(strokeDash=[4, 3]), bridge, dots, changes)
