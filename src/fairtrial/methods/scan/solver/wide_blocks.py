"""Score tests and logistic fits of many attributes by compiled loops: what `blocks` does, for very many cells.

Tables of two and three attributes are taken from fewer tables of more attributes.
A model's columns are indicators, so that a cell has one column per attribute and block: products with the design are
sums over few numbers, and Newton's step is solved by conjugate gradients, preconditioned by the main effects' own
matrix and the blocks' diagonal.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from fairtrial.methods.scan.solver.arrays import Codes, FloatArray, IntArray
from fairtrial.methods.scan.solver.joint import joint_sets, tables_of
from fairtrial.methods.scan.solver.two_way import MOST_JOINT, as_codes, pairs_of, two_way_tables
from fairtrial.methods.scan.solver.value_sets import attributes_of
from fairtrial.work.compiled import njit

Index = NDArray[np.int32]
SMALLEST = 1e-12  # a variance below which a cell of a table is empty
RESIDUAL = 1e-10  # of conjugate gradients, beside the slope
MOST_STEPS = 200
MOST_OF_THREE = 16_384  # combinations of values of a table that tables of three are taken from
START_FROM = 50_000  # cells that a first fit is made on, which the fit on all starts from


class ThreeWay(NamedTuple):
    """Of every table of two and three attributes i < j < k: χ², and how many of its cells somebody is in."""

    two: FloatArray
    filled_two: IntArray
    three: FloatArray
    filled_three: IntArray


def all_tables(
    codes: Codes, arity: IntArray, residual: FloatArray, weight: FloatArray, largest: float = inf
) -> ThreeWay:
    """Σ residual²/Σ weight summed over the filled cells of every table of at most `largest` cells."""
    count, own = len(arity), tuple(arity.tolist())
    made = ThreeWay(*(np.zeros((count,) * order, dtype) for order in (2, 3) for dtype in (np.float64, np.int64)))
    both, most = np.stack([residual, weight]), len(residual) // 16
    for order, limit, chi, filled in (2, MOST_JOINT, *made[:2]), (3, MOST_OF_THREE, *made[2:]):
        sets = joint_sets(own, order, min(limit, most), largest)
        for block, table in tables_of(codes, own, sets, both):
            some = table[..., 1] > SMALLEST
            chi[block] = (table[some, 0] ** 2 / table[some, 1]).sum()
            filled[block] = some.sum()
    return made


class Counts(NamedTuple):
    """Of each cell: its columns of the design besides the intercept, how many people, how many of them count."""

    columns: Index
    trials: FloatArray
    successes: FloatArray


def fit_indicators(
    counts: Counts, arity: IntArray, size: int, ridge: FloatArray, start: FloatArray
) -> FloatArray:
    """Ridge logistic regression on indicators; the first columns are the main effects'. Coefficients."""
    cells = len(counts.trials)
    beta = start
    if cells > 2 * START_FROM and not start.any():
        few = slice(None, None, cells // START_FROM)
        part = Counts(np.ascontiguousarray(counts.columns[few]), counts.trials[few], counts.successes[few])
        beta = fit_indicators(part, arity, size, ridge * len(part.trials) / cells, start)
    eta = _linear(counts.columns, beta)
    value = _value(eta, beta, ridge, counts)
    solve: Callable[[FloatArray], FloatArray] | None = None
    for _ in range(50):
        fitted = 1.0 / (1.0 + np.exp(-np.clip(eta, -30.0, 30.0)))
        slope = _per_column(counts.columns, counts.successes - counts.trials * fitted, size) - ridge * beta
        weight = counts.trials * fitted * (1.0 - fitted)
        if solve is None:
            solve = _preconditioner(counts.columns, arity, weight, ridge, size)
        step = _newton_step(counts.columns, weight, ridge, slope, solve)
        beta, eta, better = _improved(beta, step, counts, ridge, value)
        done = better < value + 1e-10 * (1.0 + abs(value))
        value = better
        if done:
            break
    return beta


def _improved(
    beta: FloatArray, step: FloatArray, counts: Counts, ridge: FloatArray, value: float
) -> tuple[FloatArray, FloatArray, float]:
    """A full step, or the half that first does not make it worse."""
    for _ in range(30):
        moved: FloatArray = beta + step
        eta = _linear(counts.columns, moved)
        now = _value(eta, moved, ridge, counts)
        if now >= value:
            return moved, eta, now
        step = 0.5 * step
    return beta, _linear(counts.columns, beta), value


def _value(eta: FloatArray, beta: FloatArray, ridge: FloatArray, counts: Counts) -> float:
    softplus = np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta)))
    return float((counts.successes * eta - counts.trials * softplus).sum() - 0.5 * (ridge * beta**2).sum())


def _newton_step(
    columns: Index, weight: FloatArray, ridge: FloatArray, slope: FloatArray, solve: Callable[[FloatArray], FloatArray]
) -> FloatArray:  # fmt: skip
    """Conjugate gradients for (X'WX + ridge) step = slope."""
    step, left = np.zeros(len(slope)), slope.copy()
    toward = solve(left)
    direction, size = toward.copy(), float(left @ toward)
    enough = RESIDUAL**2 * size
    for _ in range(MOST_STEPS):
        if size <= enough:
            break
        image = _per_column(columns, weight * _linear(columns, direction), len(slope)) + ridge * direction
        length = size / float(direction @ image)
        step += length * direction
        left -= length * image
        toward = solve(left)
        before, size = size, float(left @ toward)
        direction = toward + size / before * direction
    return step


def _preconditioner(
    columns: Index, arity: IntArray, weight: FloatArray, ridge: FloatArray, size: int
) -> Callable[[FloatArray], FloatArray]:
    """The main effects' own matrix, from two-way tables of the weights, and the blocks' diagonal."""
    main = 1 + int(arity.sum())
    begin = 1 + np.concatenate([[0], np.cumsum(arity)[:-1]]).astype(np.int64)
    diagonal = _per_column(columns, weight, size)
    matrix = np.diag(diagonal[:main] + ridge[:main])
    matrix[0, 1:main] = matrix[1:main, 0] = diagonal[1:main]
    pairs = pairs_of(attributes_of(arity))
    own = as_codes(columns[:, : len(arity)] - begin)
    tables = two_way_tables(pairs, own, weight[None])[:, 0]
    for i in range(len(arity)):
        for j in range(i + 1, len(arity)):
            first = pairs.start[i, j]
            table = tables[first : first + arity[i] * arity[j]].reshape(arity[i], arity[j])
            rows, others = slice(begin[i], begin[i] + arity[i]), slice(begin[j], begin[j] + arity[j])
            matrix[rows, others], matrix[others, rows] = table, table.T
    factor = cho_factor(matrix)
    rest = diagonal[main:] + ridge[main:]

    def solve(vector: FloatArray) -> FloatArray:
        return np.concatenate([cho_solve(factor, vector[:main]), vector[main:] / rest])

    return solve


@njit
def _linear(columns: Index, beta: FloatArray) -> FloatArray:
    """The design times the coefficients."""
    cells, own = columns.shape
    answer = np.empty(cells)
    for cell in range(cells):
        total = beta[0]
        for place in range(own):
            total += beta[columns[cell, place]]
        answer[cell] = total
    return answer


@njit
def _per_column(columns: Index, numbers: FloatArray, size: int) -> FloatArray:
    """The design's transpose times one number per cell."""
    cells, own = columns.shape
    answer = np.zeros(size)
    for cell in range(cells):
        answer[0] += numbers[cell]
        for place in range(own):
            answer[columns[cell, place]] += numbers[cell]
    return answer


def linear(columns: Index, beta: FloatArray) -> FloatArray:
    """The design times the coefficients, for cells whose columns are given."""
    return _linear(columns, beta)
