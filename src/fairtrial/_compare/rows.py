"""A group's gap as a row of the tables, for every question that states one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairtrial._compare.columns import DESCRIBED, FAVOURED
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.strata import adjusted_cells
from fairtrial._compare.words import range_sentence, sentence, unit_of
from fairtrial._inference.laws.end_gaps import EndGaps
from fairtrial._inference.laws.gaps import Gaps
from fairtrial._inference.numeric.roots import Floats
from fairtrial._metrics.groups import Group
from fairtrial._metrics.harm import describes_people
from fairtrial._results.column import undefined

Limits = tuple[Floats, Floats]


def gap_rows(found: Disparities, level: float, limits: Mapping[str, Limits]) -> list[dict[str, Any]]:
    """Sizes, rates, gaps, intervals and what stands beside them, of all groups compared.

    `limits` are by the beginning of their columns: the gap's own by "", others by their name.
    """
    count, rate, target_rate = found.count, found.rate, found.target_rate
    beside = found.differences.kept_limits(level) if found.scale == "ratio" else None
    rows = []
    for index, group in enumerate(found.groups):
        gaps, why = found.gaps, found.gaps.reason[index]
        row = {
            **base_cells(found, group, int(count[index])),
            "rate": float(rate[index]),
            "target_rate": float(target_rate[index]),
            "difference": float(found.differences.estimate[index]),
            "rule": str(gaps.rule[index]),
        }
        if beside is None:
            for name, sides in limits.items():
                low, high = (gap_cell(gaps, side[index], index) for side in sides)
                row |= {f"{name or 'difference'}_low": low, f"{name or 'difference'}_high": high}
        else:
            row |= {
                "scale": "ratio",
                "ratio": undefined(why) if why is not None else float(gaps.estimate[index]),
            }
            ends = {"difference": beside}
            ends |= {f"ratio_{name}" if name else "ratio": sides for name, sides in limits.items()}
            for name, sides in ends.items():
                reason = found.differences.reason[index] if name == "difference" else why
                low, high = (_ratio_cell(side[index], reason) for side in sides)
                row |= {f"{name}_low": low, f"{name}_high": high}
        row |= found.unpaired(index)
        if found.within is not None:
            row |= adjusted_cells(found.within, level, index)
        if found.bounds is not None:
            row |= _bound_cells(found, index, level)
        rows.append(row)
    return rows


def base_cells(found: Disparities, group: Group, n: int) -> dict[str, Any]:
    """Which group in what, and how many people."""
    return {"metric": found.metric.name, "value_kind": found.value_kind, "group": group.label, "n": n}


def gap_cell(gaps: Gaps, value: float, index: int) -> Any:
    """A gap or its limit, or why there is none."""
    if (why := gaps.reason[index]) is not None:
        return undefined(why)
    return float(value) if np.isfinite(value) else undefined(f"no limit: {gaps.why_no_limit(index)}")


def _ratio_cell(value: float, why: str | None) -> Any:
    if why is not None:
        return undefined(why)
    return float(value) if np.isfinite(value) else undefined("no limit: too few events in the target")


def _bound_cells(found: Disparities, index: int, level: float) -> dict[str, Any]:
    """Where only the ends are known: no estimate, but what it lies between."""
    gaps, differences, bounds = found.gaps, found.differences, found.bounds
    assert bounds is not None
    assert isinstance(gaps, EndGaps)
    assert isinstance(differences, EndGaps)
    unknown = undefined(gaps.reason[index] or bounds.depends)
    cells: dict[str, Any] = {
        **bounds.more_cells(index, level),
        "rate": unknown,
        "rate_least": float(bounds.least[0][index]),
        "rate_most": float(bounds.most[0][index]),
        "difference": unknown,
        "difference_least": float(differences.least.estimate[index]),
        "difference_most": float(differences.most.estimate[index]),
    }
    if bounds.comparison.known is None:
        cells["target_rate"] = unknown
    if gaps.scale == "ratio":
        ends = (value if np.isfinite(value) else undefined("no limit") for value in found.ends(index))
        cells |= {"ratio": unknown, **dict(zip(("ratio_least", "ratio_most"), ends, strict=True))}
    return cells


def why_no_side(gaps: Gaps, limits: Limits, index: int) -> str | None:
    """Too few values carry the mean: a side of the interval has no limit."""
    return gaps.why_no_limit(index) if any(np.isinf(side[index]) for side in limits) else None


def finding_code(found: Disparities, index: int, word: str) -> str:
    """What a finding is called, unless the group is favoured, or the metric is about people alone."""
    if describes_people(found.metric):
        return DESCRIBED.code
    return FAVOURED.code if found.effect(index) == FAVOURED.code else word


def gap_sentence(found: Disparities, index: int, limits: Limits, level: float) -> str:
    """'false positive rate of A is 21.4 points above B, 95% interval 18.2 to 24.5'."""
    low, high = (float(side[index]) for side in limits)
    label, group, target = found.metric.label, found.groups[index].label, found.target_label
    unit, effect, bounds = unit_of(found.binary, found.scale), found.effect(index), found.bounds
    if bounds is None:
        gap = float(found.gaps.estimate[index])
        return sentence(label, group, target, gap, low, high, level, unit, effect)
    told = range_sentence(
        label, group, target, found.ends(index), (low, high), level, unit, effect, bounds.assumption
    )
    return told + bounds.more_words(index, level)


def row_told(found: Disparities, index: int) -> dict[str, str]:
    """What names a group's row in the table, for a verdict that tells its numbers."""
    return {"metric": found.metric.name, "group": found.groups[index].label}
