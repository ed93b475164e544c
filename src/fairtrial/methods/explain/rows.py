"""Rows, panel, vote and Pareto reading of an explanation, from its numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial.inference.multiplicity import holm
from fairtrial.methods.explain.numbers import pair_b1, scaled_gap
from fairtrial.methods.explain.players import Material
from fairtrial.methods.explain.problem import Estimates, FirstStage, Problem, SecondStage
from fairtrial.methods.explain.result import ALL, WORDS
from fairtrial.methods.explain.solver.coalitions import group_members
from fairtrial.metrics.metric import Metric
from fairtrial.results.column import defined_or, undefined

NO_VARIATION = "it contributes the same for everybody of a group, so there is no sampling error to judge by"
INTERACTION = "interaction"


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """An explanation with all it was made from."""

    metric: Metric
    material: Material
    problem: Problem
    first: FirstStage
    second: SecondStage
    favourable: str  # "higher" or "lower"

    @property
    def labels(self) -> list[str]:
        return [group.label for group in self.material.groups]

    @property
    def pair_labels(self) -> list[tuple[str, str]]:
        """(group, minus what) of every gap; the interaction of two attributes comes last."""
        labels = self.labels
        pairs = [(labels[g], labels[h]) for g, h in self.problem.pairs]
        return pairs + [(INTERACTION, "")] * (self.second.gap.value.shape[0] - len(pairs))

    def reason(self, target: int, allocation: int) -> str:
        """Why a contribution is undefined: a rate without a denominator, or no variation."""
        if not self.second.undefined[target, allocation]:
            return NO_VARIATION
        return missing_rate(self, target, allocation)


def missing_rate(told: Told, target: int, allocation: int) -> str:
    """Names the first coalition and group whose rate has no denominator."""
    weights = told.second.targets.weights[target, allocation]
    unions = told.second.targets.unions
    members = group_members(unions, told.problem.groups)
    for j in np.flatnonzero(weights):
        for m in np.flatnonzero(~told.second.rates.defined[j]):
            who = " and ".join(told.labels[g] for g in np.flatnonzero(members[j]))
            names = ", ".join(told.material.names_of(int(told.problem.masks[m])))
            why = f"is undefined for the classifier of ({names}): nobody meets its condition"
            return f"{told.metric.label} of {who} {why}"
    return f"{told.metric.label} is undefined for one of the coalitions"


def estimate_rows(told: Told) -> list[dict[str, Any]]:
    """The primary allocation: gaps, contributions to them, then the groups' own."""
    return [*_gap_rows(told), *_feature_gap_rows(told), *_group_rows(told)]


def _blank(told: Told, part: str, feature: str, group: str, versus: str | None) -> dict[str, Any]:
    row = dict.fromkeys(
        (
            "points",
            "low",
            "high",
            "p_value",
            "p_adjusted",
            "value",
            "value_low",
            "value_high",
            "error",
            "monte_carlo",
        )
    )
    name = told.problem.allocations[0].name
    scale = "percent" if told.first.binary else "number"
    named = {"part": part, "feature": feature, "group": group, "versus": versus}
    return {**named, **row, "allocation": name, "scale": scale}


def _gap_rows(told: Told) -> list[dict[str, Any]]:
    rows = []
    tested = [gap for gap in told.first.gaps if gap is not None]
    adjusted = iter(holm([gap.p_value for gap in tested]).tolist() if tested else [])
    factor = pair_b1(told.problem.allocations[0]) / told.problem.baseline.value
    for (group, versus), gap in zip(told.pair_labels, told.first.gaps, strict=False):
        row = _blank(told, "gap", ALL, group, versus)
        if gap is None:
            why = undefined(empty_group(told))
            rows.append(row | dict.fromkeys(("points", "low", "high", "p_value", "p_adjusted", "value"), why))
            continue
        row |= {
            "points": gap.gap,
            "low": gap.low,
            "high": gap.high,
            "p_value": gap.p_value,
            "p_adjusted": next(adjusted),
        }
        row |= {"value": gap.gap * factor, "value_low": gap.low * factor, "value_high": gap.high * factor}
        rows.append(row)
    return rows


def empty_group(told: Told) -> str:
    """Which group has nobody who counts."""
    empty = [label for label, rate in zip(told.labels, told.first.rate, strict=True) if math.isnan(rate)]
    why = "is undefined: nobody among the rows evaluated meets its condition"
    return f"{told.metric.label} of {', '.join(empty)} {why}"


def _feature_gap_rows(told: Told) -> list[dict[str, Any]]:
    gap = told.second.gap
    scaled = scaled_gap(told.problem, told.second, 0)
    p = gap.p_value[:, 0]
    # A feature without variation stays in the family with p = 1: dropping it would select on the data.
    adjusted = holm(np.nan_to_num(p, nan=1.0).ravel()).reshape(p.shape)
    rows = []
    for t, (group, versus) in enumerate(told.pair_labels):
        for k, name in enumerate(told.material.names):
            row = _blank(told, "contribution to the gap", name, group, versus)
            row |= _numbers(told, gap, t, k, 2 * told.problem.groups + t)
            row["p_adjusted"] = defined_or(adjusted[t, k] if not math.isnan(p[t, k]) else math.nan, _why(row))
            row |= _scaled_numbers(scaled, (t, k))
            if told.second.monte_carlo is not None:
                row["monte_carlo"] = float(told.second.monte_carlo[t, k])
            rows.append(row)
    return rows


def _group_rows(told: Told) -> list[dict[str, Any]]:
    """C^k_g (value) and the contribution to the group's own rate (points)."""
    rows = []
    for g, label in enumerate(told.labels):
        row = _blank(told, "group", ALL, label, None)
        rate = defined_or(told.first.rate[g], empty_group(told))
        row |= {"points": rate, "low": rate, "high": rate}
        if not isinstance(rate, dict):
            row |= {"low": float(told.first.low[g]), "high": float(told.first.high[g])}
        row |= _scaled_numbers(told.first.value, (g, 0, 0))
        rows.append(row)
        for k, name in enumerate(told.material.names):
            row = _blank(told, "contribution to the group", name, label, None)
            row |= _numbers(told, told.second.rate, g, k, told.problem.groups + g)
            row |= _scaled_numbers(told.second.value, (g, 0, k))
            rows.append(row)
    return rows


def _numbers(told: Told, found: Estimates, t: int, k: int, target: int) -> dict[str, Any]:
    """One contribution of the primary allocation with its interval, or the reason why there is none."""
    why = told.reason(target, 0)
    value = found.value[t, 0, k]
    if math.isnan(value):
        return dict.fromkeys(("points", "low", "high", "p_value", "error"), undefined(why))
    if not found.error[t, 0, k] > 0:
        row: dict[str, Any] = dict.fromkeys(("low", "high", "p_value", "error"), undefined(why))
        return row | {"points": float(value)}
    return {
        "points": float(value),
        "low": float(found.low[t, 0, k]),
        "high": float(found.high[t, 0, k]),
        "p_value": float(found.p_value[t, 0, k]),
        "error": float(found.error[t, 0, k]),
    }


def _scaled_numbers(found: Estimates, place: tuple[int, ...]) -> dict[str, Any]:
    value = float(found.value[place])
    if math.isnan(value):
        return {}
    if not found.error[place] > 0:
        return {"value": value}
    return {"value": value, "value_low": float(found.low[place]), "value_high": float(found.high[place])}


def _why(row: dict[str, Any]) -> str:
    cell = row["p_value"]
    return str(cell["reason"]) if isinstance(cell, dict) else NO_VARIATION


# -- the sensitivity panel -------------------------------------------------------------------------------------------
def panel_rows(told: Told) -> list[dict[str, Any]]:
    """Every allocation's contributions to the gaps, unadjusted: one linear family seen from several sides."""
    rows = []
    for v, allocation in enumerate(told.problem.allocations):
        scaled = scaled_gap(told.problem, told.second, v)
        for t, (group, versus) in enumerate(told.pair_labels):
            for k, name in enumerate(told.material.names):
                rows.append(_panel_row(told, scaled, allocation.name, v, t, k, name, group, versus))
    return rows


def _panel_row(
    told: Told, scaled: Estimates, allocation: str, v: int, t: int, k: int, name: str, group: str, versus: str
) -> dict[str, Any]:
    gap = told.second.gap
    row: dict[str, Any] = {
        "allocation": allocation, "label": WORDS[allocation], "feature": name, "group": group, "versus": versus,
        "points": None, "low": None, "high": None, "p_value": None,
        "value": None, "value_low": None, "value_high": None, "reason": None,
    }  # fmt: skip
    if math.isnan(gap.value[t, v, k]) or not gap.error[t, v, k] > 0:
        row["reason"] = told.reason(2 * told.problem.groups + t, v)
        if not math.isnan(gap.value[t, v, k]):
            row |= {"points": float(gap.value[t, v, k]), "value": float(scaled.value[t, k])}
        return row
    row |= {
        "points": float(gap.value[t, v, k]),
        "low": float(gap.low[t, v, k]),
        "high": float(gap.high[t, v, k]),
    }
    row |= {"p_value": float(gap.p_value[t, v, k])}
    return row | _scaled_numbers(scaled, (t, k))


def votes(told: Told, panel: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The paper's majority vote: how many of the five members reject at the level, unadjusted."""
    members = [row for row in panel if row["allocation"] != "given"]
    if len({row["allocation"] for row in members}) < 5:
        return []
    alpha = 1.0 - told.problem.level
    result = []
    for t, (group, versus) in enumerate(told.pair_labels):
        for name in told.material.names:
            mine = [
                r
                for r in members
                if r["feature"] == name and (r["group"], r["versus"]) == told.pair_labels[t]
            ]
            rejecting = sum(r["p_value"] is not None and r["p_value"] <= alpha for r in mine)
            entry = {
                "feature": name,
                "group": group,
                "versus": versus,
                "rejecting": rejecting,
                "of": len(mine),
            }
            result.append(entry | {"majority": rejecting >= 3})
    return result


# -- the Pareto reading ----------------------------------------------------------------------------------------------
def pareto_rows(told: Told) -> list[dict[str, Any]]:
    """What taking a feature's role away would do to each group's own rate, and whether that helps anybody.

    Where the classifier without the feature was evaluated, the change is that classifier's rate minus the full
    one's; otherwise it is minus the feature's contribution.
    """
    better = -1.0 if told.favourable == "lower" else 1.0
    rows = []
    for k, name in enumerate(told.material.names):
        changes = []
        for g, label in enumerate(told.labels):
            source, v, sign, basis = told.second.rate, 0, -1.0, "minus its contribution"
            if told.second.removal is not None:
                source, sign, basis = told.second.removal, 1.0, "the classifier without it"
            value = sign * source.value[g, v, k]
            limits = sorted((sign * source.low[g, v, k], sign * source.high[g, v, k]))
            own = told.second.rate.value[g, 0, k]
            changes.append({
                "group": label, "basis": basis,
                "contribution": None if math.isnan(own) else float(own),
                "change": None if math.isnan(value) else float(value),
                "low": None if math.isnan(limits[0]) else float(limits[0]),
                "high": None if math.isnan(limits[1]) else float(limits[1]),
                "effect": _effect(better * value, *sorted(better * limit for limit in limits)),
            })  # fmt: skip
        rows.append({"feature": name, "changes": changes} | _pareto_text(name, changes))
    return rows


def _effect(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return "undefined"
    if value == 0 and not low < high:
        return "none"
    if math.isnan(low) or low <= 0 <= high:
        return "not shown"
    return "gains" if low > 0 else "loses"


def _pareto_text(name: str, changes: list[dict[str, Any]]) -> dict[str, Any]:
    gain = [c["group"] for c in changes if c["effect"] == "gains"]
    lose = [c["group"] for c in changes if c["effect"] == "loses"]
    if any(c["effect"] == "undefined" for c in changes):
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
