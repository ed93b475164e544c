"""`measure` from one grouping query: each group's rate, and its gap to the target as certify and flag infer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fairtrial._audit.cells import Cells
from fairtrial._audit.groups import check_target, compared_groups
from fairtrial._compare.between_ends import is_open
from fairtrial._compare.columns import NOBODY, REFERENCE
from fairtrial._compare.disparities import Disparities, compare_sorted
from fairtrial._compare.lines import Line, Plan
from fairtrial._compare.probable_groups import find_probable, probable_rates
from fairtrial._compare.scales import FOUR_FIFTHS, band_p_values
from fairtrial._compare.sorted_groups import SortedGroups, members_of, opposite, sort_groups
from fairtrial._compare.strata import adjusted_cells
from fairtrial._compare.tolerance import check_band
from fairtrial._compare.unknown_outcomes import find_unknown, own_rates
from fairtrial._inference.compare.choose_gaps import make_gaps
from fairtrial._inference.compare.end_gaps import EndGaps
from fairtrial._inference.compare.gaps import BinaryGaps, Gaps
from fairtrial._inference.compare.linear_gaps import LinearGaps
from fairtrial._inference.compare.pair_gaps import first_answers
from fairtrial._inference.evidence.atoms import Bools, Comparison
from fairtrial._inference.evidence.members import Members
from fairtrial._inference.evidence.unit_sums import UnitSums
from fairtrial._inference.multiplicity import holm
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.binary_gaps import no_gap
from fairtrial._inference.rates.highest import pairs_of_groups, ratio_to_highest
from fairtrial._metrics.groups import Group, explicit_groups
from fairtrial._metrics.harm import is_selection
from fairtrial._metrics.metric import Metric
from fairtrial._results.column import State

WHO = "measure"


def cell_lines(plan: Plan) -> tuple[Plan, list[Line], list[Disparities], Cells]:
    """The plan with its target as it is called beside the groups, all lines, the gaps they show, and their cells."""
    cells = _cells(plan)
    check_target(WHO, plan.audit, plan.target)
    asked_for = explicit_groups(plan.by)  # listed even when nobody is in them
    named, target = compared_groups(WHO, plan.audit, plan.by, plan.depth, plan.target)
    plan = replace(plan, target=target or plan.target)
    there = members_of(cells, named).any()
    groups = [group for group, some in zip(named, there, strict=True) if some or group in asked_for]
    lines: list[Line] = []
    compared: list[Disparities] = []
    sorted_groups: dict[str, SortedGroups] = {}
    for metric in plan.metrics:
        unknown = find_unknown(WHO, plan.audit, metric, plan.counted, plan.target)
        probable = find_probable(WHO, plan.audit, metric, plan.attributes, plan.target)
        other = unknown or probable
        own_cells = cells if other is None else other.cells
        cells.left_out.update(own_cells.left_out)
        found = sort_groups(
            WHO, plan.audit, metric, own_cells, groups, plan.target, plan.minimum, unknown, probable
        )
        sorted_groups[metric.name] = found
        own = _rate_lines(plan, metric, found, groups)
        lines += own.values()
        if found.tested:
            compared.append(_compared(plan, metric, found))
            _fill(own, compared[-1], plan)
    if plan.audit.pair is None:  # rates of the same people: their ratio has no law here
        add_impact_ratios(lines, plan, sorted_groups)
    return plan, lines, compared, cells


def _cells(plan: Plan) -> Cells:
    """Counts by the attributes compared; of those known with a probability, about how many people there are."""
    if not any(name in plan.audit.probable for name in plan.attributes):
        return plan.audit.cells(plan.counted, plan.metrics, weights=True, who=WHO)
    found = find_probable(WHO, plan.audit, plan.metrics[0], plan.attributes, plan.target)
    assert found is not None
    return found.cells


def _compared(plan: Plan, metric: Metric, found: SortedGroups) -> Disparities:
    return compare_sorted(
        WHO, plan.audit, metric, found, by=plan.by, target=plan.target, minimum=plan.minimum,
        inference=plan.inference,
    )  # fmt: skip


def _rate_lines(
    plan: Plan, metric: Metric, found: SortedGroups, groups: Sequence[Group]
) -> dict[Group, Line]:
    """One line per group with its own rate and interval: its gap to a known zero."""
    atoms = found.atoms
    member = members_of(found.cells, groups)
    zero = Comparison(member, member.nobody(), np.zeros(len(groups)))
    own = _own_gaps(plan, found, zero)
    count, total = member @ found.cells.count[metric.name], member @ found.cells.total[metric.name]
    others = opposite(member, found.cells, plan.target) @ found.atoms.count
    low, high = own.limits(plan.level)
    level = own.rates[0] if own.rates is not None else total / np.maximum(count, 1)
    untested = {item.group: item.state for item in found.untested}
    lines = {}
    people = count if own.people is None else own.people
    ends = _own_ends(plan, found, member)
    if ends is not None:
        low, high = ends.limits(plan.level)
    for i, group in enumerate(groups):
        n = int(people[i])
        line = Line(
            metric=metric, group=group, binary=atoms.binary, n=n, target=plan.target.label, target_n=int(others[i]),
            unlimited=_why_unlimited(own, i),
        )  # fmt: skip
        if n:
            line.level, line.low, line.high = float(level[i]), float(low[i]), float(high[i])
            line.events = round(float(total[i])) if atoms.binary else None
            if ends is not None:
                line.level = None
                line.rate_ends = float(ends.least.estimate[i]), float(ends.most.estimate[i])
        line.untested = untested.get(group)
        if not n and line.untested is None:
            line.untested = State(NOBODY.code, "nobody is in this group")
        line.is_reference = line.untested is not None and line.untested.code == REFERENCE.code
        lines[group] = line
    return lines


def _own_ends(plan: Plan, found: SortedGroups, member: Members) -> EndGaps | None:
    """Each group's own rate where only its ends are known."""
    if found.unknown is not None:
        assert plan.audit.unlabelled is not None
        return own_rates(found.unknown, plan.audit.unlabelled, member)
    return None if found.probable is None else probable_rates(found.probable, member)


def _own_gaps(plan: Plan, found: SortedGroups, zero: Comparison) -> Gaps:
    """Each group's gap to a known zero: its own rate with its interval."""
    if found.weighted is not None:
        return LinearGaps(found.weighted.sums, zero)
    return make_gaps(found.atoms, zero, rate_method=plan.interval or "bounded")


def _why_unlimited(own: Gaps, index: int) -> str:
    return own.reason[index] or f"no limit: {own.why_no_limit(index)}"


def _fill(lines: dict[Group, Line], disparities: Disparities, plan: Plan) -> None:
    check_band(WHO, plan.band, disparities)
    gaps = disparities.differences
    low, high = gaps.limits(plan.level)
    p = band_p_values(disparities.gaps, plan.band)
    target_rate = disparities.target_rate
    standardized = _standardized(disparities)
    other = disparities.bounds or disparities.within
    ratios = None if other else _ratio_limits(disparities, low, high, plan.level)
    if disparities.paired is not None:
        _fill_pairs(lines, disparities, plan)
    for i, group in enumerate(disparities.groups):
        line = lines[group]
        line.undetermined, line.scale = disparities.gaps.reason[i], plan.scale
        line.target_level, line.difference = float(target_rate[i]), float(gaps.estimate[i])
        line.difference_low, line.difference_high = float(low[i]), float(high[i])
        line.open_because = gaps.why_no_limit(i) if np.isinf([low[i], high[i]]).any() else None
        line.p_value = float(p[i])
        if disparities.within is not None:
            _fill_adjusted(line, disparities, i, plan)
            continue
        if disparities.bounds is not None and isinstance(gaps, EndGaps):
            bounds = disparities.bounds
            line.depends, line.assumption = bounds.depends, bounds.assumption
            line.more_cells = bounds.more_cells(i, plan.level)
            line.more_words = bounds.more_words(i, plan.level)
            line.gap_ends = float(gaps.least.estimate[i]), float(gaps.most.estimate[i])
            line.waits = _waits(disparities.gaps, i, plan)
            continue
        if standardized is not None and np.isfinite(standardized[i]):  # without spread there is none
            line.standardized = float(standardized[i])
        line.ratio = None if disparities.paired is not None else _ratio(line)
        if ratios is not None and line.ratio is not None and np.isfinite(ratios[0][i]):
            line.ratio_low, line.ratio_high = float(ratios[0][i]), float(ratios[1][i])


def _fill_adjusted(line: Line, disparities: Disparities, index: int, plan: Plan) -> None:
    """The gap among people alike, with the one without them beside it; rates stay everyone's."""
    assert disparities.within is not None
    line.target = disparities.target_label
    line.more_cells = adjusted_cells(disparities.within, plan.level, index)
    if plan.scale == "ratio":
        low, high = disparities.gaps.kept_limits(plan.level)
        line.ratio = float(disparities.gaps.estimate[index])
        line.ratio_low, line.ratio_high = float(low[index]), float(high[index])


def _waits(gaps: Gaps, index: int, plan: Plan) -> bool:
    """Whether what is not known decides on which side of the tolerance a gap lies."""
    assert isinstance(gaps, EndGaps)
    ends = float(gaps.least.estimate[index]), float(gaps.most.estimate[index])
    return gaps.reason[index] is None and is_open(*ends, plan.band or (no_gap(gaps.scale),) * 2)


def _fill_pairs(lines: dict[Group, Line], disparities: Disparities, plan: Plan) -> None:
    """The group's own rate among the people who are compared, so that rates and difference are of the same people."""
    assert disparities.paired is not None
    samples = disparities.paired.samples(disparities.comparison)
    own = first_answers(samples, disparities.binary, plan.interval or "bounded")
    low, high = own.limits(plan.level)
    for i, group in enumerate(disparities.groups):
        line, sample = lines[group], samples[i]
        line.n = line.target_n = sample.first.size
        line.unpaired = sample.alone
        line.level, line.low, line.high = float(own.estimate[i]), float(low[i]), float(high[i])
        line.events = round(float(sample.first.sum())) if disparities.binary else None


def _ratio(line: Line) -> float | None:
    """The group's rate over the target's; of real values only where both are above zero."""
    assert line.level is not None
    assert line.target_level is not None
    if line.binary:
        return line.level / line.target_level if line.target_level > 0 else np.inf
    return line.level / line.target_level if min(line.level, line.target_level) > 0 else None


def _ratio_limits(
    disparities: Disparities, low: Floats, high: Floats, level: float
) -> tuple[Floats, Floats] | None:
    """Limits of the ratio: those of the rate over a known number, or of the ratio's own law."""
    known = disparities.comparison.known
    if disparities.paired is not None:
        return None
    if known is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = (known + low) / known, (known + high) / known
        positive = known > 0
        return np.where(positive, ends[0], np.nan), np.where(positive, ends[1], np.nan)
    if not disparities.binary:
        return disparities.gaps.limits(level) if disparities.scale == "ratio" else None
    if disparities.weighted is not None:
        return LinearGaps(disparities.weighted.sums, disparities.comparison, "ratio").limits(level)
    ratios = BinaryGaps(disparities.atoms, disparities.comparison, "ratio")
    limits, partly = ratios.any_limits(level), ratios.parts.shape == "partial"
    return np.where(partly, np.nan, limits[0]), np.where(partly, np.nan, limits[1])


def _standardized(disparities: Disparities) -> Floats | None:
    """The difference over the root mean of the two variances, of real values with people opposite."""
    comparison, atoms = disparities.comparison, disparities.atoms
    if atoms.binary or comparison.known is not None or disparities.weighted is not None:
        return None
    if disparities.paired is not None:
        return None
    sides = [atoms.pooled(side) for side in (comparison.member, comparison.reference)]
    variances = [m2 / np.maximum(count - 1.0, 1.0) for count, _, m2 in sides]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(disparities.gaps.estimate / np.sqrt((variances[0] + variances[1]) / 2.0))


# -- The impact ratio: a rate of the favourable decision over the highest one, with limits that know it was
# chosen.
Family = Sequence[tuple[Line, float]]


def add_impact_ratios(lines: Sequence[Line], plan: Plan, found: Mapping[str, SortedGroups]) -> None:
    """The rate of the favourable decision over the highest one of the same attributes, groups large enough only.

    Where nobody said which decision is favourable it is taken to be 1. Limits know that the highest rate was chosen
    from the data, and a group is marked only where a test over all pairs of groups shows it below four fifths of
    another: the bare quotient is below .8 somewhere in .62 to 1.00 of tables with equal rates.
    """
    for (metric, _), family in _families(lines, plan).items():
        if len(family) < 2:
            continue  # a group alone is the highest of nobody else
        highest = max(rate for _, rate in family)
        for line, rate in family:
            line.impact_ratio = rate / highest if highest > 0 else None
        if highest > 0:
            infer = _infer_from_counts if found[metric].weighted is None else _infer_from_rows
            infer(family, plan, found[metric])


def _families(
    lines: Sequence[Line], plan: Plan
) -> dict[tuple[str, tuple[str, ...]], list[tuple[Line, float]]]:
    """Selection rates of groups of the same attributes, as rates of the favourable decision."""
    families: dict[tuple[str, tuple[str, ...]], list[tuple[Line, float]]] = {}
    for line in lines:
        if is_selection(line.metric) and line.level is not None and not line.too_few:
            rate = 1.0 - line.level if plan.audit.favourable == 0 else line.level
            families.setdefault((line.metric.name, line.group.attributes), []).append((line, rate))
    return families


def _infer_from_counts(family: Family, plan: Plan, found: SortedGroups) -> None:
    people = np.array([float(line.n) for line, _ in family])
    rates = np.array([rate for _, rate in family])
    events = np.rint(people * rates)
    limits = ratio_to_highest(events, people, plan.level)
    pairs = pairs_of_groups(events, people, FOUR_FIFTHS, plan.level)
    lower = np.where(rates[pairs.first] < rates[pairs.second], pairs.first, pairs.second)
    marked = set(lower[pairs.p_adjusted <= 1.0 - plan.level].tolist())
    for place, (line, _) in enumerate(family):
        line.impact_ratio_low, line.impact_ratio_high = float(limits.low[place]), float(limits.high[place])
        line.four_fifths = place in marked


def _infer_from_rows(family: Family, plan: Plan, found: SortedGroups) -> None:
    """Of weighted rows and persons with several."""
    assert found.weighted is not None
    sums = found.weighted.sums
    if plan.audit.favourable == 0:
        sums = replace(sums, total=sums.weight - sums.total)
    member = np.array([found.cells.mask(line.group) for line, _ in family])
    limits = linear_to_highest(sums, member, FOUR_FIFTHS, plan.level)
    for place, (line, _) in enumerate(family):
        line.impact_ratio_low, line.impact_ratio_high = float(limits.low[place]), float(limits.high[place])
        line.four_fifths = bool(limits.below[place])


# -- The ratio to the highest rate of weighted rows and repeated units: as of counts, by the law of their
# ratios.
class LinearHighest(NamedTuple):
    """Per group: limits of its ratio to the highest true rate, and whether some pair shows it below the band."""

    low: Floats
    high: Floats
    below: Bools


def linear_to_highest(
    sums: UnitSums, member: Bools, band: tuple[float, float], level: float
) -> LinearHighest:
    """Pairs as in `rates.highest`: lower limits uncorrected, upper ones and the pairs' tests each with their part."""
    groups = len(member)
    low, high, below = np.ones(groups), np.ones(groups), np.zeros(groups, dtype=bool)
    pairs, p_values = [], []
    for i in range(groups):
        others = np.arange(groups) != i
        gaps = LinearGaps(
            sums, Comparison(np.repeat(member[i : i + 1], groups - 1, 0), member[others]), "ratio"
        )
        lows = gaps.limits(level)[0]
        highs = gaps.limits(1.0 - (1.0 - level) / (groups - 1.0))[1]
        # a pair without inference says nothing: no lower limit, and none from above
        low[i] = min(1.0, float(np.nan_to_num(lows, nan=0.0).min()))
        high[i] = min(1.0, float(np.nan_to_num(highs, nan=np.inf).min()))
        later = np.flatnonzero(others) > i
        pairs += [
            (i, int(j), ratio)
            for j, ratio in zip(np.flatnonzero(others)[later], gaps.estimate[later], strict=True)
        ]
        p_values.append(gaps.p_inside(*band)[later])
    adjusted = holm(np.concatenate(p_values))
    for (i, j, ratio), p in zip(pairs, adjusted, strict=True):
        if p <= 1.0 - level:
            below[i if ratio < 1.0 else j] = True
    return LinearHighest(low, high, below)
