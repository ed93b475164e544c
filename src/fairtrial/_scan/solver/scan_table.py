"""The data of a scan as a small table: people grouped by covariates X, condition C, event I and class A.

atoms  distinct (X, C, I) with their counts inside and outside the protected class
cells  distinct (X, C): where expectations live, because Î depends on X and C only
strata distinct (X, C), or (X, neighbouring C) for a score: where the stratified null permutes A

X are the searched features and, after them, what is controlled for without being searched (within).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# -- The kinds of arrays that a scan counts with.
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Codes = NDArray[np.unsignedinteger[Any]]  # values' numbers, of very many cells
Keys = NDArray[np.uint32]  # places in a table


def as_codes(codes: Any) -> Codes:
    """Values' numbers in few bytes, those of one attribute lying together."""
    return np.asfortranarray(codes, dtype=_kind(int(np.max(codes, initial=0)) + 1))


def empty_codes(cells: int, attributes: int, values: int) -> Codes:
    """Room for the numbers of attributes that have at most so many values."""
    return np.empty((cells, attributes), dtype=_kind(values), order="F")


def _kind(values: int) -> np.dtype[np.unsignedinteger[Any]]:
    return np.dtype(np.uint16) if values <= 2**16 else np.dtype(np.uint32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScanTable:
    """Counts of the whole data; `cell_scanned` marks the cells that meet the metric's condition.

    `x_codes[i]` are the attribute values of X cell i, of which the first `searched` build subgroups.
    `cell_condition` is C as the models take it (0/1, or a score). Atoms are sorted by cell and `atom_start` is where
    each cell begins.
    """

    arity: IntArray
    x_codes: Codes
    cell_x: IntArray
    cell_condition: FloatArray
    cell_scanned: BoolArray
    cell_stratum: IntArray
    atom_cell: IntArray
    atom_start: IntArray
    atom_event: FloatArray
    atom_comparison: FloatArray
    atom_protected: FloatArray
    real_valued: bool
    has_condition: bool
    searched: int
    on_score: bool = False
    row_atom: IntArray | None = None  # the atom of each counted row that the table was built from

    @property
    def searched_codes(self) -> IntArray:
        """The searched attributes' values of every cell."""
        return np.ascontiguousarray(self.x_codes[self.cell_x, : self.searched], dtype=np.int64)

    def column(self, attribute: int) -> IntArray:
        """One attribute's value of every cell."""
        return np.asarray(self.x_codes[self.cell_x, attribute], dtype=np.int64)

    @property
    def searched_arity(self) -> IntArray:
        return self.arity[: self.searched]

    @property
    def cell_codes(self) -> IntArray:
        return np.ascontiguousarray(self.x_codes[self.cell_x], dtype=np.int64)

    @property
    def atom_total(self) -> FloatArray:
        return self.atom_comparison + self.atom_protected

    def per_cell(self, weight: FloatArray) -> FloatArray:
        """Sums of the atoms' weights."""
        return totals(self.atom_cell, weight, len(self.cell_x))

    @property
    def atom_scanned(self) -> BoolArray:
        return self.cell_scanned[self.atom_cell]

    @property
    def atom_log_odds(self) -> FloatArray:
        """log(I/(1−I)) of real-valued events; nothing reads it for binary ones."""
        return log_odds(self.atom_event) if self.real_valued else self.atom_event


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellMoments:
    """Sums per cell, one row per draw: people, events, and for real-valued events log-odds and their squares."""

    comparison: FloatArray
    comparison_events: FloatArray
    protected: FloatArray
    protected_events: FloatArray
    comparison_log_odds: FloatArray | None = None
    comparison_squares: FloatArray | None = None
    protected_log_odds: FloatArray | None = None
    protected_squares: FloatArray | None = None


def totals(index: IntArray, weight: FloatArray, size: int) -> FloatArray:
    """Sums of `weight` per index."""
    return np.bincount(index, weight, minlength=size).astype(np.float64)


def log_odds(probability: FloatArray) -> FloatArray:
    return np.log(probability) - np.log1p(-probability)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountedRows:
    """Rows that stand for `count` people each: covariates, class, event, whether and under which condition scanned.

    `near` are numbers by which strata of neighbours are cut inside a cell: the score where it is the condition, or
    numbers that the searched bins are too coarse for.
    """

    codes: IntArray | Codes
    protected: BoolArray
    event: FloatArray
    scanned: BoolArray
    condition: FloatArray | None
    count: FloatArray
    near: tuple[FloatArray, ...] = ()


def build_table(
    rows: CountedRows,
    *,
    arity: IntArray,
    searched: int | None = None,
    neighbours: int = 20,
    on_score: bool = False,
    real_valued: bool = False,
) -> ScanTable:
    """Group counted rows into atoms, cells and strata.

    `searched` says how many of the attributes build subgroups (all by default). `neighbours` is how many people with
    neighbouring numbers make one stratum; where the rows have none, every (X, C) is a stratum. Rows outside the
    condition stay in the table, since the article's propensities are estimated on all rows.
    """
    codes, scanned, event, count = rows.codes, rows.scanned, rows.event, rows.count
    searched = codes.shape[1] if searched is None else searched
    if searched == 0:  # one attribute of one value: the class as a whole
        nothing = np.zeros((len(codes), 1), dtype=np.int64)
        codes, arity, searched = np.concatenate([nothing, codes], axis=1), np.append(1, arity), 1
    codes = as_codes(codes)
    x_index, x_first = distinct_rows(*codes.T)
    c_values = np.zeros(len(codes)) if rows.condition is None else rows.condition
    c_index = np.unique(c_values, return_inverse=True)[1].reshape(-1)
    home = distinct_rows(x_index, scanned.astype(np.int64), *(() if on_score else (c_index,)))[0]
    near = (c_values,) if on_score and not rows.near else rows.near
    runs = strata_of_neighbours(home, near, count, neighbours) if near else home
    # the condition's side is part of the cell: a row that is not scanned never shares a cell with one that is
    cell_index, first = distinct_rows(x_index, runs, c_index, scanned.astype(np.int64))
    cell_x, cell_condition, cell_scanned = x_index[first], c_values[first], scanned[first]
    stratum = distinct_rows(cell_x, runs[first], cell_scanned.astype(np.int64))[0]
    shown_event = np.where(scanned, event, 0.5)  # never read, but log-odds must exist
    e_index = np.unique(shown_event, return_inverse=True)[1].reshape(-1)
    atom_index, atom_first = distinct_rows(cell_index, e_index)
    atoms = len(atom_first)
    atom_cell = cell_index[atom_first]
    return ScanTable(
        arity=arity.astype(np.int64),
        x_codes=as_codes(codes[x_first]),
        cell_x=cell_x,
        cell_condition=cell_condition,
        cell_scanned=cell_scanned,
        cell_stratum=stratum,
        atom_cell=atom_cell,
        atom_start=np.searchsorted(atom_cell, np.arange(len(first))).astype(np.int64),
        atom_event=shown_event[atom_first],
        atom_comparison=totals(atom_index, count * ~rows.protected, atoms),
        atom_protected=totals(atom_index, count * rows.protected, atoms),
        real_valued=real_valued,
        has_condition=rows.condition is not None,
        searched=searched,
        on_score=on_score,
        row_atom=atom_index,
    )


def distinct_rows(*parts: IntArray) -> tuple[IntArray, IntArray]:
    """Dense index of each combination, sorted by the parts in order, and its first row.

    By integer keys, since sorting rows is slow.
    """
    key = parts[0].astype(np.int64)
    for part in parts[1:]:
        width = int(part.max(initial=0)) + 1
        if int(key.max(initial=0)) > (2**62) // width:
            key = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
        key = key * width + part
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    return index.reshape(-1).astype(np.int64), first


def strata_of_neighbours(
    home: IntArray, near: tuple[FloatArray, ...], count: FloatArray, least: int
) -> IntArray:
    """Cut each home into strata of people with neighbouring numbers, whatever their class and event.

    One number: runs of about `least` people, and a value of that many people is a run of its own. Several: a home is
    halved at the median of one number after the other, as long as both halves keep that many. People of one value
    are never parted.
    """
    values = [np.unique(number, return_inverse=True)[1].reshape(-1).astype(np.int64) for number in near]
    index, first = distinct_rows(home, *values)
    people = totals(index, count, len(first))
    homes, places = home[first], [value[first] for value in values]
    cut = _runs(homes, people, least) if len(places) == 1 else _halves(homes, places, people, least)
    return np.asarray(distinct_rows(homes, cut)[0][index], dtype=np.int64)


def _runs(home: IntArray, people: FloatArray, least: int) -> IntArray:
    """Runs along values that are sorted within homes."""
    alone = people >= least
    new = np.append(True, (np.diff(home) != 0) | alone[1:] | alone[:-1])  # a stretch of small values begins
    stretch = np.cumsum(new) - 1
    before = np.cumsum(people) - people
    place = ((before - before[np.flatnonzero(new)][stretch]) // least).astype(np.int64)
    return np.asarray(stretch * (int(place.max(initial=0)) + 1) + place, dtype=np.int64)


def _halves(home: IntArray, places: list[IntArray], people: FloatArray, least: int) -> IntArray:
    """Halves of halves, along one number after the other."""
    part = distinct_rows(home)[0]
    kept = 0
    turn = 0
    while kept < len(places):  # until no number cuts anything any more
        place = places[turn % len(places)]
        value, first = distinct_rows(part, place)
        size = totals(value, people, len(first))
        owner = part[first]
        whole = totals(owner, size, int(part.max()) + 1)
        before = np.cumsum(size) - size
        start = np.full(len(whole), np.inf)
        np.minimum.at(start, owner, before)
        before = before - start[owner]
        right = before >= 0.5 * whole[owner]
        beyond = totals(owner, size * right, len(whole))
        fair = (beyond >= least) & (whole - beyond >= least)
        kept = 0 if fair.any() else kept + 1
        part = distinct_rows(part, (right & fair[owner])[value].astype(np.int64))[0]
        turn += 1
    return part


def neighbours_apart(table: ScanTable) -> float:
    """How far a score that class and event follow moves the whole class's sum, where strata take neighbours as alike.

    Within a stratum the score still tells class and event apart. Per person that adds the variance of the score there
    times what one unit of it changes in class and in event; of that and of the sum's own spread the slopes are taken
    as one per standard deviation of the score's normal ranks and both shares as a half: √n/4 of the mean variance.
    """
    from scipy.special import ndtri

    people = table.per_cell(table.atom_total) * table.cell_scanned
    place = ndtri(np.clip(middle_ranks(table), 1e-9, 1.0 - 1e-9))
    strata = int(table.cell_stratum.max()) + 1
    size = np.maximum(totals(table.cell_stratum, people, strata), 1.0)
    mean = totals(table.cell_stratum, people * place, strata) / size
    away = float((people * (place - mean[table.cell_stratum]) ** 2).sum())
    return 0.25 * away / float(np.sqrt(max(people.sum(), 1.0)))


def middle_ranks(table: ScanTable) -> FloatArray:
    """The middle rank of every cell's score among all scanned people, from 0 to 1."""
    people = table.per_cell(table.atom_total) * table.cell_scanned
    _, index = np.unique(table.cell_condition, return_inverse=True)
    index = index.reshape(-1)
    having = totals(index, people, int(index.max()) + 1)
    below = np.cumsum(having) - 0.5 * having
    return np.asarray((below / max(having.sum(), 1.0))[index], dtype=np.float64)


def moments(table: ScanTable, protected: FloatArray) -> CellMoments:
    """Sums per cell for draws of A: `protected[d, a]` people of atom a are in the class in draw d."""
    classes = {"comparison": table.atom_total - protected, "protected": protected}
    values = {"": np.ones(1), "_events": table.atom_event}
    if table.real_valued:
        values |= {"_log_odds": table.atom_log_odds, "_squares": table.atom_log_odds**2}
    return CellMoments(
        **{
            f"{name}{what}": np.add.reduceat(people * value, table.atom_start, axis=1)
            for name, people in classes.items()
            for what, value in values.items()
        }
    )


def observed_moments(table: ScanTable) -> CellMoments:
    """The data as they are: one draw."""
    return moments(table, table.atom_protected[None, :])
