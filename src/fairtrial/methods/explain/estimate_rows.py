"""The rows of an explanation's table: gaps, contributions to them, and the groups' own rates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairtrial.inference.multiplicity import holm
from fairtrial.methods.explain.estimates import Estimates
from fairtrial.methods.explain.explanation import NO_VARIATION, Explanation
from fairtrial.methods.explain.result import (
    ALL_FEATURES,
    CARRIES,
    DIFFERS,
    MEASURED,
    NOT_SHOWN,
    UNDETERMINED,
    ExplainResult,
)
from fairtrial.methods.explain.second_stage import pair_b1, scaled_gap
from fairtrial.results.column import State, StateKind, defined_or, undefined

LIMITS = ("difference_low", "difference_high")


def estimate_rows(explanation: Explanation) -> list[dict[str, Any]]:
    """The primary allocation: gaps, contributions to them, then the groups' own."""
    return [*_gap_rows(explanation), *_feature_gap_rows(explanation), *_group_rows(explanation)]


def _blank(
    explanation: Explanation, part: str, feature: str, group: str, target: str | None = None
) -> dict[str, Any]:
    """A row that says what it is about, with its numbers to come."""
    return {
        **dict.fromkeys(column.name for column in ExplainResult.columns),
        "metric": explanation.metric.name, "value_kind": explanation.value_kind,
        "part": part, "feature": feature, "group": group, "target": target,
        "allocation": explanation.allocation, **State(MEASURED.code).cells(),
    }  # fmt: skip


def _tested(p_adjusted: Any, alpha: float, shown: StateKind) -> dict[str, Any]:
    """The state of a row by its corrected p-value; why there is none stands in the cell itself."""
    if not isinstance(p_adjusted, float):
        return State(UNDETERMINED.code).cells()
    return State(shown.code if p_adjusted <= alpha else NOT_SHOWN.code).cells()


def _gap_rows(explanation: Explanation) -> list[dict[str, Any]]:
    rows = []
    tested = [gap for gap in explanation.first.gaps if gap is not None]
    adjusted = iter(holm([gap.p_value for gap in tested]).tolist() if tested else [])
    factor = pair_b1(explanation.game.allocations[0]) / explanation.game.baseline.value
    for (group, target), gap in zip(explanation.pair_labels, explanation.first.gaps, strict=False):
        row = _blank(explanation, "gap", ALL_FEATURES, group, target)
        if gap is None:
            why = undefined(explanation.empty_group())
            row |= dict.fromkeys(("difference", *LIMITS, "p_value", "p_adjusted", "value"), why)
        else:
            row |= {
                "difference": gap.gap, "difference_low": gap.low, "difference_high": gap.high,
                "p_value": gap.p_value, "p_adjusted": next(adjusted),
                "value": gap.gap * factor, "value_low": gap.low * factor, "value_high": gap.high * factor,
            }  # fmt: skip
        rows.append(row | _tested(row["p_adjusted"], explanation.alpha, DIFFERS))
    return rows


def _feature_gap_rows(explanation: Explanation) -> list[dict[str, Any]]:
    second, groups = explanation.second, explanation.game.groups
    scaled = scaled_gap(explanation.game, second, 0)
    p = second.gap.p_value[:, 0]
    # A feature without variation stays in the family with p = 1: dropping it would select on the data.
    adjusted = holm(np.nan_to_num(p, nan=1.0).ravel()).reshape(p.shape)
    rows = []
    for t, (group, target) in enumerate(explanation.pair_labels):
        for k, name in enumerate(explanation.explained.names):
            row = _blank(explanation, "contribution to the gap", name, group, target)
            row |= _numbers(second.gap, (t, 0, k), explanation.reason(2 * groups + t, 0))
            row["p_adjusted"] = defined_or(adjusted[t, k] if not math.isnan(p[t, k]) else math.nan, _why(row))
            row |= scaled_numbers(scaled, (t, k))
            if second.monte_carlo is not None:
                row["monte_carlo"] = float(second.monte_carlo[t, k])
            rows.append(row | _tested(row["p_adjusted"], explanation.alpha, CARRIES))
    return rows


def _group_rows(explanation: Explanation) -> list[dict[str, Any]]:
    """C^k_g (value) and the contribution to the group's own rate (difference)."""
    rows = []
    first, second, groups = explanation.first, explanation.second, explanation.game.groups
    for g, label in enumerate(explanation.labels):
        row = _blank(explanation, "group", ALL_FEATURES, label)
        rate = defined_or(first.rate[g], explanation.empty_group())
        row |= dict.fromkeys(("difference", *LIMITS), rate)
        if not isinstance(rate, dict):
            row |= {"difference_low": float(first.low[g]), "difference_high": float(first.high[g])}
        rows.append(row | scaled_numbers(first.value, (g, 0, 0)))
        for k, name in enumerate(explanation.explained.names):
            row = _blank(explanation, "contribution to the group", name, label)
            row |= _numbers(second.rate, (g, 0, k), explanation.reason(groups + g, 0))
            rows.append(row | scaled_numbers(second.value, (g, 0, k)))
    return rows


def _numbers(found: Estimates, place: tuple[int, ...], why: str) -> dict[str, Any]:
    """One contribution of the primary allocation with its interval, or the reason why there is none."""
    value = found.value[place]
    inferred = (*LIMITS, "p_value", "error")
    if math.isnan(value):
        return dict.fromkeys(("difference", *inferred), undefined(why))
    if not found.error[place] > 0:
        return {"difference": float(value), **dict.fromkeys(inferred, undefined(why))}
    return {
        "difference": float(value), "difference_low": float(found.low[place]),
        "difference_high": float(found.high[place]), "p_value": float(found.p_value[place]),
        "error": float(found.error[place]),
    }  # fmt: skip


def scaled_numbers(found: Estimates, place: tuple[int, ...]) -> dict[str, Any]:
    """In units of the baseline; nothing where undefined."""
    value = float(found.value[place])
    if math.isnan(value):
        return {}
    if not found.error[place] > 0:
        return {"value": value}
    return {"value": value, "value_low": float(found.low[place]), "value_high": float(found.high[place])}


def _why(row: dict[str, Any]) -> str:
    cell = row["p_value"]
    return str(cell["reason"]) if isinstance(cell, dict) else NO_VARIATION
