"""The impact ratio: a rate of the favourable decision over the highest one, with limits that know it was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fairtrial.inference.compare.linear_highest import linear_to_highest
from fairtrial.inference.rates.highest import pairs_of_groups, ratio_to_highest
from fairtrial.methods.gaps.scales import FOUR_FIFTHS
from fairtrial.methods.gaps.sorted_groups import SortedGroups
from fairtrial.methods.measure.lines import Line, Plan
from fairtrial.metrics.harm import is_selection

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
