"""The area under the curve as an accuracy: two scores of the same people, by placement values.

DeLong, DeLong and Clarke-Pearson (1988): V10 is each positive person's share of negatives below them, V01 each negative
person's share of positives above. The difference of two areas has variance var(V10¹ − V10⁰)/n₊ + var(V01¹ − V01⁰)/n₋,
and is compared with Student's t with min(n₊, n₋) − 1 degrees of freedom: the normal law rejected a true null in 6.7% of
samples with 20 positives, this one in 4.0 to 5.7%.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit
from scipy.stats import rankdata

from fairtrial._improve.solver.improvement import TIE, Part

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class AreaComponent:
    """AUC1 − AUC0 > Δ, the margin being −Δ."""

    name: str
    old: float
    new: float
    error: float
    freedom: int
    part: Part = "accuracy"

    @property
    def tie(self) -> float:
        """What rounding alone can make of a difference of the two areas."""
        return 2 * TIE

    def statistic(self, delta: float) -> float:
        """By how much the inequality holds."""
        return self.new - self.old - delta

    def standard_error(self, delta: float) -> float:
        """Of the difference of the areas."""
        return self.error

    def p_value(self, delta: float) -> float:
        """One-sided, Student's t."""
        if not math.isfinite(self.statistic(delta)) or self.error <= self.tie or self.freedom < 1:
            return 1.0
        return float(stdtr(self.freedom, -self.statistic(delta) / self.error))

    def delta_method(self, delta: float) -> float | None:
        """The same p-value: it is one of normal theory."""
        return self.p_value(delta) if self.error > self.tie else None

    def largest_delta(self, level: float) -> float:
        """The Δ below which the p-value is below the level."""
        if self.error <= self.tie or self.freedom < 1:
            return -math.inf
        return self.new - self.old + float(stdtrit(self.freedom, level)) * self.error


def placement_values(outcome: Floats, score: Floats) -> tuple[Floats, Floats]:
    """(V10 of the positives, V01 of the negatives), ties counted half."""
    positive = outcome == 1
    everyone = rankdata(score)
    above, below = int(positive.sum()), int((~positive).sum())
    within_positive, within_negative = rankdata(score[positive]), rankdata(score[~positive])
    v10 = (everyone[positive] - within_positive) / below
    v01 = 1.0 - (everyone[~positive] - within_negative) / above
    return v10, v01


def area_component(name: str, outcome: Floats, old: Floats, new: Floats) -> AreaComponent:
    """The difference of two scores' areas on the same people."""
    positive = int((outcome == 1).sum())
    negative = outcome.size - positive
    if min(positive, negative) < 2:
        return AreaComponent(name, math.nan, math.nan, 0.0, 0)
    (old10, old01), (new10, new01) = (placement_values(outcome, score) for score in (old, new))
    variance = np.var(new10 - old10, ddof=1) / positive + np.var(new01 - old01, ddof=1) / negative
    freedom = min(positive, negative) - 1
    return AreaComponent(name, float(old10.mean()), float(new10.mean()), math.sqrt(float(variance)), freedom)
