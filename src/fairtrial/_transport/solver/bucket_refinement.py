"""Overlapping cells (Example 6): the linear program (7) on buckets of rows, refined until it is exact.

Each class's sorted distances are cut into buckets priced at their mean; that small program's plan is feasible
for the whole one and its multiplier γ gives the exact dual value from prefix sums. Buckets that γ crosses are
cut where it crosses and around it, until primal = dual: a certificate, not a tolerance on steps. Newton's method on
the dual guesses the first cuts; alone it would need a special case for tolerances, one-sided bands and ties.

The programs are solved by HiGHS's dual simplex without presolve, which is thirty times slower here. Prices are given in
units of the mean distance and never divided by N: HiGHS then stopped at suboptimal plans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy.optimize import linprog

from fairtrial._transport.solver.nearest import Nearest
from fairtrial._transport.solver.rate_contrasts import Floats, Integers

_CERTIFICATE = 1e-12
_NEWTON_STEPS = 10
_FIRST_SHARES = np.linspace(0, 1, 17) ** 2
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


def refine(distances: list[Nearest], direction: Floats, limits: Limits) -> tuple[float, Floats] | None:
    """Minimise Σ_c cost of moving y_c rows of class c, with low ≤ start + Σ_c y_c direction_c ≤ high.

    `distances` are sorted and finite, `direction` is (classes, m). Returns (cost, masses), None if impossible.
    """
    if not any(values.size for values in distances):
        return None
    positive = sum(rows.size - int(rows.below(0.0, "right")) for rows in distances)
    scale = sum(float(rows.paid(rows.size)) for rows in distances) / positive if positive else 1.0
    solved = _certified(_Classes([rows.scaled(scale) for rows in distances], direction), limits)
    return None if solved is None else (solved[0] * scale, solved[1])


def _certified(classes: _Classes, limits: Limits) -> tuple[float, Floats] | None:
    """Cost and masses of the buckets' program once it is exact."""
    cuts = classes.first_cuts(limits)
    best_cost, best_mass, best_dual = np.inf, np.zeros(len(cuts)), -np.inf
    while (solved := _bucket_program(classes, cuts, limits)) is not None:
        mass, gamma = solved
        cost = classes.cost(mass)
        if cost < best_cost:
            best_cost, best_mass = cost, mass
        crossing = -(classes.direction @ gamma)
        best_dual = max(best_dual, _dual_value(classes, crossing, gamma, limits))
        finer = classes.refined(cuts, crossing)
        # where no bucket straddles its crossing the small program is the whole one
        same = all(new.size == old.size for new, old in zip(finer, cuts, strict=True))
        if same or best_cost - best_dual <= _CERTIFICATE * max(1.0, best_cost):
            return best_cost, best_mass
        cuts = finer
    return None


class _Classes:
    """The sorted distances of each class, and what one row more does to the gaps."""

    def __init__(self, distances: list[Nearest], direction: Floats) -> None:
        self.distances, self.direction = distances, direction

    def first_cuts(self, limits: Limits) -> list[Integers]:
        """Bucket edges to start with, finer where Newton's method expects the crossing."""
        excess = limits.start - np.clip(limits.start, limits.low, limits.high)
        guess = -(self.direction @ _newton(self.distances, self.direction, excess))
        # denser near the boundary, where rows move first
        edges = [np.round(rows.size * _FIRST_SHARES).astype(np.int64) for rows in self.distances]
        return self.refined([np.unique(edge) for edge in edges], guess)

    def refined(self, cuts: list[Integers], crossing: Floats) -> list[Integers]:
        """Finer buckets around each class's crossing."""
        return [
            _refined(cut, rows, value)
            for cut, rows, value in zip(cuts, self.distances, crossing, strict=True)
        ]

    def cost(self, mass: Floats) -> float:
        """Of moving this many rows of each class, the nearest first."""
        return sum(float(rows.paid(value)) for rows, value in zip(self.distances, mass, strict=True))


def _newton(distances: list[Nearest], direction: Floats, excess: Floats) -> Floats:
    """Roughly the γ of the optimum: Newton's method on the dual, its curvature from counts in shrinking windows.

    Only a guess at where to cut first; whatever it is, the refinement ends at the same certified optimum.
    """
    gamma = np.zeros(excess.size)
    window = 0.5 / 0.7
    for _ in range(_NEWTON_STEPS):
        window *= 0.7
        points = -(direction @ gamma)
        reached = [
            rows.below((point, point - window, point + window))
            for rows, point in zip(distances, points, strict=True)
        ]
        moved, below, above = np.array(reached).T
        slope = excess + moved @ direction
        curvature = (direction.T * ((above - below) / (2 * window))) @ direction
        curvature += np.eye(excess.size) * (1e-9 + 1e-6 * np.trace(curvature))
        gamma = gamma + np.linalg.solve(curvature, slope)
    return gamma


def _refined(cuts: Integers, rows: Nearest, crossing: float) -> Integers:
    """New edges where the crossing falls, and around it at growing steps, inside the bucket it falls into."""
    if cuts.size < 2:
        return cuts
    new = []
    for place in {int(rows.below(crossing, "left")), int(rows.below(crossing, "right"))}:
        bucket = min(max(int(cuts.searchsorted(place, "right")) - 1, 0), cuts.size - 2)
        if place in (cuts[bucket], cuts[bucket + 1]):
            continue
        steps = 2 ** np.arange(max(rows.size, 2).bit_length())
        around = np.concatenate([[place], place - steps, place + steps])
        new.append(around[(around > cuts[bucket]) & (around < cuts[bucket + 1])])
    return np.unique(np.concatenate([cuts, *new])) if new else cuts


def _bucket_program(classes: _Classes, cuts: list[Integers], limits: Limits) -> tuple[Floats, Floats] | None:
    """Solve the small program; returns (mass per class, γ)."""
    kind = np.repeat(np.arange(len(cuts)), [max(cut.size - 1, 0) for cut in cuts])
    size = np.concatenate([np.diff(cut) for cut in cuts]).astype(float)
    paid = [np.diff(rows.paid(cut)) for rows, cut in zip(classes.distances, cuts, strict=True)]
    price = np.concatenate(paid) / size
    solved = band_program(price, classes.direction[kind].T, size, limits)
    if solved is None:
        return None
    mass = np.bincount(kind, weights=solved[0], minlength=len(cuts)).astype(float)
    return mass, solved[1]


def _dual_value(classes: _Classes, crossing: Floats, gamma: Floats, limits: Limits) -> float:
    """The dual of Propositions 2 and 5 at γ, exactly: Σ_i (d_i + γᵀa_i)⁻ + γᵀb minus the band's support."""
    value = float(gamma @ limits.start)
    for limit, part in ((limits.high, np.maximum(gamma, 0.0)), (limits.low, np.minimum(gamma, 0.0))):
        used = part != 0
        value -= float(part[used] @ limit[used])
    for rows, point in zip(classes.distances, crossing, strict=True):
        inside = int(rows.below(point, "left"))
        value += float(rows.paid(inside) - inside * point)
    return value
