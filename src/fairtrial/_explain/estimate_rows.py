"""The rows of an explanation: gaps, contributions and rates, the panel of allocations, and what mitigation would do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial._explain.explained_rows import ExplainedRows
from fairtrial._explain.game import Estimates, TwoStageGame
from fairtrial._explain.request import (
    ALL_FEATURES,
    ALLOCATION_NAMES,
    CARRIES,
    DIFFERS,
    EXPLAINED_GAP,
    GAP,
    MEASURED,
    RATE,
    TO_GAP,
    TO_RATE,
    TO_VALUE,
    VALUE,
    ExplainRequest,
    tested,
)
from fairtrial._explain.result import ExplainResult
from fairtrial._explain.solver.coalitions import group_members
from fairtrial._explain.stages import ComparedGroups, FirstStage, SecondStage, scaled_gap
from fairtrial._inference.multiplicity import holm
from fairtrial._metrics.values import Metric
from fairtrial._results.column import State, defined_or, undefined

# -- An explanation with all it was made from, and why a part of it is undefined.
INTERACTION = "interaction"


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Both stages' numbers with the metric, the rows and the choices behind them."""

    request: ExplainRequest
    by_text: str
    explained: ExplainedRows
    game: TwoStageGame
    first: FirstStage
    second: SecondStage
    agreement: (
        float | None
    )  # share of the rows evaluated that the explained system decides as the audited one did

    @property
    def metric(self) -> Metric:
        return self.request.metric

    @property
    def favourable(self) -> str:
        """Which side is better for people: "higher" or "lower"."""
        return self.request.better or ("lower" if self.metric.hurts == "above" else "higher")

    @property
    def labels(self) -> list[str]:
        return self.explained.labels

    @property
    def allocation(self) -> str:
        """The primary one."""
        return self.game.allocations[0].name

    @property
    def alpha(self) -> float:
        return 1.0 - self.game.level

    @property
    def value_kind(self) -> str:
        return "percent" if self.first.binary else "number"

    @property
    def another_system(self) -> bool:
        """Whether decisions were audited that are not, row by row, the explained ones."""
        return self.first.audited is not None and (self.agreement != 1.0 or not self.explained.everybody)

    @property
    def pair_labels(self) -> list[tuple[str, str]]:
        """(group, minus what) of every gap; the interaction of two attributes comes last."""
        labels = self.labels
        pairs = [(labels[g], labels[h]) for g, h in self.game.pairs]
        return pairs + [(INTERACTION, "")] * (self.second.gap.value.shape[0] - len(pairs))

    def reason(self, target: int, allocation: int) -> str:
        """Why a contribution is undefined: the first coalition and group without a denominator."""
        if not self.second.undefined[target, allocation]:
            return ""
        weights = self.second.targets.weights[target, allocation]
        members = group_members(self.second.targets.unions, self.game.groups)
        union, coalition = np.argwhere((weights != 0)[:, None] & ~self.second.rates.defined)[0]
        who = " and ".join(self.labels[g] for g in np.flatnonzero(members[union]))
        names = ", ".join(self.explained.names_of(int(self.game.masks[coalition])))
        why = f"is undefined for the classifier of ({names}): nobody meets its condition"
        return f"{self.metric.label} of {who} {why}"

    def empty_group(self, groups: ComparedGroups) -> str:
        """Which group has nobody who counts."""
        rates = zip(self.labels, groups.rate, strict=True)
        empty = [label for label, rate in rates if math.isnan(rate)]
        why = "is undefined: nobody among the rows evaluated meets its condition"
        return f"{self.metric.label} of {', '.join(empty)} {why}"


LIMITS = ("difference_low", "difference_high")
FEW_VALUES = "no limit: too few values carry the mean"


def estimate_rows(explanation: Explanation) -> list[dict[str, Any]]:
    """The gaps, what the features contribute to them, then the groups' own rates and values, each with its own."""
    first = explanation.first
    rows = _gap_rows(explanation, first.judged, GAP)
    if explanation.another_system:
        rows += _gap_rows(explanation, first.explained, EXPLAINED_GAP)
    return [*rows, *_feature_gap_rows(explanation), *_rate_rows(explanation), *_value_rows(explanation)]


def _blank(
    explanation: Explanation, part: str, feature: str, group: str, target: str | None = None
) -> dict[str, Any]:
    """A row that says what and whom it is about, with its numbers to come."""
    judged = explanation.first.judged if part == GAP else explanation.first.explained
    people = {label: int(n) for label, n in zip(explanation.labels, judged.count, strict=True)}
    return {
        **dict.fromkeys(column.name for column in ExplainResult.columns),
        "metric": explanation.metric.name, "value_kind": explanation.value_kind,
        "part": part, "feature": feature, "group": group, "target": target,
        "n": people.get(group, min(people.values())), "target_n": people.get(target or ""),
        "allocation": explanation.allocation, **State(MEASURED.code).cells(),
    }  # fmt: skip


def _gap_rows(explanation: Explanation, compared: ComparedGroups, part: str) -> list[dict[str, Any]]:
    """Every pair's gap of one system, in points and in units of the baseline."""
    rows = []
    p = [gap.p_value for gap in compared.gaps if gap is not None]
    adjusted = iter(holm(p).tolist() if p else [])
    factor = explanation.game.allocations[0].pair / explanation.game.baseline.value
    for (group, target), gap in zip(explanation.pair_labels, compared.gaps, strict=False):
        row = _blank(explanation, part, ALL_FEATURES, group, target)
        if gap is None:
            why = undefined(explanation.empty_group(compared))
            row |= dict.fromkeys(("difference", *LIMITS, "p_value", "p_adjusted", "value"), why)
        else:
            limits = {
                name: defined_or(limit, gap.why_no_limit)
                for name, limit in zip(LIMITS, (gap.low, gap.high), strict=True)
            }
            row |= {"difference": gap.gap, **limits, "p_value": gap.p_value, "p_adjusted": next(adjusted)}
            if not gap.reason:
                row |= {
                    "value": gap.gap * factor,
                    "value_low": defined_or(gap.low * factor, gap.why_no_limit),
                    "value_high": defined_or(gap.high * factor, gap.why_no_limit),
                }
        rows.append(row | tested(row["p_adjusted"], explanation.alpha, DIFFERS).cells())
    return rows


def _feature_gap_rows(explanation: Explanation) -> list[dict[str, Any]]:
    second, groups = explanation.second, explanation.game.groups
    scaled = scaled_gap(explanation.game, second, 0)
    p = second.gap.p_value[:, 0]
    # What is undefined stays in the family with p = 1: dropping it would select on the data.
    adjusted = holm(np.nan_to_num(p, nan=1.0).ravel()).reshape(p.shape)
    rows = []
    for t, (group, target) in enumerate(explanation.pair_labels):
        for k, name in enumerate(explanation.explained.names):
            row = _blank(explanation, TO_GAP, name, group, target)
            row |= _numbers(second.gap, (t, 0, k), explanation.reason(2 * groups + t, 0))
            known = isinstance(row["p_value"], float)
            row["p_adjusted"] = float(adjusted[t, k]) if known else row["p_value"]
            row |= _known(scaled, (t, k), "value")
            if second.monte_carlo is not None:
                row["monte_carlo"] = float(second.monte_carlo[t, k])
            rows.append(row | tested(row["p_adjusted"], explanation.alpha, CARRIES).cells())
    return rows


def _rate_rows(explanation: Explanation) -> list[dict[str, Any]]:
    """Each group's rate under the explained system, and what each feature contributes to it."""
    rows = []
    first, second, groups = explanation.first.explained, explanation.second, explanation.game.groups
    for g, label in enumerate(explanation.labels):
        row = _blank(explanation, RATE, ALL_FEATURES, label)
        numbers = zip(("rate", "rate_low", "rate_high"), (first.rate, first.low, first.high), strict=True)
        why = explanation.empty_group(first) if np.isnan(first.rate[g]) else FEW_VALUES
        rows.append(row | {name: defined_or(array[g], why) for name, array in numbers})
        for k, name in enumerate(explanation.explained.names):
            row = _blank(explanation, TO_RATE, name, label)
            rows.append(row | _numbers(second.rate, (g, 0, k), explanation.reason(groups + g, 0)))
    return rows


def _value_rows(explanation: Explanation) -> list[dict[str, Any]]:
    """φ_g in units of the baseline, and what each feature contributes to it: the paper's C^k_g."""
    rows = []
    first, second = explanation.first.value, explanation.second.value
    for g, label in enumerate(explanation.labels):
        row = _blank(explanation, VALUE, ALL_FEATURES, label)
        rows.append(
            row | _numbers(first, (g, 0, 0), explanation.empty_group(explanation.first.explained), "value")
        )
        rows[-1] |= {"p_value": None}  # that a group's value is nothing is no question
        for k, name in enumerate(explanation.explained.names):
            row = _blank(explanation, TO_VALUE, name, label)
            rows.append(row | _numbers(second, (g, 0, k), explanation.reason(g, 0), "value"))
    return rows


def _numbers(found: Estimates, place: tuple[int, ...], why: str, name: str = "difference") -> dict[str, Any]:
    """One contribution of the primary allocation with its interval and test, or the reason why there is none."""
    known = _known(found, place, name)
    if not known:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high", "p_value"), undefined(why))
    known |= {"p_value": float(found.p_value[place])}
    return known | ({"error": float(found.error[place])} if name == "difference" else {})


def _known(found: Estimates, place: tuple[int, ...], name: str) -> dict[str, Any]:
    """An estimate and its limits under their names; nothing where undefined."""
    value = float(found.value[place])
    if math.isnan(value):
        return {}
    return {name: value, f"{name}_low": float(found.low[place]), f"{name}_high": float(found.high[place])}


# -- the sensitivity panel: every allocation, and the paper's vote among them ------------------------------------------
def panel_rows(explanation: Explanation) -> list[dict[str, Any]]:
    """Every allocation's contributions to the gaps, unadjusted: one linear family seen from several sides."""
    rows = []
    count = dict(zip(explanation.labels, explanation.first.explained.count, strict=True))
    fewest = min(count.values())
    people = {  # of the smaller group; the interaction rests on all
        (group, target): int(min(count.get(group, fewest), count.get(target, fewest)))
        for group, target in explanation.pair_labels
    }
    for v, allocation in enumerate(explanation.game.allocations):
        scaled = scaled_gap(explanation.game, explanation.second, v)
        named = {"allocation": allocation.name, "label": ALLOCATION_NAMES[allocation.name]}
        for t, (group, target) in enumerate(explanation.pair_labels):
            for k, name in enumerate(explanation.explained.names):
                about = {
                    **named,
                    "feature": name,
                    "group": group,
                    "target": target,
                    "n": people[group, target],
                }
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
    if known:
        return cells | known | {"p_value": float(gap.p_value[place])} | _known(scaled, (t, k), "value")
    cells["reason"] = explanation.reason(2 * explanation.game.groups + t, v)
    return cells


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
    one's; otherwise it is minus the feature's contribution. Gains and losses are corrected by Holm over all features
    and groups: with three features that carry nothing some "would help" was said in 28 of 28 data sets before.
    """
    second = explanation.second
    p = (second.rate if second.removal is None else second.removal).p_value[:, 0]
    adjusted = holm(np.nan_to_num(p, nan=1.0).ravel()).reshape(p.shape)
    rows = []
    for k, name in enumerate(explanation.explained.names):
        changes = [
            {
                "group": label,
                "n": int(explanation.first.explained.count[g]),
                **_change(explanation, g, k, float(adjusted[g, k])),
            }
            for g, label in enumerate(explanation.labels)
        ]
        rows.append({"feature": name, "changes": changes} | _reading(name, changes, explanation.request.kind))
    return rows


def _change(explanation: Explanation, g: int, k: int, p_adjusted: float) -> dict[str, Any]:
    """One group's change with its interval and whether it gains or loses."""
    second = explanation.second
    source, sign, basis = second.rate, -1.0, "minus its contribution"
    if second.removal is not None:
        source, sign, basis = second.removal, 1.0, "the classifier without it"
    value = sign * source.value[g, 0, k]
    low, high = sorted((sign * source.low[g, 0, k], sign * source.high[g, 0, k]))
    better = -1.0 if explanation.favourable == "lower" else 1.0
    effect = "undefined" if math.isnan(value) else "gains" if better * value > 0 else "loses"
    if effect != "undefined" and p_adjusted > explanation.alpha:
        effect = "not shown"
    return {
        "basis": basis, "contribution": _or_none(second.rate.value[g, 0, k]), "difference": _or_none(value),
        "difference_low": _or_none(low), "difference_high": _or_none(high),
        "p_adjusted": None if effect == "undefined" else p_adjusted, "effect": effect,
    }  # fmt: skip


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


# Whose decisions without a feature are spoken of: what is fitted here is one fit of many.
_WITHOUT = {
    "retrain": "The model that was refitted once without {}",
    "marginal": "This fitted model without {}",
    "callable": "The decisions given without {}",
    "given": "The decisions given without {}",
}


def _reading(name: str, changes: list[dict[str, Any]], kind: str) -> dict[str, Any]:
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
    return {"code": code, "helps": code == "helps", "text": f"{_WITHOUT[kind].format(name)}{text}"}
