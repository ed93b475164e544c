"""The rows of an explanation: gaps, contributions and rates, the panel of allocations, and what mitigation would do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairtrial.inference.multiplicity import holm
from fairtrial.methods.explain.explanation import Explanation
from fairtrial.methods.explain.result import (
    ALL_FEATURES,
    ALLOCATION_NAMES,
    CARRIES,
    DIFFERS,
    MEASURED,
    ExplainResult,
    tested,
)
from fairtrial.methods.explain.second_stage import pair_b1, scaled_gap
from fairtrial.methods.explain.two_stage_game import Estimates
from fairtrial.results.column import State, defined_or, undefined

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


def _gap_rows(explanation: Explanation) -> list[dict[str, Any]]:
    rows = []
    p = [gap.p_value for gap in explanation.first.gaps if gap is not None]
    adjusted = iter(holm(p).tolist() if p else [])
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
        rows.append(row | tested(row["p_adjusted"], explanation.alpha, DIFFERS).cells())
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
            known = isinstance(row["p_value"], float)
            row["p_adjusted"] = float(adjusted[t, k]) if known else row["p_value"]
            row |= _known(scaled, (t, k), "value")
            if second.monte_carlo is not None:
                row["monte_carlo"] = float(second.monte_carlo[t, k])
            rows.append(row | tested(row["p_adjusted"], explanation.alpha, CARRIES).cells())
    return rows


def _group_rows(explanation: Explanation) -> list[dict[str, Any]]:
    """C^k_g (value) and the contribution to the group's own rate (difference)."""
    rows = []
    first, second, groups = explanation.first, explanation.second, explanation.game.groups
    for g, label in enumerate(explanation.labels):
        row = _blank(explanation, "group", ALL_FEATURES, label)
        numbers = zip(("difference", *LIMITS), (first.rate, first.low, first.high), strict=True)
        row |= {name: defined_or(array[g], explanation.empty_group()) for name, array in numbers}
        rows.append(row | _known(first.value, (g, 0, 0), "value"))
        for k, name in enumerate(explanation.explained.names):
            row = _blank(explanation, "contribution to the group", name, label)
            row |= _numbers(second.rate, (g, 0, k), explanation.reason(groups + g, 0))
            rows.append(row | _known(second.value, (g, 0, k), "value"))
    return rows


def _numbers(found: Estimates, place: tuple[int, ...], why: str) -> dict[str, Any]:
    """One contribution of the primary allocation with its interval, or the reason why there is none."""
    known = _known(found, place, "difference")
    if len(known) == 3:
        known |= {"p_value": float(found.p_value[place]), "error": float(found.error[place])}
    return dict.fromkeys(("difference", *LIMITS, "p_value", "error"), undefined(why)) | known


def _known(found: Estimates, place: tuple[int, ...], name: str) -> dict[str, Any]:
    """An estimate and its limits under their names; no limits where nothing varies, nothing where undefined."""
    value = float(found.value[place])
    if math.isnan(value):
        return {}
    if not found.error[place] > 0:
        return {name: value}
    return {name: value, f"{name}_low": float(found.low[place]), f"{name}_high": float(found.high[place])}


# -- the sensitivity panel: every allocation, and the paper's vote among them ------------------------------------------
def panel_rows(explanation: Explanation) -> list[dict[str, Any]]:
    """Every allocation's contributions to the gaps, unadjusted: one linear family seen from several sides."""
    rows = []
    for v, allocation in enumerate(explanation.game.allocations):
        scaled = scaled_gap(explanation.game, explanation.second, v)
        named = {"allocation": allocation.name, "label": ALLOCATION_NAMES[allocation.name]}
        for t, (group, target) in enumerate(explanation.pair_labels):
            for k, name in enumerate(explanation.explained.names):
                about = {**named, "feature": name, "group": group, "target": target}
                rows.append(about | _panel_numbers(explanation, scaled, (t, v, k)))
    return rows


def _panel_numbers(
    explanation: Explanation, scaled: Estimates, place: tuple[int, int, int]
) -> dict[str, Any]:
    """One contribution with its interval, or the reason why there is none."""
    gap, (t, v, k) = explanation.second.gap, place
    cells: dict[str, Any] = dict.fromkeys(
        ("difference", *LIMITS, "p_value", "value", "value_low", "value_high", "reason")
    )
    known = _known(gap, place, "difference")
    if len(known) == 3:
        return cells | known | {"p_value": float(gap.p_value[place])} | _known(scaled, (t, k), "value")
    cells["reason"] = explanation.reason(2 * explanation.game.groups + t, v)
    return cells | known | ({"value": float(scaled.value[t, k])} if known else {})


def votes(explanation: Explanation, panel: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The paper's majority vote: how many of the five members reject at the level, unadjusted."""
    members = [row for row in panel if row["allocation"] != "given"]
    if len({row["allocation"] for row in members}) < 5:
        return []
    cast: dict[tuple[str, ...], list[bool]] = {}
    for row in members:
        rejects = row["p_value"] is not None and row["p_value"] <= explanation.alpha
        cast.setdefault((row["feature"], row["group"], row["target"]), []).append(rejects)
    return [
        {
            "feature": feature, "group": group, "target": target,
            "rejecting": sum(rejects), "of": len(rejects), "majority": sum(rejects) >= 3,
        }
        for (feature, group, target), rejects in cast.items()
    ]  # fmt: skip


# -- the Pareto reading: what taking a feature's role away would do to each group --------------------------------------
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
        "basis": basis, "contribution": _or_none(second.rate.value[g, 0, k]), "difference": _or_none(value),
        "difference_low": _or_none(low), "difference_high": _or_none(high),
        "effect": _effect(better * value, *sorted((better * low, better * high))),
    }  # fmt: skip


def _or_none(value: float) -> float | None:
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
    if "undefined" in [change["effect"] for change in changes]:
        return {"code": "undefined", "helps": False, "text": f"{name}: undefined for one of the groups."}
    gains, loses = (
        [change["group"] for change in changes if change["effect"] == effect] for effect in ("gains", "loses")
    )
    gain, lose = ", ".join(gains), ", ".join(loses)
    others = "" if len(gains) == len(changes) else ", with no loss shown for the others"
    code, text = {
        (True, False): ("helps", f" would help {gain}{others}."),
        (True, True): ("trade-off", f" would help {gain} at the cost of {lose}."),
        (False, True): ("levelling down", f" would help nobody and cost {lose}."),
        (False, False): ("not shown", ": no change shown for any group."),
    }[bool(gains), bool(loses)]
    return {"code": code, "helps": code == "helps", "text": f"Mitigating {name}{text}"}
