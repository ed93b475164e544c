"""Charts of an explanation: the waterfall between two groups' rates, both groups' bars, the panel, the mitigation."""

from __future__ import annotations

import textwrap
from itertools import pairwise
from typing import Any

import altair as alt

from fairtrial.results.charts.picture import Picture
from fairtrial.results.charts.theme import CATEGORIES, COLOURS, finish
from fairtrial.results.column import scalar
from fairtrial.results.result import Result

ROW = 34
UP, DOWN, END = "adds to the gap", "takes from the gap", "rate"


def pictures(result: Result) -> list[Picture]:
    """The waterfall first; a comparison has one chart of its own."""
    if result.kind == "compare":
        return [_before_after(result)]
    found = [_waterfall(result), _groups(result)]
    if len({row["allocation"] for row in result.details["panel"]}) > 1:
        found.append(_panel(result))
    return [*found, _mitigation(result)]


# -- waterfall -------------------------------------------------------------------------------------------------------
def _waterfall(result: Result) -> Picture:
    gap = _largest_gap(result)
    group, versus = gap["group"], gap["versus"]
    label = result.details["metric_label"]
    title = f"From {versus} to {group}: which features carry the gap in {label}"
    steps = _steps(result, group, versus)
    if not steps:
        why = _reason(result)
        return Picture("waterfall", title, f"No waterfall: {why}", _only_text(why))
    order = [step["label"] for step in steps]
    y = alt.Y("label:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8))
    data = alt.Data(values=steps)
    colours = alt.Scale(
        domain=[END, UP, DOWN], range=[COLOURS["neutral"], COLOURS["second"], COLOURS["accent"]]
    )
    tooltip = [alt.Tooltip("label:N", title="step"), alt.Tooltip("text:N", title="points")]
    x = alt.X(
        "start:Q",
        title=_axis(result),
        axis=alt.Axis(format=".0%" if result.details["binary"] else "~g", tickCount=7),
        scale=alt.Scale(zero=False, nice=True),
    )
    base = alt.Chart(data).encode(y=y, tooltip=tooltip)
    bars = base.mark_bar(height=18, cornerRadius=1).encode(
        x=x,
        x2="end:Q",
        color=alt.Color("what:N", scale=colours, title=None, legend=alt.Legend(orient="bottom")),
    )
    links = (
        alt.Chart(alt.Data(values=_links(steps)))
        .mark_line(color=COLOURS["faint"], strokeWidth=1)
        .encode(x=alt.X("x:Q", title=_axis(result)), y=alt.Y("label:N", sort=order), detail="link:N")
    )
    whiskers = (
        base.transform_filter("datum.low != null")
        .mark_rule(strokeWidth=1.5, color="#20262e")
        .encode(x=alt.X("low:Q", title=_axis(result)), x2="high:Q")
    )
    ends = base.transform_filter("datum.low != null")
    caps = [
        ends.mark_tick(thickness=1.5, size=9, color="#20262e").encode(
            x=alt.X(f"{side}:Q", title=_axis(result))
        )
        for side in ("low", "high")
    ]
    numbers = base.mark_text(align="left", dx=8, fontSize=12, color="#20262e").encode(
        x=alt.X("right:Q", title=_axis(result)), text="text:N"
    )
    chart = finish(alt.layer(links, bars, whiskers, *caps, numbers), width=520, height=ROW * len(steps))
    listed = "; ".join(f"{step['label']} {step['text']}" for step in steps)
    return Picture("waterfall", title, f"Waterfall from {versus} to {group}: {listed}.", chart)


def _largest_gap(result: Result) -> dict[str, Any]:
    gaps = [row for row in result.estimates if row["part"] == "gap"]
    return max(gaps, key=lambda row: abs(scalar(row["points"]) or 0.0))


def _steps(result: Result, group: str, versus: str) -> list[dict[str, Any]]:
    """The lower end, one step per feature in falling order, the upper end."""
    rates = {entry["group"]: scalar(entry["rate"]) for entry in result.details["groups"]}
    rows = [
        row
        for row in result.estimates
        if row["part"] == "contribution to the gap" and (row["group"], row["versus"]) == (group, versus)
    ]
    points = [scalar(row["points"]) for row in rows]
    start, stop = rates.get(versus), rates.get(group)
    if start is None or stop is None or any(value is None for value in points):
        return []
    sign = 1.0 if stop >= start else -1.0
    rows.sort(key=lambda row: -sign * row["points"])
    steps = [_end(result, versus, start)]
    level = start
    for row in rows:
        after = level + row["points"]
        low, high = scalar(row["low"]), scalar(row["high"])
        steps.append({
            "label": row["feature"], "start": level, "end": after, "what": UP if sign * row["points"] >= 0 else DOWN,
            "low": None if low is None else level + low, "high": None if high is None else level + high,
            "right": max(level, after, level + high if high is not None else after),
            "text": _signed(result, row["points"]),
        })  # fmt: skip
        level = after
    return [*steps, _end(result, group, stop)]


def _end(result: Result, label: str, rate: float) -> dict[str, Any]:
    text = f"{100 * rate:.1f}%" if result.details["binary"] else f"{rate:.3g}"
    names = result.details["features"]
    shown = f"{label} (rate)" if label in names else label
    return {
        "label": shown, "start": 0.0, "end": rate, "what": END, "low": None, "high": None, "right": rate, "text": text,
    }  # fmt: skip


def _links(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A thin line from the end of each bar to the next one's start."""
    lines = []
    for i, (first, second) in enumerate(pairwise(steps)):
        lines += [
            {"link": i, "x": first["end"], "label": first["label"]},
            {"link": i, "x": first["end"], "label": second["label"]},
        ]
    return lines


# -- bars per group --------------------------------------------------------------------------------------------------
def _groups(result: Result) -> Picture:
    rows = [row for row in result.estimates if row["part"] == "contribution to the group"]
    lines = [
        _line(result, row["feature"], row["group"], row["points"], row["low"], row["high"]) for row in rows
    ]
    label = result.details["metric_label"]
    title = f"What each feature contributes to each group's {label}"
    return Picture(
        "groups",
        title,
        _sentence(title, lines),
        _paired(result, lines, f"contribution to {label}{_points(result)}"),
    )


def _mitigation(result: Result) -> Picture:
    lines = []
    for entry in result.details["pareto"]:
        for change in entry["changes"]:
            lines.append(
                _line(
                    result, entry["feature"], change["group"], change["change"], change["low"], change["high"]
                )
            )
    label = result.details["metric_label"]
    better = result.details["favourable"]
    basis = result.details["pareto"][0]["changes"][0]["basis"]
    title = f"What mitigating a feature would do to each group's {label} ({better} is better)"
    axis = f"change of {label}{_points(result)}: {basis}"
    return Picture("mitigation", title, _sentence(title, lines), _paired(result, lines, axis))


def _line(result: Result, feature: str, group: str, points: Any, low: Any, high: Any) -> dict[str, Any]:
    value, bottom, top = scalar(points), scalar(low), scalar(high)
    text = "undefined" if value is None else _signed(result, value)
    if value is not None and bottom is not None and top is not None:
        text += f" [{_signed(result, bottom)}, {_signed(result, top)}]"
    drawn = {name: _drawn(result, cell) for name, cell in (("value", points), ("low", low), ("high", high))}
    return {"feature": feature, "group": group, **drawn, "text": text}


def _paired(result: Result, lines: list[dict[str, Any]], axis: str) -> Any:
    features = result.details["features"]
    groups = list(dict.fromkeys(line["group"] for line in lines))
    data = alt.Data(values=lines)
    y = alt.Y("feature:N", sort=features, title=None, axis=alt.Axis(ticks=False, labelPadding=8))
    offset = alt.YOffset("group:N", sort=groups)
    scale = alt.Scale(domain=groups, range=CATEGORIES[: len(groups)])
    form = _difference_axis()
    tooltip = [
        alt.Tooltip("feature:N", title="feature"),
        alt.Tooltip("group:N", title="group"),
        alt.Tooltip("text:N", title="points"),
    ]
    base = alt.Chart(data).encode(y=y, yOffset=offset, tooltip=tooltip)
    bars = (
        base.transform_filter("datum.value != null")
        .mark_bar(opacity=0.85)
        .encode(
            x=alt.X("value:Q", title=axis, axis=form),
            color=alt.Color("group:N", scale=scale, title=None, legend=alt.Legend(orient="bottom")),
        )
    )
    whiskers = (
        base.transform_filter("datum.low != null")
        .mark_rule(color="#20262e", strokeWidth=1.5)
        .encode(x=alt.X("low:Q", title=axis), x2="high:Q")
    )
    absent = (
        base.transform_filter("datum.value == null")
        .mark_text(align="left", dx=4, fontStyle="italic", fontSize=11, color=COLOURS["not tested"])
        .encode(x=alt.datum(0), text="text:N")
    )
    zero = alt.Chart(alt.Data(values=[{"x": 0}])).mark_rule(color=COLOURS["neutral"]).encode(x="x:Q")
    height = max(80, len(features) * (18 * len(groups) + 10))
    return finish(alt.layer(bars, zero, whiskers, absent), width=520, height=height)


# -- panel -----------------------------------------------------------------------------------------------------------
def _panel(result: Result) -> Picture:
    gap = _largest_gap(result)
    rows = [
        row
        for row in result.details["panel"]
        if (row["group"], row["versus"]) == (gap["group"], gap["versus"])
    ]
    lines = [
        {
            **_line(result, row["feature"], row["label"], row["points"], row["low"], row["high"]),
            "member": row["label"],
        }
        for row in rows
    ]
    members = list(dict.fromkeys(line["member"] for line in lines))
    features = result.details["features"]
    title = f"{gap['group']} minus {gap['versus']}: the same question put to {len(members)} values"
    data = alt.Data(values=lines)
    scale = alt.Scale(domain=members, range=CATEGORIES[: len(members)])
    shapes = alt.Scale(
        domain=members,
        range=["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"][: len(members)],
    )
    axis = f"contribution to the gap{_points(result)}"
    legend = alt.Legend(orient="bottom", columns=3)
    tooltip = [
        alt.Tooltip("feature:N", title="feature"),
        alt.Tooltip("member:N", title="value"),
        alt.Tooltip("text:N", title="points"),
    ]
    base = (
        alt.Chart(data)
        .transform_filter("datum.value != null")
        .encode(
            y=alt.Y(
                "feature:N",
                sort=features,
                title=None,
                axis=alt.Axis(ticks=False, labelPadding=8, grid=True, tickBand="extent"),
            ),
            yOffset=alt.YOffset("member:N", sort=members),
            tooltip=tooltip,
        )
    )
    rules = (
        base.transform_filter("datum.low != null")
        .mark_rule(strokeWidth=1.5)
        .encode(
            x=alt.X("low:Q", title=axis),
            x2="high:Q",
            color=alt.Color("member:N", scale=scale, title=None, legend=legend),
        )
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("value:Q", title=axis, axis=_difference_axis()),
        color=alt.Color("member:N", scale=scale, title=None, legend=legend),
        shape=alt.Shape("member:N", scale=shapes, title=None, legend=legend),
    )
    zero = alt.Chart(alt.Data(values=[{"x": 0}])).mark_rule(color=COLOURS["neutral"]).encode(x="x:Q")
    layers = [zero, rules, dots]
    tally = [
        {"feature": v["feature"], "text": f"{v['rejecting']} of {v['of']} reject"}
        for v in result.details["votes"]
        if (v["group"], v["versus"]) == (gap["group"], gap["versus"])
    ]
    if tally:
        layers.append(
            alt.Chart(alt.Data(values=tally))
            .mark_text(align="left", dx=6, fontSize=11, color=COLOURS["neutral"])
            .encode(y=alt.Y("feature:N", sort=features), x=alt.value(520), text="text:N")
        )
    chart = finish(alt.layer(*layers), width=520, height=max(100, len(features) * 16 * len(members)))
    return Picture("panel", title, _sentence(title, lines), chart)


# -- before and after ------------------------------------------------------------------------------------------------
def _before_after(result: Result) -> Picture:
    first = result.estimates[0]
    rows = [
        row
        for row in result.estimates
        if row["part"] == "gap" and row["group"] == first["group"] and row["versus"] == first["versus"]
    ]
    lines = []
    for row in rows:
        change = _line(result, row["feature"], "change", row["change"], row["low"], row["high"])
        for when in ("before", "after"):
            lines.append(
                {
                    "feature": row["feature"],
                    "when": when,
                    "value": _drawn(result, row[when]),
                    "text": change["text"],
                }
            )
    features = [row["feature"] for row in rows]
    data = alt.Data(values=lines)
    axis = f"contribution to the gap{_points(result)}"
    scale = alt.Scale(domain=["before", "after"], range=[COLOURS["second"], COLOURS["accent"]])
    shapes = alt.Scale(domain=["before", "after"], range=["circle", "diamond"])
    y = alt.Y("feature:N", sort=features, title=None, axis=alt.Axis(ticks=False, labelPadding=8))
    tooltip = [
        alt.Tooltip("feature:N", title="feature"),
        alt.Tooltip("when:N", title="when"),
        alt.Tooltip("text:N", title="change"),
    ]
    base = alt.Chart(data).transform_filter("datum.value != null").encode(y=y, tooltip=tooltip)
    bridge = base.mark_line(color=COLOURS["faint"], strokeWidth=3).encode(
        x=alt.X("value:Q", title=axis), detail="feature:N"
    )
    dots = base.mark_point(filled=True, size=110, opacity=1).encode(
        x=alt.X("value:Q", title=axis, axis=_difference_axis()),
        color=alt.Color("when:N", scale=scale, title=None, legend=alt.Legend(orient="bottom")),
        shape=alt.Shape("when:N", scale=shapes, title=None, legend=alt.Legend(orient="bottom")),
    )
    zero = (
        alt.Chart(alt.Data(values=[{"x": 0}]))
        .mark_rule(color=COLOURS["neutral"], strokeDash=[4, 3])
        .encode(x="x:Q")
    )
    changes = (
        base.transform_filter("datum.when == 'after'")
        .mark_text(align="left", dx=6, fontSize=11, color=COLOURS["neutral"])
        .encode(x=alt.value(520), text="text:N")
    )
    title = f"{first['group']} minus {first['versus']}, before and after"
    chart = finish(alt.layer(zero, bridge, dots, changes), width=520, height=ROW * len(features))
    listed = "; ".join(f"{line['feature']} {line['text']}" for line in lines[::2])
    return Picture("before-after", title, f"{title}: change of {listed}.", chart)


# -- shared ----------------------------------------------------------------------------------------------------------
def _signed(result: Result, value: float) -> str:
    return f"{100 * value:+.1f}" if result.details["binary"] else f"{value:+.3g}"


def _drawn(result: Result, cell: Any) -> float | None:
    value = scalar(cell)
    return None if value is None else _scale(result) * float(value)


def _scale(result: Result) -> float:
    """Differences of rates are drawn in points."""
    return 100.0 if result.details["binary"] else 1.0


def _points(result: Result) -> str:
    return ", in points" if result.details["binary"] else ""


def _difference_axis() -> alt.Axis:
    return alt.Axis(format="+~g", tickCount=7)


def _axis(result: Result) -> str:
    return str(result.details["metric_label"])


def _reason(result: Result) -> str:
    cells = [row["points"] for row in result.estimates]
    found = [str(cell["reason"]) for cell in cells if isinstance(cell, dict)]
    return found[0] if found else "the contributions are undefined"


def _only_text(text: str) -> Any:
    lines = textwrap.wrap(text, 90)
    rows = [{"text": line, "line": i} for i, line in enumerate(lines)]
    chart = alt.Chart(alt.Data(values=rows)).mark_text(
        align="left", fontSize=12, fontStyle="italic", color=COLOURS["neutral"], limit=640
    )
    place = alt.Y("line:O", axis=None)
    return finish(chart.encode(x=alt.value(4), y=place, text="text:N"), width=640, height=20 * len(lines))


def _sentence(title: str, lines: list[dict[str, Any]]) -> str:
    listed = "; ".join(f"{line['feature']}, {line['group']}: {line['text']}" for line in lines[:24])
    return f"{title}. {listed}{' …' if len(lines) > 24 else ''}"
