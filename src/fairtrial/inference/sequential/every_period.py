"""The factor of one block in the test of 'in every period so far the gap was inside the band'.

Rates that were learned before are set against the null's nearest ones (Turner, Ly and Grünwald, 2024): the ratio of
their likelihoods has an expected value of at most 1 whatever rates of the null hold in this block.
"""

from __future__ import annotations

import math

from fairtrial.work.compiled import njit

HALVINGS = 200


@njit
def slope(
    q: float, theta_a: float, theta_b: float, n_a: float, n_b: float, ratio: float, edge: float
) -> float:
    """How the divergence to the null's rates (edge + ratio q, q) grows with q."""
    first = edge + ratio * q
    grown = n_a * ratio * (first - theta_a) / (first * (1.0 - first))
    return grown + n_b * (q - theta_b) / (q * (1.0 - q))


@njit
def nearest(
    theta_a: float, theta_b: float, n_a: float, n_b: float, ratio: float, edge: float
) -> tuple[float, float]:
    """The rates with p_a = edge + ratio p_b that are nearest to those learned."""
    if edge == 0.0 and ratio == 1.0:
        both = (n_a * theta_a + n_b * theta_b) / (n_a + n_b)
        return both, both
    low, high = max(0.0, -edge / ratio), min(1.0, (1.0 - edge) / ratio)
    q = 0.5 * (low + high)
    for _ in range(HALVINGS):
        if slope(q, theta_a, theta_b, n_a, n_b, ratio, edge) > 0:
            high = q
        else:
            low = q
        q = 0.5 * (low + high)
        if q <= low or q >= high:
            break
    return edge + ratio * q, q


@njit
def log_likelihood_ratio(n: float, ones: float, theta: float, q: float) -> float:
    """Of the learned rate to the null's."""
    return ones * math.log(theta / q) + (n - ones) * math.log((1.0 - theta) / (1.0 - q))


@njit
def two_sample_factor(
    theta_a: float, theta_b: float, n_a: float, k_a: float, n_b: float, k_b: float, ratio: float, edge: float
) -> float:
    """Logarithm of the factor against p_a - ratio p_b ≤ edge; 0 where the rates learned do not contradict it."""
    if edge >= 1.0 or theta_a - ratio * theta_b <= edge:
        return 0.0
    q_a, q_b = nearest(theta_a, theta_b, n_a, n_b, ratio, edge)
    if not (0.0 < q_a < 1.0 and 0.0 < q_b < 1.0):
        return 0.0  # the null's rates are at the end of what a rate can be: nothing is bet
    return log_likelihood_ratio(n_a, k_a, theta_a, q_a) + log_likelihood_ratio(n_b, k_b, theta_b, q_b)


@njit
def one_sample_factor(theta: float, n: float, ones: float, limit: float) -> float:
    """Logarithm of the factor against p ≤ limit."""
    if limit >= 1.0 or limit <= 0.0 or theta <= limit:
        return 0.0
    return log_likelihood_ratio(n, ones, theta, limit)
