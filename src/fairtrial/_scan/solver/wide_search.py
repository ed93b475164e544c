"""The search over every two of many attributes by compiled loops: the numbers of `matched_search`, sooner."""

from __future__ import annotations

import numpy as np

from fairtrial._scan.solver.arrays import Codes, FloatArray, IntArray, as_codes
from fairtrial._scan.solver.two_way import (
    best_in_tables,
    best_of_pair,
    pairs_of,
    two_way_tables,
)
from fairtrial._scan.solver.value_sets import Attribute


class WideSearch:
    """All subgroups that restrict at most two attributes, from the tables of every two."""

    def __init__(self, attributes: tuple[Attribute, ...], codes: IntArray | Codes, penalty: float) -> None:
        self.pairs, self.codes, self.penalty = pairs_of(attributes), as_codes(codes), penalty
        self._spread: tuple[FloatArray, FloatArray] | None = None  # the last variance and its tables

    def maxima(self, gain: FloatArray, variance: FloatArray, sides: tuple[int, ...] = (1,)) -> FloatArray:
        """The best penalised score of every draw (one row each), on the sides above (1) or below (-1)."""
        tables, spread = two_way_tables(self.pairs, self.codes, gain), self._spread_tables(variance)
        found = [best_in_tables(self.pairs, side * tables, spread, self.penalty) for side in sides]
        return np.asarray(np.max(found, axis=0))

    def _spread_tables(self, variance: FloatArray) -> FloatArray:
        """Tables of the variances; where they are the same in all draws they are made once."""
        known = self._spread
        if known is not None and np.array_equal(known[0], variance):
            return known[1]
        tables = two_way_tables(self.pairs, self.codes, variance)
        if len(variance) == 1:
            self._spread = variance, tables
        return tables

    def reach(self, gain: FloatArray, variance: FloatArray) -> dict[tuple[int, ...], float]:
        """The best score of one problem over each two attributes."""
        totals = two_way_tables(self.pairs, self.codes, gain[None])[:, 0].copy()
        spreads = self._spread_tables(variance[None])[:, 0].copy()
        count = len(self.pairs.arity)
        return {
            (i, j): best_of_pair(self.pairs, i, j, totals, spreads, self.penalty)
            for i in range(count)
            for j in range(i + 1, count)
        }
