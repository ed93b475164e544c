"""The best subgroup: by proof, or by coordinate ascent from many starts.

The proof goes through every value set of every attribute but the last, which is solved. A subgroup admits a non-empty
set of values for every attribute. Its penalised score is
F(S) − penalty · (number of admitted values, over the attributes that do not admit all of theirs).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fairtrial._scan.solver.scan_table import BoolArray, FloatArray, IntArray
from fairtrial._work.compiled import njit
from fairtrial.papers.conditional_bias_scan._one_attribute import (
    TIE,
    Ranking,
    SearchSpace,
    best_values,
    keep,
    key_of,
)
from fairtrial.papers.conditional_bias_scan._score import CellList, CellNumbers, cell_peak, set_peak


class Walk(NamedTuple):
    """Where the enumeration stands; level i has decided the first i attributes of the order.

    Per level: the cells that are left (`lists`, `counts`), the values `present` among them as bits, the set that is
    being tried (`masks`), the listed values so far, and what each value's cells can `reach`. `bound` is what a cell
    can add to any subgroup.
    """

    lists: IntArray
    counts: IntArray
    masks: IntArray
    present: IntArray
    listed: IntArray
    reach: FloatArray
    values: BoolArray
    chosen: BoolArray
    bound: FloatArray


@njit
def enumerate_subgroups(
    space: SearchSpace, numbers: CellNumbers, order: IntArray, solve_last: bool, ranking: Ranking
) -> None:
    """Go through the value sets of all attributes in `order`; the last one is solved by `best_values`.

    Branches whose cells cannot reach the ranking's last place even if each cell had its own θ are cut,
    which loses nothing. With `solve_last` false the last attribute is enumerated like the others, which
    ranks every subgroup and not only the best of each step.
    """
    attributes = space.codes.shape[1]
    depth = attributes - 1 if solve_last else attributes
    worst = ranking.score.shape[0] - 1
    walk = _begin(space, numbers, ranking.values.shape[2])
    # plain 0 and True are types of their own, for which every callee would be compiled again
    level: Any = np.int64(0)
    fresh: Any = np.bool_(True)
    while level >= 0:
        if level == depth:
            if solve_last:
                _rank_solved(space, numbers, walk, order[depth], level, ranking)
            else:
                _rank_set(space, numbers, walk, level, ranking)
            level -= 1
            fresh = False
            continue
        attribute = order[level]
        if fresh:
            _look(space.codes, walk, level, attribute)
        if _next_set(space, walk, level, attribute, fresh, ranking.score[worst]):
            _narrow(space, walk, level, attribute)
            level += 1
            fresh = True
        else:
            walk.values[attribute] = True
            level -= 1
            fresh = False


@njit
def _begin(space: SearchSpace, numbers: CellNumbers, most_values: int) -> Walk:
    """All cells that hold anybody, nothing decided."""
    cell_count, attributes = space.codes.shape
    walk = Walk(
        np.empty((attributes + 1, cell_count), dtype=np.int64),
        np.zeros(attributes + 1, dtype=np.int64),
        np.zeros(attributes + 1, dtype=np.int64),
        np.zeros(attributes + 1, dtype=np.int64),
        np.zeros(attributes + 1, dtype=np.int64),
        np.zeros((attributes + 1, most_values)),
        np.ones((attributes, most_values), dtype=np.bool_),
        np.ones(most_values, dtype=np.bool_),
        np.empty(cell_count),
    )
    for c in range(cell_count):
        walk.bound[c] = cell_peak(numbers.kind, numbers.size[c], numbers.observed[c], numbers.expected[c])
        if numbers.size[c] > 0.0:
            walk.lists[0, walk.counts[0]] = c
            walk.counts[0] += 1
    return walk


@njit
def _rank_solved(
    space: SearchSpace, numbers: CellNumbers, walk: Walk, last: int, level: int, ranking: Ranking
) -> None:
    """The best set of the last attribute's values, into the ranking."""
    part = CellList(walk.lists[level], 0, walk.counts[level])
    score, theta, more = best_values(space, numbers, last, part, walk.chosen)
    arity = space.arity[last]
    walk.values[last, :arity] = walk.chosen[:arity]
    key = key_of(space, part, last, walk.chosen)
    listed = walk.listed[level]
    keep(ranking, score - space.penalty * listed, theta, listed + more, key, walk.values)


@njit
def _rank_set(space: SearchSpace, numbers: CellNumbers, walk: Walk, level: int, ranking: Ranking) -> None:
    """The subgroup that is decided on, into the ranking."""
    part = CellList(walk.lists[level], 0, walk.counts[level])
    score, theta = set_peak(numbers, part, 0.0, np.inf)
    key = key_of(space, part, 0, walk.values[0])  # every attribute admits all these cells, so the first does
    listed = walk.listed[level]
    keep(ranking, score - space.penalty * listed, theta, listed, key, walk.values)


@njit
def _look(codes: IntArray, walk: Walk, level: int, attribute: int) -> None:
    """Which values the cells of this level have, and what each value's cells can reach."""
    walk.present[level] = 0
    walk.reach[level] = 0.0
    for position in range(walk.counts[level]):
        c = walk.lists[level, position]
        v = codes[c, attribute]
        walk.present[level] |= np.int64(1) << v
        walk.reach[level, v] += walk.bound[c]


@njit
def _next_set(space: SearchSpace, walk: Walk, level: int, attribute: int, fresh: bool, floor: float) -> bool:
    """The next set of values that could reach the floor; false when there is none left.

    All values first; then the proper subsets of the values that are present, from large to small.
    """
    while True:
        mask = walk.present[level] if fresh else (walk.masks[level] - 1) & walk.present[level]
        walk.masks[level] = mask
        if not fresh and mask == 0:
            return False
        ranges = space.ordered[attribute]
        listed = 0 if fresh else 1 if ranges else _bits(mask)
        possible = _with_reach(-space.penalty * (walk.listed[level] + listed), walk.reach[level], mask)
        whole = not ranges or _in_a_row(mask, walk.present[level])
        if whole and not possible < floor - TIE * (1.0 + abs(floor)):
            _admit(walk.values[attribute, : space.arity[attribute]], mask, fresh, ranges)
            walk.listed[level + 1] = walk.listed[level] + listed
            return True
        fresh = False


@njit
def _admit(values: BoolArray, mask: int, everything: bool, ranges: bool) -> None:
    """The values of a set; of a range also those between that no cell has."""
    for v in range(values.shape[0]):
        below = mask & ((np.int64(1) << (v + 1)) - 1) > 0
        between = ranges and below and mask >> v > 0
        values[v] = everything or between or bool(mask >> v & 1)


@njit
def _with_reach(possible: float, reach: FloatArray, mask: int) -> float:
    """With what the cells of a set's values can reach."""
    for v in range(reach.shape[0]):
        if mask >> v & 1:
            possible += reach[v]
    return possible


@njit
def _in_a_row(mask: int, present: int) -> bool:
    """Whether no value that is present lies between two of the set's and is not in it."""
    left_out = present & ~mask
    lowest = mask & -mask
    while left_out:
        value = left_out & -left_out
        if value > lowest and mask > value:
            return False
        left_out &= left_out - 1
    return True


@njit
def _bits(mask: int) -> int:
    """How many values a set has."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@njit
def _narrow(space: SearchSpace, walk: Walk, level: int, attribute: int) -> None:
    """The cells of the next level: those with an admitted value."""
    mask = walk.masks[level]
    walk.counts[level + 1] = 0
    for position in range(walk.counts[level]):
        c = walk.lists[level, position]
        if mask >> space.codes[c, attribute] & 1:
            walk.lists[level + 1, walk.counts[level + 1]] = c
            walk.counts[level + 1] += 1


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
            _random_start(space, generator, values, listed)
        _ascend(space, numbers, generator, values, listed, ranking)


@njit
def _random_start(
    space: SearchSpace, generator: np.random.Generator, values: BoolArray, listed: IntArray
) -> None:
    """A random non-empty set of values for every attribute; of an ordered one a range."""
    for j in range(space.arity.shape[0]):
        arity = space.arity[j]
        kept = 0
        while kept == 0:
            for v in range(arity):
                values[j, v] = generator.random() < 0.5
                kept += values[j, v]
        if space.ordered[j]:
            one, other = int(generator.random() * arity), int(generator.random() * arity)
            kept = abs(one - other) + 1
            for v in range(arity):
                values[j, v] = min(one, other) <= v <= max(one, other)
        listed[j] = 0 if kept == arity else 1 if space.ordered[j] else kept


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
        part = CellList(active, 0, count)
        score, theta, more = best_values(space, numbers, j, part, chosen)
        for other in range(attributes):
            if other != j:
                score -= space.penalty * listed[other]
        margin = TIE * (1.0 + abs(score))
        if score > current + margin or (more < listed[j] and score >= current - margin):
            current = score
            values[j, : space.arity[j]] = chosen[: space.arity[j]]
            listed[j] = more
            unchanged = 1
            keep(ranking, score, theta, listed.sum(), key_of(space, part, j, chosen), values)


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
