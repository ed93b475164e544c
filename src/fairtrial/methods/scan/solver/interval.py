"""Intervals for the rate of a subgroup that was picked because its rate stood out."""

from __future__ import annotations

import math

import numpy as np


def selected_rate_interval(mean: float, people: float, subgroups: float, level: float) -> tuple[float, float]:
    """Limits that hold for all `subgroups` at once, hence also for the one that was picked.

    Chernoff's bound for values in [0, 1]: P(mean ≥ p and n·KL(mean, p) > x) ≤ e^(−x), for 0/1 and for
    real values alike, whatever the people's own probabilities are; x = log(2·subgroups/(1 − level)).
    """
    if people <= 0:
        return 0.0, 1.0
    reach = (math.log(2.0 / (1.0 - level)) + math.log(subgroups)) / people
    return _limit(mean, reach, 0.0), _limit(mean, reach, 1.0)


def _limit(mean: float, reach: float, border: float) -> float:
    """The p between `mean` and `border` with KL(mean, p) = reach, by bisection."""
    near, far = mean, border
    for _ in range(200):
        middle = 0.5 * (near + far)
        if middle in (near, far):
            break
        if _divergence(mean, middle) > reach:
            far = middle
        else:
            near = middle
    return far


def _divergence(mean: float, p: float) -> float:
    total = 0.0
    if mean > 0.0:
        total += mean * np.log(mean / p) if p > 0.0 else np.inf
    if mean < 1.0:
        total += (1.0 - mean) * np.log((1.0 - mean) / (1.0 - p)) if p < 1.0 else np.inf
    return float(total)
