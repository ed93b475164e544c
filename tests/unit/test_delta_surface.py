"""The Δ-surface is the exact region of rejection."""

import math

import numpy as np
import pytest

from inside.improve import Corner, Staircase, combine_p_values, staircase
from oracles.improve_data import split_components, surface


@pytest.mark.parametrize("aggregation", ["median", "running-median", "single"])
@pytest.mark.parametrize("method", ["smooth", "paper"])
def test_the_staircase_rejects_exactly_where_the_combined_p_value_does(aggregation, method):
    splits = split_components(splits=5, method=method)
    (steps,) = surface(splits, [0.05], aggregation)
    rng = np.random.default_rng(1)
    seen = set()
    for accuracy, fairness in rng.uniform([-0.3, -0.5], [0.3, 1.0], size=(300, 2)):
        p_values = [
            max(c.p_value(accuracy if c.part == "accuracy" else fairness) for c in components)
            for components in splits
        ]
        rejected = combine_p_values(p_values, aggregation) < 0.05
        assert steps.rejects(accuracy, fairness) == rejected
        seen.add(rejected)
    assert seen == {True, False}


def test_corners_are_outer_and_ordered():
    rectangles = [
        Corner(0.1, 0.5),
        Corner(0.2, 0.3),
        Corner(-0.1, 0.9),
        Corner(0.0, 0.1),
        Corner(0.3, -math.inf),
    ]
    steps = staircase(rectangles, 0.05, "median")
    accuracies = [c.accuracy for c in steps.corners]
    fairness = [c.fairness for c in steps.corners]
    assert accuracies == sorted(accuracies)
    assert fairness == sorted(fairness, reverse=True)
    assert steps.largest_fairness_gain(-0.2) == 0.3
    assert steps.largest_fairness_gain(-0.05) == 0.1
    assert steps.largest_fairness_gain(0.05) == -math.inf


def test_a_looser_level_rejects_more():
    strict, loose = surface(split_components(splits=5, method="smooth"), [0.01, 0.2], "median")
    for accuracy in np.linspace(-0.3, 0.2, 11):
        assert strict.largest_fairness_gain(accuracy) <= loose.largest_fairness_gain(accuracy)


def test_nothing_rejected_is_an_empty_staircase():
    steps = staircase([Corner(-math.inf, 0.5)] * 3, 0.05, "median")
    assert steps == Staircase(0.05, ())
    assert steps.largest_fairness_gain(-1.0) == -math.inf
