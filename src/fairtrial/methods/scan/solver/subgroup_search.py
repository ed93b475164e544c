"""Search one table of cells for the subgroup with the largest score, in one or both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.scan.solver.ascent import climb
from fairtrial.methods.scan.solver.enumeration import enumerate_subgroups
from fairtrial.methods.scan.solver.ranking import Ranking, SearchSpace, empty_ranking
from fairtrial.methods.scan.solver.score import BERNOULLI, GAUSSIAN, CellNumbers
from fairtrial.work.compiled import njit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Direction = Literal["above", "below"]

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

    @property
    def kind(self) -> int:
        return GAUSSIAN if self.gaussian else BERNOULLI

    @property
    def space(self) -> SearchSpace:
        # random keys, whose sums tell sets of cells apart
        keys = np.random.default_rng(20160601).integers(0, 2**64 - 1, size=len(self.size), dtype=np.uint64)
        return SearchSpace(self.codes, self.arity, self.penalty, keys)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchPlan:
    """How to search: by proof (`exact`) or by restarts."""

    exact: bool
    order: IntArray
    steps: float
    restarts: int = 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """A subgroup: `values[j, v]` says whether value v of attribute j is admitted."""

    score: float
    theta: float
    listed: int
    direction: Direction
    values: BoolArray


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


def subgroup_count(arity: IntArray) -> float:
    """How many subgroups there are: the product of 2^values − 1."""
    return float(np.prod(2.0 ** arity.astype(np.float64) - 1.0))


def mirror(problem: SearchedCells, direction: Direction) -> SearchedCells:
    """The same problem asked in the other direction is the mirrored one asked above."""
    if direction == "above":
        return problem
    observed = -problem.observed if problem.gaussian else problem.size - problem.observed
    return SearchedCells(
        gaussian=problem.gaussian,
        codes=problem.codes,
        arity=problem.arity,
        size=problem.size,
        observed=observed,
        expected=1.0 - problem.expected,
        penalty=problem.penalty,
    )


def find_subgroups(
    problem: SearchedCells, directions: tuple[Direction, ...], plan: SearchPlan, top: int = 1, seed: int = 0
) -> list[Found]:
    """The `top` best subgroups over the directions, distinct in their people."""
    found = []
    generator = np.random.default_rng(seed)
    for direction in directions:
        ranking = _rank(mirror(problem, direction), plan, top, generator)
        sign = 1.0 if direction == "above" else -1.0
        found += [
            Found(
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


def _rank(problem: SearchedCells, plan: SearchPlan, top: int, generator: np.random.Generator) -> Ranking:
    ranking = empty_ranking(top, problem.arity)
    numbers = CellNumbers(problem.kind, problem.size, problem.observed, problem.expected)
    if plan.exact:
        solve_last = top == 1 or subgroup_count(problem.arity) > RANKED_SUBGROUPS
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
        if direction == "below":
            observed = -drawn.observed if problem.gaussian else drawn.size - drawn.observed
            drawn = CellNumbers(drawn.kind, drawn.size, observed, 1.0 - drawn.expected)
        scores = np.empty(len(drawn.size))
        _maximum_scores(problem.space, drawn, plan.exact, plan.order, plan.restarts, generator, scores)
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
    ranking = Ranking(
        np.empty(1),
        np.empty(1),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.uint64),
        np.ones((1, space.arity.shape[0], space.arity.max()), dtype=np.bool_),
    )
    for draw in range(scores.shape[0]):
        ranking.score[0] = -np.inf
        numbers = CellNumbers(drawn.kind, drawn.size[draw], drawn.observed[draw], drawn.expected[draw])
        # before an enumeration one climb: a good score to beat cuts most of its branches
        climb(space, numbers, 1 if exact else restarts, generator, ranking)
        if exact:
            enumerate_subgroups(space, numbers, order, True, ranking)
        scores[draw] = ranking.score[0]
