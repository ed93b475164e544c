"""Columns whose values have an order: numbers, bins and ordered categories; and numbers cut into few ordered bins."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairtrial._audit.expressions import bin_labels
from fairtrial._audit.role_expressions import count_numbers
from fairtrial._audit.source import Kind
from fairtrial._labels import MISSING, canonical

if TYPE_CHECKING:
    from fairtrial._audit.audit import Audit


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
