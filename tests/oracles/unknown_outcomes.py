"""Gaps with unknown outcomes by other ways: every completion tried, and Imbens and Manski's equation by a library."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy import optimize, stats

Person = tuple[int, int, int | None]  # group (1) or target (0), decision, outcome


def rate_of(metric: str, people: list[tuple[int, int]]) -> float | None:
    """A rate of (decision, outcome) pairs by its definition in words; None of nobody."""
    chosen = {
        "fpr": [(d, y) for d, y in people if y == 0],
        "tpr": [(d, y) for d, y in people if y == 1],
        "fnr": [(d, y) for d, y in people if y == 1],
        "ppv": [(d, y) for d, y in people if d == 1],
        "for": [(d, y) for d, y in people if d == 0],
    }.get(metric, people)
    hit = {
        "fpr": lambda d, y: d == 1,
        "tpr": lambda d, y: d == 1,
        "fnr": lambda d, y: d == 0,
        "ppv": lambda d, y: y == 1,
        "for": lambda d, y: y == 1,
        "accuracy": lambda d, y: d == y,
        "base_rate": lambda d, y: y == 1,
    }[metric]
    return None if not chosen else sum(hit(d, y) for d, y in chosen) / len(chosen)


def gap_range(metric: str, people: list[Person]) -> tuple[float, float]:
    """The smallest and the largest gap over every completion of the unknown outcomes."""
    unknown = [index for index, (_, _, outcome) in enumerate(people) if outcome is None]
    found = []
    for guess in product((0, 1), repeat=len(unknown)):
        filled = dict(zip(unknown, guess, strict=True))
        sides: dict[int, list[tuple[int, int]]] = {0: [], 1: []}
        for index, (side, decision, outcome) in enumerate(people):
            sides[side].append((decision, filled[index] if outcome is None else outcome))
        own, other = rate_of(metric, sides[1]), rate_of(metric, sides[0])
        if own is not None and other is not None:
            found.append(own - other)
    return min(found), max(found)


def imbens_manski(width: float, level: float) -> float:
    """c with Φ(c + width) − Φ(−c) = level."""
    return float(
        optimize.brentq(lambda c: stats.norm.cdf(c + width) - stats.norm.cdf(-c) - level, 0, 10, xtol=1e-13)
    )


def half_count_error(tables: list[tuple[float, float]]) -> float:
    """The standard error of a difference of rates (k + ½)/(n + 1)."""
    rates = [(k + 0.5) / (n + 1) for k, n in tables]
    return float(np.sqrt(sum(p * (1 - p) / (n + 1) for p, (_, n) in zip(rates, tables, strict=True))))
