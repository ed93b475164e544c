"""Slow, obvious code that the improve tests are compared with."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

PROJECT = Path(__file__).resolve().parents[2]


def obermeyer_holdout() -> Path | None:
    """The hold-out third of the public release behind Obermeyer et al. (2019), when it is at hand."""
    named = os.environ.get("FAIRTRIAL_OBERMEYER")
    path = Path(named) if named else PROJECT.parent / "shared" / "data" / "obermeyer_holdout.csv"
    return path if path.exists() else None


def resampled_levels(group, groups, utilities, draws, rng):
    """Bootstrap levels by drawing whole rows: (draws, utilities, 2 rules, groups + pooled)."""
    rows = len(group)
    levels = np.full((draws, len(utilities), 2, groups + 1), np.nan)
    for draw in range(draws):
        picked = rng.integers(0, rows, rows)
        for m, utility in enumerate(utilities):
            for rule, (u, w) in enumerate([(utility.u0, utility.w0), (utility.u1, utility.w1)]):
                for g in range(groups + 1):
                    rows_of_group = picked if g == groups else picked[group[picked] == g]
                    weight = w[rows_of_group].sum()
                    if weight > 0:
                        levels[draw, m, rule, g] = u[rows_of_group].sum() / weight
    return levels


def fairness_power(rows, eta, *, repeats, draws, rng, mean=1.52, block=250):
    """Appendix E's design: rejection shares at 5% of (the article's, the smooth) fairness component.

    Gaps of the status quo and the candidate are means of correlated normals; bootstrap weights are shared inside
    a block of repeats, which leaves each repeat's test as it is.
    """
    factor = np.linalg.cholesky(np.array([[10, 6.85], [6.85, 10.83]]))
    rejected = []
    for start in range(0, repeats, block):
        size = min(block, repeats - start)
        weights = rng.multinomial(rows, np.full(rows, 1 / rows), size=draws) / rows
        data = np.array([mean, eta]) + rng.standard_normal((size, rows, 2)) @ factor.T
        gap0, gap1 = data.mean(1).T
        drawn0, drawn1 = (data[..., t] @ weights.T for t in (0, 1))

        def p_value(estimate, star):
            return (1 + (star - estimate[:, None] >= estimate[:, None]).sum(1)) / (1 + draws)

        paper = p_value(np.abs(gap0) - np.abs(gap1), np.abs(drawn0) - np.abs(drawn1))
        smooth = np.maximum(p_value(gap0 - gap1, drawn0 - drawn1), p_value(gap0 + gap1, drawn0 + drawn1))
        rejected.append(np.stack([paper, smooth]) <= 0.05)
    return np.concatenate(rejected, axis=1).mean(axis=1)


def negative_sum_of_exponentials(coefficients):
    """P(Σ a_i E_i ≤ 0) of independent standard exponentials, by partial fractions (all a_i different)."""
    total = 0.0
    for j, a in enumerate(coefficients):
        if a < 0:
            total += np.prod([a / (a - b) for i, b in enumerate(coefficients) if i != j])
    return float(total)
