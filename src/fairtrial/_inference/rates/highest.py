"""The ratio of every group's rate to the highest one, with limits that know the highest was chosen from the data.

The truth is the smallest p_i/p_j over the other groups j, at most 1. Its lower limit is the smallest of the pairs'
lower limits, without correction; its upper limit the smallest of their upper ones, each with its part of the error.
Over 12 designs it misses at most .030 at 95%; against the observed best .06 to .17.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.multiplicity import holm
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.laws import Bools, quantile_of, tail_of
from fairtrial._inference.rates.two_rates import TwoRateLaw, TwoRates


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
