"""A gap as a line of the forest chart, for certify and flag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from fairtrial._results.charts.axes import Unit
from fairtrial._results.charts.forest import MOST_LINES, ForestRow, both_ends
from fairtrial._results.column import reason, scalar
from fairtrial._results.text import format_value


def line_label(row: dict[str, Any], details: Mapping[str, Any]) -> str:
    """What a chart calls a line: its group, and the cut or the metric where there are several."""
    cut = row.get("metric_label") or details.get("cuts", {}).get(row.get("metric"))
    return f"{row['group']}: {cut}" if cut else str(row["group"])


def gap_unit(details: Mapping[str, Any]) -> Unit:
    """What the gaps of a result are in."""
    if details.get("scale") == "ratio":
        return "ratio"
    return "points" if details.get("value_kind", "percent") == "percent" else "number"


def gap_title(details: Mapping[str, Any], unit: Unit) -> str:
    """What the axis of a result's gaps says."""
    word = "ratio" if unit == "ratio" else "difference"
    return f"{details['label']}: {word} to {details['target']}"


def legend_words(rows: Sequence[ForestRow], unit: Unit, band: tuple[float, float] | None) -> str:
    """What the title says of marks that no legend explains: '; shaded: the tolerance; hollow: unadjusted'."""
    words = ["shaded: the tolerance"] if band is not None else []
    words += ["dotted: four fifths"] if unit == "ratio" else []
    words += ["hollow: unadjusted"] if any(row.get("beside") is not None for row in rows) else []
    return "; ".join(words)


def gap_band(details: Mapping[str, Any]) -> tuple[float, float] | None:
    """The tolerance of a result's gaps, an open end as infinity; None where there is none."""
    band = details.get("tolerance")
    if band is None or band[0] == band[1]:
        return None
    low, high = (
        open_end if end is None else float(end) for end, open_end in zip(band, (-inf, inf), strict=True)
    )
    return low, high


def gap_rows(row: dict[str, Any], unit: Unit, state: str, label: str) -> list[ForestRow]:
    """One group of certify or flag, as the forest chart takes it: two marks where only its gap's ends are known."""
    name = "ratio" if unit == "ratio" else "difference"
    estimate, low, high = (scalar(row.get(column)) for column in (name, f"{name}_low", f"{name}_high"))
    kind: Any = unit
    why = reason(row.get(f"{name}_low"))
    ends = scalar(row.get(f"{name}_least")), scalar(row.get(f"{name}_most"))
    known_ends = None not in ends and why is None
    if known_ends:
        text = ends_text(*ends, low, high, kind)
    elif estimate is None or why is not None:
        text = why or "not tested"
    else:
        text = f"{format_value(estimate, kind)} ({format_value(low, kind)} to {format_value(high, kind)})"
    beside = scalar(row.get("unadjusted_ratio" if unit == "ratio" else "unadjusted"))
    if beside is not None:
        text += f"; unadjusted {format_value(beside, kind)}"
    found = ForestRow(
        label=label, panel="", estimate=None if why is not None else estimate, low=low, high=high,
        n=int(scalar(row["n"]) or 0), state=state, text=text, beside=beside,
    )  # fmt: skip
    return both_ends(found, *ends) if known_ends else [found]


def without_mirrors(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without those that show another one's gap from the other side; the harmed one stays."""
    kept: dict[tuple[Any, ...], dict[str, Any]] = {}
    for place, row in enumerate(rows):
        rates = scalar(row.get("rate")), scalar(row.get("target_rate"))
        key: tuple[Any, ...] = (row.get("metric"), *sorted(map(str, rates)))
        if None in rates or row.get("target") not in (None, "everyone else"):
            key = (place,)
        first = kept.get(key)
        mirrored = first is not None and scalar(first.get("rate")) == rates[1]
        if first is not None and not mirrored:
            key = (place,)
        if first is None or not mirrored or row.get("effect") == "harmed":
            kept[key] = row
    chosen = {id(row) for row in kept.values()}
    return [row for row in rows if id(row) in chosen]


def fitting(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that fit a page, in their order: those with the smallest p-values where there are too many."""
    ranked = sorted(rows, key=_p)[:MOST_LINES]
    chosen = {id(row) for row in ranked}
    return [row for row in rows if id(row) in chosen]


def cut_words(groups: int) -> str:
    """What a title says of rows that are left to the table."""
    return f" (the {MOST_LINES} smallest p-values of {groups:,} groups)" if groups > MOST_LINES else ""


def _p(row: Mapping[str, Any]) -> float:
    value = scalar(row.get("p_value"))
    return 2.0 if value is None else float(value)


def ends_text(least: float, most: float, low: float | None, high: float | None, kind: Any) -> str:
    """'between +1.0 and +5.0 (-0.5 to +6.2)'."""
    least_text, most_text, low_text, high_text = (format_value(end, kind) for end in (least, most, low, high))
    return f"between {least_text} and {most_text} ({low_text} to {high_text})"
