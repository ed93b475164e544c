"""The article's scan: expectations, scores and search, for the data and for every null draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairtrial._scan.solver.scan_table import (
    BoolArray,
    CellMoments,
    FloatArray,
    IntArray,
    ScanTable,
    log_odds,
    observed_moments,
    totals,
)
from fairtrial._scan.solver.value_sets import Direction, FoundSubgroup, attributes_of, subgroup_count
from fairtrial._work.compiled import njit
from fairtrial.papers.conditional_bias_scan._expectation import Designs, Expectations, expected_events, spread
from fairtrial.papers.conditional_bias_scan._one_attribute import Ranking, SearchSpace, empty_ranking
from fairtrial.papers.conditional_bias_scan._score import BERNOULLI, GAUSSIAN, CellNumbers
from fairtrial.papers.conditional_bias_scan._search import climb, enumerate_subgroups

# Above this many steps an exact search is not started unasked; far above it, not even when asked.
EXACT_STEPS = 100_000
EXACT_WORK = 50_000_000
EXACT_STEPS_LIMIT = 20_000_000
RANKED_SUBGROUPS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchedCells:
    """The cells of the protected class: who they are, what happened, what was expected.

    Bernoulli: `observed` events among `size` people, `expected` probability.
    Gaussian: `observed` is ΣΔ/σ over `size` people; `expected` is not used.
    """

    gaussian: bool
    codes: IntArray
    arity: IntArray
    size: FloatArray
    observed: FloatArray
    expected: FloatArray
    penalty: float
    ordered: BoolArray | None = None

    @property
    def kind(self) -> int:
        return GAUSSIAN if self.gaussian else BERNOULLI

    @property
    def subgroups(self) -> float:
        return subgroup_count(attributes_of(self.arity, self.ordered))

    @property
    def space(self) -> SearchSpace:
        # random keys, whose sums tell sets of cells apart
        keys = np.random.default_rng(20160601).integers(0, 2**64 - 1, size=len(self.size), dtype=np.uint64)
        ordered = np.zeros(len(self.arity), dtype=np.bool_) if self.ordered is None else self.ordered
        return SearchSpace(self.codes, self.arity, self.penalty, keys, ordered)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchPlan:
    """How to search: by proof (`exact`) or by restarts."""

    exact: bool
    order: IntArray
    steps: float
    restarts: int = 50


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
    ordered: BoolArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ObservedScan:
    """The scan of the data themselves."""

    sums: CellMoments
    expected: FloatArray
    sigma: float | None
    found: list[FoundSubgroup]


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
    ordered: BoolArray | None = None,
) -> ScanSetup:
    plan = plan_search(table.searched_arity, int(table.cell_scanned.sum()), search, restarts)
    return ScanSetup(
        table=table,
        designs=Designs.of(table),
        how=how or Expectations(),
        directions=directions,
        penalty=penalty,
        sigma=sigma,
        plan=plan,
        drop_unsupported=drop_unsupported,
        ordered=ordered,
    )


def scan_observed(setup: ScanSetup, top: int = 1, seed: int = 0) -> ObservedScan:
    """Expectations and the best subgroups of the data."""
    sums = observed_moments(setup.table)
    scored, sigma = _scored(setup, sums)
    return ObservedScan(
        sums=sums,
        expected=scored.expected[0],
        sigma=None if sigma is None else float(sigma[0]),
        found=find_subgroups(_first_of(setup, scored), setup.directions, setup.plan, top, seed),
    )


def scan_draws(setup: ScanSetup, sums: CellMoments, generator: np.random.Generator) -> FloatArray:
    """The maximum score of every draw; models are refitted and the whole search is repeated."""
    drawn, _ = _scored(setup, sums)
    return maximum_scores(_first_of(setup, drawn), drawn, setup.directions, setup.plan, generator)


def _scored(setup: ScanSetup, sums: CellMoments) -> tuple[CellNumbers, FloatArray | None]:
    """The protected cells as the score functions take them, one row per draw, and σ of real-valued events."""
    table = setup.table
    expected = expected_events(table, setup.designs, setup.how, sums)
    searched = np.broadcast_to(table.cell_scanned, sums.protected.shape)
    if setup.drop_unsupported:
        searched = searched & supported_cells(table, sums)
    size = np.where(searched, sums.protected, 0.0)
    if not table.real_valued:
        return CellNumbers(BERNOULLI, size, np.where(searched, sums.protected_events, 0.0), expected), None
    sigma = spread(table, sums, expected) if setup.sigma is None else np.full(len(size), setup.sigma)
    assert sums.protected_log_odds is not None
    differences = sums.protected_log_odds - sums.protected * log_odds(expected)
    observed = np.where(searched, differences, 0.0) / np.maximum(sigma, 1e-12)[:, None]
    return CellNumbers(GAUSSIAN, size, observed, expected), sigma


def supported_cells(table: ScanTable, sums: CellMoments) -> BoolArray:
    """Cells whose X cell has, within the condition, somebody outside the class to be compared with."""
    answer = np.empty(sums.comparison.shape, dtype=np.bool_)
    for draw in range(len(answer)):
        people = totals(table.cell_x, sums.comparison[draw] * table.cell_scanned, len(table.x_codes))
        answer[draw] = people[table.cell_x] > 0
    return answer


def _first_of(setup: ScanSetup, drawn: CellNumbers) -> SearchedCells:
    """The first draw as it is searched."""
    return SearchedCells(
        gaussian=setup.table.real_valued,
        codes=setup.table.searched_codes,
        arity=setup.table.searched_arity,
        size=drawn.size[0],
        observed=drawn.observed[0],
        expected=drawn.expected[0],
        penalty=setup.penalty,
        ordered=setup.ordered,
    )


def plan_search(
    arity: IntArray, cells: int, search: Literal["auto", "exact", "restarts"] = "auto", restarts: int = 50
) -> SearchPlan:
    """Enumerate all attributes but the one with most values, when that is affordable."""
    order = np.argsort(arity, kind="stable").astype(np.int64)
    sets = 2.0 ** arity[order[:-1]].astype(np.float64) - 1.0
    steps = float(np.prod(sets)) if len(arity) else 1.0
    affordable = steps <= EXACT_STEPS and steps * cells <= EXACT_WORK
    exact = search == "exact" or (search == "auto" and affordable)
    return SearchPlan(exact=exact, order=order, steps=steps, restarts=restarts)


def _towards(direction: Direction, numbers: CellNumbers) -> CellNumbers:
    """The numbers of cells asked below are the mirrored ones asked above."""
    if direction == "above":
        return numbers
    observed = -numbers.observed if numbers.kind == GAUSSIAN else numbers.size - numbers.observed
    return CellNumbers(numbers.kind, numbers.size, observed, 1.0 - numbers.expected)


def find_subgroups(
    problem: SearchedCells, directions: tuple[Direction, ...], plan: SearchPlan, top: int = 1, seed: int = 0
) -> list[FoundSubgroup]:
    """The `top` best subgroups over the directions, distinct in their people."""
    found = []
    generator = np.random.default_rng(seed)
    for direction in directions:
        ranking = _rank(problem, direction, plan, top, generator)
        sign = 1.0 if direction == "above" else -1.0
        found += [
            FoundSubgroup(
                score=float(ranking.score[place]),
                theta=sign * float(ranking.theta[place]),
                listed=int(ranking.listed[place]),
                direction=direction,
                values=ranking.values[place].copy(),
            )
            for place in range(top)
            if ranking.score[place] > -np.inf
        ]
    found.sort(key=lambda one: -one.score)
    return found[:top]


def _rank(
    problem: SearchedCells, direction: Direction, plan: SearchPlan, top: int, generator: np.random.Generator
) -> Ranking:
    ranking = empty_ranking(top, problem.arity)
    seen = CellNumbers(problem.kind, problem.size, problem.observed, problem.expected)
    numbers = _towards(direction, seen)
    if plan.exact:
        solve_last = top == 1 or problem.subgroups > RANKED_SUBGROUPS
        enumerate_subgroups(problem.space, numbers, plan.order, solve_last, ranking)
    else:
        climb(problem.space, numbers, plan.restarts, generator, ranking)
    return ranking


def maximum_scores(
    problem: SearchedCells,
    drawn: CellNumbers,
    directions: tuple[Direction, ...],
    plan: SearchPlan,
    generator: np.random.Generator,
) -> FloatArray:
    """The best score of every draw (one row each); the whole search is repeated in each."""
    best = np.full(len(drawn.size), -np.inf)
    for direction in directions:
        asked, scores = _towards(direction, drawn), np.empty(len(drawn.size))
        _maximum_scores(problem.space, asked, plan.exact, plan.order, plan.restarts, generator, scores)
        best = np.maximum(best, scores)
    return best


@njit
def _maximum_scores(
    space: SearchSpace,
    drawn: CellNumbers,
    exact: bool,
    order: IntArray,
    restarts: int,
    generator: np.random.Generator,
    scores: FloatArray,
) -> None:
    ranking = empty_ranking(1, space.arity)
    for draw in range(scores.shape[0]):
        ranking.score[0] = -np.inf
        numbers = CellNumbers(drawn.kind, drawn.size[draw], drawn.observed[draw], drawn.expected[draw])
        # before an enumeration one climb: a good score to beat cuts most of its branches
        climb(space, numbers, 1 if exact else restarts, generator, ranking)
        if exact:
            enumerate_subgroups(
                space, numbers, order, exact, ranking
            )  # a constant would be compiled for itself
        scores[draw] = ranking.score[0]
