"""Sums by the values of every two or three attributes, from few tables of more attributes than that.

A table of five short attributes holds ten tables of two of them and ten of three: one pass over the cells makes them
all. Such tables are kept so small that they stay at hand while the cells go by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations, permutations
from math import inf, prod
from typing import NamedTuple

import numpy as np

from fairtrial._scan.solver.scan_table import Codes, FloatArray, IntArray, Keys
from fairtrial._work.compiled import njit

Attributes = tuple[int, ...]
AT_ONCE = 4_096  # cells whose numbers are gone through before the next ones are
TOGETHER = 500_000  # numbers of the tables that are made in one pass


@lru_cache(maxsize=16)
def joint_sets(
    arity: tuple[int, ...], order: int, most: int, largest: float = inf
) -> dict[Attributes, list[Attributes]]:
    """Sets of attributes with at most `most` combinations of values, and which tables of `order` are taken from each.

    Every table of at most `largest` combinations is taken from one set, which for a larger one than `most` is its own.
    Largest first, and each set takes in the attributes that bring most new tables for their length.
    """
    count, length = len(arity), np.log1p(arity)
    tables = [own for own in combinations(range(count), order) if _size(arity, own) <= largest]
    missing = np.zeros((count,) * order, dtype=np.bool_)
    for own in tables:
        for place in permutations(own):
            missing[place] = True
    found: dict[Attributes, list[Attributes]] = {}
    for own in sorted(tables, key=lambda one: -_size(arity, one)):
        if not missing[own]:
            continue
        taken = own
        while True:
            new = missing[np.ix_(*[taken] * (order - 1))].reshape(-1, count).sum(axis=0) / length
            new[list(taken)] = 0.0
            new[_size(arity, taken) * np.array(arity) > most] = 0.0
            if not new.any():
                break
            taken = (*taken, int(new.argmax()))
        taken = tuple(sorted(taken))
        found[taken] = [one for one in combinations(taken, order) if missing[one]]
        missing[np.ix_(*[taken] * order)] = False
    return found


def _size(arity: tuple[int, ...], own: Attributes) -> int:
    return prod(arity[j] for j in own)


class Joint(NamedTuple):
    """Sets of attributes one after the other: which they are, where each set ends, and where its table does."""

    arity: IntArray
    attributes: IntArray
    ends: IntArray
    table_ends: IntArray

    @classmethod
    def of(cls, arity: tuple[int, ...], sets: list[Attributes]) -> Joint:
        return cls(
            arity=np.array(arity, dtype=np.int64),
            attributes=np.array([j for own in sets for j in own], dtype=np.int64),
            ends=np.cumsum([0, *(len(own) for own in sets)]),
            table_ends=np.cumsum([0, *(_size(arity, own) for own in sets)]),
        )


def tables_of(
    codes: Codes, arity: tuple[int, ...], sets: dict[Attributes, list[Attributes]], numbers: FloatArray
) -> Iterator[tuple[Attributes, FloatArray]]:
    """Every table that is taken from the sets; its last axis are the rows of `numbers`, at most four."""
    rows = np.ascontiguousarray(numbers)
    width = 2 if len(rows) <= 2 else 4
    add: Callable[..., None] = _add_two if width == 2 else _add_four
    filled_up = [rows[min(row, len(rows) - 1)] for row in range(width)]
    for part in _parts(arity, list(sets), TOGETHER // width):
        joint = Joint.of(arity, part)
        sums = np.zeros((joint.table_ends[-1], width))
        add(codes.T, joint, *filled_up, sums)
        for place, own in enumerate(part):
            table = sums[joint.table_ends[place] : joint.table_ends[place + 1], : len(rows)]
            table = table.reshape(*(arity[j] for j in own), len(rows))
            axes = {attribute: axis for axis, attribute in enumerate(own)}
            for some in sets[own]:
                yield some, np.einsum(table, [*range(len(own) + 1)], [*(axes[j] for j in some), len(own)])


def _parts(arity: tuple[int, ...], sets: list[Attributes], most: int) -> Iterator[list[Attributes]]:
    """Sets whose tables are made together."""
    part: list[Attributes] = []
    size = 0
    for own in sets:
        if part and size + _size(arity, own) > most:
            yield part
            part, size = [], 0
        part.append(own)
        size += _size(arity, own)
    if part:
        yield part


@njit
def keys(codes: Codes, joint: Joint, place: int, begin: int, key: Keys) -> None:
    """Where each of the cells from `begin` on is in the table of a set."""
    last = min(begin + key.shape[0], codes.shape[1])
    key[:] = 0
    for j in joint.attributes[joint.ends[place] : joint.ends[place + 1]]:
        width, own = np.uint32(joint.arity[j]), codes[j, begin:last]
        for cell in range(last - begin):
            key[cell] = np.uint32(key[cell] * width + own[cell])


@njit
def _add_two(codes: Codes, joint: Joint, first: FloatArray, second: FloatArray, sums: FloatArray) -> None:
    """Add two numbers of each cell to the tables of all sets."""
    key = np.empty(AT_ONCE, dtype=np.uint32)
    for begin in range(0, codes.shape[1], AT_ONCE):
        a, b = first[begin : begin + AT_ONCE], second[begin : begin + AT_ONCE]
        for place in range(joint.ends.shape[0] - 1):
            keys(codes, joint, place, begin, key)
            table = sums[joint.table_ends[place] : joint.table_ends[place + 1]]
            for cell in range(a.shape[0]):
                row = table[key[cell]]
                row[0] += a[cell]
                row[1] += b[cell]


@njit
def _add_four(
    codes: Codes,
    joint: Joint,
    first: FloatArray,
    second: FloatArray,
    third: FloatArray,
    fourth: FloatArray,
    sums: FloatArray,
) -> None:
    """The same with four numbers."""
    key = np.empty(AT_ONCE, dtype=np.uint32)
    for begin in range(0, codes.shape[1], AT_ONCE):
        last = begin + AT_ONCE
        a, b, c, d = first[begin:last], second[begin:last], third[begin:last], fourth[begin:last]
        for place in range(joint.ends.shape[0] - 1):
            keys(codes, joint, place, begin, key)
            table = sums[joint.table_ends[place] : joint.table_ends[place + 1]]
            for cell in range(a.shape[0]):
                row = table[key[cell]]
                row[0] += a[cell]
                row[1] += b[cell]
                row[2] += c[cell]
                row[3] += d[cell]
