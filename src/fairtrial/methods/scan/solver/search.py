"""The best subgroup: a proof by enumeration, or coordinate ascent with restarts.

A subgroup admits a non-empty set of values for every attribute. Its penalised score is
F(S) − penalty · (number of admitted values, over the attributes that do not admit all of theirs).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.scan.solver.score import cell_peak, set_peak
from fairtrial.methods.scan.solver.step import TIE, best_values
from fairtrial.work.compiled import njit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@njit
def _keep(
    rank_score: FloatArray,
    rank_theta: FloatArray,
    rank_listed: IntArray,
    rank_key: NDArray[np.uint64],
    rank_values: BoolArray,
    score: float,
    theta: float,
    listed: int,
    key: np.uint64,
    values: BoolArray,
) -> None:
    """Insert a subgroup into the ranking: distinct people, best score first, the simpler one on ties."""
    places = rank_score.shape[0]
    margin = TIE * (1.0 + abs(score))
    last = places - 1
    for place in range(places):
        if rank_score[place] > -np.inf and rank_key[place] == key:
            better = score > rank_score[place] + margin or (
                score >= rank_score[place] - margin and listed < rank_listed[place]
            )
            if not better:
                return
            last = place
            break
    position = last
    while position > 0 and (
        score > rank_score[position - 1] + margin
        or (score >= rank_score[position - 1] - margin and listed < rank_listed[position - 1])
    ):
        position -= 1
    occupied = rank_score[position] > -np.inf and rank_key[position] != key
    if position == last and occupied:
        beats = score > rank_score[position] + margin or (
            score >= rank_score[position] - margin and listed < rank_listed[position]
        )
        if not beats:
            return
    for place in range(last, position, -1):
        rank_score[place] = rank_score[place - 1]
        rank_theta[place] = rank_theta[place - 1]
        rank_listed[place] = rank_listed[place - 1]
        rank_key[place] = rank_key[place - 1]
        rank_values[place] = rank_values[place - 1]
    rank_score[position] = score
    rank_theta[position] = theta
    rank_listed[position] = listed
    rank_key[position] = key
    rank_values[position] = values


@njit
def _key_of(cells: IntArray, count: int, keys: NDArray[np.uint64]) -> np.uint64:
    total = np.uint64(0)
    for position in range(count):
        total += keys[cells[position]]
    return total


@njit
def enumerate_subgroups(
    kind: int,
    penalty: float,
    codes: IntArray,
    arity: IntArray,
    order: IntArray,
    solve_last: bool,
    size: FloatArray,
    observed: FloatArray,
    expected: FloatArray,
    keys: NDArray[np.uint64],
    rank_score: FloatArray,
    rank_theta: FloatArray,
    rank_listed: IntArray,
    rank_key: NDArray[np.uint64],
    rank_values: BoolArray,
) -> None:
    """Go through the value sets of all attributes in `order`; the last one is solved by `best_values`.

    Branches whose cells cannot reach the ranking's last place even if each cell had its own θ are cut,
    which loses nothing. With `solve_last` false the last attribute is enumerated like the others, which
    ranks every subgroup and not only the best of each step.
    """
    cell_count, attributes = codes.shape
    depth = attributes - 1 if solve_last else attributes
    worst = rank_score.shape[0] - 1
    lists = np.empty((attributes + 1, cell_count), dtype=np.int64)
    counts = np.zeros(attributes + 1, dtype=np.int64)
    masks = np.zeros(attributes + 1, dtype=np.int64)
    present = np.zeros(attributes + 1, dtype=np.int64)
    listed_before = np.zeros(attributes + 1, dtype=np.int64)
    reach = np.zeros((attributes + 1, rank_values.shape[2]))
    values = np.ones(rank_values.shape[1:], dtype=np.bool_)
    chosen = np.ones(rank_values.shape[2], dtype=np.bool_)
    bound = np.empty(cell_count)
    for c in range(cell_count):
        bound[c] = cell_peak(kind, size[c], observed[c], expected[c])
        if size[c] > 0.0:
            lists[0, counts[0]] = c
            counts[0] += 1
    level = 0
    fresh = True
    while level >= 0:
        if level == depth:
            listed = listed_before[level]
            if solve_last:
                last = order[depth]
                score, theta, more = best_values(
                    kind, penalty, codes, last, arity[last], lists[level], counts[level],
                    size, observed, expected, chosen,
                )  # fmt: skip
                values[last, : arity[last]] = chosen[: arity[last]]
                kept = 0
                for position in range(counts[level]):
                    c = lists[level, position]
                    if chosen[codes[c, last]]:
                        lists[level + 1, kept] = c
                        kept += 1
                key = _key_of(lists[level + 1], kept, keys)
                listed += more
            else:
                score, theta = set_peak(
                    kind, lists[level], 0, counts[level], size, observed, expected, 0.0, np.inf
                )
                key = _key_of(lists[level], counts[level], keys)
            score -= penalty * listed_before[level]
            _keep(
                rank_score, rank_theta, rank_listed, rank_key, rank_values, score, theta, listed, key, values
            )
            level -= 1
            fresh = False
            continue
        attribute = order[level]
        if fresh:
            present[level] = 0
            reach[level] = 0.0
            for position in range(counts[level]):
                c = lists[level, position]
                v = codes[c, attribute]
                present[level] |= np.int64(1) << v
                reach[level, v] += bound[c]
        # all values first; then the proper subsets of the values that are present, from large to small
        found = False
        while not found:
            if fresh:
                fresh = False
                mask = present[level]
                masks[level] = mask
                all_values = True
            else:
                mask = (masks[level] - 1) & present[level]
                masks[level] = mask
                all_values = False
                if mask == 0:
                    break
            listed = 0
            if not all_values:
                bits = mask
                while bits:
                    bits &= bits - 1
                    listed += 1
            possible = -penalty * (listed_before[level] + listed)
            for v in range(arity[attribute]):
                if mask >> v & 1:
                    possible += reach[level, v]
            floor = rank_score[worst]
            if possible < floor - TIE * (1.0 + abs(floor)):
                continue
            found = True
        if not found:
            values[attribute] = True
            level -= 1
            continue
        counts[level + 1] = 0
        for position in range(counts[level]):
            c = lists[level, position]
            if mask >> codes[c, attribute] & 1:
                lists[level + 1, counts[level + 1]] = c
                counts[level + 1] += 1
        for v in range(arity[attribute]):
            values[attribute, v] = all_values or bool(mask >> v & 1)
        listed_before[level + 1] = listed_before[level] + listed
        level += 1
        fresh = True


@njit
def climb(
    kind: int,
    penalty: float,
    codes: IntArray,
    arity: IntArray,
    restarts: int,
    generator: np.random.Generator,
    size: FloatArray,
    observed: FloatArray,
    expected: FloatArray,
    keys: NDArray[np.uint64],
    rank_score: FloatArray,
    rank_theta: FloatArray,
    rank_listed: IntArray,
    rank_key: NDArray[np.uint64],
    rank_values: BoolArray,
) -> None:
    """Coordinate ascent (Algorithm 1): from all values first, then from random subsets."""
    cell_count, attributes = codes.shape
    values = np.ones(rank_values.shape[1:], dtype=np.bool_)
    chosen = np.ones(rank_values.shape[2], dtype=np.bool_)
    listed = np.zeros(attributes, dtype=np.int64)
    active = np.empty(cell_count, dtype=np.int64)
    for restart in range(restarts):
        for j in range(attributes):
            values[j] = True
            listed[j] = 0
            if restart > 0:
                kept = 0
                while kept == 0:
                    for v in range(arity[j]):
                        values[j, v] = generator.random() < 0.5
                        kept += values[j, v]
                listed[j] = 0 if kept == arity[j] else kept
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
            count = 0
            for c in range(cell_count):
                inside = size[c] > 0.0
                for other in range(attributes):
                    if other != j and not values[other, codes[c, other]]:
                        inside = False
                        break
                if inside:
                    active[count] = c
                    count += 1
            if count == 0:
                # an empty start has nothing to climb from: open this attribute and go on
                values[j] = True
                listed[j] = 0
                unchanged += 1
                continue
            score, theta, more = best_values(
                kind, penalty, codes, j, arity[j], active, count, size, observed, expected, chosen
            )
            for other in range(attributes):
                if other != j:
                    score -= penalty * listed[other]
            simpler = more < listed[j]
            margin = TIE * (1.0 + abs(score))
            if score > current + margin or (simpler and score >= current - margin):
                current = score
                values[j, : arity[j]] = chosen[: arity[j]]
                listed[j] = more
                unchanged = 1
                kept = 0
                for place in range(count):
                    if chosen[codes[active[place], j]]:
                        active[kept] = active[place]
                        kept += 1
                key = _key_of(active, kept, keys)
                _keep(
                    rank_score, rank_theta, rank_listed, rank_key, rank_values,
                    score, theta, listed.sum(), key, values,
                )  # fmt: skip
            else:
                unchanged += 1
