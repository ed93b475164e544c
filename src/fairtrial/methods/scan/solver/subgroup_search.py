"""Search one table of cells for the subgroup with the largest score, in one or both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.scan.solver.score import BERNOULLI, GAUSSIAN
from fairtrial.methods.scan.solver.search import climb, enumerate_subgroups
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
        scores, thetas, listed, values = _rank(mirror(problem, direction), plan, top, generator)
        sign = 1.0 if direction == "above" else -1.0
        for place in range(top):
            if scores[place] > -np.inf:
                found.append(
                    Found(
                        score=float(scores[place]),
                        theta=sign * float(thetas[place]),
                        listed=int(listed[place]),
                        direction=direction,
                        values=values[place].copy(),
                    )
                )
    found.sort(key=lambda one: -one.score)
    return found[:top]


def _rank(
    problem: SearchedCells, plan: SearchPlan, top: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray, IntArray, BoolArray]:
    scores = np.full(top, -np.inf, dtype=np.float64)
    thetas = np.zeros(top, dtype=np.float64)
    listed = np.zeros(top, dtype=np.int64)
    keys = np.zeros(top, dtype=np.uint64)
    values: BoolArray = np.ones((top, len(problem.arity), int(problem.arity.max())), dtype=np.bool_)
    kind = GAUSSIAN if problem.gaussian else BERNOULLI
    cell_keys = _cell_keys(len(problem.size))
    if plan.exact:
        solve_last = top == 1 or subgroup_count(problem.arity) > RANKED_SUBGROUPS
        enumerate_subgroups(
            kind, problem.penalty, problem.codes, problem.arity, plan.order, solve_last,
            problem.size, problem.observed, problem.expected, cell_keys, scores, thetas, listed, keys, values,
        )  # fmt: skip
    else:
        climb(
            kind, problem.penalty, problem.codes, problem.arity, plan.restarts, generator,
            problem.size, problem.observed, problem.expected, cell_keys, scores, thetas, listed, keys, values,
        )  # fmt: skip
    return scores, thetas, listed, values


def maximum_scores(
    problem: SearchedCells,
    size: FloatArray,
    observed: FloatArray,
    expected: FloatArray,
    directions: tuple[Direction, ...],
    plan: SearchPlan,
    generator: np.random.Generator,
) -> FloatArray:
    """The best score of every draw (one row each); the whole search is repeated in each."""
    best = np.full(len(size), -np.inf)
    cell_keys = _cell_keys(size.shape[1])
    for direction in directions:
        if direction == "below":
            observed = -observed if problem.gaussian else size - observed
            expected = 1.0 - expected
        scores = np.empty(len(size))
        _maximum_scores(
            GAUSSIAN if problem.gaussian else BERNOULLI,
            problem.penalty,
            problem.codes,
            problem.arity,
            plan.exact,
            plan.order,
            plan.restarts,
            generator,
            size,
            observed,
            expected,
            cell_keys,
            scores,
        )
        best = np.maximum(best, scores)
    return best


def _cell_keys(cells: int) -> NDArray[np.uint64]:
    """Random keys whose sums tell sets of cells apart."""
    generator = np.random.default_rng(20160601)
    return generator.integers(0, 2**64 - 1, size=cells, dtype=np.uint64)


@njit
def _maximum_scores(
    kind: int,
    penalty: float,
    codes: IntArray,
    arity: IntArray,
    exact: bool,
    order: IntArray,
    restarts: int,
    generator: np.random.Generator,
    size: FloatArray,
    observed: FloatArray,
    expected: FloatArray,
    cell_keys: NDArray[np.uint64],
    scores: FloatArray,
) -> None:
    attributes = arity.shape[0]
    score = np.empty(1)
    theta = np.empty(1)
    listed = np.zeros(1, dtype=np.int64)
    key = np.zeros(1, dtype=np.uint64)
    values = np.ones((1, attributes, arity.max()), dtype=np.bool_)
    for draw in range(scores.shape[0]):
        score[0] = -np.inf
        if exact:
            # one climb first: a good score to beat cuts most branches of the enumeration
            climb(
                kind, penalty, codes, arity, 1, generator, size[draw], observed[draw], expected[draw], cell_keys,
                score, theta, listed, key, values,
            )  # fmt: skip
            enumerate_subgroups(
                kind, penalty, codes, arity, order, True, size[draw], observed[draw], expected[draw], cell_keys,
                score, theta, listed, key, values,
            )  # fmt: skip
        else:
            climb(
                kind, penalty, codes, arity, restarts, generator, size[draw], observed[draw], expected[draw],
                cell_keys, score, theta, listed, key, values,
            )  # fmt: skip
        scores[draw] = score[0]
