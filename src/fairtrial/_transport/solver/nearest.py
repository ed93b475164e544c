"""The sorted distances of the rows of one class, whether each stands for one row or for many with the same score."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Nearest:
    """Rows from the nearest to the farthest; `count` rows have the same distance, one where none is given."""

    def __init__(self, values: Floats, count: Integers | None = None) -> None:
        self.values = values
        self.ends = None if count is None else np.cumsum(count)
        self.size = values.size if self.ends is None else int(self.ends[-1]) if values.size else 0

    @property
    def counts(self) -> Integers:
        """How many rows have each of the values."""
        if self.ends is None:
            return np.ones(self.values.size, dtype=np.int64)
        return np.diff(self.ends, prepend=0)

    def scaled(self, unit: float) -> Nearest:
        """The same rows, in other units."""
        other = Nearest(self.values / unit)
        other.ends, other.size = self.ends, self.size
        return other

    def at(self, place: int) -> float:
        """The distance of the row at this place."""
        return float(self.values[place if self.ends is None else self.ends.searchsorted(place, "right")])

    def below(self, distance: ArrayLike, side: Literal["left", "right"] = "left") -> Integers:
        """How many rows are nearer than each distance; with "right" those at it, too."""
        place = np.asarray(self.values.searchsorted(distance, side), dtype=np.int64)
        return place if self.ends is None else np.concatenate([[0], self.ends])[place]

    @cached_property
    def _totals(self) -> Floats:
        """Sums of the distances up to each of the values."""
        weighted = self.values if self.ends is None else self.values * self.counts
        return np.concatenate([[0.0], np.cumsum(weighted)])

    def paid(self, rows: ArrayLike) -> Floats:
        """The sum of the distances of so many rows, the nearest first; a part of a row pays a part."""
        wanted = np.minimum(np.asarray(rows, dtype=np.float64), float(self.size))
        if not self.size:
            return np.zeros_like(wanted)
        whole = np.floor(wanted).astype(np.int64)
        if self.ends is None:
            last = np.minimum(whole, self.size - 1)
            return np.asarray(self._totals[whole] + (wanted - whole) * self.values[last])
        run = np.minimum(self.ends.searchsorted(whole, "right"), self.values.size - 1)
        start = np.where(run > 0, self.ends[run - 1], 0)
        return np.asarray(self._totals[run] + (wanted - start) * self.values[run])


class Prices:
    """What the next row costs, at any place of several classes' rows laid end to end."""

    def __init__(self, pieces: list[Floats], counts: list[Integers] | None) -> None:
        self.values = np.concatenate(pieces)
        self.ends = None if counts is None else np.cumsum(np.concatenate(counts))

    def at(self, places: Integers) -> Floats:
        """The prices at these places."""
        return np.asarray(
            self.values[places if self.ends is None else self.ends.searchsorted(places, "right")]
        )
