"""Products of n × 2^N coalition decisions with coefficients and weights, in blocks or by counting.

Variances are made from these products: in 32 bits they would have six digits, and others on another processor.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairtrial._explain.solver.esl import Floats

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
    from fairtrial._explain.solver.coalition_counts import counted_forms, size_rule

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
