"""A gap as a line of the forest chart, for certify and flag."""

from __future__ import annotations

from typing import Any

from fairtrial.results.charts.forest import ForestRow
from fairtrial.results.column import reason, scalar
from fairtrial.results.text import format_value


def line_label(row: dict[str, Any]) -> str:
    """The group, with the metric where a criterion joins several."""
    metric = row.get("metric_label")
    return f"{metric}: {row['group']}" if metric else str(row["group"])


def gap_row(row: dict[str, Any], percent: bool, state: str) -> ForestRow:
    """One group of certify or flag, as the forest chart takes it."""
    estimate, low, high = (scalar(row[name]) for name in ("difference", "difference_low", "difference_high"))
    kind: Any = "points" if percent else "number"
    why = reason(row["difference_low"])
    if estimate is None or why is not None:
        text = why or "not tested"
    else:
        text = f"{format_value(estimate, kind)} ({format_value(low, kind)} to {format_value(high, kind)})"
    return ForestRow(
        label=line_label(row), panel="", estimate=None if why is not None else estimate, low=low, high=high,
        n=int(row["n"]), state=state, text=text,
    )  # fmt: skip
