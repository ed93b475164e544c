"""p-values where counts are too small for a normal law: conditional on the number of events, or by exact limits.

A pooled test with an expected count of 0.15 in one cell rejects a true null 14% of the time at the 5% level. Given
the number of events of a family, the events of its cells are hypergeometric under H0, whatever the common rate.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv, gammaln

from fairtrial.methods.transport.solver.rate_contrasts import Floats, Integers, RateContrasts

SMALL_EXPECTED = 5.0
_DRAWS = 9_999
_ROUNDING = 1e-9


def smallest_expected(problem: RateContrasts, rates: Floats) -> float:
    """The smallest expected number of events or of non-events in a compared cell."""
    compared = (problem.contrast != 0).any(axis=0)
    share = np.minimum(rates, 1 - rates)[compared]
    return float((problem.cell_rows[compared] * share).min())


def conditional_pair(k1: int, n1: int, k0: int, n0: int, direction: str) -> float:
    """Two cells: the hypergeometric probability of a gap at least as large in the direction asked for."""
    total = k1 + k0
    first = np.arange(max(0, total - n0), min(n1, total) + 1)
    log_weight = _log_choose(n1, first) + _log_choose(n0, total - first)
    weight = np.exp(log_weight - log_weight.max())
    gap, seen = first / n1 - (total - first) / n0, k1 / n1 - k0 / n0
    as_far = {
        "differs": np.abs(gap) >= abs(seen) - _ROUNDING,
        "above": gap >= seen - _ROUNDING,
        "below": gap <= seen + _ROUNDING,
    }[direction]
    return float(min(1.0, weight[as_far].sum() / weight.sum()))


def _log_choose(n: int, k: Integers) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def conditional_form(problem: RateContrasts, inverse: Floats, families: list[Integers], seed: int) -> float:
    """gapᵀ S⁻¹ gap against draws of each family's events given their number; p = (1 + b)/(1 + B)."""
    rng = np.random.default_rng(seed)
    drawn = np.zeros((_DRAWS, problem.contrast.shape[1]))
    for family in families:
        rows = problem.cell_rows[family].astype(np.int64)
        events = int(problem.cell_events[family].sum())
        drawn[:, family] = (
            rng.multivariate_hypergeometric(rows, events, size=_DRAWS, method="marginals") / rows
        )
    gaps = drawn @ problem.contrast.T
    far = np.einsum("ij,jk,ik->i", gaps, inverse, gaps)
    seen = float(problem.gap @ inverse @ problem.gap)
    return float((1 + (far >= seen * (1 - _ROUNDING)).sum()) / (1 + _DRAWS))


def exact_band(k1: int, n1: int, k0: int, n0: int, tolerance: float, direction: str) -> float:
    """The smallest level at which exact (Clopper–Pearson) limits of the two rates put the gap outside the band.

    Each rate spends half of the level; two-sided bands split each half again. Conservative, never liberal.
    """

    def outside(level: float) -> bool:
        tail = level / 2 if direction != "differs" else level / 4
        low1, high1 = _limits(k1, n1, tail)
        low0, high0 = _limits(k0, n0, tail)
        above, below = low1 - high0 > tolerance, high1 - low0 < -tolerance
        return {"differs": above or below, "above": above, "below": below}[direction]

    if not outside(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = np.sqrt(low * high) if low > 0 else high / 16
        if middle < 1e-300:
            break
        low, high = (low, middle) if outside(middle) else (middle, high)
    return float(high)


def _limits(k: int, n: int, tail: float) -> tuple[float, float]:
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))
    return low, high
