"""Table of pay: gaps of means and medians, and each group's share in the quarters and the top tenth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairtrial._audit.cells import Rows
from fairtrial._compare.columns import LISTED
from fairtrial._compare.comparing import find_disparities
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.request import Request
from fairtrial._compare.rows import gap_cell
from fairtrial._compare.score_tables import FEWEST, apart, listed, quantile_lines, scored_target
from fairtrial._compare.table_parts import (
    REFUSED,
    WHO,
    WHY_REFUSED,
    BuiltTable,
    adjusted,
    as_dicts,
    compared_words,
    known_groups,
    need,
)
from fairtrial._inference.means.medians import Median, median_gap, median_of
from fairtrial._metrics.groups import Group, Target
from fairtrial._metrics.table import METRICS
from fairtrial._results.column import State, defined_or

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
