"""`measure` from counts and moments: one grouping query, then arithmetic on cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial.data.cells import Bools, Cells, Rows
from fairtrial.data.groups import check_target, find_groups
from fairtrial.errors import Fault, InputError
from fairtrial.inference.compare.gaps import KnownRateGaps
from fairtrial.inference.means.from_moments import (
    el_mean_difference_interval,
    el_mean_difference_p,
    el_mean_intervals,
    mean_interval,
    overall_gap,
    t_quantile,
    welch,
)
from fairtrial.inference.rates.binary_gaps import PartCounts, gap_limits, gap_p
from fairtrial.inference.rates.proportions import rate_interval
from fairtrial.inference.rates.two_rates import ratio_interval
from fairtrial.methods.measure.lines import Line, Plan, add_impact_ratios, too_small
from fairtrial.methods.measure.result import NO_SPREAD, NO_TARGET, OVERLAPS
from fairtrial.metrics.groups import Group, explicit_groups
from fairtrial.metrics.metric import Metric
from fairtrial.results.column import State

Floats = NDArray[np.float64]
WHO = "measure"
MAX_LIKELIHOOD_ROWS = 1_000_000


def cell_lines(plan: Plan) -> tuple[list[Line], Cells]:
    """All lines, and the cells they came from."""
    cells = plan.audit.cells(plan.attributes, plan.metrics, who=WHO)
    check_target(WHO, plan.audit, plan.target)
    groups = find_groups(WHO, plan.audit, plan.by, plan.depth)
    inside = np.array([cells.mask(group) for group in groups])
    somebody = [bool(mask.any()) for mask in inside]
    if not all(somebody):
        asked_for = explicit_groups(plan.by)  # listed even when nobody is in them
        kept = [i for i, group in enumerate(groups) if somebody[i] or group in asked_for]
        groups, inside = [groups[i] for i in kept], inside[kept]
    chosen = [_Chosen(plan, cells, metric, groups, inside) for metric in plan.metrics]
    binary = [part for part in chosen if cells.binary[part.metric.name]]
    by_metric = dict(zip((part.metric.name for part in binary), _binary_lines(plan, binary), strict=True))
    for part in chosen:
        if part.metric.name not in by_metric:
            by_metric[part.metric.name] = _real_lines(part)
    lines = [line for metric in plan.metrics for line in by_metric[metric.name]]
    add_impact_ratios(lines)
    return lines, cells


@dataclass(frozen=True, slots=True, eq=False)
class _Chosen:
    plan: Plan
    cells: Cells
    metric: Metric
    groups: list[Group]
    members: Bools

    @property
    def reference(self) -> Bools:
        """Per group, the cells it is compared with."""
        target = self.plan.target
        if target.kind == "rest":
            return ~self.members
        if target.kind == "reference" and target.group is not None:
            return np.broadcast_to(self.cells.mask(target.group), self.members.shape)
        return np.ones_like(self.members)

    def sums(self, inside: Bools) -> tuple[Floats, Floats]:
        name = self.metric.name
        return inside @ self.cells.count[name].astype(float), inside @ self.cells.total[name]

    def base(self, binary: bool) -> list[Line]:
        count, total = self.sums(self.members)
        lines, label = [], self.plan.target.label
        for group, n, k in zip(self.groups, count.tolist(), total.tolist(), strict=True):
            line = Line(metric=self.metric, group=group, binary=binary, n=int(n), target=label)
            line.events = round(k) if binary else None
            line.level = k / n if n else None
            line.is_reference = self.plan.target.kind == "reference" and group == self.plan.target.group
            line.untested = too_small(int(n), self.plan.minimum)
            lines.append(line)
        return lines


def _binary_lines(plan: Plan, chosen: list[_Chosen]) -> list[list[Line]]:
    """Lines per metric; all of them go through one call of each interval, which costs as much as one of them."""
    if not chosen:
        return []
    by_metric = [part.base(binary=True) for part in chosen]
    lines = [line for part in by_metric for line in part]
    n, k = _stack(part.sums(part.members) for part in chosen)
    _rate_limits(lines, plan, k, n)
    if plan.target.kind == "number":
        _against_number(lines, plan)
    else:
        _against_rates(lines, plan, chosen, k, n)
    return by_metric


def _stack(sums: Iterable[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    counts, totals = zip(*sums, strict=True)
    return np.concatenate(counts), np.concatenate(totals)


def _rate_limits(lines: list[Line], plan: Plan, k: Floats, n: Floats) -> None:
    asked = plan.interval or "wilson"
    method: Any = "wilson" if asked in ("t", "empirical-likelihood") else asked
    low, high = rate_interval(k, n, plan.level, method)
    for line, lower, upper in zip(lines, low.tolist(), high.tolist(), strict=True):
        if line.n:
            line.low, line.high = lower, upper


def _against_rates(lines: list[Line], plan: Plan, chosen: list[_Chosen], k: Floats, n: Floats) -> None:
    members, reference = chosen[0].members, chosen[0].reference  # the same for every metric
    masks = (members & reference, members & ~reference, reference & ~members)
    sides = [_stack(part.sums(mask) for part in chosen) for mask in masks]
    parts = PartCounts(*(values for count, total in sides for values in (total, count)))
    n_ref, k_ref = sides[0][0] + sides[2][0], sides[0][1] + sides[2][1]
    for line, others in zip(lines, n_ref.tolist(), strict=True):
        if others == 0 and not line.untested:
            line.untested = State(NO_TARGET.code, "nobody to compare with")
    tested = np.array(
        [i for i, line in enumerate(lines) if not (line.untested or line.is_reference)], dtype=np.intp
    )
    some = parts[tested]
    low, high = gap_limits(some, plan.level)
    p_values = gap_p(some, np.zeros(len(tested)))
    ratios = ratio_interval(k[tested], n[tested], k_ref[tested], n_ref[tested], plan.level)
    columns = (k_ref[tested] / n_ref[tested], low, high, p_values, *ratios)
    values = zip(*(column.tolist() for column in columns), strict=True)
    kinds = zip(some.small.tolist(), (some.n_both == 0).tolist(), strict=True)
    for i, row, (small, disjoint) in zip(tested.tolist(), values, kinds, strict=True):
        line = lines[i]
        assert line.level is not None
        line.target_level, line.difference_low, line.difference_high, line.p_value = row[:4]
        line.difference = line.level - line.target_level
        line.ratio = line.level / line.target_level if line.target_level > 0 else np.inf
        if disjoint:
            line.ratio_low, line.ratio_high = row[4:]
        line.method = "score" if small else "likelihood"


def _against_number(lines: list[Line], plan: Plan) -> None:
    target = plan.target.value
    assert target is not None
    for line in lines:
        if line.untested or line.level is None or line.low is None or line.high is None:
            continue
        line.target_level = target
        line.difference, line.difference_low, line.difference_high = (
            line.level - target, line.low - target, line.high - target,
        )  # fmt: skip
        if line.binary and not 0 < target < 1:
            raise InputError(WHO, Fault("target", "of a rate must lie between 0 and 1", got=target))
        if line.binary:
            # The score alone has a size of .078 with 50 people at 2%; certify's test of the same gap bears that.
            events = float(round(line.level * line.n))
            gap = KnownRateGaps(np.array([float(line.n)]), np.array([events]), np.array([target]))
            line.p_value = float(gap.p_equal(0.0)[0])
        if target != 0:
            line.ratio, line.ratio_low, line.ratio_high = (
                line.level / target,
                line.low / target,
                line.high / target,
            )


def _real_lines(chosen: _Chosen) -> list[Line]:
    lines = chosen.base(binary=False)
    plan, name = chosen.plan, chosen.metric.name
    rows = _likelihood_rows(chosen)
    values: list[Floats | None] = [None] * len(lines)
    if rows is not None:
        groups = [rows.values[name][rows.mask(line.group) & rows.given[name]] for line in lines]
        values, likelihood_limits = list(groups), el_mean_intervals(groups, plan.level)
    for i, line in enumerate(lines):
        inside = chosen.members[i]
        n, total, m2 = chosen.cells.moments(name, inside)
        if n < 2 or m2 <= 0:
            line.untested = line.untested or State(NO_SPREAD.code, "a constant value has no interval")
            continue
        if rows is None:
            low, high = mean_interval(n, total / n, m2, plan.level)
        else:
            low, high = (limit[i] for limit in likelihood_limits)
        line.low, line.high = float(low), float(high)
        if line.untested or line.is_reference:
            continue
        if plan.target.kind == "number":
            _against_number([line], plan)
            error = np.sqrt(m2 / (n - 1) / n)
            line.p_value = float(2 * special.stdtr(n - 1, -abs(line.difference or 0.0) / error))
        elif plan.target.kind == "overall":
            _against_overall(line, chosen, inside)
        else:
            _against_others(line, chosen, i, values[i], rows)
    return lines


def _against_others(line: Line, chosen: _Chosen, i: int, values: Floats | None, rows: Rows | None) -> None:
    """Welch, or profile empirical likelihood when it was asked for."""
    name, level = chosen.metric.name, chosen.plan.level
    reference = chosen.reference[i]
    if (reference & chosen.members[i]).any():
        line.untested = State(OVERLAPS.code, "the group overlaps its reference; certify takes it")
        return
    n1, total1, m1 = chosen.cells.moments(name, chosen.members[i])
    n2, total2, m2 = chosen.cells.moments(name, reference)
    gap, error, df = welch(n1, total1 / n1, m1, n2, total2 / max(n2, 1), m2)
    if not np.isfinite(error):
        line.untested = State(NO_SPREAD.code, "the target has no spread or nobody")
        return
    line.target_level, line.difference = total2 / n2, float(gap)
    line.standardized = float(gap / np.sqrt((m1 / (n1 - 1) + m2 / (n2 - 1)) / 2))
    if values is not None and rows is not None:
        target = chosen.plan.target
        outside = ~rows.mask(line.group) if target.group is None else rows.mask(target.group)
        others = rows.values[name][outside & rows.given[name]]
        if np.ptp(others) == 0:
            line.untested = State(
                NO_SPREAD.code, "the target's values are all alike; the interval 't' takes them"
            )
            return
        low, high = el_mean_difference_interval(values, others, level)
        line.p_value = el_mean_difference_p(values, others)
    else:
        half = float(t_quantile(df, level) * error)
        low, high = float(gap) - half, float(gap) + half
        line.p_value = float(2 * special.stdtr(df, -abs(gap) / error))
    line.difference_low, line.difference_high = float(low), float(high)
    if line.level is not None and line.target_level > 0 and line.level > 0:
        line.ratio = line.level / line.target_level


def _against_overall(line: Line, chosen: _Chosen, inside: Bools) -> None:
    """The overall mean holds the group itself: gap = (1 − share) · gap to the rest, the share estimated too."""
    name, level = chosen.metric.name, chosen.plan.level
    n1, total1, m1 = chosen.cells.moments(name, inside)
    n2, total2, m2 = chosen.cells.moments(name, ~inside)
    gap = [float(value) for value in overall_gap(n1, total1 / n1, m1, n2, total2 / max(n2, 1), m2, level)]
    if not np.isfinite(gap).all():
        line.untested = State(NO_SPREAD.code, "the rest has no spread or nobody")
        return
    line.target_level = (total1 + total2) / (n1 + n2)
    line.difference, line.difference_low, line.difference_high, line.p_value = gap


def _likelihood_rows(chosen: _Chosen) -> Rows | None:
    """Rows for empirical likelihood, when it was asked for."""
    plan = chosen.plan
    if plan.interval != "empirical-likelihood":
        return None
    total = int(chosen.cells.rows.sum())
    if total > MAX_LIKELIHOOD_ROWS:
        required = f"= 'empirical-likelihood' takes up to 1,000,000 rows, got {total:,}; use 't'"
        raise InputError(WHO, Fault("interval", required))
    return plan.audit.rows(attributes=plan.attributes, metrics=[chosen.metric], who=WHO)
