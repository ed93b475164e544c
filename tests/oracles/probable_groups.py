"""Gaps of probable groups by other ways: a linear programme over who may have which value, averages, least squares."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def gap_ends(
    weights: np.ndarray, value: np.ndarray, cell: np.ndarray, own: int, other: int
) -> tuple[float, float]:
    """The smallest and the largest gap over all ways to share each cell's values among its groups.

    Of each cell and group the part with value 1 is unknown: it is at most the group's size there, and the parts of all
    groups sum to the cell's number of ones.
    """
    cells, groups = np.unique(cell), weights.shape[1]
    size = weights.sum(axis=0)
    cost = np.zeros((cells.size, groups))
    cost[:, own], cost[:, other] = 1.0 / size[own], -1.0 / size[other]
    limits = [(0.0, float(weights[cell == c, g].sum())) for c in cells for g in range(groups)]
    sums = np.kron(np.eye(cells.size), np.ones(groups))
    ones = [float(value[cell == c].sum()) for c in cells]
    found = [
        sign * linprog(sign * cost.ravel(), A_eq=sums, b_eq=ones, bounds=limits).fun for sign in (1.0, -1.0)
    ]
    return found[0], found[1]


def weighted_gap(weights: np.ndarray, value: np.ndarray, own: int, other: int) -> float:
    return float(np.average(value, weights=weights[:, own]) - np.average(value, weights=weights[:, other]))


def dual_gap(weights: np.ndarray, value: np.ndarray, own: int, other: int) -> float:
    rates = np.linalg.lstsq(weights, value, rcond=None)[0]
    return float(rates[own] - rates[other])
