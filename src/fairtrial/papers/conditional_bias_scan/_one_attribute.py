"""One exact step of the search: the best set of values of a single attribute."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial._scan.solver.scan_table import BoolArray, FloatArray, IntArray
from fairtrial._work.compiled import njit
from fairtrial.papers.conditional_bias_scan._score import (
    CellList,
    CellNumbers,
    penalty_roots,
    set_peak,
    set_rises_at,
)

# -- The best subgroups so far, and what the searches of all kinds know of the cells.
# Scores closer than this (relative) are ties, and ties go to the simpler subgroup.
TIE = 1e-9


class SearchSpace(NamedTuple):
    """The attributes' values of every cell, what a listed value costs, keys whose sums tell sets of cells apart,
    and which attributes are searched as ranges.
    """

    codes: IntArray
    arity: IntArray
    penalty: float
    keys: NDArray[np.uint64]
    ordered: BoolArray


class Ranking(NamedTuple):
    """The best subgroups, best first; empty places have the score −∞."""

    score: FloatArray
    theta: FloatArray
    listed: IntArray
    key: NDArray[np.uint64]
    values: BoolArray


@njit
def empty_ranking(places: int, arity: IntArray) -> Ranking:
    """A ranking with nothing in it."""
    return Ranking(
        np.full(places, -np.inf),
        np.zeros(places),
        np.zeros(places, dtype=np.int64),
        np.zeros(places, dtype=np.uint64),
        np.ones((places, arity.shape[0], arity.max()), dtype=np.bool_),
    )


@njit
def beats(score: float, listed: int, other: float, other_listed: int, margin: float) -> bool:
    """Whether a subgroup goes before another: a higher score, or as high a one with fewer listed values."""
    return score > other + margin or (score >= other - margin and listed < other_listed)


@njit
def keep(
    ranking: Ranking, score: float, theta: float, listed: int, key: np.uint64, values: BoolArray
) -> None:
    """Insert a subgroup into the ranking: distinct people, best score first, the simpler one on ties."""
    scores, listings = ranking.score, ranking.listed
    margin = TIE * (1.0 + abs(score))
    last = _place_of(ranking, key)
    if last < 0:
        last = scores.shape[0] - 1
    elif not beats(score, listed, scores[last], listings[last], margin):
        return
    position = last
    while position > 0 and beats(score, listed, scores[position - 1], listings[position - 1], margin):
        position -= 1
    occupied = scores[position] > -np.inf and ranking.key[position] != key
    if (
        position == last
        and occupied
        and not beats(score, listed, scores[position], listings[position], margin)
    ):
        return
    for place in range(last, position, -1):
        scores[place] = scores[place - 1]
        ranking.theta[place] = ranking.theta[place - 1]
        listings[place] = listings[place - 1]
        ranking.key[place] = ranking.key[place - 1]
        ranking.values[place] = ranking.values[place - 1]
    scores[position] = score
    ranking.theta[position] = theta
    listings[position] = listed
    ranking.key[position] = key
    ranking.values[position] = values


@njit
def _place_of(ranking: Ranking, key: np.uint64) -> int:
    """Where the same people already stand; −1 where they do not."""
    for place in range(ranking.score.shape[0]):
        if ranking.score[place] > -np.inf and ranking.key[place] == key:
            return place
    return -1


@njit
def key_of(space: SearchSpace, part: CellList, attribute: int, chosen: BoolArray) -> np.uint64:
    """One number for those cells of a list whose value of the attribute was chosen."""
    total = np.uint64(0)
    for position in range(part.first, part.last):
        c = part.cells[position]
        if chosen[space.codes[c, attribute]]:
            total += space.keys[c]
    return total


class Values(NamedTuple):
    """The cells in order of their value.

    Value v holds positions start[v]..start[v+1]-1, reaches peaks[v] alone, and is worth its penalty between the θ
    lower[v] and upper[v].
    """

    cells: IntArray
    start: IntArray
    peaks: FloatArray
    lower: FloatArray
    upper: FloatArray


@njit
def best_values(
    space: SearchSpace, numbers: CellNumbers, attribute: int, part: CellList, chosen: BoolArray
) -> tuple[float, float, int]:
    """The best set of values of one attribute, the others held fixed: (score, θ, number of listed values).

    For a fixed θ the best set holds the values with F_v(θ) > penalty; that set only changes at the roots
    of F_v(θ) = penalty, so one set per interval between roots has to be looked at. The set of *all*
    values costs no penalty and is a candidate of its own: without it the optimum can be missed.
    `chosen` receives the admitted values; 0 listed values means all.
    """
    arity, penalty = space.arity[attribute], space.penalty
    values = _grouped(space.codes, attribute, arity, part)
    best, best_theta = set_peak(numbers, CellList(values.cells, 0, part.last), 0.0, np.inf)
    best_listed = 0
    chosen[:arity] = True
    if space.ordered[attribute]:
        return _best_range(numbers, values, penalty, best, best_theta, chosen)
    promising, reachable = _find_peaks(numbers, values, penalty)
    if promising == 0 or reachable <= best - TIE * (1.0 + abs(best)):
        return best, best_theta, best_listed
    roots = _find_roots(numbers, values, penalty, promising)
    members = np.empty(part.last, dtype=np.int64)
    for interval in range(2 * promising - 1):
        left = roots[interval]
        right = roots[interval + 1]
        if not right > left:
            continue
        middle = left + 1.0 if right == np.inf else 0.5 * (left + right)
        bound, listed, count = _collect(values, penalty, middle, members)
        inside = CellList(members, 0, count)
        if not _may_win(listed, arity, bound, best) or not _turns_between(left, right, numbers, inside):
            continue
        peak, theta = set_peak(numbers, inside, left, right)
        score = peak - penalty * listed
        if beats(score, listed, best, best_listed, TIE * (1.0 + abs(best))):
            best = score
            best_theta = theta
            best_listed = listed
            inside_roots = (values.lower < middle) & (middle < values.upper)
            chosen[:arity] = (values.peaks > penalty) & inside_roots
    return best, best_theta, best_listed


@njit
def _may_win(listed: int, arity: int, bound: float, best: float) -> bool:
    return 0 < listed < arity and not bound < best - TIE * (1.0 + abs(best))


@njit
def _best_range(
    numbers: CellNumbers, values: Values, penalty: float, best: float, best_theta: float, chosen: BoolArray
) -> tuple[float, float, int]:
    """The best range of values: each is tried whose values' own peaks could win; all values cost nothing."""
    arity = values.peaks.shape[0]
    _find_peaks(numbers, values, penalty)
    listed = 0
    for low in range(arity):
        reach = -penalty
        for high in range(low, arity):
            reach += values.peaks[high]
            if high - low + 1 == arity or reach < best - TIE * (1.0 + abs(best)):
                continue
            part = CellList(values.cells, values.start[low], values.start[high + 1])
            peak, theta = set_peak(numbers, part, 0.0, np.inf)
            if beats(peak - penalty, 1, best, listed, TIE * (1.0 + abs(best))):
                best, best_theta, listed = peak - penalty, theta, 1
                for v in range(arity):
                    chosen[v] = low <= v <= high
    return best, best_theta, listed


@njit
def _grouped(codes: IntArray, attribute: int, arity: int, part: CellList) -> Values:
    """The cells by value; peaks and roots still to be found."""
    start = np.zeros(arity + 1, dtype=np.int64)
    for position in range(part.first, part.last):
        start[codes[part.cells[position], attribute] + 1] += 1
    for v in range(arity):
        start[v + 1] += start[v]
    cells = np.empty(part.last, dtype=np.int64)
    fill = start[:-1].copy()
    for position in range(part.first, part.last):
        c = part.cells[position]
        v = codes[c, attribute]
        cells[fill[v]] = c
        fill[v] += 1
    return Values(cells, start, np.zeros(arity), np.zeros(arity), np.zeros(arity))


@njit
def _find_peaks(numbers: CellNumbers, values: Values, penalty: float) -> tuple[int, float]:
    """How many values are worth their penalty alone, and what they could reach with a θ each."""
    start = values.start
    promising = 0
    reachable = 0.0
    for v in range(values.peaks.shape[0]):
        if start[v + 1] > start[v]:
            own = CellList(values.cells, start[v], start[v + 1])
            values.peaks[v] = set_peak(numbers, own, 0.0, np.inf)[0]
            if values.peaks[v] > penalty:
                promising += 1
                reachable += values.peaks[v] - penalty
    return promising, reachable


@njit
def _find_roots(numbers: CellNumbers, values: Values, penalty: float, promising: int) -> FloatArray:
    """Every θ at which the best set changes, in order."""
    roots = np.empty(2 * promising)
    k = 0
    for v in range(values.peaks.shape[0]):
        if values.peaks[v] > penalty:
            own = CellList(values.cells, values.start[v], values.start[v + 1])
            values.lower[v], values.upper[v] = penalty_roots(penalty, numbers, own)
            roots[k] = values.lower[v]
            roots[k + 1] = values.upper[v]
            k += 2
    roots.sort()
    return roots


@njit
def _worth(values: Values, v: int, penalty: float, theta: float) -> bool:
    """Whether value v is worth its penalty at θ."""
    return bool(values.peaks[v] > penalty and values.lower[v] < theta < values.upper[v])


@njit
def _collect(values: Values, penalty: float, theta: float, members: IntArray) -> tuple[float, int, int]:
    """The cells of the best set at θ: what it can reach at most, how many values and how many cells it has."""
    bound = 0.0
    listed = 0
    count = 0
    for v in range(values.peaks.shape[0]):
        if _worth(values, v, penalty, theta):
            bound += values.peaks[v] - penalty
            listed += 1
            for position in range(values.start[v], values.start[v + 1]):
                members[count] = values.cells[position]
                count += 1
    return bound, listed, count


@njit
def _turns_between(left: float, right: float, numbers: CellNumbers, part: CellList) -> bool:
    """Whether F turns from rising to falling inside the interval.

    A maximum on the border of the interval belongs to the neighbouring set as well; only sets that turn inside their
    own interval can hold the optimum.
    """
    if set_rises_at(left, numbers, part) < 0.0:
        return False
    return not (right < np.inf and set_rises_at(right, numbers, part) > 0.0)
