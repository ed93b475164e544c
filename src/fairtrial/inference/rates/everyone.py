"""A part of the rows against the whole it belongs to: the part's share is estimated as well.

With P the part's share, p1 its rate and p2 that of the rest, the part's gap to the whole is (1 - P)(p1 - p2), and its
ratio r = p1/p2 to the rest is theta (1 - P)/(1 - theta P) when its ratio to the whole is theta. Taking the observed
share for the true one leaves out up to .30 of the ratio's error instead of .05; it is profiled, as the rates are.
"""

from __future__ import annotations

import numpy as np

from fairtrial.inference.numeric.roots import Floats, bisect_decreasing
from fairtrial.inference.rates.laws import Bools, Law, quantile_of, tail_of
from fairtrial.inference.rates.proportions import binomial_deviance, difference_error
from fairtrial.inference.rates.two_rates import (
    LOGARITHM_ENDS,
    Null,
    Only,
    TwoRates,
    at_null,
    bounded,
    estimate_and_error,
    exact_tail,
    score_roots,
)

# Golden sections of the share: the last bracket is 1e-8 of the first.
SECTIONS = 38
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
# The share is looked for so many of its standard errors about the observed one.
SHARE_REACH = 12.0


class PartDifferenceLaw(Law):
    """The part's rate minus the whole's; points are contrasts to the rest, along which the likelihood is profiled.

    At each contrast the rates are the Miettinen-Nurminen maximum and the share has a closed form.
    """

    def __init__(self, table: TwoRates, only: Only | None = None) -> None:
        self.table, self.only = table, only
        self.centre, self.error = table.k1 / table.n1 - table.k2 / table.n2, difference_error(*table)
        end = np.ones(table.k1.shape)
        self.ends = -end, end
        self.few = table.few & (only is None)

    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        null = at_null(self.table, point, "difference")
        share = likely_share(self.table, null, point)
        total = self.table.n1 + self.table.n2
        sign = np.sign(self._observed() - (1.0 - share) * point)
        deviance = binomial_deviance(self.table.k1, self.table.n1, null.p1)
        deviance = deviance + binomial_deviance(self.table.k2, self.table.n2, null.p2)
        base = sign * np.sqrt(deviance + binomial_deviance(self.table.n1, total, share))
        score, skewed = (with_share(root, self.table, share, sign) for root in score_roots(null))
        return bounded(base, score, skewed, self.only)

    def exact_tail(self, point: Floats, chosen: Bools, *, above: bool) -> Floats:
        table = self.table.take(chosen)
        share = likely_share(table, at_null(table, point, "difference"), point)
        tail = exact_tail(table, point, "difference", above=above)
        return tail_with_share(tail, table, share)

    def _observed(self) -> Floats:
        k1, n1, k2, n2 = self.table
        return np.asarray(n2 / (n1 + n2) * (k1 / n1 - k2 / n2))

    def to_gap(self, point: Floats) -> Floats:
        return (1.0 - likely_share(self.table, at_null(self.table, point, "difference"), point)) * point

    def to_point(self, gap: Floats) -> Floats:
        full = np.ones_like(gap)
        return bisect_decreasing(lambda contrast: gap - self.to_gap(contrast), -full, full)


class PartRatioLaw(Law):
    """The part's rate over the whole's; points are logarithms. The score of r and that of the share, added up."""

    def __init__(self, table: TwoRates) -> None:
        self.table = table
        n1, n2 = table.n1, table.n2
        to_rest, error = estimate_and_error(table, "ratio")
        share, ratio = n1 / (n1 + n2), np.exp(to_rest)
        self.centre = to_rest - np.log1p(share * (ratio - 1.0))
        # d log theta / d log r = (1 - P)/(1 + P (r - 1))
        self.error = error * (1.0 - share) / (1.0 + share * (ratio - 1.0)) + 1e-12
        end = np.full(n1.shape, LOGARITHM_ENDS)
        self.ends = -end, end
        self.few = table.few

    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        _, squared = self._profile(self.table, point)
        root = np.sign(self.centre - point) * np.sqrt(squared)
        return root, root

    def exact_tail(self, point: Floats, chosen: Bools, *, above: bool) -> Floats:
        table = self.table.take(chosen)
        share, _ = self._profile(table, point)
        tail = exact_tail(table, _ratio_to_rest(np.exp(point), share), "ratio", above=above)
        return tail_with_share(tail, table, share)

    def _profile(self, table: TwoRates, point: Floats) -> tuple[Floats, Floats]:
        """The share at which score and share together are least surprising, and how surprising that is."""
        theta = np.exp(point)
        total = table.n1 + table.n2
        observed = np.broadcast_to(table.n1 / total, theta.shape)
        reach = SHARE_REACH * np.sqrt(observed * (1.0 - observed) / total)
        tiny = 1e-12
        most = np.minimum(1.0, 1.0 / theta)
        low = np.maximum(np.minimum(observed - reach, 0.5 * most), tiny * most)
        high = np.minimum(np.maximum(observed + reach, tiny), most * (1.0 - tiny))

        def surprise(share: Floats) -> Floats:
            root, _ = score_roots(at_null(table, _ratio_to_rest(theta, share), "ratio"))
            return np.asarray(root**2 + share_surprise(table, share))

        return _least(surprise, low, np.maximum(high, low), observed)

    def to_point(self, gap: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.clip(np.log(gap), *self.ends)

    def to_gap(self, point: Floats) -> Floats:
        return np.exp(point)

    def limits(self, level: Floats | float) -> tuple[Floats, Floats]:
        low, high = super().limits(level)
        nobody = self.table.k1 + self.table.k2 == 0
        return np.where(self.table.k1 > 0, low, 0.0), np.where(nobody, np.inf, high)


class Mirrored(Law):
    """The whole against its part: the same gap with the other sign (of a ratio: the inverse)."""

    def __init__(self, inner: Law, ratio: bool) -> None:
        self.inner, self.ratio = inner, ratio
        self.centre, self.error, self.few, self.df = -inner.centre, inner.error, inner.few, inner.df
        self.ends = -inner.ends[1], -inner.ends[0]

    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        lower, upper = self.inner.roots(-point)
        return -upper, -lower

    def exact_tail(self, point: Floats, chosen: Bools, *, above: bool) -> Floats:
        return self.inner.exact_tail(-point, chosen, above=not above)

    def _turned(self, gap: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return 1.0 / gap if self.ratio else -gap

    def to_point(self, gap: Floats) -> Floats:
        return -self.inner.to_point(self._turned(gap))

    def to_gap(self, point: Floats) -> Floats:
        return self._turned(self.inner.to_gap(-point))

    def limits(self, level: Floats | float) -> tuple[Floats, Floats]:
        low, high = self.inner.limits(level)
        return self._turned(high), self._turned(low)


def likely_share(table: TwoRates, null: Null, contrast: Floats) -> Floats:
    """The most likely share of the part at a contrast: its slope in the likelihood is the rates' own."""
    k1, n1, k2, n2 = table
    spread1, spread2 = null.p1 * (1.0 - null.p1), null.p2 * (1.0 - null.p2)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Both samples have the same slope with opposite signs; at a rate of 0 or 1 only the other tells it.
        slopes = (k1 - n1 * null.p1) / spread1, (n2 * null.p2 - k2) / spread2
        slope = np.where(spread1 >= spread2, *slopes)
        slope = np.where(np.isnan(slope), np.where(spread1 >= spread2, *slopes[::-1]), slope)
        pull = np.nan_to_num(slope * contrast, posinf=np.inf, neginf=-np.inf)
        return np.asarray(n1 / np.maximum(n1 + n2 - pull, n1))


def share_surprise(table: TwoRates, share: Floats) -> Floats:
    """The squared score of the share."""
    total = table.n1 + table.n2
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = total * (table.n1 / total - share) ** 2 / (share * (1.0 - share))
    return np.where(np.isnan(squared), 0.0, squared)


def with_share(root: Floats, table: TwoRates, share: Floats, sign: Floats) -> Floats:
    """The root of two rates and of a share together; a root that points the other way is left as it is."""
    together = sign * np.sqrt(root**2 + share_surprise(table, share))
    return np.where(sign * root > 0, together, root)


def tail_with_share(tail: Floats, table: TwoRates, share: Floats) -> Floats:
    """A tail of the two rates, made smaller by how surprising the share is."""
    root = -quantile_of(tail)
    return tail_of(-with_share(root, table, share, np.ones_like(root)))


def _ratio_to_rest(theta: Floats, share: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = theta * (1.0 - share) / (1.0 - theta * share)
    return np.clip(
        np.where(theta * share < 1.0, ratio, np.inf), np.exp(-LOGARITHM_ENDS), np.exp(LOGARITHM_ENDS)
    )


def _least(function: object, low: Floats, high: Floats, observed: Floats) -> tuple[Floats, Floats]:
    """Where a function with one valley is least, and how small it is there; the observed share is tried as well."""
    assert callable(function)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(SECTIONS):
        down = at_left < at_right
        low, high = np.where(down, low, left), np.where(down, right, high)
        middle = np.where(down, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        value = function(middle)
        left, right = np.where(down, middle, right), np.where(down, left, middle)
        at_left, at_right = np.where(down, value, at_right), np.where(down, at_left, value)
    point, least = np.where(at_left < at_right, left, right), np.minimum(at_left, at_right)
    at_observed = function(observed)
    better = at_observed <= least
    return np.where(better, observed, point), np.where(better, at_observed, least)
