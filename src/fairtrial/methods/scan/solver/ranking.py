"""The best subgroups so far, and what the searches of all kinds know of the cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial.work.compiled import njit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

# Scores closer than this (relative) are ties, and ties go to the simpler subgroup.
TIE = 1e-9


class SearchSpace(NamedTuple):
    """The attributes' values of every cell, what a listed value costs, and keys whose sums tell sets of cells apart."""

    codes: IntArray
    arity: IntArray
    penalty: float
    keys: NDArray[np.uint64]


class Ranking(NamedTuple):
    """The best subgroups, best first; empty places have the score −∞."""

    score: FloatArray
    theta: FloatArray
    listed: IntArray
    key: NDArray[np.uint64]
    values: BoolArray


def empty_ranking(places: int, arity: IntArray) -> Ranking:
    """A ranking with nothing in it."""
    return Ranking(
        score=np.full(places, -np.inf),
        theta=np.zeros(places),
        listed=np.zeros(places, dtype=np.int64),
        key=np.zeros(places, dtype=np.uint64),
        values=np.ones((places, len(arity), int(arity.max())), dtype=np.bool_),
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
    places = scores.shape[0]
    margin = TIE * (1.0 + abs(score))
    last = places - 1
    for place in range(places):
        if scores[place] > -np.inf and ranking.key[place] == key:
            if not beats(score, listed, scores[place], listings[place], margin):
                return
            last = place
            break
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
def key_of(cells: IntArray, count: int, keys: NDArray[np.uint64]) -> np.uint64:
    """One number for a set of cells."""
    total = np.uint64(0)
    for position in range(count):
        total += keys[cells[position]]
    return total
