"""Scores sorted once: every group's places among them, its shares at thresholds, its area under the curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, stdtrit

from fairtrial._inference.numeric.roots import Bools
from fairtrial._work.compiled import njit

# -- Areas under the ROC curve of independent samples: limits and gaps that hold in small samples and near 1.
# DeLong's variance from the sample's own placements is zero where all positives are above all negatives, and far too
# small near it: its 95% interval misses in 5 to 94% of samples with ten positives. Here each side's interval is that
# of a rate at the number of people that the area's variance is worth (Wilson's, with Student's t, and never inside the
# exact one); for the variance one more positive and one more negative are placed at the far end of that side, which a
# small sample may lack. That one person counts less and less as the sample grows. Gaps join the two limits (Zou and
# Donner's method of variance estimates recovery), and the p-value is the level at which their limit reaches 0.
SMALLEST = 1e-300
LARGEST_ROOT = 12.0  # no p-value is smaller than its tail, 4e-33


@dataclass(frozen=True, slots=True, eq=False)
class Areas:
    """Areas of several samples: people with and without the outcome, and mean squares of their placements."""

    area: Floats
    positives: Floats
    negatives: Floats
    square_of_positives: Floats
    square_of_negatives: Floats

    def limits(self, level: float) -> tuple[Floats, Floats]:
        """Limits of each area."""
        return self.limits_at(np.full(self.area.shape, 1.0 - level))

    def limits_at(self, error: Floats) -> tuple[Floats, Floats]:
        """Limits of each area that both err so often."""
        low, high = self._side(error, 0.0), self._side(error, 1.0)
        return np.where(self.area > 0, low, 0.0), np.where(self.area < 1, high, 1.0)

    def _side(self, error: Floats, end: float) -> Floats:
        """The lower (end 0) or upper (end 1) limit."""
        people, freedom = self._worth(end)
        z = -stdtrit(freedom, error / 2.0)
        centre = (self.area + z**2 / (2 * people)) / (1 + z**2 / people)
        spread = self.area * (1 - self.area) / people + z**2 / (4 * people**2)
        away = z / (1 + z**2 / people) * np.sqrt(spread)
        k = self.area * people
        with np.errstate(invalid="ignore"):
            if end == 0.0:
                exact = betaincinv(np.maximum(k, 1e-12), people - k + 1.0, error / 2.0)
                return np.asarray(np.minimum(centre - away, exact))
            exact = betaincinv(k + 1.0, np.maximum(people - k, 1e-12), 1.0 - error / 2.0)
            return np.asarray(np.maximum(centre + away, exact))

    def _worth(self, end: float) -> tuple[Floats, Floats]:
        """How many people the area's variance is worth, with one of each kind at the end, and degrees of freedom."""
        means, variances = [], []
        sides = ((self.positives, self.square_of_positives), (self.negatives, self.square_of_negatives))
        for n, square in sides:
            mean = (n * self.area + end) / (n + 1.0)
            means.append(mean)
            variances.append(np.maximum(((n * square + end) / (n + 1.0) - mean**2) / n, 0.0))
        mean, variance = (means[0] + means[1]) / 2.0, variances[0] + variances[1]
        freedom = variance**2 / (
            variances[0] ** 2 / self.positives + variances[1] ** 2 / self.negatives + SMALLEST
        )
        people = np.clip(mean * (1.0 - mean) / np.maximum(variance, SMALLEST), 1.0, 1e12)
        return people, np.maximum(freedom, 1.0)


def gap_limits(first: Areas, second: Areas, level: float) -> tuple[Floats, Floats]:
    """Limits of the difference of two independent areas."""
    return _gap_limits_at(first, second, np.full(first.area.shape, 1.0 - level))


def _gap_limits_at(first: Areas, second: Areas, error: Floats) -> tuple[Floats, Floats]:
    low1, high1 = first.limits_at(error)
    low2, high2 = second.limits_at(error)
    gap = first.area - second.area
    return (
        np.maximum(gap - np.hypot(first.area - low1, high2 - second.area), -1.0),
        np.minimum(gap + np.hypot(high1 - first.area, second.area - low2), 1.0),
    )


def gap_p(first: Areas, second: Areas) -> Floats:
    """Two-sided p-values of no difference: the error at which the limit on the side of 0 reaches it."""
    gap = first.area - second.area
    inner, outer = np.zeros(gap.shape), np.full(gap.shape, LARGEST_ROOT)
    for _ in range(60):
        root = (inner + outer) / 2.0
        low, high = _gap_limits_at(first, second, 2.0 * ndtr(-root))
        beyond = np.where(gap > 0, low > 0, high < 0)
        inner, outer = np.where(beyond, root, inner), np.where(beyond, outer, root)
    return np.asarray(np.where(gap == 0, 1.0, np.clip(2.0 * ndtr(-inner), SMALLEST, 1.0)))


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SortedScores:
    """Scores in ascending order, each with the code of its smallest group; `ends` as `largest_gap` takes them."""

    scores: Floats
    codes: Ints
    first: Ints
    after: Ints
    by_code: Ints  # the places, code by code, ascending within each
    bounds: Ints  # where each code begins among them

    @classmethod
    def of(cls, scores: Floats, codes: Ints, groups: int) -> SortedScores:
        """From scores that are sorted already."""
        n = scores.size
        new = np.ones(n, dtype=bool)
        np.not_equal(scores[1:], scores[:-1], out=new[1:])
        starts = np.flatnonzero(new)
        lengths = np.diff(starts, append=n)
        first = np.repeat(starts, lengths)
        small = codes.astype(np.min_scalar_type(max(groups - 1, 0)))
        by_code = np.argsort(small, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=groups))])
        return cls(scores, codes, first, first + np.repeat(lengths, lengths), by_code, bounds)

    @property
    def ends(self) -> tuple[Ints, Ints]:
        return self.first, self.after

    def places(self, inside: Bools) -> Ints:
        """The places of a group, ascending; `inside` says which codes belong to it."""
        pieces = [self.by_code[self.bounds[code] : self.bounds[code + 1]] for code in np.flatnonzero(inside)]
        if len(pieces) == 1:
            return pieces[0]
        return np.sort(np.concatenate(pieces)) if pieces else np.zeros(0, dtype=np.int64)

    def at_or_above(self, places: Ints, thresholds: Floats) -> Floats:
        """How many of a group are at or above each threshold."""
        return np.asarray(places.size - np.searchsorted(self.scores[places], thresholds), dtype=np.float64)

    def grid(self, most: int) -> Floats:
        """All different scores, or `most` of them at equal shares of the people, the lowest and highest included."""
        different = self.scores[self.first == np.arange(self.scores.size)]
        if different.size <= most:
            return np.asarray(different)
        chosen = np.linspace(0, self.scores.size - 1, most).astype(np.int64)
        return np.asarray(np.unique(self.scores[chosen]))


def areas_of(table: SortedScores, outcome: Ints, inside: Bools) -> Areas:
    """The area under the curve of several groups: `inside` says which codes belong to each."""
    but_one = (~inside).sum(axis=1) == 1
    others = np.zeros((0, 5))
    if but_one.any():  # everyone but one smallest group: all of them in one pass
        others = complement_sums(outcome, table.first, table.codes, inside.shape[1])
    found = np.array(
        [
            others[int(np.argmin(row))] if alone else _sums(table, outcome, row)
            for row, alone in zip(inside, but_one, strict=True)
        ]
    ).reshape(-1, 5)
    positives, negatives, below, below_squared, above_squared = found.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return Areas(
            below / (positives * negatives), positives, negatives,
            below_squared / (positives * negatives**2), above_squared / (negatives * positives**2),
        )  # fmt: skip


def _sums(table: SortedScores, outcome: Ints, inside: Bools) -> tuple[float, float, float, float, float]:
    own = table.places(inside)
    return area_sums(outcome[own], table.first[own], table.codes[own], inside)


@njit
def area_sums(
    outcome: Ints, first: Ints, codes: Ints, inside: Bools
) -> tuple[float, float, float, float, float]:
    """People with and without the outcome, and sums of how many of the others are below or above each, ties half."""
    with_it = without = below = below_squared = lower = lower_squared = 0.0
    place, n = 0, outcome.size
    while place < n:
        block = first[place]
        positives = negatives = 0.0
        while place < n and first[place] == block:
            if inside[codes[place]]:
                if outcome[place] == 1:
                    positives += 1.0
                else:
                    negatives += 1.0
            place += 1
        under = without + 0.5 * negatives
        below += positives * under
        below_squared += positives * under * under
        under = with_it + 0.5 * positives
        lower += negatives * under
        lower_squared += negatives * under * under
        with_it += positives
        without += negatives
    above_squared = without * with_it * with_it - 2.0 * with_it * lower + lower_squared
    return with_it, without, below, below_squared, above_squared


@njit
def complement_sums(outcome: Ints, first: Ints, codes: Ints, groups: int) -> Floats:
    """The sums of `area_sums` for everyone but each group, in one pass.

    Of everyone but a group, A - B of the others are below a person: A of all, B of the group. The sums of A B and B B
    over all people are brought up to date only where the group has somebody, since B stands still in between.
    """
    count, here = np.zeros((2, groups)), np.zeros((2, groups))
    sum_a, sum_aa, seen = np.zeros(2), np.zeros(2), np.zeros(2)
    sum_b, sum_ab, sum_bb = np.zeros((2, groups)), np.zeros((2, groups)), np.zeros((2, groups))
    own, own_squared = np.zeros((2, groups)), np.zeros((2, groups))
    last_a, last_seen = np.zeros((2, groups)), np.zeros((2, groups))
    touched, total, now = np.zeros(groups, dtype=np.int64), np.zeros(2), np.zeros(2)
    place, n = 0, outcome.size
    while place < n:
        block, some = first[place], 0
        now[0] = now[1] = 0.0
        while place < n and first[place] == block:
            group, kind = codes[place], outcome[place]
            if here[0, group] == 0.0 and here[1, group] == 0.0:
                touched[some] = group
                some += 1
            here[kind, group] += 1.0
            now[kind] += 1.0
            place += 1
        for kind in range(2):
            a = total[1 - kind] + 0.5 * now[1 - kind]
            for index in range(some):
                group = touched[index]
                b, people = count[1 - kind, group], seen[kind] - last_seen[kind, group]
                sum_ab[kind, group] += b * (sum_a[kind] - last_a[kind, group])
                sum_bb[kind, group] += b * b * people
                sum_b[kind, group] += b * people
                b += 0.5 * here[1 - kind, group]
                sum_ab[kind, group] += b * a * now[kind]
                sum_bb[kind, group] += b * b * now[kind]
                sum_b[kind, group] += b * now[kind]
                own[kind, group] += here[kind, group] * (a - b)
                own_squared[kind, group] += here[kind, group] * (a - b) * (a - b)
                last_a[kind, group] = sum_a[kind] + a * now[kind]
                last_seen[kind, group] = seen[kind] + now[kind]
            sum_a[kind] += a * now[kind]
            sum_aa[kind] += a * a * now[kind]
            seen[kind] += now[kind]
        for index in range(some):
            group = touched[index]
            for kind in range(2):
                count[kind, group] += here[kind, group]
                here[kind, group] = 0.0
        total += now
    found = np.zeros((groups, 5))
    for group in range(groups):
        sums, squares = np.zeros(2), np.zeros(2)
        for kind in range(2):
            b, people = count[1 - kind, group], seen[kind] - last_seen[kind, group]
            ab = sum_ab[kind, group] + b * (sum_a[kind] - last_a[kind, group])
            bb = sum_bb[kind, group] + b * b * people
            sums[kind] = sum_a[kind] - sum_b[kind, group] - b * people - own[kind, group]
            squares[kind] = sum_aa[kind] - 2.0 * ab + bb - own_squared[kind, group]
        without, with_it = total[0] - count[0, group], total[1] - count[1, group]
        above = without * with_it * with_it - 2.0 * with_it * sums[0] + squares[0]
        found[group] = np.array([with_it, without, sums[1], squares[1], above])
    return found
