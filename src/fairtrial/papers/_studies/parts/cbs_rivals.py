"""The rivals of the conditional bias scan's section 4, by their definitions in its appendix B.1.

GerryFair's auditor, one direction: among people without the outcome a linear regression of "prediction less the global
rate" on all covariates, the class included; the subgroup is where the fit is above zero. Multiaccuracy Boost, one
direction: ridge regressions of its residual heuristic in three partitions (everyone, predictions above one half, the
others), tried in that order; the partition with the largest correlation with held-out positive residuals is returned.
Both are cut to the protected class afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Bools = np.ndarray[Any, np.dtype[np.bool_]]
Floats = np.ndarray[Any, np.dtype[np.float64]]

STEPS = 20  # of boosting; the article's code goes on to 100, the largest correlation comes first
SHIFT, LEAST, RIDGE, TRAINED = 0.1, 1e-4, 1.0, 0.7


def one_hot(codes: np.ndarray, arity: np.ndarray, protected: Bools) -> Floats:
    """Every covariate as columns, the first value of each left out, and the class."""
    columns = [codes[:, j] == value for j in range(codes.shape[1]) for value in range(1, arity[j])]
    return np.stack([*columns, protected], axis=1).astype(np.float64)


def gerryfair(features: Floats, outcome: Floats, prediction: Floats) -> Bools:
    """People whose fitted prediction is above the rate of everybody without the outcome."""
    without = outcome == 0
    design = np.column_stack([np.ones(len(features)), features])
    above = prediction[without] - prediction[without].mean()
    coefficients = np.linalg.lstsq(design[without], above, rcond=None)[0]
    return np.asarray(design @ coefficients > 0)


def _heuristic(prediction: Floats, outcome: Floats) -> Floats:
    """Multiaccuracy Boost's residual: 1/p where the outcome came, 1/(1 − p) where not, straight near 0 and 1."""
    chance = np.where(outcome == 1, prediction, 1.0 - prediction)
    return np.where(chance >= 0.1, 1.0 / np.maximum(chance, 1e-20), 20.0 - 100.0 * chance)


def _ridge(design: Floats, target: Floats) -> Floats:
    """Coefficients with an intercept that is not shrunk."""
    centre = design.mean(axis=0)
    centred = design - centre
    gram = centred.T @ centred + RIDGE * np.eye(design.shape[1])
    slope = np.linalg.solve(gram, centred.T @ (target - target.mean()))
    return np.append(slope, target.mean() - centre @ slope)


def multiaccuracy(
    features: Floats, outcome: Floats, prediction: Floats, generator: np.random.Generator
) -> Bools:
    """The partition that needed a correction most."""
    n = len(outcome)
    train = np.zeros(n, dtype=bool)
    train[generator.permutation(n)[: int(TRAINED * n)]] = True
    log_odds = np.log(prediction) - np.log1p(-prediction)
    best, found = -np.inf, np.zeros(n, dtype=bool)
    for _ in range(STEPS):
        p = 1.0 / (1.0 + np.exp(-log_odds))
        target, residual = _heuristic(p, outcome), np.maximum(p - outcome, 0.0)
        for partition in (np.ones(n, dtype=bool), p > 0.5, p <= 0.5):
            inside, held = partition & train, partition & ~train
            if inside.sum() < 2 or not held.any():
                continue
            fit = _ridge(features[inside], target[inside])
            fitted = features @ fit[:-1] + fit[-1]
            correlation = float(np.mean(fitted[held] * residual[held]))
            if correlation > LEAST:
                if correlation > best:
                    best, found = correlation, partition
                log_odds = log_odds - SHIFT * fitted * partition
                break
        else:
            break
    return found
