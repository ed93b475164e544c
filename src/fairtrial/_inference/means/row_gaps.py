"""Gaps of real-valued metrics by empirical likelihood of the rows, kept in a bounded cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from fairtrial._inference.evidence.atoms import Atoms, Comparison, find_reasons, gap_errors
from fairtrial._inference.laws.gaps import Gaps
from fairtrial._inference.means.empirical_likelihood import (
    CountedValues,
    PathPoint,
    critical_value,
    nested_point,
    path_limits,
    path_log_ratio,
    two_sample_point,
)
from fairtrial._inference.means.known_targets import known_limits, known_log_ratio
from fairtrial._inference.numeric.roots import Floats, Integers, secant_limits
from fairtrial._inference.rates.part_of_whole import overlap_root
from fairtrial._inference.ways import Refinement

Kind = TypeVar("Kind")
MOST_KEPT = 40_000_000  # numbers, of all gaps together


class LazyCache(Generic[Kind]):
    """One thing per gap, made when first asked for and kept while there is room for its `numbers`; else made anew.

    Whatever is drawn in making it is drawn from a seed of its own, so that it is the same one every time.
    """

    def __init__(self, make: Callable[[int], Kind], count: int, numbers: int) -> None:
        self.make, self.count = make, count
        self.room = MOST_KEPT // max(numbers, 1)
        self.kept: dict[int, Kind] = {}

    def __iter__(self) -> Iterator[Kind]:
        for index in range(self.count):
            one = self.kept[index] if index in self.kept else self.make(index)
            if len(self.kept) < self.room:
                self.kept[index] = one
            yield one


# -- Gaps of real-valued metrics by empirical likelihood of the rows.


# -- Empirical likelihood limits of many groups' means at once: compiled passes over rows, no solve inside a
# solve.
class EndToEnd(NamedTuple):
    """The values of all groups one after another, group g from starts[g] to starts[g + 1]."""

    values: Floats
    counts: Floats  # empty where every value counts once
    starts: Integers
    offset: Floats | float = 0.0  # what was taken off each group's values beforehand

    @staticmethod
    def of_rows(groups: Sequence[Floats]) -> EndToEnd:
        """One value per row."""
        return EndToEnd(_joined(groups), np.empty(0), _starts(groups))

    @staticmethod
    def of_samples(samples: Sequence[CountedValues]) -> EndToEnd:
        """Distinct values with their counts, each group centred at its own mean."""
        centred = [sample.centred for sample in samples]
        repeated = any(sample.size > sample.centred.size for sample in samples)
        counts = _joined([sample.counts for sample in samples]) if repeated else np.empty(0)
        means = np.array([sample.mean for sample in samples])
        return EndToEnd(_joined(centred), counts, _starts(centred), means)


def _joined(groups: Sequence[Floats]) -> Floats:
    return np.concatenate(groups).astype(np.float64, copy=False) if groups else np.empty(0)


def _starts(groups: Sequence[Floats]) -> Integers:
    return np.array([0, *accumulate(group.size for group in groups)], dtype=np.int64)


def mean_limits_of_many(groups: EndToEnd, critical: Floats) -> tuple[Floats, Floats]:
    """Limits of every group's mean at its own critical value (see `el_mean_limits`); NaN without variation.

    The root of the log ratio is nearly linear in the tilt of the weights: its expansion to third order starts the
    search, and the expansion around that tilt mostly ends it, after a single pass with a division per row.
    """
    # Compiled code loads only when it is asked for.
    from fairtrial._inference.means.likelihood_loops import limits_of_groups

    low, high = limits_of_groups(groups.values, groups.counts, groups.starts, critical)
    return groups.offset + low, groups.offset + high


# Near the edge of the convex hull the want of values beyond it, not the data, drives the likelihood's root up: it may
# exceed Student's by this factor, no more.
HULL_EXCESS = 1.5


class OneGap(Protocol):
    """Log ratio and limits of one group's gap."""

    def log_ratio(self, gap: float) -> float: ...

    def limits(self, critical: float) -> tuple[float, float]: ...


class PathGap:
    """Two disjoint samples, or a part against the whole it belongs to: a path in one multiplier."""

    def __init__(self, point: PathPoint, variance: float, sign: float = 1.0) -> None:
        self.point, self.variance, self.sign = point, variance, sign

    def log_ratio(self, gap: float) -> float:
        return path_log_ratio(self.point, self.sign * gap, self.variance)

    def limits(self, critical: float) -> tuple[float, float]:
        low, high = path_limits(self.point, critical, self.variance)
        return (low, high) if self.sign > 0 else (-high, -low)


class OverlapGap:
    """A group and a reference that share some members but not all."""

    def __init__(self, both: Floats, group: Floats, reference: Floats, error: float) -> None:
        sizes = [both.size, group.size, reference.size]
        self.value = np.concatenate([both, group, reference])[None]
        self.in_group = np.repeat([1.0, 1.0, 0.0], sizes)[None]
        self.in_reference = np.repeat([1.0, 0.0, 1.0], sizes)[None]
        self.centre = float(np.concatenate([both, group]).mean() - np.concatenate([both, reference]).mean())
        self.error = error

    def _root(self, gap: Floats) -> Floats:
        shape = (*gap.shape, self.value.shape[-1])
        value, group, reference = (
            np.broadcast_to(column, shape) for column in (self.value, self.in_group, self.in_reference)
        )
        return overlap_root(value, group, reference, np.ones(shape), gap, np.zeros(1, dtype=bool))

    def log_ratio(self, gap: float) -> float:
        return float(self._root(np.array([gap]))[0] ** 2)

    def limits(self, critical: float) -> tuple[float, float]:
        centre, error = np.array([self.centre]), np.array([self.error])
        far = np.array([1e6 * self.error])
        quantile = np.sqrt(np.array([critical]))
        low, high = secant_limits(self._root, centre, error, quantile, (centre - far, centre + far))
        return float(low[0]), float(high[0])


class KnownGap:
    """One sample against a known value."""

    def __init__(self, sample: CountedValues, target: float, refinement: Refinement) -> None:
        self.sample, self.target, self.refinement = sample, target, refinement

    def log_ratio(self, gap: float) -> float:
        return known_log_ratio(self.sample, self.target + gap, self.refinement)

    def limits(self, critical: float) -> tuple[float, float]:
        low, high = known_limits(self.sample, critical, self.refinement)
        return low - self.target, high - self.target


class RowGaps(Gaps):
    """Profile empirical likelihood of every group's gap, compared with Student's t; refinements as published."""

    def __init__(self, atoms: Atoms, comparison: Comparison, refinement: Refinement | None = None) -> None:
        known = comparison.known
        target = known if known is not None else atoms.pooled(comparison.reference)[1]
        self.estimate = np.nan_to_num(atoms.pooled(comparison.member)[1] - target)
        self.error, df = gap_errors(atoms, comparison)
        self.reason = find_reasons(atoms, comparison)
        self.df = df if refinement is None else np.full(df.shape, np.inf)
        plain = refinement in (None, "none")
        usual = "empirical likelihood" if plain else f"{refinement} empirical likelihood"
        self.rule = np.full(df.shape, usual)
        self.known = known is not None

        def one_gap(index: int) -> OneGap | None:
            if self.reason[index]:
                return None
            return _one_gap(atoms, comparison, index, refinement or "none", float(self.error[index]))

        self.each = LazyCache(one_gap, len(self.reason), int(atoms.count.sum()))

    def _root(self, gap: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            student = np.where(self.defined, (self.estimate - gap) / self.error, 0.0)
        root = student.copy()
        for index, one in enumerate(self.each):
            if one is None:
                continue
            statistic = one.log_ratio(float(gap[index]))
            if np.isfinite(self.df[index]):
                size = min(np.sqrt(statistic), HULL_EXCESS * abs(student[index]))
                root[index] = np.copysign(size, student[index])
            elif np.isfinite(statistic):
                # Outside the convex hull the ratio is infinite for want of support, not of doubt.
                root[index] = np.copysign(np.sqrt(statistic), student[index])
        return root

    def _limits(self, level: float) -> tuple[Floats, Floats]:
        low, high = np.full(self.estimate.shape, np.nan), np.full(self.estimate.shape, np.nan)
        batch = self._batch()
        if batch:
            several = np.array([critical_value(float(self.df[index]), level) for index, _ in batch])
            limits = mean_limits_of_many(EndToEnd.of_samples([gap.sample for _, gap in batch]), several)
            places = np.array([index for index, _ in batch])
            target = np.array([gap.target for _, gap in batch])
            low[places], high[places] = limits[0] - target, limits[1] - target
        done = {index for index, _ in batch}
        for index, one in enumerate(self.each):
            if index in done:
                continue
            if one is not None:
                low[index], high[index] = one.limits(critical_value(float(self.df[index]), level))
        self._widen(low, high, level)
        return low, high

    def _widen(self, low: Floats, high: Floats, level: float) -> None:
        """Limits where the root, bounded by Student's, meets its quantile."""
        for index in np.flatnonzero(np.isfinite(self.df) & self.defined):
            half = np.sqrt(critical_value(float(self.df[index]), level)) * self.error[index] / HULL_EXCESS
            low[index] = min(low[index], self.estimate[index] - half)
            high[index] = max(high[index], self.estimate[index] + half)

    def _batch(self) -> list[tuple[int, KnownGap]]:
        """Groups against a known value, whose limits are found together."""
        return [
            (index, one)
            for index, one in enumerate(self.each if self.known else ())
            if isinstance(one, KnownGap) and one.refinement == "none"
        ]


def _one_gap(
    atoms: Atoms, comparison: Comparison, index: int, refinement: Refinement, error: float
) -> OneGap:
    member, reference = comparison.member[index], comparison.reference[index]
    if comparison.known is not None:
        sample = CountedValues.of(atoms.gather(member))
        return KnownGap(sample, float(comparison.known[index]), refinement)
    both, group, other = (
        atoms.gather(part) for part in (member & reference, member & ~reference, reference & ~member)
    )
    if both.size == 0:
        return _disjoint(CountedValues.of(group), CountedValues.of(other))
    if group.size == 0:
        return _nested(CountedValues.of(both), CountedValues.of(other), error, 1.0)
    if other.size == 0:
        return _nested(CountedValues.of(both), CountedValues.of(group), error, -1.0)
    return OverlapGap(both, group, other, error)


def _disjoint(first: CountedValues, second: CountedValues) -> PathGap:
    variance = first.variance / first.size + second.variance / second.size
    return PathGap(lambda multiplier: two_sample_point(first, second, multiplier), variance)


def _nested(inner: CountedValues, rest: CountedValues, error: float, sign: float) -> PathGap:
    return PathGap(lambda multiplier: nested_point(inner, rest, multiplier), error**2, sign)
