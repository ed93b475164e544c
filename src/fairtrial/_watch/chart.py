"""Charts of `watch`: the average gap over time, the evidence over time, and where every group stands."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

from fairtrial._results.charts import Picture
from fairtrial._results.charts.forest import MOST_LINES, ForestRow, forest, sized
from fairtrial._results.charts.theme import COLOURS, Unit, axis, finish, inline, layered, titled
from fairtrial._results.column import scalar
from fairtrial._results.result import Result
from fairtrial._results.text import format_value

COLUMNS = 3  # of small multiples
SHORT = 7  # characters: three such names of periods stand side by side in a panel
SHOWN_STATES = {
    "certified": "certified",
    "outside": "violated",
    "undetermined": "undetermined",
    None: "not tested",
}


def pictures(result: Result) -> list[Picture]:
    """The status first, then both claims over time."""
    found = [_status(result)]
    if any(item["points"] for item in result.details["history"]):
        found += [_average(result), _evidence(result)]
    return found


def _band(result: Result) -> tuple[float, float] | None:
    tolerance = result.details["tolerance"]
    return None if tolerance is None else (tolerance[0], tolerance[1])


def _axis(result: Result) -> str:
    words = "ratio" if result.details["scale"] == "ratio" else "difference"
    return f"{result.details['label']}: average {words} to {result.details['target']}"


def _unit(result: Result) -> Unit:
    if result.details["scale"] == "ratio":
        return "ratio"
    return "points" if result.details["value_kind"] == "percent" else "number"


def _status(result: Result) -> Picture:
    """Every group's average gap now against the tolerance; what any period showed is in its words."""
    scale = result.details["scale"]
    kind: Any = _unit(result)
    rows = []
    many = len(result.estimates) > MOST_LINES
    ranked = sorted(result.estimates, key=lambda row: many and row["state"] != "violated")
    for row in ranked[:MOST_LINES]:
        estimate, low, high = (scalar(row[f"{scale}{end}"]) for end in ("", "_low", "_high"))
        told = estimate is not None and low is not None and high is not None
        text = f"{format_value(estimate, kind)} ({format_value(low, kind)} to {format_value(high, kind)})"
        label = str(row["group"])
        if row["state"] == "violated":
            label += f" ◆ {row['since'] or result.details['last_period']}"
        rows.append(
            ForestRow(
                label=label, panel="", estimate=estimate if told else None, low=low, high=high,
                n=int(scalar(row["n"]) or 0), state=SHOWN_STATES[row["average_state"]],
                text=text if told else "not compared yet",
            )
        )  # fmt: skip
    chart = forest(rows, title=_axis(result), unit=_unit(result), band=_band(result))
    title = f"On average from {result.details['first_period']} to {result.details['last_period']}"
    if any(row["state"] == "violated" for row in result.estimates):
        title += " (◆: that some period was outside is shown since then)"
    if many:
        title += f" ({MOST_LINES} of {len(result.estimates):,} groups, those outside first)"
    alt_text = f"Average gap per group with its interval. {result.verdict.text}"
    return Picture("status", title, alt_text, finish(sized(chart, rows)))


def _points(result: Result) -> list[dict[str, Any]]:
    """One entry per group and look."""
    since = {str(row["group"]): row["since"] for row in result.estimates}
    return [
        {**point, "group": item["group"], "verdict": since.get(item["group"]) == point["period"]}
        for item in result.details["history"]
        for point in item["points"]
        if point["estimate"] is not None
    ]


def _time(periods: list[str]) -> alt.X:
    """A few periods are named, none at the edge of its panel, where names would run into the next one."""
    places = (0.2, 0.5, 0.8) if max(map(len, periods)) <= SHORT else (0.2, 0.8)
    named = [periods[round(place * (len(periods) - 1))] for place in places]
    axis = alt.Axis(values=list(dict.fromkeys(named)), labelAngle=0, ticks=False)
    return alt.X("period:O", sort=periods, title=None, axis=axis)


def _periods(result: Result) -> list[str]:
    histories = result.details["history"]
    return [point["period"] for point in histories[0]["points"]]


def _average(result: Result) -> Picture:
    """The interval of the average gap at every look, one panel per group."""
    values = _points(result)
    time = _time(_periods(result))
    domain = _span(result, values)
    scale = alt.Scale(zero=False, domain=domain)
    unit = _unit(result)
    y = alt.Y("low:Q", title=titled("gap", unit), axis=axis(domain[1] - domain[0], unit), scale=scale)
    base = alt.Chart().encode(x=time)
    ribbon = base.mark_area(opacity=0.25, color=COLOURS["accent"], clip=True).encode(y=y, y2=alt.Y2("high:Q"))
    line = base.mark_line(color=COLOURS["accent"], clip=True).encode(y=alt.Y("estimate:Q"))
    moments = (
        alt.Chart()
        .transform_filter("datum.verdict")
        .mark_point(shape="diamond", filled=True, size=90, color=COLOURS["violated"], opacity=1)
        .encode(
            x=time, y=alt.Y("estimate:Q"), tooltip=[alt.Tooltip("period:O", title="violation shown since")]
        )
    )
    layers = [*_edges(result), ribbon, line, moments]
    level = f"{100 * result.details['confidence_level']:g}%"
    title = f"Average gap so far, {level} at every look at once (shaded: tolerance; diamond: a violation was shown)"
    return Picture("average", title, _alt(result, "Average gap over time."), _small_multiples(layers, values))


def _span(result: Result, values: list[dict[str, Any]]) -> list[float]:
    """What the later nine tenths of the looks reach: the first ones know so little that they would hide the rest."""
    late = set(_periods(result)[len(_periods(result)) // 10 :])
    kept = [
        point for point in values if point["period"] in late and None not in (point["low"], point["high"])
    ]
    ends = [*(_band(result) or ()), *(point[end] for point in kept for end in ("low", "high"))]
    return [min(ends, default=-1.0), max(ends, default=1.0)]


def _edges(result: Result) -> list[Any]:
    """The tolerance as a band behind the lines; the line of no gap without one."""
    band = _band(result)
    if band is None:
        neutral = 1.0 if result.details["scale"] == "ratio" else 0.0
        return [
            alt.Chart().mark_rule(color=COLOURS["neutral"], strokeDash=[4, 3]).encode(y=alt.YDatum(neutral))
        ]
    rule = alt.Chart().mark_rule(color=COLOURS["certified"], strokeDash=[4, 3])
    return [rule.encode(y=alt.YDatum(end)) for end in band]


def _evidence(result: Result) -> Picture:
    """e-values on a log scale with the level at which a violation is shown of one group alone."""
    level = -math.log(1.0 - result.details["confidence_level"])
    values = [{**point, "e": point["log_e"] / math.log(10)} for point in _points(result)]
    time = _time(_periods(result))
    line = alt.Chart().mark_line(color=COLOURS["accent"]).encode(x=time, y=alt.Y("e:Q", title=None))
    rule = alt.Chart().mark_rule(color=COLOURS["violated"], strokeDash=[4, 3])
    moments = (
        alt.Chart()
        .transform_filter("datum.verdict")
        .mark_point(shape="diamond", filled=True, size=90, color=COLOURS["violated"], opacity=1)
        .encode(x=time, y=alt.Y("e:Q"))
    )
    layers = [rule.encode(y=alt.YDatum(level / math.log(10))), line]
    layers += [moments] if any(value["verdict"] for value in values) else []
    title = "Evidence that some period was outside: e-value, powers of ten (dashed: 1/α)"
    return Picture("evidence", title, _alt(result, "Evidence over time."), _small_multiples(layers, values))


def _small_multiples(layers: list[Any], values: list[dict[str, Any]]) -> Any:
    groups = list(dict.fromkeys(value["group"] for value in values))
    width = 460 if len(groups) == 1 else 220
    chart = layered(*layers, data=inline(values)).properties(width=width, height=150)
    facet = chart.facet(
        facet=alt.Facet("group:N", sort=groups, title=None), columns=min(COLUMNS, len(groups))
    )
    return finish(facet)


def _alt(result: Result, what: str) -> str:
    return f"{what} {result.verdict.text}"
