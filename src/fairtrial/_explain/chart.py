"""Charts of explain and compare: waterfall, bars by group, the panel of allocations, mitigation, before and after."""

from __future__ import annotations

import textwrap
from itertools import pairwise
from typing import Any

import altair as alt

from fairtrial._explain.request import signed
from fairtrial._results.charts import Picture
from fairtrial._results.charts.theme import CATEGORIES, COLOURS, finish, inline, layered
from fairtrial._results.column import reason, scalar
from fairtrial._results.result import Result

INK = "#20262e"
WIDTH = 520
ROW = 34
UP, DOWN, END = "adds to the gap", "takes from the gap", "rate"
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
WHEN = ["before", "after"]


def pictures(result: Result) -> list[Picture]:
    """The waterfall first; the panel where there is more than one allocation."""
    several = len({row["allocation"] for row in result.details["panel"]}) > 1
    panels = [_panel(result)] if several else []
    return [_waterfall(result), _groups(result), *panels, _mitigation(result)]


# -- the waterfall from one group's rate to another's, a step per feature ----------------------------------------------
def _waterfall(result: Result) -> Picture:
    """From the compared group's rate to the group's, over the gap that is largest."""
    group, target = _largest_gap(result)
    title = f"From {target} to {group}: which features carry the gap in {result.details['label']}"
    steps = _steps(result, group, target)
    if not steps:
        reasons = (why for row in result.estimates if (why := reason(row["difference"])))
        why = next(reasons, "the contributions are undefined")
        return Picture("waterfall", title, f"No waterfall: {why}", _only_text(why))
    listed = "; ".join(f"{step['label']} {step['text']}" for step in steps)
    chart = finish(_waterfall_layers(result, steps), width=WIDTH, height=ROW * len(steps))
    return Picture("waterfall", title, f"Waterfall from {target} to {group}: {listed}.", chart)


def _largest_gap(result: Result) -> tuple[str, str]:
    gaps = [row for row in result.estimates if row["part"] == "gap"]
    if not gaps:  # masked, as numbers about few people are
        return "", ""
    row = max(gaps, key=lambda row: abs(scalar(row["difference"]) or 0.0))
    return row["group"], row["target"]


def _steps(result: Result, group: str, target: str) -> list[dict[str, Any]]:
    """The lower end, one step per feature in falling order, the upper end; none where a number is undefined."""
    rates = {entry["group"]: scalar(entry["rate"]) for entry in result.details["groups"]}
    about = ("contribution to the gap", group, target)
    rows = [row for row in result.estimates if (row["part"], row["group"], row["target"]) == about]
    start, stop = rates.get(target), rates.get(group)
    if start is None or stop is None or None in [scalar(row["difference"]) for row in rows]:
        return []
    sign = 1.0 if stop >= start else -1.0
    steps = [_end(result, target, start)]
    level = start
    for row in sorted(rows, key=lambda row: -sign * row["difference"]):
        steps.append(_step(result, row, level, sign))
        level += row["difference"]
    return [*steps, _end(result, group, stop)]


def _step(result: Result, row: dict[str, Any], level: float, sign: float) -> dict[str, Any]:
    """One feature's bar from the level reached before it."""
    difference = row["difference"]
    after, low, high = level + difference, scalar(row["difference_low"]), scalar(row["difference_high"])
    return {
        "label": row["feature"], "start": level, "end": after, "what": UP if sign * difference >= 0 else DOWN,
        "low": None if low is None else level + low, "high": None if high is None else level + high,
        "right": max(level, after, level + high if high is not None else after), "text": _signed(result, difference),
    }  # fmt: skip


def _end(result: Result, label: str, rate: float) -> dict[str, Any]:
    text = f"{100 * rate:.1f}%" if _is_percent(result) else f"{rate:.3g}"
    shown = f"{label} (rate)" if label in result.details["features"] else label
    return {
        "label": shown, "start": 0.0, "end": rate, "what": END, "low": None, "high": None, "right": rate, "text": text,
    }  # fmt: skip


def _waterfall_layers(result: Result, steps: list[dict[str, Any]]) -> Any:
    axis, order = str(result.details["label"]), [step["label"] for step in steps]
    y = alt.Y("label:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8))
    base = alt.Chart(inline(steps)).encode(y=y, tooltip=_tooltips(label="step", text="difference"))
    # a thin line from the end of each bar to the next one's start
    ends = [
        {"link": i, "x": first["end"], "label": step["label"]}
        for i, (first, second) in enumerate(pairwise(steps))
        for step in (first, second)
    ]
    links = (
        alt.Chart(inline(ends))
        .mark_line(color=COLOURS["faint"], strokeWidth=1)
        .encode(x=alt.X("x:Q", title=axis), y=alt.Y("label:N", sort=order), detail=alt.Detail("link:N"))
    )
    known = base.transform_filter("datum.low != null")
    caps = [
        known.mark_tick(thickness=1.5, size=9, color=INK).encode(x=alt.X(f"{side}:Q", title=axis))
        for side in ("low", "high")
    ]
    numbers = base.mark_text(align="left", dx=8, fontSize=12, color=INK).encode(
        x=alt.X("right:Q", title=axis), text=alt.Text("text:N")
    )
    bars = _steps_as_bars(result, base, axis)
    return layered(links, bars, _whiskers(base, axis), *caps, numbers)


def _steps_as_bars(result: Result, base: Any, axis: str) -> Any:
    marks = alt.Axis(format="%" if _is_percent(result) else "~g", tickCount=7)
    x = alt.X("start:Q", title=axis, axis=marks, scale=alt.Scale(zero=False, nice=True))
    colours = [COLOURS["neutral"], COLOURS["second"], COLOURS["accent"]]
    colour = _by_category(alt.Color, "what", [END, UP, DOWN], colours)
    return base.mark_bar(height=18, cornerRadius=1).encode(x=x, x2=alt.X2("end:Q"), color=colour)


def _only_text(text: str) -> Any:
    """A chart that says why there is none."""
    lines = textwrap.wrap(text, 90)
    rows = [{"text": part, "line": i} for i, part in enumerate(lines)]
    chart = alt.Chart(inline(rows)).mark_text(
        align="left", fontSize=12, fontStyle="italic", color=COLOURS["neutral"], limit=640
    )
    place = alt.Y("line:O", axis=None)
    return finish(
        chart.encode(x=alt.XValue(4), y=place, text=alt.Text("text:N")), width=640, height=20 * len(lines)
    )


# -- both groups' bars, and mitigation ---------------------------------------------------------------------------------
def _groups(result: Result) -> Picture:
    lines = [
        _line(result, row, feature=row["feature"], group=row["group"])
        for row in result.estimates
        if row["part"] == "contribution to the rate"
    ]
    label = result.details["label"]
    title = f"What each feature contributes to each group's {label}"
    chart = _bars_by_group(result, lines, f"contribution to {label}{_in_points(result)}")
    return Picture("groups", title, _sentence(title, lines), chart)


def _mitigation(result: Result) -> Picture:
    lines = [
        _line(result, change, feature=entry["feature"], group=change["group"])
        for entry in result.details["pareto"]
        for change in entry["changes"]
    ]
    label, better = result.details["label"], result.details["favourable"]
    basis = next(
        (change["basis"] for entry in result.details["pareto"] for change in entry["changes"]), "masked"
    )
    title = f"What mitigating a feature would do to each group's {label} ({better} is better)"
    chart = _bars_by_group(result, lines, f"change of {label}{_in_points(result)}: {basis}")
    return Picture("mitigation", title, _sentence(title, lines), chart)


def _bars_by_group(result: Result, lines: list[dict[str, Any]], axis: str) -> Any:
    """A bar with its interval per feature and group."""
    features = result.details["features"]
    groups = list(dict.fromkeys(entry["group"] for entry in lines))
    base = alt.Chart(inline(lines)).encode(
        y=_feature_axis(features),
        yOffset=alt.YOffset("group:N", sort=groups),
        tooltip=_tooltips(feature="feature", group="group", text="difference"),
    )
    bars = (
        base.transform_filter("datum.value != null")
        .mark_bar(opacity=0.85)
        .encode(x=_difference(axis), color=_by_category(alt.Color, "group", groups, CATEGORIES))
    )
    absent = (
        base.transform_filter("datum.value == null")
        .mark_text(align="left", dx=4, fontStyle="italic", fontSize=11, color=COLOURS["not tested"])
        .encode(x=alt.XDatum(0), text=alt.Text("text:N"))
    )
    height = max(80, len(features) * (18 * len(groups) + 10))
    chart = layered(bars, _zero_line(), _whiskers(base, axis), absent)
    return finish(chart, width=WIDTH, height=height)


# -- the contributions by every allocation, and how many of them reject ------------------------------------------------
def _panel(result: Result) -> Picture:
    """One dot with its interval per feature and allocation."""
    pair = _largest_gap(result)
    lines = [
        _line(result, row, feature=row["feature"], group=row["label"], member=row["label"])
        for row in result.details["panel"]
        if (row["group"], row["target"]) == pair
    ]
    members = list(dict.fromkeys(entry["member"] for entry in lines))
    title = f"{pair[0]} minus {pair[1]}: the same question put to {len(members)} values"
    features = result.details["features"]
    layers = _panel_layers(result, lines, members)
    tally = [
        {"feature": vote["feature"], "text": f"{vote['rejecting']} of {vote['of']} reject"}
        for vote in result.details["votes"]
        if (vote["group"], vote["target"]) == pair
    ]
    if tally:
        place = alt.Y("feature:N", sort=features)
        layers.append(_side_texts(alt.Chart(inline(tally)).encode(y=place)))
    chart = finish(layered(*layers), width=WIDTH, height=max(100, len(features) * 16 * len(members)))
    return Picture("panel", title, _sentence(title, lines), chart)


def _panel_layers(result: Result, lines: list[dict[str, Any]], members: list[str]) -> list[Any]:
    axis = f"contribution to the gap{_in_points(result)}"
    colour = _by_category(alt.Color, "member", members, CATEGORIES, columns=3)
    shape = _by_category(alt.Shape, "member", members, SHAPES, columns=3)
    base = (
        alt.Chart(inline(lines))
        .transform_filter("datum.value != null")
        .encode(
            y=_feature_axis(result.details["features"], grid=True, tickBand="extent"),
            yOffset=alt.YOffset("member:N", sort=members),
            tooltip=_tooltips(feature="feature", member="value", text="difference"),
        )
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=_difference(axis), color=colour, shape=shape
    )
    return [_zero_line(), _whiskers(base, axis, color=colour), dots]


# -- every feature's contribution to the gap before and after ----------------------------------------------------------
def before_after(result: Result) -> Picture:
    """Two dots per feature, and the change beside them."""
    first = result.estimates[0]
    pair = ("gap", first["group"], first["target"])
    rows = [row for row in result.estimates if (row["part"], row["group"], row["target"]) == pair]
    texts = {row["feature"]: _line(result, row)["text"] for row in rows}
    lines = [
        {"feature": name, "when": when, "value": _drawn(result, row[when]), "text": texts[name]}
        for row in rows
        for name in [row["feature"]]
        for when in WHEN
    ]
    title = f"{first['group']} minus {first['target']}, before and after"
    chart = finish(_change_layers(result, lines, list(texts)), width=WIDTH, height=ROW * len(rows))
    listed = "; ".join(f"{feature} {text}" for feature, text in texts.items())
    return Picture("before-after", title, f"{title}: change of {listed}.", chart)


def _change_layers(result: Result, lines: list[dict[str, Any]], features: list[str]) -> Any:
    axis = f"contribution to the gap{_in_points(result)}"
    base = (
        alt.Chart(inline(lines))
        .transform_filter("datum.value != null")
        .encode(y=_feature_axis(features), tooltip=_tooltips(feature="feature", when="when", text="change"))
    )
    bridge = base.mark_line(color=COLOURS["faint"], strokeWidth=3).encode(
        x=alt.X("value:Q", title=axis), detail=alt.Detail("feature:N")
    )
    dots = base.mark_point(filled=True, size=110, opacity=1).encode(
        x=_difference(axis),
        color=_by_category(alt.Color, "when", WHEN, [COLOURS["second"], COLOURS["accent"]]),
        shape=_by_category(alt.Shape, "when", WHEN, ["circle", "diamond"]),
    )
    changes = _side_texts(base.transform_filter("datum.when == 'after'"))
    return layered(_zero_line(strokeDash=[4, 3]), bridge, dots, changes)


# -- what they share: lines with their texts, axes, the line of zero, whiskers -----------------------------------------
def _is_percent(result: Result) -> bool:
    return bool(result.details["value_kind"] == "percent")


def _signed(result: Result, value: float) -> str:
    """As texts show a difference: in points where values are shares."""
    return signed(value, result.details["value_kind"])


def _drawn(result: Result, cell: Any) -> float | None:
    """As charts draw a difference: in points where values are shares."""
    value = scalar(cell)
    return None if value is None else (100.0 if _is_percent(result) else 1.0) * float(value)


def _in_points(result: Result) -> str:
    return ", in points" if _is_percent(result) else ""


def _line(result: Result, row: dict[str, Any], **named: Any) -> dict[str, Any]:
    """A difference with its interval as it is drawn and told, under the names given."""
    cells = {
        name: row[f"difference{end}"] for name, end in (("value", ""), ("low", "_low"), ("high", "_high"))
    }
    value, low, high = (scalar(cell) for cell in cells.values())
    text = "undefined" if value is None else _signed(result, value)
    if value is not None and low is not None and high is not None:
        text += f" [{_signed(result, low)}, {_signed(result, high)}]"
    return {**named, **{name: _drawn(result, cell) for name, cell in cells.items()}, "text": text}


def _sentence(title: str, lines: list[dict[str, Any]]) -> str:
    """What a chart shows, for those who do not see it."""
    listed = "; ".join(f"{entry['feature']}, {entry['group']}: {entry['text']}" for entry in lines[:24])
    return f"{title}. {listed}{' …' if len(lines) > 24 else ''}"


def _feature_axis(features: list[str], **more: Any) -> alt.Y:
    axis = alt.Axis(ticks=False, labelPadding=8, **more)
    return alt.Y("feature:N", sort=features, title=None, axis=axis)


def _difference(title: str) -> alt.X:
    return alt.X("value:Q", title=title, axis=alt.Axis(format="+~g", tickCount=7))


def _by_category(channel: Any, field: str, categories: list[str], marks: list[str], **legend: Any) -> Any:
    """A colour or a shape for each category, explained below the chart."""
    scale = alt.Scale(domain=categories, range=marks[: len(categories)])
    return channel(f"{field}:N", scale=scale, title=None, legend=alt.Legend(orient="bottom", **legend))


def _tooltips(**titles: str) -> list[alt.Tooltip]:
    """Texts by their field."""
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in titles.items()]


def _whiskers(base: Any, axis: str, **encoded: Any) -> Any:
    """Intervals, where there are any."""
    mark = {} if "color" in encoded else {"color": INK}
    known = base.transform_filter("datum.low != null").mark_rule(strokeWidth=1.5, **mark)
    return known.encode(x=alt.X("low:Q", title=axis), x2=alt.X2("high:Q"), **encoded)


def _zero_line(**mark: Any) -> Any:
    """No difference."""
    data = inline([{"x": 0}])
    return alt.Chart(data).mark_rule(color=COLOURS["neutral"], **mark).encode(x=alt.X("x:Q"))


def _side_texts(base: Any) -> Any:
    """A text at the right edge of every line."""
    return base.mark_text(align="left", dx=6, fontSize=11, color=COLOURS["neutral"]).encode(
        x=alt.XValue(WIDTH), text=alt.Text("text:N")
    )
