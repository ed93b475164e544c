"""The value sets that subgroups are built from: any set of an unordered attribute, ranges of an ordered one."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fairtrial._audit.expressions import bin_labels
from fairtrial._audit.role_expressions import count_numbers
from fairtrial._audit.source import Kind
from fairtrial._labels import MISSING, canonical
from fairtrial._scan.solver.scan_table import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from fairtrial._audit.audit import Audit

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


# -- Columns whose values have an order: numbers, bins and ordered categories; and numbers cut into few
# ordered bins.


@dataclass(frozen=True, slots=True)
class ValueOrder:
    """The labels of a column in their order, the missing ones last; `edges` where they are bins of numbers."""

    labels: tuple[str, ...]
    ordered: bool
    kind: Kind
    edges: tuple[float, ...] = ()
    bins: tuple[str, ...] = ()

    @property
    def apart(self) -> int:
        """How many labels stand apart from the order: missing values."""
        return int(self.ordered and MISSING in self.labels)

    def range_text(self, first: str, last: str) -> str:
        """The values from one label to another, in words.

        >>> order = ValueOrder(("a", "b", "c"), True, "text")
        >>> order.range_text("a", "c"), order.range_text("b", "b")
        ('a to c', 'b')
        """
        if not self.edges:
            return first if first == last else f"{first} to {last}"
        low, high = self.bins.index(first), self.bins.index(last) + 1
        ends = [self.edges[place] for place in (low - 1, high - 1) if 0 <= place < len(self.edges)]
        if low == 0 and high == len(self.bins):
            return "any number"
        merged = bin_labels(ends, self.kind)
        return merged[0 if low == 0 else 1].replace("–", " to ")


def value_order(audit: Audit, name: str, labels: Sequence[str]) -> ValueOrder:
    """The labels that are in the data, in the order that their column has; sorted as texts where it has none."""
    kind = audit.kind(name)
    if name in audit.roles.joined or name in audit.roles.merge:
        return ValueOrder(tuple(labels), False, kind)
    if name in audit.bins:
        edges = tuple(audit.bin_edges(name))
        bins = tuple(bin_labels(edges, kind))
        return ValueOrder(_in_order(labels, bins), True, kind, edges, bins)
    if kind in ("int", "float"):
        known = sorted((label for label in labels if label != MISSING), key=float)
        return ValueOrder(_in_order(labels, known), True, kind)
    categories = audit.source.categories(name)
    if categories:
        return ValueOrder(_in_order(labels, [canonical(value) for value in categories]), True, kind)
    return ValueOrder(tuple(labels), False, kind)


def coarser(fine: ValueOrder, edges: tuple[float, ...]) -> tuple[ValueOrder, list[int]]:
    """Bins joined to those between fewer edges, and the number of the bin that each of the fine ones is in."""
    bins = tuple(bin_labels(edges, fine.kind))
    lowest = dict(zip(fine.bins, (-math.inf, *fine.edges), strict=True))
    place = {label: bisect_right(edges, low) for label, low in lowest.items()}
    present = sorted({place[label] for label in fine.labels if label != MISSING})
    labels = (*(bins[number] for number in present), *((MISSING,) if MISSING in fine.labels else ()))
    number = [len(present) if label == MISSING else present.index(place[label]) for label in fine.labels]
    return ValueOrder(labels, True, fine.kind, edges, bins), number


def _in_order(labels: Sequence[str], order: Sequence[str]) -> tuple[str, ...]:
    place = {label: i for i, label in enumerate(order)}
    return tuple(sorted(labels, key=lambda label: (place.get(label, len(place)), label)))


def with_numbers_cut(
    audit: Audit, attributes: Sequence[str], bins: int, parts: int
) -> tuple[Audit, dict[str, tuple[float, ...]]]:
    """The audit with numbers of more than `bins` different values cut at their quantiles, and where they are cut.

    Each bin is cut into up to `parts` once more, so that people of one bin can still be told apart; the edges given
    back are those of the bins. Columns that the audit cuts already stay as they are.
    """
    numbers = [name for name in attributes if name not in audit.bins and audit.kind(name) in ("int", "float")]
    many = [name for name in numbers if count_numbers(audit, name) > bins]
    if not many:
        return audit, {}
    edges: dict[int, dict[str, list[float]]] = {}
    for count in (bins, bins * parts):
        other = audit.with_roles(bins={**audit.bins, **dict.fromkeys(many, count)})
        edges[count] = {name: _readable(other.bin_edges(name), audit.kind(name)) for name in many}
    finest = {name: sorted({*edges[bins][name], *edges[bins * parts][name]}) for name in many}
    return audit.with_roles(bins={**audit.bins, **finest}), {name: tuple(edges[bins][name]) for name in many}


def _readable(edges: list[float], kind: Kind) -> list[float]:
    """Whole numbers for whole numbers, which parts the same people; three digits where they tell the edges apart."""
    whole = [math.ceil(edge) if kind == "int" else edge for edge in edges]
    for cuts in ([float(f"{edge:.3g}") for edge in whole], whole):
        if len(set(cuts)) == len(edges):
            return [float(edge) for edge in cuts]
    return sorted({float(edge) for edge in whole})
