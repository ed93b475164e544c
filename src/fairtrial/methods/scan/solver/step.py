"""One exact step of the search: the best set of values of a single attribute."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.scan.solver.score import penalty_roots, set_peak, set_rises_at
from fairtrial.work.compiled import njit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

# Scores closer than this (relative) are ties, and ties go to the simpler subgroup.
TIE = 1e-9


@njit
def best_values(
    kind: int,
    penalty: float,
    codes: IntArray,
    attribute: int,
    arity: int,
    active: IntArray,
    active_count: int,
    size: FloatArray,
    observed: FloatArray,
    expected: FloatArray,
    chosen: BoolArray,
) -> tuple[float, float, int]:
    """The best set of values of one attribute, the others held fixed: (score, θ, number of listed values).

    For a fixed θ the best set holds the values with F_v(θ) > penalty; that set only changes at the roots
    of F_v(θ) = penalty, so one set per interval between roots has to be looked at. The set of *all*
    values costs no penalty and is a candidate of its own: without it the optimum can be missed.
    `chosen` receives the admitted values; 0 listed values means all.
    """
    # cells in order of their value: value v holds positions start[v]..start[v+1]-1
    start = np.zeros(arity + 1, dtype=np.int64)
    for position in range(active_count):
        start[codes[active[position], attribute] + 1] += 1
    for v in range(arity):
        start[v + 1] += start[v]
    cells = np.empty(active_count, dtype=np.int64)
    fill = start[:-1].copy()
    for position in range(active_count):
        c = active[position]
        v = codes[c, attribute]
        cells[fill[v]] = c
        fill[v] += 1

    best, best_theta = set_peak(kind, cells, 0, active_count, size, observed, expected, 0.0, np.inf)
    best_listed = 0
    chosen[:arity] = True

    peaks = np.zeros(arity)
    lower = np.zeros(arity)
    upper = np.zeros(arity)
    promising = 0
    reachable = 0.0
    for v in range(arity):
        if start[v + 1] > start[v]:
            peaks[v] = set_peak(kind, cells, start[v], start[v + 1], size, observed, expected, 0.0, np.inf)[0]
            if peaks[v] > penalty:
                promising += 1
                reachable += peaks[v] - penalty
    if promising == 0 or reachable <= best - TIE * (1.0 + abs(best)):
        return best, best_theta, best_listed

    events = np.empty(2 * promising)
    k = 0
    for v in range(arity):
        if peaks[v] > penalty:
            lower[v], upper[v] = penalty_roots(
                kind, penalty, peaks[v], cells, start[v], start[v + 1], size, observed, expected
            )
            events[k] = lower[v]
            events[k + 1] = upper[v]
            k += 2
    events.sort()
    members = np.empty(active_count, dtype=np.int64)
    for interval in range(2 * promising - 1):
        left = events[interval]
        right = events[interval + 1]
        if not right > left:
            continue
        middle = left + 1.0 if right == np.inf else 0.5 * (left + right)
        bound = 0.0
        listed = 0
        count = 0
        for v in range(arity):
            if peaks[v] > penalty and lower[v] < middle < upper[v]:
                bound += peaks[v] - penalty
                listed += 1
                for position in range(start[v], start[v + 1]):
                    members[count] = cells[position]
                    count += 1
        if listed == 0 or listed == arity or bound < best - TIE * (1.0 + abs(best)):
            continue
        # A maximum on the border of the interval belongs to the neighbouring set as well; only sets
        # that turn from rising to falling inside their interval can hold the optimum.
        if set_rises_at(kind, left, members, 0, count, size, observed, expected) < 0.0:
            continue
        if right < np.inf and set_rises_at(kind, right, members, 0, count, size, observed, expected) > 0.0:
            continue
        peak, theta = set_peak(kind, members, 0, count, size, observed, expected, left, right)
        score = peak - penalty * listed
        margin = TIE * (1.0 + abs(best))
        if score > best + margin or (score >= best - margin and listed < best_listed):
            best = score
            best_theta = theta
            best_listed = listed
            for v in range(arity):
                chosen[v] = peaks[v] > penalty and lower[v] < middle < upper[v]
    return best, best_theta, best_listed
