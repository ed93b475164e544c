"""Every metric of the table as a plain sum over rows, written from its definition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def value_and_given(name: str, y: Floats, d: Floats, s: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The value that is averaged, and the rows it is averaged over."""
    everyone = np.ones(len(y), dtype=bool)
    clipped = np.clip(s, 1e-15, 1 - 1e-15)
    return {
        "selection_rate": (d, everyone),
        "base_rate": (y, everyone),
        "tpr": (d, y == 1),
        "fpr": (d, y == 0),
        "tnr": (1 - d, y == 0),
        "fnr": (1 - d, y == 1),
        "ppv": (y, d == 1),
        "npv": (1 - y, d == 0),
        "fdr": (1 - y, d == 1),
        "for": (y, d == 0),
        "accuracy": ((y == d).astype(float), everyone),
        "error_rate": ((y != d).astype(float), everyone),
        "mean_decision": (d, everyone),
        "mean_score": (s, everyone),
        "balance_positive": (s, y == 1),
        "balance_negative": (s, y == 0),
        "brier": ((s - y) ** 2, everyone),
        "log_loss": (-np.where(y == 1, np.log(clipped), np.log(1 - clipped)), everyone),
        "squared_error": ((s - y) ** 2, everyone),
        "absolute_error": (np.abs(s - y), everyone),
    }[name]


def moments(value: Floats, inside: NDArray[np.bool_]) -> tuple[int, float, float]:
    """Count, sum and squared deviations from the mean."""
    chosen = value[inside]
    return (
        len(chosen),
        float(chosen.sum()),
        float(((chosen - chosen.mean()) ** 2).sum()) if len(chosen) else 0.0,
    )
