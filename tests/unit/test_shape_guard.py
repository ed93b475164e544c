"""The law that the shape of all rows gives a small group's t."""

import numpy as np
import pytest
from scipy import stats

from fairtrial.inference.bounds import DRAWS, LAST_COUNTED, ShapeGuarded, ShapeLaws, Tail
from fairtrial.inference.compare.choose_gaps import make_gaps
from fairtrial.inference.evidence.atoms import Comparison
from fairtrial.inference.means.row_gaps import RowGaps
from validity.certify_designs import atoms_of


@pytest.fixture
def lognormal():
    return np.random.default_rng(11).lognormal(size=5_000)


def slow_t(values, size, other, draws=20_000):
    """Student's (or Welch's) t of independent samples, by scipy, sample after sample."""
    generator = np.random.default_rng(1)
    centred = values - values.mean()
    first = generator.choice(centred, (draws, size))
    if other is None:
        return stats.ttest_1samp(first, 0.0, axis=1).statistic
    return stats.ttest_ind(
        first, generator.choice(centred, (draws, other)), axis=1, equal_var=False
    ).statistic


@pytest.mark.parametrize(("size", "other"), [(40, None), (40, 40), (40, 120), (40, 1_000), (1_000, 40)])
def test_law_is_that_of_samples_drawn_one_by_one(lognormal, size, other):
    found = ShapeLaws([lognormal]).law(size, np.inf if other is None else other)
    slow = slow_t(lognormal, size, other)
    # Sizes are rounded down by up to a tenth, and windows share rows: quantiles agree to a few percent of the tail.
    for level in (0.01, 0.05, 0.25, 0.75, 0.95, 0.99):
        reached = float(np.mean(slow <= np.quantile(found, level)))
        assert reached == pytest.approx(
            level, abs=4 * np.sqrt(level * (1 - level) / 2_500) + 0.1 * level * (1 - level)
        )


def test_a_skewed_shape_has_a_heavy_lower_tail(lognormal):
    law = ShapeLaws([lognormal]).law(40, np.inf)
    assert Tail(-law[::-1], 39.0).p(3.0) > 3 * stats.t.sf(3.0, 39)
    assert Tail(law, 39.0).p(3.0) < stats.t.sf(3.0, 39) + 2e-3


def test_tail_and_quantile_are_inverse_and_continuous():
    law = np.sort(stats.t(12).rvs(DRAWS, random_state=5))
    tail = Tail(law, 20.0)
    for p in (0.2, 0.05, 0.01, 1e-3, 1e-5, 1e-9):
        assert tail.p(tail.quantile(p)) == pytest.approx(p, rel=0.02 if p > 0.004 else 1e-6)
    counted = LAST_COUNTED / (DRAWS + 1)
    assert tail.p(tail.last * (1 + 1e-9)) == pytest.approx(counted, rel=1e-6)
    assert tail.quantile(1e-12) > tail.quantile(1e-6) > tail.last


def groups(seed=0, sizes=(40, 60, 300)):
    generator = np.random.default_rng(seed)
    member = np.eye(len(sizes), dtype=bool)
    return atoms_of([generator.lognormal(size=size) for size in sizes]), Comparison(member, ~member)


@pytest.mark.parametrize("seed", range(5))
def test_never_a_smaller_p_value_nor_a_shorter_interval(seed):
    atoms, comparison = groups(seed)
    guarded, plain = make_gaps(atoms, comparison), RowGaps(atoms, comparison)
    assert isinstance(guarded, ShapeGuarded)
    for gap in (-1.0, 0.0, 0.5):
        for wide, narrow in zip(guarded.tails(np.full(3, gap)), plain.tails(np.full(3, gap)), strict=True):
            assert (wide >= narrow).all()
    for level in (0.8, 0.95, 0.999):
        (low, high), (inner_low, inner_high) = guarded.limits(level), plain.limits(level)
        assert (low <= inner_low).all()
        assert (high >= inner_high).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_limit_is_where_the_p_value_passes_the_level(seed):
    gaps = make_gaps(*groups(seed))
    low, high = gaps.limits(0.95)
    above, below = gaps.tails(low)[0], gaps.tails(high)[1]
    assert above == pytest.approx(np.full(3, 0.025), abs=2e-4)
    assert below == pytest.approx(np.full(3, 0.025), abs=2e-4)


@pytest.mark.parametrize("seed", range(5))
def test_a_band_without_width_is_the_two_sided_test_or_more(seed):
    """Both tails are guarded: the near one at the estimate, the far one at the same distance on the other side."""
    gaps = make_gaps(*groups(seed))
    for null in (-0.6, 0.0, 0.4):
        above, below = gaps.tails(np.full(3, null))
        near = np.where(gaps.estimate > null, above, below)
        root = np.abs(gaps.inner.root(np.full(3, null)))
        opposite = gaps.far_tail(root, gaps.estimate > null)
        narrow = gaps.p_inside(null - 1e-12, null + 1e-12)
        assert narrow == pytest.approx(np.minimum(near + opposite, 1.0), rel=1e-6)
        assert (opposite >= gaps.inner.far_tail(root, gaps.estimate > null)).all()


def test_order_of_rows_and_groups_does_not_matter():
    atoms, _ = groups(4)
    rows = list(atoms.values)
    shuffled = [np.random.default_rng(9).permutation(rows[index]) for index in (2, 0, 1)]
    member = np.eye(3, dtype=bool)
    first = make_gaps(atoms_of(rows), Comparison(member, ~member)).limits(0.95)
    second = make_gaps(atoms_of(shuffled), Comparison(member, ~member)).limits(0.95)
    for one, other in zip(first, second, strict=True):
        assert one[[2, 0, 1]] == pytest.approx(other, rel=1e-9)


def test_large_groups_and_refinements_are_left_alone():
    generator = np.random.default_rng(2)
    member = np.eye(2, dtype=bool)
    large = atoms_of([generator.lognormal(size=600), generator.lognormal(size=900)])
    assert not isinstance(make_gaps(large, Comparison(member, ~member)), ShapeGuarded)
    small, _ = groups()
    one = np.eye(3, dtype=bool)
    known = Comparison(one, np.zeros_like(one), np.full(3, 1.6))
    assert not isinstance(make_gaps(small, known, refinement="bartlett"), ShapeGuarded)
    assert isinstance(make_gaps(small, known), ShapeGuarded)


def test_the_papers_plug_in_stays_as_published():
    atoms, comparison = groups()
    plugged = make_gaps(atoms, comparison, target_method="plug-in")
    target = np.array([atoms.gather(row).mean() for row in comparison.reference])
    as_known = RowGaps(atoms, Comparison(comparison.member, np.zeros_like(comparison.member), target))
    assert plugged.limits(0.95)[0] == pytest.approx(as_known.limits(0.95)[0], rel=1e-9)


def test_a_far_group_still_gets_a_small_p_value():
    generator = np.random.default_rng(3)
    member = np.array([[True, False]])
    atoms = atoms_of([4.0 + generator.lognormal(size=60), generator.lognormal(size=2_000)])
    assert make_gaps(atoms, Comparison(member, ~member)).p_equal(0.0)[0] < 1e-6


def test_a_group_inside_its_target_and_a_target_inside_its_group():
    generator = np.random.default_rng(6)
    atoms = atoms_of([generator.exponential(size=50), generator.exponential(size=80)])
    inside, whole = np.array([[True, False]]), np.array([[True, True]])
    one = make_gaps(atoms, Comparison(inside, whole)).limits(0.95)
    other = make_gaps(atoms, Comparison(whole, inside)).limits(0.95)
    assert one[0] == pytest.approx(-other[1], rel=0.1)
    assert one[1] == pytest.approx(-other[0], rel=0.1)


def test_one_wild_row_neither_breaks_nor_silences_the_others():
    generator = np.random.default_rng(0)
    rows = [generator.normal(size=150) for _ in range(10)]
    rows[3][0], rows[5] = 1e6, rows[5] - 1.0
    member = np.eye(10, dtype=bool)
    with np.errstate(all="raise"):
        gaps = make_gaps(atoms_of(rows), Comparison(member, np.zeros_like(member), np.zeros(10)))
        low, high = gaps.limits(0.9999)
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()
    assert gaps.p_equal(0.0)[5] < 1e-6


def test_a_far_group_is_no_part_of_the_shape():
    generator = np.random.default_rng(1)
    rows = [generator.normal(size=400), generator.normal(size=60) - 1.0, generator.normal(size=60)]
    far = 200.0 + 40.0 * generator.normal(size=40)

    def p(values):
        member = np.eye(len(values), dtype=bool)
        known = Comparison(member, np.zeros_like(member), np.zeros(len(values)))
        return make_gaps(atoms_of(values), known).p_equal(0.0)[1]

    assert p([*rows, far]) < 1e-5
    assert p(rows) < 1e-5


def test_law_of_mostly_equal_values_is_that_of_samples_drawn_one_by_one():
    generator = np.random.default_rng(8)
    values = np.where(generator.random(20_000) < 0.05, generator.exponential(size=20_000), 0.0)
    found = ShapeLaws([values]).law(1_000, np.inf)
    slow = slow_t(values, 1_000, None, 4_000)
    for level in (0.025, 0.25, 0.75, 0.975):
        reached = float(np.mean(slow <= np.quantile(found, level)))
        assert reached == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 1_000))


def test_law_of_mostly_equal_values_in_a_huge_group_is_centred():
    generator = np.random.default_rng(8)
    values = np.where(generator.random(200_000) < 0.004, generator.exponential(size=200_000), 0.0)
    law = ShapeLaws([values]).law(100_000, np.inf)
    assert np.quantile(law, [0.025, 0.5, 0.975]) == pytest.approx([-2.1, 0.0, 1.85], abs=0.25)
