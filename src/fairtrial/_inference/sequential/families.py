"""Many streams: e-BH (Wang and Ramdas, 2022) with weights that are fixed before anything is seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.binary_gaps import SMALLEST_P


def opening_weights(opening: int, later: int, closed: bool = False) -> Floats:
    """The weight of each stream: half for those of the beginning, half for all that may still come.

    Weights of one over the current number would break the claim as the family grows: lists of false findings in .16
    of runs at .05.

    Parameters
    ----------
    opening, later : int
        Streams of the first batch, and those that came after it.
    closed : bool
        Whether none can come after the first batch, so that nothing is kept for it.
    """
    first = np.full(opening, (1.0 if closed else 0.5) / max(opening, 1))
    order = np.arange(1, later + 1, dtype=np.float64)
    return np.concatenate([first, 0.5 / (order * (order + 1.0))])


def listed(log_e: Floats, weights: Floats, alpha: float) -> NDArray[np.bool_]:
    """The streams that e-BH lists now: the largest R whose R-th weighted e-value is at least 1/(alpha R).

    At any stopping time the expected share of false ones among them is at most alpha; of lists put together over time
    it is not.
    """
    if not log_e.size:
        return np.zeros(0, dtype=bool)
    weighted = log_e + np.log(weights)
    order = np.argsort(-weighted, kind="stable")
    ranks = np.arange(1, log_e.size + 1)
    passing = np.flatnonzero(weighted[order] >= -np.log(alpha * ranks))
    found = np.zeros(log_e.size, dtype=bool)
    if passing.size:
        found[order[: passing[-1] + 1]] = True
    return found


def adjusted(log_e: Floats, weights: Floats) -> Floats:
    """For each stream the smallest level at which e-BH would list it now, at most 1."""
    if not log_e.size:
        return np.zeros(0)
    weighted = log_e + np.log(weights)
    order = np.argsort(-weighted, kind="stable")
    levels = -weighted[order] - np.log(np.arange(1, log_e.size + 1))
    found = np.empty(log_e.size)
    found[order] = np.clip(
        np.exp(np.minimum.accumulate(levels[::-1])[::-1].clip(-700.0, 0.0)), SMALLEST_P, 1.0
    )
    return found
