"""Lines of what is given to people who come with arrays: the largest gap of a MetricFrame, a cross-validated gap."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from fairtrial.compat import MetricFrame
from fairtrial.scorers import cross_validated
from validity.board import Cell

RATES = {"equal": (0.3, 0.3, 0.3, 0.3), "one lower": (0.15, 0.4, 0.4, 0.4), "spread": (0.02, 0.1, 0.3, 0.6)}


def misses_largest(
    repeats: int, generator: np.random.Generator, rates: tuple[float, ...], scale: str
) -> NDArray[np.float64]:
    """Whether the limits of the largest difference (smallest ratio) of four groups of 60 miss it."""
    group = np.repeat(np.arange(len(rates)), 60)
    truth = max(rates) - min(rates) if scale == "difference" else min(rates) / max(rates)
    missed = []
    for _ in range(repeats):
        decided = (generator.random(group.size) < np.take(rates, group)).astype(int)
        frame = MetricFrame(
            metrics="selection_rate", y_true=decided, y_pred=decided, sensitive_features=group
        )
        low, high = getattr(frame, f"{scale}_interval")()
        missed.append(not low - 1e-12 <= truth <= high + 1e-12)
    return np.array(missed, dtype=float)


def misses_folds(repeats: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Whether the interval misses the average gap that the five folds' models have among 20,000 new people."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import KFold

    def people(n: int) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        group = generator.integers(0, 2, n)
        x = generator.normal(size=(n, 3)) + 0.5 * group[:, None]
        return x, (generator.random(n) < 1 / (1 + np.exp(-x.sum(axis=1)))).astype(np.int64), group

    missed = []
    for _ in range(repeats):
        x, y, group = people(400)
        new_x, _, new_group = people(20_000)
        gaps = []
        for train, _ in KFold(5).split(x):
            decided = LogisticRegression().fit(x[train], y[train]).predict(new_x)
            gaps.append(decided[new_group == 1].mean() - decided[new_group == 0].mean())
        named = np.where(group == 1, "one", "nought")
        answer = cross_validated(
            LogisticRegression(), x, y, groups=named, cv=KFold(5), target={"group": "nought"}
        )
        [row] = [row for row in answer.result.estimates if row["group"] == "one"]
        missed.append(not row["difference_low"] <= float(np.mean(gaps)) <= row["difference_high"])
    return np.array(missed, dtype=float)


CELLS = [
    Cell(
        "measure", f"MetricFrame: largest {scale}, {name}", f"four groups of 60, rates {', '.join(map(str, rates))}",
        "coverage", partial(misses_largest, rates=rates, scale=scale), short=0, long=400, whole_analysis=True,
    )
    for name, rates in RATES.items()
    for scale in ("difference", "ratio")
]  # fmt: skip
CELLS += [
    Cell(
        "measure", "cross-validated gap", "400 people, two groups, logistic regression in five folds", "coverage",
        misses_folds, short=0, long=400, whole_analysis=True,
    )
]  # fmt: skip
