"""What methods work on: counts per cell, or coded rows. Arrays only."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial._metrics.groups import Group

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Codes = NDArray[np.int32]
Bools = NDArray[np.bool_]
LARGEST_KEY = 2**62


@dataclass(frozen=True, slots=True)
class Coded:
    """A label per row: `labels[codes]`."""

    codes: Codes
    labels: tuple[str, ...]

    def among(self, values: Collection[str]) -> Bools:
        """Which rows have one of the labels."""
        return _among(self.labels, values)[self.codes]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows that were left out of a metric because they lack something.

    `rows` counts those the metric may be about, `ungrouped` those of them without a label of a compared attribute,
    `lacking` those without a role or column that the metric needs, and `needed` names what some rows lack;
    `labels` says what is missing of the ungrouped.
    """

    rows: int
    ungrouped: int
    lacking: int
    needed: tuple[str, ...] = ()
    labels: tuple[str, ...] = ("a group",)

    @property
    def total(self) -> int:
        return self.ungrouped + self.lacking

    @property
    def share(self) -> float:
        return self.total / self.rows if self.rows else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class MetricMoments:
    """Of a metric's value per line: how many, their sum, M2, M3, smallest and largest; and whether it is binary."""

    count: Ints
    total: Floats
    m2: Floats
    m3: Floats
    low: Floats
    high: Floats
    binary: bool = False

    @staticmethod
    def constant(n: Ints, value: Floats, *, binary: bool = False) -> MetricMoments:
        """Lines whose rows all have one value."""
        nothing = np.zeros(len(n))
        return MetricMoments(n, n * value, nothing, nothing, value, value, binary)

    def among(self, given: Bools, *, binary: bool) -> MetricMoments:
        """With nobody in the other lines."""
        sums = (self.total, self.m2, self.m3, self.low, self.high)
        total, m2, m3, low, high = (np.where(given, part, 0.0) for part in sums)
        return MetricMoments(np.where(given, self.count, 0), total, m2, m3, low, high, binary)

    def merged(self, inverse: Any, size: int) -> MetricMoments:
        """Lines merged into `size` new ones, line i into inverse[i]; central sums about the new means."""
        count, total = (
            sum_by(inverse, self.count, size),
            np.bincount(inverse, self.total, size).astype(np.float64),
        )
        mean = np.divide(total, count, out=np.zeros(size), where=count > 0)
        own = np.divide(self.total, self.count, out=np.zeros(len(self.total)), where=self.count > 0)
        away = np.where(self.count > 0, own - mean[inverse], 0.0)
        m2 = np.bincount(inverse, self.m2 + self.count * away**2, size).astype(np.float64)
        third = self.m3 + away * (3.0 * self.m2 + self.count * away**2)
        m3 = np.bincount(inverse, third, size).astype(np.float64)
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        some = self.count > 0
        np.minimum.at(low, inverse[some], self.low[some])
        np.maximum.at(high, inverse[some], self.high[some])
        low, high = np.where(count > 0, low, 0.0), np.where(count > 0, high, 0.0)
        # Equal values do not always have exactly equal means: what is left of them is rounding, not spread.
        varies = low < high
        return MetricMoments(
            count, total, np.where(varies, m2, 0.0), np.where(varies, m3, 0.0), low, high, self.binary
        )


@dataclass(frozen=True, slots=True, eq=False)
class WeightPowers:
    """Per line: sums of powers of the weights, the smallest and the largest weight.

    `powers[:, k]` sums ((weight - centre) / spread)^k; `marks` sums the weights themselves, coarsely and exactly.
    """

    centre: float
    spread: float
    powers: Floats
    low: Floats
    high: Floats
    marks: Floats

    def chosen(self, lines: Bools) -> WeightPowers:
        """With nobody in the other lines."""
        powers = np.where(lines[:, None], self.powers, 0.0)
        marks = np.where(lines, self.marks, 0.0)
        low, high = np.where(lines, self.low, np.inf), np.where(lines, self.high, -np.inf)
        return replace(self, powers=powers, low=low, high=high, marks=marks)

    def merged(self, inverse: Any, size: int) -> WeightPowers:
        """Lines merged into `size` new ones, line i into inverse[i]."""
        powers = np.stack(
            [np.bincount(inverse, column, size).astype(np.float64) for column in self.powers.T], axis=1
        )
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        np.minimum.at(low, inverse, self.low)
        np.maximum.at(high, inverse, self.high)
        marks = np.bincount(inverse, self.marks, size).astype(np.float64)
        return replace(self, powers=powers, low=low, high=high, marks=marks)


class WeightSides(NamedTuple):
    """The weights of those without the event and of those with it."""

    without: WeightPowers
    event: WeightPowers

    @property
    def low(self) -> float:
        return min(float(side.low.min(initial=np.inf)) for side in self)

    @property
    def high(self) -> float:
        return max(float(side.high.max(initial=-np.inf)) for side in self)

    def merged(self, inverse: Any, size: int) -> WeightSides:
        return WeightSides(*(side.merged(inverse, size) for side in self))


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
    m3: dict[str, Floats] = field(default_factory=dict)
    low: dict[str, Floats] = field(default_factory=dict)
    high: dict[str, Floats] = field(default_factory=dict)
    binary: dict[str, bool] = field(default_factory=dict)
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    columns: tuple[str, ...] = ()  # of the source, that all this was counted from
    hashes: Hashes | None = None  # of the values, where the engine has hashed them
    weights: dict[str, WeightSides] = field(default_factory=dict)  # of rates, where they were asked for

    def add(self, metric: str, moments: MetricMoments) -> None:
        """A metric's moments, one per cell."""
        self.count[metric], self.total[metric] = moments.count, moments.total
        self.m2[metric], self.m3[metric] = moments.m2, moments.m3
        self.low[metric], self.high[metric] = moments.low, moments.high
        self.binary[metric] = moments.binary

    def mask(self, group: Group) -> Bools:
        """The cells that belong to the group."""
        inside = np.ones(len(self.rows), dtype=bool)
        for attribute, values in group.where:
            labels = self.labels[attribute]
            inside &= _among(labels, values)[self.codes[:, self.attributes.index(attribute)]]
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
            inside &= self.attributes[attribute].among(values)
        return inside


@dataclass(frozen=True, slots=True, eq=False)
class FeatureMatrix:
    """Features as a numeric matrix: numbers as they are, categories one-hot with every level."""

    matrix: Floats
    names: tuple[str, ...]
    feature_of: Codes
    features: tuple[str, ...]

    def columns_of(self, feature: str) -> NDArray[np.intp]:
        """The matrix columns that stand for one feature."""
        return np.flatnonzero(self.feature_of == self.features.index(feature))


def _among(labels: tuple[str, ...], values: Collection[str]) -> Bools:
    """Per label, whether it is one of the values."""
    return np.array([label in values for label in labels], dtype=bool)


def pool_moments(count: Ints, total: Floats, m2: Floats) -> tuple[int, float, float]:
    """Moments of the union of disjoint cells from those of the cells."""
    n = int(count.sum())
    if n == 0:
        return 0, 0.0, 0.0
    filled = count > 0
    means = total[filled] / count[filled]
    mean = float(total.sum() / n)
    between = float((count[filled] * (means - mean) ** 2).sum())
    pooled = float(m2.sum()) + between
    # equal values do not always have exactly equal means: what is left of them is rounding, not spread
    return n, float(total.sum()), pooled if pooled > n * (1e-12 * mean) ** 2 else 0.0


def digest_of(data: Cells | Rows) -> str:
    """A fingerprint of keys and integer counts (cells) or of the arrays (rows).

    Sums of real values are left out: they depend on the engine and the order of the rows in their last digits. Those of
    weights are rounded to parts that add up exactly.
    """
    content = hashlib.sha256()
    if isinstance(data, Cells):
        lines = [data.codes, data.rows, *[data.roles[name] for name in sorted(data.roles)]]
        content.update(repr(sorted(data.labels.items())).encode())
        lines += [data.count[name] for name in sorted(data.count)]
        lines += [] if data.hashes is None else [data.hashes]
        for name in sorted(data.weights):
            lines += [part for side in data.weights[name] for part in (side.powers[:, 0], side.marks)]
    else:
        lines = [coded.codes for _, coded in sorted(data.attributes.items())]
        for part in (data.roles, data.values, data.given, data.columns):
            lines += [values for _, values in sorted(part.items())]
    for values in lines:
        content.update(np.ascontiguousarray(values).tobytes())
    return content.hexdigest()[:16]


def distinct(keys: list[Any], roles: list[Floats], n: int) -> tuple[Any, Any]:
    """First position and group number of each distinct key, in sorted order."""
    if not keys and not roles:
        return np.zeros(1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    combined, size = np.zeros(n, dtype=np.int64), 1
    for column in [*keys, *[np.unique(values, return_inverse=True)[1] for values in roles]]:
        levels = int(column.max(initial=0)) + 1
        if size * levels >= LARGEST_KEY:
            _, combined = np.unique(combined, return_inverse=True)
            size = n
        combined = combined * levels + column
        size *= levels
    _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
    return first, inverse


def sum_by(inverse: Any, values: Any, size: int) -> Ints:
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, inverse, values.astype(np.int64))
    return total


def sum_hashes(inverse: Any, hashes: Hashes, size: int) -> Hashes:
    """Sums by group; what passes 64 bits falls away."""
    total = np.zeros(size, dtype=np.uint64)
    np.add.at(total, inverse, hashes)
    return total


def atom_of_rows(cells: Cells, rows: Rows) -> Ints:
    """The cell each row belongs to."""
    key, cell_key = np.zeros(rows.n, dtype=np.int64), np.zeros(len(cells.rows), dtype=np.int64)
    for position, name in enumerate(cells.attributes):
        labels = cells.labels[name]
        coded = rows.attributes[name]
        place = np.array([labels.index(label) for label in coded.labels], dtype=np.int64)
        key = key * len(labels) + place[coded.codes]
        cell_key = cell_key * len(labels) + cells.codes[:, position]
    order = np.argsort(cell_key)
    return order[np.searchsorted(cell_key[order], key)]
