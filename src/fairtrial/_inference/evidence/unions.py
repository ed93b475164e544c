"""Larger tables from which many small ones are rolled up, so that most passes are over few cells.

Eight attributes of eight values have 56 tables of three. A million finest groups are rolled up to a dozen tables of
five attributes, 32,768 cells each, and those to the 56.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

Attributes = tuple[int, ...]
FEWEST_FINEST = 20_000  # fewer are gone through for every table, without a plan
SHRINKS_BY = 8  # a table in between has at most this part of the finest groups' number
MOST_ATTRIBUTES = 62  # as many as a whole number has bits


def plan_unions(
    wanted: Sequence[Attributes], levels: Sequence[int], finest: int
) -> dict[Attributes, Attributes]:
    """From which table's attributes each wanted table is rolled up; its own where that is the finest groups."""
    plan = {attributes: attributes for attributes in wanted}
    most = finest // SHRINKS_BY
    if len(levels) > MOST_ATTRIBUTES:
        return plan
    small = [attributes for attributes in plan if prod(levels[a] for a in attributes) <= most]
    left = sorted(small, key=lambda attributes: -len(attributes))
    while left:
        masks = np.array([sum(1 << attribute for attribute in one) for one in left], dtype=np.int64)
        union = _grown(left[0], masks, levels, most)
        inside = (masks & ~sum(1 << attribute for attribute in union)) == 0
        if inside.sum() > 1:
            plan.update((one, union) for one, found in zip(left, inside, strict=True) if found)
        left = [one for one, found in zip(left, inside, strict=True) if not found]
    return plan


def _grown(first: Attributes, masks: NDArray[np.int64], levels: Sequence[int], most: int) -> Attributes:
    """The attributes with more of them, each time the one that takes in most of the tables, while there is room."""
    union, bits, size = (
        list(first),
        sum(1 << attribute for attribute in first),
        prod(levels[a] for a in first),
    )
    while True:
        found = [
            (int(((masks & ~(bits | 1 << attribute)) == 0).sum()), -level, -attribute)
            for attribute, level in enumerate(levels)
            if not bits >> attribute & 1 and size * level <= most
        ]
        if not found:
            return tuple(union)
        added = -max(found)[2]
        union.append(added)
        bits |= 1 << added
        size *= levels[added]


def cells_within(union: Attributes, attributes: Attributes, levels: Sequence[int]) -> NDArray[np.int32]:
    """The cell of the smaller table that each cell of the larger one belongs to."""
    code, rest = {}, np.arange(prod(levels[attribute] for attribute in union), dtype=np.int32)
    for attribute in reversed(union):
        rest, code[attribute] = np.divmod(rest, np.int32(levels[attribute]))
    cell = np.zeros(rest.size, dtype=np.int32)
    for attribute in attributes:
        cell = cell * np.int32(levels[attribute]) + code[attribute]
    return cell
