"""Tables of amounts: mean scores, prices, ratios along the score, and pay with its medians and quarters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairtrial._audit.cells import Rows
from fairtrial._audit.direction import score_favours
from fairtrial._audit.groups import compared_groups
from fairtrial._compare.comparing import find_disparities
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.request import Request
from fairtrial._compare.rows import gap_cell
from fairtrial._compare.table_parts import (
    REFUSED,
    WHO,
    WHY_REFUSED,
    BuiltTable,
    adjusted,
    as_dicts,
    attributes_of,
    compared_words,
    known_groups,
    need,
)
from fairtrial._compare.words import LISTED
from fairtrial._errors import Fault, NotApplicable, Set, Words
from fairtrial._inference.means.medians import Median, median_gap, median_of
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.proportions import rate_interval
from fairtrial._inference.rates.two_rates import TwoRateLaw, TwoRates
from fairtrial._metrics.groups import Group, Target, find_target
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Metric
from fairtrial._results.column import State, defined_or, undefined

DENOMINATORS = {
    "groups": "root mean of the variances of group and target",
    "everyone": "standard deviation of everyone",
    "target": "standard deviation of the target",
}
BASIS_POINTS = {"percent": 100.0, "fraction": 10_000.0}
FEWEST = 2  # a spread needs two people


def build_means(request: Request) -> BuiltTable:
    """Mean scores and prices, each group against its target."""
    audit = request.audit
    audit.refuse(WHO, *REFUSED, why=WHY_REFUSED)
    price = request.options["price"]
    metrics = [METRICS["mean_score"]] if audit.has("score") else []
    if price is not None:
        audit.check_column(WHO, "price", price)
        metrics.append(Metric(f"mean {price}", price))
    if not metrics:
        cure = Words("name them with {} or {}", Set("score", of="Audit"), Set("price", of=WHO))
        raise NotApplicable(WHO, Fault("table", "needs a score or a price", cure=cure))
    groups = as_dicts(known_groups(request))
    rows: list[dict[str, Any]] = []
    places: list[list[list[str]]] = []
    for metric in metrics:
        found = find_disparities(
            Request(
                who=WHO, audit=audit, by=groups, target=request.target, minimum=FEWEST, within=request.within
            ),
            metric,
        )
        points = BASIS_POINTS[request.options["price_unit"]] if metric.value == price else None
        rows += _mean_lines(found, request, points)
        places += [group.place for group in found.groups]
        rows += [listed(found, item.group, item.n, item.state) for item in found.untested]
        places += [item.group.place for item in found.untested]
    stated = {"Denominator of the standardized difference": DENOMINATORS[request.options["denominator"]]}
    return BuiltTable(rows, places, compared_words(rows), stated)


def _mean_lines(found: Disparities, request: Request, points: float | None) -> list[dict[str, Any]]:
    gaps = found.gaps
    low, high = gaps.limits(request.level)
    spread = _spread(found, request.options["denominator"])
    others = found.comparison.reference @ found.atoms.count
    lines = []
    for i, group in enumerate(found.groups):
        ends = {"": gaps.estimate[i], "_low": low[i], "_high": high[i]}
        cells = {f"difference{end}": gap_cell(gaps, value, i) for end, value in ends.items()}
        if points is not None:
            cells |= {f"basis_points{end}": gap_cell(gaps, points * value, i) for end, value in ends.items()}
        known = np.isfinite(spread[i]) and spread[i] > 0
        standardized = (
            float(gaps.estimate[i] / spread[i]) if known else undefined("without spread there is none")
        )
        lines.append(
            {
                "metric": found.metric.name, "value_kind": found.value_kind, "group": group.label,
                "n": int(found.count[i]), "rate": float(found.rate[i]), "target": found.target_label,
                "target_n": int(others[i]), "target_rate": float(found.target_rate[i]), **cells,
                "standardized": standardized, **adjusted(found, request.level, i), **State(LISTED.code).cells(),
            }
        )  # fmt: skip
    return lines


def _spread(found: Disparities, denominator: str) -> Floats:
    """What a difference is divided by."""
    atoms, comparison = found.atoms, found.comparison
    if comparison.known is not None:
        raise NotApplicable(WHO, Fault("target", "must be people: a number has no spread"))
    everyone = np.ones((1, atoms.count.size), dtype=bool)
    sides = {"groups": (comparison.member, comparison.reference), "target": (comparison.reference,)}
    parts = [atoms.pooled(side) for side in sides.get(denominator, (everyone,))]
    return np.asarray(np.sqrt(np.mean([m2 / np.maximum(count - 1.0, 1.0) for count, _, m2 in parts], axis=0)))


def listed(found: Disparities, group: Group, n: int, state: State) -> dict[str, Any]:
    """A group that is listed and not compared."""
    count, mean, _ = found.atoms.pooled(found.cells.mask(group)[None, :])
    return {
        "metric": found.metric.name, "value_kind": found.value_kind, "group": group.label, "n": n,
        "rate": float(mean[0]) if count[0] else None, **state.cells(),
    }  # fmt: skip


def build_quantiles(request: Request) -> BuiltTable:
    """The share of each group among the best scores, over that of the target, at every cut-off."""
    audit = request.audit
    audit.refuse(WHO, *REFUSED, why=WHY_REFUSED)
    need(audit, "score")
    groups, target, attributes = scored_target(request)
    rows = audit.rows(attributes=attributes, roles=("score",), complete=False, who=WHO)
    groups = apart(groups, target, rows)
    score = rows.roles["score"]
    favours = score_favours(audit)
    best = -score if favours == "low" else score
    lines: list[dict[str, Any]] = []
    places: list[list[list[str]]] = []
    parts = int(request.options["quantiles"])
    for part in range(1, parts):
        cutoff = float(np.quantile(best, 1.0 - part / parts))
        shown = -cutoff if favours == "low" else cutoff
        name = f"{'highest' if favours is None else 'best'} {100 * part / parts:g}%"
        lines += quantile_lines(
            groups, target, rows, best >= cutoff, {"metric": name, "cutoff": shown}, request.level
        )
        places += [group.place for group in groups]
    side = "at or below" if favours == "low" else "at or above"
    note = (
        "quantiles",
        f"Cut-offs are quantiles of everyone's scores; the rate is the share of a group {side} the cut-off, ties "
        "included. Intervals are pointwise, each for one group at one cut-off.",
    )
    return BuiltTable(lines, places, compared_words(lines), notes=[note])


def scored_target(request: Request) -> tuple[list[Group], Target, tuple[str, ...]]:
    """The groups that are compared, with whom, and the attributes that both are made of."""
    target = find_target(WHO, request.target)
    if target.kind not in ("rest", "reference"):
        raise NotApplicable(WHO, Fault("target", "must be everyone else or a reference group"))
    groups, named = compared_groups(WHO, request.audit, as_dicts(known_groups(request)), 1, target)
    target = named or target
    own = target.group.attributes if target.group else ()
    return groups, target, tuple(dict.fromkeys([*attributes_of(groups), *own]))


def apart(groups: Sequence[Group], target: Target, rows: Rows) -> list[Group]:
    """The groups but for the reference itself; none may share people with it."""
    there = [group for group in groups if 0 < rows.mask(group).sum() < rows.n]
    if target.group is None:
        return there
    inside = rows.mask(target.group)
    others = [group for group in there if not np.array_equal(rows.mask(group), inside)]
    if any((rows.mask(group) & inside).any() for group in others):
        raise NotApplicable(WHO, Fault("target", "must share nobody with the groups compared"))
    return others


def quantile_lines(
    groups: Sequence[Group], target: Target, rows: Rows, chosen: Any, named: dict[str, Any], level: float
) -> list[dict[str, Any]]:
    member = [rows.mask(group) for group in groups]
    other = [~mask if target.group is None else rows.mask(target.group) for mask in member]
    table = TwoRates(
        *(np.array([float(mask[among].sum()) for mask in masks]) for masks in (member, other)
          for among in (chosen, np.ones(rows.n, dtype=bool)))
    )  # fmt: skip
    low, high = TwoRateLaw(table, "ratio").limits(level)
    rate_low, rate_high = rate_interval(table.k1, table.n1, level)
    return [
        {
            **named, "value_kind": "percent", "group": group.label, "n": int(table.n1[i]), "events": int(table.k1[i]),
            "rate": float(table.k1[i] / table.n1[i]), "rate_low": float(rate_low[i]), "rate_high": float(rate_high[i]),
            "target": target.label, "target_n": int(table.n2[i]), "target_rate": float(table.k2[i] / table.n2[i]),
            **_ratio_cells(table, i, low[i], high[i]), **State(LISTED.code).cells(),
        }
        for i, group in enumerate(groups)
    ]  # fmt: skip


def _ratio_cells(table: TwoRates, i: int, low: float, high: float) -> dict[str, Any]:
    if table.k2[i] == 0:
        none = undefined("the target's rate is zero, so that there is no ratio to it")
        return dict.fromkeys(("ratio", "ratio_low", "ratio_high"), none)
    ratio = (table.k1[i] / table.n1[i]) / (table.k2[i] / table.n2[i])
    top = defined_or(float(high), "no upper limit: too few events in the target")
    return {"ratio": float(ratio), "ratio_low": float(low), "ratio_high": top}


# -- Table of pay: gaps of means and medians, and each group's share in the quarters and the top tenth.

QUARTERS = ("lowest quarter", "second quarter", "third quarter", "top quarter")
TOP = 0.9  # above which the top tenth begins
TOO_FEW = "no limit: fewer than six values on a side"
NOT_POSITIVE = "a ratio needs amounts above zero"

Lines = list[tuple[Group, dict[str, Any]]]


def build_pay(request: Request) -> BuiltTable:
    """Means, medians and shares of a decision that is a number."""
    audit = request.audit
    audit.refuse(WHO, *REFUSED, why=WHY_REFUSED)
    need(audit, "decision")
    groups, target, attributes = scored_target(request)
    metric = METRICS["mean_decision"]
    rows = audit.rows(attributes=attributes, metrics=[metric], complete=False, who=WHO)
    amount = rows.values[metric.name]
    groups = apart(groups, target, rows)
    lines = [*_means(request), *_medians(groups, target, rows, amount, request.level)]
    lines += _shares(groups, target, rows, amount, request.level)
    column = str(audit.decision)
    told = [{**line, "metric": str(line["metric"]).format(column)} for _, line in lines]
    note = (
        "shares",
        f"Quarters and the top tenth are cut at quantiles of everyone's {column}; the rate is the share of a group "
        "that is in them, ties with the cut included in the higher part. Each interval stands alone.",
    )
    return BuiltTable(told, [group.place for group, _ in lines], compared_words(told), notes=[note])


def _means(request: Request) -> Lines:
    """Means with their differences and ratios, adjusted ones beside them where `within` is given."""
    asked = Request(
        who=WHO, audit=request.audit, by=as_dicts(known_groups(request)), target=request.target, minimum=FEWEST,
        within=request.within,
    )  # fmt: skip
    found = find_disparities(asked, METRICS["mean_decision"])
    ratios = None if request.within else find_disparities(replace(asked, scale="ratio"), found.metric)
    rest = [(item.group, listed(found, item.group, item.n, item.state)) for item in found.untested]
    return [
        *((group, _mean(found, ratios, i, request.level)) for i, group in enumerate(found.groups)),
        *((group, line | {"metric": "mean {}"}) for group, line in rest),
    ]


def _mean(found: Disparities, ratios: Disparities | None, index: int, level: float) -> dict[str, Any]:
    group, others = found.groups[index], found.comparison.reference @ found.atoms.count
    gaps = [("difference", found.gaps)] + ([] if ratios is None else [("ratio", ratios.gaps)])
    cells: dict[str, Any] = {}
    for name, of in gaps:
        low, high = of.limits(level)
        ends = {"": of.estimate[index], "_low": low[index], "_high": high[index]}
        cells |= {f"{name}{end}": gap_cell(of, value, index) for end, value in ends.items()}
    return {
        "metric": "mean {}", "value_kind": "number", "group": group.label, "n": int(found.count[index]),
        "rate": float(found.rate[index]), "target": found.target_label, "target_n": int(others[index]),
        "target_rate": float(found.target_rate[index]), **cells, **adjusted(found, level, index),
        **State(LISTED.code).cells(),
    }  # fmt: skip


def _medians(groups: list[Group], target: Target, rows: Rows, amount: Any, level: float) -> Lines:
    lines: Lines = []
    for group in groups:
        member = rows.mask(group)
        other = ~member if target.group is None else rows.mask(target.group)
        own, theirs = median_of(amount[member], level), median_of(amount[other], level)
        line = {
            "metric": "median {}", "value_kind": "number", "group": group.label, "n": int(member.sum()),
            **_cells("rate", own, TOO_FEW), "target": target.label, "target_n": int(other.sum()),
            "target_rate": theirs.value, **_cells("difference", median_gap(own, theirs), TOO_FEW),
            **_cells("ratio", median_gap(own, theirs, "ratio"), NOT_POSITIVE), **State(LISTED.code).cells(),
        }  # fmt: skip
        lines.append((group, line))
    return lines


def _cells(name: str, gap: Median, why: str) -> Mapping[str, Any]:
    return {
        name: defined_or(gap.value, NOT_POSITIVE),
        f"{name}_low": defined_or(gap.low, why),
        f"{name}_high": defined_or(gap.high, why),
    }


def _shares(groups: list[Group], target: Target, rows: Rows, amount: Any, level: float) -> Lines:
    """Shares of each group in the quarters of everyone's amounts and in the top tenth."""
    cuts = np.quantile(amount, [0.25, 0.5, 0.75])
    quarter = np.searchsorted(cuts, amount, side="right")
    parts = [(name, quarter == place) for place, name in enumerate(QUARTERS)]
    parts.append(("top tenth", amount >= np.quantile(amount, TOP)))
    return [
        pair
        for name, chosen in parts
        for pair in zip(
            groups, quantile_lines(groups, target, rows, chosen, {"metric": name}, level), strict=True
        )
    ]
