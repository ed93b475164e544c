"""One line of `measure`: a group, a metric, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._compare.between_ends import range_sentence
from fairtrial._compare.columns import DESCRIBED, TOO_FEW, UNDETERMINED
from fairtrial._compare.request import Inference
from fairtrial._compare.results import NOT_TESTED
from fairtrial._compare.words import sentence, unit_of
from fairtrial._inference.ways import RateMethod, Scale
from fairtrial._metrics.groups import Group, Target
from fairtrial._metrics.harm import Effect, describes_people, effect_of
from fairtrial._metrics.metric import Direction, Metric
from fairtrial._results.column import State


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What was asked, checked."""

    audit: Audit
    metrics: list[Metric]
    attributes: tuple[str, ...]
    by: Any
    depth: int
    target: Target
    interval: RateMethod | None
    minimum: int
    level: float
    inference: Inference = field(default_factory=Inference)
    bands: Mapping[str, tuple[float, float] | None] = field(default_factory=dict)

    @property
    def scale(self) -> Scale:
        return self.inference.scale

    @property
    def counted(self) -> tuple[str, ...]:
        """The attributes whose combinations are counted: those compared, and those people must be alike in."""
        return (*self.attributes, *(name for name in self.inference.strata if name not in self.attributes))

    @property
    def band(self) -> tuple[float, float] | None:
        """The tolerance, the same for all metrics."""
        return next(iter(self.bands.values()), None)


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
    impact_ratio_low: float | None = None
    impact_ratio_high: float | None = None
    four_fifths: bool | None = None  # whether it is shown to be below four fifths of another group
    standardized: float | None = None  # difference over the root mean of the two variances (real values)
    p_value: float | None = None
    p_adjusted: float | None = None
    undetermined: str | None = None  # why the gap has no inference; it stays in the family with p = 1
    harmed: Direction | None = None  # the side on which a group is harmed, where it is known
    open_because: str | None = None  # why a side of the gap's interval has no limit
    rate_ends: tuple[float, float] | None = None  # where only the ends of rates and gaps are known
    gap_ends: tuple[float, float] | None = None
    depends: str = ""  # on what they depend
    waits: bool = False  # whether that decides on which side of the tolerance the gap lies
    assumption: str = ""  # what they assume
    more_words: str = ""
    more_cells: dict[str, Any] = field(default_factory=dict)
    unpaired: int | None = None  # people with one of two answers only
    untested: State | None = None
    is_reference: bool = False
    threshold: float | None = None  # where the gap is largest, over all thresholds of a score
    scale: Scale = "difference"  # on which the gap is tested and told

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
        if self.p_adjusted > alpha and self.open_because is not None:
            return State(UNDETERMINED.code, self.open_because)
        if self.p_adjusted > alpha and self.waits:
            return State(UNDETERMINED.code, self.depends)
        if self.p_adjusted > alpha:
            return State("no violation shown")
        return State(DESCRIBED.code if describes_people(self.metric) else self.effect or "violated")

    @property
    def effect(self) -> Effect:
        """Whether the gap harms or favours the group."""
        return effect_of(self.difference or 0.0, self.harmed)

    def sentence(self, level: float, label: str = "") -> str:
        """'false positive rate of A is 21.4 points above B, 95% interval 18.2 to 24.5'."""
        label = label or self.metric.label
        if self.gap_ends is not None:
            limits = self.difference_low or 0.0, self.difference_high or 0.0
            told = range_sentence(
                label, self.group.label, self.target, self.gap_ends, limits, level, unit_of(self.binary),
                "", self.assumption,
            )  # fmt: skip
            return told + self.more_words
        shown = (self.difference, self.difference_low, self.difference_high)
        if self.scale == "ratio":
            shown = (self.ratio, self.ratio_low, self.ratio_high)
        gap, low, high = (0.0 if value is None else value for value in shown)
        unit = unit_of(self.binary, self.scale)
        return sentence(label, self.group.label, self.target, gap, low, high, level, unit)
