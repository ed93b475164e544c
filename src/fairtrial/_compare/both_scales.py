"""The ratio beside a certified difference of rates: a small difference of low rates can be a large ratio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairtrial._compare.comparing import compare_sorted
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.rates import adjusted_ratio, ratio_cells, ratio_limits
from fairtrial._compare.tolerance import FOUR_FIFTHS
from fairtrial._compare.words import number_words
from fairtrial._metrics.groups import Target
from fairtrial._results.column import scalar

RatioCells = Sequence[
    Mapping[str, Any]
]  # of each group: ratio, ratio_low and ratio_high where they are known


def find_ratios(part: Disparities) -> RatioCells:
    """Each group's ratio with its limits; of means, ratios and gaps without a law of their ratio nothing."""
    groups = range(len(part.groups))
    without_law = part.bounds is not None or part.people.paired is not None or part.request.by_model
    if not part.binary or part.scale == "ratio" or without_law or not isinstance(part.target, Target):
        return [{} for _ in groups]
    if part.within is not None:
        scaled = compare_sorted(replace(part.request, scale="ratio"), part.metric, part.people, part.target)
        return [adjusted_ratio(scaled, index) for index in groups]
    limits = ratio_limits(part, *part.gaps.kept_limits(part.request.level))
    rates = [
        {
            "rate": float(part.rate[index]),
            "target_rate": float(part.target_rate[index]),
            "value_kind": "percent",
        }
        for index in groups
    ]
    ends = [
        None if limits is None else (float(limits[0][index]), float(limits[1][index])) for index in groups
    ]
    return [ratio_cells(row, end) for row, end in zip(rates, ends, strict=True)]


def both_scales_words(part: Disparities, ratios: RatioCells) -> str:
    """What a certificate of differences says of the ratios; empty of means and of certified ratios."""
    if not part.binary or part.scale == "ratio":
        return ""
    known = sorted(value for row in ratios if (value := scalar(row.get("ratio"))) is not None)
    if len(known) < len(ratios):
        return "; not every ratio is known"
    ends = list(dict.fromkeys(number_words(value, "ratio") for value in (known[0], known[-1])))
    told = f"{'ratio' if len(ends) == 1 else 'ratios of'} {' to '.join(ends)}"
    shown = "" if all(map(within_four_fifths, ratios)) else "not "
    return f"; {told}, {shown}shown to be within 0.8 to 1.25"


def within_four_fifths(row: Mapping[str, Any]) -> bool:
    """Whether the interval of a ratio lies between four fifths and its inverse."""
    low, high = scalar(row.get("ratio_low")), scalar(row.get("ratio_high"))
    return low is not None and high is not None and bool(low >= FOUR_FIFTHS[0] and high <= FOUR_FIFTHS[1])
