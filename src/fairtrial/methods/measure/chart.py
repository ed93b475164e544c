"""Charts of `measure`: differences to the target, and the rates themselves."""

from __future__ import annotations

from typing import Any

import altair as alt

from fairtrial.results.charts.forest import ForestRow, forest
from fairtrial.results.charts.picture import Picture
from fairtrial.results.charts.theme import finish
from fairtrial.results.column import reason, scalar
from fairtrial.results.result import Result
from fairtrial.results.text import format_value


def pictures(result: Result) -> list[Picture]:
    """Rates first: it is what was asked."""
    level = f"{100 * result.details['confidence_level']:g}%"
    names = list(dict.fromkeys(str(row["metric"]) for row in result.estimates))
    rates = _panels(result, names, difference=False)
    gaps = _panels(result, names, difference=True)
    found = [
        Picture(
            "rates",
            f"Rates with {level} intervals",
            f"Rate and interval per group. {result.verdict.text}",
            rates,
        )
    ]
    if any(scalar(row["difference"]) is not None for row in result.estimates):
        title = f"Differences with {level} intervals"
        found.append(
            Picture("differences", title, f"Difference to the target per group. {result.verdict.text}", gaps)
        )
    return found


def _panels(result: Result, names: list[str], *, difference: bool) -> Any:
    charts = []
    states = {_state(row) for row in result.estimates if not (difference and row["finding"] == "reference")}
    for name in names:
        rows = [row for row in result.estimates if row["metric"] == name]
        if difference:
            rows = [row for row in rows if row["finding"] != "reference"]
        percent = any(row["scale"] == "percent" for row in rows)
        label = str(result.details["labels"][name])
        axis = f"difference in {label}" if difference else label
        chart = forest(
            [_forest_row(row, difference, percent) for row in rows],
            axis=axis,
            percent=percent,
            zero=difference,
            states=states,
        )
        charts.append(chart.properties(width=420, height=alt.Step(26)))
    return finish(alt.vconcat(*charts).resolve_scale(color="shared", shape="shared"))


def _forest_row(row: dict[str, Any], difference: bool, percent: bool) -> ForestRow:
    stem = "difference" if difference else "rate"
    estimate, low, high = (scalar(row[name]) for name in (stem, f"{stem}_low", f"{stem}_high"))
    kind: Any = ("points" if difference else "rate") if percent else "number"
    if estimate is None:
        text = reason(row[stem]) or str(row["finding"])
    else:
        text = f"{format_value(estimate, kind)} ({format_value(low, kind)} to {format_value(high, kind)})"
    return ForestRow(
        label=str(row["group"]), panel=str(row["metric"]), estimate=estimate, low=low, high=high, n=int(row["n"]),
        state=_state(row), text=text,
    )  # fmt: skip


def _state(row: dict[str, Any]) -> str:
    finding = str(row["finding"])
    return "not tested" if finding.startswith("not tested") else finding
