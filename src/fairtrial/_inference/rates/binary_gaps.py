"""A group's rate against an estimated target, all groups at once, from counts.

Five shapes cover every estimated target, told apart by which of the three parts of (group, reference) are
empty: A = both, B = group only, C = reference only.
  disjoint  (A empty)  rest, or a reference group apart: two binomials (`two_rates`)
  inside    (B empty)  overall, or a group inside its reference: two binomials and the group's share (`everyone`)
  around    (C empty)  a reference inside the group: the same with the roles exchanged
  partial   (none)     the three-part likelihood (`partly`)
  same      (B and C)  the group is its reference: the gap is zero, and there is nothing to test
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.everyone import Mirrored, PartLaw, overlap_root
from fairtrial._inference.rates.laws import Bools, Law
from fairtrial._inference.rates.proportions import binomial_mass, binomial_tails
from fairtrial._inference.rates.two_rates import (
    HALF_OF_IT,
    Only,
    TwoRateLaw,
    TwoRates,
    bounded,
    share_of_ties,
)
from fairtrial._inference.ways import Scale

SMALLEST_P = 1e-300
FEW_EVENTS = "exact tails (a count below 10)"  # as results name it


@dataclass(frozen=True, slots=True, eq=False)
class PartCounts:
    """Successes k and sizes n of the three parts, one entry per group."""

    k_both: Floats
    n_both: Floats
    k_group: Floats
    n_group: Floats
    k_reference: Floats
    n_reference: Floats

    def __getitem__(self, index: NDArray[np.intp] | Bools) -> PartCounts:
        return PartCounts(*(getattr(self, name)[index] for name in self.__slots__))

    @property
    def rates(self) -> tuple[Floats, Floats]:
        """Rates of the group and of the reference; NaN where there is nobody."""
        with np.errstate(divide="ignore", invalid="ignore"):
            group = (self.k_both + self.k_group) / (self.n_both + self.n_group)
            reference = (self.k_both + self.k_reference) / (self.n_both + self.n_reference)
        return group, reference

    @property
    def small(self) -> Bools:
        """Whether a count of the group, of the reference or of the parts compared is below ten."""
        group = np.minimum(
            self.k_both + self.k_group, self.n_both + self.n_group - self.k_both - self.k_group
        )
        whole = self.k_both + self.k_reference
        reference = np.minimum(whole, self.n_both + self.n_reference - whole)
        apart = np.where(self.n_group > 0, np.minimum(self.k_group, self.n_group - self.k_group), np.inf)
        other = np.where(
            self.n_reference > 0, np.minimum(self.k_reference, self.n_reference - self.k_reference), np.inf
        )
        return np.asarray(np.minimum(np.minimum(group, reference), np.minimum(apart, other)) < HALF_OF_IT)

    @property
    def shape(self) -> NDArray[np.str_]:
        """Which of the five shapes each group has."""
        inside, around = self.n_group == 0, self.n_reference == 0
        nested = np.where(inside, "inside", np.where(around, "around", "partial"))
        nested = np.where(inside & around, "same", nested)
        return np.where(self.n_both == 0, "disjoint", nested)

    @property
    def cells(self) -> Floats:
        """The six cells of every group: both, group only, reference only; each with value 1, then 0."""
        columns = [
            side
            for k, n in (
                (self.k_both, self.n_both),
                (self.k_group, self.n_group),
                (self.k_reference, self.n_reference),
            )
            for side in (k, n - k)
        ]
        return np.stack(columns, axis=1)


def gap_laws(
    parts: PartCounts, scale: Scale = "difference", only: Only | None = None
) -> list[tuple[NDArray[np.intp], Law]]:
    """The law of every group's gap, groups of one shape together; none for a group that is its own reference."""
    shapes, laws = parts.shape, []
    known = (parts.n_both + parts.n_group > 0) & (parts.n_both + parts.n_reference > 0)
    for shape in ("disjoint", "inside", "around", "partial"):
        index = np.flatnonzero((shapes == shape) & known & (shape != "partial" or scale == "difference"))
        if index.size:
            laws.append((index, _law_of_shape(shape, parts[index], scale, only)))
    return laws


def _law_of_shape(shape: str, parts: PartCounts, scale: Scale, only: Only | None) -> Law:
    if shape == "partial":
        return PartlySharedLaw(parts.cells, only)
    if shape == "disjoint":
        table = TwoRates(parts.k_group, parts.n_group, parts.k_reference, parts.n_reference)
        return TwoRateLaw(table, scale, only)
    rest = (parts.k_reference, parts.n_reference) if shape == "inside" else (parts.k_group, parts.n_group)
    table = TwoRates(parts.k_both, parts.n_both, *rest)
    law = PartLaw(table, scale, only)
    return law if shape == "inside" else Mirrored(law, ratio=scale == "ratio")


def no_gap(scale: Scale) -> float:
    """The value of 'no gap'."""
    return 0.0 if scale == "difference" else 1.0


def gap_tails(
    parts: PartCounts, gap: Floats, scale: Scale = "difference", only: Only | None = None
) -> tuple[Floats, Floats]:
    """One-sided p-values of 'at most gap' and of 'at least gap'; a half each where there is nothing to test."""
    size = parts.n_both.shape
    gap = np.broadcast_to(np.asarray(gap, dtype=np.float64), size)
    above, below = np.full(size, 0.5), np.full(size, 0.5)
    for index, law in gap_laws(parts, scale, only):
        above[index], below[index] = law.tails(gap[index])
    return above, below


def gap_root(parts: PartCounts, gap: Floats, only: Only | None = None, scale: Scale = "difference") -> Floats:
    """The normal root with the tail of 'the gap is this', positive where the estimate is above it."""
    size = parts.n_both.shape
    gap, root = np.broadcast_to(np.asarray(gap, dtype=np.float64), size), np.zeros(size)
    for index, law in gap_laws(parts, scale, only):
        root[index] = law.root(gap[index])
    return root


def gap_limits(
    parts: PartCounts, level: float | Floats, only: Only | None = None, scale: Scale = "difference"
) -> tuple[Floats, Floats]:
    """Limits of a group's gap; every value there is where a side has nobody."""
    size = parts.n_both.size
    levels = np.broadcast_to(np.asarray(level, dtype=np.float64), (size,))
    same = parts.shape == "same"
    ends = (-1.0, 1.0) if scale == "difference" else (0.0, np.inf)
    low, high = (np.where(same & (parts.n_both > 0), no_gap(scale), end) for end in ends)
    for index, law in gap_laws(parts, scale, only):
        low[index], high[index] = law.limits(levels[index])
    return low, high


def gap_p(parts: PartCounts, gap: Floats, scale: Scale = "difference") -> Floats:
    """Two-sided p-values of 'the gap is `gap`'."""
    above, below = gap_tails(parts, gap, scale)
    return np.clip(2.0 * np.minimum(above, below), SMALLEST_P, 1.0)


def ratio_errors(parts: PartCounts) -> Floats:
    """Standard errors of the logarithms of the ratios."""
    error = np.zeros(parts.n_both.shape)
    for index, law in gap_laws(parts, "ratio"):
        error[index] = law.error
    return error


# -- A group and a reference that share some of their members, each with others of its own: the three-part
# likelihood.
# Membership and value of the six cells: both, group only, reference only; each with value 1, then 0.
IN_GROUP = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
IN_REFERENCE = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 1.0])
VALUE = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])


class PartlySharedLaw(Law):
    """The difference of the two rates, from the six cells of every group (last axis)."""

    def __init__(self, cells: Floats, only: Only | None = None) -> None:
        self.counts, self.only = cells, only
        # Half a count in each cell where one is empty: the likelihood has no maximum inside otherwise.
        self.cells = cells + 0.5 * (cells.min(axis=1, keepdims=True) == 0)
        self.centre, self.error = _wald(self.cells)
        end = np.ones(self.centre.shape)
        self.ends = -end, end
        self.smallest = cells.min(axis=1)
        self.few = (self.smallest < HALF_OF_IT) & (only is None)

    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        shape = (*point.shape, VALUE.size)
        value, group, reference, cells = (
            np.broadcast_to(column, shape) for column in (VALUE, IN_GROUP, IN_REFERENCE, self.cells)
        )
        by_likelihood, by_score = (
            overlap_root(value, group, reference, cells, point, np.full(point.shape, score))
            for score in (False, True)
        )
        return bounded(by_likelihood, by_score, by_score, self.only)

    def exact_tail(self, point: Floats, chosen: Bools, *, above: bool) -> Floats:
        """The group's own binomial at the reference's rate: the shared rows make anything finer pointless."""
        cells = self.counts[chosen]
        k, n = cells @ (IN_GROUP * VALUE), cells @ IN_GROUP
        target = (cells @ (IN_REFERENCE * VALUE)) / (cells @ IN_REFERENCE)
        rate = np.clip(target + point, 0.0, 1.0)
        tail = binomial_tails(k, n, rate)[0 if above else 1]
        return tail - (1.0 - share_of_ties(self.smallest[chosen])) * binomial_mass(k, n, rate)


def _wald(cells: Floats) -> tuple[Floats, Floats]:
    """Estimate and standard error, where the search for the limits starts."""
    total = cells.sum(axis=1, keepdims=True)
    weight = cells / total
    shares = [(weight * part).sum(axis=1, keepdims=True) for part in (IN_GROUP, IN_REFERENCE)]
    means = [
        (weight * part * VALUE).sum(axis=1, keepdims=True) / share
        for part, share in zip((IN_GROUP, IN_REFERENCE), shares, strict=True)
    ]
    influence = IN_GROUP * (VALUE - means[0]) / shares[0] - IN_REFERENCE * (VALUE - means[1]) / shares[1]
    variance = (weight * influence**2).sum(axis=1) / total[:, 0]
    return (means[0] - means[1])[:, 0], np.sqrt(variance)
