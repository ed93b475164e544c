"""One line of `measure`: a group, a metric, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.inference.rates.highest import pairs_of_groups, ratio_to_highest
from fairtrial.inference.rates.two_rates import Scale
from fairtrial.methods.gaps.between_ends import range_sentence
from fairtrial.methods.gaps.scales import FOUR_FIFTHS
from fairtrial.methods.gaps.states import DESCRIBED, TOO_FEW
from fairtrial.methods.gaps.words import sentence, unit_of
from fairtrial.methods.measure.result import NOT_TESTED, UNDETERMINED
from fairtrial.metrics.groups import Group, Target
from fairtrial.metrics.harm import Effect, describes_people, effect_of, is_selection
from fairtrial.metrics.metric import Direction, Metric
from fairtrial.results.column import State

WHOLE = 1e-6  # rates of counts are this near to whole events


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
    scale: Scale = "difference"
    bands: Mapping[str, tuple[float, float] | None] = field(default_factory=dict)

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

    def sentence(self, level: float) -> str:
        """'false positive rate of A is 21.4 points above B, 95% interval 18.2 to 24.5'."""
        if self.gap_ends is not None:
            limits = self.difference_low or 0.0, self.difference_high or 0.0
            told = range_sentence(
                self.metric.label, self.group.label, self.target, self.gap_ends, limits, level, unit_of(self.binary),
                "", self.assumption,
            )  # fmt: skip
            return told + self.more_words
        shown = (self.difference, self.difference_low, self.difference_high)
        if self.scale == "ratio":
            shown = (self.ratio, self.ratio_low, self.ratio_high)
        gap, low, high = (0.0 if value is None else value for value in shown)
        unit = unit_of(self.binary, self.scale)
        return sentence(self.metric.label, self.group.label, self.target, gap, low, high, level, unit)


def add_impact_ratios(lines: list[Line], favourable: int | None, level: float) -> None:
    """The rate of the favourable decision over the highest one of the same attributes, groups large enough only.

    Where nobody said which decision is favourable it is taken to be 1. Limits know that the highest rate was chosen
    from the data, and a group is marked only where a test over all pairs of groups shows it below four fifths of
    another: the bare quotient is below .8 somewhere in .62 to 1.00 of tables with equal rates.
    """
    families: dict[tuple[str, tuple[str, ...]], list[tuple[Line, float]]] = {}
    for line in lines:
        if is_selection(line.metric) and line.level is not None and not line.too_few:
            rate = 1.0 - line.level if favourable == 0 else line.level
            families.setdefault((line.metric.name, line.group.attributes), []).append((line, rate))
    for family in families.values():
        highest = max(rate for _, rate in family)
        for line, rate in family:
            line.impact_ratio = rate / highest if highest > 0 else None
        if highest > 0 and len(family) > 1:
            _test_four_fifths(family, level)


def _test_four_fifths(family: list[tuple[Line, float]], level: float) -> None:
    """Limits and marks from counts; weighted rates have neither."""
    people = np.array([float(line.n) for line, _ in family])
    rates = np.array([rate for _, rate in family])
    events = np.rint(people * rates)
    if np.abs(events - people * rates).max() > WHOLE:
        return
    limits = ratio_to_highest(events, people, level)
    pairs = pairs_of_groups(events, people, FOUR_FIFTHS, level)
    lower = np.where(rates[pairs.first] < rates[pairs.second], pairs.first, pairs.second)
    marked = set(lower[pairs.p_adjusted <= 1.0 - level].tolist())
    for place, (line, _) in enumerate(family):
        line.impact_ratio_low, line.impact_ratio_high = float(limits.low[place]), float(limits.high[place])
        line.four_fifths = place in marked
