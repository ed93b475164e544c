"""The Pareto reading: what taking a feature's role away would do to each group, and whether that helps anybody."""

from __future__ import annotations

import math
from typing import Any

from fairtrial.methods.explain.explanation import Explanation


def pareto_rows(explanation: Explanation) -> list[dict[str, Any]]:
    """What taking a feature's role away would do to each group's own rate, and whether that helps anybody.

    Where the classifier without the feature was evaluated, the change is that classifier's rate minus the full
    one's; otherwise it is minus the feature's contribution.
    """
    rows = []
    for k, name in enumerate(explanation.explained.names):
        changes = [
            {"group": label, **_change(explanation, g, k)} for g, label in enumerate(explanation.labels)
        ]
        rows.append({"feature": name, "changes": changes} | _reading(name, changes))
    return rows


def _change(explanation: Explanation, g: int, k: int) -> dict[str, Any]:
    """One group's change with its interval and whether it gains or loses."""
    second = explanation.second
    source, sign, basis = second.rate, -1.0, "minus its contribution"
    if second.removal is not None:
        source, sign, basis = second.removal, 1.0, "the classifier without it"
    value = sign * source.value[g, 0, k]
    low, high = sorted((sign * source.low[g, 0, k], sign * source.high[g, 0, k]))
    better = -1.0 if explanation.favourable == "lower" else 1.0
    return {
        "basis": basis, "contribution": _known(second.rate.value[g, 0, k]), "difference": _known(value),
        "difference_low": _known(low), "difference_high": _known(high),
        "effect": _effect(better * value, *sorted((better * low, better * high))),
    }  # fmt: skip


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _effect(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return "undefined"
    if value == 0 and not low < high:
        return "none"
    if math.isnan(low) or low <= 0 <= high:
        return "not shown"
    return "gains" if low > 0 else "loses"


def _reading(name: str, changes: list[dict[str, Any]]) -> dict[str, Any]:
    gain = [change["group"] for change in changes if change["effect"] == "gains"]
    lose = [change["group"] for change in changes if change["effect"] == "loses"]
    if any(change["effect"] == "undefined" for change in changes):
        return {"code": "undefined", "helps": False, "text": f"{name}: undefined for one of the groups."}
    if gain and not lose:
        rest = "" if len(gain) == len(changes) else ", with no loss shown for the others"
        text = f"Mitigating {name} would help {', '.join(gain)}{rest}."
        return {"code": "helps", "helps": True, "text": text}
    if gain:
        text = f"Mitigating {name} would help {', '.join(gain)} at the cost of {', '.join(lose)}."
        return {"code": "trade-off", "helps": False, "text": text}
    if lose:
        text = f"Mitigating {name} would help nobody and cost {', '.join(lose)}."
        return {"code": "levelling down", "helps": False, "text": text}
    return {"code": "not shown", "helps": False, "text": f"Mitigating {name}: no change shown for any group."}
