"""The best subgroup without proof: coordinate ascent from many starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.scan.solver.one_attribute import best_values
from fairtrial.methods.scan.solver.ranking import TIE, Ranking, SearchSpace, keep, key_of
from fairtrial.methods.scan.solver.score import CellList, CellNumbers
from fairtrial.work.compiled import njit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@njit
def climb(
    space: SearchSpace, numbers: CellNumbers, restarts: int, generator: np.random.Generator, ranking: Ranking
) -> None:
    """Coordinate ascent (Algorithm 1): from all values first, then from random subsets."""
    values = np.ones(ranking.values.shape[1:], dtype=np.bool_)
    listed = np.zeros(space.arity.shape[0], dtype=np.int64)
    for restart in range(restarts):
        values[:] = True
        listed[:] = 0
        if restart > 0:
            _random_start(space.arity, generator, values, listed)
        _ascend(space, numbers, generator, values, listed, ranking)


@njit
def _random_start(
    arity: IntArray, generator: np.random.Generator, values: BoolArray, listed: IntArray
) -> None:
    """A random non-empty set of values for every attribute."""
    for j in range(arity.shape[0]):
        kept = 0
        while kept == 0:
            for v in range(arity[j]):
                values[j, v] = generator.random() < 0.5
                kept += values[j, v]
        listed[j] = 0 if kept == arity[j] else kept


@njit
def _ascend(
    space: SearchSpace,
    numbers: CellNumbers,
    generator: np.random.Generator,
    values: BoolArray,
    listed: IntArray,
    ranking: Ranking,
) -> None:
    """One attribute after the other, in a random rotation, until none can be improved."""
    attributes = space.arity.shape[0]
    active = np.empty(space.codes.shape[0], dtype=np.int64)
    chosen = np.ones(values.shape[1], dtype=np.bool_)
    current = -np.inf
    unchanged = 0
    rotation = generator.permutation(attributes)
    position = 0
    while unchanged < attributes:
        if position == attributes:
            rotation = generator.permutation(attributes)
            position = 0
        j = rotation[position]
        position += 1
        unchanged += 1
        count = _inside_of_others(space.codes, numbers.size, values, j, active)
        if count == 0:
            # an empty start has nothing to climb from: open this attribute and go on
            values[j] = True
            listed[j] = 0
            continue
        score, theta, more = best_values(space, numbers, j, CellList(active, 0, count), chosen)
        for other in range(attributes):
            if other != j:
                score -= space.penalty * listed[other]
        margin = TIE * (1.0 + abs(score))
        if score > current + margin or (more < listed[j] and score >= current - margin):
            current = score
            values[j, : space.arity[j]] = chosen[: space.arity[j]]
            listed[j] = more
            unchanged = 1
            kept = _admitted(space.codes, j, chosen, active, count)
            keep(ranking, score, theta, listed.sum(), key_of(active, kept, space.keys), values)


@njit
def _inside_of_others(
    codes: IntArray, size: FloatArray, values: BoolArray, attribute: int, active: IntArray
) -> int:
    """The cells that all other attributes admit, into `active`; returns how many."""
    count = 0
    for c in range(codes.shape[0]):
        inside = size[c] > 0.0
        for other in range(codes.shape[1]):
            if other != attribute and not values[other, codes[c, other]]:
                inside = False
                break
        if inside:
            active[count] = c
            count += 1
    return count


@njit
def _admitted(codes: IntArray, attribute: int, chosen: BoolArray, active: IntArray, count: int) -> int:
    """The cells whose value was chosen, moved to the front; returns how many."""
    kept = 0
    for place in range(count):
        if chosen[codes[active[place], attribute]]:
            active[kept] = active[place]
            kept += 1
    return kept
