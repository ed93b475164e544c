"""Which levels of an attribute are joined, so that no cell of the table by it counts few people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairtrial._audit.cells import Bools, Ints

Parts = list[list[int]]


def few(counts: Ints, limit: int) -> Bools:
    """Which counts are of few people; nobody is not few."""
    return np.asarray((counts > 0) & (counts < limit))


def join_levels(counts: Ints, limit: int, *, in_order: bool = False) -> Parts:
    """Levels (rows of `counts`, one column per kind of case) as parts in which no case has few people.

    Levels that need none stay alone. The others are joined with each other, and only where they do not suffice with
    a larger one; with `in_order` only neighbours are joined. One part alone means that the attribute tells nothing.
    """
    if in_order:
        return _neighbours(counts, limit)
    fine = [level for level in range(len(counts)) if not few(counts[level], limit).any()]
    small = sorted(set(range(len(counts))) - set(fine), key=lambda level: (int(counts[level].sum()), level))
    parts: Parts = [[level] for level in fine]
    open_part: list[int] = []
    for level in small:
        open_part.append(level)
        if _enough(counts, open_part, limit):
            parts.append(open_part)
            open_part = []
    while open_part and parts and not _enough(counts, open_part, limit):
        partner = _partner(counts, open_part, parts, limit)
        parts.remove(partner)
        open_part = partner + open_part
    return sorted(sorted(part) for part in [*parts, open_part] if part)


def _partner(counts: Ints, part: Sequence[int], others: Parts, limit: int) -> list[int]:
    """The smallest part that makes up for what is lacking; the smallest of all where none does."""
    by_size = sorted(others, key=lambda other: (int(counts[other].sum()), other))
    return next((other for other in by_size if _enough(counts, [*part, *other], limit)), by_size[0])


def _neighbours(counts: Ints, limit: int) -> Parts:
    parts: Parts = []
    open_part: list[int] = []
    for level in range(len(counts)):
        open_part.append(level)
        if _enough(counts, open_part, limit):
            parts.append(open_part)
            open_part = []
    while open_part and parts and not _enough(counts, open_part, limit):
        open_part = parts.pop() + open_part
    return [*parts, open_part] if open_part else parts


def _enough(counts: Ints, part: Sequence[int], limit: int) -> bool:
    return not few(counts[list(part)].sum(axis=0), limit).any()
