"""`measure` with survey weights or repeated rows of one person."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial.data.cells import Bools, Floats, Rows
from fairtrial.data.groups import check_target, compared_groups
from fairtrial.errors import Fault, InputError
from fairtrial.inference.evidence.survey import (
    Comparison,
    WeightedMean,
    against_number,
    compare_apart,
    compare_overlapping,
    counts_apart,
    linear_interval,
    weighted_mean,
    weighted_rate_interval,
)
from fairtrial.methods.gaps.states import FEW_IN_TARGET, NO_TARGET
from fairtrial.methods.measure.lines import Line, Plan, add_impact_ratios, too_small
from fairtrial.methods.measure.result import NO_SPREAD
from fairtrial.metrics.groups import Group, explicit_groups
from fairtrial.metrics.metric import Metric
from fairtrial.results.column import State

WHO = "measure"


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """One metric over all rows."""

    plan: Plan
    rows: Rows
    metric: Metric
    binary: bool
    weight: Floats
    person: NDArray[np.int32]
    design: float

    @property
    def values(self) -> Floats:
        return self.rows.values[self.metric.name]

    def inside(self, group: Group) -> Bools:
        return self.rows.mask(group) & self.counted

    @property
    def counted(self) -> Bools:
        """Rows that meet the metric's condition and weigh something."""
        return self.rows.given[self.metric.name] & (self.weight > 0)

    def mean(self, inside: Bools) -> WeightedMean:
        return weighted_mean(self.values, inside, self.weight, self.person)


def weighted_lines(plan: Plan) -> tuple[list[Line], Rows]:
    """All lines, and the rows they came from."""
    audit = plan.audit
    columns = [audit.weight] if audit.weight else []
    rows = audit.rows(
        attributes=plan.attributes,
        metrics=plan.metrics,
        columns=columns,
        units=audit.has("unit"),
        complete=False,
        who=WHO,
    )
    weight = rows.columns[str(audit.weight)] if audit.weight else np.ones(rows.n)
    if (weight < 0).any() or weight.sum() <= 0:
        required = "must not be negative and must not sum to zero"
        raise InputError(WHO, Fault("weight", required, subject=f"weight {audit.weight!r}"))
    person = rows.attributes["unit"].codes if audit.has("unit") else np.arange(rows.n, dtype=np.int32)
    check_target(WHO, audit, plan.target)
    asked_for = explicit_groups(plan.by)
    groups, _ = compared_groups(WHO, audit, plan.by, plan.depth, plan.target)
    groups = [group for group in groups if rows.mask(group).any() or group in asked_for]
    lines = [
        _line(column, group)
        for column in (_column(plan, rows, metric, weight, person) for metric in plan.metrics)
        for group in groups
    ]
    add_impact_ratios(lines, audit.favourable)
    return lines, rows


def _column(plan: Plan, rows: Rows, metric: Metric, weight: Floats, person: NDArray[np.int32]) -> _Column:
    given, values = rows.given[metric.name], rows.values[metric.name]
    binary = bool(np.isin(values[given], (0.0, 1.0)).all())
    counted = given & (weight > 0)
    everyone = weighted_mean(values, counted, weight, person) if counted.any() else None
    design = everyone.design_effect if binary and everyone is not None else 1.0
    return _Column(plan, rows, metric, binary, weight, person, design)


def _line(column: _Column, group: Group) -> Line:
    plan, inside = column.plan, column.inside(group)
    people = len(np.unique(column.person[inside]))
    line = Line(metric=column.metric, group=group, binary=column.binary, n=people, target=plan.target.label)
    line.is_reference = plan.target.kind == "reference" and group == plan.target.group
    line.untested = too_small(people, plan.minimum)
    if not people:
        return line
    estimate = column.mean(inside)
    line.level = estimate.mean
    if column.binary:
        line.events = int((column.values[inside] == 1).sum())
        line.low, line.high = weighted_rate_interval(estimate, plan.level, column.design)
    elif np.ptp(column.values[inside]) > 0:
        own = linear_interval(estimate.mean, estimate.influence, estimate.persons, plan.level)
        line.low, line.high = own.low, own.high
    else:
        line.untested = line.untested or State(NO_SPREAD.code, "a constant value has no interval")
    if line.untested is None and not line.is_reference:
        _compare(line, column, estimate, inside)
    return line


def _compare(line: Line, column: _Column, estimate: WeightedMean, inside: Bools) -> None:
    plan = column.plan
    if plan.target.kind == "number":
        _against_number(line, column, estimate)
        return
    reference = column.counted
    if plan.target.kind == "rest":
        reference = reference & ~inside
    elif plan.target.group is not None:
        reference = column.inside(plan.target.group)
    line.target_n = len(np.unique(column.person[reference]))
    line.untested = _small_target(line.target_n, len(np.unique(column.person[reference & ~inside])), plan)
    if line.untested is not None:
        return
    other = column.mean(reference)
    line.target_level = other.mean
    if other.mean > 0:
        line.ratio = estimate.mean / other.mean
    if not column.binary:
        gap = linear_interval(
            estimate.mean - other.mean,
            estimate.influence - other.influence,
            min(estimate.persons, other.persons),
            plan.level,
        )
        _fill(line, gap)
    elif (inside & reference).any():
        _fill(
            line,
            compare_overlapping(column.values, inside, reference, column.weight, column.person, plan.level),
        )
    else:
        counts = counts_apart(estimate, other, plan.level, column.design)
        gap, line.ratio_low, line.ratio_high = compare_apart(counts, plan.level)
        _fill(line, gap)
        line.ratio = estimate.mean / other.mean if other.mean > 0 else np.inf


def _small_target(everyone: int, others: int, plan: Plan) -> State | None:
    if everyone == 0:
        return State(NO_TARGET.code, "nobody in the target meets the metric's condition")
    if everyone < plan.minimum or 0 < others < plan.minimum:
        return State(FEW_IN_TARGET.code, f"fewer than {plan.minimum} to compare with")
    return None


def _against_number(line: Line, column: _Column, estimate: WeightedMean) -> None:
    target, level = column.plan.target.value, column.plan.level
    assert target is not None
    assert line.low is not None
    assert line.high is not None
    if column.binary and not 0 < target < 1:
        raise InputError(WHO, Fault("target", "of a rate must lie between 0 and 1", got=target))
    line.target_level = target
    gap = linear_interval(estimate.mean - target, estimate.influence, estimate.persons, level)
    if column.binary:
        p = against_number(estimate, target, level, column.design)
        gap = Comparison(estimate.mean - target, line.low - target, line.high - target, p)
    _fill(line, gap)
    if target > 0:
        line.ratio, line.ratio_low, line.ratio_high = (
            estimate.mean / target, line.low / target, line.high / target,
        )  # fmt: skip


def _fill(line: Line, gap: Comparison) -> None:
    if not np.isfinite(gap.p_value):
        line.untested = State(NO_SPREAD.code, "neither side has any spread")
        return
    line.difference, line.p_value = gap.difference, gap.p_value
    line.difference_low, line.difference_high = gap.low, gap.high
