"""Score tests and logistic fits of many attributes by compiled loops: what `blocks` does, for very many cells.

Tables of three attributes are made slice by slice: people with one value of the first, by every two of the others.
A model's columns are indicators, so that a cell has one column per attribute and block: products with the design are
sums over few numbers, and Newton's step is solved by conjugate gradients, preconditioned by the main effects' own
matrix and the blocks' diagonal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from fairtrial.methods.scan.solver.arrays import Codes, FloatArray, IntArray
from fairtrial.methods.scan.solver.two_way import Pairs, as_codes, pairs_of, two_way_tables
from fairtrial.methods.scan.solver.value_sets import attributes_of
from fairtrial.work.compiled import njit

Index = NDArray[np.int32]
SMALLEST = 1e-12  # a variance below which a cell of a table is empty
RESIDUAL = 1e-10  # of conjugate gradients, beside the slope
MOST_STEPS = 200
START_FROM = 50_000  # cells that a first fit is made on, which the fit on all starts from


class ThreeWay(NamedTuple):
    """Of every table of two and three attributes i < j < k: χ², and how many of its cells somebody is in."""

    two: FloatArray
    filled_two: IntArray
    three: FloatArray
    filled_three: IntArray


def all_tables(codes: Codes, arity: IntArray, residual: FloatArray, weight: FloatArray) -> ThreeWay:
    """Σ residual²/Σ weight summed over the filled cells of every table."""
    pairs, small = pairs_of(attributes_of(arity)), as_codes(codes)
    count = len(arity)
    tables = two_way_tables(pairs, small, np.stack([residual, weight]))
    two, filled_two = np.zeros((count, count)), np.zeros((count, count), dtype=np.int64)
    _add_chi(pairs, -1, np.ascontiguousarray(tables[:, :2]), two, filled_two)
    three = np.zeros((count, count, count))
    filled_three = np.zeros((count, count, count), dtype=np.int64)
    both = np.column_stack([residual, weight])
    for first in range(count - 2):
        order = np.argsort(small[:, first], kind="stable")
        ends = np.searchsorted(small[order, first], np.arange(arity[first] + 1))
        own = np.ascontiguousarray(small[order])
        _add_slices(pairs, first, own, both[order], ends, three[first], filled_three[first])
    return ThreeWay(two, filled_two, three, filled_three)


@njit
def _add_slices(
    pairs: Pairs,
    first: int,
    codes: Codes,
    numbers: FloatArray,
    ends: IntArray,
    chi: FloatArray,
    filled: IntArray,
) -> None:
    """Tables of the attributes after the first, among people with one of its values after the other."""
    attributes = codes.shape[1]
    tables = np.zeros((pairs.size, 2))
    for value in range(ends.shape[0] - 1):
        if ends[value + 1] == ends[value]:
            continue
        tables[pairs.start[first + 1, first + 2] :] = 0.0
        for cell in range(ends[value], ends[value + 1]):
            one, other = numbers[cell, 0], numbers[cell, 1]
            for i in range(first + 1, attributes):
                own = np.int64(codes[cell, i])
                for j in range(i + 1, attributes):
                    row = tables[pairs.start[i, j] + own * pairs.arity[j] + np.int64(codes[cell, j])]
                    row[0] += one
                    row[1] += other
        _add_chi(pairs, first, tables, chi, filled)


@njit
def _add_chi(pairs: Pairs, first: int, tables: FloatArray, chi: FloatArray, filled: IntArray) -> None:
    attributes = pairs.arity.shape[0]
    for i in range(first + 1, attributes):
        for j in range(i + 1, attributes):
            begin = pairs.start[i, j]
            for place in range(begin, begin + pairs.arity[i] * pairs.arity[j]):
                if tables[place, 1] > SMALLEST:
                    chi[i, j] += tables[place, 0] ** 2 / tables[place, 1]
                    filled[i, j] += 1


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
