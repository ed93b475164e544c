"""Charts of `measure`: differences to the target, and the rates themselves."""

from __future__ import annotations

from typing import Any

import altair as alt

from fairtrial._compare.charts import cut_words, ends_text, fitting, without_mirrors
from fairtrial._results.charts import Picture
from fairtrial._results.charts.forest import MOST_LINES, ForestRow, both_ends, drawn_states, forest, sized
from fairtrial._results.charts.theme import Unit, finish, inline, layered
from fairtrial._results.column import scalar
from fairtrial._results.result import Result
from fairtrial._results.text import format_value, state_text


def measure_pictures(result: Result) -> list[Picture]:
    """Rates first: it is what was asked."""
    level = f"{100 * result.details['confidence_level']:g}%"
    names = list(dict.fromkeys(str(row["metric"]) for row in result.estimates))
    rates = _panels(result, names, difference=False)
    gaps = _panels(result, names, difference=True)
    found = [
        Picture(
            "rates",
            f"Rates with {level} intervals; bars: what they are compared with{_cut(result, names)}",
            f"Rate and interval per group. {result.verdict.text}",
            rates,
        )
    ]
    if any(scalar(row["difference_low"]) is not None for row in result.estimates):
        title = f"Differences with {level} intervals{_cut(result, names)}"
        found.append(
            Picture("differences", title, f"Difference to the target per group. {result.verdict.text}", gaps)
        )
    return found


def _panels(result: Result, names: list[str], *, difference: bool) -> Any:
    kinds = {str(row["metric"]): row["value_kind"] for row in result.estimates}
    panels = {
        name: [
            line
            for row in _drawn(result, name, difference)
            for line in _forest_rows(result, row, difference, len(names) > 1)
        ]
        for name in names
    }
    states = drawn_states(line for lines in panels.values() for line in lines)
    charts = []
    for name, lines in panels.items():
        percent: Unit = "points" if difference else "rate"
        label = str(result.details["labels"][name])
        chart = forest(
            lines,
            title=f"difference in {label}" if difference else label,
            unit=percent if kinds[name] == "percent" else "number",
            states=states,
        )
        charts.append(sized(chart, lines))
    return finish(alt.vconcat(*charts).resolve_scale(color="shared", shape="shared"))


def _drawn(result: Result, name: str, difference: bool) -> list[dict[str, Any]]:
    """The rows of one metric that are drawn."""
    rows = [row for row in result.estimates if row["metric"] == name]
    if difference:
        rows = without_mirrors([row for row in rows if row["state"] != "reference"])
    return fitting(rows)


def _cut(result: Result, names: list[str]) -> str:
    return cut_words(max(sum(row["metric"] == name for row in result.estimates) for name in names))


def _forest_rows(result: Result, row: dict[str, Any], difference: bool, several: bool) -> list[ForestRow]:
    percent = row["value_kind"] == "percent"
    stem = "difference" if difference else "rate"
    estimate, low, high = (scalar(row[name]) for name in (stem, f"{stem}_low", f"{stem}_high"))
    kind: Any = ("points" if difference else "rate") if percent else "number"
    ends = scalar(row.get(f"{stem}_least")), scalar(row.get(f"{stem}_most"))
    known_ends = None not in ends and low is not None
    if known_ends:
        text = ends_text(*ends, low, high, kind)
    elif estimate is None:
        text = state_text(result, row)
    else:
        text = f"{format_value(estimate, kind)} ({format_value(low, kind)} to {format_value(high, kind)})"
    found = ForestRow(
        label=str(row["group"]), panel=str(row["metric"]), estimate=estimate, low=low, high=high,
        n=int(scalar(row["n"]) or 0), state=result.state_of(row).text, text=text,
        target=None if difference or estimate is None else scalar(row.get("target_rate")),
        metric=str(result.details["labels"][str(row["metric"])]) if several else "",
    )  # fmt: skip
    return both_ends(found, *ends) if known_ends else [found]


# -- Charts of `tabulate`: one forest for each ratio or difference that the table has limits of.
DRAWN = {"impact_ratio": "impact ratio", "ratio": "ratio", "difference": "difference"}


def table_pictures(result: Result) -> list[Picture]:
    """Impact ratios, ratios, then differences; one chart per quantity, so that no axis mixes units."""
    return [_picture(result, name, metrics) for name, metrics in _quantities(result)]


def _quantities(result: Result) -> list[tuple[str, list[str]]]:
    """Each drawn column with the metrics that share its axis."""
    chosen: list[tuple[str, list[str]]] = []
    for name in DRAWN:
        rows = [row for row in result.estimates if scalar(row.get(name)) is not None]
        metrics = list(dict.fromkeys(str(row["metric"]) for row in rows))
        if name == "difference":
            chosen += [(name, [metric]) for metric in metrics]
        elif metrics:
            chosen.append((name, metrics))
    return chosen


def _picture(result: Result, name: str, metrics: list[str]) -> Picture:
    rows = [row for row in result.estimates if row["metric"] in metrics and scalar(row.get(name)) is not None]
    several = len(metrics) > 1
    gap: Unit = "points" if rows[0]["value_kind"] == "percent" else "number"
    unit: Unit = gap if name == "difference" else "ratio"
    lines = [_line(result, row, name, several) for row in rows[:MOST_LINES]]
    told = DRAWN[name] if several else f"{metrics[0]}: {DRAWN[name]}"
    chart = forest(lines, title=told, unit=unit)
    level = f"{100 * result.details['confidence_level']:g}%"
    title = f"{told[:1].upper()}{told[1:]} with {level} intervals"
    title += " (dotted: four fifths)" if unit == "ratio" else ""
    if len(rows) > len(lines):
        title += f" (the first {len(lines)} of {len(rows)} lines)"
    words = f"{title}, per group. {result.verdict.text}"
    return Picture(f"{name}-{metrics[0]}", title, words, finish(sized(chart, lines)))


def _line(result: Result, row: dict[str, Any], name: str, several: bool) -> ForestRow:
    kind = "ratio" if name != "difference" else ("points" if row["value_kind"] == "percent" else "number")
    value = scalar(row[name])
    return ForestRow(
        label=f"{row['metric']}: {row['group']}" if several else str(row["group"]), panel="", estimate=value,
        low=scalar(row.get(f"{name}_low")), high=scalar(row.get(f"{name}_high")), n=int(scalar(row["n"]) or 0),
        state=result.state_of(row).text, text=format_value(value, kind),  # type: ignore[arg-type]
    )  # fmt: skip


# -- Charts of rates over all thresholds: curves with their bands, the ROC curve, calibration.
MOST_GROUPS = 8  # more lines cannot be told apart; the largest groups are drawn
AXIS = alt.Axis(format="%")
GROUP = alt.Color("group:N", title=None, legend=alt.Legend(orient="top", symbolOpacity=1))


def curve_pictures(result: Result) -> list[Picture]:
    """One picture per curve that was asked for, then the ROC curve and calibration."""
    level = f"{100 * result.details['confidence_level']:g}%"
    score = str(result.details["score"])
    found = []
    for name, label in result.details["curve_labels"].items():
        points = _drawn_points(result, name)
        if points:
            title = f"{str(label).capitalize()} at every threshold, {level} bands that hold at all of them"
            chart = _banded(points, "threshold", f"threshold of {score}", str(label))
            found.append(
                Picture(f"curve-{name}", title, f"{label} by threshold. {result.verdict.text}", chart)
            )
    roc, calibration = _drawn_points(result, "roc"), _drawn_points(result, "calibration")
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


def _drawn_points(result: Result, name: str) -> list[dict[str, Any]]:
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
