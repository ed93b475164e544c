"""What methods work on: counts per cell, or coded rows. Arrays only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairtrial.groups import Group

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Coded:
    """A label per row: `labels[codes]`."""

    codes: Codes
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """One line per distinct combination of attributes (and of roles, where asked for), sorted by labels."""

    attributes: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]
    codes: Codes
    rows: Ints
    roles: dict[str, Floats] = field(default_factory=dict)
    count: dict[str, Ints] = field(default_factory=dict)
    total: dict[str, Floats] = field(default_factory=dict)
    m2: dict[str, Floats] = field(default_factory=dict)
    binary: dict[str, bool] = field(default_factory=dict)

    def mask(self, group: Group) -> Bools:
        """The cells that belong to the group."""
        inside = np.ones(len(self.rows), dtype=bool)
        for attribute, values in group.where:
            labels = self.labels[attribute]
            wanted = [labels.index(value) for value in values if value in labels]
            inside &= np.isin(self.codes[:, self.attributes.index(attribute)], wanted)
        return inside

    def moments(self, metric: str, inside: Bools) -> tuple[int, float, float]:
        """n, sum and sum of squared deviations of the metric's value over the cells inside."""
        return pool_moments(self.count[metric][inside], self.total[metric][inside], self.m2[metric][inside])


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Columns as arrays, one entry per row, in the audit's defined order."""

    n: int
    attributes: dict[str, Coded] = field(default_factory=dict)
    roles: dict[str, Floats] = field(default_factory=dict)
    values: dict[str, Floats] = field(default_factory=dict)
    given: dict[str, Bools] = field(default_factory=dict)
    columns: dict[str, Floats] = field(default_factory=dict)
    digest: str = ""

    def mask(self, group: Group) -> Bools:
        """The rows that belong to the group."""
        inside = np.ones(self.n, dtype=bool)
        for attribute, values in group.where:
            coded = self.attributes[attribute]
            wanted = [coded.labels.index(value) for value in values if value in coded.labels]
            inside &= np.isin(coded.codes, wanted)
        return inside


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Features as a numeric matrix: numbers as they are, categories one-hot with every level."""

    matrix: Floats
    names: tuple[str, ...]
    feature_of: Codes
    features: tuple[str, ...]

    def columns_of(self, feature: str) -> NDArray[np.intp]:
        """The matrix columns that stand for one feature."""
        return np.flatnonzero(self.feature_of == self.features.index(feature))


def pool_moments(count: Ints, total: Floats, m2: Floats) -> tuple[int, float, float]:
    """Moments of the union of disjoint cells from those of the cells."""
    n = int(count.sum())
    if n == 0:
        return 0, 0.0, 0.0
    filled = count > 0
    means = total[filled] / count[filled]
    mean = float(total.sum() / n)
    between = float((count[filled] * (means - mean) ** 2).sum())
    return n, float(total.sum()), float(m2.sum()) + between


def code_labels(columns: Mapping[str, Coded]) -> tuple[Codes, dict[str, tuple[str, ...]]]:
    """Stack coded columns beside each other."""
    codes = np.column_stack([coded.codes for coded in columns.values()]).astype(np.int32)
    return codes, {name: coded.labels for name, coded in columns.items()}
