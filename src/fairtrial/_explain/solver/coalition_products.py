"""Products of n × 2^N coalition decisions with coefficients and weights, in blocks or by counting.

Variances are made from these products: in 32 bits they would have six digits, and others on another processor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial._explain.solver.esl import Floats, coalition_sizes
from fairtrial._work.compiled import njit

Decisions = NDArray[np.uint8] | NDArray[np.float64]
Multiply = Callable[[NDArray[np.intp], Floats], tuple[Floats, Floats]]

# Decisions are widened to floats in blocks of about this many numbers, so memory does not grow with n·2^N.
BLOCK_NUMBERS = 2_000_000
# Sums of zeros and ones stay exact in 32-bit floats below this many rows per block sum.
EXACT_ROWS = 2**24
# From this many players on, counting by size beats the product; fewer are not worth loading a compiler for.
COUNTED_PLAYERS = 10


def row_products(decisions: Decisions, coefficients: Floats) -> Multiply:
    """Rows and their weights to (decisions[rows] @ cᵀ, weight @ decisions[rows]), c being flat over its first axes."""
    counted = _by_counting(decisions, coefficients)
    if counted is not None:
        return counted
    lines = coefficients.reshape(-1, coefficients.shape[-1])

    def multiply(rows: NDArray[np.intp], weight: Floats) -> tuple[Floats, Floats]:
        result = np.empty((rows.size, lines.shape[0]))
        return result, linear_forms(decisions, lines, rows, result, weight)

    return multiply


def _by_counting(decisions: Decisions, coefficients: Floats) -> Multiply | None:
    """The same without rounding, where coefficients depend on a coalition's size and on who is in it alone."""
    values, players, _ = coefficients.shape
    if players < COUNTED_PLAYERS or decisions.dtype != np.uint8 or not decisions.flags.c_contiguous:
        return None

    rule = size_rule(coefficients)
    if rule is None:
        return None

    def multiply(rows: NDArray[np.intp], weight: Floats) -> tuple[Floats, Floats]:
        result = np.empty((rows.size, values * players))
        return result, counted_forms(decisions.view(np.uint8), rule, rows, weight, result)

    return multiply


def weighted_sums(decisions: Decisions, weights: Floats) -> Floats:
    """weights @ decisions; exact for 0/1 decisions under weights of −1, 0 and 1, also in 32 bits."""
    total = np.zeros((weights.shape[0], decisions.shape[1]))
    used = np.flatnonzero((weights != 0).any(axis=0))
    small = decisions.dtype == np.uint8 and bool(((weights == 0) | (np.abs(weights) == 1)).all())
    kind = np.float32 if small and used.size < EXACT_ROWS else np.float64
    busy = np.flatnonzero((weights != 0).any(axis=1))
    if used.size and busy.size:
        for block in _blocks(used, decisions.shape[1]):
            left: NDArray[np.floating] = weights[np.ix_(busy, block)].astype(kind)
            total[busy] += left @ _widen(decisions, block, kind)
    return total


def linear_forms(
    decisions: Decisions,
    lines: Floats,
    rows: NDArray[np.intp],
    result: Floats,
    weight: Floats | None = None,
) -> Floats:
    """result = decisions[rows] @ linesᵀ; returns weight @ decisions[rows], from the same pass."""
    right = np.ascontiguousarray(lines.T)
    total = np.zeros(decisions.shape[1])
    done = 0
    for block in _blocks(rows, decisions.shape[1]):
        wide = _widen(decisions, block, np.float64)
        np.matmul(wide, right, out=result[done : done + block.size])
        if weight is not None:
            total += weight[done : done + block.size] @ wide
        done += block.size
    return total


def _blocks(rows: NDArray[np.intp], columns: int) -> list[NDArray[np.intp]]:
    size = max(1, BLOCK_NUMBERS // max(1, columns))
    return [rows[start : start + size] for start in range(0, rows.size, size)]


def _widen(decisions: Decisions, rows: NDArray[np.intp], kind: type[np.floating]) -> NDArray[np.floating]:
    """Rows as floats; a run of consecutive rows is sliced, which is much faster than picking."""
    if rows.size and rows[-1] - rows[0] + 1 == rows.size:
        return decisions[rows[0] : rows[-1] + 1].astype(kind)
    return decisions[rows].astype(kind)


# -- Rows' forms Σ_S c_k(S)·Ŷ_iS by counting, where c_k(S) depends on |S| and on whether k ∈ S alone. That
# holds for every ESL value and for leaving one player out. A row then needs only the numbers of its
# coalitions that decide 1, by size and by size and member: small whole numbers, found exactly by counting
# the bits of 64 coalitions at a time, instead of a product with 2^N coefficients per value and player.

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]

# A machine word holds the 2^6 coalitions of the first six players, their sizes 0 … 6.
LOW = 6
SIZES = LOW + 1
# Bit patterns of a word: its coalitions by size, one empty, then sizes 1 … 5 with each of the six players.
WITH_PLAYER = SIZES + 1
PATTERNS = 40  # the last two empty: loops of a fixed length are unrolled

# Eight bytes of 0 or 1, times this, have their bits side by side in the highest byte.
PACK = np.uint64(0x0102040810204080)
# Four counts share a word, 16 bits each: enough for 20 players, C(13, 6)·C(6, 3) = 34,320.
LANE = 16
FIRST_LANES = 4
LANE_BITS = np.uint64(0xFFFF)
# Column sums are kept in bytes for this many rows.
BYTE_ROWS = 255


class SizeRule(NamedTuple):
    """c_k(S) = inside[|S|] if k ∈ S, else outside[|S|], for every value (rows); `first` is the first mask."""

    inside: Floats
    outside: Floats
    first: int


class WordLayout(NamedTuple):
    """How coalitions lie in machine words: patterns within a word, sizes of words, and words by player and size."""

    patterns: Words
    size: Integers
    having: Integers
    start: Integers


def size_rule(coefficients: Floats) -> SizeRule | None:
    """The rule behind coefficients (values, players, coalitions) in mask order, with or without the empty one."""
    values, players, columns = coefficients.shape
    first = (1 << players) - columns
    if first not in (0, 1) or players < LOW or sys.byteorder != "little":
        return None  # words are packed as little-endian machines read them
    masks = np.arange(first, 1 << players, dtype=np.int64)
    sizes = coalition_sizes(masks, players)
    inside, outside = np.zeros((values, players + 1)), np.zeros((values, players + 1))
    leading = np.left_shift(1, np.arange(players + 1)) - 1 - first  # the column of the first s players
    inside[:, 1:] = coefficients[:, 0, leading[1:]]
    outside[:, first:players] = coefficients[:, -1, leading[first:players]]
    member = ((masks[None, :] >> np.arange(players)[:, None]) & 1).astype(bool)
    expected = np.where(member[None], inside[:, None, sizes], outside[:, None, sizes])
    return SizeRule(inside, outside, first) if np.array_equal(expected, coefficients) else None


def counted_forms(
    decisions: NDArray[np.uint8], rule: SizeRule, rows: NDArray[np.intp], weight: Floats, result: Floats
) -> Floats:
    """result = decisions[rows] @ cᵀ, flat over values and players; returns weight @ decisions[rows]."""
    players = rule.inside.shape[1] - 1
    total = np.zeros(1 << players)
    size = coalition_sizes(np.arange(1 << (players - LOW)), players - LOW)
    shaped = result.reshape(rows.size, rule.inside.shape[0], players)
    layout = WordLayout(_patterns(), size, *_words_with_player(size))
    _count(decisions, rows, weight, layout, rule, shaped, total)
    return total[rule.first :]


def _patterns() -> Words:
    """The bits of a word's coalitions by size, then by size and player."""
    masks = np.arange(1 << LOW)
    sizes = coalition_sizes(masks, LOW)
    bits = np.left_shift(np.uint64(1), masks.astype(np.uint64))
    by_size = [bits[sizes == s].sum() for s in range(SIZES)]
    by_player = [bits[(sizes == s) & (masks >> k & 1 == 1)].sum() for s in range(1, LOW) for k in range(LOW)]
    return np.array([*by_size, 0, *by_player, 0, 0], dtype=np.uint64)


def _words_with_player(size: Integers) -> tuple[Integers, Integers]:
    """For each player beyond the first six: the words of coalitions with that player by size, and where sizes start."""
    players = size.size.bit_length() - 1
    words = np.arange(size.size)
    having = [words[words >> k & 1 == 1] for k in range(players)]
    ordered = [part[np.argsort(size[part], kind="stable")] for part in having]
    starts = [np.searchsorted(size[part], np.arange(players + 2)) for part in ordered]
    shape = (players, size.size // 2)
    return np.array(ordered, dtype=np.int64).reshape(shape), np.array(starts, dtype=np.int64).reshape(
        players, players + 2
    )


@njit
def _ones(word: np.uint64) -> np.uint64:
    """The number of bits set, in the form that compilers turn into one instruction."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.uint64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


# Slices instead of sums of indices: an index that might be negative keeps a loop from being vectorised.
@njit
def _pack(eights: Words, words: Words) -> None:
    """64 bytes of 0 or 1 to one word."""
    for h in range(words.size):
        part = eights[h * 8 : h * 8 + 8]
        word = np.uint64(0)
        for p in range(8):
            word |= ((part[p] * PACK) >> np.uint64(56)) << np.uint64(8 * p)
        words[h] = word


@njit
def _count_first_players(words: Words, patterns: Words, size: Integers, low: Integers) -> None:
    """low[size of the rest] = how many coalitions decide 1, per pattern."""
    for h in range(words.size):
        word = words[h]
        line = low[size[h]]
        for m in range(PATTERNS):
            line[m] += np.int64(_ones(word & patterns[m]))


@njit
def _count_other_players(
    words: Words, patterns: Words, having: Integers, start: Integers, lanes: Words, high: Integers
) -> None:
    """high[player, size of the rest] = how many coalitions with the player decide 1, by size of the first six."""
    for h in range(words.size):
        word = words[h]
        first, second = np.uint64(0), np.uint64(0)
        for s in range(FIRST_LANES):
            first |= _ones(word & patterns[s]) << np.uint64(LANE * s)
            second |= _ones(word & patterns[s + FIRST_LANES]) << np.uint64(LANE * s)
        lanes[h, 0] = first
        lanes[h, 1] = second
    for k in range(having.shape[0]):
        places = having[k]
        for size in range(start.shape[1] - 1):
            first, second = np.uint64(0), np.uint64(0)
            for j in range(start[k, size], start[k, size + 1]):
                first += lanes[places[j], 0]
                second += lanes[places[j], 1]
            line = high[k, size]
            for s in range(FIRST_LANES):
                line[s] = np.int64((first >> np.uint64(LANE * s)) & LANE_BITS)
                line[s + FIRST_LANES] = np.int64((second >> np.uint64(LANE * s)) & LANE_BITS)


@njit
def _by_size_and_member(low: Integers, high: Integers, everyone: Integers, member: Integers) -> None:
    """everyone[s] and member[s, k]: coalitions of size s that decide 1, and those of them with player k."""
    everyone[:] = 0
    member[:] = 0
    for rest in range(low.shape[0]):
        line = low[rest]
        for s in range(SIZES):
            everyone[rest + s] += line[s]
            counts = member[rest + s]
            others = counts[LOW:]
            for k in range(others.size):
                others[k] += high[k, rest, s]
            if s == LOW:  # all of the first six
                for k in range(LOW):
                    counts[k] += line[LOW]
            elif s > 0:
                with_player = line[WITH_PLAYER + (s - 1) * LOW : WITH_PLAYER + s * LOW]
                for k in range(LOW):
                    counts[k] += with_player[k]


@njit
def _combine(
    everyone: Integers, member: Integers, gain: Floats, outside: Floats, counts: Floats, result: Floats
) -> None:
    """result[v, k] = Σ_s outside[v, s]·everyone[s] + (inside − outside)[v, s]·member[s, k]."""
    counts[:] = member
    for v in range(gain.shape[0]):
        alone = 0.0
        for s in range(everyone.size):
            alone += outside[v, s] * everyone[s]
        line = result[v]
        line[:] = alone
        for s in range(everyone.size):
            factor, count = gain[v, s], counts[s]
            for k in range(line.size):
                line[k] += factor * count[k]


@njit
def _flush(total: Floats, weight: float, pending: NDArray[np.uint8]) -> None:
    for j in range(total.size):
        total[j] += weight * pending[j]
    pending[:] = 0


@njit
def _count(
    decisions: NDArray[np.uint8],
    rows: NDArray[np.intp],
    weight: Floats,
    layout: WordLayout,
    rule: SizeRule,
    result: Floats,
    total: Floats,
) -> None:
    patterns, size, having, start = layout
    inside, outside, first = rule
    gain = inside - outside
    players = result.shape[2]
    row = np.zeros(total.size, dtype=np.uint8)
    pending = np.zeros(total.size, dtype=np.uint8)
    eights = row.view(np.uint64)
    words = np.zeros(size.size, dtype=np.uint64)
    lanes = np.zeros((size.size, 2), dtype=np.uint64)
    low = np.zeros((players - LOW + 1, patterns.size), dtype=np.int64)
    high = np.zeros((players - LOW, players - LOW + 1, 2 * FIRST_LANES), dtype=np.int64)
    everyone = np.zeros(players + 1, dtype=np.int64)
    member = np.zeros((players + 1, players), dtype=np.int64)
    counts = np.zeros((players + 1, players))
    waiting = 0
    for i in range(rows.size):
        given = decisions[rows[i]]
        filled = row[first:]
        for j in range(given.size):
            filled[j] = given[j]
        if waiting == BYTE_ROWS or (waiting > 0 and weight[i] != weight[i - 1]):
            _flush(total, weight[i - 1], pending)
            waiting = 0
        for j in range(row.size):
            pending[j] += row[j]
        waiting += 1
        _pack(eights, words)
        low[:] = 0
        _count_first_players(words, patterns, size, low)
        _count_other_players(words, patterns, having, start, lanes, high)
        _by_size_and_member(low, high, everyone, member)
        _combine(everyone, member, gain, outside, counts, result[i])
    if waiting > 0:
        _flush(total, weight[rows.size - 1], pending)
