"""The matched score where persons have several rows: whole persons are dealt to the class anew.

Persons with equally many rows in each stratum are alike. A person's events count cell by cell; T is their sum over the
class minus what it is on average when the class is dealt out among persons alike, and V the variance of that. With one
row each this is the score over strata of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fairtrial._scan.solver.matched import Contrast, ContrastDraw, MatchedTable
from fairtrial._scan.solver.scan_table import (
    BoolArray,
    Codes,
    FloatArray,
    IntArray,
    ScanTable,
    distinct_rows,
    totals,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PersonRows:
    """Counted lines by person: each line's atom, person, number of rows, and whether it is in the class."""

    atom: IntArray
    person: IntArray
    count: FloatArray
    protected: BoolArray

    @property
    def several(self) -> bool:
        """Whether some person has more than one row."""
        return bool(np.bincount(self.person, self.count).max(initial=0.0) > 1)

    def mixed(self, table: ScanTable) -> int:
        """Persons with scanned rows both inside and outside the class."""
        scanned = table.atom_scanned[self.atom]
        size = int(self.person.max()) + 1
        sides = [
            np.bincount(self.person[scanned & side], minlength=size) > 0
            for side in (self.protected, ~self.protected)
        ]
        return int((sides[0] & sides[1]).sum())

    def people(self, table: ScanTable, cells: BoolArray) -> tuple[int, int]:
        """How many persons have rows in these cells, in the class and outside it."""
        inside = cells[table.atom_cell[self.atom]]
        found = [np.unique(self.person[inside & side]).size for side in (self.protected, ~self.protected)]
        return found[0], found[1]

    def most_rows(self, table: ScanTable) -> float:
        """The most scanned rows that one person has."""
        scanned = table.atom_scanned[self.atom]
        return float(np.bincount(self.person[scanned], self.count[scanned]).max())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PersonStrata:
    """Persons who can be exchanged with somebody alike: who they are alike with, their events, and the class."""

    codes: Codes
    events: sparse.csr_array
    alike: IntArray
    protected: BoolArray
    share: float  # of the class's persons

    @classmethod
    def of(cls, table: ScanTable, strata: MatchedTable, rows: PersonRows) -> PersonStrata:
        scanned = table.atom_scanned[rows.atom]
        atom, count = rows.atom[scanned], rows.count[scanned]
        person = np.unique(rows.person[scanned], return_inverse=True)[1].reshape(-1)
        persons = int(person.max()) + 1
        stratum = np.full(len(table.atom_cell), -1, dtype=np.int64)
        stratum[strata.part_atoms] = strata.part_stratum[strata.atom_part]
        own = stratum[atom]
        alike = _alike(person, own, count, persons)
        protected = np.zeros(persons, dtype=np.bool_)
        protected[person[rows.protected[scanned]]] = True
        inside = totals(alike, protected.astype(np.float64), persons)[alike]
        everyone = totals(alike, np.ones(persons), persons)[alike]
        moves = (inside > 0) & (inside < everyone)
        cell = strata.stratum_cell[own]
        events = sparse.csr_array(
            (count * table.atom_event[atom], (person, cell)), shape=(persons, len(strata.codes))
        )
        kept = np.flatnonzero(moves)
        order = kept[np.argsort(alike[kept], kind="stable")]
        return cls(
            codes=strata.codes,
            events=events[order],
            alike=distinct_rows(alike[order])[0] if len(order) else alike[order],
            protected=protected[order],
            share=float((protected & moves).sum() / max(protected.sum(), 1)),
        )

    @property
    def exchanged(self) -> int:
        """How many sets of persons alike there are."""
        return int(self.alike[-1]) + 1 if len(self.alike) else 0

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """What the class's events are on average, and their variance, per searched cell."""
        sets = self.exchanged
        if not sets:
            return np.zeros(len(self.codes)), np.zeros(len(self.codes))
        people = np.bincount(self.alike).astype(np.float64)
        inside = np.bincount(self.alike, self.protected)
        pick = sparse.csr_array(
            (np.ones(len(self.alike)), (self.alike, np.arange(len(self.alike)))),
            shape=(sets, len(self.alike)),
        )
        sums = (pick @ self.events).tocsr()
        squares = (pick @ self.events.multiply(self.events)).tocsr()
        factor = inside * (people - inside) / (people * (people - 1.0))
        mean = np.asarray(sums.T @ (inside / people)).ravel()
        spread = squares.T @ factor - sums.multiply(sums).T @ (factor / people)
        return mean, np.maximum(np.asarray(spread).ravel(), 0.0)

    def contrast(self, chosen: FloatArray) -> Contrast:
        """T and V when `chosen[d, u]` says whether person u is in the class in draw d."""
        mean, variance = self._moments()
        gain = np.asarray((self.events.T @ chosen.T).T) - mean
        return Contrast(gain, variance[None])

    def observed(self) -> Contrast:
        """The data as they are: one draw."""
        return self.contrast(self.protected[None].astype(np.float64))

    def drawn(self) -> ContrastDraw:
        """Deal the class out anew among persons alike: exact."""
        begin = np.searchsorted(self.alike, np.arange(self.exchanged))
        inside = np.bincount(self.alike, self.protected).astype(np.int64) if len(self.alike) else begin
        first = np.arange(len(self.alike)) - begin[self.alike] < inside[self.alike]

        def draw(draws: int, generator: np.random.Generator) -> Contrast:
            chosen = np.zeros((draws, len(self.alike)))
            for i in range(draws):
                order = np.argsort(self.alike + generator.random(len(self.alike)), kind="stable")
                chosen[i, order[first]] = 1.0
            return self.contrast(chosen)

        return draw


def _alike(person: IntArray, stratum: IntArray, count: FloatArray, persons: int) -> IntArray:
    """A number for each person, the same for those with equally many rows in each stratum.

    Every (stratum, number of rows) stands for a random number of 64 bits, and a person for the sum of theirs.
    """
    pair, first = distinct_rows(person, stratum)
    rows = totals(pair, count, len(first)).astype(np.int64)
    kind, kinds = distinct_rows(stratum[first], rows)
    words = np.random.default_rng(0).integers(0, 2**63, len(kinds), dtype=np.uint64)
    found = np.zeros(persons, dtype=np.uint64)
    np.add.at(found, person[first], words[kind])
    return np.unique(found, return_inverse=True)[1].reshape(-1).astype(np.int64)
