"""Empirical likelihood limits of many groups' means at once: one array per step instead of one solve per group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairtrial.stats.empirical_likelihood import Sample
from fairtrial.stats.roots import ROOT_PRECISION, Floats

# Logarithms cost most; one logarithm of a product of this many factors replaces as many logarithms.
FACTORS = 8
ITERATIONS = 60


def mean_limits_of_many(samples: Sequence[Sample], critical: Floats) -> tuple[Floats, Floats]:
    """Limits of every sample's mean at its own critical value (see `el_mean_limits`), by Newton's method.

    Weights are proportional to 1/(1 + t x); the root of the log ratio is nearly linear in the tilt t.
    """
    table = _Table(samples)
    root = np.sqrt(critical)
    # Tilts stay strictly between zero and the pole where a weight would turn infinite.
    pole = np.stack([-1.0 / table.lowest, -1.0 / table.highest])
    tilt = np.stack([root, -root]) / np.sqrt(table.size * table.variance)
    tilt = np.where(np.abs(tilt) < 0.8 * np.abs(pole), tilt, 0.8 * pole)
    near, far = np.zeros_like(tilt), pole.copy()
    harmonic = np.ones_like(tilt)
    for _ in range(ITERATIONS):
        statistic, slope, harmonic = table.log_ratio(tilt)
        distance = np.sqrt(np.maximum(statistic, 0.0)) - root
        if np.all(np.abs(distance) < ROOT_PRECISION):
            break
        beyond = distance > 0
        near, far = np.where(beyond, near, tilt), np.where(beyond, tilt, far)
        step = tilt - 2.0 * np.sqrt(np.maximum(statistic, 1e-300)) * distance / slope
        inside = (np.abs(step) > np.abs(near)) & (np.abs(step) < np.abs(far)) & (step * pole > 0)
        tilt = np.where(inside, step, 0.5 * (near + far))
    limits = table.mean + (1.0 - harmonic) / (tilt * harmonic)
    return limits[0], limits[1]


class _Table:
    """Centred values of all samples side by side, filled up with zeros, which add nothing to a log ratio."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.size = np.array([sample.size for sample in samples])
        self.mean = np.array([sample.mean for sample in samples])
        self.variance = np.array([sample.variance for sample in samples])
        self.lowest = np.array([sample.centred.min() for sample in samples])
        self.highest = np.array([sample.centred.max() for sample in samples])
        self.plain = all(sample.centred.size == sample.size for sample in samples)
        longest = max(sample.centred.size for sample in samples)
        width = -(-longest // FACTORS)
        # Factors first, so that products run over contiguous blocks.
        self.values = np.zeros((FACTORS, len(samples), width))
        self.counts = np.zeros_like(self.values)
        for index, sample in enumerate(samples):
            padded = np.zeros(FACTORS * width)
            padded[: sample.centred.size] = sample.centred
            self.values[:, index] = padded.reshape(FACTORS, width)
            padded[: sample.centred.size] = sample.counts
            self.counts[:, index] = padded.reshape(FACTORS, width)
        self.empty = FACTORS * width - np.array([sample.centred.size for sample in samples])

    def log_ratio(self, tilt: Floats) -> tuple[Floats, Floats, Floats]:
        """Log ratio, its derivative in the tilt, and the harmonic mean, for both limits of every sample."""
        raised = 1.0 + tilt[:, None, :, None] * self.values
        inverse = 1.0 / raised
        if self.plain:
            product = raised[:, 0] * raised[:, 1]
            for factor in range(2, FACTORS):
                product *= raised[:, factor]
            logs = np.log(product).sum(axis=-1)
            harmonic = inverse.sum(axis=(1, 3)) - self.empty
            pulled = np.einsum("sfgw,fgw->sg", inverse * inverse, self.values)
        else:
            logs = np.einsum("sfgw,fgw->sg", np.log(raised), self.counts)
            harmonic = np.einsum("sfgw,fgw->sg", inverse, self.counts)
            pulled = np.einsum("sfgw,fgw->sg", inverse * inverse, self.values * self.counts)
        harmonic = harmonic / self.size
        statistic = 2.0 * (self.size * np.log(harmonic) + logs)
        slope = 2.0 * (self.size * (1.0 - harmonic) / tilt - pulled / harmonic)
        return statistic, slope, harmonic
