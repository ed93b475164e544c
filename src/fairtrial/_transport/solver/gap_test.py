"""Is the gap chance? The p-value of the gap by a quadratic form that holds its level.

Theorem 1: N·P ⇒ ½ VᵀS⁻¹V with V ~ N(0, Σ). The article estimates S from the density of the signed distance at
the boundary, which does not exist for discrete scores; its test then misses its level, and moves when the
features are rescaled. The pooled calibration puts the gap itself into the same quadratic form,
Q = ½ N gapᵀS⁻¹gap, with the weights of its law from the same S: any S ≻ 0 keeps the level, so bandwidth and ties
do not matter. For one equality S cancels: the p-value is that of the gap, and a gap has one answer, so it is asked
where measure, certify and flag ask (`inference.compare`), as are gaps against a tolerance or to one side.

Several equalities at once: with three groups of 60 people beside 2,000 at a rate of 10% the limit law rejects 1.9 times
as often as asked at the level .001 and 3.6 times at .0001. Where expected counts are not large the law is drawn: given
the number of events of a family, the events of its cells are hypergeometric under H0, whatever the common rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import chdtri, gammaincc, ndtr

from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.evidence.atoms import gap_covariance as influence_covariance
from fairtrial._inference.evidence.unit_sums import UnitSums
from fairtrial._inference.joint.vector_likelihood import quadratic_form_weights, weighted_chi2_sf
from fairtrial._inference.laws.choose_gaps import make_gaps
from fairtrial._inference.laws.gaps import SMALLEST_P, Gaps
from fairtrial._inference.laws.linear_gaps import LinearGaps
from fairtrial._inference.multiplicity import simultaneous_level
from fairtrial._transport.solver.rate_contrasts import Floats, Integers, RateContrasts

# With fewer events or non-events a contrast that does not make all rates equal has no test.
_FEWEST_EXPECTED = 5.0
# With as many expected everywhere the limit law is within a tenth of the level, down to .0001.
_MANY_EXPECTED = 100.0
_DRAWS = 9_999
# Drawn where the first draws leave fewer than this many beyond the data: resolves the level .0001.
_FEW_BEYOND = 100
_MORE_DRAWS = 199_999
_MOST_DRAWN_CELLS = 20_000_000
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


def kernel_mass(problem: RateContrasts, distance: Floats, bandwidth: float) -> Floats:
    """Σ K(d/h) over the rows of each pattern."""
    with np.errstate(over="ignore"):
        kernel = np.exp(-0.5 * (distance / bandwidth) ** 2) / np.sqrt(2 * np.pi)
    counted = problem.counted(kernel)
    return np.bincount(problem.pattern, weights=counted, minlength=len(problem.cells)).astype(float)


def _spread(problem: RateContrasts, distance: Floats | None) -> float:
    """The root mean square of the finite distances."""
    if distance is None:
        return 0.0
    finite = np.isfinite(distance)
    if not finite.any():
        return 0.0
    counts = None if problem.count is None else problem.count[finite]
    return float(np.sqrt(np.average(distance[finite] ** 2, weights=counts)))


def balanced_form(problem: RateContrasts, distance: Floats | None) -> Floats:
    """S of the pooled calibration: E[φφᵀ], half over the rows near the boundary, half over all rows.

    The second half keeps S positive definite where no row of a group is near the boundary. Both are averages and
    the bandwidth follows the spread of the distances, so neither the features' units nor the choice of the
    reference group change the p-value.
    """
    compared = (problem.phi != 0).any(axis=1)
    share = problem.class_count.sum(axis=1) * compared
    weight = share / share.sum()
    spread = _spread(problem, distance)
    if distance is not None and 0.0 < spread < np.inf:
        near = kernel_mass(problem, distance, 1.06 * spread * problem.rows**-0.2) * compared
        if near.sum() > 0:
            weight = (weight + near / near.sum()) / 2
    return np.asarray((problem.phi.T * weight) @ problem.phi)


def pair_gaps(problem: RateContrasts, pairs: Sequence[tuple[int, int]]) -> Gaps:
    """The gaps of pairs of cells, first minus second, as every method infers them."""
    return make_gaps(*_compared(problem, pairs))


def _compared(problem: RateContrasts, pairs: Sequence[tuple[int, int]]) -> tuple[Atoms, Comparison]:
    count = problem.class_count.sum(axis=1).astype(float)
    mean = np.divide(problem.class_count[:, 1], count, out=np.zeros_like(count), where=count > 0)
    atoms = Atoms(count, mean, count * mean * (1.0 - mean), True)
    inside = problem.cells.T > 0
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    return atoms, Comparison(inside[first], inside[second])


def limits_at_once(
    problem: RateContrasts, pairs: Sequence[tuple[int, int]], gaps: Gaps, level: float
) -> tuple[Floats, Floats]:
    """Limits that hold for all gaps together, so that they hold for the widest: by the largest |t| of their law."""
    told = gaps.defined
    if told.sum() < 2:
        return gaps.limits(level)
    if gaps.covariance is not None:
        covariance = gaps.covariance[np.ix_(told, told)]
    else:
        atoms, comparison = _compared(problem, pairs)
        covariance = influence_covariance(atoms, comparison.member[told], comparison.reference[told])
    return gaps.limits(simultaneous_level(covariance, level))


def pooled_test(
    problem: RateContrasts, distance: Floats | None, tolerance: Floats, direction: str, seed: int = 0
) -> GapTest:
    """The default: the level holds for any scores, ties and units, and for small counts."""
    pairs = pairs_of(problem)
    equalities = direction == "differs" and not tolerance.any()
    if pairs is not None and (problem.size == 1 or not equalities):
        return smallest(pair_tests(pair_gaps(problem, pairs), tolerance, direction))
    expected = _smallest_expected(problem, null_rates(problem))
    pooled = all(problem.pools(family) for family in problem.families)
    if expected < _FEWEST_EXPECTED and not pooled:
        raise ArithmeticError(
            f"a cell has fewer than {_FEWEST_EXPECTED:g} events or non-events, and contrasts that do not make all "
            "rates equal have no exact test"
        )
    if not equalities:
        return smallest([_one_band(problem, i, float(tolerance[i]), direction) for i in range(problem.size)])
    return _all_at_once(problem, distance, seed) if problem.size > 1 else _one_equality(problem)


def _all_at_once(problem: RateContrasts, distance: Floats | None, seed: int) -> GapTest:
    """Several equalities, by the limit law where counts are large or nothing can be drawn."""
    expected = _smallest_expected(problem, null_rates(problem))
    if expected < _MANY_EXPECTED and all(problem.pools(family) for family in problem.families):
        return _drawn_equalities(problem, distance, expected, seed)
    return _all_equalities(problem, distance)


def pairs_of(problem: RateContrasts) -> list[tuple[int, int]] | None:
    """The two cells of each contrast; None where one compares more than two rates."""
    plain = ((problem.contrast == 1).sum(axis=1) == 1) & ((problem.contrast == -1).sum(axis=1) == 1)
    if not (plain & ((problem.contrast != 0).sum(axis=1) == 2)).all():
        return None
    return [(int(row.argmax()), int(row.argmin())) for row in problem.contrast]


def pair_tests(gaps: Gaps, tolerance: Floats, direction: str) -> list[GapTest]:
    """Each gap against its tolerance."""
    same = np.ones_like(gaps.estimate)
    towards = {"differs": np.sign(gaps.estimate), "above": same, "below": -same}[direction]
    excess = np.maximum(towards * gaps.root(towards * tolerance), 0.0)
    p = [float(_pair_p(gaps, float(width), direction)[i]) for i, width in enumerate(tolerance)]
    return [
        GapTest(p[i], 0.5 * float(excess[i]) ** 2, f"the gap of two rates: {gaps.rule[i]}", np.ones(1))
        for i in range(len(p))
    ]


def _pair_p(gaps: Gaps, tolerance: float, direction: str) -> Floats:
    if direction == "above":
        return gaps.p_at_most(tolerance)
    if direction == "below":
        return gaps.p_at_least(-tolerance)
    return gaps.p_inside(-tolerance, tolerance) if tolerance else gaps.p_equal(0.0)


def smallest(tests: list[GapTest]) -> GapTest:
    """The smallest p-value of several contrasts, corrected for their number."""
    smallest = min(tests, key=lambda test: test.p_value)
    if len(tests) == 1:
        return smallest
    how = f"the smallest of {len(tests)} p-values, times {len(tests)}: {smallest.how}"
    return GapTest(min(1.0, len(tests) * smallest.p_value), smallest.statistic, how)


def _one_equality(problem: RateContrasts) -> GapTest:
    """A contrast of more than two rates."""
    gap = float(problem.gap[0])
    variance = float(gap_covariance(problem, null_rates(problem))[0, 0]) / problem.rows
    squared = gap**2 / variance if variance > 0 else 0.0
    p = max(float(gammaincc(0.5, squared / 2)), SMALLEST_P)
    return GapTest(p, squared / 2, "a contrast of several rates", np.ones(1))


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


def _drawn_equalities(problem: RateContrasts, distance: Floats | None, expected: float, seed: int) -> GapTest:
    """Given the number of events, so that small counts do no harm.

    Where people belong to several families the joint law cannot be drawn. It is the limit law then, never more sure
    than any family's own drawn law is of an equally improbable value; with very few events, family by family.
    """
    inverse = _inverse(problem, distance)
    if problem.disjoint:
        p = _drawn_p(problem, problem.families, inverse, seed)
        quadratic = 0.5 * problem.rows * float(problem.gap @ inverse @ problem.gap)
        return GapTest(p, quadratic, "all gaps at once, drawn given the number of events")
    if expected >= _FEWEST_EXPECTED:
        joint = _all_equalities(problem, distance)
        p = max(_as_improbable(problem, family, joint.p_value, seed) for family in problem.families)
        return replace(joint, p_value=max(joint.p_value, p), how=f"{joint.how}, bounded by drawn laws")
    parts = []
    for family in problem.families:
        own = replace(problem, contrast=problem.contrast[(problem.contrast[:, family] != 0).any(axis=1)])
        parts.append(_drawn_p(own, [family], _inverse(own, None), seed))
    quadratic = 0.5 * problem.rows * float(problem.gap @ inverse @ problem.gap)
    how = (
        f"each attribute given its number of events, the smallest of {len(parts)} p-values times {len(parts)}"
    )
    return GapTest(min(1.0, len(parts) * min(parts)), quadratic, how)


def _drawn_rates(problem: RateContrasts, families: list[Integers], draws: int, seed: int) -> Floats:
    """Rates of all cells when each family's events fall where they may."""
    rng = np.random.default_rng([seed, draws])
    drawn = np.zeros((draws, problem.contrast.shape[1]))
    for family in families:
        rows = problem.cell_rows[family].astype(np.int64)
        events = int(problem.cell_events[family].sum())
        drawn[:, family] = (
            rng.multivariate_hypergeometric(rows, events, size=draws, method="marginals") / rows
        )
    return drawn


def _numbers_of_draws(cells: int) -> list[int]:
    more = min(_MORE_DRAWS, _MOST_DRAWN_CELLS // max(cells, 1))
    return [_DRAWS, more] if more > _DRAWS else [_DRAWS]


def _drawn_p(problem: RateContrasts, families: list[Integers], inverse: Floats, seed: int) -> float:
    """gapᵀ S⁻¹ gap against draws; p = (1 + b)/(1 + B), with more draws where few lie beyond the data."""
    seen = float(problem.gap @ inverse @ problem.gap)
    p = 1.0
    for draws in _numbers_of_draws(sum(family.size for family in families)):
        gaps = _drawn_rates(problem, families, draws, seed) @ problem.contrast.T
        beyond = int((np.einsum("ij,jk,ik->i", gaps, inverse, gaps) >= seen * (1 - _ROUNDING)).sum())
        p = (1 + beyond) / (1 + draws)
        if beyond >= _FEW_BEYOND:
            break
    return p


def _as_improbable(problem: RateContrasts, family: Integers, level: float, seed: int) -> float:
    """How often a family's own chi-square is drawn beyond the value that its limit law exceeds at this level."""
    rows = problem.cell_rows[family]
    pooled = float(problem.cell_events[family].sum() / rows.sum())
    critical = float(chdtri(family.size - 1, level))
    p = 1.0
    for draws in _numbers_of_draws(family.size):
        rates = _drawn_rates(problem, [family], draws, seed)[:, family]
        squared = ((rates - pooled) ** 2 * rows).sum(axis=1) / (pooled * (1 - pooled))
        beyond = int((squared >= critical).sum())
        p = (1 + beyond) / (1 + draws)
        if beyond >= _FEW_BEYOND:
            break
    return p


def _inverse(problem: RateContrasts, distance: Floats | None) -> Floats:
    """S⁻¹ on the directions in which the gap can vary."""
    kept, small = _varying(balanced_form(problem, distance))
    return np.asarray(kept @ np.linalg.solve(small, kept.T))


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
    """Standard error of a contrast of several rates: at the null rates, or at their own where a gap is allowed."""
    rates = null_rates(problem) if edge == 0 else problem.rates.copy()
    single = replace(problem, contrast=problem.contrast[index : index + 1])
    return float(np.sqrt(max(gap_covariance(single, rates)[0, 0], 0.0) / problem.rows))


def _smallest_expected(problem: RateContrasts, rates: Floats) -> float:
    """The smallest expected number of events or of non-events in a compared cell."""
    compared = (problem.contrast != 0).any(axis=0)
    share = np.minimum(rates, 1 - rates)[compared]
    return float((problem.cell_rows[compared] * share).min())


# -- The test of gaps where one person may have several rows: by persons' sums, as measure, certify and flag
# have it.
def person_gaps(
    problem: RateContrasts, pairs: Sequence[tuple[int, int]], person: Integers | None
) -> Gaps | LinearGaps:
    """The same where one person may have several rows: `person` numbers them; None where each has one."""
    if person is None:
        return pair_gaps(problem, pairs)
    ones, event = np.ones(person.size), problem.event.astype(np.float64)
    sums = UnitSums.of_rows(person, problem.pattern, ones, event, len(problem.cells))
    if sums.counted:
        return pair_gaps(problem, pairs)
    inside = problem.cells.T > 0
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    return LinearGaps(sums, Comparison(inside[first], inside[second]))


def person_test(
    problem: RateContrasts, person: Integers, tolerance: Floats, direction: str
) -> GapTest | None:
    """The test of the gaps where persons have several rows; None where every person has one."""
    pairs = pairs_of(problem)
    if pairs is None:
        raise ArithmeticError("a contrast of more than two rates has no test where persons have several rows")
    gaps = person_gaps(problem, pairs, person)
    if not isinstance(gaps, LinearGaps):
        return None
    why = next((reason for reason in gaps.reason if reason is not None), None)
    if why is not None:
        raise ArithmeticError(why)
    if problem.size == 1 or direction != "differs" or tolerance.any():
        return smallest(pair_tests(gaps, tolerance, direction))
    joint = gaps.joint()
    return GapTest(joint.p_value, joint.statistic / 2, f"all gaps at once, persons' sums: {joint.rule}")
