"""The logistic solver agrees with scikit-learn and solves its own equations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from inside.inference import build_design, fit_logistic, fit_predict_many, predict_logistic


@pytest.fixture
def cells() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(11)
    arity = np.array([2, 3, 4])
    codes = np.array(np.unravel_index(np.arange(24), arity)).T.astype(np.int64)
    trials = random.integers(0, 50, size=24) * random.uniform(0.2, 3.0, size=24)
    successes = trials * random.uniform(0.1, 0.9, size=24)
    return codes, arity, trials, successes


def test_score_equations_hold(cells: tuple[np.ndarray, ...]) -> None:
    codes, arity, trials, successes = cells
    covariate = np.linspace(-2, 2, 24)
    for pairwise in (False, True):
        design = build_design(codes, arity, covariate, pairwise=pairwise)
        beta = fit_logistic(design, trials, successes, 0.01)
        matrix = design.dense()
        gradient = matrix.T @ (successes - trials * expit(matrix @ beta)) - 0.01 * beta
        assert np.abs(gradient).max() < 1e-8


def test_same_as_scikit_learn_with_two_records_per_cell(cells: tuple[np.ndarray, ...]) -> None:
    """Fractional successes are a success and a failure record with weights that add up to the trials."""
    from sklearn.linear_model import LogisticRegression

    codes, arity, trials, successes = cells
    design = build_design(codes, arity)
    matrix = design.dense()  # the intercept is a penalised column of its own
    model = LogisticRegression(C=1 / 0.3, fit_intercept=False, tol=1e-12, max_iter=10_000)
    model.fit(
        np.concatenate([matrix, matrix]),
        np.repeat([1, 0], len(matrix)),
        sample_weight=np.concatenate([successes, trials - successes]),
    )
    ours = predict_logistic(design, fit_logistic(design, trials, successes, 0.3))
    np.testing.assert_allclose(ours, model.predict_proba(matrix)[:, 1], atol=1e-6)


def test_relabelling_changes_nothing(cells: tuple[np.ndarray, ...]) -> None:
    codes, arity, trials, successes = cells
    flipped = codes.copy()
    flipped[:, 2] = 3 - flipped[:, 2]
    first = predict_logistic(*_fitted(codes, arity, trials, successes))
    second = predict_logistic(*_fitted(flipped, arity, trials, successes))
    np.testing.assert_allclose(first, second, atol=1e-10)


def _fitted(codes, arity, trials, successes):  # type: ignore[no-untyped-def]
    design = build_design(codes, arity)
    return design, fit_logistic(design, trials, successes, 0.01)


@pytest.mark.parametrize("ridge", [1e-6, 0.01, 1.0])
@pytest.mark.parametrize("success", [0.0, 1.0])
def test_one_row_has_a_finite_answer(ridge: float, success: float) -> None:
    design = build_design(np.array([[0, 1], [1, 0]]), np.array([2, 2]))
    trials, successes = np.array([3.0, 0.0]), np.array([3.0 * success, 0.0])
    beta = fit_logistic(design, trials, successes, ridge)
    p = predict_logistic(design, beta)
    assert np.isfinite(beta).all()
    assert ((p > 0) & (p < 1)).all()
    assert (p[0] > 0.5) == (success == 1.0)


def test_many_fits_equal_single_fits(cells: tuple[np.ndarray, ...]) -> None:
    codes, arity, trials, successes = cells
    design = build_design(codes, arity)
    scale = np.array([[0.5], [1.0], [0.01]])
    many = fit_predict_many(
        design, np.repeat(trials[None], 3, axis=0), np.ascontiguousarray(scale * successes), 0.01,
        np.zeros(design.width),
    )  # fmt: skip
    for row, factor in zip(many, scale[:, 0], strict=True):
        single = predict_logistic(design, fit_logistic(design, trials, factor * successes, 0.01))
        np.testing.assert_allclose(row, single, atol=1e-9)
