"""What may be published together: groups from which no small count can be solved for.

The reader is taken to know, of every published group, how many people each kind of case has: rates, gaps and limits
are made of that; and which combinations of levels occur at all: that nobody is in two jobs, or that one attribute is
a coarser form of another, anybody can tell from their labels. What nobody published is the table of all attributes at
once. A count of few people in it is safe when some table of whole numbers, with the same published sums, has at
least `limit` there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fairtrial._audit.cells import Bools, Ints
from fairtrial._trial.publishing.joining import few

MOST_CELLS = 400  # of the table of all attributes; a larger one is published without intersections
Place = tuple[int, int]  # a cell and a case


@dataclass(slots=True)
class Known:
    """What is published of a table (cells × kinds of case), and for each small count a table that hides it."""

    counts: Ints
    limit: int
    groups: list[Bools] = field(default_factory=list)
    witnesses: dict[Place, Ints] = field(default_factory=dict)

    def admit(self, groups: Sequence[Bools]) -> bool:
        """Publish these as well, where every small count stays hidden; otherwise nothing changes."""
        if any(few(self.counts[group].sum(axis=0), self.limit).any() for group in groups):
            return False
        published = np.array([*self.groups, *groups])
        found: dict[Place, Ints] = {}
        for case in range(self.counts.shape[1]):
            hidden = self._hidden(case, published)
            if hidden is None:
                return False
            found |= hidden
        self.groups, self.witnesses = list(published), found
        return True

    def _hidden(self, case: int, published: Bools) -> dict[Place, Ints] | None:
        """For every small count of a case a table that fits and is not small there; None where one has none."""
        own = self.counts[:, case]
        sums = published @ own
        waiting = [int(cell) for cell in np.flatnonzero(few(own, self.limit))]
        found: dict[Place, Ints] = {}
        tables = [known for cell in waiting if (known := self.witnesses.get((cell, case))) is not None]
        tables = [table for table in tables if np.array_equal(published @ table, sums)]
        somebody = self.counts.sum(axis=1) > 0
        while waiting:
            if not tables:
                table = table_with(published, own, waiting, self.limit, somebody)
                if table is None:
                    return None
                tables.append(table)
            table = tables.pop()
            found |= {(cell, case): table for cell in waiting if table[cell] >= self.limit}
            waiting = [cell for cell in waiting if table[cell] < self.limit]
        return found


def table_with(
    sums: Bools, counts: Ints, cells: Sequence[int], least: int, somebody: Bools | None = None
) -> Ints | None:
    """Whole numbers with the same sums as `counts`, at least `least` in the first of the cells and in as many of the
    others as one table admits; None where there are none.

    Only cells with `somebody` may hold people.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    size, others = len(counts), len(cells)
    low = np.concatenate([np.zeros(size), np.zeros(others)])
    low[cells[0]] = least
    high = np.concatenate([np.full(size, np.inf), np.full(others, float(least))])
    if somebody is not None:
        high[:size][~somebody] = 0.0
    matrix = csr_array(sums.astype(np.float64))
    known = matrix @ counts
    # a second number per cell, at most what the cell holds and at most `least`: their sum is made large
    chosen = csr_array((np.ones(others), (np.arange(others), np.asarray(cells))), shape=(others, size))
    rows = vstack([hstack([matrix, csr_array((len(sums), others))]), hstack([chosen, -eye_array(others)])])
    found = milp(
        np.concatenate([np.zeros(size), -np.ones(others)]),
        integrality=np.concatenate([np.ones(size), np.zeros(others)]),
        bounds=Bounds(low, high),
        constraints=LinearConstraint(
            csr_array(rows),
            np.concatenate([known, np.zeros(others)]),
            np.concatenate([known, np.full(others, np.inf)]),
        ),
        options={"mip_rel_gap": 0.5, "time_limit": 10.0},  # a good table will do; none in time is none
    )
    if found.x is None:
        return None
    table = np.rint(found.x[:size]).astype(np.int64)
    fits = np.array_equal(sums @ table, sums @ counts) and table[cells[0]] >= least
    return table if fits else None
