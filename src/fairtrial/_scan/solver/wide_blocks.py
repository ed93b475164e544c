"""Score tests and logistic fits of many attributes by compiled loops: what `blocks` does, for very many cells.

Tables of two and three attributes are taken from fewer tables of more attributes.
A model's columns are indicators, so that a cell has one column per attribute and block: products with the design are
sums over few numbers, and Newton's step is solved by conjugate gradients, preconditioned by the matrix of the main
effects and short blocks and the longer blocks' diagonal.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fairtrial._scan.solver.joint import AT_ONCE, Joint, joint_sets, keys, tables_of
from fairtrial._scan.solver.scan_table import Codes, FloatArray, IntArray
from fairtrial._scan.solver.two_way import MOST_JOINT
from fairtrial._work.compiled import njit

SMALLEST = 1e-12  # a variance below which a cell of a table is empty
RESIDUAL = 1e-10  # of conjugate gradients, beside the slope
MOST_STEPS = 200
MOST_SOLVED = 4_000  # columns that are solved together, which leaves little to conjugate gradients
MOST_ANEW = 1_000  # columns up to which their matrix is made anew in every step
MOST_OF_THREE = 16_384  # combinations of values of a table that tables of three are taken from
START_FROM = 50_000  # cells that a first fit is made on, which the fit on all starts from

Solve = Callable[[FloatArray], FloatArray]


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
    square, cube = (count,) * 2, (count,) * 3
    made = ThreeWay(np.zeros(square), np.zeros(square, np.int64), np.zeros(cube), np.zeros(cube, np.int64))
    both = np.stack([residual, weight])
    for order, most, chi, filled in (2, MOST_JOINT, *made[:2]), (3, MOST_OF_THREE, *made[2:]):
        sets = joint_sets(own, order, min(most, len(residual) // 16), largest)
        for block, table in tables_of(codes, own, sets, both):
            some = table[..., 1] > SMALLEST
            chi[block] = (table[some, 0] ** 2 / table[some, 1]).sum()
            filled[block] = some.sum()
    return made


class IndicatorDesign:
    """Indicators after an intercept: a cell has one column of every part, which is an attribute or a block of some.

    Parts are taken together in sets: what a set's columns add to a cell is one number of the set's table.
    """

    def __init__(self, codes: Codes, sizes: tuple[int, ...], attributes: int) -> None:
        self.codes, self.sizes, self.attributes = codes, sizes, attributes
        self.ends = np.cumsum([1, *sizes])
        self.sets = joint_sets(sizes, 1, MOST_JOINT)
        self.joint = Joint.of(sizes, list(self.sets))

    @property
    def columns(self) -> int:
        return int(self.ends[-1])

    @property
    def solved(self) -> list[int]:
        """The parts that are solved together: all attributes, and the shortest blocks as far as that is cheap."""
        by_size = sorted(range(len(self.sizes)), key=lambda part: (part >= self.attributes, self.sizes[part]))
        together = np.cumsum([self.sizes[part] for part in by_size])
        return sorted(by_size[: max(self.attributes, int((together < MOST_SOLVED).sum()))])

    def own(self, part: int) -> slice:
        """The columns of a part."""
        return slice(*self.ends[part : part + 2])

    def every(self, step: int) -> IndicatorDesign:
        """The same for every so many of the cells."""
        return IndicatorDesign(np.asfortranarray(self.codes[::step]), self.sizes, self.attributes)

    def linear(self, beta: FloatArray) -> FloatArray:
        """The design times the coefficients."""
        tables = []
        for some in self.sets:
            grid = np.ix_(*(beta[self.own(part)] for part in some))
            tables.append(np.ravel(sum(grid)))
        answer = np.full(len(self.codes), beta[0])
        _look_up(self.codes.T, self.joint, np.concatenate(tables), answer)
        return answer

    def per_column(self, numbers: FloatArray) -> FloatArray:
        """The design's transpose times one number per cell."""
        answer = np.empty(self.columns)
        answer[0] = numbers.sum()
        for (part,), table in tables_of(self.codes, self.sizes, self.sets, numbers[None]):
            answer[self.own(part)] = table[:, 0]
        return answer

    def preconditioner(self, weight: FloatArray, ridge: FloatArray) -> Solve:
        """The matrix of the parts solved together, from two-way tables of the weights, and the others' diagonal."""
        solved, diagonal = self.solved, self.per_column(weight)
        sizes = tuple(self.sizes[part] for part in solved)
        ends = np.cumsum([1, *sizes])
        where = np.concatenate([[0], *(np.arange(self.columns)[self.own(part)] for part in solved)])
        matrix = np.diag(diagonal[where] + ridge[where])
        matrix[0, 1:] = diagonal[where[1:]]
        pairs = joint_sets(sizes, 2, min(MOST_JOINT, len(weight) // 16))
        for (i, j), table in tables_of(np.asfortranarray(self.codes[:, solved]), sizes, pairs, weight[None]):
            matrix[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] = table[..., 0]
        factor = cho_factor(matrix, overwrite_a=True)

        def solve(vector: FloatArray) -> FloatArray:
            answer: FloatArray = vector / (diagonal + ridge)
            answer[where] = cho_solve(factor, vector[where])
            return answer

        return solve


@njit
def _look_up(codes: Codes, joint: Joint, tables: FloatArray, answer: FloatArray) -> None:
    """Add to each cell its number in the table of every set."""
    key = np.empty(AT_ONCE, dtype=np.uint32)
    for begin in range(0, codes.shape[1], AT_ONCE):
        own = answer[begin : begin + AT_ONCE]
        for place in range(joint.ends.shape[0] - 1):
            keys(codes, joint, place, begin, key)
            table = tables[joint.table_ends[place] : joint.table_ends[place + 1]]
            for cell in range(own.shape[0]):
                own[cell] += table[key[cell]]


class Counts(NamedTuple):
    """Of each cell how many people, and how many of them count."""

    trials: FloatArray
    successes: FloatArray


def fit_indicators(
    design: IndicatorDesign, counts: Counts, ridge: FloatArray, start: FloatArray
) -> FloatArray:
    """Ridge logistic regression on indicators: coefficients."""
    cells = len(counts.trials)
    beta = start
    if cells > 2 * START_FROM and not start.any():
        far = cells // START_FROM
        part = Counts(counts.trials[::far], counts.successes[::far])
        beta = fit_indicators(design.every(far), part, ridge * len(part.trials) / cells, start)
    eta = design.linear(beta)
    value = _value(eta, beta, ridge, counts)
    solve: Solve | None = None
    for _ in range(50):
        fitted = 1.0 / (1.0 + np.exp(-np.clip(eta, -30.0, 30.0)))
        slope = design.per_column(counts.successes - counts.trials * fitted) - ridge * beta
        weight = counts.trials * fitted * (1.0 - fitted)
        if solve is None or design.columns < MOST_ANEW:
            solve = design.preconditioner(weight, ridge)
        step = _newton_step(design, weight, ridge, slope, solve)
        beta, eta, better = _improved(beta, step, design, counts, ridge, value)
        done = better < value + 1e-10 * (1.0 + abs(value))
        value = better
        if done:
            break
    return beta


def _improved(
    beta: FloatArray,
    step: FloatArray,
    design: IndicatorDesign,
    counts: Counts,
    ridge: FloatArray,
    value: float,
) -> tuple[FloatArray, FloatArray, float]:
    """A full step, or the half that first does not make it worse."""
    for _ in range(30):
        moved: FloatArray = beta + step
        eta = design.linear(moved)
        now = _value(eta, moved, ridge, counts)
        if now >= value:
            return moved, eta, now
        step = 0.5 * step
    return beta, design.linear(beta), value


def _value(eta: FloatArray, beta: FloatArray, ridge: FloatArray, counts: Counts) -> float:
    softplus = np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta)))
    return float((counts.successes * eta - counts.trials * softplus).sum() - 0.5 * (ridge * beta**2).sum())


def _newton_step(
    design: IndicatorDesign, weight: FloatArray, ridge: FloatArray, slope: FloatArray, solve: Solve
) -> FloatArray:  # fmt: skip
    """Conjugate gradients for (X'WX + ridge) step = slope."""
    step, left = np.zeros(len(slope)), slope.copy()
    toward = solve(left)
    direction, size = toward.copy(), float(left @ toward)
    enough = RESIDUAL**2 * size
    for _ in range(MOST_STEPS):
        if size <= enough:
            break
        image = design.per_column(weight * design.linear(direction)) + ridge * direction
        length = size / float(direction @ image)
        step += length * direction
        left -= length * image
        toward = solve(left)
        before, size = size, float(left @ toward)
        direction = toward + size / before * direction
    return step
