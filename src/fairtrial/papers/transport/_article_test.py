"""Sections 3.2, 4.2 and 5.2 of the article: N·P of the projection against its estimated limit law.

Theorem 1: N·P ⇒ ½ VᵀS⁻¹V with V ~ N(0, Σ), where S is the density of the signed distance at the boundary. It does not
exist for discrete scores, and its estimate moves when the features are rescaled: there the test misses its level.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from fairtrial._inference.joint.vector_likelihood import quadratic_form_weights, weighted_chi2_sf
from fairtrial._transport.solver.gap_test import GapTest, gap_covariance, kernel_mass
from fairtrial._transport.solver.rate_contrasts import Floats, RateContrasts

_BOUND_DRAWS = 20_000


def article_test(
    problem: RateContrasts,
    distance: Floats,
    projected: float,
    bandwidth: float,
    direction: str,
    seed: int = 0,
) -> GapTest:
    """Sections 3.2, 4.2 and 5.2 as published: N·P against its estimated limit law.

    Does not hold its level for discrete scores, and depends on the units of the distance.
    """
    # Ŝ of Section 5.2 with the Gaussian kernel, which is symmetric, so unsigned distances do
    near = kernel_mass(problem, distance, bandwidth) / (problem.rows * bandwidth)
    form = np.asarray((problem.phi.T * near) @ problem.phi)
    # Σ as the article estimates it (Lemma A2): the empirical covariance, each cell at its own rate
    covariance = gap_covariance(problem, problem.rates)
    try:
        weights = quadratic_form_weights(form, covariance)
    except np.linalg.LinAlgError:
        raise ArithmeticError(
            f"the article's matrix S cannot be estimated with bandwidth {bandwidth:.4g}: too few rows are that "
            "near the decision boundary"
        ) from None
    if direction == "differs":
        p = weighted_chi2_sf(2 * projected, weights)
    elif problem.size == 1:
        p = 0.5 * weighted_chi2_sf(2 * projected, weights) if projected > 0 else 1.0
    else:
        p = _bound_tail(form, covariance, projected, seed)
    return GapTest(p, projected, "the article's limit law", weights)


def _bound_tail(form: Floats, covariance: Floats, projected: float, seed: int) -> float:
    """P(max_{γ ≥ 0} γᵀV − ½γᵀSγ ≥ N·P) of Theorem 2, by drawing V and trying every set of active γ."""
    size = len(form)
    if size > 10:
        raise ArithmeticError(
            f"the article's one-sided bound is offered up to 10 equalities, here are {size}"
        )
    draws = np.random.default_rng(seed).multivariate_normal(np.zeros(size), covariance, size=_BOUND_DRAWS)
    best = np.zeros(_BOUND_DRAWS)
    for count in range(1, size + 1):
        for chosen in combinations(range(size), count):
            part = draws[:, chosen]
            gamma = np.linalg.solve(form[np.ix_(chosen, chosen)], part.T).T
            value = 0.5 * np.einsum("ij,ij->i", part, gamma)
            best = np.maximum(best, np.where((gamma >= 0).all(axis=1), value, 0.0))
    return float((1 + (best >= projected).sum()) / (1 + _BOUND_DRAWS)) if projected > 0 else 1.0
