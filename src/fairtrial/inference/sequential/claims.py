"""The two claims, of all streams at once: evidence that the band was left, and the interval of the average gap."""

from __future__ import annotations

import math

import numpy as np

from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.sequential.average import (
    difference_evidence,
    difference_limit,
    ratio_evidence,
    ratio_limit,
)
from fairtrial.inference.sequential.streams import GROUP, LOWER, OTHER, UPPER, Rule, Streams, side_evidence
from fairtrial.work.compiled import njit

# Differences and ratios are compiled apart, and from plain arrays: who watches one need not wait for the other.


@njit
def _sides(evidence: Floats, sides: int) -> Floats:
    found = np.empty(evidence.shape[0])
    for s in range(found.size):
        found[s] = side_evidence(evidence[s], sides)
    return found


@njit
def _differences(opening: Floats, sums: Floats, weight: Floats, edges: Floats, upwards: bool) -> Floats:
    found = np.zeros(weight.size)
    for s in range(weight.size):
        if weight[s] > 0.0:
            found[s] = difference_evidence(opening[s], sums[s], weight[s], edges[s], upwards)
    return found


@njit
def _ratios(
    first: Floats, opening: Floats, sums: Floats, weight: Floats, edges: Floats, upwards: bool, binary: bool
) -> Floats:
    found = np.zeros(weight.size)
    for s in range(weight.size):
        if weight[s] > 0.0 and 0.0 < edges[s] < math.inf:
            found[s] = ratio_evidence(first[s], opening[s], sums[s], edges[s], upwards, binary)
    return found


@njit
def _difference_limits(opening: Floats, sums: Floats, weight: Floats, level: float, upwards: bool) -> Floats:
    found = np.full(weight.size, math.nan)
    for s in range(weight.size):
        if weight[s] > 0.0:
            found[s] = difference_limit(opening[s], sums[s], weight[s], level, upwards)
    return found


@njit
def _ratio_limits(
    first: Floats, opening: Floats, sums: Floats, means: Floats, weight: Floats, level: float, upwards: bool,
    binary: bool,
) -> Floats:  # fmt: skip
    found = np.full(weight.size, math.nan)
    for s in range(weight.size):
        if weight[s] > 0.0:
            estimate = means[s, 0] / means[s, 1] if means[s, 1] > 0.0 else math.inf
            found[s] = ratio_limit(first[s], opening[s], sums[s], estimate, level, upwards, binary)
    return found


def average_logs(streams: Streams, rule: Rule, edges: Floats, upwards: bool) -> Floats:
    """Logarithm of every stream's e-value of 'the average gap is at most its edge' (at least, where not upwards)."""
    parts = streams.opening, streams.sums, streams.weight
    if not math.isnan(rule.known):
        return _differences(*parts, rule.known * edges if rule.ratio else rule.known + edges, upwards)
    if rule.ratio:
        return _ratios(streams.first, *parts, edges, upwards, rule.binary)
    if rule.overall:
        edges = edges * streams.counted[:, GROUP, 0] / np.where(streams.weight > 0, streams.weight, 1.0)
    return _differences(*parts, edges, upwards)


def log_evidence(streams: Streams, rule: Rule) -> Floats:
    """Logarithm of every stream's e-value against 'inside the band in every period' (real values: on average)."""
    if rule.binary:
        return _sides(streams.evidence, rule.sides)
    ends = np.ones_like(streams.weight)
    both = np.empty_like(streams.evidence)
    both[:, LOWER] = average_logs(streams, rule, rule.low * ends, False)[:, None]
    both[:, UPPER] = average_logs(streams, rule, rule.high * ends, True)[:, None]
    return _sides(both, rule.sides)


def log_certificate(streams: Streams, rule: Rule) -> Floats:
    """Logarithm of the weaker e-value of 'the average gap is not above the lower' and 'not below the upper end'."""
    ends, found = np.ones_like(streams.weight), np.full_like(streams.weight, math.inf)
    if rule.sides != UPPER:
        found = np.minimum(found, average_logs(streams, rule, rule.low * ends, True))
    if rule.sides != LOWER:
        found = np.minimum(found, average_logs(streams, rule, rule.high * ends, False))
    return found


def estimates(streams: Streams, rule: Rule) -> Floats:
    """The average gap observed so far, on the rule's scale; NaN before the first block."""
    a, b, weight = streams.means[:, GROUP], streams.means[:, OTHER], streams.weight
    if not math.isnan(rule.known):
        mean = _divided(a, weight)
        return mean / rule.known if rule.ratio else mean - rule.known
    if rule.ratio:
        return _divided(a, b)
    return _divided(a - b, streams.counted[:, GROUP, 0] if rule.overall else weight)


def interval(streams: Streams, rule: Rule, level: float) -> Floats:
    """Limits of the average gap; `level` is the logarithm of the e-value that rejects on each side."""
    return np.stack([_limits(streams, rule, level, upwards) for upwards in (True, False)], axis=1)


def _limits(streams: Streams, rule: Rule, level: float, upwards: bool) -> Floats:
    parts = streams.opening, streams.sums
    if rule.ratio and math.isnan(rule.known):
        return _ratio_limits(
            streams.first, *parts, streams.means, streams.weight, level, upwards, rule.binary
        )
    limits = _difference_limits(*parts, streams.weight, level, upwards)
    if not math.isnan(rule.known):
        limits = np.clip(limits, 0.0, 1.0)
        return limits / rule.known if rule.ratio else limits - rule.known
    limits = np.clip(limits, -1.0, 1.0)
    return limits * _divided(streams.weight, streams.counted[:, GROUP, 0]) if rule.overall else limits


def _divided(a: Floats, b: Floats) -> Floats:
    return np.divide(a, b, out=np.full_like(a, math.nan), where=b > 0)
