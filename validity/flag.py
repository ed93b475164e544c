"""Does flag hold its false flagging rate, with an estimated target and overlapping groups?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from inside.direct_calls import gap_p, gap_tails
from inside.inference import CORRECTIONS, Comparison, Floats, KnownRateGaps, PartCounts, make_gaps
from validity.board import Cell
from validity.certify_designs import (
    ATOM_SHARES,
    LEVELS,
    Generator,
    TwoRates,
    atoms_of,
    overlapping_counts,
    overlapping_groups,
    stacked_parts,
)
from validity.certify_shapes import FLAG as SHAPES
from validity.gap_criteria import FLAGS as CRITERIA
from validity.printed_numbers import printed
from validity.skewed_means import FLAG as SKEWED
from validity.small_cells import FLAG as SMALL_CELLS
from validity.whole_functions import lines

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
        p = np.minimum(1.0, 2 * np.minimum(above, below))
        if side != "differs":
            p = above if side == "above" else below
        return _shares(p.reshape(repeats, -1), null, correction)

    return run


# A reference of 2.4% of the people, one atom; every other group avoids it.
SMALL_REFERENCE = np.arange(ATOM_SHARES.size) == int(np.argmin(ATOM_SHARES))


def small_reference_false_flags(n: int, *, plug_in: bool) -> Run:
    """Groups against a small reference group; the paper's p-values take its rate as known."""
    member = MEMBER & ~SMALL_REFERENCE

    def run(repeats: int, generator: Generator) -> np.ndarray:
        sizes, ones = overlapping_counts(repeats, n, _rates(0.0), generator)
        if plug_in:
            target = (ones @ SMALL_REFERENCE) / (sizes @ SMALL_REFERENCE)
            known = KnownRateGaps(
                (sizes @ member.T).ravel(),
                (ones @ member.T).ravel(),
                np.repeat(target, member.shape[0]),
                "likelihood",
            )
            p = 2 * special.ndtr(-np.abs(known.root(np.zeros(known.count.size))))
        else:
            parts = stacked_parts(member, np.tile(SMALL_REFERENCE, (len(member), 1)), sizes, ones)
            p = gap_p(parts, np.zeros(parts.n_group.size))
        return _shares(p.reshape(repeats, -1), np.ones(member.shape[0], dtype=bool), "bh")

    return run


def known_target_false_flags(n: int, rate: float) -> Run:
    """Every group has exactly the known rate."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        sizes, ones = overlapping_counts(repeats, n, np.full(ATOM_SHARES.size, rate), generator)
        count, events = (sizes @ MEMBER.T).ravel(), (ones @ MEMBER.T).ravel()
        p = KnownRateGaps(count, events, np.full(count.size, rate)).p_equal(0.0)
        return _shares(p.reshape(repeats, -1), np.ones(len(MEMBER), dtype=bool), "bh")

    return run


def band_false_flags(effect: float, n: int, band: float) -> Run:
    """Flags of groups that lie inside the tolerance or exactly at its edge, direction "outside"."""
    rates = _rates(effect)
    group = MEMBER @ (ATOM_SHARES * rates) / (MEMBER @ ATOM_SHARES)
    rest = ~MEMBER @ (ATOM_SHARES * rates) / (~MEMBER @ ATOM_SHARES)
    null = np.abs(group - rest) <= band + 1e-12

    def run(repeats: int, generator: Generator) -> np.ndarray:
        sizes, ones = overlapping_counts(repeats, n, rates, generator)
        gaps = TwoRates(stacked_parts(MEMBER, ~MEMBER, sizes, ones))
        return _shares(gaps.p_inside(-band, band).reshape(repeats, -1), null, "bh")

    return run


def score_false_flags(n: int) -> Run:
    """Skewed scores with unequal spreads and the same mean in every group; seven groups of one attribute."""
    member = MEMBER[: sum(LEVELS)]

    def one(generator: Generator) -> float:
        sizes = generator.multinomial(n, ATOM_SHARES)
        spread = np.linspace(0.5, 1.5, sizes.size)
        values = [
            2.0 + s * (generator.gamma(2.0, 1.0, size) - 2.0) for s, size in zip(spread, sizes, strict=True)
        ]
        p = make_gaps(atoms_of(values), Comparison(member, ~member)).p_equal(0.0)
        return float((CORRECTIONS["bh"](p) <= 0.05).any())

    return lambda repeats, generator: np.array([one(generator) for _ in range(repeats)])


# The nodes of the authors' tree: each set of one or two attributes, with its groups.
NODES = np.split(np.arange(len(MEMBER)), np.cumsum([2, 2, 3, 4, 6]))


def false_flags_by_node(n: int) -> Run:
    """Benjamini-Hochberg in every node of the tree by itself, as the authors run it."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        sizes, ones = overlapping_counts(repeats, n, _rates(0.0), generator)
        parts = stacked_parts(MEMBER, ~MEMBER, sizes, ones)
        p = gap_p(parts, np.zeros(parts.n_group.size)).reshape(repeats, -1)
        flagged = [any((CORRECTIONS["bh"](row[node]) <= 0.05).any() for node in NODES) for row in p]
        return np.array(flagged, dtype=float)

    return run


def tiny_groups_false_flags(*, hull: bool) -> Run:
    """Twenty groups of three people: the authors' code gives p = 0 where all three agree (outside the hull)."""
    groups, size, others, rate = 20, 3, 940, 0.4

    def run(repeats: int, generator: Generator) -> np.ndarray:
        ones = generator.binomial(size, rate, (repeats, groups)).astype(float)
        events = generator.binomial(others, rate, (repeats, 1)) + ones.sum(axis=1, keepdims=True) - ones
        rest = float(others + size * (groups - 1))
        if hull:
            target = events / rest
            known = KnownRateGaps(np.full(ones.size, float(size)), ones.ravel(), target.ravel(), "likelihood")
            p = 2 * special.ndtr(-np.abs(known.root(np.zeros(ones.size))))
            p = np.where((ones == 0) | (ones == size), 0.0, p.reshape(ones.shape))
        else:
            zero = np.zeros(ones.size)
            n = np.full(ones.size, float(size))
            parts = PartCounts(zero, zero, ones.ravel(), n, events.ravel(), np.full(ones.size, rest))
            p = gap_p(parts, zero).reshape(ones.shape)
        return _shares(p, np.ones(groups, dtype=bool), "bh")

    return run


def _shares(p: Floats, null: np.ndarray, correction: str) -> np.ndarray:
    flagged = np.array([CORRECTIONS[correction](row) <= 0.05 for row in p])
    return np.asarray((flagged & null).sum(axis=1) / np.maximum(flagged.sum(axis=1), 1))


def _cell(name: str, design: str, run: Run, **more: object) -> Cell:
    return Cell("flag", name, design, "false flagging rate", run, **{"long": 4000} | more)  # type: ignore[arg-type]


_OVERLAPPING = "23 overlapping groups, n 1000, two-sided"
_SMALL_REFERENCE = "23 overlapping groups against a reference of 2.4%, n 2000"
_TINY = "20 groups of 3 people beside 940, rate 40%"

CELLS: list[Cell] = [
    *SKEWED,
    *CRITERIA,
    *SMALL_CELLS,
    _cell("no disparity, rest", _OVERLAPPING, false_flags(0.0, 1000, "rest")),
    _cell("no disparity, overall", "23 overlapping groups against overall, n 1000, two-sided",
          false_flags(0.0, 1000, "overall")),
    _cell("no disparity, small groups", "23 groups down to 18 people, n 300", false_flags(0.0, 300, "rest")),
    _cell("some disparity, rest", "groups of one attribute differ by 15 points, n 2000",
          false_flags(0.15, 2000, "rest")),
    _cell("some disparity, one-sided", "groups of one attribute differ by 15 points, n 2000, above",
          false_flags(0.15, 2000, "rest", side="above")),
    _cell("some disparity, BY", "groups of one attribute differ by 15 points, n 2000",
          false_flags(0.15, 2000, "rest", "by")),
    _cell("no disparity, Holm", "23 overlapping groups, n 1000", false_flags(0.0, 1000, "rest", "holm")),
    _cell("no disparity, small reference", _SMALL_REFERENCE, small_reference_false_flags(2000, plug_in=False)),
    _cell("plug-in, reference", _SMALL_REFERENCE, small_reference_false_flags(2000, plug_in=True), variant="paper",
          counterpart="no disparity, small reference"),
    _cell("BH in each node of the tree", _OVERLAPPING, false_flags_by_node(1000), variant="paper",
          counterpart="no disparity, rest"),
    _cell("no disparity, groups of three people", _TINY, tiny_groups_false_flags(hull=False)),
    _cell("p = 0 outside the convex hull", _TINY, tiny_groups_false_flags(hull=True), variant="paper",
          counterpart="no disparity, groups of three people"),
    _cell("no disparity, known target", "23 overlapping groups against the known 30%, n 1000",
          known_target_false_flags(1000, 0.3)),
    _cell("no disparity, known target, rare events", "23 overlapping groups against the known 4%, n 600",
          known_target_false_flags(600, 0.04)),
    _cell("some disparity, below", "groups of one attribute differ by 15 points, n 2000, below",
          false_flags(0.15, 2000, "rest", side="below")),
    _cell("gaps at the edge of the tolerance", "groups of one attribute differ by the tolerance of 5 points, n 2000",
          band_false_flags(0.05, 2000, 0.05)),
    _cell("gaps beyond the tolerance and inside", "groups of one attribute differ by 15 points, 6 tolerated, n 2000",
          band_false_flags(0.15, 2000, 0.06)),
    _cell("no disparity, skewed scores", "seven groups against their rests, gamma scores of unequal spread, n 800",
          score_false_flags(800), short=60, long=800, whole_analysis=True),
    *SHAPES,
    *lines("flag"),
    *printed("flag"),
]  # fmt: skip
