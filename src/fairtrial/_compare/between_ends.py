"""Gaps of which only the two ends are known: what is behind them, what stands in the tables, and what is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial._audit.cells import Cells, Rows
from fairtrial._compare.words import Unit, number_words
from fairtrial._inference.compare.end_gaps import EndGaps
from fairtrial._inference.evidence.atoms import Comparison
from fairtrial._inference.numeric.roots import Floats
from fairtrial._results.column import undefined


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bounds:
    """Whose gaps they are, the rates of group and target at both ends, and the words for what is not known."""

    comparison: Comparison
    least: tuple[Floats, Floats]
    most: tuple[Floats, Floats]
    source: Cells | Rows  # what the numbers were made from, for the fingerprint
    depends: str  # "depends on …"
    assumption: str  # "whatever …", or what is assumed

    def more_cells(self, index: int, level: float) -> dict[str, Any]:
        """What else stands in a row."""
        return {}

    def more_words(self, index: int, level: float) -> str:
        """What else is said of a group."""
        return ""


def range_cells(
    bounds: Bounds, gaps: EndGaps, differences: EndGaps, index: int, level: float
) -> dict[str, Any]:
    """A row's cells where only the ends are known: no estimate, but what it lies between."""
    why = gaps.reason[index]
    unknown = undefined(why or bounds.depends)
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
        cells["target_rate"] = undefined(why or bounds.depends)
    if gaps.scale == "ratio":
        cells["ratio"] = unknown
        cells["ratio_least"] = finite(gaps.least.estimate[index])
        cells["ratio_most"] = finite(gaps.most.estimate[index])
    return cells


def finite(value: float) -> Any:
    return float(value) if np.isfinite(value) else undefined("no limit")


def range_words(least: float, most: float, target: str, unit: Unit) -> str:
    """Where a rate lies at both ends: '3.1 to 12.0 points below B', '2.0 points below to 1.0 points above B'."""
    if unit == "ratio":
        return f"{number_words(least, unit)} to {number_words(most, unit)} times that of {target}"
    if least >= 0 or most <= 0:
        near, far = sorted((abs(least), abs(most)))
        side = "above" if least >= 0 else "below"
        return f"{number_words(near, unit)} to {number_words(far, unit)} points {side} {target}"
    return f"{number_words(-least, unit)} points below to {number_words(most, unit)} points above {target}"


def range_sentence(
    label: str, group: str, target: str, ends: tuple[float, float], limits: tuple[float, float], level: float,
    unit: Unit, effect: str, assumption: str,
) -> str:  # fmt: skip
    """'true positive rate of F is 3.1 to 12.0 points below M, whatever the unknown outcomes are; 95% limits …'."""
    told = f" ({effect})" if effect else ""
    place = range_words(*ends, target, unit)
    outer = range_words(*limits, target, unit) if np.isfinite(limits).all() else "none"
    return f"{label} of {group} is {place}{told}, {assumption}; {100 * level:g}% limits of that: {outer}"


def is_open(least: float, most: float, band: tuple[float, float]) -> bool:
    """Whether what is not known decides on which side of the tolerance a gap lies; else the sample is too small."""
    inside = band[0] <= least and most <= band[1]
    outside = least > band[1] or most < band[0]
    return not (inside or outside)
