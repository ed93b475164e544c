"""The value sets that subgroups are built from: any set of an unordered attribute, ranges of an ordered one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairtrial._scan.solver.scan_table import BoolArray, FloatArray, IntArray

# An unordered attribute of more values is solved rather than enumerated, where it is the only one.
MOST_ENUMERATED = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attribute:
    """One searched attribute: how many values, whether their order means anything, and how many stand apart.

    The values that stand apart from the order (missing ones) come last; a range never holds them and a
    value of the order together, unless it holds everybody.
    """

    values: int
    ordered: bool = False
    apart: int = 0

    @property
    def count(self) -> float:
        """How many sets of values there are."""
        if not self.ordered:
            return 2.0**self.values - 1.0
        inner = self.values - self.apart
        return inner * (inner + 1) / 2.0 + (2.0 if self.apart else 0.0)

    def sets(self) -> BoolArray:
        """Every set of values as a row; all values first."""
        if self.ordered:
            return self._ranges()
        numbers = np.arange(2**self.values - 1, 0, -1)
        return np.asarray((numbers[:, None] >> np.arange(self.values)) & 1, dtype=np.bool_)

    def _ranges(self) -> BoolArray:
        inner, place = self.values - self.apart, np.arange(self.values)
        rows = [np.ones(self.values, dtype=np.bool_)]
        for length in range(inner, 0, -1):
            for low in range(inner - length + 1):
                if length < self.values:
                    rows.append((place >= low) & (place < low + length))
        if self.apart and inner:
            rows.append(place >= inner)
        return np.array(rows)

    def listed(self, sets: BoolArray) -> IntArray:
        """What each set costs in penalties: a restricted range one, a set as many as it has values, all none."""
        size = sets.sum(axis=-1)
        cost = np.ones_like(size) if self.ordered else size
        return np.where(size == self.values, 0, cost).astype(np.int64)


def attributes_of(
    arity: IntArray, ordered: BoolArray | None = None, apart: IntArray | None = None
) -> tuple[Attribute, ...]:
    """The attributes with these numbers of values."""
    in_order = np.zeros(len(arity), dtype=np.bool_) if ordered is None else ordered
    beside = np.zeros(len(arity), dtype=np.int64) if apart is None else apart
    return tuple(
        Attribute(values=int(values), ordered=bool(order), apart=int(out))
        for values, order, out in zip(arity, in_order, beside, strict=True)
    )


def usual_price(attributes: tuple[Attribute, ...]) -> float:
    """What a listed value costs unless a price is given: 1, or ½ ln k for an unordered attribute of k > 7 values.

    Luck lists some of many values whatever they are worth; at a price of c it lists about k·exp(−c) of k. Fifteen
    attributes of up to 50 values, 3,000 people, five kinds of planted bias: found in 58% to 78% of 40 to 100 data sets
    at a price of 1, in 78% to 88% at 2; one attribute of 20 values among six: 88% at 1, 85% at 1.5.
    """
    most = max((one.values for one in attributes if not one.ordered), default=1)
    return max(1.0, 0.5 * float(np.log(most)))


def subgroup_count(attributes: tuple[Attribute, ...], depth: int | None = None) -> float:
    """How many subgroups there are; with `depth` 2 only those that restrict at most two attributes."""
    counts = np.array([attribute.count for attribute in attributes])
    if depth is None:
        return float(np.prod(counts))
    proper = counts - 1.0
    pairs = (proper.sum() ** 2 - (proper**2).sum()) / 2.0
    return float(1.0 + proper.sum() + pairs)


def best_sets(gain: FloatArray, variance: FloatArray, penalty: float) -> tuple[FloatArray, BoolArray]:
    """The best set of values of one unordered attribute, for many problems at once (values on the last axis).

    For a fixed θ the best set holds the values with θ·T − θ²·V/2 > penalty; it changes only where a value enters or
    leaves, so one set per such θ has to be looked at, and "all values, no penalty" besides.
    Returns the score without other attributes' penalties, and the values.
    """
    gain, variance = np.broadcast_arrays(gain, variance)
    inside = np.sqrt(np.maximum(gain**2 - 2.0 * penalty * variance, 0.0))
    worth = (gain > 0.0) & (variance > 0.0) & (gain**2 > 2.0 * penalty * variance)
    spread = np.where(worth, variance, 1.0)
    enter = np.where(worth, (gain - inside) / spread, np.inf)
    leave = np.where(worth, (gain + inside) / spread, np.inf)
    order = np.argsort(np.concatenate([enter, leave], axis=-1), axis=-1, kind="stable")
    values = gain.shape[-1]
    sign = np.where(order < values, 1.0, -1.0) * np.take_along_axis(worth, order % values, axis=-1)
    total = np.cumsum(sign * np.take_along_axis(gain, order % values, axis=-1), axis=-1)
    spreads = np.cumsum(sign * np.take_along_axis(variance, order % values, axis=-1), axis=-1)
    held = np.cumsum(sign, axis=-1)
    scores = np.where(held > 0.5, scored(total, spreads) - penalty * held, -np.inf)
    place = scores.argmax(axis=-1)[..., None]
    best = np.take_along_axis(scores, place, axis=-1)[..., 0]
    everyone = scored(gain.sum(axis=-1), variance.sum(axis=-1))
    rank = np.argsort(order, axis=-1, kind="stable")
    chosen = worth & (rank[..., :values] <= place) & (rank[..., values:] > place)
    use_all = everyone >= best - 1e-9 * (1.0 + np.abs(everyone))
    return np.where(use_all, everyone, best), chosen | use_all[..., None]


def scored(gain: FloatArray, variance: FloatArray) -> FloatArray:
    """F = T²/(2V) where T is on the asked side, else 0."""
    above = np.maximum(gain, 0.0)
    answer = np.zeros(np.broadcast(gain, variance).shape)
    np.divide(above**2, 2.0 * variance, out=answer, where=variance > 1e-12)
    return answer


# -- What a search finds, whatever the score.
Direction = Literal["above", "below"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundSubgroup:
    """A subgroup: `values[j, v]` says whether value v of attribute j is admitted.

    `tested` is false for one from a climb beyond the subgroups that data and draws were searched over.
    """

    score: float
    theta: float
    listed: int
    direction: Direction
    values: BoolArray
    tested: bool = True
