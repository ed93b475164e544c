"""Rates and means from weighted rows and repeated units: the score at the size that the gap's own variance is worth.

With c = (1, -v) the design effect is c' cov c over c^2 p q/n, of the gap itself and not clipped: units that hold both
groups make a gap more certain. Score and skewness bound are taken at sizes n/deff, against Student's t. Over 59 designs
of at least 8 units this misses at most .061 at 95%; t with one less than the units .39, CR2 with t .245.
"""

from __future__ import annotations

import numpy as np

from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.laws import Law, ScaledLaw
from fairtrial._inference.rates.two_rates import (
    LOGARITHM_ENDS,
    Null,
    TwoRates,
    at_null,
    estimate_and_error,
    score_roots,
)
from fairtrial._inference.ways import Scale


class LinearLaw(ScaledLaw):
    """The gap of two weighted rates, or means, with their covariance: arrays of shape (2, groups) and (3, groups)."""

    def __init__(
        self, mean: Floats, size: Floats, covariance: Floats, df: Floats, scale: Scale, *, binary: bool
    ) -> None:
        self.mean, self.size, self.covariance, self.df = mean, size, covariance, df
        self.sides = mean
        self.scale, self.binary = scale, binary
        self.few = np.zeros(df.shape, dtype=bool)
        gap = mean[0] - mean[1]
        if scale == "ratio":
            with np.errstate(divide="ignore", invalid="ignore"):
                gap = np.clip(np.log(mean[0] / mean[1]), -LOGARITHM_ENDS, LOGARITHM_ENDS)
        self.centre = np.nan_to_num(gap)
        self.error = self._error(df.shape)
        end = np.full(df.shape, LOGARITHM_ENDS)
        if scale == "difference":
            end = np.ones(df.shape) if binary else np.abs(self.centre) + 1e6 * self.error
        self.ends = -end, end

    def _error(self, shape: tuple[int, ...]) -> Floats:
        """The standard error at the estimate, of a ratio on the logarithm; of rates never zero."""
        slope = np.ones(shape) if self.scale == "difference" else np.exp(np.clip(self.centre, -30.0, 30.0))
        variance = np.maximum(self._variance(slope), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.sqrt(variance) / (1.0 if self.scale == "difference" else self.mean[0])
        if not self.binary:
            return np.asarray(error)
        _, at_counts = estimate_and_error(self._table(slope), self.scale)
        return np.where((error > 0) & np.isfinite(error), error, at_counts)

    def _variance(self, slope: Floats) -> Floats:
        own, other, both = self.covariance
        return np.asarray(own - 2.0 * slope * both + slope**2 * other)

    def _table(self, slope: Floats) -> TwoRates:
        """Events and people of two plain samples that know the gap as well."""
        rate, size = self.mean, self.size
        plain = rate[0] * (1 - rate[0]) / size[0] + slope**2 * rate[1] * (1 - rate[1]) / size[1]
        variance = self._variance(slope)
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = np.where((variance > 0) & (plain > 0), variance / plain, 1.0)
        first, second = size[0] / effect, size[1] / effect
        return TwoRates(rate[0] * first, first, rate[1] * second, second)

    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        value = self.to_gap(point)
        slope = np.ones(point.shape) if self.scale == "difference" else value
        if not self.binary:
            distance = self.mean[0] - slope * self.mean[1] - (value if self.scale == "difference" else 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                root = np.where(distance == 0, 0.0, distance / np.sqrt(self._variance(slope)))
            return root, root
        score, skewed = score_roots(at_null(self._table(slope), value, self.scale))
        return np.minimum(score, skewed), np.maximum(score, skewed)


class LinearKnownLaw(Law):
    """One weighted rate, or mean, against a known number: the gap is its difference to it, or its ratio."""

    def __init__(
        self, mean: Floats, size: Floats, variance: Floats, df: Floats, target: Floats, scale: Scale, *, binary: bool
    ) -> None:  # fmt: skip
        self.mean, self.size, self.variance, self.df = mean, size, variance, df
        self.target, self.scale, self.binary = target, scale, binary
        self.few = np.zeros(df.shape, dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            plain = mean * (1.0 - mean) / size
            effect = np.where((variance > 0) & (plain > 0), variance / plain, 1.0) if binary else 1.0
        self.effective = size / effect
        half = (self.effective * mean + 0.5) / (self.effective + 1.0)
        spread = (
            np.maximum(variance, half * (1 - half) / self.effective * (variance <= 0)) if binary else variance
        )
        self.centre, self.error = mean, np.sqrt(spread)
        far = 1e6 * self.error
        self.ends = (
            (np.zeros(df.shape), np.ones(df.shape)) if binary else (self.centre - far, self.centre + far)
        )

    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        distance = self.mean - point
        if not self.binary:
            with np.errstate(divide="ignore", invalid="ignore"):
                root = np.where(distance == 0, 0.0, distance / self.error)
            return root, root
        rate = np.clip(point, 0.0, 1.0)
        spread = rate * (1.0 - rate) / self.effective
        third = spread * (1.0 - 2.0 * rate) / self.effective
        nothing = np.zeros(point.shape)
        score, skewed = score_roots(Null(rate, nothing, nothing, distance, spread, third))
        return np.minimum(score, skewed), np.maximum(score, skewed)

    def to_point(self, gap: Floats) -> Floats:
        return self.target + gap if self.scale == "difference" else self.target * gap

    def to_gap(self, point: Floats) -> Floats:
        return point - self.target if self.scale == "difference" else point / self.target
