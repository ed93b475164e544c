"""Levels of people whose outcome is partly unknown: the end that is worst for one claim, with bounded odds or none.

Each cell has two ends, its (u, w) had the outcome been 0 and had it been 1; they differ where the outcome is unknown
and matters. A completion takes one end for each cell. Without an assumption the end itself is taken. With odds Γ the
share of positive outcomes among the unknown is between q/(q + Γ(1−q)) and Γq/(1−q + Γq), q being the share among the
known of the same stratum, (s+½)/(s+f+1): it is found anew in every draw, so that its own error counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from fairtrial._inference.numeric.cell_bootstrap import LevelCells, group_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Bools = NDArray[np.bool_]

# the end of a linear fractional function is reached in a few steps; more would be a circle of rounding errors
MOST_STEPS = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnknownEnds:
    """Cells with both their ends: `low` has the values at 0, `high` those at 1.

    `outcome` is 0, 1, or NaN where it is unknown; `stratum` numbers the people who are alike; `odds` is infinite where
    nothing is assumed.
    """

    low: LevelCells
    high: Floats
    outcome: Floats
    stratum: Integers
    odds: float

    def completed(self, upper: Bools) -> LevelCells:
        """Cells with the upper end where `upper` says so, else the lower one."""
        if math.isinf(self.odds):
            ends = np.where(upper[:, None, None, None], self.high, self.low.values)
            return replace(self.low, values=ends)
        found = OddsCells(
            counts=self.low.counts, group=self.low.group, groups=self.low.groups, values=self.low.values,
            low=self.low.values, high=self.high, upper=upper, outcome=self.outcome, stratum=self.stratum,
            odds=self.odds,
        )  # fmt: skip
        share = found.shares(found.counts[None, :].astype(np.float64))[0]
        mixed = self.low.values + share[:, None, None, None] * (self.high - self.low.values)
        return replace(found, values=mixed)

    def least(self, utility: int, coefficients: Floats) -> Bools:
        """The completion that makes Σ coefficient·level least; coefficients have shape (2 rules, G+1).

        Each person's part in it is linear once the levels are known, and the levels follow from who takes which end
        (Dinkelbach's steps). Exact where both rules share a denominator, or none depends on the outcome.
        """
        upper = np.zeros(self.low.counts.size, dtype=bool)
        best, lowest = upper, math.inf
        for _ in range(MOST_STEPS):
            cells = self.completed(upper).only(utility)
            sums = cells.sums(cells.counts[None, :].astype(np.float64))[0, 0]
            with np.errstate(divide="ignore", invalid="ignore"):
                level = np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], 0.0)
                factor = np.where(sums[..., 1] > 0, coefficients / sums[..., 1], 0.0)
            value = float((coefficients * level).sum())
            if value >= lowest - 1e-15 * (1.0 + abs(lowest)):
                break
            best, lowest = upper, value
            change = (self.high - self.low.values)[:, utility]
            effect = (change[..., 0, None] - level * change[..., 1, None]) * factor
            upper = (effect * self.low.members[:, None, :]).sum(axis=(1, 2)) < 0
        return best


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OddsCells(LevelCells):
    """Cells whose unknown outcomes have bounded odds; see the module."""

    low: Floats
    high: Floats
    upper: Bools
    outcome: Floats
    stratum: Integers
    odds: float

    def only(self, utility: int) -> OddsCells:
        """The same cells with one of the utilities."""
        one = [utility]
        return replace(self, values=self.values[:, one], low=self.low[:, one], high=self.high[:, one])

    def sums(self, weights: Floats) -> Floats:
        """Σ u and Σ w, with the shares that the weights themselves give."""
        change = self.high - self.low
        return group_sums(self, self.low, weights) + group_sums(self, change, weights * self.shares(weights))

    def shares(self, weights: Floats) -> Floats:
        """The share of positive outcomes in each cell under each row of weights: (draws, cells)."""
        q, known = self._labelled(weights)
        low, high = (self._bound(q, upper=upper) for upper in (False, True))
        found = np.where(self.upper, high[:, self.stratum], low[:, self.stratum])
        found = np.where(known[self.stratum], found, self.upper.astype(np.float64))
        return np.where(np.isnan(self.outcome), found, self.outcome)

    def influence(self, sums: Floats, estimate: Floats) -> Floats:
        """That of the cells' values, and for people whose outcome is known what it tells of the others'."""
        psi = LevelCells.influence(self, sums, estimate)
        weights = self.counts.astype(np.float64)
        (q,), known = self._labelled(weights[None, :])
        slope = np.where(
            self.upper, self._slope(q, upper=True)[self.stratum], self._slope(q, upper=False)[self.stratum]
        )
        slope = np.where(np.isnan(self.outcome) & known[self.stratum], slope, 0.0)
        change = self.high - self.low
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = (change[..., 0, None] - estimate * change[..., 1, None]) / sums[..., 1]
        effect = np.where(np.isfinite(effect), effect, 0.0) * self.members[:, None, None, :]
        size = len(q)
        by_stratum = np.zeros((size, *effect.shape[1:]))
        np.add.at(by_stratum, self.stratum, (weights * slope)[:, None, None, None] * effect)
        labelled = np.bincount(self.stratum, weights * ~np.isnan(self.outcome), size) + 1.0
        residual = np.where(np.isnan(self.outcome), 0.0, np.nan_to_num(self.outcome) - q[self.stratum])
        scale = residual * self.rows / labelled[self.stratum]
        return np.asarray(psi + scale[:, None, None, None] * by_stratum[self.stratum])

    def _labelled(self, weights: Floats) -> tuple[Floats, Bools]:
        """q of each stratum under each row of weights, and which strata hold anybody whose outcome is known."""
        size, cells = int(self.stratum.max()) + 1, np.arange(self.counts.size)
        label = ~np.isnan(self.outcome)
        positive, negative = (
            csr_matrix((of.astype(np.float64), (cells, self.stratum)), shape=(cells.size, size))
            for of in (label & (self.outcome == 1), label & (self.outcome == 0))
        )
        s, f = weights @ positive, weights @ negative
        return (s + 0.5) / (s + f + 1.0), np.bincount(self.stratum, label, size) > 0

    def _bound(self, q: Floats, *, upper: bool) -> Floats:
        if upper:
            return self.odds * q / (1.0 - q + self.odds * q)
        return q / (q + self.odds * (1.0 - q))

    def _slope(self, q: Floats, *, upper: bool) -> Floats:
        """The derivative of the bound in q."""
        return self.odds / ((1.0 - q + self.odds * q) if upper else (q + self.odds * (1.0 - q))) ** 2
