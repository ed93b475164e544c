"""The cell bootstrap is the row bootstrap, in distribution and in every estimate."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from inside.inference import Utility, bootstrap_levels, distinct_rows, draw_counts, level_cells
from oracles.improve import resampled_levels


def example(rows: int, seed: int, *, real: bool = False):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, rows)
    outcome = rng.normal(5, 2, rows) if real else rng.integers(0, 2, rows).astype(float)
    d0, d1 = (rng.random((2, rows)) < 0.4).astype(float)
    selected = Utility(name="mean outcome", u0=outcome * d0, w0=d0, u1=outcome * d1, w1=d1)
    ones = np.ones(rows)
    need = outcome > 0.5 if not real else outcome > 5
    right = Utility(name="accuracy", u0=1.0 * (d0 == need), w0=ones, u1=1.0 * (d1 == need), w1=ones)
    return group, [selected, right]


def test_distinct_rows_agree_with_numpy_on_whole_rows():
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 5, 400), rng.normal(size=400).round(1), rng.integers(0, 2, 400)]
    cell, first, counts = distinct_rows(columns)
    expected = np.unique(np.stack([c.astype(float) for c in columns], axis=1), axis=0, return_counts=True)
    np.testing.assert_array_equal(np.stack([c[first] for c in columns], axis=1), expected[0])
    np.testing.assert_array_equal(counts, expected[1])
    np.testing.assert_array_equal(np.bincount(cell), counts)


def test_distinct_rows_survive_more_combinations_than_64_bits_hold():
    rng = np.random.default_rng(4)
    columns = [rng.normal(size=1000) for _ in range(9)]  # 1000^9 possible combinations
    _, _, counts = distinct_rows(columns)
    assert counts.tolist() == [1] * 1000


@pytest.mark.parametrize("real", [False, True], ids=["few cells", "a cell per row"])
def test_levels_have_the_distribution_of_resampled_rows(real):
    group, utilities = example(120, 5, real=real)
    draws = 3000
    cells = level_cells(group, 3, utilities)
    ours = bootstrap_levels(cells, draws, np.random.default_rng(6))
    naive = resampled_levels(group, 3, utilities, draws, np.random.default_rng(7))
    for m in range(2):
        for rule in range(2):
            for g in range(4):
                left, right = ours.draws[:, m, rule, g], naive[:, m, rule, g]
                assert ks_2samp(left, right).pvalue > 1e-4
    # ... and jointly: covariances of all levels
    left, right = (d.reshape(draws, -1) for d in (ours.draws, naive))
    scale = np.sqrt(np.outer(right.var(0), right.var(0)))
    assert np.max(np.abs(np.cov(left.T) - np.cov(right.T)) / scale) < 0.1


def test_counts_of_rare_and_common_cells_are_multinomial():
    counts = np.array([1, 2, 3, 4])  # rare only, some of each, common only
    for scale in (1, 4, 100):
        drawn = draw_counts(counts * scale, 4000, np.random.default_rng(scale))
        rows = counts.sum() * scale
        assert (drawn.sum(axis=1) == rows).all()
        share = counts / counts.sum()
        np.testing.assert_allclose(drawn.mean(0) / rows, share, atol=0.02)
        expected = rows * (np.diag(share) - np.outer(share, share))
        np.testing.assert_allclose(np.cov(drawn.T), expected, atol=0.1 * expected.max())


def test_estimates_support_and_influence():
    group, utilities = example(500, 8, real=True)
    levels = bootstrap_levels(level_cells(group, 3, utilities), 4000, np.random.default_rng(9))
    selected = utilities[0]
    for g in range(3):
        member = group == g
        assert levels.estimate[0, 1, g] == pytest.approx(
            selected.u1[member].sum() / selected.w1[member].sum()
        )
        assert levels.support[0, 1, g] == selected.w1[member].sum()
    assert levels.estimate[0, 1, 3] == pytest.approx(selected.u1.sum() / selected.w1.sum())
    # the influence values' standard error is the bootstrap's
    error = np.sqrt(np.tensordot(levels.counts, levels.influence**2, axes=1)) / levels.counts.sum()
    np.testing.assert_allclose(error, levels.draws.std(axis=0), rtol=0.08)


def test_a_level_nobody_carries_is_undefined_not_zero():
    group = np.array([0, 0, 1, 1])
    zero, one = np.zeros(4), np.array([1.0, 1.0, 0.0, 0.0])
    utility = Utility(name="u", u0=zero, w0=one, u1=zero, w1=one)
    levels = bootstrap_levels(level_cells(group, 2, [utility]), 20, np.random.default_rng(0))
    assert np.isnan(levels.estimate[0, 0, 1])
    assert levels.support[0, 0, 1] == 0
