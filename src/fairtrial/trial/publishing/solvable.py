"""Which intersections may be published beside the groups: those from which no small count can be solved for.

The reader is taken to know, of every published group, how many people each kind of case has: rates, gaps and limits
are made of that. What nobody published is the table of all attributes at once. A count of few people in it is safe when
some table of whole numbers, with the same published sums, has at least `limit` there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fairtrial.data.cells import Bools, Ints
from fairtrial.trial.publishing.joining import few

MOST_CELLS = 400  # of the table of all attributes; a larger one is published without intersections


@dataclass(slots=True)
class Known:
    """What is published of a table (cells × kinds of case), and for each small count a table that hides it."""

    counts: Ints
    limit: int
    groups: list[Bools] = field(default_factory=list)
    witnesses: dict[tuple[int, int], Ints] = field(default_factory=dict)

    def admit(self, groups: Sequence[Bools]) -> bool:
        """Publish these as well, where every small count stays hidden; otherwise nothing changes."""
        if any(few(self.counts[group].sum(axis=0), self.limit).any() for group in groups):
            return False
        published = [*self.groups, *groups]
        found: dict[tuple[int, int], Ints] = {}
        for cell, case in np.argwhere(few(self.counts, self.limit)):
            place = (int(cell), int(case))
            witness = self._witness(place, published)
            if witness is None:
                return False
            found[place] = witness
        self.groups, self.witnesses = published, found
        return True

    def _witness(self, place: tuple[int, int], groups: Sequence[Bools]) -> Ints | None:
        """A table of one case with the published sums and at least `limit` in the cell; None where there is none."""
        cell, case = place
        own = self.counts[:, case]
        sums = np.array(groups)
        known = self.witnesses.get(place)
        if known is not None and np.array_equal(sums @ known, sums @ own):
            return known
        return table_with(sums, own, cell, self.limit)


def table_with(sums: Bools, counts: Ints, cell: int, least: int) -> Ints | None:
    """Whole numbers with the same sums as `counts` and at least `least` in one cell; None where there are none."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    low = np.zeros(len(counts))
    low[cell] = least
    matrix = sums.astype(np.float64)
    known = matrix @ counts
    found = milp(
        np.zeros(len(counts)),
        integrality=np.ones(len(counts), dtype=np.int64),
        bounds=Bounds(low, np.full(len(counts), np.inf)),
        constraints=LinearConstraint(matrix, known, known),
    )
    if found.x is None:
        return None
    table = np.rint(found.x).astype(np.int64)
    return table if np.array_equal(sums @ table, sums @ counts) else None
