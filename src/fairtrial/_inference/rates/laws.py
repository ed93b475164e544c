"""How any law of a gap of rates is turned into tails and limits: a base law, and bounds it is never sharper than.

A law gives signed roots at any value of the gap, a small one where the data agree with it. Its smooth roots come in
pairs: the one that counts against 'at most this', and the one that counts against 'at least this'. Where events are
few an exact tail bounds them. The largest tail counts, and limits are the outermost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial._inference.numeric.roots import Floats, find_outward, secant_limits

Bools = NDArray[np.bool_]
SMALLEST_TAIL = 1e-300
# Where an exact bound is looked for: so much of the smooth interval's half further out.
FIRST_STEP = 0.2


class Law(ABC):
    """Gaps of several groups: arrays along the last axis.

    `centre` and `error` are the estimate and its standard error on the scale that is searched, `ends` what the gap
    can be there; `df` is infinite for normal tails.
    """

    centre: Floats
    error: Floats
    ends: tuple[Floats, Floats]
    few: Bools
    df: Floats | float = np.inf

    @abstractmethod
    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        """Smooth signed roots of 'the gap is this', the smallest and the largest of all bounds."""

    def exact_tail(self, point: Floats, chosen: Bools, *, above: bool) -> Floats:
        """The exact tail of the chosen groups, as a normal one."""
        raise NotImplementedError

    def to_point(self, gap: Floats) -> Floats:
        """A gap on the scale that is searched."""
        return gap

    def to_gap(self, point: Floats) -> Floats:
        """Back from the scale that is searched."""
        return point

    def tails(self, gap: Floats) -> tuple[Floats, Floats]:
        """One-sided p-values of 'at most gap' (small when the gap is above it) and of 'at least gap'."""
        point = self.to_point(gap)
        lower, upper = self.roots(point)
        tails = tail_of(-lower, self.df), tail_of(upper, self.df)
        if self.few.any():
            for tail, above in zip(tails, (True, False), strict=True):
                exact = self.exact_tail(point[self.few], self.few, above=above)
                tail[self.few] = np.maximum(tail[self.few], exact)
        return tails

    def root(self, gap: Floats) -> Floats:
        """The signed root with the tail of 'the gap is this', positive where the estimate is above it."""
        point = self.to_point(gap)
        lower, upper = self.roots(point)
        root = np.where(self.centre > point, np.maximum(lower, 0.0), np.minimum(upper, 0.0))
        if self.few.any():
            above, below = self.tails(gap)
            root = np.where(self.few, signed_root(above, below, self.df), root)
        return root

    def limits(self, level: Floats | float) -> tuple[Floats, Floats]:
        """Limits at this level, one for all groups or one for each."""
        tail = np.broadcast_to((1.0 - np.asarray(level, dtype=np.float64)) / 2.0, self.centre.shape)

        def root(point: Floats) -> Floats:
            lower, upper = self.roots(point)
            return np.stack([lower[0], upper[1]])

        critical = -quantile_of(tail, self.df)
        limits = secant_limits(root, self.centre, self.error, critical, self.ends)
        if self.few.any():
            limits = self._moved_outwards(limits, tail)
        return self.to_gap(limits[0]), self.to_gap(limits[1])

    def _moved_outwards(self, limits: tuple[Floats, Floats], tail: Floats) -> tuple[Floats, Floats]:
        """The limits where the exact tails of groups with few events agree as well."""
        for limit, end, above in zip(limits, self.ends, (True, False), strict=True):

            def excess(point: Floats, chosen: Bools, above: bool = above) -> Floats:
                exact = self.exact_tail(point, chosen, above=above)
                return np.asarray(quantile_of(tail[chosen]) - quantile_of(exact))

            open_ = self.few & (limit != end)
            open_[open_] = excess(limit[open_], open_) < 0
            if open_.any():
                step = (-FIRST_STEP if above else FIRST_STEP) * self.error * -quantile_of(tail)
                limit[open_] = find_outward(
                    lambda point, chosen=open_, of=excess: of(point, chosen),  # type: ignore[misc]
                    limit[open_], step[open_], end[open_],
                )  # fmt: skip
        return limits


def tail_of(root: Floats, df: Floats | float = np.inf) -> Floats:
    """P(T <= root), by Student's t where the degrees of freedom are finite."""
    infinite = np.isinf(df)
    if np.all(infinite):
        return np.asarray(special.ndtr(root))
    return np.where(infinite, special.ndtr(root), special.stdtr(np.where(infinite, 1.0, df), root))


def quantile_of(tail: Floats, df: Floats | float = np.inf) -> Floats:
    """The root with this tail below it."""
    tail = np.maximum(tail, SMALLEST_TAIL)
    infinite = np.isinf(df)
    if np.all(infinite):
        return np.asarray(special.ndtri(tail))
    return np.where(infinite, special.ndtri(tail), special.stdtrit(np.where(infinite, 1.0, df), tail))


def signed_root(above: Floats, below: Floats, df: Floats | float = np.inf) -> Floats:
    """The root of two tails, positive where the one above is the smaller."""
    larger, smaller = np.maximum(-quantile_of(above, df), 0.0), np.minimum(quantile_of(below, df), 0.0)
    return np.where(above < below, larger, smaller)


class ScaledLaw(Law):
    """A law of a difference or of a ratio, which is searched by its logarithm and ends where a side has no events."""

    scale: Literal["difference", "ratio"]
    sides: tuple[Floats, Floats] | Floats  # the two rates, or what is zero where they are

    def to_point(self, gap: Floats) -> Floats:
        if self.scale == "difference":
            return gap
        with np.errstate(divide="ignore"):
            return np.clip(np.log(gap), *self.ends)

    def to_gap(self, point: Floats) -> Floats:
        return point if self.scale == "difference" else np.exp(point)

    def limits(self, level: Floats | float) -> tuple[Floats, Floats]:
        low, high = super().limits(level)
        if self.scale == "ratio":
            low, high = np.where(self.sides[0] > 0, low, 0.0), np.where(self.sides[1] > 0, high, np.inf)
        return low, high
