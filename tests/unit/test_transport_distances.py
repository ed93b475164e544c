"""Distances to the boundary against slow obvious search."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from inside.transport import distances as dist
from inside.transport import leaf_boxes, predict_distance, tree_distance

ORDER = {"l1": 1, "l2": 2, "linf": np.inf}


@pytest.mark.parametrize("norm", ("l1", "l2", "linf"))
def test_linear_distance_is_the_least_move_to_the_boundary(norm: str) -> None:
    """Hölder: no point of the hyperplane is nearer, and the cheapest move reaches it."""
    rng = np.random.default_rng(1)
    theta, x, cut = np.array([1.5, -0.4, 0.7]), rng.normal(size=(50, 3)), 0.3
    margin = x @ theta - cut
    d = dist.linear_distance(margin, theta, norm)
    step = dist.feature_shift(theta, norm)
    landed = x - np.sign(margin)[:, None] * d[:, None] * step
    assert np.abs(landed @ theta - cut).max() < 1e-12
    assert np.allclose(np.linalg.norm(landed - x, ORDER[norm], axis=1), d)
    # random points of the hyperplane are all at least as far
    other = rng.normal(size=(5000, 3)) * 3
    other -= ((other @ theta - cut) / (theta @ theta))[:, None] * theta
    for row, own in zip(x[:5], d[:5], strict=True):
        assert np.linalg.norm(other - row, ORDER[norm], axis=1).min() >= own - 1e-9


def test_immutable_features_never_move_and_can_make_a_row_unmovable() -> None:
    theta, margin = np.array([1.0, 2.0]), np.array([1.0, -3.0])
    movable = np.array([True, False])
    assert dist.linear_distance(margin, theta, "l2", movable).tolist() == [1.0, 3.0]
    assert dist.feature_shift(theta, "l2", movable).tolist() == [1.0, 0.0]
    assert np.isinf(dist.linear_distance(margin, theta, "l2", np.array([False, False]))).all()


def test_mixed_cost_against_enumeration() -> None:
    """Equation (4): stay with the discrete values, or pay δ and take the best of the others."""
    rng = np.random.default_rng(2)
    theta_d, theta_c, delta = np.array([0.8, -0.5]), np.array([1.2, 0.5]), 0.3
    support = np.array([[0, 0], [0, 1], [1, 0], [1, 2]], dtype=float)
    x_d, x_c = support[rng.integers(0, 4, 200)], rng.normal(size=(200, 2))
    margin = x_d @ theta_d + x_c @ theta_c - 0.2
    expected = []
    for row, discrete in zip(margin, x_d, strict=True):
        options = [abs(row) / np.linalg.norm(theta_c)]
        for value in support:
            moved = row + (value - discrete) @ theta_d
            rest = 0.0 if (moved >= 0) != (row >= 0) else abs(moved) / np.linalg.norm(theta_c)
            options.append(rest + (0.0 if (value == discrete).all() else delta))
        expected.append(min(options))
    got = dist.mixed_distance(margin, x_d @ theta_d, support @ theta_d, theta_c, delta)
    assert np.allclose(got, expected, atol=1e-12)


def test_mixed_cost_without_continuous_features() -> None:
    margin, part = np.array([1.0, -1.0, 0.5]), np.array([1.0, -1.0, 0.5])
    got = dist.mixed_distance(margin, part, np.array([-1.0, 1.0, 0.5]), np.zeros(0), 0.7)
    assert got.tolist() == [0.7, 0.7, 0.7]
    stuck = dist.mixed_distance(np.array([1.0]), np.array([1.0]), np.array([0.0, 1.0]), np.zeros(0), 0.7)
    assert np.isinf(stuck).all(), "the lowest reachable margin is 0, which is still accepted"


def test_score_distance_units() -> None:
    score = np.array([0.2, 0.5, 0.9, 1.0])
    assert np.allclose(dist.score_distance(score, 0.5), [0.3, 0.0, 0.4, 0.5])
    assert np.allclose(
        dist.score_distance(score, 0.5, "log-odds")[:3], np.abs(np.log(score[:3] / (1 - score[:3])))
    )
    assert np.isinf(dist.score_distance(score, 0.5, "log-odds")[3])
    deciles = np.array([1.0, 4.0, 5.0, 10.0])
    assert dist.score_distance(deciles, 5).tolist() == [4, 1, 1, 6], "whole numbers move in whole steps"
    assert dist.score_distance(deciles, 4.5).tolist() == [4, 1, 1, 6]
    with pytest.raises(ValueError, match="between 0 and 1"):
        dist.score_distance(np.array([1.2]), 0.5, "log-odds")


def test_kernel_distance_of_a_linear_kernel_is_the_linear_distance() -> None:
    from sklearn.svm import SVC

    rng = np.random.default_rng(3)
    x = rng.normal(size=(120, 3))
    y = (x[:, 0] + 0.3 * rng.normal(size=120) > 0).astype(int)
    model = SVC(kernel="linear").fit(x, y)
    gram = model.support_vectors_ @ model.support_vectors_.T
    got = dist.kernel_distance(model.decision_function(x), model.dual_coef_, gram)
    expected = dist.linear_distance(model.decision_function(x), model.coef_.ravel())
    assert np.allclose(got, expected)


def _fitted_tree(seed: int, depth: int):  # type: ignore[no-untyped-def]
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 3)).astype(np.float32).astype(float)
    y = ((x[:, 0] * x[:, 1] + 0.3 * x[:, 2]) > 0).astype(int)
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(x, y), x


@pytest.mark.parametrize("norm", ("l1", "l2", "linf"))
def test_tree_distance_reaches_the_other_side_and_nothing_nearer_does(norm: str) -> None:
    model, x = _fitted_tree(4, 5)
    tree = model.tree_
    nodes, lows, highs = leaf_boxes(tree.children_left, tree.children_right, tree.feature, tree.threshold, 3)
    leaf_decision = tree.value[nodes, 0].argmax(axis=1)
    decision = model.predict(x)
    d = tree_distance(x, decision, lows, highs, leaf_decision, norm)
    rng = np.random.default_rng(5)
    for index in range(12):
        directions = rng.normal(size=(4000, 3))
        directions /= np.linalg.norm(directions, ORDER[norm], axis=1)[:, None]
        inside = x[index] + directions * (d[index] * rng.random((4000, 1)) * 0.999)
        assert (model.predict(inside) == decision[index]).all()
        # a hair beyond the nearest point of the nearest box the decision is the other one
        others = leaf_decision != decision[index]
        nearest = np.clip(x[index], lows[others], highs[others])
        lengths = np.linalg.norm(nearest - x[index], ORDER[norm], axis=1)
        box = int(lengths.argmin())
        assert lengths[box] == pytest.approx(d[index])
        low, high = lows[others][box], highs[others][box]
        into = np.clip(x[index], low + 1e-5 * np.isfinite(low), high - 1e-5 * np.isfinite(high))
        assert model.predict(into[None])[0] != decision[index]


def test_tree_distance_with_an_immutable_feature_is_never_smaller() -> None:
    model, x = _fitted_tree(6, 4)
    tree = model.tree_
    nodes, lows, highs = leaf_boxes(tree.children_left, tree.children_right, tree.feature, tree.threshold, 3)
    leaf_decision = tree.value[nodes, 0].argmax(axis=1)
    free = tree_distance(x, model.predict(x), lows, highs, leaf_decision)
    tied = tree_distance(
        x, model.predict(x), lows, highs, leaf_decision, movable=np.array([False, True, True])
    )
    assert (tied >= free - 1e-12).all()
    assert (tied > free + 1e-9).any()
    nothing = tree_distance(x, model.predict(x), lows, highs, leaf_decision, movable=np.zeros(3, bool))
    assert np.isinf(nothing).all()


def test_predict_distance_is_an_upper_bound_close_to_the_truth() -> None:
    rng = np.random.default_rng(7)
    x, theta = rng.normal(size=(1500, 2)), np.array([1.0, 0.5])

    def predict(points: np.ndarray) -> np.ndarray:
        return (points @ theta >= 0.2).astype(int)

    exact = dist.linear_distance(x @ theta - 0.2, theta)
    found = predict_distance(x, predict(x), predict)
    assert (found >= exact - 1e-9).all()
    assert np.median(found / exact) < 1.1
    fixed = predict_distance(x, predict(x), predict, movable=np.array([True, False]))
    along_first = np.abs(x @ theta - 0.2)
    finite = np.isfinite(fixed)
    assert finite.mean() > 0.5
    assert np.allclose(fixed[finite], along_first[finite], atol=1e-9)


def test_predict_distance_with_one_side_empty_is_infinite() -> None:
    x = np.zeros((5, 2))
    assert np.isinf(predict_distance(x, np.ones(5, int), lambda points: np.ones(len(points), int))).all()


def test_linear_distance_agrees_with_a_numerical_minimum() -> None:
    theta, point, cut = np.array([0.7, -1.1]), np.array([1.0, 1.0]), 2.0
    solved = minimize(
        lambda z: np.sum((z - point) ** 2),
        point,
        constraints={"type": "eq", "fun": lambda z: z @ theta - cut},
    )
    assert dist.linear_distance(np.array([point @ theta - cut]), theta)[0] == pytest.approx(
        np.sqrt(solved.fun)
    )
