"""The matched score: within strata of like people, class against class (Mantel and Haenszel, 1959).

Stratum with N people, N1 of them in the class, events of sum E, O of it in the class:
T = O − N1·E/N and V = N1(N−N1)/(N(N−1))·Σ(I−Ī)², mean zero and variance of T when the class is dealt out anew.
Without strata, per person: T = Σ(A−ê)(I−m̂), V = Σê(1−ê)(I−m̂)², with ê = P(A|X,C) and m̂ = E(I|X,C) blind to A.
Both add up over cells. People in a stratum of one class count nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairtrial._scan.solver.scan_table import (
    BoolArray,
    Codes,
    FloatArray,
    IntArray,
    ScanTable,
    as_codes,
    distinct_rows,
    totals,
)


class Contrast(NamedTuple):
    """T and V of every searched cell, one row per draw; V has one row where it is the same in all draws."""

    gain: FloatArray
    variance: FloatArray


ContrastDraw = Callable[[int, np.random.Generator], Contrast]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MatchedTable:
    """The scanned people by stratum and event: parts of strata, strata of searched cells, both in order."""

    codes: Codes
    stratum_cell: IntArray
    part_stratum: IntArray
    part_event: FloatArray
    part_total: FloatArray
    part_protected: FloatArray
    part_atoms: IntArray
    atom_part: IntArray

    @classmethod
    def of(cls, table: ScanTable) -> MatchedTable:
        atoms = np.flatnonzero(table.atom_scanned)
        cells = table.atom_cell[atoms]
        event_index = np.unique(table.atom_event[atoms], return_inverse=True)[1].reshape(-1)
        part, first = distinct_rows(table.cell_stratum[cells], event_index)
        codes, stratum_of, cell_of = _searched(table, table.cell_stratum[cells], cells)
        size = len(first)
        return cls(
            codes=codes,
            stratum_cell=cell_of,
            part_stratum=stratum_of[first],
            part_event=table.atom_event[atoms][first],
            part_total=totals(part, table.atom_total[atoms], size),
            part_protected=totals(part, table.atom_protected[atoms], size),
            part_atoms=atoms,
            atom_part=part,
        )

    @property
    def strata(self) -> int:
        return len(self.stratum_cell)

    @property
    def binary(self) -> bool:
        return bool(np.isin(self.part_event, (0.0, 1.0)).all())

    def per_stratum(self, numbers: FloatArray) -> FloatArray:
        """Sums of the parts of every stratum; rows of draws stay apart."""
        begin = np.searchsorted(self.part_stratum, np.arange(self.strata))
        return np.asarray(np.add.reduceat(numbers, begin, axis=-1), dtype=np.float64)

    def per_cell(self, numbers: FloatArray) -> FloatArray:
        """Sums of the strata of every searched cell."""
        begin = np.searchsorted(self.stratum_cell, np.arange(len(self.codes)))
        return np.asarray(np.add.reduceat(numbers, begin, axis=-1), dtype=np.float64)

    def contrast(self, protected: FloatArray, event: FloatArray | None = None) -> Contrast:
        """T and V when `protected[d, p]` people of part p are in the class in draw d."""
        value = self.part_event if event is None else event
        everyone, total = self.per_stratum(self.part_total), self.per_stratum(self.part_total * value)
        squares = self.per_stratum(self.part_total * value**2)
        inside = self.per_stratum(protected)
        gain, variance = contrast_of(inside, self.per_stratum(protected * value), (everyone, total, squares))
        return Contrast(self.per_cell(gain), self.per_cell(variance))

    def observed(self) -> Contrast:
        """The data as they are: one draw."""
        return self.contrast(self.part_protected[None])

    def moves(self) -> BoolArray:
        """The strata that hold both classes and different events: only there can A be dealt out anew."""
        everyone, inside = self.per_stratum(self.part_total), self.per_stratum(self.part_protected)
        return (inside > 0) & (inside < everyone) & (np.bincount(self.part_stratum) > 1)

    def share_that_moves(self) -> float:
        """The share of the class that is in such strata."""
        inside = self.per_stratum(self.part_protected)
        return float(inside[self.moves()].sum() / inside.sum())


def _searched(table: ScanTable, stratum: IntArray, cells: IntArray) -> tuple[Codes, IntArray, IntArray]:
    """The searched cells' codes, each atom's stratum by a dense number, and each stratum's searched cell."""
    index, first = distinct_rows(stratum)
    codes = table.x_codes[table.cell_x[cells[first]], : table.searched]
    cell, cell_first = distinct_rows(*codes.T)
    return as_codes(codes[cell_first]), index, cell


def contrast_of(
    inside: FloatArray, events: FloatArray, stratum: tuple[FloatArray, FloatArray, FloatArray]
) -> Contrast:
    """T and V of strata: the class's people and sum of events, and everyone's number, sum and sum of squares."""
    everyone, total, squares = stratum
    people = np.maximum(everyone, 1.0)
    spread = np.maximum(squares - total**2 / people, 0.0)
    gain = events - inside * total / people
    pairs = people * np.maximum(everyone - 1.0, 1.0)
    variance = np.where(everyone > 1, inside * (everyone - inside) / pairs * spread, 0.0)
    return Contrast(gain, variance)


# -- draws under the null hypotheses ---------------------------------------------------------------------------
def stratified(table: MatchedTable) -> ContrastDraw:
    """Deal the class out anew within strata: exact, and V is the same in every draw."""
    moving = table.moves()
    parts = np.flatnonzero(moving[table.part_stratum])
    stratum, event = table.part_stratum[parts], table.part_event[parts]
    total, protected = table.part_total[parts], table.part_protected[parts]
    dense, first = distinct_rows(stratum) if len(parts) else (stratum, stratum)
    inside = totals(dense, protected, len(first))
    mean = totals(dense, total * event, len(first)) / np.maximum(totals(dense, total, len(first)), 1.0)
    variance = table.observed().variance
    cells, cell_of = len(table.codes), table.stratum_cell[stratum[first]] if len(parts) else stratum
    two_parts = table.binary

    def draw(draws: int, generator: np.random.Generator) -> Contrast:
        if not len(parts):
            return Contrast(np.zeros((draws, cells)), variance)
        if two_parts:  # the first part of a stratum has no event, the second has it
            good, bad = total[first + 1].astype(np.int64), total[first].astype(np.int64)
            size = (draws, len(first))
            events = generator.hypergeometric(good, bad, inside.astype(np.int64), size=size).astype(
                np.float64
            )
        else:
            dealt = permute_within(dense, total, protected, draws, generator)
            events = np.add.reduceat(dealt * event, first, axis=1)
        return Contrast(_spread_over(events - inside * mean, cell_of, cells), variance)

    return draw


def _spread_over(numbers: FloatArray, cell_of: IntArray, cells: int) -> FloatArray:
    """Sums of the strata of each cell, where cells may have none."""
    answer = np.zeros((len(numbers), cells))
    present, begin = np.unique(cell_of, return_index=True)
    answer[:, present] = np.add.reduceat(numbers, begin, axis=1)
    return answer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PersonTable:
    """The score without strata: what each atom's people weigh, given ê and m̂ of every cell."""

    codes: Codes
    cell_of: IntArray
    total: FloatArray
    protected: FloatArray
    chance: FloatArray
    residual: FloatArray

    @classmethod
    def of(
        cls, table: ScanTable, chance: FloatArray, rates: FloatArray, strata: MatchedTable | None = None
    ) -> PersonTable:
        """The searched cells are those of the strata, which are made where they are not given."""
        strata = strata or MatchedTable.of(table)
        atoms = strata.part_atoms
        cells = table.atom_cell[atoms]
        return cls(
            codes=strata.codes,
            cell_of=strata.stratum_cell[strata.part_stratum[strata.atom_part]],
            total=table.atom_total[atoms],
            protected=table.atom_protected[atoms],
            chance=chance[cells],
            residual=table.atom_event[atoms] - rates[cells],
        )

    def contrast(self, protected: FloatArray) -> Contrast:
        """T and V when `protected[d, a]` people of atom a are in the class in draw d."""
        variance = self.total * self.chance * (1.0 - self.chance) * self.residual**2
        return Contrast(self._gain(protected), np.add.reduceat(variance, self._begin())[None])

    def _gain(self, protected: FloatArray | IntArray) -> FloatArray:
        gain = protected - self.total * self.chance
        gain *= self.residual
        if gain.shape[1] == len(self.codes):  # a cell each
            return gain
        return np.asarray(np.add.reduceat(gain, self._begin(), axis=1))

    def _begin(self) -> IntArray:
        """The first atom of every searched cell."""
        return np.flatnonzero(np.diff(self.cell_of, prepend=-1))

    def observed(self) -> Contrast:
        return self.contrast(self.protected[None])

    def drawn_class(self) -> ContrastDraw:
        """Draw the class of everybody from ê; nothing is fitted again."""
        counts, variance = self.total.astype(np.int64), self.observed().variance

        def draw(draws: int, generator: np.random.Generator) -> Contrast:
            drawn = generator.binomial(counts, self.chance, size=(draws, len(counts)))
            return Contrast(self._gain(drawn), variance)

        return draw


def permute_within(
    stratum: IntArray, total: FloatArray, protected: FloatArray, draws: int, generator: np.random.Generator
) -> FloatArray:
    """How many class members each atom gets when A is permuted within strata, once per draw."""
    order = np.argsort(stratum, kind="stable")
    _, index = np.unique(stratum[order], return_inverse=True)
    counts = total[order].astype(np.int64)
    answer = np.empty((draws, len(total)))
    deal = _shuffle_people if counts.sum() <= 4 * len(counts) else _deal_counts
    answer[:, order] = deal(index, counts, protected[order], draws, generator)
    return answer


def _deal_counts(
    stratum: IntArray, total: IntArray, protected: FloatArray, draws: int, generator: np.random.Generator
) -> FloatArray:
    """Multivariate hypergeometric draws: the k-th atom of every stratum at once, given the ones before."""
    strata = int(stratum[-1]) + 1
    start = np.searchsorted(stratum, np.arange(strata))
    length = np.diff(np.append(start, len(stratum)))
    left_to_place = np.repeat(np.bincount(stratum, protected)[None, :].astype(np.int64), draws, axis=0)
    people_left = np.bincount(stratum, total).astype(np.int64)
    answer = np.zeros((draws, len(total)))
    for k in range(int(length.max())):
        having = np.flatnonzero(length > k)
        atom = start[having] + k
        people_left[having] -= total[atom]
        got = generator.hypergeometric(total[atom], people_left[having], left_to_place[:, having])
        answer[:, atom] = got
        left_to_place[:, having] -= got
    return answer


def _shuffle_people(
    stratum: IntArray, total: IntArray, protected: FloatArray, draws: int, generator: np.random.Generator
) -> FloatArray:
    """Nearly every atom is one person: order the people of each stratum at random, the first ones are in."""
    atom_of = np.repeat(np.arange(len(total)), total)
    stratum_of = stratum[atom_of]
    begin = np.searchsorted(stratum_of, np.arange(int(stratum[-1]) + 1))
    in_class = np.bincount(stratum, protected).astype(np.int64)
    chosen = np.arange(len(atom_of)) - begin[stratum_of] < in_class[stratum_of]
    answer = np.empty((draws, len(total)))
    for draw in range(draws):
        order = np.argsort(stratum_of + generator.random(len(stratum_of)), kind="stable")
        answer[draw] = np.bincount(atom_of[order[chosen]], minlength=len(total))
    return answer
