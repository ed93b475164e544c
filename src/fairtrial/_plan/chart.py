"""Chart of `plan`: power against members of the group."""

from __future__ import annotations

import altair as alt

from fairtrial._results.charts import Picture
from fairtrial._results.charts.theme import COLOURS, finish, inline, layered
from fairtrial._results.result import Result

_MEANING = {"certify": "certified", "detect": "violated", "watch": "accent"}  # of each goal's colour


def pictures(result: Result) -> list[Picture]:
    """One curve per goal, with the planned size marked."""
    goals = list(dict.fromkeys(row["words"] for row in result.details["curves"]))
    names = [
        next(row["goal"] for row in result.details["curves"] if row["words"] == words) for words in goals
    ]
    colours = alt.Scale(domain=goals, range=[COLOURS[_MEANING[name]] for name in names])
    axis = alt.Axis(format=",", tickCount=6)
    x = alt.X("members:Q", title="members of the group", scale=alt.Scale(type="log", nice=False), axis=axis)
    y = alt.Y("power:Q", title="power", axis=alt.Axis(format=".0%"), scale=alt.Scale(domain=[0, 1]))
    colour = alt.Color("words:N", scale=colours, title=None, legend=alt.Legend(orient="top", labelLimit=400))
    curves = alt.Chart(inline(result.details["curves"])).mark_line(strokeWidth=2.5)
    curves = curves.encode(
        x=x, y=y, color=colour,
        tooltip=[
            alt.Tooltip("words:N", title="to"),
            alt.Tooltip("members:Q", title="members", format=","),
            alt.Tooltip("power:Q", title="power", format=".1%"),
        ],
    )  # fmt: skip
    planned = [
        {
            "members": row["members"],
            "power": row["power"],
            "words": row["goal"],
            "text": f"{row['members']:,}",
        }
        for row in result.estimates
    ]
    marks = alt.Chart(inline(planned)).encode(x=x, y=y, color=colour)
    points = marks.mark_point(filled=True, size=110, opacity=1)
    # The smaller size is written to the left above its point, the larger to the right below.
    smallest = min(row["members"] for row in result.estimates)
    left = marks.transform_filter(f"datum.members == {smallest}").mark_text(
        dx=-9, dy=-9, align="right", fontSize=12, fontWeight=600
    )
    right = marks.transform_filter(f"datum.members > {smallest}").mark_text(
        dx=9, dy=13, align="left", fontSize=12, fontWeight=600
    )
    wanted = alt.Chart(inline([{"power": result.details["power"]}]))
    line = wanted.mark_rule(strokeDash=[4, 3], color=COLOURS["neutral"]).encode(y=y)
    chart = finish(
        layered(
            line, curves, points, left.encode(text=alt.Text("text:N")), right.encode(text=alt.Text("text:N"))
        ),
        width=520,
        height=300,
    )
    return [Picture("power", "Power by number of members", result.verdict.text, chart)]
