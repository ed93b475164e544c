"""The slow obvious scan: every subgroup, scored by a general-purpose root finder, nothing shared with the package."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from scipy.optimize import brentq


def value_sets(values: int) -> list[tuple[int, ...]]:
    """All non-empty sets of the values 0..values-1."""
    return [chosen for size in range(1, values + 1) for chosen in combinations(range(values), size)]


def bernoulli_score(observed: np.ndarray, size: np.ndarray, expected: np.ndarray) -> float:
    """max over q ≥ 1 of Σ O·log q − n·log(q·Î − Î + 1), as Table 2 writes it."""
    events = observed.sum()
    if events <= (size * expected).sum():
        return 0.0

    def derivative(log_q: float) -> float:
        q = np.exp(log_q)
        return float(events - np.sum(size * q * expected / (q * expected - expected + 1.0)))

    log_q = 40.0 if derivative(40.0) >= 0.0 else float(brentq(derivative, 0.0, 40.0, xtol=1e-13))
    q = np.exp(log_q)
    return float(events * log_q - np.sum(size * np.log(q * expected - expected + 1.0)))


def gaussian_score(observed: np.ndarray, size: np.ndarray) -> float:
    """(ΣΔ)²/(2nσ²) when ΣΔ > 0; `observed` is ΣΔ/σ per cell."""
    total = observed.sum()
    return float(total**2 / (2.0 * size.sum())) if total > 0 else 0.0


def all_subgroups(
    gaussian: bool,
    codes: np.ndarray,
    arity: list[int],
    size: np.ndarray,
    observed: np.ndarray,
    expected: np.ndarray,
    penalty: float,
    direction: str,
) -> list[tuple[float, int, bytes]]:
    """(penalised score, listed values, who is in it) of every non-empty subgroup."""
    if direction == "below":
        observed = -observed if gaussian else size - observed
        expected = 1.0 - expected
    known: dict[bytes, float] = {}
    answer = []
    for sets in product(*(value_sets(values) for values in arity)):
        inside = np.ones(len(codes), dtype=bool)
        listed = 0
        for attribute, chosen in enumerate(sets):
            inside &= np.isin(codes[:, attribute], chosen)
            listed += len(chosen) if len(chosen) < arity[attribute] else 0
        if not size[inside].sum():
            continue
        who = inside.tobytes()
        if who not in known:
            known[who] = (
                gaussian_score(observed[inside], size[inside])
                if gaussian
                else bernoulli_score(observed[inside], size[inside], expected[inside])
            )
        answer.append((known[who] - penalty * listed, listed, who))
    return answer
