"""Empirical likelihood limits of many groups' means at once: one array per step instead of one solve per group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial.stats.empirical_likelihood import Sample
from fairtrial.stats.roots import Floats

# Logarithms cost most; one logarithm of a product of this many factors replaces as many logarithms.
FACTORS = 8
ITERATIONS = 60
# A Newton step from here lands within the square of it, far below any digit shown.
NEAR_ENOUGH = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class SideBySide:
    """Centred values of all groups, one line each, filled up with zeros, which add nothing to a log ratio."""

    values: Floats
    counts: Floats | None
    size: Floats
    mean: Floats
    empty: Floats

    @staticmethod
    def of_rows(groups: Sequence[Floats]) -> SideBySide:
        """One value per row."""
        size = np.array([float(group.size) for group in groups])
        table, empty = _filled(np.concatenate(groups), size)
        mean = table.sum(axis=1) / size
        table -= mean[:, None]
        table[np.arange(table.shape[1]) >= size[:, None]] = 0.0
        return SideBySide(table, None, size, mean, empty)

    @staticmethod
    def of_samples(samples: Sequence[Sample]) -> SideBySide:
        """Distinct values with their counts."""
        points = np.array([float(sample.centred.size) for sample in samples])
        size = np.array([sample.size for sample in samples])
        mean = np.array([sample.mean for sample in samples])
        table, empty = _filled(np.concatenate([sample.centred for sample in samples]), points)
        if np.array_equal(points, size):
            return SideBySide(table, None, size, mean, empty)
        counts, _ = _filled(np.concatenate([sample.counts for sample in samples]), points)
        return SideBySide(table, counts, size, mean, empty)

    def moments(self) -> tuple[Floats, Floats, Floats]:
        """Second, third and fourth central moment of every group."""
        weighted = self.values if self.counts is None else self.values * self.counts
        square = self.values * self.values
        found = [
            np.einsum("gl,gl->g", weighted, power) for power in (self.values, square, square * self.values)
        ]
        return found[0] / self.size, found[1] / self.size, found[2] / self.size

    def log_ratio(self, tilt: Floats) -> tuple[Floats, Floats, Floats]:
        """Log ratio, its derivative in the tilt, and the mean of 1/(1 + t x), for both limits of every group."""
        # At a pole a weight is infinite, and so is the ratio; the search then turns back.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            statistic, slope, harmonic = self._log_ratio(tilt)
        return np.where(np.isnan(statistic), np.inf, statistic), slope, harmonic

    def _log_ratio(self, tilt: Floats) -> tuple[Floats, Floats, Floats]:
        raised = tilt[:, :, None] * self.values
        raised += 1.0
        inverse = 1.0 / raised
        if self.counts is None:
            parts = raised.reshape(2, self.size.size, FACTORS, -1)
            product = parts[:, :, 0] * parts[:, :, 1]
            for factor in range(2, FACTORS):
                product *= parts[:, :, factor]
            logs = np.log(product, out=product).sum(axis=-1)
            harmonic = inverse @ np.ones(inverse.shape[-1]) - self.empty
        else:
            logs = np.einsum("sgl,gl->sg", np.log(raised), self.counts)
            harmonic = np.einsum("sgl,gl->sg", inverse, self.counts)
        harmonic /= self.size
        inverse *= inverse
        if self.counts is not None:
            inverse *= self.counts
        pulled = np.einsum("sgl,gl->sg", inverse, self.values)
        statistic = 2.0 * (self.size * np.log(harmonic) + logs)
        slope = 2.0 * (self.size * (1.0 - harmonic) / tilt - pulled / harmonic)
        return statistic, slope, harmonic


def _filled(flat: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Groups as lines of one table, and how many places of each stay empty."""
    width = FACTORS * -(-int(sizes.max()) // FACTORS)
    table = np.zeros((sizes.size, width))
    table[np.arange(width) < sizes[:, None]] = flat
    return table, width - sizes


def mean_limits_of_many(groups: SideBySide, critical: Floats) -> tuple[Floats, Floats]:
    """Limits of every group's mean at its own critical value (see `el_mean_limits`); NaN without variation.

    Weights are proportional to 1/(1 + t x). The root of the log ratio is nearly linear in the tilt t, and its expansion
    to third order starts the search so close that two of Newton's steps suffice.
    """
    root = np.sqrt(critical)
    ends = np.stack([groups.values.min(axis=1), groups.values.max(axis=1)])
    constant = ends[0] >= ends[1]
    # Tilts stay strictly between zero and the pole where a weight would turn infinite.
    pole = -1.0 / np.where(constant, np.array([[-1.0], [1.0]]), ends)
    tilt = _first_tilt(groups, root, pole, constant)
    near, far = np.zeros_like(tilt), pole.copy()
    for _ in range(ITERATIONS):
        statistic, slope, harmonic = groups.log_ratio(tilt)
        size = np.sqrt(np.maximum(statistic, 1e-300))
        distance = size - root
        if np.all((np.abs(distance) < NEAR_ENOUGH) | constant):
            break
        beyond = distance > 0
        near, far = np.where(beyond, near, tilt), np.where(beyond, tilt, far)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = tilt - 2.0 * size * distance / slope
        inside = (np.abs(step) > np.abs(near)) & (np.abs(step) < np.abs(far)) & (step * pole > 0)
        tilt = np.where(inside, step, 0.5 * (near + far))
    with np.errstate(invalid="ignore"):
        limits = groups.mean + (1.0 - harmonic) / (tilt * harmonic)
    # The log ratio falls by 2 n lambda per unit of the mean (eq. C.2): one last step without another pass.
    limits = limits + np.where(np.isfinite(statistic), statistic - critical, 0.0) / (
        2.0 * groups.size * tilt * harmonic
    )
    limits[:, constant] = np.nan
    return limits[0], limits[1]


def _first_tilt(groups: SideBySide, root: Floats, pole: Floats, constant: NDArray[np.bool_]) -> Floats:
    """Invert root = sqrt(n) s (t + a t^2 + b t^3), the expansion of the log ratio's root.

    The log ratio is n (m2 t^2 - 4/3 m3 t^3 + (3/2 m4 - m2^2) t^4 - ...) in the central moments.
    """
    variance, third, fourth = groups.moments()
    variance = np.where(constant, 1.0, variance)
    plain = root / np.sqrt(groups.size * variance)
    signed = np.stack([plain, -plain])
    cubic, quartic = -4.0 * third / (3.0 * variance), (1.5 * fourth - variance**2) / variance
    a, b = cubic / 2.0, quartic / 2.0 - cubic**2 / 8.0
    tilt = signed - a * signed**2 + (2.0 * a**2 - b) * signed**3
    trusted = (tilt * pole > 0) & (np.abs(tilt) < 0.7 * np.abs(pole)) & (np.abs(tilt) < 3.0 * np.abs(signed))
    return np.where(trusted, tilt, np.where(np.abs(signed) < 0.7 * np.abs(pole), signed, 0.7 * pole))
