"""One line of `measure`: a group, a metric, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairtrial.data.audit import Audit
from fairtrial.methods.gaps.judgement import sentence
from fairtrial.methods.gaps.states import NOBODY, TOO_FEW
from fairtrial.methods.measure.result import NOT_TESTED, UNDETERMINED
from fairtrial.metrics.groups import Group, Target
from fairtrial.metrics.metric import Metric
from fairtrial.metrics.values import role
from fairtrial.results.column import State


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What was asked, checked."""

    audit: Audit
    metrics: list[Metric]
    attributes: tuple[str, ...]
    by: Any
    depth: int
    target: Target
    interval: str | None
    minimum: int
    level: float


@dataclass(slots=True, kw_only=True, eq=False)
class Line:
    """A group's numbers for one metric; None where a number does not exist, with the reason."""

    metric: Metric
    group: Group
    binary: bool
    n: int
    target: str
    events: int | None = None
    level: float | None = None
    low: float | None = None
    high: float | None = None
    unlimited: str | None = None  # why the rate has no interval
    target_level: float | None = None
    target_n: int = 0  # none where the target is a known number
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    impact_ratio: float | None = None
    standardized: float | None = None  # difference over the root mean of the two variances (real values)
    p_value: float | None = None
    p_adjusted: float | None = None
    undetermined: str | None = None  # why the gap has no inference; it stays in the family with p = 1
    untested: State | None = None
    is_reference: bool = False

    @property
    def too_few(self) -> bool:
        return self.untested is not None and self.untested.code == TOO_FEW.code

    def state(self, alpha: float) -> State:
        """What was found, or why nothing was tested."""
        if self.is_reference:
            return State("reference")
        if self.untested is not None:
            return self.untested
        if self.undetermined is not None:
            return State(UNDETERMINED.code, self.undetermined)
        if self.p_adjusted is None:
            return State(NOT_TESTED.code)
        return State("violated" if self.p_adjusted <= alpha else "no violation shown")

    def sentence(self, level: float) -> str:
        """'false positive rate of A is 21.4 points above B, 95% interval 18.2 to 24.5'."""
        gap, low, high = self.difference or 0.0, self.difference_low or 0.0, self.difference_high or 0.0
        return sentence(self.metric.label, self.group.label, self.target, gap, low, high, level, self.binary)


def too_small(n: int, minimum: int) -> State | None:
    """Why a group of this size is not tested."""
    if n == 0:
        return State(NOBODY.code, "nobody meets the metric's condition")
    return State(TOO_FEW.code, f"fewer than {minimum}") if n < minimum else None


def add_impact_ratios(lines: list[Line]) -> None:
    """Selection rate over the highest selection rate of the same attributes, groups large enough only."""
    families: dict[tuple[str, tuple[str, ...]], list[tuple[Line, float]]] = {}
    for line in lines:
        if _selects(line.metric) and line.level is not None and not line.too_few:
            families.setdefault((line.metric.name, line.group.attributes), []).append((line, line.level))
    for family in families.values():
        highest = max(level for _, level in family)
        for line, level in family:
            line.impact_ratio = level / highest if highest > 0 else None


def _selects(metric: Metric) -> bool:
    """Whether it is the rate of the decision among everybody."""
    return metric.value is role.decision and not metric.conditions and metric.expression is None
