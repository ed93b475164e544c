"""Empirical likelihood: its defining equations, statsmodels, plain optimisers, and exact identities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from inside.direct_calls import difference_root, difference_tails, gap_limits, gap_p, gap_root
from inside.inference import (
    Atoms,
    Comparison,
    CountedValues,
    EndToEnd,
    PartCounts,
    binomial_deviance,
    binomial_tails,
    constrained_rates,
    el_log_ratio,
    el_mean_limits,
    estimate_gaps,
    gap_covariance,
    joint_test,
    known_limits,
    known_log_ratio,
    make_gaps,
    mean_limits_of_many,
)
from inside.papers import paper_gaps, region_test
from oracles.elfa_intervals import multinomial_statistic, vector_el_statistic
from oracles.inverses import el_weights


def atoms_of(samples, binary=False):
    count = np.array([float(x.size) for x in samples])
    mean = np.array([x.mean() for x in samples])
    m2 = np.array([np.sum((x - x.mean()) ** 2) for x in samples])
    return Atoms(count, mean, m2, binary, None if binary else tuple(samples))


def parts(*columns):
    return PartCounts(*(np.atleast_1d(np.array(column, dtype=float)) for column in columns))


@pytest.fixture
def samples():
    rng = np.random.default_rng(11)
    return [rng.exponential(scale, size) for scale, size in ((1.0, 120), (1.1, 300), (0.9, 180), (1.0, 500))]


@pytest.fixture
def overlapping():
    return np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0]], dtype=bool)


def test_weights_meet_the_moment(samples):
    g = samples[0] - 1.2
    weights = el_weights(g)
    assert abs(weights @ g) < 1e-10
    assert weights.sum() == pytest.approx(1.0, abs=1e-10)
    assert weights.min() > 0


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_one_sample_equals_statsmodels(samples):
    descriptive = pytest.importorskip("statsmodels.emplike.descriptive")
    for mean in (0.8, 1.0, 1.3):
        theirs = descriptive.DescStatUV(samples[0]).test_mean(mean)
        assert el_log_ratio(samples[0] - mean) == pytest.approx(theirs[0], rel=1e-8, abs=1e-8)


def test_binary_equals_the_binomial_deviance():
    values = np.repeat([1.0, 0.0], [13, 41])
    for rate in (0.05, 0.2, 0.5, 0.9):
        assert el_log_ratio(values - rate) == pytest.approx(float(binomial_deviance(13, 54, rate)), rel=1e-8)
    counted = el_log_ratio(np.array([1.0, 0.0]) - 0.2, np.array([13.0, 41.0]))
    assert counted == pytest.approx(el_log_ratio(values - 0.2), rel=1e-12)


def test_disjoint_joint_ratio_is_the_sum(samples):
    atoms, everyone = atoms_of(samples), np.eye(4, dtype=bool)
    test = joint_test(atoms, everyone, None, 1.0)
    assert test.statistic == pytest.approx(sum(el_log_ratio(x - 1.0) for x in samples), rel=1e-10)
    assert test.df == 4


def test_profile_joint_ratio_minimises_over_the_target(samples):
    atoms, everyone = atoms_of(samples), np.eye(4, dtype=bool)
    found = optimize.minimize_scalar(
        lambda mean: sum(el_log_ratio(x - mean) for x in samples),
        bounds=(0.7, 1.4), method="bounded", options={"xatol": 1e-11},
    )  # fmt: skip
    partition = joint_test(atoms, everyone, np.ones(4, dtype=bool), None)
    assert (partition.statistic, partition.df) == (pytest.approx(found.fun, rel=1e-9), 3)
    reference = joint_test(atoms, everyone[:3], everyone[3], None)
    assert (reference.statistic, reference.df) == (pytest.approx(found.fun, rel=1e-9), 3)


def test_overlapping_joint_ratio_equals_a_general_optimiser(samples, overlapping):
    atoms = atoms_of(samples)
    member = overlapping[:2]
    rows = np.repeat(member, [x.size for x in samples], axis=1).T
    g = rows * (np.concatenate(samples) - 1.02)[:, None]
    test = joint_test(atoms, member, None, 1.02)
    assert test.df == 2
    assert test.statistic == pytest.approx(vector_el_statistic(g), rel=1e-7)
    total, mean = g.shape[0], g.mean(axis=0)
    hotelling = total * mean @ np.linalg.solve(np.cov(g.T, bias=True), mean)
    euclidean = joint_test(atoms, member, None, 1.02, likelihood="euclidean")
    assert euclidean.statistic == pytest.approx(hotelling, rel=1e-9)


def test_joint_binary_equals_the_g_test():
    k, n = np.array([20.0, 35.0, 61.0]), np.array([90.0, 100.0, 240.0])
    atoms = Atoms(n, k / n, k * (n - k) / n, True)
    test = joint_test(atoms, np.eye(3, dtype=bool), np.ones(3, dtype=bool), None)
    expected = stats.chi2_contingency(np.stack([k, n - k]), correction=False, lambda_="log-likelihood")
    assert test.statistic == pytest.approx(expected.statistic, rel=1e-10)
    assert (test.df, test.p_value) == (2, pytest.approx(expected.pvalue, rel=1e-10))


def test_joint_degrees_of_freedom_are_a_rank(samples, overlapping):
    atoms = atoms_of(samples)
    everyone, all_rows = np.eye(4, dtype=bool), np.ones(4, dtype=bool)
    assert joint_test(atoms, overlapping, all_rows, None).df == 3
    assert joint_test(atoms, np.vstack([everyone, overlapping]), all_rows, None).df == 3
    assert joint_test(atoms, overlapping[:2], np.array([0, 0, 0, 1], dtype=bool), None).df == 2
    nothing = joint_test(atoms, all_rows[None], all_rows, None)
    assert (nothing.df, nothing.p_value) == (0, 1.0)


def test_the_region_is_centred_at_the_estimates(samples):
    everyone = np.eye(4, dtype=bool)
    rows, binary = atoms_of(samples), atoms_of([(x > 1).astype(float) for x in samples], binary=True)
    for atoms in (rows, binary):
        gaps = atoms.mean - 0.5
        assert region_test(atoms, everyone, None, 0.5, gaps).statistic == pytest.approx(0.0, abs=1e-9)
        gaps = atoms.mean[:3] - atoms.mean[3]
        assert region_test(atoms, everyone[:3], everyone[3], None, gaps).statistic == pytest.approx(
            0.0, abs=1e-9
        )


def test_the_region_at_zero_is_the_joint_test(samples):
    everyone = np.eye(4, dtype=bool)
    rows, binary = atoms_of(samples), atoms_of([(x > 1).astype(float) for x in samples], binary=True)
    for atoms in (rows, binary):
        joint = joint_test(atoms, everyone[:3], everyone[3], None)
        region = region_test(atoms, everyone[:3], everyone[3], None, np.zeros(3))
        assert (region.statistic, region.df) == (pytest.approx(joint.statistic, rel=1e-9), joint.df)


def test_the_region_of_overlapping_groups_is_a_quadratic_form(samples, overlapping):
    atoms = atoms_of(samples)
    other = np.array([0, 0, 0, 1], dtype=bool)
    estimate = atoms.pooled(overlapping[:2])[1] - atoms.mean[3]
    covariance = gap_covariance(atoms, overlapping[:2], np.tile(other, (2, 1)))
    expected = estimate @ np.linalg.solve(covariance, estimate)
    region = region_test(atoms, overlapping[:2], other, None, np.zeros(2))
    assert (region.statistic, region.df) == (pytest.approx(expected, rel=1e-9), 2)


@pytest.mark.parametrize("likelihood", ["empirical", "euclidean"])
def test_overall_and_rest_agree_at_zero(samples, overlapping, likelihood):
    rows, binary = atoms_of(samples), atoms_of([(x > 1).astype(float) for x in samples], binary=True)
    for atoms in (rows, binary):
        rest = make_gaps(atoms, Comparison(overlapping, ~overlapping), likelihood=likelihood)
        overall = make_gaps(atoms, Comparison(overlapping, np.ones_like(overlapping)), likelihood=likelihood)
        share = atoms.pooled(overlapping)[0] / atoms.count.sum()
        assert overall.estimate == pytest.approx((1 - share) * rest.estimate, rel=1e-12)
        if likelihood == "empirical":
            zero = np.zeros(3)
            assert overall.root(zero) == pytest.approx(rest.root(zero), rel=1e-8)
            assert overall.root(zero + 0.05) != pytest.approx(rest.root(zero + 0.05), rel=1e-3)


CELLS = {
    "disjoint": (0, 0, 30, 100, 50, 120),
    "inside": (30, 60, 0, 0, 50, 120),
    "around": (30, 60, 20, 90, 0, 0),
    "partial": (30, 60, 20, 90, 50, 120),
}


@pytest.mark.parametrize("shape", CELLS)
def test_profile_equals_a_general_optimiser(shape):
    k_both, n_both, k_group, n_group, k_reference, n_reference = counts = CELLS[shape]
    table = parts(*counts)
    assert table.shape[0] == shape
    cells = np.array([
        k_both, n_both - k_both, k_group, n_group - k_group, k_reference, n_reference - k_reference,
    ], dtype=float)  # fmt: skip
    for gap in (-0.1, 0.0, 0.07):
        statistic = float(gap_root(table, np.array([gap]), "likelihood")[0] ** 2)
        assert statistic == pytest.approx(multinomial_statistic(cells, gap), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("shape", CELLS)
def test_rows_and_counts_give_one_interval(shape):
    counts = CELLS[shape]
    values = [
        np.repeat([1.0, 0.0], [counts[i], counts[i + 1] - counts[i]]) for i in (0, 2, 4) if counts[i + 1]
    ]
    names = [name for i, name in ((0, "both"), (2, "group"), (4, "reference")) if counts[i + 1]]
    member = np.array([[name != "reference" for name in names]])
    reference = np.array([[name != "group" for name in names]])
    by_rows = make_gaps(atoms_of(values), Comparison(member, reference))
    by_counts = gap_limits(parts(*counts), 0.95, "likelihood")
    # Below a hundred members rows are t-calibrated; compare the roots, which are not.
    for limit in by_counts:
        assert by_rows.root(limit) == pytest.approx(gap_root(parts(*counts), limit, "likelihood"), rel=1e-7)


def test_limits_invert_the_test_on_random_tables():
    rng = np.random.default_rng(12)
    sizes = rng.integers(0, 200, (3, 300)) * (rng.random((3, 300)) > 0.25)
    ones = [rng.binomial(size, rng.random(300)) for size in sizes]
    table = parts(ones[0], sizes[0], ones[1], sizes[1], ones[2], sizes[2])
    group, reference = table.rates
    known = np.isfinite(group) & np.isfinite(reference) & (sizes[1] + sizes[2] > 0)
    table = table[known]
    low, high = gap_limits(table, 0.9)
    critical = stats.norm.isf(0.05)
    # A limit at the end of what the counts allow is not a root.
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = table.n_reference / (table.n_both + table.n_reference)
        around = table.n_group / (table.n_both + table.n_group)
    end = np.where(table.shape == "inside", inside, np.where(table.shape == "around", around, 1.0)) - 1e-9
    # An exact tail at the most likely share can jump past the level: then the limit lies where it does, to the search's
    # own precision, and a step outside of it is where the test rejects.
    step = 1e-9
    for found in (gap_root(table, low - step)[low > -end], -gap_root(table, high + step)[high < end]):
        assert (found > critical - 1e-6).all()
        assert (np.abs(found - critical) < 1e-6).mean() > 0.99
    assert (low <= -end).sum() + (high >= end).sum() < 10


def test_exact_tails_equal_enumeration():
    k1, n1, k2, n2, delta = (np.array([float(v)]) for v in (3, 12, 9, 17, 0.1))
    p1, p2 = constrained_rates(k1, n1, k2, n2, delta)
    i, j = np.meshgrid(np.arange(13), np.arange(18), indexing="ij")
    mass = stats.binom.pmf(i, 12, p1) * stats.binom.pmf(j, 17, p2)
    gaps, observed = i / 12 - j / 17, 3 / 12 - 9 / 17
    above, below = difference_tails(k1, n1, k2, n2, delta)
    assert above[0] == pytest.approx(mass[gaps >= observed - 1e-12].sum(), rel=1e-9)
    assert below[0] == pytest.approx(mass[gaps <= observed + 1e-12].sum(), rel=1e-9)
    upper, lower = binomial_tails(np.array([3.0]), np.array([30.0]), np.array([0.02]))
    assert upper[0] == pytest.approx(stats.binom.sf(2, 30, 0.02))
    assert lower[0] == pytest.approx(stats.binom.cdf(3, 30, 0.02))


def test_a_handful_of_people_never_give_a_tiny_p():
    # One, two or three people, all or none of them selected, against any reference rate.
    for n in (1, 2, 3):
        for k in (0, n):
            for rate in (0.02, 0.3, 0.5, 0.95):
                table = parts(0, 0, k, n, round(1000 * rate), 1000)
                chance = min(rate**n, (1 - rate) ** n)
                assert gap_p(table, np.zeros(1))[0] > 0.3 * chance


def test_billions_and_empty_sides():
    table = parts([0, 0, 0], [0, 0, 0], [5e8, 0, 3], [1e9, 0, 3], [5e8 + 1e5, 40, 0], [1e9, 90, 0])
    low, high = gap_limits(table, 0.95)
    assert low[0] < -1e-4 < high[0]
    assert (low[1:] == -1).all()
    assert (high[1:] == 1).all()
    assert ((gap_p(table, np.zeros(3)) > 0) & (gap_p(table, np.zeros(3)) <= 1)).all()


def test_orthogonal_with_a_users_estimate_matches_the_built_in_one(samples):
    atoms = atoms_of(samples)
    values = np.concatenate(samples)
    codes = np.repeat(np.arange(4), [x.size for x in samples])
    comparison = Comparison(np.eye(4, dtype=bool), np.ones((4, 4), dtype=bool))
    built_in = paper_gaps(atoms, comparison, target_method="orthogonal").inner  # without the bounds
    own = estimate_gaps(atoms, comparison, codes, values, values.mean(), values - values.mean())
    assert own.root(np.zeros(4)) == pytest.approx(built_in.root(np.zeros(4)), rel=1e-8)
    assert own.limits(0.9)[0] == pytest.approx(built_in.limits(0.9)[0], abs=1e-3)


def test_target_methods_agree_in_large_samples():
    rng = np.random.default_rng(13)
    atoms = atoms_of([rng.exponential(size=4_000), rng.exponential(size=6_000)])
    comparison = Comparison(np.array([[True, False]]), np.array([[False, True]]))
    profile = make_gaps(atoms, comparison)
    for name in ("orthogonal", "scaled"):
        other = paper_gaps(atoms, comparison, target_method=name)
        assert other.limits(0.95)[0] == pytest.approx(profile.limits(0.95)[0], abs=3e-3)
    plugged = paper_gaps(atoms, comparison)
    law = profile.inner.limits(0.95)  # without the bounds, which draws make a little wider
    ratio = (plugged.limits(0.95)[1] - plugged.limits(0.95)[0]) / (law[1] - law[0])
    assert ratio[0] == pytest.approx(np.sqrt(3 / 5), abs=0.02)


@pytest.mark.parametrize("refinement", ["none", "bartlett", "adjusted", "balanced"])
def test_known_target_limits_reach_the_critical_value(samples, refinement):
    sample = CountedValues.of(samples[0][:40])
    for limit in known_limits(sample, 3.84, refinement):
        assert known_log_ratio(sample, limit, refinement) == pytest.approx(3.84, rel=1e-8)
    assert known_log_ratio(sample, sample.mean, refinement) == pytest.approx(0.0, abs=1e-12)


def test_limits_of_many_are_those_of_each(samples):
    rounded = [np.round(x, 1) for x in samples]
    for several in (samples, rounded, [samples[0][:3], samples[1], samples[2][:50]]):
        end_to_end = EndToEnd.of_samples([CountedValues.of(np.tile(x, 20)) for x in several])
        critical = np.full(len(several), 3.84)
        repeated = np.array([el_mean_limits(CountedValues.of(np.tile(x, 20)), 3.84) for x in several])
        assert pytest.approx(repeated, rel=1e-9) == np.array(mean_limits_of_many(end_to_end, critical)).T
        together = mean_limits_of_many(EndToEnd.of_rows(several), critical)
        alone = np.array([el_mean_limits(CountedValues.of(x), 3.84) for x in several])
        assert pytest.approx(alone, rel=1e-9) == np.array(together).T


@pytest.mark.parametrize("critical", [0.01, 3.84, 30.0])
def test_limits_of_many_hold_for_awkward_values(critical):
    rng = np.random.default_rng(17)
    awkward = [
        rng.lognormal(0, 3, 500),  # one value far from all others
        rng.standard_cauchy(2_000),
        1e9 + rng.normal(size=300),  # far from zero
        np.sort(rng.exponential(size=20_000)),  # products of neighbours would overflow
        (np.arange(5_000) < 3).astype(float),
        rng.pareto(0.5, 50) * 1e20,
        np.array([0.0, 1.0, 5.0]),
    ]
    together = np.array(mean_limits_of_many(EndToEnd.of_rows(awkward), np.full(len(awkward), critical))).T
    for x, (low, high) in zip(awkward, together, strict=True):
        expected = el_mean_limits(CountedValues.of(x), critical)
        assert (low, high) == pytest.approx(expected, rel=1e-9, abs=1e-9 * (expected[1] - expected[0]))


def test_limits_of_many_without_variation_or_rows():
    groups = [np.array([0.1] * 30), np.empty(0), np.array([2.0]), np.array([0.0, 1.0, 2.0])]
    low, high = mean_limits_of_many(EndToEnd.of_rows(groups), np.full(4, 3.84))
    assert np.isnan(np.concatenate([low[:3], high[:3]])).all()
    assert 0.0 < low[3] < 1.0 < high[3] < 2.0
    # So high a critical value that only the ends of the sample are left out.
    low, high = mean_limits_of_many(EndToEnd.of_rows([np.array([0.0, 1.0])]), np.array([161.0]))
    assert (low[0], high[0]) == pytest.approx((0.0, 1.0), abs=1e-9)


def test_added_points_reach_beyond_the_hull():
    sample = CountedValues.of(np.array([1.0, 2.0, 3.0, 4.0]))
    assert known_log_ratio(sample, 9.0, "none") == np.inf
    assert np.isfinite(known_log_ratio(sample, 9.0, "adjusted"))
    assert np.isfinite(known_log_ratio(sample, 9.0, "balanced"))


def test_covariance_of_gaps_is_that_of_the_influence_values(samples, overlapping):
    atoms = atoms_of(samples)
    values = np.concatenate(samples)
    rows = np.repeat(overlapping, [x.size for x in samples], axis=1)
    for reference in (~overlapping, np.ones_like(overlapping)):
        others = np.repeat(reference, [x.size for x in samples], axis=1)
        influence = np.array([
            inside * (values - values[inside].mean()) / inside.sum()
            - other * (values - values[other].mean()) / other.sum()
            for inside, other in zip(rows, others, strict=True)
        ])  # fmt: skip
        assert gap_covariance(atoms, overlapping, reference) == pytest.approx(
            influence @ influence.T, rel=1e-9
        )


def test_interval_null_is_the_two_sided_test_for_a_point_and_one_sided_for_a_wide_band():
    k, n = np.array([300.0, 330.0]), np.array([1000.0, 1000.0])
    atoms = Atoms(n, k / n, k * (n - k) / n, True)
    gaps = make_gaps(atoms, Comparison(np.array([[False, True]]), np.array([[True, False]])))
    assert gaps.p_inside(0.0, 0.0) == pytest.approx(gaps.p_equal(0.0), rel=1e-9)
    assert gaps.p_inside(-0.9, 0.01) == pytest.approx(gaps.p_at_most(0.01), rel=1e-9)
    assert gaps.p_inside(-0.5, 0.5)[0] == 1.0
    assert gaps.p_at_least(0.01)[0] == 1.0


def test_likelihood_roots_of_disjoint_tables_are_the_two_sample_ones():
    table = parts(0, 0, 30, 100, 50, 120)
    assert gap_root(table, np.array([0.03])) == pytest.approx(difference_root([30], 100, 50, 120, 0.03))
