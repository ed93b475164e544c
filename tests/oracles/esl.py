"""The five ESL values by their own definitions, none of which uses the b-sequence formula of the package."""

from __future__ import annotations

from itertools import combinations, permutations
from math import comb, factorial

import numpy as np


def subsets(players):
    return [frozenset(s) for size in range(len(players) + 1) for s in combinations(players, size)]


def worth_of(worth, coalition):
    """The worth of a set of players in an array in bit-mask order; the empty set is worth nothing."""
    return worth[sum(1 << k for k in coalition)] if coalition else 0.0


def shapley(worth, n):
    """The mean marginal contribution over all n! orders (Shapley 1953)."""
    value = np.zeros(n)
    for order in permutations(range(n)):
        before = frozenset()
        for k in order:
            value[k] += worth_of(worth, before | {k}) - worth_of(worth, before)
            before = before | {k}
    return value / factorial(n)


def equal_surplus(worth, n):
    """v({k}) plus an equal share of what is left (Driessen and Funaki 1991)."""
    alone = np.array([worth_of(worth, {k}) for k in range(n)])
    return alone + (worth_of(worth, range(n)) - alone.sum()) / n


def consensus(worth, n):
    """The mean of Shapley and Equal Surplus (Ju, Borm and Ruys 2007)."""
    return (shapley(worth, n) + equal_surplus(worth, n)) / 2


def solidarity(worth, n):
    """Σ_{S∋k} (n−s)!(s−1)!/n! · mean over j in S of v(S) − v(S∖j) (Nowak and Radzik 1994)."""
    value = np.zeros(n)
    for coalition in subsets(range(n)):
        s = len(coalition)
        if s == 0:
            continue
        mean_marginal = np.mean(
            [worth_of(worth, coalition) - worth_of(worth, coalition - {j}) for j in coalition]
        )
        for k in coalition:
            value[k] += factorial(n - s) * factorial(s - 1) / factorial(n) * mean_marginal
    return value


def least_squares_prenucleolus(worth, n):
    """argmin Σ_S (v(S) − x(S) − mean excess)² with x(N) = v(N), solved as constrained least squares.

    Ruiz, Valenciano and Zarzuelo (1996); the mean excess is the same for every efficient x, so minimising
    the sum of squared excesses over non-empty coalitions is the same problem.
    """
    coalitions = [s for s in subsets(range(n)) if s]
    design = np.array([[1.0 if k in s else 0.0 for k in range(n)] for s in coalitions])
    target = np.array([worth_of(worth, s) for s in coalitions])
    # Lagrange: [2AᵀA 1; 1ᵀ 0][x λ] = [2Aᵀv v(N)]
    system = np.block([[2 * design.T @ design, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    right = np.concatenate([2 * design.T @ target, [worth_of(worth, range(n))]])
    return np.linalg.solve(system, right)[:n]


DEFINITIONS = {
    "shapley": shapley,
    "equal_surplus": equal_surplus,
    "solidarity": solidarity,
    "consensus": consensus,
    "lsp": least_squares_prenucleolus,
}


def esl_by_sum(b, worth, n):
    """Proposition 4.1 written as its printed sum over coalitions without k."""
    value = np.zeros(n)
    for k in range(n):
        for coalition in subsets([j for j in range(n) if j != k]):
            s = len(coalition)
            weight = 1.0 / (n * comb(n - 1, s))
            value[k] += weight * (
                b[s + 1] * worth_of(worth, coalition | {k}) - b[s] * worth_of(worth, coalition)
            )
    return value
