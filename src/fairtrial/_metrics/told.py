"""What a column says, as the file writes it: "survived = yes", "the mean of affairs"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairtrial._metrics.metric import Metric
from fairtrial._metrics.values import role


def label_text(positive: Any, name: str, value: int) -> str:
    """How the file writes a 1 or a 0 of a role: the labels that count as 1, or what is none of them.

    >>> label_text({"outcome": ["yes"]}, "outcome", 1), label_text(None, "outcome", 0)
    ('yes', '0')
    """
    label = positive.get(name) if isinstance(positive, Mapping) else positive
    if label is None:
        return str(value)
    several = [str(one) for one in label] if isinstance(label, list | tuple) else [str(label)]
    if len(several) == 1:
        return several[0] if value == 1 else f"not {several[0]}"
    return " or ".join(several) if value == 1 else f"neither {' nor '.join(several)}"


def told_label(metric: Metric, outcome: str | None, positive: Any, *, real: bool) -> str:
    """A metric's label; a base rate with the outcome that it is the rate or the mean of."""
    if outcome is None or metric.value != role.outcome or metric.conditions or metric.expression is not None:
        return metric.label
    told = f"mean of {outcome}" if real else f"{outcome} = {label_text(positive, 'outcome', 1)}"
    return f"{told} ({metric.label})"
