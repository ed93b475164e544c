"""Many streams at once: what is remembered of each, and how one more period changes it.

A stream is one group beside what it is compared with. Everything is added in the order of the periods by compiled
loops over plain numbers, so that updating week by week and replaying from the beginning give the same bits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fairtrial._inference.numeric.roots import Floats, Integers
from fairtrial._inference.sequential.bets import BETS, split_term, term, watch_change
from fairtrial._work.compiled import njit

# -- The factor of one block in the test of 'in every period so far the gap was inside the band'.
# Rates that were learned before are set against the null's nearest ones (Turner, Ly and Grünwald, 2024):
# the ratio of their likelihoods has an expected value of at most 1 whatever rates of the null hold in this
# block.
HALVINGS = 200


@njit
def slope(
    q: float, theta_a: float, theta_b: float, n_a: float, n_b: float, ratio: float, edge: float
) -> float:
    """How the divergence to the null's rates (edge + ratio q, q) grows with q."""
    first = edge + ratio * q
    grown = n_a * ratio * (first - theta_a) / (first * (1.0 - first))
    return grown + n_b * (q - theta_b) / (q * (1.0 - q))


@njit
def nearest(
    theta_a: float, theta_b: float, n_a: float, n_b: float, ratio: float, edge: float
) -> tuple[float, float]:
    """The rates with p_a = edge + ratio p_b that are nearest to those learned."""
    if edge == 0.0 and ratio == 1.0:
        both = (n_a * theta_a + n_b * theta_b) / (n_a + n_b)
        return both, both
    low, high = max(0.0, -edge / ratio), min(1.0, (1.0 - edge) / ratio)
    q = 0.5 * (low + high)
    for _ in range(HALVINGS):
        if slope(q, theta_a, theta_b, n_a, n_b, ratio, edge) > 0:
            high = q
        else:
            low = q
        q = 0.5 * (low + high)
        if q <= low or q >= high:
            break
    return edge + ratio * q, q


@njit
def log_likelihood_ratio(n: float, ones: float, theta: float, q: float) -> float:
    """Of the learned rate to the null's."""
    return ones * math.log(theta / q) + (n - ones) * math.log((1.0 - theta) / (1.0 - q))


@njit
def two_sample_factor(
    theta_a: float, theta_b: float, n_a: float, k_a: float, n_b: float, k_b: float, ratio: float, edge: float
) -> float:
    """Logarithm of the factor against p_a - ratio p_b ≤ edge; 0 where the rates learned do not contradict it."""
    if edge >= 1.0 or theta_a - ratio * theta_b <= edge:
        return 0.0
    q_a, q_b = nearest(theta_a, theta_b, n_a, n_b, ratio, edge)
    if not (0.0 < q_a < 1.0 and 0.0 < q_b < 1.0):
        return 0.0  # the null's rates are at the end of what a rate can be: nothing is bet
    return log_likelihood_ratio(n_a, k_a, theta_a, q_a) + log_likelihood_ratio(n_b, k_b, theta_b, q_b)


@njit
def one_sample_factor(theta: float, n: float, ones: float, limit: float) -> float:
    """Logarithm of the factor against p ≤ limit."""
    if limit >= 1.0 or limit <= 0.0 or theta <= limit:
        return 0.0
    return log_likelihood_ratio(n, ones, theta, limit)


DETECTOR_BETS = 18
FORGETS = 0.9  # what the second learner keeps of earlier blocks: it follows a gap that begins late
# Sides of a stream in its arrays: the group, and what it is compared with.
GROUP, OTHER = 0, 1
# Ends of the band: that a gap is not below the lower, not above the upper one.
LOWER, UPPER = 0, 1


class StreamRule(NamedTuple):
    """What is asked of every stream, fixed before the first look.

    Parameters
    ----------
    low, high : float
        The band's ends on the scale; the same number twice for equality.
    ratio : bool
        Whether the scale is a ratio.
    known : float
        The known target; NaN where a group or the others are the target.
    overall : bool
        Whether the target is everyone, the group included.
    binary : bool
        Whether values are 0 and 1; others are bounded by 0 and 1.
    block : int
        1: a period is compared within itself, and one without both sides says nothing. More: periods are pooled until
        both sides have so many rows, as if the rates of both were steady meanwhile.
    sides : int
        0: below the band, 1: above it, 2: both.
    level : float
        Logarithm of the e-value at which a stream is violated.
    """

    low: float
    high: float
    ratio: bool
    known: float
    overall: bool
    binary: bool
    block: int
    sides: int
    level: float


class Streams(NamedTuple):
    """Everything that is remembered of each stream, one row per stream.

    Parameters
    ----------
    pending : array (streams, 2, 3)
        Rows, sum and sum of squares of both sides that wait for a block to close.
    blocks, waited, longest : array (streams,)
        Blocks so far; of pooled periods, how many wait since the last block, and the most that ever waited.
    alone : array (streams,)
        Periods that had rows of one side only and were left out.
    first : array (streams, 2, 3)
        The first block, which ratios evaluate exactly.
    learned, recent : array (streams, 2, 2)
        Rows and sum of each side, of all blocks and with earlier ones fading.
    counted : array (streams, 2, 2)
        Rows and sum of each side in the blocks the claim is about (a window begins anew).
    weight : array (streams,)
        Sum of the blocks' weights.
    means : array (streams, 2)
        Sum of weight times observed mean of each side.
    opening, sums : array (streams, 4, bets)
        The terms of the first block and of the later ones at every bet: of the group up and down, of the other side up
        and down.
    evidence : array (streams, 2, 2)
        Logarithm of the e-value of every-period, by end of the band and learner.
    top, crossed : array (streams,)
        The largest logarithm so far, and the period in which the level was first reached (-1: never).
    pooled : array (streams, 2)
        Rows and sum of recent blocks, for the detector's centre.
    change : array (streams, 2, 3, bets)
        The detector's logarithms, largest sums and where these began, by direction.
    alarm : array (streams, 2)
        When the detector first reached its run length, and when it takes the change to have begun (-1: never).
    """

    pending: Floats
    blocks: Integers
    waited: Integers
    longest: Integers
    alone: Integers
    first: Floats
    learned: Floats
    recent: Floats
    counted: Floats
    weight: Floats
    means: Floats
    opening: Floats
    sums: Floats
    evidence: Floats
    top: Floats
    crossed: Integers
    pooled: Floats
    change: Floats
    alarm: Integers


def new_streams(count: int) -> Streams:
    """Streams of which nothing is known yet."""
    none = np.full(count, -1, dtype=np.int64)

    def whole() -> Integers:
        return np.zeros(count, dtype=np.int64)

    change = np.zeros((count, 2, 3, DETECTOR_BETS))
    change[:, :, 0] = -np.inf
    return Streams(
        np.zeros((count, 2, 3)), whole(), whole(), whole(), whole(), np.zeros((count, 2, 3)),
        np.zeros((count, 2, 2)), np.zeros((count, 2, 2)), np.zeros((count, 2, 2)), np.zeros(count),
        np.zeros((count, 2)), np.zeros((count, 4, BETS.size)), np.zeros((count, 4, BETS.size)),
        np.zeros((count, 2, 2)), np.zeros(count), none, np.zeros((count, 2)), change,
        np.full((count, 2), -1, dtype=np.int64),
    )  # fmt: skip


def joined(old: Streams, new: Streams) -> Streams:
    """The streams of both, one after the other."""
    return Streams(*(np.concatenate(pair) for pair in zip(old, new, strict=True)))


def select(streams: Streams, part: slice) -> Streams:
    """Some of the streams."""
    return Streams(*(values[part] for values in streams))  # type: ignore[arg-type]


def begin_window(streams: Streams) -> None:
    """A claim of its own from here on; what was learned of rates and what is pending stays."""
    for name in (
        "counted",
        "weight",
        "means",
        "opening",
        "sums",
        "evidence",
        "top",
        "first",
        "longest",
        "alone",
    ):
        getattr(streams, name)[...] = 0
    streams.crossed[...] = -1


@njit
def advance_blocks(
    streams: Streams, cells: Floats, period: int, rule: StreamRule, reference: Floats, run: float
) -> None:
    alone = not math.isnan(rule.known)
    for s in range(cells.shape[0]):
        pending = streams.pending[s]
        _add(pending, cells[s])
        has_one = pending[GROUP, 0] > 0 or pending[OTHER, 0] > 0
        closes = pending[GROUP, 0] >= rule.block and (alone or pending[OTHER, 0] >= rule.block)
        if not closes:
            if rule.block > 1:
                streams.waited[s] += 1 if has_one else 0
                streams.longest[s] = max(streams.longest[s], streams.waited[s])
            else:  # people of one period are compared with people of that period only
                streams.alone[s] += 1 if has_one else 0
                _empty(pending)
            continue
        _add_block(streams, s, pending, rule)
        if reference.size and not math.isnan(reference[s, 0]):
            watch_change(
                pending, streams.pooled[s], streams.change[s], streams.alarm[s], reference[s], period, run,
                rule.binary,
            )  # fmt: skip
        _learn(streams, s, pending)
        _note_top(streams, s, period, rule)
        streams.waited[s] = 0
        _empty(pending)


@njit
def _empty(pending: Floats) -> None:
    for side in range(2):
        for part in range(3):
            pending[side, part] = 0.0


@njit
def _add(into: Floats, cells: Floats) -> None:
    """By single numbers: adding whole arrays takes seconds to compile."""
    for side in range(2):
        for part in range(3):
            into[side, part] += cells[side, part]


@njit
def _add_block(streams: Streams, s: int, block: Floats, rule: StreamRule) -> None:
    """Both processes of one stream, with one more block."""
    n_a, n_b = block[GROUP, 0], block[OTHER, 0]
    alone = not math.isnan(rule.known)
    weight = n_a if alone else n_a * n_b / (n_a + n_b)
    if rule.binary and streams.blocks[s] > 0:
        _add_evidence(streams.learned[s], streams.evidence[s, :, 0], block, rule)
        _add_evidence(streams.recent[s], streams.evidence[s, :, 1], block, rule)
    first = streams.blocks[s] == 0
    if first:
        _add(streams.first[s], block)
    for side in range(1 if alone else 2):
        out = streams.opening[s] if first else streams.sums[s]
        _add_terms(
            out[2 * side : 2 * side + 2], block[side], weight, streams.learned[s, side], first, rule.binary
        )
    streams.blocks[s] += 1
    streams.weight[s] += weight
    streams.means[s, GROUP] += weight * block[GROUP, 1] / n_a
    if not alone:
        streams.means[s, OTHER] += weight * block[OTHER, 1] / n_b
    for side in range(2):
        for part in range(2):
            streams.counted[s, side, part] += block[side, part]


@njit
def _add_terms(out: Floats, side: Floats, weight: float, learned: Floats, first: bool, binary: bool) -> None:
    """The terms of one side's block at every bet, up and down."""
    n, total, squares = side[0], side[1], side[2]
    centre = (learned[1] + 0.5) / (learned[0] + 1.0)
    for j in range(BETS.size):
        bet = BETS[j] * weight / n
        if first and binary:
            out[0, j] += split_term(bet, n, total)
            out[1, j] += split_term(-bet, n, total)
        else:
            out[0, j] += term(bet, n, total, squares, centre, binary)
            out[1, j] += term(-bet, n, total, squares, centre, binary)


@njit
def _add_evidence(learned: Floats, out: Floats, block: Floats, rule: StreamRule) -> None:
    """The factors of one learner against both ends of the band."""
    n_a, k_a, n_b, k_b = block[GROUP, 0], block[GROUP, 1], block[OTHER, 0], block[OTHER, 1]
    theta_a = (learned[GROUP, 1] + 0.5) / (learned[GROUP, 0] + 1.0)
    if not math.isnan(rule.known):
        low = rule.known * rule.low if rule.ratio else rule.known + rule.low
        high = rule.known * rule.high if rule.ratio else rule.known + rule.high
        out[LOWER] += one_sample_factor(1.0 - theta_a, n_a, n_a - k_a, 1.0 - low)
        out[UPPER] += one_sample_factor(theta_a, n_a, k_a, high)
        return
    theta_b = (learned[OTHER, 1] + 0.5) / (learned[OTHER, 0] + 1.0)
    share = n_a / (n_a + n_b) if rule.overall else 0.0
    if not rule.ratio:
        low, high = rule.low / (1.0 - share), rule.high / (1.0 - share)
        out[LOWER] += two_sample_factor(theta_b, theta_a, n_b, k_b, n_a, k_a, 1.0, -low)
        out[UPPER] += two_sample_factor(theta_a, theta_b, n_a, k_a, n_b, k_b, 1.0, high)
        return
    if rule.low > 0.0 and rule.low * share < 1.0:
        low = rule.low * (1.0 - share) / (1.0 - rule.low * share)
        out[LOWER] += two_sample_factor(theta_b, theta_a, n_b, k_b, n_a, k_a, 1.0 / low, 0.0)
    if rule.high * share < 1.0:
        high = rule.high * (1.0 - share) / (1.0 - rule.high * share)
        out[UPPER] += two_sample_factor(theta_a, theta_b, n_a, k_a, n_b, k_b, high, 0.0)


@njit
def _learn(streams: Streams, s: int, block: Floats) -> None:
    for side in range(2):
        for part in range(2):
            streams.learned[s, side, part] += block[side, part]
            streams.recent[s, side, part] = FORGETS * streams.recent[s, side, part] + block[side, part]


@njit
def _note_top(streams: Streams, s: int, period: int, rule: StreamRule) -> None:
    """The largest e-value so far and when the level was first reached."""
    now = side_evidence(streams.evidence[s], rule.sides)
    if now > streams.top[s]:
        streams.top[s] = now
    if streams.crossed[s] < 0 and now >= rule.level:
        streams.crossed[s] = period


@njit
def log_mean_of_two(first: float, second: float) -> float:
    """The logarithm of the mean of two e-values from theirs."""
    peak = max(first, second)
    return peak + math.log(0.5 * (math.exp(first - peak) + math.exp(second - peak)))


@njit
def side_evidence(evidence: Floats, sides: int) -> float:
    """The e-value of one stream: the mean of its learners, and of both sides where both are watched."""
    below = log_mean_of_two(evidence[LOWER, 0], evidence[LOWER, 1])
    above = log_mean_of_two(evidence[UPPER, 0], evidence[UPPER, 1])
    if sides == LOWER:
        return below
    return above if sides == UPPER else log_mean_of_two(below, above)
