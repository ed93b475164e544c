"""Charts of `improve`: the plane of the groups' utilities, the Δ-surface, and the p-values of the splits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import altair as alt

from fairtrial._improve.combining import split_level
from fairtrial._results.charts import Picture
from fairtrial._results.charts.theme import COLOURS, finish, inline, layered
from fairtrial._results.result import Result

RULES = ["status quo", "alternative"]
SHAPES = ["square", "circle"]
OUTCOMES = ["rejects", "does not reject"]
# Outer levels faint, inner ones strong: one hue, so that the order is seen
SHADES = ["#dbe5f2", "#b7cbe6", "#8fb0d8", "#6390c5", "#2f5d9b"]


def pictures(result: Result) -> list[Picture]:
    """Where the rules lie, how far the improvement reaches, and how the splits agree."""
    details = result.details
    found = [
        Picture(
            "utilities",
            "Where the rules lie",
            f"Levels of the status quo and of the alternative in each test. {result.verdict.text}",
            finish(_utilities(details)),
        )
    ]
    if details["claim"]["scale"] != "ratio" and any(steps["corners"] for steps in details["surface"]):
        found.append(
            Picture(
                "surface",
                "How much is shown",
                "Gains in accuracy and fairness for which the test rejects, by level. " + _caption(details),
                finish(_surface(details)),
            )
        )
    if details["search"]:
        text = (
            f"Gap and accuracy of {len(details['search'])} candidates out of fold, and which one was tested."
        )
        found.append(Picture("search", "What was tried", text, finish(frontier(details))))
    if len(details["splits"]) > 1:
        whose = f"{_kind_of_test(details)}s"
        p_values = ", ".join(f"{split['p_value']:.4f}" for split in details["splits"])
        text = f"p-values of the {whose}: {p_values}."
        found.append(Picture("splits", f"The {whose}' p-values", text, finish(_splits(details))))
    return found


def _utilities(details: Mapping[str, Any]) -> Any:
    groups = details["claim"]["groups"]
    levels = [row for row in details["levels"] if row["group"] in groups]
    draw = _plane if len(groups) == 2 else _dumbbells
    panels = []
    for metric in dict.fromkeys(row["metric"] for row in levels):
        of_metric = [row for row in levels if row["metric"] == metric]
        roles = sorted({row["use"] for row in of_metric}, reverse=True)  # fairness before accuracy
        panels.append(draw([row for row in of_metric if row["use"] == roles[0]], metric, groups, roles))
    return alt.hconcat(*panels, spacing=40).resolve_scale(color="shared", shape="shared")


def _plane(rows: list[dict[str, Any]], metric: str, groups: list[str], roles: list[str]) -> Any:
    """Figure 2: one axis per group; on the 45° line the groups fare alike."""
    points = _points(rows, groups)
    values = [point[axis] for point in points for axis in ("x", "y")]
    low, high = _padded(min(values), max(values))
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    line = (
        alt.Chart(inline([{"x": low, "y": low}, {"x": high, "y": high}]))
        .mark_line(strokeDash=[4, 4], color=COLOURS["neutral"], strokeWidth=1)
        .encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale))
    )
    axis = alt.Axis(format="~g", tickCount=6)
    base = alt.Chart(inline(points)).encode(
        x=alt.X("x:Q", scale=scale, title=f"{metric}, {groups[0]}", axis=axis),
        y=alt.Y("y:Q", scale=scale, title=f"{metric}, {groups[1]}", axis=axis),
        tooltip=[
            alt.Tooltip("rule:N", title="rule"), alt.Tooltip("which:N", title="of"),
            alt.Tooltip("x:Q", title=groups[0], format=".4f"), alt.Tooltip("y:Q", title=groups[1], format=".4f"),
        ],
    )  # fmt: skip
    small = base.transform_filter("!datum.mean").mark_point(
        filled=False, size=45, strokeWidth=1.4, opacity=0.8
    )
    large = base.transform_filter("datum.mean").mark_point(filled=True, size=150, opacity=1)
    hints = {"fairness": "nearer the line is fairer", "accuracy": "up and to the right is better"}
    title = _title("; ".join(hints[role] for role in roles), "hollow: one test; filled: their mean")
    layers = (line, _with_rules(small), _with_rules(large))
    return layered(*layers, title=title).properties(width=300, height=300)


def _points(rows: list[dict[str, Any]], groups: list[str]) -> list[dict[str, Any]]:
    """Both groups' levels of one metric as coordinates: every split of every rule, and the mean."""
    levels = {(row["group"], row["rule"]): row for row in rows}
    points = []
    for rule in RULES:
        first, second = (levels[group, rule] for group in groups)
        pairs = [(a, b, False) for a, b in zip(first["splits"], second["splits"], strict=True)]
        pairs.append((first["mean"], second["mean"], True))
        for split, (x, y, mean) in enumerate(pairs, start=1):
            if x is not None and y is not None:
                label = "mean of the tests" if mean else f"test {split}"
                points.append({"x": x, "y": y, "rule": rule, "which": label, "mean": mean})
    return points


def _title(text: str, subtitle: str = "") -> alt.TitleParams:
    """What a panel shows, and below it how it is read."""
    below: dict[str, Any] = {
        "subtitle": subtitle, "subtitleColor": COLOURS["neutral"], "subtitleFontSize": 11,
    }  # fmt: skip
    return alt.TitleParams(text, fontSize=12, fontWeight="normal", offset=8, **(below if subtitle else {}))


def _dumbbells(rows: list[dict[str, Any]], metric: str, groups: list[str], roles: list[str]) -> Any:
    """More than two groups: each group's level under both rules."""
    points = [
        {"group": row["group"], "rule": row["rule"], "level": row["mean"]}
        for row in rows
        if row["mean"] is not None
    ]
    y = alt.Y("group:N", sort=groups, title=None)
    x = alt.X(
        "level:Q",
        title=f"{metric}, mean of the tests",
        scale=alt.Scale(zero=False),
        axis=alt.Axis(format="~g"),
    )
    base = alt.Chart(inline(points)).encode(y=y)
    lines = base.mark_line(color=COLOURS["faint"], strokeWidth=3).encode(x=x, detail=alt.Detail("group:N"))
    marks = base.mark_point(filled=True, size=120, opacity=1).encode(
        x=x,
        tooltip=[
            alt.Tooltip("group:N", title="group"),
            alt.Tooltip("rule:N", title="rule"),
            alt.Tooltip("level:Q", title="level", format=".4f"),
        ],
    )
    hints = {"fairness": "closer together is fairer", "accuracy": "to the right is better"}
    title = _title("; ".join(hints[role] for role in roles))
    return layered(lines, _with_rules(marks), title=title).properties(width=300, height=alt.Step(40))


def _with_rules(chart: Any) -> Any:
    """Colour and shape by rule."""
    color = alt.Scale(domain=RULES, range=[COLOURS["second"], COLOURS["accent"]])
    shape = alt.Scale(domain=RULES, range=SHAPES)
    legend = alt.Legend(orient="top", title=None, symbolOpacity=1, symbolSize=110)
    return chart.encode(
        color=alt.Color("rule:N", scale=color, legend=legend),
        shape=alt.Shape("rule:N", scale=shape, legend=legend),
    )


def _surface(details: Mapping[str, Any]) -> Any:
    """Figure 3 without a grid: nested staircases, the one at α outlined."""
    x, y, left, bottom = _axes(details)
    surface = sorted(details["surface"], key=lambda steps: -steps["level"])
    names = [f"p < {steps['level']:g}" for steps in surface]
    shades = [SHADES[i * len(SHADES) // len(names)] for i in range(len(names))]
    legend = alt.Legend(symbolType="square", symbolStrokeWidth=0, symbolSize=160)
    scale = alt.Scale(domain=names, range=shades)
    color = alt.Color("level:N", title="rejected at", legend=legend, scale=scale)
    areas, outline = [], []
    for name, steps in zip(names, surface, strict=True):
        path = _path(steps["corners"], left, bottom)
        values = [{**point, "floor": bottom, "level": name} for point in path]
        area = alt.Chart(inline(values)).mark_area(interpolate="linear", clip=True)
        edge = alt.Chart(inline(path)).mark_line(color=COLOURS["violated"], strokeWidth=2.5, clip=True)
        if path:
            areas.append(area.encode(x=x, y=y, y2=alt.Y2("floor:Q"), color=color))
        if path and math.isclose(steps["level"], details["alpha"]):
            outline.append(edge.encode(x=x, y=y, order=alt.Order("order:Q")))
    zero = alt.Chart(inline([{"accuracy": 0.0, "fairness": 0.0}])).mark_rule(color="#20262e", strokeWidth=0.8)
    layers = [*areas, zero.encode(y=y), zero.encode(x=x), *outline]
    title = _title(f"Rejected below the line (outlined: α = {details['alpha']:g})", _caption(details))
    return layered(*layers, title=title).properties(width=460, height=320)


def _axes(details: Mapping[str, Any]) -> tuple[alt.X, alt.Y, float, float]:
    """The axes of the surface, and its left and lower edge."""
    ratio = details["claim"]["margin_kind"] == "relative"
    corners = [corner for steps in details["surface"] for corner in steps["corners"]]
    gains, gained = [c["fairness"] for c in corners], [c["accuracy"] for c in corners]
    highest = max(0.0, *gains)
    # A gap that may grow by half is of no interest: one such corner would squeeze the rest of the picture.
    floor = -0.5 if ratio else -max(highest, 1e-9)
    left, right = _padded(max(floor, min(0.0, *gains)), highest)
    bottom, top = _padded(min(0.0, *gained), max(0.0, *gained))
    axis = alt.Axis(format="%" if ratio else "~g")
    across, up = (alt.Scale(domain=ends, nice=False) for ends in ([left, right], [bottom, top]))
    x = alt.X("fairness:Q", title="reduction of the gap by more than", scale=across, axis=axis)
    y = alt.Y("accuracy:Q", title="gain in accuracy by more than", scale=up, axis=axis)
    return x, y, left, bottom


def _path(corners: list[dict[str, float]], left: float, bottom: float) -> list[dict[str, float]]:
    """The staircase as a line from the left edge down to the floor."""
    points: list[tuple[float, float]] = []
    previous = left
    for corner in sorted(corners, key=lambda c: c["fairness"]):
        if corner["fairness"] <= left:
            continue
        points += [(previous, corner["accuracy"]), (corner["fairness"], corner["accuracy"])]
        previous = corner["fairness"]
    if points:
        points.append((previous, bottom))
    return [{"fairness": x, "accuracy": y, "order": i} for i, (x, y) in enumerate(points)]


def _caption(details: Mapping[str, Any]) -> str:
    return (
        f"Read at an accuracy fixed in advance it is valid at {details['alpha']:g}; a corner picked freely only at "
        f"{2 * details['alpha']:g}."
    )


def _kind_of_test(details: Mapping[str, Any]) -> str:
    if details["aggregate"] == "forward":
        return "order"
    return "fixed rule" if details["all_rows"] else "split"


def _splits(details: Mapping[str, Any]) -> Any:
    """One point per split, or per fixed rule; the line is the level each of them must meet."""
    what = _kind_of_test(details)
    level = split_level(details["alpha"], details["aggregate"], len(details["splits"]))
    points = [_split_point(split, level) for split in details["splits"]]
    ticks = [10.0**power for power in range(math.floor(math.log10(min(1e-3, *(p["p"] for p in points)))), 1)]
    y = alt.Y(
        "p:Q", title=f"p of the {what}", scale=alt.Scale(type="log", domain=[ticks[0], 1]),
        axis=alt.Axis(format="~g", values=ticks),
    )  # fmt: skip
    rule = (
        alt.Chart(inline([{"p": level, "text": f"level of each {what}, {level:g}"}]))
        .mark_rule(color=COLOURS["violated"], strokeDash=[4, 4])
        .encode(y=y, tooltip=[alt.Tooltip("text:N", title="line")])
    )
    must = "their mean z must meet" if what == "order" else f"each {what} must meet"
    title = _title(f"dashed: {level:g}, the level {must}")
    width = max(220, 46 * len(points))
    return layered(rule, _split_marks(points, y, what), title=title).properties(width=width, height=240)


def _split_point(split: Mapping[str, Any], level: float) -> dict[str, Any]:
    rejects = split["p_value"] < level
    return {
        "split": split["split"],
        "p": max(split["p_value"], 1e-6),
        "candidate": split["candidate"],
        "rejects": rejects,
        "state": OUTCOMES[0] if rejects else OUTCOMES[1],
    }


def _split_marks(points: list[dict[str, Any]], y: alt.Y, what: str) -> Any:
    colours = alt.Scale(domain=OUTCOMES, range=[COLOURS["accent"], COLOURS["not tested"]])
    shapes = alt.Scale(domain=OUTCOMES, range=["circle", "cross"])
    return (
        alt.Chart(inline(points))
        .mark_point(filled=True, size=110, opacity=1)
        .encode(
            x=alt.X("split:O", title=what, axis=alt.Axis(labelAngle=0)),
            y=y,
            color=alt.Color("state:N", title=None, scale=colours, legend=alt.Legend(orient="top")),
            shape=alt.Shape("state:N", title=None, scale=shapes),
            tooltip=[
                alt.Tooltip("split:O", title=what),
                alt.Tooltip("candidate:N", title="candidate"),
                alt.Tooltip("p:Q", title="p", format=".4f"),
            ],
        )
    )


def _padded(low: float, high: float) -> tuple[float, float]:
    pad = 0.08 * (high - low) or 0.05
    return low - pad, high + pad


# -- The chart of the search: every candidate's gap and accuracy, and which of them stand out.
STANDS_FOR = ["tried", "tested", "least gap within the margin, not shown", "status quo"]


def frontier(details: Mapping[str, Any]) -> Any:
    """Every candidate's gap and accuracy out of fold; bars are one standard error of those that stand out."""
    points = _frontier_points(details)
    colours = [COLOURS["faint"], COLOURS["accent"], COLOURS["violated"], COLOURS["second"]]
    colour = alt.Color(
        "stands:N",
        title=None,
        scale=alt.Scale(domain=STANDS_FOR, range=colours),
        legend=alt.Legend(orient="top", columns=2, labelLimit=320),
    )
    shape = alt.Shape(
        "stands:N",
        title=None,
        scale=alt.Scale(domain=STANDS_FOR, range=["circle", "circle", "diamond", "square"]),
    )
    label = details["claim"]["accuracy_labels"][0]
    what = "impact ratio" if details["claim"]["scale"] == "ratio" else "gap"
    x = alt.X(
        "gap:Q", title=f"{what} in {details['claim']['fairness_labels'][0]}", scale=alt.Scale(zero=False)
    )
    y = alt.Y("accuracy:Q", title=f"{label}, everyone", scale=alt.Scale(zero=False))
    base = alt.Chart(inline(points))
    marks = base.mark_point(filled=True, size=70, opacity=0.9).encode(
        x=x,
        y=y,
        color=colour,
        shape=shape,
        tooltip=[
            alt.Tooltip("candidate:N", title="candidate"),
            alt.Tooltip("gap:Q", title=what, format=".4f"),
            alt.Tooltip("accuracy:Q", title=label, format=".4f"),
        ],
    )
    noted = base.transform_filter("datum.gap_low != null")
    across = noted.mark_rule(strokeWidth=1.2).encode(
        x=alt.X("gap_low:Q"), x2=alt.X2("gap_high:Q"), y=y, color=colour
    )
    up = noted.mark_rule(strokeWidth=1.2).encode(
        x=x, y=alt.Y("accuracy_low:Q"), y2=alt.Y2("accuracy_high:Q"), color=colour
    )
    title = alt.TitleParams(
        "out of fold, all rows",
        subtitle="bars: one standard error",
        fontSize=12,
        fontWeight="normal",
        offset=8,
        subtitleColor=COLOURS["neutral"],
        subtitleFontSize=11,
    )
    return layered(marks, across, up, title=title).properties(width=460, height=320)


def _frontier_points(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    least = details["least_discriminatory"]
    points = []
    for row in details["search"]:
        if row["gap"] is None or row["accuracy"] is None:
            continue
        stands = STANDS_FOR[1] if row["chosen"] else STANDS_FOR[0]
        if least is not None and row["candidate"] == least["candidate"]:
            stands = STANDS_FOR[2]
        points.append({**_point(row, bars=stands != STANDS_FOR[0]), "stands": stands})
    quo = details["search_status_quo"]
    points.append({**_point({"candidate": "status quo", **quo}, bars=False), "stands": STANDS_FOR[3]})
    return points


def _point(row: Mapping[str, Any], *, bars: bool) -> dict[str, Any]:
    point = {key: row[key] for key in ("candidate", "gap", "accuracy")}
    for name in ("gap", "accuracy"):
        error = row.get(f"{name}_error") if bars else None
        point[f"{name}_low"] = None if error is None else row[name] - error
        point[f"{name}_high"] = None if error is None else row[name] + error
    return point
