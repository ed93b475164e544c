"""Numbers as the sentences of explain and compare say them."""

from __future__ import annotations

import math

from fairtrial.results.text import format_value


def p_text(value: float) -> str:
    """'p <0.001' or 'p = 0.023'."""
    return f"p {format_value(value, 'p')}" if value < 0.001 else f"p = {format_value(value, 'p')}"


def amount(value: float, value_kind: str) -> str:
    """In points where values are shares; never −0.0."""
    if not math.isfinite(value):
        return "no limit"
    return f"{_clean(100 * value, 1):.1f}" if value_kind == "percent" else f"{_clean(value, 12):.3g}"


def signed(value: float, value_kind: str) -> str:
    """The same with its sign."""
    return f"{_clean(100 * value, 1):+.1f}" if value_kind == "percent" else f"{_clean(value, 12):+.3g}"


def _clean(value: float, digits: int) -> float:
    return round(value, digits) + 0.0


def counted(number: int, thing: str) -> str:
    """'1 row', '2,164 rows'."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
