"""Charts of rates over all thresholds: curves with their bands, the ROC curve, calibration."""

from __future__ import annotations

from typing import Any

import altair as alt

from fairtrial._results.charts.picture import Picture
from fairtrial._results.charts.theme import finish, inline, layered
from fairtrial._results.result import Result

MOST_GROUPS = 8  # more lines cannot be told apart; the largest groups are drawn
AXIS = alt.Axis(format="%")
GROUP = alt.Color("group:N", title=None, legend=alt.Legend(orient="top", symbolOpacity=1))


def curve_pictures(result: Result) -> list[Picture]:
    """One picture per curve that was asked for, then the ROC curve and calibration."""
    level = f"{100 * result.details['confidence_level']:g}%"
    score = str(result.details["score"])
    found = []
    for name, label in result.details["curve_labels"].items():
        points = _drawn(result, name)
        if points:
            title = f"{str(label).capitalize()} at every threshold, {level} bands that hold at all of them"
            chart = _banded(points, "threshold", f"threshold of {score}", str(label))
            found.append(
                Picture(f"curve-{name}", title, f"{label} by threshold. {result.verdict.text}", chart)
            )
    roc, calibration = _drawn(result, "roc"), _drawn(result, "calibration")
    if roc:
        title = f"ROC curves; dashed: {level} bands that hold at all thresholds"
        found.append(
            Picture("roc", title, f"True against false positive rate. {result.verdict.text}", _roc(roc))
        )
    if calibration:
        title = f"Calibration by score, {level} limits that hold in all of a group's bins"
        chart = _banded(calibration, "score", f"mean {score} of the bin", "share with the outcome")
        found.append(Picture("calibration", title, f"Outcome rate by score. {result.verdict.text}", chart))
    return found


def _drawn(result: Result, name: str) -> list[dict[str, Any]]:
    """The points of a curve, those of the largest groups where there are many."""
    points = [point for point in result.details["curves"] if point["metric"] == name]
    sizes: dict[str, int] = {}
    for row in result.estimates:
        n = row["n"] if isinstance(row["n"], int) else 0
        sizes[str(row["group"])] = max(n, sizes.get(str(row["group"]), 0))
    groups = sorted({str(point["group"]) for point in points}, key=lambda group: -sizes.get(group, 0))[
        :MOST_GROUPS
    ]
    return [point for point in points if point["group"] in groups]


def _banded(points: list[dict[str, Any]], x: str, x_title: str, y_title: str) -> Any:
    base = alt.Chart(inline(points)).encode(x=alt.X(f"{x}:Q", title=x_title, scale=alt.Scale(zero=False)))
    area = base.mark_area(opacity=0.15).encode(
        y=alt.Y("low:Q", axis=AXIS, title=y_title), y2=alt.Y2("high:Q"), color=GROUP
    )
    line = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("rate:Q", axis=AXIS, title=y_title),
        color=GROUP,
        tooltip=[
            alt.Tooltip("group:N"),
            alt.Tooltip(f"{x}:Q", format=".4g"),
            alt.Tooltip("rate:Q", format=".1%"),
            alt.Tooltip("low:Q", format=".1%"),
            alt.Tooltip("high:Q", format=".1%"),
        ],
    )
    return finish(layered(area, line).properties(width=460, height=300))


def _roc(points: list[dict[str, Any]]) -> Any:
    lines = []
    for x, y, dashes in (
        ("fpr", "tpr", [1, 0]),
        ("fpr_low", "tpr_high", [3, 3]),
        ("fpr_high", "tpr_low", [3, 3]),
    ):
        lines.append(
            alt.Chart(inline(points))
            .mark_line(strokeWidth=2 if dashes == [1, 0] else 1, strokeDash=dashes)
            .encode(
                x=alt.X(f"{x}:Q", title="false positive rate", axis=AXIS),
                y=alt.Y(f"{y}:Q", title="true positive rate", axis=AXIS),
                order=alt.Order("threshold:Q"),
                color=GROUP,
            )
        )
    return finish(layered(*lines).properties(width=380, height=360))
