"""One test that every group's gap is zero: empirical and Euclidean likelihood, disjoint or overlapping groups.

Scores are 1_G (M - theta) with theta at its null value; with an estimated target theta is free and the
target's own indicator joins the groups' (profile). Rows enter through their membership pattern only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from fairtrial._inference.evidence.atoms import Atoms, Comparison, Membership, as_matrix
from fairtrial._inference.laws.choose_gaps import make_gaps
from fairtrial._inference.laws.gaps import SMALLEST_P, Gaps, JointTest
from fairtrial._inference.means.row_gaps import HULL_EXCESS
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.rates.binary_gaps import BinaryGaps, KnownRateGaps
from fairtrial._inference.rates.proportions import (
    LEAST_VARIANCE,
    SMALL_COUNT,
    binomial_deviance,
    drawn_pearson_p,
    has_small_expectation,
    pearson,
)
from fairtrial._inference.ways import Likelihood

ITERATIONS = 100
SHRUNK_RULE = "bounded as the groups' own tests are"

SMALL_COUNT_RULE = "score (a count below 10)"  # as results name it


# Groups squared times finest groups, up to which the joint law of all gaps is worked out: some seconds of work.
MOST_WORK = 1e10


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """Rows grouped by which constraints they take part in; `basis` has one row per independent constraint."""

    basis: Floats
    atoms: Atoms
    groups: Atoms
    total: float

    @property
    def saturated(self) -> bool:
        """Whether the constraints fix every pattern on its own (disjoint groups): the ratio is then a sum."""
        return bool(self.basis.shape[0] == self.basis.shape[1])


def joint_test(
    atoms: Atoms,
    member: Membership,
    reference: Bools | None,
    known: float | None,
    likelihood: Likelihood = "empirical",
    *,
    gaps: Gaps | None = None,
    by_limit_law: bool = False,
) -> JointTest:
    """Test 'every group's gap is zero'; `reference` holds the atoms of an estimated target.

    `gaps` are the groups' own tests, where some groups may have no inference. `by_limit_law` leaves the guards of
    small groups out, as the paper does.
    """
    if gaps is not None and not gaps.defined.all():
        return without_undefined(
            gaps,
            lambda told: joint_test(
                atoms, member[told], reference, known, likelihood, by_limit_law=by_limit_law
            ),
        )
    member = as_matrix(member)
    constraints = member if reference is None else np.vstack([member, reference[None]])
    patterns = _patterns(atoms, constraints, member)
    df = patterns.basis.shape[0] - (0 if known is not None else 1)
    if df <= 0:
        return JointTest(0.0, 0, 1.0, "none", "there is nothing to compare: every group is the target itself")
    statistic, rule = _finite_statistic(patterns, known, likelihood)
    p = max(float(special.chdtrc(df, statistic)), SMALLEST_P)
    if by_limit_law:
        return JointTest(statistic, df, p, rule)
    comparison = Comparison(member, _tiled(reference, member), _every(known, member))
    if not atoms.binary:
        own = make_gaps(atoms, comparison, likelihood=likelihood) if gaps is None else gaps
        return _shrunk_within_hull(JointTest(statistic, df, p, rule), patterns, known, own)
    if rule == SMALL_COUNT_RULE:
        p = _small_count_p(p, patterns, atoms, comparison, known)
    return JointTest(statistic, df, p, rule)


def is_too_large(groups: int, atoms: int) -> bool:
    """Whether the gaps are too many for their joint law, so that Bonferroni's bound is used, and said."""
    return float(groups) ** 2 * max(atoms, groups) > MOST_WORK


def bounded_joint(gaps: Gaps) -> JointTest:
    """The groups' own tests, each at its part of the level: valid whatever their dependence."""
    told = int(gaps.defined.sum())
    why = f"the joint law of {told:,} gaps is too large to work out"
    return JointTest(np.nan, 0, _at_least_one(gaps.p_equal()), "Bonferroni over the groups' own tests", why)


def _shrunk_within_hull(test: JointTest, patterns: Patterns, known: float | None, gaps: Gaps) -> JointTest:
    """The likelihood's root may exceed Student's by so much and no more, of one gap and of all of them."""
    most = HULL_EXCESS**2 * _euclidean(patterns, known, centred=True)
    bounded = shrunk(replace(test, statistic=min(test.statistic, most)), gaps, np.zeros(gaps.estimate.size))
    return replace(bounded, statistic=test.statistic)


def shrunk(test: JointTest, gaps: Gaps, vector: Floats) -> JointTest:
    """Chi-square of the statistic made smaller by as much as the groups' own bounds shrink their tests.

    Each group's two-sided p-value is that of a normal root; the squares of these roots, which hold their level, over
    the squares of the unbounded ones say by how much small or skewed samples inflate the sum. For independent groups
    and a known target that is the sum of the bounded squares itself.
    """
    above, below = gaps.tails(vector)
    bounded = special.ndtri(np.minimum(np.minimum(above, below), 0.5)) ** 2
    plain = gaps.root(vector) ** 2
    told = gaps.defined & np.isfinite(plain)
    total = float(plain[told].sum())
    share = min(1.0, float(bounded[told].sum()) / total) if total > 0 else 1.0
    p = max(float(special.chdtrc(test.df, test.statistic * share)), SMALLEST_P)
    return replace(test, p_value=p, rule=f"{test.rule}, {SHRUNK_RULE}")


def _every(known: float | None, member: Bools) -> Floats | None:
    return None if known is None else np.full(member.shape[0], known)


def without_undefined(gaps: Gaps, test: Callable[[Bools], JointTest]) -> JointTest:
    """The joint test of the groups that have inference, bounded by the groups' own tests.

    Which groups have none depends on the outcomes, and to leave those out is to choose: with ten groups of thirty, 97%
    of the values zero, the joint test of the others alone rejected a true null half the time. The smallest of their
    p-values times the number of all groups holds whatever was chosen.
    """
    told = gaps.defined
    if not told.any():
        return JointTest(0.0, 0, 1.0, "none", "no group has enough variation to infer from")
    found = test(told)
    if told.all():
        return found
    rule = f"{found.rule}, bounded by Bonferroni (a group without inference)"
    return replace(found, p_value=max(found.p_value, _at_least_one(gaps.p_equal(0.0))), rule=rule)


def _tiled(reference: Bools | None, member: Bools) -> Bools:
    return np.zeros_like(member) if reference is None else np.tile(reference, (member.shape[0], 1))


def _small_count_p(
    p: float, patterns: Patterns, atoms: Atoms, comparison: Comparison, known: float | None
) -> float:
    """Disjoint groups: Pearson's statistic against its exact law. Overlapping: also Bonferroni over the groups.

    Nothing fixes the rates inside an overlap, so there is no exact law of the overlapping groups' statistic; the
    smallest of their own p-values, which bear small counts, bounds it.
    """
    if patterns.saturated:
        k, n = patterns.atoms.successes, patterns.atoms.count
        rate = float(k.sum() / n.sum()) if known is None else known
        return drawn_pearson_p(k, n, known) if has_small_expectation(n, rate) else p
    if known is None:
        there = atoms.count > 0
        itself = (as_matrix(comparison.member) == as_matrix(comparison.reference))[:, there].all(axis=1)
        each = Comparison(comparison.member[~itself], comparison.reference[~itself])
        gaps: Gaps = BinaryGaps(atoms, each)
    else:
        count = patterns.groups.count
        gaps = KnownRateGaps(count, patterns.groups.successes, np.full(count.shape, known))
    return max(p, _at_least_one(gaps.p_equal(0.0)))


def _at_least_one(own: Floats) -> float:
    """Bonferroni: the smallest of the groups' own p-values, times their number."""
    return min(1.0, own.size * float(own.min()))


def _patterns(atoms: Atoms, constraints: Bools, member: Bools) -> Patterns:
    """Merge atoms that take part in the same constraints, and keep independent constraints only."""
    used = (atoms.count > 0) & constraints.any(axis=0)
    columns, index = np.unique(constraints[:, used], axis=1, return_inverse=True)
    inside = np.arange(columns.shape[1])[:, None] == index.reshape(-1)[None, :]
    full = np.zeros((columns.shape[1], atoms.count.size), dtype=bool)
    full[:, used] = inside
    count, mean, m2 = atoms.pooled(full)
    values = None if atoms.values is None else tuple(atoms.gather(row) for row in full)
    merged = Atoms(count, mean, m2, atoms.binary, values)
    sizes = atoms.pooled(member)
    groups = Atoms(sizes[0], np.nan_to_num(sizes[1]), sizes[2], atoms.binary)
    return Patterns(_independent(columns.astype(np.float64)), merged, groups, float(atoms.count.sum()))


def _independent(rows: Floats) -> Floats:
    """A largest set of linearly independent rows, in order (Gram-Schmidt)."""
    kept: list[Floats] = []
    directions = np.zeros((min(rows.shape), rows.shape[1]))
    for row in rows:
        rest, found = row, directions[: len(kept)]
        for _ in range(2):  # twice is enough for what rounding leaves
            rest = rest - (found @ rest) @ found
        length = float(np.linalg.norm(rest))
        if length > 1e-9 * max(float(np.linalg.norm(row)), 1.0) and len(kept) < len(directions):
            directions[len(kept)] = rest / length
            kept.append(row)
    return np.array(kept).reshape(len(kept), rows.shape[1])


def _finite_statistic(patterns: Patterns, known: float | None, likelihood: Likelihood) -> tuple[float, str]:
    statistic, rule = _statistic(patterns, known, likelihood)
    if np.isfinite(statistic):
        return statistic, rule
    why = "no weights on the observed values make all gaps zero; the Euclidean likelihood is used instead"
    return _euclidean(patterns, known, centred=False), f"euclidean likelihood ({why})"


def _statistic(patterns: Patterns, known: float | None, likelihood: Likelihood) -> tuple[float, str]:
    atoms = patterns.atoms
    k, n = patterns.groups.successes, patterns.groups.count
    small = atoms.binary and bool(np.any(np.minimum(k, n - k) < SMALL_COUNT))
    if atoms.binary and patterns.saturated and (small or likelihood == "empirical"):
        return _binary_sum(atoms, known, small=small)
    if small:
        return _null_score(patterns, known), SMALL_COUNT_RULE
    if likelihood == "euclidean" or (atoms.values is None and not atoms.binary):
        return _euclidean(patterns, known, centred=True), "euclidean likelihood"
    return _empirical(patterns, known), "empirical likelihood"


def _binary_sum(atoms: Atoms, known: float | None, *, small: bool) -> tuple[float, str]:
    """Disjoint groups: deviances (or Pearson's terms when counts are small) add up, theta is the pooled rate."""
    k, n = atoms.successes, atoms.count
    rate = float(k.sum() / n.sum()) if known is None else known
    if small and 0.0 < rate < 1.0:
        return float(pearson(k, n, rate)), SMALL_COUNT_RULE
    return float(binomial_deviance(k, n, rate).sum()), "likelihood ratio"


def _null_score(patterns: Patterns, known: float | None) -> float:
    """g' V^-1 g with V at one common rate: a pattern in which nobody succeeds still has its null variance.

    With each pattern's own variance, small patterns without an event drove the size to .84 at nominal .05.
    """
    atoms, basis = patterns.atoms, patterns.basis
    inverse = np.linalg.pinv((basis * atoms.count) @ basis.T, hermitian=True)
    sizes, events = basis @ atoms.count, basis @ atoms.successes
    rate = float(sizes @ inverse @ events / (sizes @ inverse @ sizes)) if known is None else known
    distance = events - sizes * rate
    spread = rate * (1.0 - rate)
    return float(distance @ inverse @ distance / max(spread, LEAST_VARIANCE)) if spread > 0 else 0.0


def _euclidean(patterns: Patterns, known: float | None, *, centred: bool) -> float:
    """n g' S^-1 g (Theorem 3), at the free theta that makes it smallest."""
    atoms, basis, total = patterns.atoms, patterns.basis, patterns.total

    def statistic(theta: float) -> float:
        distance = atoms.mean - theta
        score = basis @ (atoms.count * distance)
        spread = (basis * (atoms.m2 + atoms.count * distance**2)) @ basis.T
        raw = float(score @ np.linalg.pinv(spread, hermitian=True) @ score)
        raw = min(raw, total * (1.0 - 1e-12))
        return raw / (1.0 - raw / total) if centred else raw

    if known is not None:
        return statistic(known)
    size = float(atoms.count.sum())
    pooled = float(atoms.count @ atoms.mean / size)
    width = float(np.sqrt(atoms.m2.sum() / size) + np.ptp(atoms.mean)) or 1.0
    grid = pooled + width * np.linspace(-1.0, 1.0, 41)
    best = int(np.argmin([statistic(theta) for theta in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, 40)]
    found = optimize.minimize_scalar(
        statistic, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
    )
    return float(found.fun)


@dataclass(frozen=True, slots=True, eq=False)
class _Support:
    """Support points with counts and their pattern."""

    value: Floats
    counts: Floats
    pattern: NDArray[np.int64]
    size: int

    def sums(self, terms: Floats) -> Floats:
        return np.asarray(np.bincount(self.pattern, self.counts * terms, self.size), dtype=np.float64)


def _support(atoms: Atoms) -> _Support:
    size = atoms.count.size
    if atoms.values is not None:
        lengths = [values.size for values in atoms.values]
        value = np.concatenate(atoms.values)
        return _Support(value, np.ones(value.size), np.repeat(np.arange(size), lengths), size)
    ones, zeros = atoms.successes, atoms.count - atoms.successes
    value, counts = np.repeat([1.0, 0.0], size), np.concatenate([ones, zeros])
    present = counts > 0
    return _Support(value[present], counts[present], np.tile(np.arange(size), 2)[present], size)


def _empirical(patterns: Patterns, known: float | None) -> float:
    """2 sum log(1 + lambda' g), the multiplier a vector, by damped Newton steps in (lambda, theta).

    A row's lambda' g is its pattern's total multiplier times (M - theta), so sums over rows are per pattern.
    """
    support, basis = _support(patterns.atoms), patterns.basis
    rank = basis.shape[0]
    multiplier = np.zeros(rank)
    theta = _start(patterns) if known is None else known
    total = float(patterns.atoms.count.sum())
    for _ in range(ITERATIONS):
        pull = multiplier @ basis
        centred = support.value - theta
        denominator = 1.0 + pull[support.pattern] * centred
        inverse = support.sums(1.0 / denominator)
        square = support.sums(1.0 / denominator**2)
        score = basis @ support.sums(centred / denominator)
        slope = float(pull @ inverse)
        residual = np.append(score, slope) if known is None else score
        scale = max(float(np.abs(support.sums(np.abs(centred))).max()), 1e-300)
        if np.abs(residual[:rank]).max() < 1e-12 * scale and (
            known is not None or abs(slope) < 1e-10 * total
        ):
            return max(2.0 * float(support.counts @ np.log(denominator)), 0.0)
        hessian = (basis * support.sums((centred / denominator) ** 2)) @ basis.T
        matrix = -hessian
        if known is None:
            edge = basis @ square
            corner = np.array([[float(pull**2 @ square)]])
            matrix = np.block([[-hessian, -edge[:, None]], [edge[None, :], corner]])
        step = np.linalg.lstsq(matrix, -residual, rcond=None)[0]
        length = _fitting_length(support, basis, multiplier, theta, step, denominator)
        if length < 1e-10:
            return np.inf
        multiplier = multiplier + length * step[:rank]
        theta = theta + length * float(step[rank]) if known is None else theta
    return np.inf


def _start(patterns: Patterns) -> float:
    """The precision-weighted mean of the patterns: where disjoint groups meet."""
    atoms = patterns.atoms
    variance = atoms.m2 / np.maximum(atoms.count, 1.0)
    floor = max(float(variance.max()), 1e-300) * 1e-3
    weight = atoms.count / np.maximum(variance, floor)
    return float(weight @ atoms.mean / weight.sum())


def _fitting_length(
    support: _Support, basis: Floats, multiplier: Floats, theta: float, step: Floats, denominator: Floats
) -> float:
    """The largest of 1, 1/2, 1/4 ... that keeps every weight positive and not more than tenfold."""
    rank = multiplier.size
    shift = float(step[rank]) if step.size > rank else 0.0
    length = 1.0
    while length >= 1e-10:
        pull = (multiplier + length * step[:rank]) @ basis
        raised = 1.0 + pull[support.pattern] * (support.value - theta - length * shift)
        if np.all(raised > 0.1 * denominator):
            return length
        length *= 0.5
    return 0.0
