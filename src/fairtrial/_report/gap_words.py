"""A gap in words of the first screen: its size, both rates, its interval, and the largest that was seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairtrial._report.one_gap import with_attributes
from fairtrial._report.tables import shown
from fairtrial._results.column import scalar
from fairtrial._results.text import interval_text, kind_in, true_minus
from fairtrial._trial.family import shows


def gap_text(row: Mapping[str, Any]) -> str:
    """'21.4 points', '0.67 times'."""
    if _by_ratio(row):
        return f"{shown(scalar(row['ratio']), 'ratio')} times"
    points = kind_in(row, _POINTS) == "points"
    size = shown(abs(scalar(row["difference"])), "points" if points else "number").lstrip("+")
    return f"{size} points" if points else size


def _by_ratio(row: Mapping[str, Any]) -> bool:
    return row.get("scale") == "ratio" and scalar(row.get("ratio")) is not None


def rates_text(row: Mapping[str, Any]) -> str:
    """'44.8% in race: Black against 23.5% of race: White'."""
    kind = kind_in(row, _RATE)
    return (
        f"{shown(scalar(row['rate']), kind)} in {row['group']} against {shown(scalar(row['target_rate']), kind)} "
        f"of {row.get('target') or 'those it is compared with'}"
    )


def interval_of(row: Mapping[str, Any], alone: bool = False) -> str:
    """'The data fit a gap of 18.2 to 24.5 points (95% interval).'; empty where there is none.

    `alone` says that it was picked from several, which the interval knows nothing of.
    """
    name = "ratio" if _by_ratio(row) else "difference"
    low, high, level = scalar(row.get(f"{name}_low")), scalar(row.get(f"{name}_high")), row["level"]
    if low is None or high is None or level is None:
        return ""
    if name == "difference" and scalar(row["difference"]) < 0:
        low, high = -high, -low
    kind = "ratio" if name == "ratio" else kind_in(row, _POINTS)
    unit = {"points": " points", "ratio": " times"}.get(kind, "")
    told = true_minus(interval_text(low, high, kind))
    which = f"{100 * level:g}% interval{' of this gap alone' if alone else ''}"
    return f"The data fit a gap of {told.replace('+', '')}{unit} ({which})."


class _Kind:
    """A column as far as `kind_in` looks at it."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind


_POINTS: Any = _Kind("points")
_RATE: Any = _Kind("rate")


def largest_row(content: Mapping[str, Any]) -> dict[str, Any] | None:
    """The row with the largest gap among those that were compared; of a certified trial among the certified."""
    asked = ("certificate",) if content["verdict"]["code"] == "certified" else ("disparity", "certificate")
    rows = [
        with_attributes(section, place)
        for section in content["sections"]
        if section["result"] is not None and shows(section["method"]) in asked
        for place, row in enumerate(section["result"]["estimates"])
        if section["result"]["details"].get("places")
        and isinstance(scalar(row.get("difference")), float)
        and scalar(row.get("difference_low")) is not None
    ]
    return max(rows, key=lambda row: abs(scalar(row["difference"])), default=None)
