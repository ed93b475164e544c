"""Appendix E's design: rejections of the article's fairness component with its kink, and of the smooth one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fairtrial._improve.components import Component, directed_pairs, smooth_fairness_components
from fairtrial._inference.numeric.cell_bootstrap import Levels, draw_counts
from fairtrial.papers.improvability import kinked_gap

Floats = NDArray[np.float64]

# The utility gaps of status quo and candidate, one draw per person
COVARIANCE = np.array([[10.0, 6.85], [6.85, 10.83]])
NAMES = ("a", "b", "c")
DRAWS = 499
BLOCK = 10  # repeats that share bootstrap weights, for speed; each repeat's test is unchanged by it


def gap_levels(
    repeats: int, rng: np.random.Generator, rows: int, means: tuple[float, float], draws: int
) -> Iterator[Levels]:
    """Levels of samples of Appendix E's design: group a has the gaps' means, group b's level is zero."""
    factor = np.linalg.cholesky(COVARIANCE)
    counts = np.ones(rows, dtype=np.int64)
    for start in range(0, repeats, BLOCK):
        size = min(BLOCK, repeats - start)
        weights = draw_counts(counts, draws, rng) / rows
        gaps = np.asarray(means) + rng.standard_normal((size, rows, 2)) @ factor.T
        drawn = np.einsum("qn,rnt->rqt", weights, gaps, optimize=True)
        for i in range(size):
            yield _as_levels(gaps[i], drawn[i], counts)


def _as_levels(gaps: Floats, drawn: Floats, counts: NDArray[np.int64]) -> Levels:
    """One utility whose level in group a is the gap, and zero in group b."""
    estimate = np.zeros((1, 2, 3))
    estimate[0, :, 0] = gaps.mean(axis=0)
    draws = np.zeros((len(drawn), 1, 2, 3))
    draws[:, 0, :, 0] = drawn
    influence = np.zeros((len(gaps), 1, 2, 3))
    influence[:, 0, :, 0] = gaps - gaps.mean(axis=0)
    support = np.full((1, 2, 3), len(gaps))
    return Levels(estimate=estimate, draws=draws, influence=influence, support=support, counts=counts)


def fairness_rejections(
    repeats: int,
    rng: np.random.Generator,
    *,
    gap0: float,
    gap1: float,
    rows: int = 100,
    delta: float = 0.0,
    level: float = 0.05,
    draws: int = DRAWS,
) -> NDArray[np.bool_]:
    """(2, repeats): whether the article's and the smooth fairness component reject; signs from a training half."""
    rejected = np.zeros((2, repeats), dtype=bool)
    pairs = directed_pairs(2)
    spread = math.sqrt(COVARIANCE[0, 0] / rows)
    for i, levels in enumerate(gap_levels(repeats, rng, rows, (gap0, gap1), draws)):
        worst = (0, 1) if gap0 + spread * rng.standard_normal() > 0 else (1, 0)
        paper = kinked_gap(levels, 0, kind="relative", pairs=pairs, one_sided=False)
        smooth = smooth_fairness_components(
            levels, 0, NAMES, kind="relative", pairs=pairs, worst=worst, one_sided=False
        )
        rejected[0, i] = paper.p_value(delta) <= level
        rejected[1, i] = largest_p(smooth, delta) <= level
    return rejected


def largest_p(components: Sequence[Component], delta: float = 0.0) -> float:
    return max(component.p_value(delta) for component in components)


def standard_errors(k: float, rows: int = 100) -> float:
    """k standard errors of the status quo's gap."""
    return k * math.sqrt(COVARIANCE[0, 0] / rows)
