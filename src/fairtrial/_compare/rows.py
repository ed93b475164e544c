"""A group's gap as a row of the tables, for every question that states one; and a line of `measure`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isinf, nan
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fairtrial._compare.disparities import Disparities
from fairtrial._compare.words import (
    DESCRIBED,
    FAVOURED,
    NOT_TESTED,
    REFERENCE,
    TOO_FEW,
    UNDETERMINED,
    range_sentence,
    sentence,
    unit_of,
)
from fairtrial._inference.laws.gaps import SMALLEST_P, Gaps
from fairtrial._inference.multiplicity import holm
from fairtrial._inference.numeric.roots import Floats
from fairtrial._metrics.groups import Effect, Group, describes_people, effect_of
from fairtrial._metrics.values import Direction, Metric
from fairtrial._results.column import State, scalar, undefined

if TYPE_CHECKING:
    from fairtrial._inference.laws.end_gaps import EndGaps

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
            from fairtrial._compare.strata import adjusted_cells
            from fairtrial._compare.unmeasured import unmeasured_cells

            row |= adjusted_cells(found.within, level, index) | unmeasured_cells(found, level, index)
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
    gaps, differences = cast("EndGaps", found.gaps), cast("EndGaps", found.differences)
    bounds = found.bounds
    assert bounds is not None
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


# -- A line of `measure`: a group's row in one metric, and what is found of it once all p-values are
# known.

# what is known of a group that is compared, and what a reference has none of
GAP = (
    "difference",
    "difference_low",
    "difference_high",
    "ratio",
    "ratio_low",
    "ratio_high",
    "p_value",
    "p_adjusted",
)
OTHERS = (
    "events", "rate_low", "rate_high", "target_rate", "scale", "impact_ratio", "impact_ratio_low", "impact_ratio_high",
    "four_fifths", "standardized", "unpaired",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """A row, and whose it is; its cells are filled in step by step."""

    row: dict[str, Any]
    metric: Metric
    group: Group
    harmed: Direction | None  # the side on which a group is harmed, where it is known
    untested: State | None
    found: Disparities | None = None  # what the gap was taken from
    index: int = 0

    @classmethod
    def of(
        cls, metric: Metric, group: Group, harmed: Direction | None, *, binary: bool, n: int, target: str,
        target_n: int, untested: State | None = None,
    ) -> Line:  # fmt: skip
        """A line without a rate and without a gap; one that is not compared says why."""
        nothing = None if untested is None else undefined(untested.reason)
        row = {
            **dict.fromkeys(OTHERS), **dict.fromkeys(GAP, nothing),
            "metric": metric.name, "value_kind": "percent" if binary else "number", "group": group.label, "n": n,
            "rate": undefined((untested and untested.reason) or "nobody"), "target": target, "target_n": target_n,
        }  # fmt: skip
        if untested is not None and untested.code == REFERENCE.code:
            row |= {**dict.fromkeys(GAP), "target": None, "target_n": 0}
        return cls(row=row, metric=metric, group=group, harmed=harmed, untested=untested)

    @property
    def too_few(self) -> bool:
        return self.untested is not None and self.untested.code == TOO_FEW.code

    @property
    def tested(self) -> bool:
        """Whether a gap was inferred."""
        return self.row["p_value"] is not None and self.untested is None

    @property
    def unknown(self) -> str | None:
        """Why the gap has no inference; it stays in the family with p = 1."""
        return None if self.found is None else self.found.gaps.reason[self.index]

    @property
    def gap(self) -> float:
        """The difference to the target; where only its ends are known, the one nearest to none."""
        if self.found is not None:
            return float(self.found.differences.estimate[self.index])
        return float(scalar(self.row["difference"]) or 0.0)

    @property
    def effect(self) -> Effect:
        """Whether the gap harms or favours the group."""
        return effect_of(self.gap, self.harmed)

    @property
    def waits(self) -> bool:
        """Whether unknown outcomes or groups decide."""
        return self.found is not None and self.found.is_open(self.index)

    def state(self, alpha: float) -> State:
        """What was found, or why nothing was tested."""
        if self.untested is not None:
            return State("reference") if self.untested.code == REFERENCE.code else self.untested
        if self.unknown is not None:
            return State(UNDETERMINED.code, self.unknown)
        if not self.tested:
            return State(NOT_TESTED.code)
        if self.row["p_adjusted"] > alpha:
            why = self._why_open()
            return State("no violation shown") if why is None else State(UNDETERMINED.code, why)
        return State(DESCRIBED.code if describes_people(self.metric) else self.effect or "violated")

    def _why_open(self) -> str | None:
        """Why a gap that was not shown cannot be said to be none."""
        if self.found is None:
            return None
        gaps, level = self.found.differences, self.found.request.level
        if any(isinf(side[self.index]) for side in gaps.kept_limits(level)):
            return gaps.why_no_limit(self.index)
        return self.found.bounds.depends if self.found.bounds is not None and self.waits else None

    def cells(self, alpha: float) -> dict[str, Any]:
        """The row with what was found."""
        state = self.state(alpha)
        effect = self.effect if state.code in ("harmed", FAVOURED.code) else None
        return {**self.row, "effect": effect, **state.cells()}

    def sentence(self, level: float, label: str) -> str:
        """'false positive rate of A is 21.4 points above B, 95% interval 18.2 to 24.5'."""
        row, binary = self.row, self.row["value_kind"] == "percent"
        bounds = None if self.found is None else self.found.bounds
        stem = "ratio" if row["scale"] == "ratio" and bounds is None else "difference"
        gap, low, high = (
            nan if (value := scalar(row[name])) is None else float(value)
            for name in (stem, f"{stem}_low", f"{stem}_high")
        )
        group, target = self.group.label, str(row["target"])
        if bounds is None:
            return sentence(label, group, target, gap, low, high, level, unit_of(binary, stem))
        ends = float(row["difference_least"]), float(row["difference_most"])
        told = range_sentence(
            label, group, target, ends, (low, high), level, unit_of(binary), "", bounds.assumption
        )
        return told + bounds.more_words(self.index, level)


def adjust(lines: Sequence[Line]) -> None:
    """p-values corrected over all lines."""
    tested = [line for line in lines if line.tested]
    for line in tested:  # beyond the smallest float it would be zero, which no p-value is
        line.row["p_value"] = max(line.row["p_value"], SMALLEST_P)
    for line, adjusted in zip(tested, holm([line.row["p_value"] for line in tested]), strict=True):
        line.row["p_adjusted"] = float(adjusted)
