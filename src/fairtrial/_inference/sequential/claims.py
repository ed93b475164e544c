"""The two claims, of all streams at once: evidence that the band was left, and the interval of the average gap."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.laws.gaps import SMALLEST_P
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.sequential.bets import BETS, PER_DOUBLING, log_mean_exp, split_term, term
from fairtrial._inference.sequential.streams import (
    GROUP,
    LOWER,
    OTHER,
    UPPER,
    StreamRule,
    Streams,
    advance_blocks,
    side_evidence,
)
from fairtrial._work.compiled import njit


# -- One more period for all streams.
def advance(
    streams: Streams, cells: Floats, period: int, rule: StreamRule, reference: Floats, run: float
) -> None:
    """One more period.

    Parameters
    ----------
    streams : Streams
        Changed in place.
    cells : array (streams, 2, 3)
        Rows, sum and sum of squares of the group and of what it is compared with.
    period : int
        Its number.
    rule : StreamRule
        What is asked.
    reference : array (streams, 2)
        The interval of the gap in the reference period; NaN where change is not watched.
    run : float
        Periods to a false alarm, on average at least; infinity where change is not watched.
    """
    table = np.ascontiguousarray(cells, dtype=np.float64)
    advance_blocks(streams, table, period, rule, reference, math.log(run))
    if not rule.binary:
        _note_average(streams, period, rule)


def _note_average(streams: Streams, period: int, rule: StreamRule) -> None:
    """Real values: the largest e-value of the average so far and when the level was first reached."""
    now = log_evidence(streams, rule)
    np.maximum(streams.top, now, out=streams.top)
    streams.crossed[(streams.crossed < 0) & (now >= rule.level)] = period


# -- Many streams: e-BH (Wang and Ramdas, 2022) with weights that are fixed before anything is seen.
def opening_weights(opening: int, later: int, closed: bool = False) -> Floats:
    """The weight of each stream: half for those of the beginning, half for all that may still come.

    Weights of one over the current number would break the claim as the family grows: lists of false findings in .16
    of runs at .05.

    Parameters
    ----------
    opening, later : int
        Streams of the first batch, and those that came after it.
    closed : bool
        Whether none can come after the first batch, so that nothing is kept for it.
    """
    first = np.full(opening, (1.0 if closed else 0.5) / max(opening, 1))
    order = np.arange(1, later + 1, dtype=np.float64)
    return np.concatenate([first, 0.5 / (order * (order + 1.0))])


def listed(log_e: Floats, weights: Floats, alpha: float) -> NDArray[np.bool_]:
    """The streams that e-BH lists now: the largest R whose R-th weighted e-value is at least 1/(alpha R).

    At any stopping time the expected share of false ones among them is at most alpha; of lists put together over time
    it is not.
    """
    if not log_e.size:
        return np.zeros(0, dtype=bool)
    weighted = log_e + np.log(weights)
    order = np.argsort(-weighted, kind="stable")
    ranks = np.arange(1, log_e.size + 1)
    passing = np.flatnonzero(weighted[order] >= -np.log(alpha * ranks))
    found = np.zeros(log_e.size, dtype=bool)
    if passing.size:
        found[order[: passing[-1] + 1]] = True
    return found


def adjusted(log_e: Floats, weights: Floats) -> Floats:
    """For each stream the smallest level at which e-BH would list it now, at most 1."""
    if not log_e.size:
        return np.zeros(0)
    weighted = log_e + np.log(weights)
    order = np.argsort(-weighted, kind="stable")
    levels = -weighted[order] - np.log(np.arange(1, log_e.size + 1))
    found = np.empty(log_e.size)
    found[order] = np.clip(
        np.exp(np.minimum.accumulate(levels[::-1])[::-1].clip(-700.0, 0.0)), SMALLEST_P, 1.0
    )
    return found


# -- What the average process says: e-values of 'the average gap is at most g', and the interval it leaves.
# The average gap so far is Γ = Σ w (p_a − p_b) / Σ w with w = n_a n_b / (n_a + n_b); rates and gap may move
# at will.
HALVINGS = 100
NEWTON = 60
LARGEST_RATIO = 1e6


@njit
def difference_evidence(opening: Floats, sums: Floats, weight: float, gap: float, upwards: bool) -> float:
    """Logarithm of the e-value of 'the average gap is at most `gap`' (at least, where not upwards)."""
    mine, other = (0, 3) if upwards else (1, 2)
    sign = -1.0 if upwards else 1.0
    values = opening[mine] + opening[other] + sums[mine] + sums[other] + sign * BETS * weight * gap
    return log_mean_exp(values)


@njit
def difference_limit(opening: Floats, sums: Floats, weight: float, level: float, upwards: bool) -> float:
    """The gap at which the e-value reaches the level: a lower limit (upper, where not upwards) of the average gap.

    The logarithm is convex in the gap, so that Newton's steps from the far side never pass the limit.
    """
    mine, other = (0, 3) if upwards else (1, 2)
    sign = 1.0 if upwards else -1.0
    line = opening[mine] + opening[other] + sums[mine] + sums[other]
    # some bet alone reaches the level with all the weight there is: the limit is at least this far
    gap = ((line - math.log(BETS.size) - level) / (BETS * weight)).max()
    for _ in range(NEWTON):
        values = line - BETS * weight * gap
        peak = values.max()
        share = np.exp(values - peak)
        over = peak + math.log(share.sum() / BETS.size) - level
        step = over / (weight * (share * BETS).sum() / share.sum())
        gap += step
        if abs(step) <= 1e-15 * max(1.0, abs(gap)):
            break
    return sign * float(gap)


@njit
def _chord(row: Floats, scale: float) -> Floats:
    """Concave sums at every bet times a scale of at most 1, by chords."""
    values = np.zeros(BETS.size)
    if scale <= 0.0:
        return values
    shift = int(min(math.floor(-math.log2(scale) * PER_DOUBLING), 10.0 * BETS.size))
    for j in range(BETS.size):
        bet = BETS[j] * scale
        i = min(j + shift, BETS.size - 1)
        smaller, below = (BETS[i + 1], row[i + 1]) if i + 1 < BETS.size else (0.0, 0.0)
        part = min(max((bet - smaller) / (BETS[i] - smaller), 0.0), 1.0)
        values[j] = part * row[i] + (1.0 - part) * below
    return values


@njit
def scaled_terms(
    first: Floats, sums: Floats, side: int, scale: float, weight: float, up: bool, binary: bool
) -> Floats:
    """The terms of one side at every bet times a scale of at most 1.

    Later blocks: the chord between the two bets nearest, which is safe because their sum is concave in the bet. The
    first block is a mean of products, hence not concave, and is evaluated itself.
    """
    values = _chord(sums[2 * side + (0 if up else 1)], scale)
    n, total, squares = first[side, 0], first[side, 1], first[side, 2]
    for j in range(BETS.size):
        bet = (BETS[j] if up else -BETS[j]) * scale * weight / n
        values[j] += split_term(bet, n, total) if binary else term(bet, n, total, squares, 0.5, binary)
    return values


@njit
def ratio_evidence(
    first: Floats, opening: Floats, sums: Floats, ratio: float, upwards: bool, binary: bool
) -> float:
    """Logarithm of the e-value of 'the ratio Σwp_a / Σwp_b is at most `ratio`' (at least, where not upwards)."""
    n_a, n_b = first[0, 0], first[1, 0]
    weight = n_a * n_b / (n_a + n_b) if n_a > 0 and n_b > 0 else 0.0
    mine, other = (0, 3) if upwards else (1, 2)
    if weight == 0.0:  # a window: all its blocks are later ones
        mine_values = _chord(sums[mine], min(1.0, 1.0 / ratio))
        return log_mean_exp(mine_values + _chord(sums[other], min(1.0, ratio)))
    if ratio <= 1.0:
        kept = opening[mine] + sums[mine]
        return log_mean_exp(kept + scaled_terms(first, sums, 1, ratio, weight, not upwards, binary))
    kept = opening[other] + sums[other]
    return log_mean_exp(kept + scaled_terms(first, sums, 0, 1.0 / ratio, weight, upwards, binary))


@njit
def ratio_limit(
    first: Floats, opening: Floats, sums: Floats, estimate: float, level: float, upwards: bool, binary: bool
) -> float:
    """The ratio nearest to the estimate that the level rejects: a lower limit (upper, where not upwards)."""
    inside = math.log(min(max(estimate, 1.0 / LARGEST_RATIO), LARGEST_RATIO))
    under, over, outside, step = -1.0, -1.0, inside, -0.25 if upwards else 0.25
    while over < 0.0:  # outwards until the level is reached
        if abs(outside) > math.log(LARGEST_RATIO):
            return 0.0 if upwards else math.inf
        inside, under, outside, step = outside, over, outside + step, 2.0 * step
        over = ratio_evidence(first, opening, sums, math.exp(outside), upwards, binary) - level
    value, stayed = over, 0.0
    for _ in range(HALVINGS):  # false position; the value of an end that stays twice is halved (Illinois)
        if min(abs(value), 100.0 * abs(inside - outside)) <= 1e-11:
            break
        middle = (inside * over - outside * under) / (over - under)
        value = ratio_evidence(first, opening, sums, math.exp(middle), upwards, binary) - level
        if value >= 0.0:
            outside, over, under, stayed = middle, value, under * (1.0 - 0.5 * max(stayed, 0.0)), 1.0
        else:
            inside, under, over, stayed = middle, value, over * (1.0 + 0.5 * min(stayed, 0.0)), -1.0
    return math.exp(outside)


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


def average_logs(streams: Streams, rule: StreamRule, edges: Floats, upwards: bool) -> Floats:
    """Logarithm of every stream's e-value of 'the average gap is at most its edge' (at least, where not upwards)."""
    parts = streams.opening, streams.sums, streams.weight
    if not math.isnan(rule.known):
        return _differences(*parts, rule.known * edges if rule.ratio else rule.known + edges, upwards)
    if rule.ratio:
        return _ratios(streams.first, *parts, edges, upwards, rule.binary)
    if rule.overall:
        edges = edges * streams.counted[:, GROUP, 0] / np.where(streams.weight > 0, streams.weight, 1.0)
    return _differences(*parts, edges, upwards)


def log_evidence(streams: Streams, rule: StreamRule) -> Floats:
    """Logarithm of every stream's e-value against 'inside the band in every period' (real values: on average)."""
    if rule.binary:
        return _sides(streams.evidence, rule.sides)
    ends = np.ones_like(streams.weight)
    both = np.empty_like(streams.evidence)
    both[:, LOWER] = average_logs(streams, rule, rule.low * ends, False)[:, None]
    both[:, UPPER] = average_logs(streams, rule, rule.high * ends, True)[:, None]
    return _sides(both, rule.sides)


def log_certificate(streams: Streams, rule: StreamRule) -> Floats:
    """Logarithm of the weaker e-value of 'the average gap is not above the lower' and 'not below the upper end'."""
    ends, found = np.ones_like(streams.weight), np.full_like(streams.weight, math.inf)
    if rule.sides != UPPER:
        found = np.minimum(found, average_logs(streams, rule, rule.low * ends, True))
    if rule.sides != LOWER:
        found = np.minimum(found, average_logs(streams, rule, rule.high * ends, False))
    return found


def estimates(streams: Streams, rule: StreamRule) -> Floats:
    """The average gap observed so far, on the rule's scale; NaN before the first block."""
    a, b, weight = streams.means[:, GROUP], streams.means[:, OTHER], streams.weight
    if not math.isnan(rule.known):
        mean = _divided(a, weight)
        return mean / rule.known if rule.ratio else mean - rule.known
    if rule.ratio:
        return _divided(a, b)
    return _divided(a - b, streams.counted[:, GROUP, 0] if rule.overall else weight)


def interval(streams: Streams, rule: StreamRule, level: float) -> Floats:
    """Limits of the average gap; `level` is the logarithm of the e-value that rejects on each side."""
    return np.stack([_limits(streams, rule, level, upwards) for upwards in (True, False)], axis=1)


def _limits(streams: Streams, rule: StreamRule, level: float, upwards: bool) -> Floats:
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
