"""A group's rate against an estimated target, all groups at once, from counts.

Five shapes cover every estimated target, told apart by which of the three parts of (group, reference) are
empty: A = both, B = group only, C = reference only.
  disjoint  (A empty)  rest, or a reference group apart: two binomials
  inside    (B empty)  overall, or a group inside its reference: two binomials and the group's share
  around    (C empty)  a reference inside the group: the same with the roles exchanged
  partial   (none)     the three-part likelihood of `fairtrial.inference.rates.overlap`
  same      (B and C)  the group is its reference: the gap is zero, and there is nothing to test
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial.inference.numeric.roots import Floats, bisect_decreasing, secant_limits
from fairtrial.inference.rates.exact_tails import binomial_tails, difference_tails
from fairtrial.inference.rates.overlap import overlap_root
from fairtrial.inference.rates.proportions import (
    SMALL_COUNT,
    DifferenceMethod,
    binomial_deviance,
    constrained_rates,
    difference_error,
    difference_limits,
    difference_root,
)

Bools = NDArray[np.bool_]
SMALLEST_P = 1e-300
SMALL_COUNT_RULE = "score (a count below 10)"  # as results name it


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
        return np.asarray(np.minimum(np.minimum(group, reference), np.minimum(apart, other)) < SMALL_COUNT)

    @property
    def shape(self) -> NDArray[np.str_]:
        """Which of the five shapes each group has."""
        inside, around = self.n_group == 0, self.n_reference == 0
        nested = np.where(inside, "inside", np.where(around, "around", "partial"))
        nested = np.where(inside & around, "same", nested)
        return np.where(self.n_both == 0, "disjoint", nested)


def gap_root(parts: PartCounts, gap: Floats, method: DifferenceMethod = "auto") -> Floats:
    """Signed root of the test of 'rate of the group minus rate of the reference = gap' for each group."""
    gap = np.broadcast_to(np.asarray(gap, dtype=np.float64), parts.n_both.shape)
    root = np.zeros(parts.n_both.shape)
    shapes = parts.shape
    for shape in np.unique(shapes):
        index = np.flatnonzero(shapes == shape)
        some, value = parts[index], gap[index]
        if shape == "same":
            continue
        if shape == "disjoint":
            root[index] = difference_root(*_disjoint(some), value, method)
        elif shape == "partial":
            root[index] = _partial_root(some, value, method)
        else:
            table, sign = _nested(some, shape)
            score = _score(some, method)
            contrast = _contrast_of_gap(table, sign * value, score)
            root[index] = sign * _nested_root(table, contrast, score)
    return root


def gap_limits(
    parts: PartCounts, level: float | Floats, method: DifferenceMethod = "auto"
) -> tuple[Floats, Floats]:
    """Limits for 'rate of the group minus rate of the reference'; [-1, 1] where a side has nobody."""
    size = parts.n_both.size
    levels = np.broadcast_to(np.asarray(level, dtype=np.float64), (size,))
    critical = -np.asarray(special.ndtri((1.0 - levels) / 2.0))
    low, high = np.full(size, -1.0), np.full(size, 1.0)
    group_rate, reference_rate = parts.rates
    known = np.isfinite(group_rate) & np.isfinite(reference_rate)
    shapes = parts.shape
    for shape in np.unique(shapes):
        index = np.flatnonzero((shapes == shape) & known)
        if index.size:
            some = parts[index]
            low[index], high[index] = _limits_of_shape(str(shape), some, critical[index], method)
    return low, high


def gap_tails(parts: PartCounts, gap: Floats) -> tuple[Floats, Floats]:
    """One-sided p-values of 'at most gap' and 'at least gap'; with small counts never below the binomial's."""
    gap = np.broadcast_to(np.asarray(gap, dtype=np.float64), parts.n_both.shape)
    root = gap_root(parts, gap)
    above, below = np.asarray(special.ndtr(-root)), np.asarray(special.ndtr(root))
    group, reference = parts.rates
    small = np.flatnonzero(parts.small & np.isfinite(group) & np.isfinite(reference))
    if small.size:
        exact_above, exact_below = _exact_tails(parts[small], gap[small])
        above[small] = np.maximum(above[small], exact_above)
        below[small] = np.maximum(below[small], exact_below)
    return above, below


def gap_p(parts: PartCounts, gap: Floats) -> Floats:
    """Two-sided p-values of 'the gap is `gap`'."""
    above, below = gap_tails(parts, gap)
    return np.clip(2.0 * np.minimum(above, below), SMALLEST_P, 1.0)


def _exact_tails(parts: PartCounts, gap: Floats) -> tuple[Floats, Floats]:
    """Binomial tails of the two samples that are compared, at a contrast that gives this gap."""
    k, n = parts.k_both + parts.k_group, parts.n_both + parts.n_group
    shape = parts.shape
    above, below = np.ones(k.shape), np.ones(k.shape)
    disjoint = np.flatnonzero(shape == "disjoint")
    if disjoint.size:
        some = parts[disjoint]
        above[disjoint], below[disjoint] = difference_tails(
            some.k_group, some.n_group, some.k_reference, some.n_reference, gap[disjoint]
        )
    inside = np.flatnonzero(shape == "inside")
    if inside.size:
        some = parts[inside]
        contrast = np.clip(gap[inside] * (some.n_both + some.n_reference) / some.n_reference, -1.0, 1.0)
        above[inside], below[inside] = difference_tails(
            some.k_both, some.n_both, some.k_reference, some.n_reference, contrast
        )
    other = np.flatnonzero((shape == "around") | (shape == "partial"))
    if other.size:
        # The group's own binomial at the reference's rate: the shared rows make anything finer pointless.
        _, target = parts[other].rates
        rate = np.clip(target + gap[other], 0.0, 1.0)
        above[other], below[other] = binomial_tails(k[other], n[other], rate)
    return above, below


def _limits_of_shape(
    shape: str, parts: PartCounts, critical: Floats, method: DifferenceMethod
) -> tuple[Floats, Floats]:
    ends = (-np.ones_like(critical), np.ones_like(critical))
    if shape == "same":
        return np.zeros_like(critical), np.zeros_like(critical)
    if shape == "disjoint":
        return difference_limits(*_disjoint(parts), critical, method)
    if shape == "partial":
        centre, error = _partial_wald(parts, method)
        return secant_limits(lambda gap: _partial_root(parts, gap, method), centre, error, critical, ends)
    nested, sign = _nested(parts, shape)
    score = _score(parts, method)
    centre, error = nested[0] / nested[1] - nested[2] / nested[3], difference_error(*nested)
    below, above = secant_limits(
        lambda contrast: _nested_root(nested, contrast, score), centre, error, critical, ends
    )
    low, high = _nested_gap(nested, below, score), _nested_gap(nested, above, score)
    return (low, high) if sign > 0 else (-high, -low)


def _disjoint(parts: PartCounts) -> tuple[Floats, Floats, Floats, Floats]:
    return parts.k_group, parts.n_group, parts.k_reference, parts.n_reference


def _nested(parts: PartCounts, shape: str) -> tuple[tuple[Floats, Floats, Floats, Floats], float]:
    """The inner part against the rest of the outer one, and the sign of the group's gap in those terms."""
    if shape == "inside":
        return (parts.k_both, parts.n_both, parts.k_reference, parts.n_reference), 1.0
    return (parts.k_both, parts.n_both, parts.k_group, parts.n_group), -1.0


def _score(parts: PartCounts, method: DifferenceMethod) -> Bools:
    return parts.small if method == "auto" else np.full(parts.n_both.shape, method == "score")


# The inner part against the whole: gap = (1 - P)(mu_inner - mu_rest), P the inner share, itself estimated.
# The profile likelihood is a path in the contrast mu_inner - mu_rest: at each contrast the rates are the
# Miettinen-Nurminen maximum and the share has a closed form. The score keeps the observed share and adds its
# variance to the Miettinen-Nurminen one.

NestedTable = tuple[Floats, Floats, Floats, Floats]


def _nested_state(table: NestedTable, contrast: Floats, score: Bools) -> tuple[Floats, Floats, Floats]:
    """Constrained rates of inner and rest, and the share of the inner part."""
    k1, n1, k2, n2 = table
    first, second = constrained_rates(*table, contrast)
    spread1, spread2 = first * (1.0 - first), second * (1.0 - second)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Both samples have the same slope with opposite signs; at a rate of 0 or 1 only the other tells it.
        slope = np.where(spread1 >= spread2, (k1 - n1 * first) / spread1, (n2 * second - k2) / spread2)
        pull = np.where(np.isfinite(slope) & ~score, slope, 0.0) * contrast
        share = n1 / np.maximum(n1 + n2 - pull, n1)
    return first, second, share


def _nested_gap(table: NestedTable, contrast: Floats, score: Bools) -> Floats:
    return (1.0 - _nested_state(table, contrast, score)[2]) * contrast


def _contrast_of_gap(table: NestedTable, gap: Floats, score: Bools) -> Floats:
    full = np.ones_like(gap)
    return bisect_decreasing(lambda contrast: gap - _nested_gap(table, contrast, score), -full, full)


def _nested_root(table: NestedTable, contrast: Floats, score: Bools) -> Floats:
    k1, n1, k2, n2 = table
    first, second, share = _nested_state(table, contrast, score)
    total = n1 + n2
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = n2 / total * (k1 / n1 - k2 / n2) - (1.0 - share) * contrast
        deviance = binomial_deviance(k1, n1, first) + binomial_deviance(k2, n2, second)
        deviance = deviance + binomial_deviance(n1, total, share)
        by_likelihood = np.sign(distance) * np.sqrt(deviance)
        variance = (1 - share) ** 2 * first * (1 - first) / share + (1 - share) * second * (1 - second)
        variance = variance + share * (1 - share) * contrast**2
        by_score = np.where(distance == 0, 0.0, distance / np.sqrt(variance / (total - 1.0)))
    return np.where(score, by_score, by_likelihood)


def _partial_table(parts: PartCounts, method: DifferenceMethod) -> tuple[Floats, Bools]:
    """The six cells; half a count is added to each where one is empty or a count is below ten."""
    cells = np.stack(
        [
            parts.k_both,
            parts.n_both - parts.k_both,
            parts.k_group,
            parts.n_group - parts.k_group,
            parts.k_reference,
            parts.n_reference - parts.k_reference,
        ],
        axis=1,
    )
    score = _score(parts, method) | (cells.min(axis=1) == 0)
    return cells + 0.5 * score[:, None], score


# Membership and value of the six cells: both, group only, reference only; each with value 1, then 0.
IN_GROUP = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
IN_REFERENCE = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 1.0])
VALUE = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])


def _partial_root(parts: PartCounts, gap: Floats, method: DifferenceMethod) -> Floats:
    cells, score = _partial_table(parts, method)
    shape = (*gap.shape, cells.shape[-1])
    return overlap_root(
        np.broadcast_to(VALUE, shape),
        np.broadcast_to(IN_GROUP, shape),
        np.broadcast_to(IN_REFERENCE, shape),
        np.broadcast_to(cells, shape),
        gap,
        score,
    )


def _partial_wald(parts: PartCounts, method: DifferenceMethod) -> tuple[Floats, Floats]:
    """Estimate and standard error from the six cells, where the search for the limits starts."""
    cells, _ = _partial_table(parts, method)
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
