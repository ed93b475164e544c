"""What a group's mean is inferred from without its rows: n, mean, M2, M3 and the two extreme values.

M2 and M3 are sums of squared and cubed deviations from the mean; they merge exactly. The skewness of the mean, λ,
counts the values that carry it: about 1/λ² of them (with rare events: the events).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairtrial._inference.numeric.roots import Floats

# With two values nothing is known of their shape.
FEWEST_FOR_SHAPE = 3


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Per group: size, mean, M2, M3, smallest and largest value."""

    n: Floats
    mean: Floats
    m2: Floats
    m3: Floats
    low: Floats
    high: Floats

    @staticmethod
    def of_values(groups: Sequence[Floats]) -> Sums:
        """The sums of every group's values; zeros of a group without values."""
        return Sums(*np.array([_sums_of(np.asarray(values, dtype=np.float64)) for values in groups]).T)

    @property
    def varies(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Whether there is a shape to infer from."""
        return (self.n >= FEWEST_FOR_SHAPE) & (self.low < self.high) & (self.m2 > 0)

    @property
    def error(self) -> Floats:
        """s, the standard error of the mean."""
        return np.sqrt(self.m2 / np.maximum(self.n - 1.0, 1.0) / np.maximum(self.n, 1.0))

    @property
    def skewness(self) -> Floats:
        """λ, the skewness of the mean, between -1 and 1."""
        n = np.maximum(self.n, FEWEST_FOR_SHAPE)
        return np.sqrt(n * (n - 1.0)) / (n - 2.0) * self._per_cube(self.m3)

    @property
    def largest(self) -> Floats:
        """h, what the largest value alone gives to the skewness."""
        return self._per_cube((self.high - self.mean) ** 3)

    @property
    def smallest(self) -> Floats:
        """l, what the smallest value alone takes from the skewness."""
        return self._per_cube((self.mean - self.low) ** 3)

    @property
    def shape(self) -> Floats:
        """γ, the skewness of the values."""
        return np.sqrt(self.n) * self.skewness

    def _per_cube(self, third: Floats) -> Floats:
        scale = np.where(self.varies, self.m2, 1.0)
        return np.where(self.varies, third / (scale * np.sqrt(scale)), 0.0)


def _sums_of(values: Floats) -> tuple[float, ...]:
    if values.size == 0:
        return (0.0,) * 6
    mean = float(values.mean())
    distance = values - mean
    # Equal values do not always have exactly their own mean: what is left of them is rounding.
    if values.min() == values.max():
        return float(values.size), float(values[0]), 0.0, 0.0, float(values[0]), float(values[0])
    square = distance * distance
    third = float(square @ distance)
    return float(values.size), mean, float(square.sum()), third, float(values.min()), float(values.max())


def common_shape(one: Sums, other: Sums) -> Floats:
    """γ_P of two samples, the skewness of their values about their own means."""
    spare = np.maximum(one.n - 1.0, 0.0) + np.maximum(other.n - 1.0, 0.0)
    return _common(one.m3 + other.m3, one.m2 + other.m2, _cubes(one.n) + _cubes(other.n), spare)


def shape_of_all(groups: Sums) -> float:
    """γ_P over all groups of the arrays."""
    spare = np.maximum(groups.n - 1.0, 0.0).sum()
    return float(_common(groups.m3.sum(), groups.m2.sum(), _cubes(groups.n).sum(), spare))


def _cubes(n: Floats) -> Floats:
    return np.maximum((n - 1.0) * (n - 2.0), 0.0) / np.maximum(n, 1.0)


def _common(third: Floats, second: Floats, cubes: Floats, spare: Floats) -> Floats:
    told = (np.asarray(second) > 0) & (np.asarray(cubes) > 0)
    variance = np.where(told, second / np.where(told, spare, 1.0), 1.0)
    return np.where(told, third / np.where(told, cubes, 1.0) / variance**1.5, 0.0)
