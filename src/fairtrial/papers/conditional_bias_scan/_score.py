"""Log-likelihood ratio scores of subgroups (Table 2 of "Auditing Predictive Models for Intersectional Biases").

Every function looks for rates *above* their expectation; the other direction is the same problem with
events and expectations mirrored. A subgroup is a list of cells, and each cell carries three numbers:

Bernoulli: `size` n, `observed` O (events), `expected` Î.   F(θ) = O·θ − Σ n·log(1 + (e^θ − 1)·Î), θ = log q
Gaussian:  `size` n, `observed` ΣΔ/σ.                        F(μ) = μ·ΣΔ/σ − n·μ²/2, μ in units of σ
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairtrial._scan.solver.scan_table import FloatArray, IntArray
from fairtrial._work.compiled import njit

BERNOULLI = 0
GAUSSIAN = 1
MAXIMUM_STEPS = 100


class CellNumbers(NamedTuple):
    """Which score (`kind`), and the three numbers of every cell; of many draws one row each."""

    kind: int
    size: FloatArray
    observed: FloatArray
    expected: FloatArray


class CellList(NamedTuple):
    """The cells at positions first..last-1 of a longer list."""

    cells: IntArray
    first: int
    last: int


@njit
def cell_peak(kind: int, size: float, observed: float, expected: float) -> float:
    """The largest score one cell can reach on its own: a bound on what it adds to any subgroup."""
    if kind == GAUSSIAN:
        return observed * observed / (2.0 * size) if observed > 0.0 and size > 0.0 else 0.0
    if size <= 0.0 or observed <= size * expected:
        return 0.0
    score = float(observed * np.log(observed / (size * expected)))
    if observed < size:
        score += (size - observed) * np.log((size - observed) / (size * (1.0 - expected)))
    return score


@njit
def _slope(theta: float, numbers: CellNumbers, part: CellList) -> tuple[float, float]:
    """Expected events at θ, Σ n·p(θ), and their derivative."""
    odds = np.exp(theta)
    size, expected = numbers.size, numbers.expected
    events = 0.0
    curvature = 0.0
    for position in range(part.first, part.last):
        c = part.cells[position]
        p = odds * expected[c] / (1.0 + (odds - 1.0) * expected[c])
        events += size[c] * p
        curvature += size[c] * p * (1.0 - p)
    return events, curvature


@njit
def _value(theta: float, events: float, numbers: CellNumbers, part: CellList) -> float:
    """F(θ) of the Bernoulli score."""
    odds = np.exp(theta) - 1.0
    size, expected = numbers.size, numbers.expected
    total = events * theta
    for position in range(part.first, part.last):
        c = part.cells[position]
        total -= size[c] * np.log1p(odds * expected[c])
    return total


@njit
def _without_odds(numbers: CellNumbers, part: CellList) -> float:
    """−Σ n·log Î: F at infinity of a subgroup in which everybody has the event."""
    size, expected = numbers.size, numbers.expected
    total = 0.0
    for position in range(part.first, part.last):
        c = part.cells[position]
        total -= size[c] * np.log(expected[c])
    return total


@njit
def _sums(numbers: CellNumbers, part: CellList) -> tuple[float, float, float]:
    """People, what was observed, and what was expected."""
    size, observed, expected = numbers.size, numbers.observed, numbers.expected
    n = 0.0
    events = 0.0
    under_null = 0.0
    for position in range(part.first, part.last):
        c = part.cells[position]
        n += size[c]
        events += observed[c]
        under_null += size[c] * expected[c]
    return n, events, under_null


@njit
def set_peak(numbers: CellNumbers, part: CellList, low: float, high: float) -> tuple[float, float]:
    """max over θ ≥ 0 of F, and where it is reached.

    `low` and `high` bracket the maximiser when the caller knows a bracket (0 and infinity otherwise).
    A subgroup in which everybody has the event is maximised at infinity, in closed form.
    """
    n, events, under_null = _sums(numbers, part)
    if numbers.kind == GAUSSIAN:
        if events <= 0.0 or n <= 0.0:
            return 0.0, 0.0
        return events * events / (2.0 * n), events / n
    if n <= 0.0 or events <= under_null:
        return 0.0, 0.0
    if events >= n - 1e-9:
        return _without_odds(numbers, part), np.inf
    theta = np.log(events / (n - events)) - np.log(under_null / (n - under_null))
    if not (low < theta < high):
        theta = low + 1.0 if high == np.inf else 0.5 * (low + high)
    theta = _maximiser(numbers, part, events, n, theta, low, high)
    return max(0.0, _value(theta, events, numbers, part)), theta


@njit
def _maximiser(
    numbers: CellNumbers, part: CellList, events: float, n: float, theta: float, low: float, high: float
) -> float:
    """Where F turns, by Newton's steps kept inside a shrinking bracket."""
    for _ in range(MAXIMUM_STEPS):
        fitted, curvature = _slope(theta, numbers, part)
        gap = events - fitted
        if gap > 0.0:
            low = theta
        else:
            high = theta
        if abs(gap) <= 1e-12 * n:
            break
        step = gap / curvature if curvature > 0.0 else np.inf
        moved = theta + step
        if not (low < moved < high):
            moved = 2.0 * low + 1.0 if high == np.inf else 0.5 * (low + high)
        if abs(moved - theta) <= 1e-14 * (1.0 + abs(theta)):
            break
        theta = moved
    return theta


@njit
def set_rises_at(theta: float, numbers: CellNumbers, part: CellList) -> float:
    """The derivative of F at θ."""
    n, events, _ = _sums(numbers, part)
    if numbers.kind == GAUSSIAN:
        return events - n * theta
    if theta == np.inf:
        return events - n
    return events - _slope(theta, numbers, part)[0]


@njit
def penalty_roots(penalty: float, numbers: CellNumbers, part: CellList) -> tuple[float, float]:
    """The two θ at which F equals `penalty` (F is concave and peaks above it)."""
    n, events, _ = _sums(numbers, part)
    if numbers.kind == GAUSSIAN:
        root = np.sqrt(max(0.0, events * events - 2.0 * n * penalty))
        return (events - root) / n, (events + root) / n
    lower = _lower_root(penalty, events, numbers, part)
    if events >= n - 1e-9:
        return lower, np.inf
    start = (_without_odds(numbers, part) - penalty) / (n - events)
    return lower, max(lower, _upper_root(penalty, events, start, numbers, part))


@njit
def _lower_root(penalty: float, events: float, numbers: CellNumbers, part: CellList) -> float:
    """Newton from 0 climbs to the lower root without overshooting: tangents of a concave function lie above it."""
    lower = 0.0
    if penalty > 0.0:
        for _ in range(MAXIMUM_STEPS):
            short = penalty - _value(lower, events, numbers, part)
            rise = events - _slope(lower, numbers, part)[0]
            if short <= 1e-12 * (1.0 + penalty) or rise <= 0.0:
                break
            lower += short / rise
    return lower


@njit
def _upper_root(penalty: float, events: float, upper: float, numbers: CellNumbers, part: CellList) -> float:
    """From the root of the line that bounds F on the right Newton descends to the upper root."""
    for _ in range(MAXIMUM_STEPS):
        if upper > 700.0:  # e^θ overflows; the set is then effectively unbounded on this side
            return np.inf
        short = penalty - _value(upper, events, numbers, part)
        rise = events - _slope(upper, numbers, part)[0]
        if short <= 1e-12 * (1.0 + penalty) or rise >= 0.0:
            break
        upper += short / rise
    return upper
