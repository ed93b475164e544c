"""Is the gap chance? The p-value of the projection, pooled (default) or as in the article.

Theorem 1: N·P ⇒ ½ VᵀS⁻¹V with V ~ N(0, Σ). The article estimates S from the density of the signed distance at
the boundary, which does not exist for discrete scores; its test then misses its level, and moves when the
features are rescaled. The pooled calibration puts the gap itself into the same quadratic form,
Q = ½ N gapᵀS⁻¹gap, with the weights of its law from the same S: any S ≻ 0 keeps the level, so bandwidth and ties
do not matter. For one equality S cancels, and the p-value is that of the pooled two-proportion test.

With an expected count of 0.15 in one cell that test rejects a true null 14% of the time at the 5% level. Where counts
are small the p-value is conditional on the number of events, or by exact limits: given the number of events of a
family, the events of its cells are hypergeometric under H0, whatever the common rate.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from scipy.special import betaincinv, gammaincc, gammaln, ndtr

from fairtrial.inference.joint.weighted_chi2 import SMALLEST_P, quadratic_form_weights, weighted_chi2_sf
from fairtrial.methods.transport.solver.rate_contrasts import Floats, Integers, RateContrasts

_BOUND_DRAWS = 20_000
_SMALL_EXPECTED = 5.0
_SMALL_DRAWS = 9_999
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class GapTest:
    """A p-value, with the quantity it compares and the scale it is compared with."""

    p_value: float
    statistic: float
    how: str
    # of the chi-square variables in the law of 2·statistic; empty where a normal law is used
    weights: Floats = field(default_factory=lambda: np.zeros(0))


def null_rates(problem: RateContrasts) -> Floats:
    """Each cell's rate under H0: pooled over its family where the criterion makes all its rates equal.

    Elsewhere each cell keeps its own, with one event and one non-event added: without them the variance of a
    contrast is a little too small.
    """
    rates = (problem.cell_events + 1) / (problem.cell_rows + 2)
    for family in problem.families:
        if problem.pools(family):
            rates[family] = problem.cell_events[family].sum() / problem.cell_rows[family].sum()
    return rates


def gap_covariance(problem: RateContrasts, rates: Floats) -> Floats:
    """Σ of √N·gap at these rates, from the influence values W(U(T − r)/μ)."""
    mean = problem.cell_rows / problem.rows
    if problem.disjoint:
        spread = rates * (1 - rates) / mean
        return np.asarray((problem.contrast * spread) @ problem.contrast.T)
    # rates inside an overlap are not fixed by H0, so the variance is taken row by row
    covariance = np.zeros((problem.size, problem.size))
    for event in (0, 1):
        influence = (problem.cells * ((event - rates) / mean)) @ problem.contrast.T
        covariance += (influence.T * problem.class_count[:, event]) @ influence
    return covariance / problem.rows


def _kernel_mass(problem: RateContrasts, distance: Floats, bandwidth: float) -> Floats:
    """Σ K(d/h) over the rows of each pattern."""
    with np.errstate(over="ignore"):
        kernel = np.exp(-0.5 * (distance / bandwidth) ** 2) / np.sqrt(2 * np.pi)
    return np.bincount(problem.pattern, weights=kernel, minlength=len(problem.cells)).astype(float)


def balanced_form(problem: RateContrasts, distance: Floats | None) -> Floats:
    """S of the pooled calibration: E[φφᵀ], half over the rows near the boundary, half over all rows.

    The second half keeps S positive definite where no row of a group is near the boundary. Both are averages and
    the bandwidth follows the spread of the distances, so neither the features' units nor the choice of the
    reference group change the p-value.
    """
    compared = (problem.phi != 0).any(axis=1)
    share = problem.class_count.sum(axis=1) * compared
    weight = share / share.sum()
    finite = distance[np.isfinite(distance)] if distance is not None else np.zeros(0)
    spread = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
    if distance is not None and 0.0 < spread < np.inf:
        near = _kernel_mass(problem, distance, 1.06 * spread * problem.rows**-0.2) * compared
        if near.sum() > 0:
            weight = (weight + near / near.sum()) / 2
    return np.asarray((problem.phi.T * weight) @ problem.phi)


def pooled_test(
    problem: RateContrasts, distance: Floats | None, tolerance: Floats, direction: str, seed: int = 0
) -> GapTest:
    """The default: the level holds for any scores, ties and units; small counts are handled exactly."""
    pooled = all(problem.pools(family) for family in problem.families)
    small = _smallest_expected(problem, null_rates(problem)) < _SMALL_EXPECTED
    if small and not pooled:
        raise ArithmeticError(
            f"a cell has fewer than {_SMALL_EXPECTED:g} events or non-events, and contrasts that do not make all rates "
            "equal have no exact test"
        )
    if direction != "differs" or tolerance.any():
        return _all_bands(problem, tolerance, direction, small)
    if small:
        return _small_equalities(problem, distance, seed)
    return _one_equality(problem) if problem.size == 1 else _all_equalities(problem, distance)


def _all_bands(problem: RateContrasts, tolerance: Floats, direction: str, small: bool) -> GapTest:
    """The smallest p-value of the contrasts, each against its tolerance, corrected for their number."""
    pairs = bool(
        ((problem.contrast == 1).sum(axis=1) == 1).all() and ((problem.contrast != 0).sum(axis=1) == 2).all()
    )
    one = _one_small_band if small and pairs else _one_band
    tests = [one(problem, index, float(tolerance[index]), direction) for index in range(problem.size)]
    smallest = min(tests, key=lambda test: test.p_value)
    if problem.size == 1:
        return smallest
    how = f"the smallest of {problem.size} p-values, times {problem.size}: {smallest.how}"
    return GapTest(min(1.0, problem.size * smallest.p_value), smallest.statistic, how)


def _one_equality(problem: RateContrasts) -> GapTest:
    gap = float(problem.gap[0])
    variance = float(gap_covariance(problem, null_rates(problem))[0, 0]) / problem.rows
    squared = gap**2 / variance if variance > 0 else 0.0
    p = max(float(gammaincc(0.5, squared / 2)), SMALLEST_P)
    return GapTest(p, squared / 2, "two rates, pooled under the null", np.ones(1))


def _all_equalities(problem: RateContrasts, distance: Floats | None) -> GapTest:
    """Q = ½ N gapᵀS⁻¹gap, on the directions in which the gap can vary at all."""
    covariance = gap_covariance(problem, null_rates(problem))
    kept, small = _varying(balanced_form(problem, distance))
    gap = kept.T @ problem.gap
    quadratic = 0.5 * problem.rows * float(gap @ np.linalg.solve(small, gap))
    weights = quadratic_form_weights(small, kept.T @ covariance @ kept)
    p = weighted_chi2_sf(2 * quadratic, weights) if weights.any() else 1.0
    return GapTest(p, quadratic, "all gaps at once, pooled under the null", weights)


def _varying(form: Floats) -> tuple[Floats, Floats]:
    """(basis of the directions with a positive form, the form on them): an attribute given twice counts once."""
    values, vectors = np.linalg.eigh(form)
    kept = np.asarray(vectors[:, values > 1e-10 * values.max()])
    return kept, np.asarray(kept.T @ form @ kept)


def _small_equalities(problem: RateContrasts, distance: Floats | None, seed: int) -> GapTest:
    """Given the number of events, so that small counts do no harm; overlapping families are taken one by one."""
    inverse = _inverse(problem, distance)
    quadratic = 0.5 * problem.rows * float(problem.gap @ inverse @ problem.gap)
    if problem.size == 1:
        p, how = _conditional_pair(*_pair(problem, 0), "differs"), "two rates, given the number of events"
    elif problem.disjoint:
        p = _conditional_form(problem, inverse, problem.families, seed)
        how = "all gaps at once, drawn given the number of events"
    else:
        parts = []
        for family in problem.families:
            own = replace(problem, contrast=problem.contrast[(problem.contrast[:, family] != 0).any(axis=1)])
            parts.append(_conditional_form(own, _inverse(own, None), [family], seed))
        p = min(1.0, len(parts) * min(parts))
        how = f"each attribute given its number of events, the smallest of {len(parts)} p-values times {len(parts)}"
    return GapTest(p, quadratic, how)


def _inverse(problem: RateContrasts, distance: Floats | None) -> Floats:
    """S⁻¹ on the directions in which the gap can vary."""
    kept, small = _varying(balanced_form(problem, distance))
    return np.asarray(kept @ np.linalg.solve(small, kept.T))


def _pair(problem: RateContrasts, index: int) -> tuple[int, int, int, int]:
    """(events, rows) of the cell with +1 and of the cell with −1 of a plain contrast."""
    row = problem.contrast[index]
    counts = [(problem.cell_events[cell], problem.cell_rows[cell]) for cell in (row.argmax(), row.argmin())]
    k1, n1, k0, n0 = (round(float(value)) for pair in counts for value in pair)
    return k1, n1, k0, n0


def _one_small_band(problem: RateContrasts, index: int, tolerance: float, direction: str) -> GapTest:
    if tolerance == 0 and direction != "differs":
        p = _conditional_pair(*_pair(problem, index), direction)
        return GapTest(p, 0.0, "two rates, given the number of events")
    p = _exact_band(*_pair(problem, index), tolerance, direction)
    return GapTest(p, 0.0, "exact limits of two rates against the tolerance")


def _one_band(problem: RateContrasts, index: int, tolerance: float, direction: str) -> GapTest:
    """The gap of one contrast against ±ε or a one-sided ε, its variance at the edge of the null."""
    gap = float(problem.gap[index])
    towards = 1.0 if direction == "above" else -1.0 if direction == "below" else (1.0 if gap >= 0 else -1.0)
    error = _error_at_edge(problem, index, towards * tolerance)
    excess = towards * gap - tolerance
    if error == 0.0:
        z, second = (np.inf if excess > 1e-12 else -np.inf), 0.0
    else:
        z = excess / error
        # the law of |gap| at |gap| = ε has two tails; at ε = 0 this is the usual two-sided p
        second = float(ndtr(-(z + 2 * tolerance / error))) if direction == "differs" else 0.0
    p = min(1.0, max(float(ndtr(-z)) + second, SMALLEST_P))
    statistic = 0.5 * max(z, 0.0) ** 2 if np.isfinite(z) else 0.0
    return GapTest(p, statistic, "the gap against the edge of the tolerance")


def _error_at_edge(problem: RateContrasts, index: int, edge: float) -> float:
    """Standard error of a gap under rates that differ by exactly `edge` and keep the pooled number of events."""
    row = problem.contrast[index]
    cells = np.flatnonzero(row)
    rates = null_rates(problem) if edge == 0 else problem.rates.copy()
    if edge != 0 and cells.size == 2 and np.abs(row[cells]).tolist() == [1.0, 1.0]:
        first, second = (cells[0], cells[1]) if row[cells[0]] > 0 else (cells[1], cells[0])
        n1, n0 = problem.cell_rows[first], problem.cell_rows[second]
        pooled = (problem.cell_events[first] + problem.cell_events[second]) / (n1 + n0)
        low = np.clip(pooled - edge * n1 / (n1 + n0), max(0.0, -edge), min(1.0, 1.0 - edge))
        rates[first], rates[second] = low + edge, low
    elif edge == 0 and cells.size == 2:
        # one contrast of several: pool the two rates it compares, not the whole family
        rates[cells] = problem.cell_events[cells].sum() / problem.cell_rows[cells].sum()
    single = replace(problem, contrast=problem.contrast[index : index + 1])
    return float(np.sqrt(max(gap_covariance(single, rates)[0, 0], 0.0) / problem.rows))


def _smallest_expected(problem: RateContrasts, rates: Floats) -> float:
    """The smallest expected number of events or of non-events in a compared cell."""
    compared = (problem.contrast != 0).any(axis=0)
    share = np.minimum(rates, 1 - rates)[compared]
    return float((problem.cell_rows[compared] * share).min())


def _conditional_pair(k1: int, n1: int, k0: int, n0: int, direction: str) -> float:
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


def _conditional_form(problem: RateContrasts, inverse: Floats, families: list[Integers], seed: int) -> float:
    """gapᵀ S⁻¹ gap against draws of each family's events given their number; p = (1 + b)/(1 + B)."""
    rng = np.random.default_rng(seed)
    drawn = np.zeros((_SMALL_DRAWS, problem.contrast.shape[1]))
    for family in families:
        rows = problem.cell_rows[family].astype(np.int64)
        events = int(problem.cell_events[family].sum())
        drawn[:, family] = (
            rng.multivariate_hypergeometric(rows, events, size=_SMALL_DRAWS, method="marginals") / rows
        )
    gaps = drawn @ problem.contrast.T
    far = np.einsum("ij,jk,ik->i", gaps, inverse, gaps)
    seen = float(problem.gap @ inverse @ problem.gap)
    return float((1 + (far >= seen * (1 - _ROUNDING)).sum()) / (1 + _SMALL_DRAWS))


def _exact_band(k1: int, n1: int, k0: int, n0: int, tolerance: float, direction: str) -> float:
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
    near = _kernel_mass(problem, distance, bandwidth) / (problem.rows * bandwidth)
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
