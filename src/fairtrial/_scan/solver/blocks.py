"""Models of the class and of the event for the score without strata: main effects, and the blocks the data ask for.

A block is a table of two or three attributes with a rate of its own in every cell. Forward selection by score tests:
χ² = Σ_cells (Σ(y−p̂))²/Σp̂(1−p̂) with cells − 1 − Σ(values − 1) degrees of freedom; the block with the smallest p is
added while p times the number of blocks of its order is at most .45, twelve at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb, lgamma, log
from typing import Any

import numpy as np

from fairtrial._scan.solver.scan_table import (
    Codes,
    FloatArray,
    IntArray,
    ScanTable,
    as_codes,
    empty_codes,
    middle_ranks,
    totals,
)

LIMIT = 0.45
RIDGE = 0.3
MOST_BLOCKS = 12
SPLINE_COLUMNS = 6
SCORE_BANDS = 8
_BORDER = 1e-6
# Where a table has few people per cell, its χ² spreads more than the law says: with 4% in the class and 5 people per
# cell by 1.7, which would let dozens of 2,300 blocks in by luck. Such tables are not looked at, unless they are small.
THIN, SMALL_TABLE = 20.0, 512
_COMPILED_FROM = 50_000_000  # cells × blocks from which the loops are compiled


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScannedCells:
    """Covariates of every scanned cell: attributes with their numbers of values, and a smooth of the score."""

    codes: IntArray | Codes
    arity: IntArray
    smooth: FloatArray | None
    people: float

    @property
    def wide(self) -> bool:
        """Whether cells and blocks are so many that loops over them are compiled."""
        return len(self.codes) * comb(len(self.arity), 3) > _COMPILED_FROM

    def thin(self, block: tuple[int, ...]) -> bool:
        """Whether a block's table is large and has few people per cell."""
        size = float(np.prod([self.arity[j] for j in block], dtype=np.float64))
        return size > SMALL_TABLE and self.people < THIN * size

    @classmethod
    def of(cls, table: ScanTable) -> ScannedCells:
        scanned = table.cell_scanned
        codes, arity = table.x_codes[table.cell_x[scanned]], table.arity
        smooth = None
        if table.on_score:
            rank = middle_ranks(table)[scanned]
            smooth = _spline(rank)
            bands = np.minimum((rank * SCORE_BANDS).astype(np.int64), SCORE_BANDS - 1)
            codes, arity = np.column_stack([codes, bands]), np.append(arity, SCORE_BANDS)
        elif table.has_condition:
            values, index = np.unique(table.cell_condition[scanned], return_inverse=True)
            codes, arity = np.column_stack([codes, index.reshape(-1)]), np.append(arity, len(values))
        people = float(table.per_cell(table.atom_total)[scanned].sum())
        return cls(
            codes=as_codes(codes),
            arity=arity.astype(np.int64),
            smooth=smooth,
            people=people,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """Fitted rates of every cell of the table (one half outside the condition), and the blocks that were added.

    `thin` counts the blocks that were not looked at, for want of people in their tables.
    """

    rates: FloatArray
    blocks: tuple[tuple[int, ...], ...]
    thin: int = 0


def fit_class(table: ScanTable) -> Fit:
    """ê = P(A=1 | X, C) among the scanned people; sees class, X and C only."""
    scanned = table.cell_scanned
    people, inside = table.per_cell(table.atom_total)[scanned], table.per_cell(table.atom_protected)[scanned]
    cells = ScannedCells.of(table)
    return _whole(table, cells, _selected(cells, people, inside, real=False))


def fit_event(table: ScanTable) -> Fit:
    """m̂ = E(I | X, C) among the scanned people of both classes; sees event, X and C only."""
    scanned = table.cell_scanned
    people = table.per_cell(table.atom_total)[scanned]
    events = table.per_cell(table.atom_total * table.atom_event)[scanned]
    cells = ScannedCells.of(table)
    return _whole(table, cells, _selected(cells, people, events, real=table.real_valued))


def _whole(table: ScanTable, cells: ScannedCells, found: tuple[FloatArray, list[tuple[int, ...]]]) -> Fit:
    rates = np.full(len(table.cell_x), 0.5)
    rates[table.cell_scanned] = found[0]
    thin = sum(
        cells.thin(block) for order in (2, 3) for block in combinations(range(len(cells.arity)), order)
    )
    return Fit(rates=rates, blocks=tuple(found[1]), thin=thin)


def _selected(
    cells: ScannedCells, trials: FloatArray, successes: FloatArray, *, real: bool
) -> tuple[FloatArray, list[tuple[int, ...]]]:
    chosen: list[tuple[int, ...]] = []
    start = np.zeros(0)
    fitted, start = _fit(cells, chosen, trials, successes, start)
    while len(chosen) < MOST_BLOCKS:
        weight = trials * fitted * (1.0 - fitted)
        residual = successes - trials * fitted
        # a score varies less than 0/1 events of its mean: the tests take its own spread
        scale = float((residual**2).sum() / max(weight.sum(), 1e-12)) if real else 1.0
        best = min(_tests(cells, chosen, residual, weight * min(scale, 1.0)), default=(1.0, 0.0, ()))
        if best[0] > LIMIT:
            break
        chosen.append(best[-1])
        fitted, start = _fit(cells, chosen, trials, successes, start)
    return fitted, chosen


def _tests(
    cells: ScannedCells, chosen: list[tuple[int, ...]], residual: FloatArray, weight: FloatArray
) -> Iterator[tuple[float, float, tuple[int, ...]]]:
    """p times the number of blocks of its order, of every block that is not in a chosen one.

    Of very many people p is 0 for many: then its logarithm far out tells which is the least likely.
    """
    from scipy.special import chdtrc

    attributes = [j for j in range(len(cells.arity)) if cells.arity[j] > 1]
    values = {j: np.count_nonzero(np.bincount(cells.codes[:, j])) for j in attributes}
    statistic = _statistics(cells, attributes, residual, weight)
    for order in (2, 3):
        count = comb(len(attributes), order)
        for block in combinations(attributes, order):
            if any(set(block) <= set(other) for other in chosen) or cells.thin(block):
                continue
            chi, filled = statistic(block)
            freedom = filled - 1 - sum(int(values[j]) - 1 for j in block)
            if freedom > 0:
                yield float(chdtrc(freedom, chi)) * count, _log_tail(chi, freedom), block


def _log_tail(chi: float, freedom: int) -> float:
    """About the logarithm of P(χ² > chi) far out: (a − 1) log x − x − log Γ(a) with a = freedom/2 and x = chi/2."""
    a, x = freedom / 2.0, max(chi, 1e-300) / 2.0
    return (a - 1.0) * log(x) - x - lgamma(a)


def _statistics(
    cells: ScannedCells, attributes: list[int], residual: FloatArray, weight: FloatArray
) -> Callable[[tuple[int, ...]], tuple[float, int]]:
    """χ² of a block and the cells of its table that somebody is in; of very many blocks all are made at once."""
    if cells.wide:
        from fairtrial._scan.solver.wide_blocks import all_tables

        largest = max(SMALL_TABLE, cells.people / THIN)  # what is thin is not looked at
        codes = as_codes(cells.codes[:, attributes])
        made = all_tables(codes, cells.arity[attributes], residual, weight, largest)
        place = {attribute: number for number, attribute in enumerate(attributes)}

        def known(block: tuple[int, ...]) -> tuple[float, int]:
            where = tuple(place[j] for j in block)
            chi, filled = (made.two, made.filled_two) if len(block) == 2 else (made.three, made.filled_three)
            return float(chi[where]), int(filled[where])

        return known

    def one(block: tuple[int, ...]) -> tuple[float, int]:
        index, size = _block_index(cells, block)
        spread = totals(index, weight, size)
        filled = spread > 1e-12
        chi = float((totals(index, residual, size)[filled] ** 2 / spread[filled]).sum())
        return chi, int(filled.sum())

    return one


def _block_index(cells: ScannedCells, block: tuple[int, ...]) -> tuple[IntArray, int]:
    arity = tuple(int(cells.arity[j]) for j in block)
    index = np.ravel_multi_index(tuple(cells.codes[:, j] for j in block), arity)
    return np.asarray(index, dtype=np.int64), int(np.prod(arity))


def _fit(
    cells: ScannedCells,
    blocks: list[tuple[int, ...]],
    trials: FloatArray,
    successes: FloatArray,
    start: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Ridge logistic regression by Newton's steps; coefficients of blocks that came later start at 0."""
    if cells.wide and cells.smooth is None:
        return _fit_wide(cells, blocks, trials, successes, start)
    design = _design(cells, blocks)
    beta = np.concatenate([start, np.zeros(design.shape[1] - len(start))])
    penalty = np.full(len(beta), RIDGE)
    penalty[0] = 1e-6
    transposed = design.T.tocsr()
    value = -np.inf
    for _ in range(50):
        eta = design @ beta
        now = _objective(eta, beta, penalty, trials, successes)
        if now < value + 1e-8 * (1.0 + abs(value)):
            break
        value = now
        fitted = 1.0 / (1.0 + np.exp(-np.clip(eta, -30.0, 30.0)))
        slope = transposed @ (successes - trials * fitted) - penalty * beta
        weight = trials * fitted * (1.0 - fitted)
        hessian = (transposed.multiply(weight[None, :]) @ design).toarray() + np.diag(penalty)
        beta = _improved(beta, np.linalg.solve(hessian, slope), design, penalty, (trials, successes), value)
    fitted = 1.0 / (1.0 + np.exp(-np.clip(design @ beta, -30.0, 30.0)))
    return np.clip(fitted, _BORDER, 1.0 - _BORDER), beta


def _fit_wide(
    cells: ScannedCells,
    blocks: list[tuple[int, ...]],
    trials: FloatArray,
    successes: FloatArray,
    start: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """The same by compiled loops over the columns that each cell has."""
    from fairtrial._scan.solver.wide_blocks import Counts, IndicatorDesign, fit_indicators

    tables = [_block_index(cells, block) for block in blocks]
    sizes = (*cells.arity.tolist(), *(size for _, size in tables))
    codes = empty_codes(len(cells.codes), len(sizes), max(sizes))
    for place, index in enumerate([*cells.codes.T, *(index for index, _ in tables)]):
        codes[:, place] = index
    design = IndicatorDesign(codes, sizes, len(cells.arity))
    ridge = np.full(design.columns, RIDGE)
    ridge[0] = 1e-6
    begun = np.concatenate([start, np.zeros(design.columns - len(start))])
    beta = fit_indicators(design, Counts(trials, successes), ridge, begun)
    fitted = 1.0 / (1.0 + np.exp(-np.clip(design.linear(beta), -30.0, 30.0)))
    return np.clip(fitted, _BORDER, 1.0 - _BORDER), beta


def _improved(
    beta: FloatArray, step: FloatArray, design: Any, penalty: FloatArray, counts: tuple[FloatArray, FloatArray],
    value: float,
) -> FloatArray:  # fmt: skip
    """A full step, or the half that first does not make it worse."""
    for _ in range(30):
        moved: FloatArray = beta + step
        if _objective(design @ moved, moved, penalty, *counts) >= value:
            return moved
        step = 0.5 * step
    return beta


def _objective(
    eta: FloatArray, beta: FloatArray, penalty: FloatArray, trials: FloatArray, successes: FloatArray
) -> float:
    softplus = np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta)))
    return float((successes * eta - trials * softplus).sum() - 0.5 * (penalty * beta**2).sum())


def _design(cells: ScannedCells, blocks: list[tuple[int, ...]]) -> Any:
    """Intercept, one indicator per value, the smooth alone and per value of each attribute, then the blocks."""
    from scipy.sparse import csr_matrix, hstack

    rows = len(cells.codes)
    parts = [csr_matrix(np.ones((rows, 1)))]
    for j, size in enumerate(cells.arity):
        parts.append(_indicators(cells.codes[:, j], int(size)))
    if cells.smooth is not None:
        smooth = csr_matrix(cells.smooth)
        parts.append(smooth)
        for j, size in enumerate(cells.arity[:-1]):
            own = _indicators(cells.codes[:, j], int(size))
            parts += [own.multiply(cells.smooth[:, [column]]).tocsr() for column in range(smooth.shape[1])]
    for block in blocks:
        parts.append(_indicators(*_block_index(cells, block)))
    return hstack(parts, format="csr")


def _indicators(index: IntArray | Codes, size: int) -> Any:
    from scipy.sparse import csr_matrix

    rows = len(index)
    return csr_matrix((np.ones(rows), index, np.arange(rows + 1)), shape=(rows, size))


def _spline(rank: FloatArray) -> FloatArray:
    """A cubic spline of the rank, centred: x, x², x³ and one cubic from each of three inner knots."""
    knots = np.linspace(0.0, 1.0, SPLINE_COLUMNS - 1)[1:-1]
    columns = [rank, rank**2, rank**3, *(np.maximum(rank - knot, 0.0) ** 3 for knot in knots)]
    matrix = np.column_stack(columns)
    matrix = matrix - matrix.mean(axis=0)
    orthogonal, _ = np.linalg.qr(matrix)
    return np.asarray(orthogonal * np.sqrt(len(rank)), dtype=np.float64)
