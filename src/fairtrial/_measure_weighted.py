"""`measure` with survey weights or repeated rows of one person."""

from __future__ import annotations

import numpy as np

from fairtrial._measure_lines import Line, Plan, add_impact_ratios
from fairtrial.cells import Rows
from fairtrial.errors import InputError
from fairtrial.groups import Group, check_target, explicit_groups, find_groups
from fairtrial.metrics import Metric
from fairtrial.stats.survey import WeightedMean, linear_interval, weighted_mean, weighted_rate_interval

WHO = "measure"


def weighted_lines(plan: Plan) -> tuple[list[Line], Rows]:
    """All lines, and the rows they came from."""
    audit = plan.audit
    columns = [audit.weight] if audit.weight else []
    rows = audit.rows(
        attributes=plan.attributes, metrics=plan.metrics, columns=columns, units=audit.has("unit"), who=WHO
    )
    weight = rows.columns[str(audit.weight)] if audit.weight else np.ones(rows.n)
    if (weight < 0).any() or weight.sum() <= 0:
        raise InputError(WHO, f"weight {audit.weight!r} must not be negative and must not sum to zero")
    person = rows.attributes["unit"].codes if audit.has("unit") else np.arange(rows.n, dtype=np.int32)
    check_target(WHO, audit, plan.target)
    asked_for = explicit_groups(plan.by)
    lines = []
    for metric in plan.metrics:
        values = rows.values[metric.name]
        binary = bool(np.isin(values[rows.given[metric.name]], (0.0, 1.0)).all())
        for group in find_groups(WHO, audit, plan.by, plan.depth):
            inside = rows.mask(group) & rows.given[metric.name]
            if rows.mask(group).any() or group in asked_for:
                lines.append(_line(plan, rows, metric, group, inside, binary, weight, person))
    add_impact_ratios(lines)
    return lines, rows


def _line(
    plan: Plan, rows: Rows, metric: Metric, group: Group, inside: np.ndarray, binary: bool,
    weight: np.ndarray, person: np.ndarray,
) -> Line:  # fmt: skip
    people = len(np.unique(person[inside & (weight > 0)]))
    line = Line(metric=metric, group=group, binary=binary, n=people, target=plan.target.label)
    line.is_reference = plan.target.kind == "reference" and group == plan.target.group
    values = rows.values[metric.name]
    if people < plan.minimum:
        line.reason = (
            f"not tested: fewer than {plan.minimum}" if people else "not tested: nobody meets the condition"
        )
    if not people:
        return line
    line.events = int((values[inside] == 1).sum()) if binary else None
    estimate = weighted_mean(values, inside, weight, person)
    line.level = estimate.mean
    if binary:
        line.low, line.high = weighted_rate_interval(estimate, plan.level)
    else:
        line.low, line.high, _ = linear_interval(estimate.mean, estimate.influence, plan.level)
    if line.reason is None and not line.is_reference:
        _compare(line, plan, rows, estimate, weight, person)
    return line


def _compare(
    line: Line, plan: Plan, rows: Rows, estimate: WeightedMean, weight: np.ndarray, person: np.ndarray
) -> None:
    target, name = plan.target, line.metric.name
    if target.kind == "number":
        assert target.value is not None
        level, influence = target.value, np.zeros_like(estimate.influence)
    else:
        inside = np.ones(rows.n, dtype=bool)
        if target.kind == "rest":
            inside = ~rows.mask(line.group)
        elif target.group is not None:
            inside = rows.mask(target.group)
        inside = inside & rows.given[name]
        if not (inside & (weight > 0)).any():
            line.reason = "not tested: nobody to compare with"
            return
        other = weighted_mean(rows.values[name], inside, weight, person)
        level, influence = other.mean, other.influence
    line.target_level, line.difference = level, estimate.mean - level
    line.difference_low, line.difference_high, line.p_value = linear_interval(
        line.difference, estimate.influence - influence, plan.level
    )
    if level > 0 and estimate.mean > 0:
        line.ratio = estimate.mean / level
        on_log = estimate.influence / estimate.mean - influence / level
        low, high, _ = linear_interval(float(np.log(line.ratio)), on_log, plan.level)
        line.ratio_low, line.ratio_high = float(np.exp(low)), float(np.exp(high))
