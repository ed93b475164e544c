"""The linear program (7)/(9) of transport with one column per row: what the fast routes must equal."""

from __future__ import annotations

import numpy as np

from inside.transport import Floats, Limits, RateContrasts, band_program


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
