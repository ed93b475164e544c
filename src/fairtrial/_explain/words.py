"""Numbers as the sentences of explain and compare say them."""

from __future__ import annotations

import math

from fairtrial._compare.words import Unit, number_words
from fairtrial._results.text import format_value


def p_text(value: float) -> str:
    """'p <0.001' or 'p = 0.023'."""
    return f"p {format_value(value, 'p')}" if value < 0.001 else f"p = {format_value(value, 'p')}"


def unit_of_kind(value_kind: str) -> Unit:
    """In points where values are shares."""
    return "points" if value_kind == "percent" else "number"


def signed(value: float, value_kind: str) -> str:
    """A number with its sign; nothing is minus zero."""
    if not math.isfinite(value):
        return "no limit"
    text = number_words(round(value, 12), unit_of_kind(value_kind))
    return text if text.startswith("-") else f"+{text}"
