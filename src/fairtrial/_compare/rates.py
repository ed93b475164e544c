"""`measure` from one grouping query: each group's rate, and its gap to the target as certify and flag infer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairtrial._audit.cells import Cells
from fairtrial._audit.direction import harmed_side
from fairtrial._audit.groups import by_attributes, check_target, compared_groups
from fairtrial._compare.comparing import compare_sorted, known_in_part
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.request import Request
from fairtrial._compare.rows import Line, gap_rows
from fairtrial._compare.sorted_groups import SortedGroups, members_of, opposite, sort_groups, with_target
from fairtrial._compare.tolerance import Band, band_p_values, check_band
from fairtrial._compare.words import NOBODY
from fairtrial._inference.evidence.atoms import Comparison
from fairtrial._inference.evidence.members import Members
from fairtrial._inference.laws.choose_gaps import make_gaps
from fairtrial._inference.laws.gaps import Gaps
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.binary_gaps import BinaryGaps
from fairtrial._inference.rates.two_rates import pairs_of_groups, ratio_to_highest
from fairtrial._metrics.groups import FOUR_FIFTHS, Group, explicit_groups, is_selection
from fairtrial._metrics.values import Metric, role
from fairtrial._results.column import State, defined_or, scalar, undefined

if TYPE_CHECKING:
    from fairtrial._inference.laws.end_gaps import EndGaps

# what a line takes from the row of its gap; rates and ratios are told in another way
TAKEN = (
    "target_rate", "difference", "unpaired", "unadjusted", "unadjusted_low", "unadjusted_high", "unadjusted_ratio",
    "unadjusted_ratio_low", "unadjusted_ratio_high", "compared", "heterogeneity_p", "overturned_by", "overturned_in",
    "unknown", "difference_least", "difference_most", "weighted", "weighted_low", "weighted_high", "dual", "dual_low",
    "dual_high",
)  # fmt: skip


def attributes_of(request: Request) -> tuple[str, ...]:
    """The attributes that are compared, and the reference's own."""
    return with_target(by_attributes(request.who, request.audit, request.by), request.target)


def cell_lines(
    request: Request, metrics: Sequence[Metric], band: Band | None
) -> tuple[Request, list[Line], list[Disparities], Cells]:
    """The request with its target as it is called beside the groups, all lines, the gaps they show, and their cells."""
    who, audit = request.who, request.audit
    attributes = attributes_of(request)
    counted = (*attributes, *(name for name in request.strata if name not in attributes))
    cells = _cells(request, metrics, attributes, counted)
    check_target(who, audit, request.target)
    asked_for = explicit_groups(request.by)  # listed even when nobody is in them
    named, target = compared_groups(who, audit, request.by, request.depth, request.target)
    request = replace(request, target=target or request.target)
    there = members_of(cells, named).any()
    groups = [group for group, some in zip(named, there, strict=True) if some or group in asked_for]
    lines: list[Line] = []
    compared: list[Disparities] = []
    sorted_groups: dict[str, SortedGroups] = {}
    for metric in metrics:
        unknown, probable = known_in_part(
            who, audit, metric, request.target, counted=counted, attributes=attributes
        )
        other = unknown or probable
        own_cells = cells if other is None else other.cells
        cells.left_out.update(own_cells.left_out)
        found = sort_groups(
            who, audit, metric, own_cells, groups, request.target, request.minimum, unknown, probable
        )
        sorted_groups[metric.name] = found
        own = _rate_lines(request, metric, found, groups)
        if found.tested:
            gaps = replace(compare_sorted(request, metric, found, request.target), band=band)
            check_band(who, band, gaps)
            compared.append(gaps)
            own |= _with_gaps(own, gaps)
        lines += own.values()
    if audit.pair is None:  # rates of the same people: their ratio has no law here
        add_impact_ratios(lines, request, sorted_groups)
    return request, lines, compared, cells


def _cells(
    request: Request, metrics: Sequence[Metric], attributes: tuple[str, ...], counted: tuple[str, ...]
) -> Cells:
    """Counts by the attributes compared; of those known with a probability, about how many people there are."""
    audit = request.audit
    if not any(name in audit.probable for name in attributes):
        return audit.cells(counted, metrics, weights=True, who=request.who)
    _, found = known_in_part(
        request.who, audit, metrics[0], request.target, counted=counted, attributes=attributes
    )
    assert found is not None
    return found.cells


def _rate_lines(
    request: Request, metric: Metric, found: SortedGroups, groups: Sequence[Group]
) -> dict[Group, Line]:
    """One line per group with its own rate and interval: its gap to a known zero."""
    atoms = found.atoms
    member = members_of(found.cells, groups)
    own = _own_gaps(request, found, Comparison(member, member.nobody(), np.zeros(len(groups))))
    count, total = member @ found.cells.count[metric.name], member @ found.cells.total[metric.name]
    others = opposite(member, found.cells, request.target) @ found.atoms.count
    rate = own.rates[0] if own.rates is not None else total / np.maximum(count, 1)
    people = count if own.people is None else own.people
    untested = {item.group: item.state for item in found.untested}
    ends, depends = _own_ends(request, found, member)
    low, high = (own if ends is None else ends).limits(request.level)
    harmed = harmed_side(request.audit, metric)
    lines = {}
    for i, group in enumerate(groups):
        n, state = int(people[i]), untested.get(group)
        if not n and state is None:
            state = State(NOBODY.code, "nobody is in this group")
        line = Line.of(
            metric, group, harmed, binary=atoms.binary, n=n, target=request.target.label, target_n=int(others[i]),
            untested=state,
        )  # fmt: skip
        if n:
            why = own.reason[i] or f"no limit: {own.why_no_limit(i)}"
            line.row.update({"rate": float(rate[i]), "rate_low": defined_or(low[i], why)})
            line.row.update({"rate_high": defined_or(high[i], why)})
            line.row.update({"events": round(float(total[i])) if atoms.binary else None})
        if n and ends is not None:
            line.row.update({"rate": undefined(depends), "events": None})
            line.row.update(
                {
                    "rate_least": float(ends.least.estimate[i]),
                    "rate_most": float(ends.most.estimate[i]),
                }
            )
        lines[group] = line
    return lines


def _own_ends(request: Request, found: SortedGroups, member: Members) -> tuple[EndGaps | None, str]:
    """Each group's own rate where only its ends are known, and on what it depends."""
    if found.unknown is not None:
        from fairtrial._compare import unknown_outcomes

        assert request.audit.unlabelled is not None
        own = unknown_outcomes.own_rates(found.unknown, request.audit.unlabelled, member)
        return own, unknown_outcomes.DEPENDS
    if found.probable is not None:
        from fairtrial._compare import probable_groups

        return probable_groups.probable_rates(found.probable, member), probable_groups.DEPENDS
    return None, ""


def _own_gaps(request: Request, found: SortedGroups, zero: Comparison) -> Gaps:
    """Each group's gap to a known zero: its own rate with its interval."""
    if found.weighted is not None:
        return found.weighted.gaps(zero)
    return make_gaps(found.atoms, zero, rate_method=request.rate_interval)


def _with_gaps(lines: Mapping[Group, Line], found: Disparities) -> dict[Group, Line]:
    """The lines of the groups compared, with their gaps."""
    request, gaps, p = found.request, found.differences, band_p_values(found.gaps, found.band)
    low, high = gaps.kept_limits(request.level)
    cells = gap_rows(found, request.level, {})
    standardized = _standardized(found)
    other = found.bounds or found.within
    ratios = None if other else ratio_limits(found, low, high)
    paired = _pair_cells(found)
    filled = {}
    for i, group in enumerate(found.groups):
        line = replace(lines[group], found=found, index=i)
        row = line.row
        why = found.gaps.reason[i] or f"no limit: {gaps.why_no_limit(i)}"
        row |= {"scale": request.scale if request.scale == "ratio" else None, "p_value": float(p[i])}
        row |= dict.fromkeys(("ratio", "ratio_low", "ratio_high"))
        row |= {name: value for name, value in cells[i].items() if name in TAKEN}
        row |= {"difference_low": defined_or(low[i], why), "difference_high": defined_or(high[i], why)}
        row |= paired[i] if paired else {}
        if found.bounds is not None:
            row["rate"] = row["difference"]
        if found.within is not None:
            row |= {"target": found.target_label, **adjusted_ratio(found, i)}
        elif found.bounds is None and not paired:
            row |= ratio_cells(row, None if ratios is None else (float(ratios[0][i]), float(ratios[1][i])))
        if (
            other is None and standardized is not None and np.isfinite(standardized[i])
        ):  # without spread there is none
            row["standardized"] = float(standardized[i])
        filled[group] = line
    return filled


def adjusted_ratio(found: Disparities, index: int) -> dict[str, Any]:
    """The ratio among people alike; rates stay everyone's."""
    if found.scale != "ratio":
        return {}
    low, high = found.gaps.kept_limits(found.request.level)
    return _known_ratio(float(found.gaps.estimate[index]), float(low[index]), float(high[index]))


def _pair_cells(found: Disparities) -> list[dict[str, Any]]:
    """The group's own rate among the people who are compared, so that rates and difference are of the same people."""
    if found.people.paired is None:
        return []
    samples = found.people.paired.samples(found.comparison)
    own = found.people.paired.first_answers(samples, found.request.rate_interval)
    low, high = own.limits(found.request.level)
    return [
        {
            "n": sample.first.size, "target_n": sample.first.size, "unpaired": sample.alone,
            "rate": float(own.estimate[i]), "rate_low": float(low[i]), "rate_high": float(high[i]),
            "events": round(float(sample.first.sum())) if found.binary else None,
        }
        for i, sample in enumerate(samples)
    ]  # fmt: skip


def ratio_cells(row: Mapping[str, Any], limits: tuple[float, float] | None) -> dict[str, Any]:
    """The group's rate over the target's; of real values only where both are above zero."""
    rate, target = row["rate"], row["target_rate"]
    if row["value_kind"] != "percent" and min(rate, target) <= 0:
        return {}
    ratio = rate / target if target > 0 else np.inf
    known = limits is not None and np.isfinite(limits[0])
    return _known_ratio(ratio, *(limits if limits is not None and known else (None, None)))


def _known_ratio(ratio: float, low: float | None, high: float | None) -> dict[str, Any]:
    zero = "the target's rate is zero"
    cells = {"ratio": defined_or(ratio, zero)}
    if low is not None:
        cells["ratio_low"] = defined_or(low, zero)
    if high is not None:
        cells["ratio_high"] = defined_or(high, "no upper limit: too few events in the target")
    return cells


def ratio_limits(disparities: Disparities, low: Floats, high: Floats) -> tuple[Floats, Floats] | None:
    """Limits of the ratio: those of the rate over a known number, or of the ratio's own law."""
    known, level = disparities.comparison.known, disparities.request.level
    if disparities.people.paired is not None:
        return None
    if known is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = (known + low) / known, (known + high) / known
        positive = known > 0
        return np.where(positive, ends[0], np.nan), np.where(positive, ends[1], np.nan)
    if not disparities.binary:
        return _mean_ratio_limits(disparities)
    if disparities.people.weighted is not None:
        return disparities.people.weighted.gaps(disparities.comparison, "ratio").limits(level)
    ratios = BinaryGaps(disparities.atoms, disparities.comparison, "ratio")
    limits, partly = ratios.any_limits(level), ratios.parts.shape == "partial"
    return np.where(partly, np.nan, limits[0]), np.where(partly, np.nan, limits[1])


def _mean_ratio_limits(disparities: Disparities) -> tuple[Floats, Floats] | None:
    """Limits of ratios of means; of amounts also where the difference was asked for."""
    gaps, level = disparities.gaps, disparities.request.level
    if disparities.scale == "ratio":
        return gaps.limits(level)
    if disparities.metric.value != role.amount or disparities.people.weighted is not None:
        return None
    from fairtrial._inference.laws.sums_gaps import mean_ratios

    low, high = mean_ratios(disparities.atoms, disparities.comparison, gaps).limits(level)
    return low, high


def _standardized(disparities: Disparities) -> Floats | None:
    """The difference over the root mean of the two variances, of real values with people opposite."""
    comparison, atoms = disparities.comparison, disparities.atoms
    if atoms.binary or comparison.known is not None or disparities.people.weighted is not None:
        return None
    if disparities.people.paired is not None:
        return None
    sides = [atoms.pooled(side) for side in (comparison.member, comparison.reference)]
    variances = [m2 / np.maximum(count - 1.0, 1.0) for count, _, m2 in sides]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(disparities.gaps.estimate / np.sqrt((variances[0] + variances[1]) / 2.0))


# -- The impact ratio: a rate of the favourable decision over the highest one, with limits that know it was
# chosen.
Family = Sequence[tuple[Line, float]]


def add_impact_ratios(lines: Sequence[Line], request: Request, found: Mapping[str, SortedGroups]) -> None:
    """The rate of the favourable decision over the highest one of the same attributes, groups large enough only.

    Where nobody said which decision is favourable it is taken to be 1. Limits know that the highest rate was chosen
    from the data, and a group is marked only where a test over all pairs of groups shows it below four fifths of
    another: the bare quotient is below .8 somewhere in .62 to 1.00 of tables with equal rates.
    """
    for (metric, _), family in _families(lines, request).items():
        if len(family) < 2:
            continue  # a group alone is the highest of nobody else
        highest = max(rate for _, rate in family)
        for line, rate in family:
            line.row["impact_ratio"] = rate / highest if highest > 0 else None
        if highest > 0:
            infer = _infer_from_counts if found[metric].weighted is None else _infer_from_rows
            infer(family, request, found[metric])


def _families(
    lines: Sequence[Line], request: Request
) -> dict[tuple[str, tuple[str, ...]], list[tuple[Line, float]]]:
    """Selection rates of groups of the same attributes, as rates of the favourable decision."""
    families: dict[tuple[str, tuple[str, ...]], list[tuple[Line, float]]] = {}
    for line in lines:
        rate = scalar(line.row["rate"])
        if is_selection(line.metric) and rate is not None and not line.too_few:
            rate = 1.0 - rate if request.audit.favourable == 0 else rate
            families.setdefault((line.metric.name, line.group.attributes), []).append((line, rate))
    return families


def _infer_from_counts(family: Family, request: Request, found: SortedGroups) -> None:
    people = np.array([float(line.row["n"]) for line, _ in family])
    rates = np.array([rate for _, rate in family])
    events = np.rint(people * rates)
    limits = ratio_to_highest(events, people, request.level)
    pairs = pairs_of_groups(events, people, FOUR_FIFTHS, request.level)
    lower = np.where(rates[pairs.first] < rates[pairs.second], pairs.first, pairs.second)
    marked = set(lower[pairs.p_adjusted <= 1.0 - request.level].tolist())
    for place, (line, _) in enumerate(family):
        line.row.update(
            {
                "impact_ratio_low": float(limits.low[place]),
                "impact_ratio_high": float(limits.high[place]),
            }
        )
        line.row["four_fifths"] = place in marked


def _infer_from_rows(family: Family, request: Request, found: SortedGroups) -> None:
    """Of weighted rows and persons with several."""
    from fairtrial._compare.people import linear_to_highest

    assert found.weighted is not None
    sums = found.weighted.sums
    if request.audit.favourable == 0:
        sums = replace(sums, total=sums.weight - sums.total)
    member = np.array([found.cells.mask(line.group) for line, _ in family])
    limits = linear_to_highest(sums, member, FOUR_FIFTHS, request.level)
    for place, (line, _) in enumerate(family):
        line.row.update(
            {
                "impact_ratio_low": float(limits.low[place]),
                "impact_ratio_high": float(limits.high[place]),
            }
        )
        line.row["four_fifths"] = bool(limits.below[place])
