"""Ordered decisions: error over all cuts and groups at once, and certificates that need every cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from inside.direct_calls import gap_p, gap_tails
from inside.inference import PartCounts, holm
from validity.board import Cell

Random = np.random.Generator
Floats = NDArray[np.float64]
Run = Callable[[int, Random], Floats]


def drawn(
    repeats: int, random: Random, sizes: Sequence[int], shares: Sequence[Sequence[float]]
) -> PartCounts:
    """At each cut, in every repeat, each group against everyone else; axes repeat, group, cut."""
    bands = np.stack(
        [random.multinomial(n, share, repeats) for n, share in zip(sizes, shares, strict=True)], axis=1
    ).astype(float)
    above = bands[:, :, ::-1].cumsum(axis=2)[:, :, -2::-1]  # at the cut or above, from the lowest cut
    people = np.broadcast_to(np.array(sizes, dtype=float)[None, :, None], above.shape)
    rest, others = above.sum(axis=1, keepdims=True) - above, people.sum(axis=1, keepdims=True) - people
    nothing = np.zeros(above.size)
    return PartCounts(nothing, nothing, above.ravel(), people.ravel(), rest.ravel(), others.ravel())


def any_finding(sizes: Sequence[int], shares: Sequence[Sequence[float]], corrected: bool = True) -> Run:
    """Whether some group differs at some cut: by Holm over all of them, or cut by cut."""

    def run(repeats: int, random: Random) -> Floats:
        parts = drawn(repeats, random, sizes, shares)
        groups, cuts = len(sizes), len(shares[0]) - 1
        p = gap_p(parts, np.zeros(parts.n_group.shape)).reshape(repeats, groups, cuts)
        if corrected:
            return np.array([float(holm(one.ravel()).min() <= 0.05) for one in p])
        each = np.array([[holm(one[:, cut]).min() for cut in range(cuts)] for one in p])
        return np.asarray(each.min(axis=1) <= 0.05, dtype=float)

    return run


def wrong_certificate(sizes: tuple[int, int], shares: Sequence[Sequence[float]], tolerance: float) -> Run:
    """Whether every cut is certified, although at one of them the gap is at the edge of the tolerance."""

    def run(repeats: int, random: Random) -> Floats:
        parts = drawn(repeats, random, sizes, shares)
        above = gap_tails(parts, np.full(parts.n_group.shape, -tolerance))[0]
        below = gap_tails(parts, np.full(parts.n_group.shape, tolerance))[1]
        inside = (np.maximum(above, below) <= 0.05).reshape(repeats, len(sizes), -1)
        return np.asarray(inside.all(axis=(1, 2)), dtype=float)

    return run


ALIKE = ((0.2, 0.3, 0.3, 0.2),) * 4
RARE = ((0.02, 0.08, 0.3, 0.6),) * 3
SHIFTED = ((0.2, 0.3, 0.3, 0.2), (0.2, 0.3, 0.3, 0.2), (0.2, 0.3, 0.38, 0.12))

CELLS: list[Cell] = [
    Cell("measure", "ordered decision, no gap at any cut", "4 bands, 4 groups of 40 to 400", "size",
         any_finding((40, 80, 200, 400), ALIKE), short=400, long=4000, covers=("measure.p_adjusted",)),
    Cell("measure", "ordered decision, every cut at its own 5%", "4 bands, 4 groups of 40 to 400", "size",
         any_finding((40, 80, 200, 400), ALIKE, corrected=False), variant="paper",
         counterpart="ordered decision, no gap at any cut", short=400, long=4000),
    Cell("measure", "ordered decision, rare lowest band", "4 bands, 3 groups of 30 to 300", "size",
         any_finding((30, 60, 300), RARE), short=0, long=4000),
    Cell("measure", "power, ordered decision", "4 bands, the highest one 8 points rarer for 300 of 1,100", "power",
         any_finding((400, 400, 300), SHIFTED), nominal=0.5, short=0, long=2000),
    Cell("certify", "ordered decision, one cut at the edge", "3 bands, 400 and 800 people, tolerance 10 points",
         "wrong certification",
         wrong_certificate((400, 800), ((0.3, 0.4, 0.3), (0.3, 0.3, 0.4)), 0.1), short=400, long=4000,
         covers=("certify.state",)),
    Cell("certify", "ordered decision, two cuts at the edge", "4 bands, 300 and 300 people, tolerance 15 points",
         "wrong certification",
         wrong_certificate((300, 300), ((0.35, 0.25, 0.2, 0.2), (0.2, 0.25, 0.2, 0.35)), 0.15), short=0, long=4000),
]  # fmt: skip
