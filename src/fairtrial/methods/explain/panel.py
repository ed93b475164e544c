"""The sensitivity panel: every allocation's contributions to the gaps, and the paper's vote among them."""

from __future__ import annotations

import math
from typing import Any

from fairtrial.methods.explain.estimate_rows import scaled_numbers
from fairtrial.methods.explain.estimates import Estimates
from fairtrial.methods.explain.explanation import Explanation
from fairtrial.methods.explain.result import ALLOCATION_NAMES
from fairtrial.methods.explain.second_stage import scaled_gap

_NUMBERS = (
    "difference", "difference_low", "difference_high", "p_value", "value", "value_low", "value_high", "reason",
)  # fmt: skip


def panel_rows(explanation: Explanation) -> list[dict[str, Any]]:
    """Every allocation's contributions to the gaps, unadjusted: one linear family seen from several sides."""
    rows = []
    for v, allocation in enumerate(explanation.game.allocations):
        scaled = scaled_gap(explanation.game, explanation.second, v)
        named = {"allocation": allocation.name, "label": ALLOCATION_NAMES[allocation.name]}
        for t, (group, target) in enumerate(explanation.pair_labels):
            for k, name in enumerate(explanation.explained.names):
                about = {**named, "feature": name, "group": group, "target": target}
                rows.append({**about, **dict.fromkeys(_NUMBERS), **_numbers(explanation, scaled, (t, v, k))})
    return rows


def _numbers(explanation: Explanation, scaled: Estimates, place: tuple[int, int, int]) -> dict[str, Any]:
    """One contribution with its interval, or the reason why there is none."""
    gap, (t, v, k) = explanation.second.gap, place
    value = float(gap.value[place])
    if math.isnan(value) or not gap.error[place] > 0:
        why = explanation.reason(2 * explanation.game.groups + t, v)
        known = {} if math.isnan(value) else {"difference": value, "value": float(scaled.value[t, k])}
        return {"reason": why, **known}
    return {
        "difference": value, "difference_low": float(gap.low[place]), "difference_high": float(gap.high[place]),
        "p_value": float(gap.p_value[place]), **scaled_numbers(scaled, (t, k)),
    }  # fmt: skip


def votes(explanation: Explanation, panel: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The paper's majority vote: how many of the five members reject at the level, unadjusted."""
    members = [row for row in panel if row["allocation"] != "given"]
    if len({row["allocation"] for row in members}) < 5:
        return []
    return [
        _vote([row for row in members if (row["group"], row["target"]) == pair], name, explanation.alpha)
        for pair in explanation.pair_labels
        for name in explanation.explained.names
    ]


def _vote(of_pair: list[dict[str, Any]], name: str, alpha: float) -> dict[str, Any]:
    mine = [row for row in of_pair if row["feature"] == name]
    rejecting = sum(row["p_value"] is not None and row["p_value"] <= alpha for row in mine)
    about = {"feature": name, "group": mine[0]["group"], "target": mine[0]["target"]}
    return {**about, "rejecting": rejecting, "of": len(mine), "majority": rejecting >= 3}
