"""A group's rate against an estimated target, all groups at once, from counts.

Five shapes cover every estimated target, told apart by which of the three parts of (group, reference) are
empty: A = both, B = group only, C = reference only.
  disjoint  (A empty)  rest, or a reference group apart: two binomials (`two_rates`)
  inside    (B empty)  overall, or a group inside its reference: two binomials and the group's share (`part_of_whole`)
  around    (C empty)  a reference inside the group: the same with the roles exchanged
  partial   (none)     the three-part likelihood (`PartlySharedLaw`)
  same      (B and C)  the group is its reference: the gap is zero, and there is nothing to test
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial._inference.evidence.atoms import Atoms, Comparison, gap_errors
from fairtrial._inference.laws.gaps import (
    Gaps,
    SearchedGaps,
    agreeing,
    no_gap,
    no_ratio,
    nobody,
)
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.rates.part_of_whole import MirroredLaw, PartLaw, overlap_root
from fairtrial._inference.rates.proportions import (
    binomial_deviance,
    binomial_mass,
    binomial_tails,
    rate_interval,
)
from fairtrial._inference.rates.two_rates import (
    HALF_OF_IT,
    Only,
    TwoRateLaw,
    TwoRates,
    bounded,
    share_of_ties,
)
from fairtrial._inference.ways import RateMethod, Scale

RATE_RULES = {"bounded": "score and exact tails", "wilson": "score (Wilson)"}
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


class ShapedLaw(Gaps):
    """The gap of every group by the law of its shape; none for a group that is its own reference."""

    def __init__(self, parts: PartCounts, scale: Scale = "difference", only: Only | None = None) -> None:
        self.parts, self.scale, self.shape = parts, scale, parts.shape
        size = parts.n_both.size
        self.estimate, self.error, self.df = (
            np.full(size, no_gap(scale)),
            np.zeros(size),
            np.full(size, np.inf),
        )
        self.reason, self.laws = [None] * size, list[tuple[NDArray[np.intp], SearchedGaps]]()
        known = (parts.n_both + parts.n_group > 0) & (parts.n_both + parts.n_reference > 0)
        for shape in ("disjoint", "inside", "around", "partial"):
            index = np.flatnonzero(
                (self.shape == shape) & known & (shape != "partial" or scale == "difference")
            )
            if index.size:
                law = _law_of_shape(shape, parts[index], scale, only)
                self.laws.append((index, law))
                self.estimate[index], self.error[index] = law.estimate, law.error

    def _tails(self, gap: Floats) -> tuple[Floats, Floats]:
        """A half each where there is nothing to test."""
        above, below = np.full((2, *gap.shape), 0.5)
        for index, law in self.laws:
            above[index], below[index] = law.tails(gap[index])
        return above, below

    def _root(self, gap: Floats) -> Floats:
        root = np.zeros(gap.shape)
        for index, law in self.laws:
            root[index] = law.root(gap[index])
        return root

    def _limits(self, level: Floats | float) -> tuple[Floats, Floats]:
        """Every value there is where a side has nobody."""
        levels = np.broadcast_to(np.asarray(level, dtype=np.float64), self.shape.shape)
        same = (self.shape == "same") & (self.parts.n_both > 0)
        ends = (-1.0, 1.0) if self.scale == "difference" else (0.0, np.inf)
        low, high = (np.where(same, no_gap(self.scale), end) for end in ends)
        for index, law in self.laws:
            low[index], high[index] = law.limits(levels[index])
        return low, high


def _law_of_shape(shape: str, parts: PartCounts, scale: Scale, only: Only | None) -> SearchedGaps:
    if shape == "partial":
        return PartlySharedLaw(parts.cells, only)
    if shape == "disjoint":
        table = TwoRates(parts.k_group, parts.n_group, parts.k_reference, parts.n_reference)
        return TwoRateLaw(table, scale, only)
    rest = (parts.k_reference, parts.n_reference) if shape == "inside" else (parts.k_group, parts.n_group)
    table = TwoRates(parts.k_both, parts.n_both, *rest)
    law = PartLaw(table, scale, only)
    return law if shape == "inside" else MirroredLaw(law, ratio=scale == "ratio")


# -- Rates of groups: against an estimated target, by the shapes above, and against a known number.
class BinaryGaps(Gaps):
    """Rates against an estimated target, from counts alone."""

    parts: PartCounts

    def __init__(self, atoms: Atoms, comparison: Comparison, scale: Scale = "difference") -> None:
        self.scale = scale
        self.parts = parts = part_counts(atoms, comparison)
        group, target = parts.rates
        self.reason = [nobody(a, b) for a, b in zip(np.isnan(group), np.isnan(target), strict=True)]
        if scale == "difference":
            self.estimate = np.nan_to_num(group - target)
            self.error, _ = gap_errors(atoms, comparison)
        else:
            shared = parts.shape == "partial"
            facts = zip(self.reason, target, shared, strict=True)
            self.reason = [why or no_ratio(rate, partly) for why, rate, partly in facts]
            with np.errstate(divide="ignore", invalid="ignore"):
                self.estimate = np.where(self.defined, group / target, 1.0)
            self.error = self.law.error
        self.df = np.full(group.shape, np.inf)
        base = "likelihood ratio" if scale == "difference" else "score"
        self.rule = np.where(parts.small, f"{base}, {FEW_EVENTS}", base)

    @cached_property
    def law(self) -> ShapedLaw:
        return ShapedLaw(self.parts, self.scale)

    @cached_property
    def no_difference(self) -> tuple[Floats, Floats]:
        """The tails of 'no difference', which are those of a ratio of one."""
        return ShapedLaw(self.parts).tails(np.zeros(self.estimate.shape))

    def _root(self, gap: Floats) -> Floats:
        return self.law.root(gap)

    def _limits(self, level: float) -> tuple[Floats, Floats]:
        return self.any_limits(level)

    def any_limits(self, level: float) -> tuple[Floats, Floats]:
        """Limits also where the estimate does not exist: a target without events leaves a ratio a lower limit."""
        low, high = self.law.limits(level)
        if self.scale == "difference":
            return low, high
        return agreeing(low, high, 1.0, self.no_difference, (1.0 - level) / 2.0)

    def _tails(self, gap: Floats) -> tuple[Floats, Floats]:
        above, below = self.law.tails(gap)
        if self.scale == "ratio" and (same := gap == 1.0).any():
            above, below = (
                np.where(same, one, own) for one, own in zip(self.no_difference, (above, below), strict=True)
            )
        return above, below


class KnownRateGaps(Gaps):
    """Rates against a known number, from counts."""

    def __init__(
        self, count: Floats, successes: Floats, target: Floats, method: RateMethod = "bounded",
        scale: Scale = "difference",
    ) -> None:  # fmt: skip
        self.count, self.successes, self.target = count, successes, target
        self.method, self.scale = method, scale
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = successes / count
            half = (successes + 0.5) / (count + 1.0)
            spread = np.where((successes == 0) | (successes == count), half * (1 - half), rate * (1 - rate))
            self.error = np.sqrt(spread / count)
        if scale == "ratio":
            self.error = np.sqrt(1.0 / (successes + 0.5) - 1.0 / (count + 1.0))
        self.estimate = self._gap(np.where(count > 0, np.nan_to_num(rate), target))
        self.df = np.full(count.shape, np.inf)
        self.rule = np.full(count.shape, RATE_RULES.get(method, method))
        self.reason = [nobody(bool(n == 0), False) for n in count]

    def _gap(self, rate: Floats) -> Floats:
        return rate - self.target if self.scale == "difference" else rate / self.target

    def _rate(self, gap: Floats) -> Floats:
        rate = self.target + gap if self.scale == "difference" else self.target * gap
        return np.clip(rate, 0.0, 1.0)

    def _root(self, gap: Floats) -> Floats:
        return self._plain_root(gap) if self.method == "likelihood" else super()._root(gap)

    def _plain_root(self, gap: Floats) -> Floats:
        null = self._rate(gap)
        count, successes = self.count, self.successes
        if self.method == "half-count":
            count, successes = count + 1.0, successes + 0.5
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = successes / count - null
            if self.method in ("likelihood", "half-count"):
                root = np.sign(distance) * np.sqrt(binomial_deviance(successes, count, null))
            else:
                root = distance / np.sqrt(null * (1.0 - null) / count)
        return np.where(distance == 0, 0.0, np.nan_to_num(root, posinf=np.inf, neginf=-np.inf))

    def _limits(self, level: Floats | float) -> tuple[Floats, Floats]:
        low, high = rate_interval(self.successes, self.count, level, self.method)
        return self._gap(low), self._gap(high)

    def _tails(self, gap: Floats) -> tuple[Floats, Floats]:
        """Normal tails, never thinner than the binomial's own.

        Both exact and cheap, so no count is too large for it: with 100 people at 10% the score alone would reject
        'at least 10%' with probability .072 at the 5% level.
        """
        root = self._plain_root(gap)
        above, below = special.ndtr(-root), special.ndtr(root)
        if self.method != "likelihood":
            exact = binomial_tails(self.successes, np.maximum(self.count, 1.0), self._rate(gap))
            above, below = np.maximum(above, exact[0]), np.maximum(below, exact[1])
            if self.method == "exact":
                above, below = exact
        return np.asarray(above), np.asarray(below)


def part_counts(atoms: Atoms, comparison: Comparison) -> PartCounts:
    """Counts of the three parts of every group and its reference."""
    counts = np.stack([atoms.successes, atoms.count], axis=1)
    columns: list[Floats] = []
    for part in comparison.parts:
        columns += [*(part @ counts).T]
    return PartCounts(*columns)


# -- A group and a reference that share some of their members, each with others of its own: the three-part
# likelihood.
# Membership and value of the six cells: both, group only, reference only; each with value 1, then 0.
IN_GROUP = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
IN_REFERENCE = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 1.0])
VALUE = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])


class PartlySharedLaw(SearchedGaps):
    """The difference of the two rates, from the six cells of every group (last axis)."""

    def __init__(self, cells: Floats, only: Only | None = None) -> None:
        self.counts, self.only = cells, only
        # Half a count in each cell where one is empty: the likelihood has no maximum inside otherwise.
        self.cells = cells + 0.5 * (cells.min(axis=1, keepdims=True) == 0)
        self.smallest = cells.min(axis=1)
        centre, error = _wald(self.cells)
        end = np.ones(centre.shape)
        super().__init__(centre, error, (-end, end), (self.smallest < HALF_OF_IT) & (only is None))

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
