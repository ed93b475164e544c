"""Overlapping cells (Example 6): the linear program (7) on buckets of rows, refined until it is exact.

Each class's sorted distances are cut into buckets priced at their mean; that small program's plan is feasible
for the whole one and its multiplier γ gives the exact dual value from prefix sums. Buckets that γ crosses are
cut where it crosses and around it, until primal = dual: a certificate, not a tolerance on steps. Newton's method on
the dual guesses the first cuts; alone it would need a special case for tolerances, one-sided bands and ties.
"""

from __future__ import annotations

import numpy as np

from fairtrial.methods.transport.solver.linear_program import Limits, band_program
from fairtrial.methods.transport.solver.rate_contrasts import Floats, Integers

_CERTIFICATE = 1e-12
_NEWTON_STEPS = 10
_FIRST_SHARES = np.linspace(0, 1, 17) ** 2


def refine(distances: list[Floats], direction: Floats, limits: Limits) -> tuple[float, Floats] | None:
    """Minimise Σ_c cost of moving y_c rows of class c, with low ≤ start + Σ_c y_c direction_c ≤ high.

    `distances` are sorted and finite, `direction` is (classes, m). Returns (cost, masses), None if impossible.
    """
    if not any(values.size for values in distances):
        return None
    positive = [values[values > 0] for values in distances]
    scale = np.mean(np.concatenate(positive)) if any(part.size for part in positive) else 1.0
    classes = _Classes([values / scale for values in distances], direction)
    cuts = classes.first_cuts(limits)
    best_cost, best_mass, best_dual = np.inf, np.zeros(len(distances)), -np.inf
    while True:
        solved = _bucket_program(classes, cuts, limits)
        if solved is None:
            return None
        mass, gamma = solved
        cost = classes.cost(mass)
        if cost < best_cost:
            best_cost, best_mass = cost, mass
        crossing = -(direction @ gamma)
        best_dual = max(best_dual, _dual_value(classes, crossing, gamma, limits))
        if best_cost - best_dual <= _CERTIFICATE * max(1.0, best_cost):
            break
        finer = classes.refined(cuts, crossing)
        if all(new.size == old.size for new, old in zip(finer, cuts, strict=True)):
            break  # no bucket straddles its crossing: the small program is the whole one
        cuts = finer
    return float(best_cost * scale), best_mass


class _Classes:
    """The sorted distances of each class, their running totals, and what one row more does to the gaps."""

    def __init__(self, distances: list[Floats], direction: Floats) -> None:
        self.distances, self.direction = distances, direction
        self.totals = [np.concatenate([[0.0], np.cumsum(values)]) for values in distances]

    def first_cuts(self, limits: Limits) -> list[Integers]:
        """Bucket edges to start with, finer where Newton's method expects the crossing."""
        excess = limits.start - np.clip(limits.start, limits.low, limits.high)
        guess = -(self.direction @ _newton(self.distances, self.direction, excess))
        return self.refined([_first_cuts(values.size) for values in self.distances], guess)

    def refined(self, cuts: list[Integers], crossing: Floats) -> list[Integers]:
        """Finer buckets around each class's crossing."""
        return [
            _refined(cut, values, value)
            for cut, values, value in zip(cuts, self.distances, crossing, strict=True)
        ]

    def cost(self, mass: Floats) -> float:
        """Of moving this many rows of each class, the nearest first."""
        return sum(_prefix(total, value) for total, value in zip(self.totals, mass, strict=True))


def _newton(distances: list[Floats], direction: Floats, excess: Floats) -> Floats:
    """Roughly the γ of the optimum: Newton's method on the dual, its curvature from counts in shrinking windows.

    Only a guess at where to cut first; whatever it is, the refinement ends at the same certified optimum.
    """
    gamma = np.zeros(excess.size)
    window = 0.5 / 0.7
    for _ in range(_NEWTON_STEPS):
        window *= 0.7
        points = -(direction @ gamma)
        reached = [
            values.searchsorted((point, point - window, point + window))
            for values, point in zip(distances, points, strict=True)
        ]
        moved, below, above = np.array(reached).T
        slope = excess + moved @ direction
        curvature = (direction.T * ((above - below) / (2 * window))) @ direction
        curvature += np.eye(excess.size) * (1e-9 + 1e-6 * np.trace(curvature))
        gamma = gamma + np.linalg.solve(curvature, slope)
    return gamma


def _first_cuts(size: int) -> Integers:
    """Bucket edges: denser near the boundary, where rows move first."""
    return np.unique(np.round(size * _FIRST_SHARES).astype(np.int64))


def _refined(cuts: Integers, values: Floats, crossing: float) -> Integers:
    """New edges where the crossing falls, and around it at growing steps, inside the bucket it falls into."""
    if cuts.size < 2:
        return cuts
    new = []
    for place in {int(values.searchsorted(crossing, "left")), int(values.searchsorted(crossing, "right"))}:
        bucket = min(max(int(cuts.searchsorted(place, "right")) - 1, 0), cuts.size - 2)
        if place in (cuts[bucket], cuts[bucket + 1]):
            continue
        steps = 2 ** np.arange(max(values.size, 2).bit_length())
        around = np.concatenate([[place], place - steps, place + steps])
        new.append(around[(around > cuts[bucket]) & (around < cuts[bucket + 1])])
    return np.unique(np.concatenate([cuts, *new])) if new else cuts


def _prefix(total: Floats, mass: float) -> float:
    """Cost of moving the nearest `mass` rows of a class."""
    whole = min(int(mass), total.size - 1)
    rest = mass - whole
    return float(total[whole] + (rest * (total[whole + 1] - total[whole]) if whole + 1 < total.size else 0.0))


def _bucket_program(classes: _Classes, cuts: list[Integers], limits: Limits) -> tuple[Floats, Floats] | None:
    """Solve the small program; returns (mass per class, γ)."""
    kind = np.concatenate([np.full(max(cut.size - 1, 0), index) for index, cut in enumerate(cuts)]).astype(
        int
    )
    size = np.concatenate([np.diff(cut) for cut in cuts]).astype(float)
    price = (
        np.concatenate([np.diff(total[cut]) for total, cut in zip(classes.totals, cuts, strict=True)]) / size
    )
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
    for values, total, point in zip(classes.distances, classes.totals, crossing, strict=True):
        inside = int(np.searchsorted(values, point, "left"))
        value += float(total[inside] - inside * point)
    return value
