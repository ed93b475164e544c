"""Linear programs with HiGHS: the small one that refinement solves, and (7)/(9) row by row as the check.

The dual simplex without presolve, which is thirty times slower here. Prices are given in units of the mean
distance and never divided by N: HiGHS then stopped at suboptimal plans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy.optimize import linprog

from fairtrial.methods.transport.solver.rate_contrasts import Floats, RateContrasts

_OPTIONS = {
    "presolve": False,
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
}


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Where the sums of gains start and between which limits they must end."""

    start: Floats
    low: Floats
    high: Floats


def band_program(
    price: Floats, columns: Floats, available: Floats, limited: Limits
) -> tuple[Floats, Floats] | None:
    """Minimise price·y with 0 ≤ y ≤ available and low ≤ start + columns·y ≤ high; (y, γ), None if impossible.

    γ is the multiplier of Propositions 2 and 5: positive where the upper limit binds, negative at the lower.
    """
    start, low, high = limited.start, limited.low, limited.high
    equal = low == high
    upper, lower = np.isfinite(high) & ~equal, np.isfinite(low) & ~equal
    limits = np.vstack([columns[upper], -columns[lower]])
    answer = cast(Any, linprog)(
        price,
        A_eq=columns[equal] if equal.any() else None,
        b_eq=(low - start)[equal] if equal.any() else None,
        A_ub=limits if len(limits) else None,
        b_ub=np.concatenate([(high - start)[upper], (start - low)[lower]]) if len(limits) else None,
        bounds=np.column_stack([np.zeros_like(available), available]),
        method="highs-ds",
        options=_OPTIONS,
    )
    if answer.status == 2:
        return None
    if answer.status != 0:
        raise ArithmeticError(f"HiGHS did not solve the linear program: {answer.message}")
    gamma = np.zeros(start.size)
    if equal.any():
        gamma[equal] = -answer.eqlin.marginals
    if len(limits):
        multipliers = -answer.ineqlin.marginals
        gamma[upper] += multipliers[: upper.sum()]
        gamma[lower] -= multipliers[upper.sum() :]
    return np.asarray(answer.x, dtype=float), gamma


def project_by_rows(
    problem: RateContrasts, distance: Floats, lower: Floats, upper: Floats
) -> tuple[float, Floats | None]:
    """(N·P, plan) of the whole program, one column per row; (inf, None) when infeasible."""
    columns = problem.phi[problem.pattern] * (1.0 - 2.0 * problem.event)[:, None]
    usable = np.flatnonzero(np.isfinite(distance) & (columns != 0).any(axis=1))
    gap, rows = problem.gap, problem.rows
    if usable.size == 0:
        inside = bool((gap >= lower - 1e-15).all() and (gap <= upper + 1e-15).all())
        return (0.0, np.zeros(rows)) if inside else (np.inf, None)
    price = distance[usable]
    scale = float(price[price > 0].mean()) if (price > 0).any() else 1.0
    limits = Limits(rows * gap, rows * lower, rows * upper)
    solved = band_program(price / scale, columns[usable].T, np.ones(usable.size), limits)
    if solved is None:
        return np.inf, None
    plan = np.zeros(rows)
    plan[usable] = solved[0]
    return float(solved[0] @ price), plan
