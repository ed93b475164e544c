"""Which finest groups each of many compared groups contains, without the matrix of both.

Groups made by crossing attributes are a lattice: all groups of the same attributes part everyone between them, so that
their sums are one table, rolled up from the finest groups in one pass. Eight attributes of five values crossed by three
are 7,740 groups of up to 390,625 finest ones: a matrix of three billion entries, or 92 small tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.evidence import unions
from fairtrial._inference.evidence.unions import Attributes
from fairtrial._inference.means.skewed_means import Sums
from fairtrial._inference.numeric.roots import Bools, Floats

Side = Literal["inside", "outside", "alike"]
# A group as (attribute, codes of its admitted values) pairs.
Where = Sequence[tuple[int, Sequence[int]]]
# Tables of more cells than this are not made for a few groups' sake.
MOST_CELLS = 5_000_000


class Finest(Protocol):
    """What is rolled up: the finest groups' own sums, and those of some unions of them."""

    @property
    def binary(self) -> bool: ...

    @property
    def finest(self) -> Sums: ...

    def sums(self, member: Bools) -> Sums: ...


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Groups of the same attributes, one value each: where they stand among all groups, and their cells of a table."""

    attributes: Attributes
    place: NDArray[np.int64]
    cell: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """The finest groups' codes, one column per attribute, and the groups that are unions of them.

    Groups that admit several values of an attribute are few, since somebody lists them: `loose` holds their finest
    groups row by row, at the places `loose_place`.
    """

    codes: NDArray[np.integer]
    levels: tuple[int, ...]
    blocks: tuple[Block, ...]
    loose: Bools
    loose_place: NDArray[np.int64]
    groups: int
    kept: dict[Any, Any] = field(
        default_factory=dict
    )  # tables rolled up so far, with what they were made from

    @classmethod
    def of(cls, codes: NDArray[np.integer], levels: Sequence[int], groups: Sequence[Where]) -> Lattice:
        """The lattice of these groups, each a list of (attribute, codes of admitted values)."""
        by_attributes: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        loose: list[tuple[int, Bools]] = []
        for place, where in enumerate(groups):
            cell = _cell(where, levels)
            if cell is None:
                loose.append((place, _mask(codes, where)))
            else:
                attributes = tuple(attribute for attribute, _ in where)
                by_attributes.setdefault(attributes, []).append((place, cell))
        blocks = tuple(
            Block(attributes, *np.array(found, dtype=np.int64).T)
            for attributes, found in by_attributes.items()
        )
        rows = np.array([mask for _, mask in loose], dtype=bool).reshape(len(loose), len(codes))
        places = np.array([place for place, _ in loose], dtype=np.int64)
        return cls(codes, tuple(levels), blocks, rows, places, len(groups))

    def chosen(self, which: Any) -> Lattice:
        """Some of the groups, in this order; tables that were rolled up stay."""
        wanted = np.arange(self.groups)[which]
        new = np.full(self.groups, -1)
        new[wanted] = np.arange(wanted.size)
        blocks = []
        for block in self.blocks:
            stay = new[block.place] >= 0
            if stay.any():
                blocks.append(Block(block.attributes, new[block.place[stay]], block.cell[stay]))
        stay = new[self.loose_place] >= 0
        places = new[self.loose_place[stay]]
        return Lattice(
            self.codes, self.levels, tuple(blocks), self.loose[stay], places, wanted.size, self.kept
        )

    def cells(self, attributes: Attributes, part: slice = slice(None)) -> tuple[NDArray[np.int64], int]:
        """The cell of these attributes' table that each finest group belongs to, and how many cells there are."""
        codes, size = self.codes[part], 1
        cell = np.zeros(len(codes), dtype=np.int64)
        for attribute in attributes:
            cell *= self.levels[attribute]
            cell += codes[:, attribute]
            size *= self.levels[attribute]
        return cell, size

    @property
    def unions(self) -> dict[Attributes, list[Block]]:
        """The blocks by the larger table that theirs are rolled up from."""
        if "plan" not in self.kept:
            wanted = [block.attributes for block in self.blocks]
            few = len(self.codes) < unions.FEWEST_FINEST
            self.kept["plan"] = (
                dict(zip(wanted, wanted, strict=True))
                if few
                else unions.plan_unions(wanted, self.levels, len(self.codes))
            )
        found: dict[Attributes, list[Block]] = {}
        for block in self.blocks:
            found.setdefault(self.kept["plan"][block.attributes], []).append(block)
        return found

    def within(self, union: Attributes, block: Block) -> tuple[NDArray[np.int32], int]:
        """The cell of the block's table that each cell of a larger table belongs to, and how many there are."""
        key = ("within", union, block.attributes)
        if key not in self.kept:
            self.kept[key] = unions.cells_within(union, block.attributes, self.levels)
        return self.kept[key], prod(self.levels[attribute] for attribute in block.attributes)

    def row(self, index: int) -> Bools:
        """The finest groups of one group."""
        for block in self.blocks:
            found = np.flatnonzero(block.place == index)
            if found.size:
                rest, inside = int(block.cell[found[0]]), np.ones(len(self.codes), dtype=bool)
                for attribute in reversed(block.attributes):
                    rest, code = divmod(rest, self.levels[attribute])
                    inside &= self.codes[:, attribute] == code
                return inside
        return np.asarray(self.loose[np.flatnonzero(self.loose_place == index)[0]])


def _cell(where: Where, levels: Sequence[int]) -> int | None:
    """The cell of the table of a group's attributes that is the group; None where it is no single one."""
    sizes = [levels[attribute] for attribute, _ in where]
    if any(len(admitted) != 1 for _, admitted in where) or np.prod(sizes, dtype=float) > MOST_CELLS:
        return None
    cell = 0
    for (_, admitted), size in zip(where, sizes, strict=True):
        cell = cell * size + int(admitted[0])
    return cell


def _mask(codes: NDArray[np.integer], where: Where) -> Bools:
    inside = np.ones(len(codes), dtype=bool)
    for attribute, admitted in where:
        inside &= np.isin(codes[:, attribute], np.asarray(admitted, dtype=np.int64))
    return inside


class Members:
    """As a matrix of groups by finest groups is used: `&`, `~`, `@`, one row, some rows, `any` and `all` of rows.

    Each group stands for its own finest groups ('inside'), for the others ('outside') or for what all groups share
    ('alike'), of those `kept` only.
    """

    __array_ufunc__ = None  # an array on the left leaves `&` to this class

    def __init__(self, lattice: Lattice, side: Side = "inside", kept: Bools | None = None) -> None:
        self.lattice, self.side, self.kept = lattice, side, kept

    @property
    def shape(self) -> tuple[int, int]:
        return self.lattice.groups, len(self.lattice.codes)

    def __len__(self) -> int:
        return self.lattice.groups

    def __iter__(self) -> Iterator[Bools]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, which: Any) -> Any:
        """The row of one group, or the members of some groups."""
        if not isinstance(which, int | np.integer):
            return Members(self.lattice.chosen(which), self.side, self.kept)
        if self.side == "alike":
            return self._kept.copy()
        row = self.lattice.row(int(which))
        return (row if self.side == "inside" else ~row) & self._kept

    def columns(self, part: slice) -> Bools:
        """The matrix of some finest groups."""
        kept = self._kept[part]
        if self.side == "alike":
            return np.broadcast_to(kept, (len(self), kept.size))
        found = np.zeros((len(self), kept.size), dtype=bool)
        for block in self.lattice.blocks:
            found[block.place] = self.lattice.cells(block.attributes, part)[0] == block.cell[:, None]
        found[self.lattice.loose_place] = self.lattice.loose[:, part]
        return (found if self.side == "inside" else ~found) & kept

    @property
    def _kept(self) -> Bools:
        return np.ones(self.shape[1], dtype=bool) if self.kept is None else self.kept

    def alike(self, kept: Bools | None = None) -> Members:
        """The same finest groups for every group; all of them by default."""
        return Members(self.lattice, "alike", kept)

    def nobody(self) -> Members:
        return self.alike(np.zeros(self.shape[1], dtype=bool))

    def __and__(self, other: Any) -> Any:
        kept = (
            self.kept if other.kept is None else other.kept if self.kept is None else self.kept & other.kept
        )
        sides = {self.side, other.side}
        if sides == {"inside", "outside"}:
            return self.nobody()
        return Members(self.lattice, next(iter(sides - {"alike"}), "alike"), kept)

    def __rand__(self, other: Any) -> Any:
        raise TypeError("members and a matrix are not of one kind")

    def __invert__(self) -> Members:
        if self.side == "alike":
            return self.alike(~self._kept)
        if self.kept is not None:
            raise ValueError("only whole groups and what all groups share have a complement here")
        return Members(self.lattice, "outside" if self.side == "inside" else "inside")

    def __matmul__(self, of: Any) -> Floats:
        """The sums of some columns, one line per finest group, over each group."""
        columns = np.asarray(of, dtype=np.float64)
        flat = columns.reshape(len(columns), -1)
        if self.kept is not None:
            flat = np.where(self.kept[:, None], flat, 0.0)
        found = np.empty((len(self), flat.shape[1]))
        if self.side == "alike":
            found[:] = flat.sum(axis=0)
        else:
            self._rolled_up(flat, found)
        return found.reshape(len(self), *columns.shape[1:])

    def _rolled_up(self, flat: Floats, found: Floats) -> None:
        outside = self.side == "outside"
        for union, blocks in self.lattice.unions.items():
            cell, size = self.lattice.cells(union)
            for column in range(flat.shape[1]):
                whole = np.bincount(cell, flat[:, column], size)
                for block in blocks:
                    table = whole
                    if block.attributes != union:
                        inner, inner_size = self.lattice.within(union, block)
                        table = np.bincount(inner, whole, inner_size)
                    if outside:  # what stands before and after: no difference of large sums
                        before, after = np.cumsum(table), np.cumsum(table[::-1])[::-1]
                        table = np.append(0.0, before[:-1]) + np.append(after[1:], 0.0)
                    found[block.place, column] = table[block.cell]
        loose = self.lattice.loose
        found[self.lattice.loose_place] = (~loose if outside else loose) @ flat

    def any(self, axis: int = 1) -> Bools:
        """Whether a group has any finest group."""
        return np.asarray(self @ np.ones(self.shape[1]) > 0)

    def all(self, axis: int = 1) -> Bools:
        """Whether a group has every finest group."""
        return np.asarray(self @ np.ones(self.shape[1]) == self.shape[1])

    def how_often(self) -> NDArray[np.int64]:
        """In how many groups each finest group is."""
        found = self.lattice.loose.sum(axis=0)
        for union, blocks in self.lattice.unions.items():
            cell, size = self.lattice.cells(union)
            often = np.zeros(size, dtype=np.int64)
            for block in blocks:
                inner, inner_size = self.lattice.within(union, block)
                often += np.bincount(block.cell, minlength=inner_size)[inner]
            found = found + often[cell]
        return np.asarray(found)

    def sums(self, atoms: Finest) -> Sums:
        """n, mean, M2, M3, smallest and largest value of each group; central sums merge exactly."""
        if self.side == "alike":
            one = atoms.sums(self._kept[None])
            return Sums(*(np.repeat(column, len(self)) for column in _columns(one)))
        found = np.zeros((6, len(self)))
        for union, blocks in self.lattice.unions.items():
            for block in blocks:
                table = self._table(atoms, union, block)
                table = _others(table) if self.side == "outside" else table
                found[:, block.place] = table[:, block.cell]
        if self.lattice.loose.size:
            rows = (~self.lattice.loose if self.side == "outside" else self.lattice.loose) & self._kept
            found[:, self.lattice.loose_place] = _columns(atoms.sums(rows))
        return Sums(*found)

    def _table(self, atoms: Finest, union: Attributes, block: Block) -> Floats:
        """The sums of all cells of a block's table, rolled up once, from those of the larger table."""

        def made(attributes: Attributes, make: Callable[[], Floats]) -> Floats:
            key = (attributes, id(atoms), id(self.kept))
            if key not in self.lattice.kept:
                # held together with what it was made from, so that no other object can have the same identity
                self.lattice.kept[key] = make(), atoms, self.kept
            return np.asarray(self.lattice.kept[key][0])

        def whole() -> Floats:
            return _roll_up(atoms.finest, self.kept, *self.lattice.cells(union), binary=atoms.binary)

        def part() -> Floats:
            larger = Sums(*made(union, whole))
            return _roll_up(larger, None, *self.lattice.within(union, block), binary=atoms.binary)

        return made(block.attributes, whole if block.attributes == union else part)


def _columns(sums: Sums) -> Floats:
    return np.stack([sums.n, sums.mean, sums.m2, sums.m3, sums.low, sums.high])


def _roll_up(
    finest: Sums, kept: Bools | None, cell: NDArray[np.integer], size: int, *, binary: bool
) -> Floats:
    """n, mean, M2, M3, smallest and largest value per cell, about the cell's own mean."""
    n = finest.n if kept is None else np.where(kept, finest.n, 0.0)
    some = n > 0
    centre = float(n @ finest.mean / n.sum()) if some.any() else 0.0
    count, first = np.bincount(cell, n, size), np.bincount(cell, n * (finest.mean - centre), size)
    mean = centre + np.divide(first, count, out=np.zeros(size), where=count > 0)
    away = np.where(some, finest.mean - mean[cell], 0.0)
    # Where nothing varies, rounding must not pass for variation.
    away = np.where(np.abs(away) > 1e-14 * np.abs(finest.mean), away, 0.0)
    own = np.where(some, finest.m2, 0.0)
    second = np.bincount(cell, own + n * away**2, size)
    empty = np.zeros(size)
    if binary:  # whose shape the counts tell
        return np.stack([count, np.where(count > 0, mean, 0.0), second, empty, empty, empty])
    third = np.bincount(cell, np.where(some, finest.m3, 0.0) + away * (3.0 * own + n * away**2), size)
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, cell[some], finest.low[some])
    np.maximum.at(high, cell[some], finest.high[some])
    found = np.stack([count, mean, second, third, low, high])
    found[:, count == 0] = 0.0
    return found


def _others(table: Floats) -> Floats:
    """The sums of all other cells of a table: those before and those after, merged."""
    nobody = np.zeros((table.shape[0], 1))
    before = np.hstack([nobody, _running(table)[:, :-1]])
    after = np.hstack([_running(table[:, ::-1])[:, ::-1][:, 1:], nobody])
    return _merged(before, after)


def _running(table: Floats) -> Floats:
    """Each cell merged with all before it, in as many steps as the number of cells has digits."""
    found, step = table.copy(), 1
    while step < table.shape[1]:
        found[:, step:] = _merged(found[:, :-step].copy(), found[:, step:])
        step *= 2
    return found


def _merged(one: Floats, two: Floats) -> Floats:
    """The sums of two samples together."""
    n, m = one[0], two[0]
    total = np.where(n + m > 0, n + m, 1.0)
    apart = np.where((n > 0) & (m > 0), two[1] - one[1], 0.0)
    apart = np.where(np.abs(apart) > 1e-14 * np.maximum(np.abs(one[1]), np.abs(two[1])), apart, 0.0)
    mean = np.where(n > 0, one[1] + apart * m / total, two[1])
    second = one[2] + two[2] + apart**2 * n * m / total
    third = one[3] + two[3] + apart**3 * n * m * (n - m) / total**2
    third += 3.0 * apart * (n * two[2] - m * one[2]) / total
    low = np.where(n == 0, two[4], np.where(m == 0, one[4], np.minimum(one[4], two[4])))
    high = np.where(n == 0, two[5], np.where(m == 0, one[5], np.maximum(one[5], two[5])))
    return np.stack([n + m, mean, second, third, low, high])
