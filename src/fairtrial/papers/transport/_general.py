"""Definition 1 in full: fairness by any discerning tuple (U, φ), projected by the linear program (7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from fairtrial._errors import Fault, InputError
from fairtrial._inference.joint.vector_likelihood import quadratic_form_weights, weighted_chi2_sf

Floats = NDArray[np.float64]
Phi = Callable[[Floats, Floats], Floats]
STEP = 1e-6  # of the derivative of φ in E[U], relative to its size


@dataclass(frozen=True, slots=True, eq=False)
class GeneralTest:
    """N·P of (7), who moves, the dual γ, and the p-value of Theorem 1."""

    statistic: float
    moved: Floats
    gamma: Floats
    p_value: float


def general_test(
    u: Floats, phi: Phi, decided: NDArray[np.integer], distance: Floats, bandwidth: float | None = None
) -> GeneralTest:
    """Test E[C(X)·φ(U, E[U])] = 0 for any U and φ (Definition 1), by the article's limit law.

    Like the law itself, it needs distances with a density at the boundary; see `article_test`.

    Parameters
    ----------
    u : ndarray
        U of each row: N × s, functions of group and outcome.
    phi : callable
        φ(U, μ) for all rows at once: N × m.
    decided : ndarray
        The decisions, 0 or 1.
    distance : ndarray
        How far each row is from the other decision.
    bandwidth : float or None, default None
        Of the kernel of Section 5.2; default N^(−1/5).

    Examples
    --------
    >>> rows = np.random.default_rng(0)
    >>> group, margin = rows.integers(0, 2, 500), rows.normal(size=500)
    >>> u = np.column_stack([group == 0, group == 1]).astype(float)
    >>> found = general_test(u, lambda u, mean: u[:, :1] / mean[0] - u[:, 1:] / mean[1], margin > 0, abs(margin))
    >>> found.statistic >= 0, 0 < found.p_value <= 1
    (True, True)
    """
    u, one = np.asarray(u, dtype=float), np.asarray(decided, dtype=float)
    rows, mean = len(u), u.mean(axis=0)
    phi_of = np.asarray(phi(u, mean), dtype=float).reshape(rows, -1)
    gain = ((1.0 - 2.0 * one)[:, None] * phi_of).T
    found: Any = optimize.linprog(
        distance, A_eq=gain, b_eq=-(one @ phi_of), bounds=(0.0, 1.0), method="highs"
    )
    if found.status != 0:
        raise InputError(
            "general_test",
            Fault("phi", "cannot be met by moving any of the rows", cure="state another function"),
        )
    influence = one[:, None] * phi_of + (u - mean) @ _sensitivity(u, phi, one, mean).T
    covariance = np.atleast_2d(np.cov(influence.T, bias=True))
    width = rows**-0.2 if bandwidth is None else bandwidth
    near = np.exp(-((np.asarray(distance) / width) ** 2) / 2) / (np.sqrt(2 * np.pi) * width * rows)
    weights = quadratic_form_weights((phi_of.T * near) @ phi_of, covariance)
    p = weighted_chi2_sf(2 * found.fun, weights) if found.fun > 0 else 1.0
    return GeneralTest(float(found.fun), np.asarray(found.x), np.asarray(found.eqlin.marginals), float(p))


def _sensitivity(u: Floats, phi: Phi, decided: Floats, mean: Floats) -> Floats:
    """How E[C·φ(U, μ)] moves with μ: m × s, by central differences."""
    columns = []
    for place in range(mean.size):
        step = np.zeros(mean.size)
        step[place] = STEP * max(1.0, abs(mean[place])) * min(1.0, abs(mean[place]) or 1.0)
        ends = [np.asarray(phi(u, mean + side * step)).reshape(len(u), -1) for side in (1.0, -1.0)]
        columns.append((decided @ (ends[0] - ends[1])) / len(u) / (2 * step[place]))
    return np.stack(columns, axis=1)
