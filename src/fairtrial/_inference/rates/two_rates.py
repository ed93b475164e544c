"""Two rates compared, as a difference or as a ratio: a base law and the bounds it is never sharper than.

The contrast is p1 - p2 - v for 'the difference is v' and p1 - v p2 for 'the ratio is v', so that no difference and a
ratio of one are one question. Base law: the two-binomial likelihood ratio of a difference, the score of a ratio.
Bounds: the score, and the score corrected for its skewness, always; the exact tail where a count is small. The largest
tail counts.

Exact one-sided errors of a difference at the levels .05 / .01 / .001, the worst of 169 pairs of rates from .005 to .97
and sizes from 30 and 30 to 50 and 1,000: likelihood ratio alone .22 / .042 / .006, score alone .095 / .055 / .010; all
of these .057 / .012 / .0012. Without the plain score .072 / .012 / .0012.
"""

from __future__ import annotations

from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.laws.gaps import LOGARITHM_ENDS, SearchedGaps, quantile_of, tail_of
from fairtrial._inference.multiplicity import holm
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.rates.proportions import (
    binomial_deviance,
    constrained_rates,
    contrast_tail,
    difference_error,
    over,
)
from fairtrial._inference.ways import Scale

Only = Literal["likelihood", "score"]  # one law alone, without bounds

# A table with a count below the second number is bounded by its exact tail. From the first number on less and less of
# the observed table's own probability is in that tail, down to half of it, where the bound stops to matter: no p-value
# jumps because a tenth event has come.
ALL_OF_IT, HALF_OF_IT = 5.0, 10.0


class TwoRates(NamedTuple):
    """Events and people of the group and of its target, arrays of one shape; sizes may be effective ones."""

    k1: Floats
    n1: Floats
    k2: Floats
    n2: Floats

    def take(self, index: NDArray[np.intp] | Bools) -> TwoRates:
        return TwoRates(*(column[index] for column in self))

    @property
    def smallest(self) -> Floats:
        """The smallest of the four counts."""
        return np.asarray(
            np.minimum(np.minimum(self.k1, self.n1 - self.k1), np.minimum(self.k2, self.n2 - self.k2))
        )

    @property
    def few(self) -> Bools:
        """Whether the exact tail is asked."""
        return np.asarray((self.smallest < HALF_OF_IT) & (self.n1 > 0) & (self.n2 > 0))


class Null(NamedTuple):
    """The two rates' most likely values under 'the gap is v', the slope of the second one in the contrast, and the
    contrast's distance, variance and third central moment."""

    p1: Floats
    p2: Floats
    slope: Floats
    distance: Floats
    variance: Floats
    third: Floats


def at_null(table: TwoRates, value: Floats, scale: Scale) -> Null:
    """The constrained maximum and the moments of the contrast there, with Miettinen and Nurminen's N/(N - 1)."""
    k1, n1, k2, n2 = table
    if scale == "difference":
        p1, p2 = constrained_rates(k1, n1, k2, n2, value)
        slope, shift = np.ones_like(p1), np.asarray(value)
    else:
        p1, p2 = constrained_by_ratio(k1, n1, k2, n2, value)
        slope, shift = value * np.ones_like(p1), np.zeros(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = k1 / n1 - slope * (k2 / n2) - shift
        spread1, spread2 = p1 * (1 - p1) / n1, slope**2 * p2 * (1 - p2) / n2
        third = spread1 * (1 - 2 * p1) / n1 - slope * spread2 * (1 - 2 * p2) / n2
        total = n1 + n2
        variance = (spread1 + spread2) * (total / np.maximum(total - 1.0, 1.0))
    return Null(p1, p2, slope, distance, variance, third)


def constrained_by_ratio(
    k1: Floats, n1: Floats, k2: Floats, n2: Floats, ratio: Floats
) -> tuple[Floats, Floats]:
    """Maximum likelihood of two rates whose ratio is given (Koopman 1984): a quadratic's smaller root."""
    leading = (n1 + n2) * ratio
    middle = n1 * ratio + k1 + n2 + k2 * ratio
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(middle**2 - 4.0 * leading * (k1 + k2), 0.0))
        # The quotient form of the smaller root: subtracting two near-equal numbers would lose it.
        most = np.minimum(1.0, 1.0 / ratio)
        second = np.clip(2.0 * (k1 + k2) / (middle + root), 0.0, most)
        # where the likelihood still rises at the largest rate, that is the maximum: the root loses its digits there
        above = ratio >= 1.0
        alike = np.where(above, k1 == n1, k2 == n2)
        others = np.where(above, over(n2 - k2, 1.0 - most), over(ratio * (n1 - k1), 1.0 - ratio))
        second = np.where(alike & ((k1 + k2) / most >= others), most, second)
    return np.clip(ratio * second, 0.0, 1.0), second


def score_roots(null: Null) -> tuple[Floats, Floats]:
    """The score's root, and the same corrected for the skewness of its law (Cornish and Fisher, one term)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.where(null.distance == 0, 0.0, null.distance / np.sqrt(null.variance))
        skewness = np.where(null.variance > 0, null.third / (6.0 * null.variance**1.5), 0.0)
    return root, unskewed(root, skewness)


def unskewed(root: Floats, sixth: Floats) -> Floats:
    """The z with root = z + A (z^2 - 1), A a sixth of the skewness: (-1 + sqrt(1 + 4A(root + A))) / 2A.

    Where no such z exists the tail is a short one, and the root is left as it is.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inside = 1.0 + 4.0 * sixth * (root + sixth)
        # The quotient form keeps its digits where the skewness is nearly zero.
        corrected = 2.0 * (root + sixth) / (1.0 + np.sqrt(np.maximum(inside, 0.0)))
    return np.where((inside < 0) | ~np.isfinite(corrected), root, corrected)


def likelihood_root(table: TwoRates, null: Null) -> Floats:
    """Signed root of the likelihood ratio at the constrained maximum."""
    deviance = binomial_deviance(table.k1, table.n1, null.p1) + binomial_deviance(table.k2, table.n2, null.p2)
    return np.asarray(np.sign(null.distance) * np.sqrt(deviance))


class OneTableLaw(SearchedGaps):
    """The gap of two independent rates, as a difference or as a ratio (searched on the logarithm): of a table alone."""

    def __init__(self, table: TwoRates, scale: Scale, only: Only | None = None) -> None:
        self.table, self.scale, self.only = table, scale, only
        end = np.full(table.k1.shape, 1.0 if scale == "difference" else LOGARITHM_ENDS)
        few, events = table.few & (only is None), (table.k1, table.k2)
        super().__init__(*estimate_and_error(table, scale), (-end, end), few, events=events)

    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        null = at_null(self.table, self.to_gap(point), self.scale)
        score, skewed = score_roots(null)
        if self.scale == "ratio" and self.only is None:
            return np.minimum(score, skewed), np.maximum(score, skewed)
        return bounded(likelihood_root(self.table, null), score, skewed, self.only)

    def exact_tail(self, point: Floats, chosen: Bools, *, above: bool) -> Floats:
        return exact_tail(self.table.take(chosen), self.to_gap(point), self.scale, above=above)


class TwoRateLaw(OneTableLaw):
    """The same, never surer than of a table that says more.

    Where everybody of a side is alike, the most likely rates of a table alone jump to their ends: the lower limit of
    39 of 40 against 1 of 20 was a ratio of 4.087, that of 40 of 40 was 4.020. A limit is as far out as those of the
    tables with more events in the one sample and fewer in the other, so that limits are monotone in the counts.
    """

    def __init__(self, table: TwoRates, scale: Scale, only: Only | None = None) -> None:
        super().__init__(table, scale, only)
        self.beyond = None if only else tuple(beyond_of(table, above) for above in (True, False))

    def _tails(self, gap: Floats) -> tuple[Floats, Floats]:
        tails = super()._tails(gap)
        for side, found in enumerate(self.beyond or ()):
            if found.place.size:
                law = OneTableLaw(found.table, self.scale)
                np.maximum.at(tails[side], found.place, law.tails(gap[found.place])[side])
        return tails

    def _limits(self, level: Floats | float) -> tuple[Floats, Floats]:
        low, high = super()._limits(level)
        levels = np.broadcast_to(np.asarray(level, dtype=np.float64), low.shape)
        for side, found in enumerate(self.beyond or ()):
            if found.place.size:
                limits = OneTableLaw(found.table, self.scale).limits(levels[found.place])
                (np.maximum if side else np.minimum).at((low, high)[side], found.place, limits[side])
        return low, high


class Beyond(NamedTuple):
    """Tables that say more, and of which ones: positions."""

    place: NDArray[np.intp]
    table: TwoRates


def beyond_of(table: TwoRates, above: bool) -> Beyond:
    """With all events in the first sample, or none in the second, and with a first one where there is none (`above`);
    or the other way round.

    Jumps reach far only where the other sample is at its own end, and up to 40% of a sample at a level of .5.
    """
    k1, n1, k2, n2 = table
    missing, there = (n1 - k1, k2) if above else (k1, n2 - k2)
    first, second = _further(missing, n1, there < HALF_OF_IT), _further(there, n2, missing < HALF_OF_IT)
    if above:
        first = [n1 - left for left in first]
    else:
        second = [n2 - left for left in second]
    found = []
    for one in (k1, *first):
        for other in (k2, *second):
            there = table.few & ~np.isnan(one + other) & ((one != k1) | (other != k2))
            found.append((np.flatnonzero(there), one[there], other[there]))
    place, one, other = (np.concatenate(column) for column in zip(*found, strict=True))
    return Beyond(place, TwoRates(one, n1[place], other, n2[place]))


def _further(left: Floats, size: Floats, near: Bools) -> list[Floats]:
    """None left where few are, or at most half are and few of the other sample; one less where all are; else NaN."""
    close = (left < HALF_OF_IT) | ((left <= 0.5 * size) & near)
    return [
        np.where((left > 0) & close, 0.0, np.nan),
        np.where((left == size) & (size >= 1), size - 1.0, np.nan),
    ]


def bounded(base: Floats, score: Floats, skewed: Floats, only: Only | None) -> tuple[Floats, Floats]:
    """The smallest and the largest of the three roots, or one of them twice."""
    if only is not None:
        return (base, base) if only == "likelihood" else (score, score)
    return np.minimum(base, np.minimum(score, skewed)), np.maximum(base, np.maximum(score, skewed))


def exact_tail(table: TwoRates, value: Floats, scale: Scale, *, above: bool) -> Floats:
    """A binomial tail at the constrained maximum, ordered by the contrast; ties count in part from five events on."""
    null = at_null(table, value, scale)
    ties = share_of_ties(table.smallest)
    k1, n1, k2, n2 = table
    if above:
        return contrast_tail(k1, n1, null.p1, k2, n2, null.p2, null.slope, ties)
    return contrast_tail(k2, n2, null.p2, k1, n1, null.p1, 1.0 / null.slope, ties)


def share_of_ties(smallest: Floats) -> Floats:
    """How much of the observed table's own probability is in its exact tail."""
    return np.asarray(1.0 - 0.5 * np.clip((smallest - ALL_OF_IT) / (HALF_OF_IT - ALL_OF_IT), 0.0, 1.0))


def estimate_and_error(table: TwoRates, scale: Scale) -> tuple[Floats, Floats]:
    """The gap (of a ratio its logarithm) and its standard error with half a count added on each side: never zero."""
    k1, n1, k2, n2 = table
    if scale == "difference":
        return k1 / n1 - k2 / n2, difference_error(k1, n1, k2, n2)
    with np.errstate(divide="ignore", invalid="ignore"):
        filled = (k1 > 0) & (k2 > 0)
        plain = np.log(np.where(filled, k1 * n2, 1.0) / np.where(filled, k2 * n1, 1.0))
        half = np.log((k1 + 0.5) / (n1 + 0.5) / ((k2 + 0.5) / (n2 + 0.5)))
    return np.where(filled, plain, half), log_ratio_error(table)


def log_ratio_error(table: TwoRates) -> Floats:
    """Standard error of the logarithm of a ratio, half a count added."""
    k1, n1, k2, n2 = table
    variance = 1 / (k1 + 0.5) - 1 / (n1 + 1.0) + 1 / (k2 + 0.5) - 1 / (n2 + 1.0)
    return np.asarray(np.sqrt(variance))


# -- The ratio of every group's rate to the highest one, with limits that know the highest was chosen from the data.
# The truth is the smallest p_i/p_j over the other groups j, at most 1. Its lower limit is the smallest of the pairs'
# lower limits, without correction; its upper limit the smallest of their upper ones, each with its part of the error.
# Over 12 designs it misses at most .030 at 95%; against the observed best .06 to .17.
class RatioToHighest(NamedTuple):
    """Per group: the ratio to the highest rate and its limits; NaN where nobody has the event."""

    ratio: Floats
    low: Floats
    high: Floats


class PairsOfGroups(NamedTuple):
    """Every pair of groups: positions, p-values of 'their ratio lies in the band', and whether it is certified to."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    p_value: Floats
    p_adjusted: Floats
    certified: Bools


def ratio_to_highest(events: Floats, people: Floats, level: float) -> RatioToHighest:
    """Limits of the ratio to the highest true rate."""
    groups = events.size
    rate = events / people
    best = rate.max()
    if groups < 2 or best <= 0:
        nothing = np.full(groups, np.nan)
        return RatioToHighest(nothing, nothing, nothing)
    low, high = np.ones(groups), np.ones(groups)
    i, j = (side.ravel() for side in np.meshgrid(np.arange(groups), np.arange(groups), indexing="ij"))
    i, j = i[i != j], j[i != j]
    law = TwoRateLaw(TwoRates(events[i], people[i], events[j], people[j]), "ratio")
    lows = law.limits(level)[0]
    highs = law.limits(1.0 - (1.0 - level) / (groups - 1.0))[1]
    np.minimum.at(low, i, lows)
    np.minimum.at(high, i, highs)
    return RatioToHighest(rate / best, low, high)


def pairs_of_groups(events: Floats, people: Floats, band: tuple[float, float], level: float) -> PairsOfGroups:
    """'Some ratio lies outside the band' by Holm over all pairs; 'all lie inside' when every pair is certified."""
    pairs = np.array(list(combinations(range(events.size), 2)), dtype=np.intp).reshape(-1, 2)
    i, j = pairs.T
    table = TwoRates(events[i], people[i], events[j], people[j])
    law = TwoRateLaw(table, "ratio")
    at_low, at_high = (law.tails(np.full(i.shape, edge)) for edge in band)
    nearest = np.minimum(at_low[1], at_high[0])
    other = tail_of(quantile_of(nearest) - np.log(band[1] / band[0]) / law.error)
    inside = (law.centre >= np.log(band[0])) & (law.centre <= np.log(band[1]))
    p = np.where(inside | (table.k1 + table.k2 == 0), 1.0, np.minimum(nearest + other, 1.0))
    certified = np.maximum(at_low[0], at_high[1]) <= (1.0 - level)
    return PairsOfGroups(i, j, p, holm(p), certified)


# -- Is the outcome known for one decision more often than for the other? A test of the ratio of two labelling
# rates.
ALIKE = 1.1  # labelling rates whose ratio is within 1/1.1 to 1.1 are taken as alike
SELECTIVE = 0.01  # a p-value up to this one says that labels are selective


def labelling_p(known: Floats, people: Floats, other_known: Floats, other_people: Floats) -> Floats:
    """p-values of "the ratio of the labelling rates is within [1/1.1, 1.1]": twice the smaller tail at its edge.

    1 where nobody is on one side.
    """
    law = TwoRateLaw(TwoRates(known, people, other_known, other_people), "ratio")
    above, _ = law.tails(np.full(known.shape, ALIKE))
    _, below = law.tails(np.full(known.shape, 1.0 / ALIKE))
    p = np.minimum(1.0, 2.0 * np.minimum(above, below))
    return np.where((people > 0) & (other_people > 0), p, 1.0)
