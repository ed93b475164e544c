"""The interval that transport's verdict quotes of the widest of several gaps: it holds for all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from inside.transport import disjoint_families, limits_at_once, pair_gaps, pairs_of
from validity.board import Cell

Run = Callable[[int, np.random.Generator], np.ndarray]


def widest_missed(sizes: tuple[int, ...], rate: float, gap: float) -> Run:
    """The interval of the widest gap to the first group misses the truth; the others' rates rise by `gap` in turn."""

    def run(repeats: int, generator: np.random.Generator) -> np.ndarray:
        group = np.repeat(np.arange(len(sizes)), sizes)
        rates = rate + gap * (np.arange(len(sizes)) % 2)
        missed = np.zeros(repeats)
        for i in range(repeats):
            decision = (generator.random(group.size) < rates[group]).astype(np.uint8)
            problem = disjoint_families(group, [(range(len(sizes)), 0)], decision)
            pairs = pairs_of(problem)
            assert pairs is not None
            gaps = pair_gaps(problem, pairs)
            low, high = limits_at_once(problem, pairs, gaps, 0.95)
            widest = int(np.argmax(np.abs(gaps.estimate)))
            truth = rates[pairs[widest][0]] - rates[pairs[widest][1]]
            missed[i] = not low[widest] <= truth <= high[widest]
        return missed

    return run


def _sizes(groups: int, uneven: bool) -> tuple[int, ...]:
    return tuple(240 // (1 + place) if uneven else 60 for place in range(groups))


CELLS: list[Cell] = [
    Cell("transport", f"widest of {groups - 1} gaps, {words}, rate {rate:g}, gap {gap:g}",
         f"{groups} groups of {'240, 120, 80 … people' if uneven else '60 people'}", "coverage",
         widest_missed(_sizes(groups, uneven), rate, gap), short=400 if groups == 8 and rate == 0.4 else 0, long=2000)
    for groups, (uneven, words), rate, gap in product(
        (3, 8), ((False, "equal groups"), (True, "uneven groups")), (0.4, 0.1), (0.0, 0.15))
]  # fmt: skip
