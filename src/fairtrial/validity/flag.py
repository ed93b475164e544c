"""Does flag hold its false flagging rate, with an estimated target and overlapping groups?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from fairtrial.stats.binary_gaps import gap_tails
from fairtrial.stats.gaps import KnownRateGaps
from fairtrial.stats.multiplicity import CORRECTIONS
from fairtrial.stats.roots import Floats
from fairtrial.validity.board import Cell
from fairtrial.validity.certify_designs import (
    ATOM_SHARES,
    LEVELS,
    Generator,
    overlapping_counts,
    overlapping_groups,
    stacked_parts,
)

Run = Callable[[int, Generator], np.ndarray]
MEMBER = overlapping_groups()


def _rates(effect: float) -> Floats:
    """Only the first attribute matters, so groups that do not name it are exactly at their rest's rate."""
    first = np.repeat([0.0, effect], ATOM_SHARES.size // LEVELS[0])
    return 0.3 + first


def _true_nulls(effect: float) -> np.ndarray:
    if effect == 0.0:
        return np.ones(MEMBER.shape[0], dtype=bool)
    rates = _rates(effect)
    group = MEMBER @ (ATOM_SHARES * rates) / (MEMBER @ ATOM_SHARES)
    rest = ~MEMBER @ (ATOM_SHARES * rates) / (~MEMBER @ ATOM_SHARES)
    return np.asarray(np.abs(group - rest) < 1e-12)


def false_flags(effect: float, n: int, target: str, correction: str = "bh", side: str = "differs") -> Run:
    """Share of wrong flags among the flags of each repeat."""
    reference = ~MEMBER if target == "rest" else np.ones_like(MEMBER)
    null = _true_nulls(effect)

    def run(repeats: int, generator: Generator) -> np.ndarray:
        sizes, ones = overlapping_counts(repeats, n, _rates(effect), generator)
        parts = stacked_parts(MEMBER, reference, sizes, ones)
        above, below = gap_tails(parts, np.zeros(parts.n_both.size))
        p = np.minimum(1.0, 2 * np.minimum(above, below)) if side == "differs" else above
        return _shares(p.reshape(repeats, -1), null, correction)

    return run


def plug_in_false_flags(n: int) -> Run:
    """The paper's p-values: a small reference group's rate taken as known."""
    # The reference is one atom of 2.4% of the people; every other group avoids it.
    reference = np.zeros(ATOM_SHARES.size, dtype=bool)
    reference[int(np.argmin(ATOM_SHARES))] = True
    member = MEMBER & ~reference

    def run(repeats: int, generator: Generator) -> np.ndarray:
        sizes, ones = overlapping_counts(repeats, n, _rates(0.0), generator)
        target = (ones @ reference) / (sizes @ reference)
        known = KnownRateGaps(
            (sizes @ member.T).ravel(),
            (ones @ member.T).ravel(),
            np.repeat(target, member.shape[0]),
            "likelihood",
        )
        p = 2 * special.ndtr(-np.abs(known.root(np.zeros(known.count.size))))
        return _shares(p.reshape(repeats, -1), np.ones(member.shape[0], dtype=bool), "bh")

    return run


def _shares(p: Floats, null: np.ndarray, correction: str) -> np.ndarray:
    flagged = np.array([CORRECTIONS[correction](row) <= 0.05 for row in p])
    return np.asarray((flagged & null).sum(axis=1) / np.maximum(flagged.sum(axis=1), 1))


def _cell(name: str, design: str, run: Run, **more: object) -> Cell:
    return Cell("flag", name, design, "false flagging rate", run, long=4000, **more)  # type: ignore[arg-type]


CELLS: list[Cell] = [
    _cell("no disparity, rest", "23 overlapping groups, n 1000, two-sided", false_flags(0.0, 1000, "rest")),
    _cell("no disparity, overall", "23 overlapping groups, n 1000, two-sided", false_flags(0.0, 1000, "overall")),
    _cell("no disparity, small groups", "23 groups down to 18 people, n 300", false_flags(0.0, 300, "rest")),
    _cell("some disparity, rest", "groups of one attribute differ by 15 points, n 2000",
          false_flags(0.15, 2000, "rest")),
    _cell("some disparity, one-sided", "groups of one attribute differ by 15 points, n 2000, above",
          false_flags(0.15, 2000, "rest", side="above")),
    _cell("some disparity, BY", "groups of one attribute differ by 15 points, n 2000",
          false_flags(0.15, 2000, "rest", "by")),
    _cell("no disparity, Holm", "23 overlapping groups, n 1000", false_flags(0.0, 1000, "rest", "holm")),
    _cell("plug-in, reference", "23 overlapping groups against a reference of 2.4%, n 2000", plug_in_false_flags(2000),
          variant="paper"),
]  # fmt: skip
