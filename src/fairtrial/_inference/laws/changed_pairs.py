"""Means of pairs of which many do not change: 'no gap' is tested from those that do, limits also bear their share.

A mean difference is the share of the pairs that change times the mean change of those, and it is zero exactly where
that mean is. Among many zeros a few skewed changes look skewed to the other side, and a sample that lacks the large
ones looks sure: of 200 pairs, 5% changed by a lognormal(1.5) less its mean, the law of all differences found a gap in
.275 at level .05, the law of the changes in .04. Away from zero the two parts, the mean change and Wilson's limits of
the share, add as errors do (Zou and Donner 2008). Where every pair changes the law is that of all differences.

G. Zou and A. Donner, Statistics in Medicine 27, 2008.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.laws.choose_gaps import BoundedGaps, make_gaps
from fairtrial._inference.laws.gaps import Gaps, agreeing
from fairtrial._inference.means.skewed_means import (
    HALVINGS,
    KnownTarget,
    Sides,
    Sums,
    inverse_cubic,
    shape_of_all,
)
from fairtrial._inference.numeric.roots import Bools, Floats

# Of lognormal(1) and (1.5) changes 'no gap' is rejected at .05 by .055 and .054 of six, .056 and .076 of five, .080 and
# .120 of three.
FEWEST_CHANGES = 6
# A change smaller than this share of the largest is rounding.
ROUNDING = 1e-12
# No count: reasons are published.
TOO_FEW_CHANGES = (
    f"fewer than {FEWEST_CHANGES} people's answers change, which do not tell how far such changes go"
)
CHANGED_RULE = "the pairs that change"
# Roots further out have no tail that a number holds.
FARTHEST = 37.0


class ShareOfChange:
    """Bound of a mean of differences from the pairs that change and the share of them."""

    def __init__(self, changes: Sums, pairs: Floats, common: float) -> None:
        self.pairs = np.maximum(pairs, 1.0)
        self.share = changes.n / self.pairs
        self.mean = changes.mean
        self.gap = self.share * self.mean
        mean = KnownTarget(changes, np.zeros(changes.n.shape), common)
        self.error, self.df, self.above, self.below = mean.error, mean.df, mean.above, mean.below

    def _reach(self, tail: Floats) -> Sides:
        """How far the lower and the upper limit lie from the estimate, each missed with its own tail."""
        z = -special.ndtri(tail)
        student = -special.stdtrit(self.df, tail)
        least, most = _wilson(self.share, self.pairs, z)
        rises = self.mean > 0
        spared = np.where(rises, self.share - least, most - self.share)
        other = np.where(rises, most - self.share, self.share - least)
        with np.errstate(invalid="ignore"):
            down = np.where(self.error > 0, self.error * inverse_cubic(student, self.above), 0.0)
            up = np.where(self.error > 0, -self.error * inverse_cubic(-student, self.below), 0.0)
        size = np.abs(self.mean)
        low = np.hypot(self.share * np.maximum(down, 0.0), size * spared)
        high = np.hypot(self.share * np.maximum(up, 0.0), size * other)
        return low, high

    def limits(self, tail: float) -> Sides:
        """Limits of the gap, each missed with probability `tail`."""
        down, up = self._reach(np.full(self.gap.shape, tail))
        return self.gap - down, self.gap + up

    def tails(self, gap: Floats) -> Sides:
        """The tails at which the limits reach `gap`; one half at least where the estimate agrees."""
        found = []
        for side, distance in enumerate((self.gap - gap, gap - self.gap)):
            low, high = np.zeros(distance.shape), np.full(distance.shape, FARTHEST)
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                reached = self._reach(special.ndtr(-middle))[side] >= distance
                low, high = np.where(reached, low, middle), np.where(reached, middle, high)
            found.append(special.ndtr(-np.where(distance > 0, low, 0.0)))
        return found[0], found[1]


def _wilson(share: Floats, number: Floats, z: Floats) -> Sides:
    """Wilson's limits of a share."""
    square = z**2 / number
    middle = share + square / 2.0
    half = np.sqrt(square * (share * (1.0 - share) + square / 4.0))
    return (middle - half) / (1.0 + square), (middle + half) / (1.0 + square)


class ChangedGaps(BoundedGaps):
    """Means of differences whose 'no gap' is that of the pairs that change; limits agree with it."""

    def __init__(self, everyone: Gaps, differences: Sequence[Floats]) -> None:
        changed = [changes_of(values) for values in differences]
        changes = Sums.of_values(changed)
        pairs = np.array([values.size for values in differences], dtype=np.float64)
        # Where all change they are all differences; where all change alike, their share is all that varies.
        self.partly: Bools = (changes.n < pairs) & (changes.n > 0)
        bound = ShareOfChange(changes, pairs, shape_of_all(changes))
        super().__init__(everyone, [bound], everyone.estimate, np.ones(pairs.shape), CHANGED_RULE)
        self.rule = np.where(everyone.defined & self.partly, self.rule, everyone.rule)
        self.reason = [
            why or (TOO_FEW_CHANGES if part and number < FEWEST_CHANGES else None)
            for why, number, part in zip(everyone.reason, changes.n, self.partly, strict=True)
        ]
        law = make_gaps(Atoms.of_values(changed), to_zero(pairs.size))
        self.own = law.tails(np.zeros(pairs.shape))
        if law.carried_by is not None and everyone.carried_by is not None:
            self.carried_by = np.where(self.partly, law.carried_by, everyone.carried_by)
        self.told: Bools = self.partly & changes.varies & self.defined

    def _tails(self, gap: Floats) -> Sides:
        every, bounded = self.inner.tails(gap), super()._tails(gap)
        nothing = self.told & (np.asarray(gap) == 0.0)
        above, below = (
            np.where(nothing, own, np.where(self.partly, bound, all_))
            for own, bound, all_ in zip(self.own, bounded, every, strict=True)
        )
        return above, below

    def p_inside(self, low: float, high: float) -> Floats:
        return np.where(self.partly, super().p_inside(low, high), self._guard(self.inner.p_inside(low, high)))

    def _limits(self, level: float) -> Sides:
        every, bounded = self.inner.limits(level), super()._limits(level)
        agreed = agreeing(*bounded, 0.0, self.own, (1.0 - level) / 2.0)
        low, high = (
            np.where(self.told, ours, np.where(self.partly, bound, all_))
            for ours, bound, all_ in zip(agreed, bounded, every, strict=True)
        )
        return low, high


def changes_of(differences: Floats) -> Floats:
    """The differences that are more than rounding; those that rounding alone sets apart are alike."""
    size = np.abs(differences)
    rounding = ROUNDING * size.max(initial=0.0)
    changed: Floats = differences[size > rounding]
    alike = changed.size and np.ptp(changed) <= rounding
    return np.full(changed.size, changed[0]) if alike else changed


def to_zero(groups: int) -> Comparison:
    """Every finest group against a known zero."""
    member = np.eye(groups, dtype=bool)
    return Comparison(member, np.zeros_like(member), np.zeros(groups))
