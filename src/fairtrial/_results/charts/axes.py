"""Ticks with as many digits as tell them apart; differences of rates in points, never in percent."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import Any, Literal

import altair as alt

Unit = Literal["rate", "points", "ratio", "number"]
NEUTRAL: dict[Unit, float] = {"points": 0.0, "number": 0.0, "ratio": 1.0}  # of gaps; a rate has none
TICKS = 6
LINE = 32  # letters


def ends(values: Iterable[float | None], include: Iterable[float] = ()) -> tuple[float, float]:
    """The least and the largest of the values that are there, with what must be in view.

    >>> ends([0.2, None, 0.4], [0.0])
    (0.0, 0.4)
    """
    known = [*include, *(float(value) for value in values if value is not None and math.isfinite(value))]
    low, high = min(known, default=0.0), max(known, default=1.0)
    return (low, high) if high > low else (low - 0.05, high + 0.05)


def padded(low: float, high: float) -> tuple[float, float]:
    """With a little room, so that no mark stands on the edge; a rate or a ratio is never below zero."""
    room = 0.03 * (high - low)
    return (low - room if low < 0 or low > room else low, high + room)


def digits(span: float, unit: Unit) -> int:
    """Decimals at which neighbouring ticks differ: of 1% to 2%, one.

    >>> digits(0.5, "rate"), digits(0.012, "rate"), digits(0.012, "points"), digits(0.3, "ratio")
    (0, 1, 1, 2)
    """
    step = span / TICKS * (100.0 if unit in ("rate", "points") else 1.0)
    # ticks stand at 1, 2 or 5 times a power of ten near the step
    return max(0, -math.floor(math.log10(step))) if step > 0 else 0


def axis(span: float, unit: Unit, **settings: Any) -> alt.Axis:
    """An axis of this unit."""
    decimals = digits(span, unit)
    if unit == "points":
        text = f"format(100 * datum.value, '+.{decimals}f')"
        # zero has no sign
        words = f"datum.value == 0 ? '0' : {text}"
        return alt.Axis(labelExpr=words, tickCount=TICKS, **settings)
    form = f".{decimals}%" if unit == "rate" else "~g"
    return alt.Axis(format=form, tickCount=TICKS, **settings)


def titled(title: str, unit: Unit) -> str | list[str]:
    """The axis's title with its unit where the ticks do not show it; a long one in lines that a phone has room for."""
    text = f"{title} (points)" if unit == "points" else title
    return text if len(text) <= LINE else textwrap.wrap(text, LINE)
