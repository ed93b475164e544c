"""The two claims, of all streams at once: evidence that the band was left, and the interval of the average gap."""

from __future__ import annotations

import math

import numpy as np

from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.sequential.average import difference_limit, ratio_limit
from fairtrial.inference.sequential.streams import (
    GROUP,
    LOWER,
    OTHER,
    UPPER,
    Rule,
    Streams,
    average_evidence,
    side_evidence,
)
from fairtrial.work.compiled import njit


@njit
def log_evidence(streams: Streams, rule: Rule) -> Floats:
    """Logarithm of every stream's e-value against 'inside the band in every period' (real values: on average)."""
    found = np.empty(streams.weight.size)
    both = np.empty((2, 2))
    for s in range(found.size):
        if rule.binary:
            found[s] = side_evidence(streams.evidence[s], rule.sides)
        else:
            both[LOWER, :] = average_evidence(streams, s, rule, rule.low, False)
            both[UPPER, :] = average_evidence(streams, s, rule, rule.high, True)
            found[s] = side_evidence(both, rule.sides)
    return found


@njit
def log_certificate(streams: Streams, rule: Rule) -> Floats:
    """Logarithm of the weaker e-value of 'the average gap is not above the lower' and 'not below the upper end'."""
    found = np.empty(streams.weight.size)
    for s in range(found.size):
        above = average_evidence(streams, s, rule, rule.low, True) if rule.sides != UPPER else math.inf
        below = average_evidence(streams, s, rule, rule.high, False) if rule.sides != LOWER else math.inf
        found[s] = min(above, below)
    return found


@njit
def estimates(streams: Streams, rule: Rule) -> Floats:
    """The average gap observed so far, on the rule's scale; NaN before the first block."""
    found = np.full(streams.weight.size, math.nan)
    for s in range(found.size):
        weight, a, b = streams.weight[s], streams.means[s, GROUP], streams.means[s, OTHER]
        if weight <= 0.0:
            continue
        if not math.isnan(rule.known):
            found[s] = a / weight / rule.known if rule.ratio else a / weight - rule.known
        elif rule.ratio:
            found[s] = a / b if b > 0.0 else math.nan
        elif rule.overall:
            found[s] = (a - b) / streams.counted[s, GROUP, 0]
        else:
            found[s] = (a - b) / weight
    return found


@njit
def interval(streams: Streams, rule: Rule, level: float) -> Floats:
    """Limits of the average gap; `level` is the logarithm of the e-value that rejects on each side."""
    found = np.full((streams.weight.size, 2), math.nan)
    for s in range(found.shape[0]):
        if streams.weight[s] <= 0.0:
            continue
        for end in range(2):
            found[s, end] = _limit(streams, s, rule, level, end == 0)
    return found


@njit
def _limit(streams: Streams, s: int, rule: Rule, level: float, upwards: bool) -> float:
    opening, sums, weight = streams.opening[s], streams.sums[s], streams.weight[s]
    if rule.ratio and math.isnan(rule.known):
        a, b = streams.means[s, GROUP], streams.means[s, OTHER]
        estimate = a / b if b > 0.0 else math.inf
        return ratio_limit(streams.first[s], opening, sums, estimate, level, upwards, rule.binary)
    limit = difference_limit(opening, sums, weight, level, upwards)
    if not math.isnan(rule.known):
        limit = min(max(limit, 0.0), 1.0)
        return limit / rule.known if rule.ratio else limit - rule.known
    limit = min(max(limit, -1.0), 1.0)
    return limit * weight / streams.counted[s, GROUP, 0] if rule.overall else limit


@njit
def average_logs(streams: Streams, rule: Rule, edges: Floats, upwards: bool) -> Floats:
    """Logarithm of every stream's e-value of 'the average gap is at most its edge' (at least, where not upwards)."""
    found = np.empty(edges.size)
    for s in range(edges.size):
        found[s] = average_evidence(streams, s, rule, edges[s], upwards)
    return found
