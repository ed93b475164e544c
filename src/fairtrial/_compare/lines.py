"""A line of `measure`: a group's row in one metric, and what is found of it once all p-values are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf, nan
from typing import Any

from fairtrial._compare.columns import DESCRIBED, FAVOURED, NOT_TESTED, REFERENCE, TOO_FEW, UNDETERMINED
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.words import range_sentence, sentence, unit_of
from fairtrial._inference.laws.gaps import SMALLEST_P
from fairtrial._inference.multiplicity import holm
from fairtrial._metrics.groups import Group
from fairtrial._metrics.harm import Effect, describes_people, effect_of
from fairtrial._metrics.metric import Direction, Metric
from fairtrial._results.column import State, scalar, undefined

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
