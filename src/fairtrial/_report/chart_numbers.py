"""What a chart shows, as lines of text: for those who cannot see it, and for those who want to read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fairtrial._results.text import true_minus

MOST_LINES = 130  # of sixty groups two each, and the tolerance
# what a chart draws with but does not say
_UNSAID = {
    "panel",
    "fill",
    "ink",
    "sort",
    "order",
    "place",
    "link",
    "right",
    "line",
    "column",
    "people",
    "sign",
    "mark",
}


def chart_lines(spec: Mapping[str, Any]) -> list[str]:
    """One line per row of the chart's data, its words and numbers; long ones are cut, the table has the rest."""
    lines = list(dict.fromkeys(line for row in _rows(spec) if (line := _line(row))))
    if len(lines) > MOST_LINES:
        return [*lines[:MOST_LINES], f"and {len(lines) - MOST_LINES:,} more, in the table"]
    return lines


def _rows(spec: Any) -> Iterator[Mapping[str, Any]]:
    """The rows of every view, wherever they stand in the spec."""
    if isinstance(spec, Mapping):
        for name, part in spec.items():
            if name == "values" and isinstance(part, list):
                yield from (row for row in part if isinstance(row, Mapping))
            else:
                yield from _rows(part)
    elif isinstance(spec, list):
        for part in spec:
            yield from _rows(part)


def _line(row: Mapping[str, Any]) -> str:
    """'race: Hispanic: 21.5% (17.6% to 25.8%), no difference shown'; nothing where nobody and nothing is named."""
    who = next(
        (str(row[name]) for name in ("label", "group", "words", "feature", "attribute") if row.get(name)), ""
    )
    if row.get("text") is not None and who:
        text, metric = true_minus(str(row["text"])), f"{row['metric']}, " if row.get("metric") else ""
        state = f", {row['state']}" if row.get("state") and str(row["state"]) not in text else ""
        return f"{metric}{who}: {text}{state}"
    told = [
        f"{name.replace('_', ' ')} {value:.4g}"
        if isinstance(value, float)
        else f"{name.replace('_', ' ')} {value}"
        for name, value in row.items()
        if name not in _UNSAID
        and value is not None
        and not isinstance(value, bool | dict | list)
        and str(value) != who
    ]
    numbers = any(isinstance(value, int | float) and not isinstance(value, bool) for value in row.values())
    return f"{who}: {', '.join(told)}".removeprefix(": ") if numbers and len(told) > 1 else ""
