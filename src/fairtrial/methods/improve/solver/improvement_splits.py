"""One p-value from K sample splits, and how many splits make re-running pointless.

Source: Auerbach, Liang, Okumura and Tabord-Meehan, "Testing the Fairness-Accuracy Improvability of Algorithms",
Section 3.1 (median rule), Corollary 1 and Proposition 1. The running median is the exchangeable version of the
same rule: by the exchangeable Markov inequality it stays valid when the splits are looked at one after another
(Gasparin, Wang and Ramdas, "Combining exchangeable p-values").
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Aggregation = Literal["median", "running-median", "single"]

ASSUMES: dict[Aggregation, str] = {
    "median": (
        "twice the lower median of the splits' p-values; valid under any dependence between splits, and "
        "re-running it with other splits gains little"
    ),
    "running-median": (
        "twice the smallest lower median of the first 1, 2, …, K splits; valid because the splits are "
        "exchangeable and their order was fixed in advance by the seed"
    ),
    "single": (
        "the p-value of the first split alone; valid for one split fixed in advance by the seed, and easily "
        "abused by re-running with other seeds"
    ),
}


def lower_median(values: Sequence[float]) -> float:
    """The smallest median: with an even number of values the lower of the two middle ones."""
    return float(np.sort(np.asarray(values, dtype=np.float64))[(len(values) - 1) // 2])


def combine_p_values(values: Sequence[float], aggregation: Aggregation) -> float:
    """The p-value of all splits together, to be compared with α itself."""
    if aggregation == "single":
        return float(values[0])
    if aggregation == "median":
        return min(1.0, 2 * lower_median(values))
    return min(1.0, 2 * min(lower_median(values[:length]) for length in range(1, len(values) + 1)))


def rejection_prefixes(splits: int, aggregation: Aggregation) -> list[tuple[int, int]]:
    """(first ℓ splits, how many of them must reject): the combined test rejects when one of these holds."""
    if aggregation == "single":
        return [(1, 1)]
    lengths = [splits] if aggregation == "median" else list(range(1, splits + 1))
    return [(length, (length + 1) // 2) for length in lengths]


def split_level(level: float, aggregation: Aggregation) -> float:
    """The level at which each split is tested so that the combined test has `level`."""
    return level if aggregation == "single" else level / 2


def splits_against_manipulation(level: float) -> int:
    """The smallest K with K > −2·ln α/(1−α)² (Proposition 1): 7 at α = .05."""
    return math.floor(-2 * math.log(level) / (1 - level) ** 2) + 1
