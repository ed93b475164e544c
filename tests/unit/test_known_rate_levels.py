"""Errors against a known rate, summed over all outcomes: no simulation, so no chance."""

import numpy as np
import pytest
from scipy.stats import binom

from inside.gaps import certified
from inside.inference import KnownRateGaps


def every_outcome(n, target):
    ones = np.arange(n + 1.0)
    return KnownRateGaps(np.full(n + 1, float(n)), ones, np.full(n + 1, target))


@pytest.mark.parametrize("n", [20, 100, 500, 3000])
@pytest.mark.parametrize("target", [0.05, 0.2, 0.5, 0.8])
@pytest.mark.parametrize("tolerance", [0.02, 0.045, 0.1])
def test_no_decision_at_the_edge_errs_more_than_its_level(n, target, tolerance):
    gaps = every_outcome(n, target)
    decisions = {
        -1: [certified(gaps, (-tolerance, tolerance), 0.9), gaps.p_at_least(-tolerance) <= 0.05],
        1: [certified(gaps, (-tolerance, tolerance), 0.9), gaps.p_at_most(tolerance) <= 0.05],
    }
    for side, rejected in decisions.items():
        rate = target + side * tolerance
        if 0 < rate < 1:
            chances = binom.pmf(np.arange(n + 1), n, rate)
            for wrong in rejected:
                assert chances @ wrong <= 0.05 + 1e-6
            # Of the two tails outside a band the far one is normal: good to a hundredth of the level.
            assert chances @ (gaps.p_inside(-tolerance, tolerance) <= 0.05) <= 0.0505


@pytest.mark.parametrize("n", [20, 100, 500])
@pytest.mark.parametrize("target", [0.02, 0.1, 0.3, 0.5])
def test_two_sided_size_is_at_most_the_level(n, target):
    wrong = every_outcome(n, target).p_equal(0.0) <= 0.05
    assert binom.pmf(np.arange(n + 1), n, target) @ wrong <= 0.05 + 1e-6
