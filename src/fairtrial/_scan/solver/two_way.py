"""Sums by the values of every two attributes, in one pass over the cells, and the best subgroup in such tables.

Where attributes are many, a draw's tables and its search cost more than everything else: both are compiled. A set of
values of the enumerated attribute leaves one sum per value of the other, which is solved; a set is passed over where
even the sum of those values' own peaks cannot reach what was found before (F of a union is at most the sum of F).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairtrial._scan.solver.joint import joint_sets, tables_of
from fairtrial._scan.solver.scan_table import BoolArray, Codes, FloatArray, IntArray, as_codes
from fairtrial._scan.solver.value_sets import MOST_ENUMERATED, Attribute
from fairtrial._work.compiled import njit

NOTHING = 1e-12  # a variance below which a score is 0
BETTER = 1e-9
ROUNDS = 20
MOST_JOINT = 4_096  # combinations of values of a table that tables of two are taken from


class AttributePairs(NamedTuple):
    """Every two attributes: where their table starts, which of them is enumerated, and whether that is a proof."""

    arity: IntArray
    ordered: BoolArray
    apart: IntArray
    start: IntArray  # of the table of attributes i < j
    size: int
    enumerated: IntArray  # of attributes i < j: 0 the first, 1 the second, -1 both in turn


def pairs_of(attributes: tuple[Attribute, ...]) -> AttributePairs:
    """The attribute with fewer sets is enumerated; two long unordered ones are solved in turn."""
    count = len(attributes)
    start = np.zeros((count, count), dtype=np.int64)
    enumerated = np.zeros((count, count), dtype=np.int64)
    size = 0
    for i in range(count):
        for j in range(i + 1, count):
            start[i, j] = size
            size += attributes[i].values * attributes[j].values
            enumerated[i, j] = int(attributes[j].count < attributes[i].count)
            long = [
                not one.ordered and one.values > MOST_ENUMERATED for one in (attributes[i], attributes[j])
            ]
            if all(long):
                enumerated[i, j] = -1
    return AttributePairs(
        arity=np.array([one.values for one in attributes], dtype=np.int64),
        ordered=np.array([one.ordered for one in attributes], dtype=np.bool_),
        apart=np.array([one.apart for one in attributes], dtype=np.int64),
        start=start,
        size=size,
        enumerated=enumerated,
    )


def two_way_tables(pairs: AttributePairs, codes: Codes, numbers: FloatArray) -> FloatArray:
    """One column per draw of `numbers`, which has one row per draw; four draws at a time."""
    draws, cells = numbers.shape
    arity = tuple(pairs.arity.tolist())
    sets = joint_sets(arity, 2, min(MOST_JOINT, cells // 16))
    found = np.empty((pairs.size, draws))
    for first in range(0, draws, 4):
        part = numbers[first : first + 4]
        for own, table in tables_of(codes, arity, sets, part):
            begin = pairs.start[own]
            found[begin : begin + arity[own[0]] * arity[own[1]], first : first + 4] = table.reshape(
                -1, len(part)
            )
    return found


def best_in_tables(
    pairs: AttributePairs, gain: FloatArray, variance: FloatArray, penalty: float
) -> FloatArray:
    """The best penalised score of every draw over all subgroups that restrict at most two attributes."""
    answer = np.empty(gain.shape[1])
    for draw in range(gain.shape[1]):
        own = variance[:, 0 if variance.shape[1] == 1 else draw]
        answer[draw] = _best(pairs, np.ascontiguousarray(gain[:, draw]), np.ascontiguousarray(own), penalty)
    return answer


def best_of_pair(
    pairs: AttributePairs, i: int, j: int, gain: FloatArray, variance: FloatArray, penalty: float
) -> float:
    """The best penalised score of one problem over two of the attributes."""
    return float(_best_pair(pairs, i, j, gain, variance, penalty, -np.inf))


@njit
def _best(pairs: AttributePairs, gain: FloatArray, variance: FloatArray, penalty: float) -> float:
    attributes = pairs.arity.shape[0]
    best = -np.inf
    for i in range(attributes):  # what is found quickly first: it lets most of the sets be passed over
        for j in range(i + 1, attributes):
            total, spread = _table(pairs, i, j, gain), _table(pairs, i, j, variance)
            best = max(best, _in_turn(pairs, i, j, total, spread, penalty))
    for i in range(attributes):
        for j in range(i + 1, attributes):
            if pairs.enumerated[i, j] >= 0:
                best = _best_pair(pairs, i, j, gain, variance, penalty, best)
    return best


@njit
def _best_pair(
    pairs: AttributePairs, i: int, j: int, gain: FloatArray, variance: FloatArray, penalty: float, best: float
) -> float:
    """The better of `best` and the best subgroup of two attributes."""
    total, spread = _table(pairs, i, j, gain), _table(pairs, i, j, variance)
    which = pairs.enumerated[i, j]
    if which < 0:
        return max(best, _in_turn(pairs, i, j, total, spread, penalty))
    outer, inner = i, j
    if which == 1:
        total, spread = np.ascontiguousarray(total.T), np.ascontiguousarray(spread.T)
        outer, inner = j, i
    if pairs.ordered[outer]:
        return _over_ranges(pairs, outer, inner, total, spread, penalty, best)
    return _over_sets(pairs, outer, inner, total, spread, penalty, best)


@njit
def _table(pairs: AttributePairs, i: int, j: int, numbers: FloatArray) -> FloatArray:
    first, size = pairs.start[i, j], pairs.arity[i] * pairs.arity[j]
    return numbers[first : first + size].reshape((pairs.arity[i], pairs.arity[j]))


@njit
def _over_sets(
    pairs: AttributePairs,
    outer: int,
    inner: int,
    total: FloatArray,
    spread: FloatArray,
    penalty: float,
    best: float,
) -> float:
    """Every set of an unordered attribute's values: counting up, only what changes is added."""
    values, others = total.shape
    sums, spreads = np.zeros((values + 1, others)), np.zeros((values + 1, others))
    above = np.full(values + 1, values)  # where the sum over the values from a place on is kept
    everything = 2**values - 1
    for mask in range(1, everything + 1):
        place = 0
        while (mask >> place) & 1 == 0:
            place += 1
        kept = above[place + 1]
        for v in range(others):
            sums[place, v] = sums[kept, v] + total[place, v]
            spreads[place, v] = spreads[kept, v] + spread[place, v]
        above[: place + 1] = place
        listed = 0
        if mask != everything:
            for bit in range(values):
                listed += (mask >> bit) & 1
        best = _solved(pairs, inner, sums[place], spreads[place], penalty, penalty * listed, best)
    return best


@njit
def _over_ranges(
    pairs: AttributePairs,
    outer: int,
    inner: int,
    total: FloatArray,
    spread: FloatArray,
    penalty: float,
    best: float,
) -> float:
    """Every range of an ordered attribute's values, the values apart from the order, and all of them."""
    values, others = total.shape
    within = values - pairs.apart[outer]
    sums, spreads = np.zeros(others), np.zeros(others)
    for low in range(within):
        sums[:], spreads[:] = 0.0, 0.0
        for high in range(low, within):
            sums += total[high]
            spreads += spread[high]
            price = 0.0 if high - low + 1 == values else penalty
            best = _solved(pairs, inner, sums, spreads, penalty, price, best)
    if within < values:
        for low in (within, 0):
            sums[:], spreads[:] = 0.0, 0.0
            for value in range(low, values):
                sums += total[value]
                spreads += spread[value]
            price = 0.0 if low == 0 else penalty
            best = _solved(pairs, inner, sums, spreads, penalty, price, best)
    return best


@njit
def _solved(
    pairs: AttributePairs,
    inner: int,
    gain: FloatArray,
    variance: FloatArray,
    penalty: float,
    price: float,
    best: float,
) -> float:
    """The better of `best` and the best set of the inner attribute, less the price of the outer one."""
    total, spread, reach = 0.0, 0.0, 0.0
    each = 0.0 if pairs.ordered[inner] else penalty
    for v in range(gain.shape[0]):
        total += gain[v]
        spread += variance[v]
        if gain[v] > 0.0:
            if variance[v] <= NOTHING:
                reach = np.inf
            else:
                reach += max(0.0, gain[v] * gain[v] / (2.0 * variance[v]) - each)
    everyone = _scored(total, spread)
    if pairs.ordered[inner]:
        reach -= penalty
    best = max(best, everyone - price)
    if reach - price <= best:
        return best
    if pairs.ordered[inner]:
        found, _, _ = _best_range(gain, variance, pairs.apart[inner], penalty)
    else:
        found = _best_set(gain, variance, penalty, np.zeros(gain.shape[0], dtype=np.bool_))
    return max(best, found - price)


@njit
def _scored(gain: float, variance: float) -> float:
    if gain <= 0.0 or variance <= NOTHING:
        return 0.0
    return gain * gain / (2.0 * variance)


@njit
def _best_range(gain: FloatArray, variance: FloatArray, apart: int, penalty: float) -> tuple[float, int, int]:
    """The best restricted range of an ordered attribute, or what stands apart; from where to where."""
    within = gain.shape[0] - apart
    best, first, last = -np.inf, 0, 0
    for low in range(within):
        total, spread = 0.0, 0.0
        for high in range(low, within):
            total += gain[high]
            spread += variance[high]
            score = _scored(total, spread) - penalty
            if score > best and high - low + 1 < gain.shape[0]:
                best, first, last = score, low, high
    if apart and within:
        score = _scored(gain[within:].sum(), variance[within:].sum()) - penalty
        if score > best:
            best, first, last = score, within, gain.shape[0] - 1
    return best, first, last


@njit
def _best_set(gain: FloatArray, variance: FloatArray, penalty: float, chosen: BoolArray) -> float:
    """The best restricted set of an unordered attribute: values enter and leave as θ grows (see best_sets)."""
    values = gain.shape[0]
    at = np.empty(2 * values)
    who = np.empty(2 * values, dtype=np.int64)
    events = 0
    for v in range(values):
        if gain[v] > 0.0 and variance[v] > 0.0 and gain[v] * gain[v] > 2.0 * penalty * variance[v]:
            root = np.sqrt(gain[v] * gain[v] - 2.0 * penalty * variance[v])
            at[events], who[events] = (gain[v] - root) / variance[v], v
            at[events + 1], who[events + 1] = (gain[v] + root) / variance[v], -1 - v
            events += 2
    order = np.argsort(at[:events], kind="mergesort")
    total, spread, held = 0.0, 0.0, 0
    best, until = -np.inf, -1
    for number in range(events):
        v = who[order[number]]
        sign = 1 if v >= 0 else -1
        v = v if v >= 0 else -1 - v
        total, spread, held = total + sign * gain[v], spread + sign * variance[v], held + sign
        if held > 0:
            score = _scored(total, spread) - penalty * held
            if score > best:
                best, until = score, number
    chosen[:] = False
    for number in range(until + 1):
        v = who[order[number]]
        if v >= 0:
            chosen[v] = True
        else:
            chosen[-1 - v] = False
    return best


@njit
def _in_turn(
    pairs: AttributePairs, i: int, j: int, total: FloatArray, spread: FloatArray, penalty: float
) -> float:
    """Two attributes solved in turn, from all values: what it comes to."""
    best, held = -np.inf, 0
    first = np.ones(total.shape[0], dtype=np.bool_)
    second = np.ones(total.shape[1], dtype=np.bool_)
    for number in range(ROUNDS):
        turn = number % 2
        other = second if turn == 0 else first
        attribute = i if turn == 0 else j
        gain, variance = _summed(total, other, turn), _summed(spread, other, turn)
        chosen = np.ones(gain.shape[0], dtype=np.bool_)
        held = _listed(pairs, j if turn == 0 else i, other)
        score = _best_values(pairs, attribute, gain, variance, penalty, chosen) - penalty * held
        if score > best + BETTER:
            best = score
            if turn == 0:
                first = chosen
            else:
                second = chosen
        elif number > 0:
            break
    return best


@njit
def _best_values(
    pairs: AttributePairs,
    attribute: int,
    gain: FloatArray,
    variance: FloatArray,
    penalty: float,
    chosen: BoolArray,
) -> float:
    """The best set of one attribute's values, all of them included."""
    everyone = _scored(gain.sum(), variance.sum())
    if pairs.ordered[attribute]:
        found, low, high = _best_range(gain, variance, pairs.apart[attribute], penalty)
        chosen[:] = False
        chosen[low : high + 1] = True
    else:
        found = _best_set(gain, variance, penalty, chosen)
    if everyone >= found - BETTER * (1.0 + abs(everyone)):
        chosen[:] = True
        return everyone
    return found


@njit
def _listed(pairs: AttributePairs, attribute: int, values: BoolArray) -> int:
    held = 0
    for admitted in values:
        held += 1 if admitted else 0
    if held == values.shape[0]:
        return 0
    return 1 if pairs.ordered[attribute] else held


@njit
def _summed(table: FloatArray, other: BoolArray, turn: int) -> FloatArray:
    """Sums over the other attribute's admitted values."""
    rows, columns = table.shape
    found = np.zeros(rows if turn == 0 else columns)
    for row in range(rows):
        for column in range(columns):
            if other[column if turn == 0 else row]:
                found[row if turn == 0 else column] += table[row, column]
    return found


class WideSearch:
    """All subgroups that restrict at most two attributes, from the tables of every two."""

    def __init__(self, attributes: tuple[Attribute, ...], codes: IntArray | Codes, penalty: float) -> None:
        self.pairs, self.codes, self.penalty = pairs_of(attributes), as_codes(codes), penalty
        self._spread: tuple[FloatArray, FloatArray] | None = None  # the last variance and its tables

    def maxima(self, gain: FloatArray, variance: FloatArray, sides: tuple[int, ...] = (1,)) -> FloatArray:
        """The best penalised score of every draw (one row each), on the sides above (1) or below (-1)."""
        tables, spread = two_way_tables(self.pairs, self.codes, gain), self._spread_tables(variance)
        found = [best_in_tables(self.pairs, side * tables, spread, self.penalty) for side in sides]
        return np.asarray(np.max(found, axis=0))

    def _spread_tables(self, variance: FloatArray) -> FloatArray:
        """Tables of the variances; where they are the same in all draws they are made once."""
        known = self._spread
        if known is not None and np.array_equal(known[0], variance):
            return known[1]
        tables = two_way_tables(self.pairs, self.codes, variance)
        if len(variance) == 1:
            self._spread = variance, tables
        return tables

    def reach(self, gain: FloatArray, variance: FloatArray) -> dict[tuple[int, ...], float]:
        """The best score of one problem over each two attributes."""
        totals = two_way_tables(self.pairs, self.codes, gain[None])[:, 0].copy()
        spreads = self._spread_tables(variance[None])[:, 0].copy()
        count = len(self.pairs.arity)
        return {
            (i, j): best_of_pair(self.pairs, i, j, totals, spreads, self.penalty)
            for i in range(count)
            for j in range(i + 1, count)
        }
