"""From a table to its scan statistic: expectations, scores and search, for the data and for every null draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.scan.solver.expectation import (
    Designs,
    Expectations,
    build_designs,
    expected_events,
    spread,
)
from fairtrial.methods.scan.solver.scan_table import Moments, ScanTable, log_odds, observed_moments, totals
from fairtrial.methods.scan.solver.score import CellNumbers
from fairtrial.methods.scan.solver.subgroup_search import (
    Direction,
    Found,
    SearchedCells,
    SearchPlan,
    find_subgroups,
    maximum_scores,
    plan_search,
)

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScanSetup:
    """Everything that is fixed before the first number is drawn.

    `sigma` None means estimated, in every draw anew. `supported` marks the cells that take part in the
    search: all scanned ones, or only those whose X cell has somebody outside the class.
    """

    table: ScanTable
    designs: Designs
    how: Expectations
    directions: tuple[Direction, ...]
    penalty: float
    sigma: float | None
    plan: SearchPlan
    drop_unsupported: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observed:
    """The scan of the data themselves."""

    sums: Moments
    expected: FloatArray
    sigma: float | None
    searched: BoolArray
    found: list[Found]


def prepare(
    table: ScanTable,
    *,
    how: Expectations | None = None,
    directions: tuple[Direction, ...] = ("above",),
    penalty: float = 1.0,
    sigma: float | None = None,
    search: Literal["auto", "exact", "restarts"] = "auto",
    restarts: int = 50,
    drop_unsupported: bool = False,
) -> ScanSetup:
    plan = plan_search(table.arity, int(table.cell_scanned.sum()), search, restarts)
    return ScanSetup(
        table=table,
        designs=build_designs(table),
        how=how or Expectations(),
        directions=directions,
        penalty=penalty,
        sigma=sigma,
        plan=plan,
        drop_unsupported=drop_unsupported,
    )


def scan_observed(setup: ScanSetup, top: int = 1, seed: int = 0) -> Observed:
    """Expectations and the best subgroups of the data."""
    sums = observed_moments(setup.table)
    expected = expected_events(setup.table, setup.designs, setup.how, sums)
    size, observed, sigma = _scored(setup, sums, expected)
    problem = _first_problem(setup, size, observed, expected)
    return Observed(
        sums=sums,
        expected=expected[0],
        sigma=None if sigma is None else float(sigma[0]),
        searched=size[0] > 0,
        found=find_subgroups(problem, setup.directions, setup.plan, top, seed),
    )


def scan_draws(setup: ScanSetup, sums: Moments, generator: np.random.Generator) -> FloatArray:
    """The maximum score of every draw; models are refitted and the whole search is repeated."""
    expected = expected_events(setup.table, setup.designs, setup.how, sums)
    size, observed, _ = _scored(setup, sums, expected)
    problem = _first_problem(setup, size, observed, expected)
    drawn = CellNumbers(problem.kind, size, observed, expected)
    return maximum_scores(problem, drawn, setup.directions, setup.plan, generator)


def _scored(
    setup: ScanSetup, sums: Moments, expected: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Sizes and observed quantities of the protected cells, as the score functions take them."""
    table = setup.table
    searched = np.broadcast_to(table.cell_scanned, sums.protected.shape)
    if setup.drop_unsupported:
        searched = searched & supported_cells(table, sums)
    size = np.where(searched, sums.protected, 0.0)
    if not table.real_valued:
        return size, np.where(searched, sums.protected_events, 0.0), None
    sigma = spread(table, sums, expected) if setup.sigma is None else np.full(len(size), setup.sigma)
    assert sums.protected_log_odds is not None
    differences = sums.protected_log_odds - sums.protected * log_odds(expected)
    return size, np.where(searched, differences, 0.0) / np.maximum(sigma, 1e-12)[:, None], sigma


def supported_cells(table: ScanTable, sums: Moments) -> BoolArray:
    """Cells whose X cell has, within the condition, somebody outside the class to be compared with."""
    answer = np.empty(sums.comparison.shape, dtype=np.bool_)
    for draw in range(len(answer)):
        people = totals(table.cell_x, sums.comparison[draw] * table.cell_scanned, len(table.x_codes))
        answer[draw] = people[table.cell_x] > 0
    return answer


def _first_problem(
    setup: ScanSetup, size: FloatArray, observed: FloatArray, expected: FloatArray
) -> SearchedCells:
    """The search over the first row of these sums."""
    return SearchedCells(
        gaussian=setup.table.real_valued,
        codes=setup.table.cell_codes,
        arity=setup.table.arity,
        size=size[0],
        observed=observed[0],
        expected=expected[0],
        penalty=setup.penalty,
    )
