"""Bounds on skewed means: the numbers of shared/methods/means.md, and a slow oracle that is written from the page."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import skewed_means as oracle

from inside.inference import (
    KnownTarget,
    ResampledGap,
    SharedSkewness,
    Sums,
    TwoMeans,
    UnsharedSkewness,
    common_shape,
    cubic,
    inverse_cubic,
    resampled_means,
    shape_of_all,
    symmetric_root,
)

X = np.array([0.0] * 14 + [1, 1, 2, 2, 3, 6])
Y = -np.log(1 - (np.arange(1, 61) - 0.5) / 60)
Z = np.sqrt(np.arange(1, 31))
ALL = Sums.of_values([X, Y, Z])
PAGE = {"abs": 5e-7}  # the page prints six digits


def pair(first, second):
    return TwoMeans(Sums.of_values([first]), Sums.of_values([second]))


def test_one_sample_numbers_of_the_page():
    assert ALL.skewness == pytest.approx([0.576800, 0.221491, -0.094580], **PAGE)
    assert ALL.largest == pytest.approx([0.500047, 0.129074, 0.016783], **PAGE)
    assert ALL.smallest == pytest.approx([0.001458, 0.002266, 0.065126], **PAGE)
    assert shape_of_all(ALL) == pytest.approx(1.341864, **PAGE)


def test_known_target_of_the_page():
    bound = KnownTarget(ALL, np.full(3, 1.5), shape_of_all(ALL))
    low, high = bound.limits(0.025)
    assert low == pytest.approx([-1.421293, -0.742325, 1.693197], **PAGE)
    assert high == pytest.approx([np.inf, -0.130811, 2.835195], **PAGE)
    above, below = bound.tails(np.zeros(3))
    assert below[:2] == pytest.approx([0.233884, 0.010648], **PAGE)
    assert above[:2] == pytest.approx([0.974091, 0.999579], **PAGE)
    alone = Sums.of_values([Z])
    assert KnownTarget(alone, np.array([1.5]), shape_of_all(alone)).limits(0.025)[1] == pytest.approx(
        2.697393, **PAGE
    )


def test_estimated_target_of_the_page():
    first, second = pair(Y, Z), pair(X, Y)
    limits = [float(side[0]) for side in UnsharedSkewness(first).limits(0.025)]
    assert limits == pytest.approx([-3.254267, -2.088430], **PAGE)
    assert [float(side[0]) for side in SharedSkewness(first).limits(0.025)] == pytest.approx(
        [-3.289259, -2.173853], **PAGE
    )
    assert UnsharedSkewness(first).tails(np.zeros(1))[1] == pytest.approx(0.003757, **PAGE)
    assert [float(side[0]) for side in UnsharedSkewness(second).limits(0.025)] == pytest.approx(
        [-0.955217, 0.864178], **PAGE
    )
    assert [float(side[0]) for side in SharedSkewness(second).limits(0.025)] == pytest.approx(
        [-0.996055, np.inf], **PAGE
    )
    both = [bound(second).tails(np.zeros(1))[1] for bound in (UnsharedSkewness, SharedSkewness)]
    assert max(both) == pytest.approx(0.301809, **PAGE)


SMALL = (np.array([1.2, 0.4, 3.9, 0.1, 0.8]), np.array([0.3, 2.2, 1.7, 4.5, 2.9, 6.1, 3.3]))
TINY = (np.array([0.0, 0.0, 1.0, 3.0]), np.array([1.0, 2.0, 4.0, 7.0]))


@pytest.mark.parametrize(("gap", "below", "above"), [(0.0, 0.065657, 0.935606), (-1.5, 0.415404, 0.585859)])
def test_exact_permutation_of_the_page(gap, below, above):
    assert oracle.exact_permutation(*SMALL, gap) == pytest.approx((below, above), **PAGE)


@pytest.mark.parametrize(("gap", "below", "above"), [(0.0, 0.119476, 0.950836), (-1.0, 0.205292, 0.871368)])
def test_exact_bootstrap_of_the_page(gap, below, above):
    assert oracle.exact_bootstrap(*TINY, gap) == pytest.approx((below, above), **PAGE)


@pytest.mark.parametrize("gap", [0.0, -1.5, 0.7])
def test_the_closed_form_of_a_draw_is_that_of_its_rows(gap):
    """All arrangements, handed in as draws: every statistic and the exact tails."""
    import itertools

    first, second = SMALL
    found = ResampledGap(first, second)
    rows = np.concatenate([found.first, found.second])
    arrangements = list(itertools.combinations(range(12), 5))
    picked = []
    for chosen in arrangements:
        own = [index for index in chosen if index < 5]
        values = rows[list(chosen)]
        picked.append([values.sum(), (values**2).sum(), len(own), rows[own].sum()])
    never = np.full(len(arrangements), np.inf)
    found.made[len(arrangements)] = resampled_means.Draws(never, never, np.array(picked))
    below, above = oracle.exact_permutation(first, second, gap)
    count = len(arrangements)
    t = (found.gap - gap) / found.error
    for sign, share in ((1.0, below), (-1.0, above)):
        law = found._permuted(sign * t, sign, count)
        assert np.mean(law <= sign * t + 1e-9) == pytest.approx(share, abs=1e-9)
    moved = np.concatenate([np.sort(first) - gap, np.sort(second)])
    for place in (0, 17, 400, 791):
        inside = np.isin(np.arange(12), arrangements[place])
        slow = oracle.t_statistic(moved[inside], moved[~inside])
        assert found._permuted(t, 1.0, count)[place] == pytest.approx(slow, rel=1e-9)


@pytest.mark.parametrize("gap", [0.0, -1.0])
def test_draws_come_near_the_exact_laws(gap):
    found = ResampledGap(*SMALL)
    permutation = oracle.exact_permutation(*SMALL, gap)
    t = (found.gap - gap) / found.error
    for sign, exact in zip((1.0, -1.0), permutation, strict=True):
        # Four standard errors of 9,999 draws.
        assert found._permuted_tail(sign * t, sign, 9_999) == pytest.approx(exact, abs=0.02)
    tiny = ResampledGap(*TINY)
    t = (tiny.gap - gap) / tiny.error
    draws = tiny.draws(9_999)
    for own, sign, exact in zip(draws[:2], (1.0, -1.0), oracle.exact_bootstrap(*TINY, gap), strict=True):
        assert np.mean(own <= sign * t + 1e-9) == pytest.approx(exact, abs=0.02)


samples = st.lists(
    st.floats(-50, 50, allow_nan=False).map(lambda value: round(value, 3)), min_size=4, max_size=30
).filter(lambda values: np.ptp(values) > 0.5)


@settings(max_examples=60, deadline=None)
@given(samples, samples, st.sampled_from([0.2, 0.025, 0.001]))
def test_every_bound_agrees_with_the_slow_oracle(first, second, tail):
    one, two = oracle.moments(first), oracle.moments(second)
    groups = Sums.of_values([np.array(first), np.array(second)])
    assert groups.skewness == pytest.approx([one["lambda"], two["lambda"]], rel=1e-9, abs=1e-9)
    gamma = oracle.pooled_gamma(one, two)
    assert shape_of_all(groups) == pytest.approx(gamma, rel=1e-9, abs=1e-9)
    known = KnownTarget(groups, np.array([1.0, 1.0]), shape_of_all(groups))
    above, below = known.tails(np.zeros(2))
    for index, sample in enumerate((one, two)):
        low, high, p_below, p_above = oracle.known(sample, 1.0, gamma, tail)
        assert [side[index] for side in known.limits(tail)] == pytest.approx([low, high], rel=1e-9, abs=1e-9)
        assert (below[index], above[index]) == pytest.approx((p_below, p_above), rel=1e-9, abs=1e-9)
    means = pair(np.array(first), np.array(second))
    if min(abs(one["gamma"]), abs(two["gamma"])) > 1e-6:
        found = [float(side[0]) for side in UnsharedSkewness(means).limits(tail)]
        assert found == pytest.approx(oracle.unshared_limits(one, two, tail), rel=1e-9, abs=1e-9)
    low, high, p_below, p_above = oracle.shared_limits(one, two, tail)
    shared = SharedSkewness(means)
    assert [float(side[0]) for side in shared.limits(tail)] == pytest.approx([low, high], rel=1e-9, abs=1e-9)
    p = [float(side[0]) for side in shared.tails(np.zeros(1))]
    assert p == pytest.approx([p_above, p_below], rel=1e-9, abs=1e-9)


def test_the_tail_of_unshared_skewness_is_where_its_limit_reaches_the_gap():
    one, two = oracle.moments(X), oracle.moments(Y)
    bound = UnsharedSkewness(pair(X, Y))
    for gap in (0.05, 0.3, 0.7):
        assert bound.tails(np.array([gap]))[1] == pytest.approx(
            oracle.unshared_p_below(one, two, gap), rel=1e-9
        )


@given(st.floats(-1.9, 1.9), st.floats(-8, 8))
def test_the_cubic_and_its_inverse(skewness, z):
    t = float(inverse_cubic(np.array(z), np.array(skewness)))
    if np.isfinite(t):
        assert cubic(np.array(t), np.array(skewness)) == pytest.approx(z, rel=1e-7, abs=1e-7)
    else:
        # Flat there: no t brings the cubic as far.
        farthest = cubic(np.array(-1e9 * np.sign(skewness)), np.array(skewness))
        assert np.sign(skewness) * (farthest - z) >= -1e-9


@pytest.mark.parametrize("bound", [UnsharedSkewness, SharedSkewness])
def test_swapping_the_samples_mirrors_the_bound(bound):
    for first, second in ((X, Y), (Y, Z), (X, Z)):
        low, high = bound(pair(first, second)).limits(0.025)
        back_low, back_high = bound(pair(second, first)).limits(0.025)
        assert (low[0], high[0]) == pytest.approx((-back_high[0], -back_low[0]), rel=1e-9)


def test_sums_merge_exactly():
    parts = np.split(np.concatenate([X, Y, Z]), [13, 40, 41, 90])
    from inside.inference import Atoms

    atoms = Atoms.of_values(parts)
    merged = atoms.sums(np.array([[True] * 5, [True, False, True, False, True]]))
    whole = Sums.of_values([np.concatenate(parts), np.concatenate([parts[0], parts[2], parts[4]])])
    for name in ("n", "mean", "m2", "m3", "low", "high"):
        assert getattr(merged, name) == pytest.approx(getattr(whole, name), rel=1e-10)
    assert common_shape(whole, whole) == pytest.approx(
        [oracle.pooled_gamma(oracle.moments(v), oracle.moments(v)) for v in (
            np.concatenate(parts), np.concatenate([parts[0], parts[2], parts[4]]))], rel=1e-9)  # fmt: skip


def test_large_samples_draw_their_extremes_one_by_one():
    """The same law as drawing every row, to the error of 4,000 draws."""
    generator = np.random.default_rng(4)
    rows = generator.lognormal(0, 1.2, 6_000)
    rows = rows - rows.mean()
    few = resampled_means._sums_of_few(rows, 2_000, np.random.default_rng(1))
    splits = resampled_means.Splits(rows, rows)
    many = resampled_means._sums_of_many(splits.of_first, 2_000, np.random.default_rng(2))
    for one, two in zip(few, many, strict=True):
        # Four standard errors of the difference of two such quantiles.
        assert np.quantile(one, [0.05, 0.5, 0.95]) == pytest.approx(
            np.quantile(two, [0.05, 0.5, 0.95]), abs=0.2 * one.std()
        )
        assert one.std() == pytest.approx(two.std(), rel=0.05)
    both = resampled_means.Splits(rows[:2_500], rows[2_500:]).of_both
    picked = [
        resampled_means._pick_few(rows[:2_500], rows[2_500:], 2_000, np.random.default_rng(3)),
        resampled_means._pick_many(both, 2_500, 2_000, np.random.default_rng(3)),
    ]
    assert picked[0].mean(axis=0) == pytest.approx(
        picked[1].mean(axis=0), abs=0.1 * picked[0].std(axis=0).max()
    )
    assert np.cov(picked[0].T) == pytest.approx(
        np.cov(picked[1].T), rel=0.15, abs=0.08 * np.cov(picked[0].T).max()
    )


@pytest.mark.parametrize("sizes", [(60, 90), (1500, 4000), (700, 3000)])
@pytest.mark.parametrize("unit", [1e-6, 1e4, 1e8, 1e20])
def test_an_interval_is_the_same_in_every_unit(sizes, unit):
    """Cents or millions: of samples with many rows the sum and the sum of squares were drawn as if of one scale."""
    random = np.random.default_rng(1)
    first, second = (random.lognormal(0.1 * k, 1.0, size) for k, size in enumerate(sizes))
    plain, scaled = ResampledGap(first, second), ResampledGap(first * unit, second * unit)
    for tail in (0.025, 0.001):
        for sign in (1.0, -1.0):
            assert scaled.limit(tail, sign) / unit == pytest.approx(plain.limit(tail, sign), rel=1e-6)
            assert scaled.tail(0.0, sign) == pytest.approx(plain.tail(0.0, sign), rel=1e-6)


def test_the_root_of_a_covariance_has_no_eigenvectors_in_it():
    """Where eigenvalues are equal any rotation of their vectors would do, and libraries differ in which they give."""
    equal = np.full((4, 4), 0.3) + 0.7 * np.eye(4)
    root = symmetric_root(equal)
    np.testing.assert_allclose(root @ root, equal, atol=1e-14)
    np.testing.assert_allclose(root, root.T, atol=1e-14)
    order = [2, 0, 3, 1]  # of the columns: the same root in that order
    np.testing.assert_allclose(
        symmetric_root(equal[np.ix_(order, order)]), root[np.ix_(order, order)], atol=1e-14
    )
    units = np.array([1.0, 1e8, 1e-6, 0.0])
    scaled = symmetric_root(np.outer(units, units) * equal)
    covariance = scaled @ scaled.T / np.outer(units + (units == 0), units + (units == 0))
    np.testing.assert_allclose(covariance[:3, :3], equal[:3, :3], atol=1e-12)
    assert not scaled[3].any()
