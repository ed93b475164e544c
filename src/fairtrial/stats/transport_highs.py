"""The linear programs (7) and (9) row by row with HiGHS: the check on the fast routes, not a route itself."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from fairtrial.stats.transport_tuple import DiscerningTuple, Floats


def project_by_highs(
    problem: DiscerningTuple, distance: Floats, lower: Floats, upper: Floats
) -> tuple[float, Floats | None]:
    """(N·P, plan); (inf, None) when infeasible.

    The dual simplex without presolve (thirty times faster here); the objective is in units of the mean distance
    and never divided by N, which made HiGHS stop at suboptimal plans.
    """
    sign = 1.0 - 2.0 * problem.event
    columns = problem.phi[problem.pattern] * sign[:, None]
    usable = np.flatnonzero(np.isfinite(distance) & (columns != 0).any(axis=1))
    gap = problem.gap
    inside = (gap >= lower - 1e-15).all() and (gap <= upper + 1e-15).all()
    if usable.size == 0:
        return (0.0, np.zeros(problem.rows)) if inside else (np.inf, None)
    price = distance[usable]
    scale = price[price > 0].mean() if (price > 0).any() else 1.0
    start, low, high = problem.rows * gap, problem.rows * lower, problem.rows * upper
    equal, has_high, has_low = low == high, np.isfinite(high), np.isfinite(low)
    has_high, has_low = has_high & ~equal, has_low & ~equal
    matrix = columns[usable].T
    answer = linprog(
        price / scale,
        A_eq=csr_matrix(matrix[equal]) if equal.any() else None,
        b_eq=(low - start)[equal] if equal.any() else None,
        A_ub=csr_matrix(np.vstack([matrix[has_high], -matrix[has_low]])) if (has_high | has_low).any() else None,
        b_ub=np.concatenate([(high - start)[has_high], (start - low)[has_low]])
        if (has_high | has_low).any()
        else None,
        bounds=(0, 1),
        method="highs-ds",
        options={
            "presolve": False,
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
        },
    )
    if answer.status == 2:
        return np.inf, None
    if answer.status != 0:
        raise ArithmeticError(f"HiGHS did not solve the linear program: {answer.message}")
    plan = np.zeros(problem.rows)
    plan[usable] = answer.x
    return float(plan[usable] @ price), plan
