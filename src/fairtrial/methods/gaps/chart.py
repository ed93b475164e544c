"""A gap as a line of the forest chart, for certify and flag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairtrial.results.charts.forest import ForestRow, both_ends
from fairtrial.results.column import reason, scalar
from fairtrial.results.text import format_value


def line_label(row: dict[str, Any], details: Mapping[str, Any]) -> str:
    """What a chart calls a line: its group, and the cut or the metric where there are several."""
    cut = row.get("metric_label") or details.get("cuts", {}).get(row.get("metric"))
    return f"{row['group']}: {cut}" if cut else str(row["group"])


def gap_rows(row: dict[str, Any], percent: bool, state: str, label: str) -> list[ForestRow]:
    """One group of certify or flag, as the forest chart takes it: two marks where only its gap's ends are known."""
    estimate, low, high = (scalar(row[name]) for name in ("difference", "difference_low", "difference_high"))
    kind: Any = "points" if percent else "number"
    why = reason(row["difference_low"])
    ends = scalar(row.get("difference_least")), scalar(row.get("difference_most"))
    known_ends = None not in ends and why is None
    if known_ends:
        text = ends_text(*ends, low, high, kind)
    elif estimate is None or why is not None:
        text = why or "not tested"
    else:
        text = f"{format_value(estimate, kind)} ({format_value(low, kind)} to {format_value(high, kind)})"
    found = ForestRow(
        label=label, panel="", estimate=None if why is not None else estimate, low=low, high=high,
        n=int(row["n"]), state=state, text=text,
    )  # fmt: skip
    return both_ends(found, *ends) if known_ends else [found]


def ends_text(least: float, most: float, low: float | None, high: float | None, kind: Any) -> str:
    """'between +1.0 and +5.0 (-0.5 to +6.2)'."""
    least_text, most_text, low_text, high_text = (format_value(end, kind) for end in (least, most, low, high))
    return f"between {least_text} and {most_text} ({low_text} to {high_text})"
