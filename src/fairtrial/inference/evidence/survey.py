"""Rates under survey weights and repeated rows of one person, by linearisation over persons.

A weighted rate is treated as a plain one of an effective number of people: the number that would give its
linearised variance. Score intervals at effective counts hold where linearised intervals do not: linearisation
sees no uncertainty in a group without events.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial.inference.rates.binary_gaps import PartCounts, gap_limits, gap_root
from fairtrial.inference.rates.partly import IN_GROUP, IN_REFERENCE, VALUE
from fairtrial.inference.rates.proportions import normal_quantile, rate_interval
from fairtrial.inference.rates.two_rates import ratio_interval

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Persons = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class WeightedMean:
    """A weighted mean with its influence summed per person."""

    mean: float
    influence: Floats
    persons: float  # Kish's effective number of persons, (Σw)²/Σw² with w summed per person
    rows: float  # the same over rows: what it would be if a person's rows were independent

    @property
    def variance(self) -> float:
        return person_variance(self.influence)

    @property
    def design_effect(self) -> float:
        """How much a person's rows resemble each other: the variance over that of independent rows, at least 1."""
        spread = self.mean * (1 - self.mean)
        return max(1.0, self.variance * self.rows / spread) if spread > 0 else self.rows / self.persons


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A gap with its limits and the two-sided p-value of no gap."""

    difference: float
    low: float
    high: float
    p_value: float


def weighted_mean(values: Floats, inside: Bools, weight: Floats, person: Persons) -> WeightedMean:
    """Ratio estimator Σwv/Σw over the rows inside; influence w(v − mean)/Σw per row, summed per person."""
    w = np.where(inside, weight, 0.0)
    total = w.sum()
    mean = float((w * values).sum() / total)
    count = int(person.max()) + 1
    influence = np.bincount(person, w * (values - mean) / total, count).astype(np.float64)
    per_person = np.bincount(person, w, count)
    persons, rows = (float(total**2 / (part**2).sum()) for part in (per_person, w))
    return WeightedMean(mean, influence, persons, rows)


def person_variance(influence: Floats) -> float:
    """Variance of a sum of independent persons' influences, with the m/(m−1) factor."""
    m = len(influence)
    return float(m / max(m - 1, 1) * ((influence - influence.mean()) ** 2).sum())


def effective_size(rate: WeightedMean, level: float, design: float = 1.0) -> float:
    """People in a plain sample that would know the rate as well, less those the t quantile costs.

    With few events the linearised variance is itself uncertain: it counts for no less than the variance of
    independent rows times `design`, the design effect among everyone.
    """
    spread = rate.mean * (1 - rate.mean)
    size = spread / max(rate.variance, design * spread / rate.rows) if spread > 0 else rate.persons
    return size * _t_cost(rate.persons, level)


def _t_cost(persons: float, level: float) -> float:
    """(z/t)²: with few effective persons their variance is uncertain too."""
    t = special.stdtrit(max(persons - 1.0, 1.0), (1 + level) / 2)
    return float((normal_quantile(level) / t) ** 2)


def weighted_rate_interval(rate: WeightedMean, level: float, design: float = 1.0) -> tuple[float, float]:
    """Wilson's interval at the effective size."""
    size = effective_size(rate, level, design)
    low, high = rate_interval(rate.mean * size, size, level)
    return float(low), float(high)


def against_number(rate: WeightedMean, target: float, level: float, design: float = 1.0) -> float:
    """Two-sided p-value of 'the rate is `target`', by the score that Wilson's interval inverts."""
    error = np.sqrt(target * (1 - target) / effective_size(rate, level, design))
    return float(2 * special.ndtr(-abs(rate.mean - target) / error))


def counts_apart(
    first: WeightedMean, second: WeightedMean, level: float, design: float = 1.0
) -> tuple[float, float, float, float]:
    """Effective events and sizes of two groups without common rows.

    Persons with rows in both make the gap more certain (or less): the sizes take the covariance in.
    """
    apart, together = first.variance + second.variance, person_variance(first.influence - second.influence)
    gain = apart / together if apart > 0 and together > 0 else 1.0
    n1, n2 = (gain * effective_size(rate, level, design) for rate in (first, second))
    return first.mean * n1, n1, second.mean * n2, n2


def compare_apart(counts: tuple[float, float, float, float], level: float) -> tuple[Comparison, float, float]:
    """The gap of two rates at effective counts, and the limits of their ratio."""
    k1, n1, k2, n2 = counts
    low, high = ratio_interval(k1, n1, k2, n2, level)
    gap = _compare(_parts((0.0, 0.0), (k1, n1), (k2, n2)), k1 / n1 - k2 / n2, level)
    return gap, float(low), float(high)


def compare_overlapping(
    values: Floats, group: Bools, reference: Bools, weight: Floats, person: Persons, level: float
) -> Comparison:
    """A group's rate against that of a reference with common rows, e.g. overall.

    The three parts keep their weighted shares and rates; their common size is the one at which a plain sample
    has the linearised variance of the gap.
    """
    first, second = (weighted_mean(values, inside, weight, person) for inside in (group, reference))
    union = weighted_mean(values, group | reference, weight, person)
    masks = (group & reference, group & ~reference, reference & ~group)
    weights = np.array([weight[inside].sum() for inside in masks])
    events = np.array([(weight * values)[inside].sum() for inside in masks])
    share, successes = weights / weights.sum(), events / weights.sum()
    cells = np.column_stack([successes, share - successes]).ravel()
    unit = IN_GROUP * (VALUE - first.mean) / (cells @ IN_GROUP) - IN_REFERENCE * (VALUE - second.mean) / (
        cells @ IN_REFERENCE
    )
    model = float(cells @ unit**2)
    linear = person_variance(first.influence - second.influence)
    size = model / max(linear, union.design_effect * model / union.rows) if model > 0 else union.persons
    size *= _t_cost(min(first.persons, second.persons), level)
    parts = _parts(*((size * k, size * n) for k, n in zip(successes, share, strict=True)))
    return _compare(parts, first.mean - second.mean, level)


def _parts(*counts: tuple[float, float]) -> PartCounts:
    return PartCounts(*(np.array([value]) for pair in counts for value in pair))


def _compare(parts: PartCounts, difference: float, level: float) -> Comparison:
    low, high = gap_limits(parts, level, "score")
    root = gap_root(parts, np.zeros(1), "score")
    return Comparison(difference, float(low[0]), float(high[0]), float(2 * special.ndtr(-abs(root[0]))))


def linear_interval(estimate: float, influence: Floats, persons: float, level: float) -> Comparison:
    """t interval over persons for a linearised estimate; `persons` is their effective number."""
    error = np.sqrt(person_variance(influence))
    df = max(persons - 1.0, 1.0)
    half = float(special.stdtrit(df, (1 + level) / 2)) * error
    p = 2 * float(special.stdtr(df, -abs(estimate) / error)) if error > 0 else np.nan
    return Comparison(estimate, estimate - half, estimate + half, p)
