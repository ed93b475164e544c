"""The best subgroup that restricts at most two attributes, by trying every one, from the words alone."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any


def value_sets(values: int, ordered: bool, apart: int) -> list[tuple[int, ...]]:
    """All sets that an attribute may be restricted to, everything included."""
    everything = tuple(range(values))
    if not ordered:
        return list(chain.from_iterable(combinations(everything, size) for size in range(1, values + 1)))
    inner = values - apart
    ranges = [tuple(range(low, high)) for low in range(inner) for high in range(low + 1, inner + 1)]
    beside = [tuple(range(inner, values))] if apart else []
    return list(dict.fromkeys([everything, *ranges, *beside]))


def best_two_way(
    codes: Any, gain: Any, variance: Any, kinds: list[tuple[int, bool, int]], penalty: float
) -> float:
    """The largest T²/2V (T above 0) less the penalties, over every subgroup of at most two attributes."""
    best = float("-inf")
    for i, j in combinations(range(len(kinds)), 2):
        for first in value_sets(*kinds[i]):
            for second in value_sets(*kinds[j]):
                total = spread = 0.0
                for row, t, v in zip(codes, gain, variance, strict=True):
                    if row[i] in first and row[j] in second:
                        total, spread = total + t, spread + v
                score = total**2 / (2 * spread) if total > 0 and spread > 1e-12 else 0.0
                for chosen, (values, ordered, _) in ((first, kinds[i]), (second, kinds[j])):
                    if len(chosen) < values:
                        score -= penalty * (1 if ordered else len(chosen))
                best = max(best, score)
    return best
