"""The best subgroups so far, and what the searches of all kinds know of the cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial._scan.solver.arrays import BoolArray, FloatArray, IntArray
from fairtrial._scan.solver.score import CellList
from fairtrial._work.compiled import njit

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
