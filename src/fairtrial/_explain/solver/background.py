"""The variance that a sample of background rows brings: how much leaving each out changes every contribution.

The contribution of a player to a gap is a mean over people and over background rows, a two-sample U-statistic
(Hoeffding 1948): its variance has a part of the people and a part of the background. The jackknife of the background
rows is the second part, also where decisions are cut from mean probabilities or a metric is not linear in the score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial._explain.solver.coalitions import CoalitionRates, Targets, group_members
from fairtrial._explain.solver.esl import Floats
from fairtrial._explain.solver.influence import Spread

# By outcome while there are at most so many: such sums serve every metric of decisions and outcomes.
FEW_OUTCOMES = 10


@dataclass(frozen=True, slots=True, eq=False)
class BackgroundSums:
    """Sums over people: each sum's group, and what one person's decision there adds to the group's value and weight.

    `parts` are pairs of the sum that each person belongs to and how much they count in it.
    """

    group: NDArray[np.int64]
    value: Floats
    weight: Floats
    parts: tuple[tuple[NDArray[np.int64], Floats], ...]

    @classmethod
    def of(
        cls, group: NDArray[np.int64], outcome: Floats | None, slopes: tuple[Floats, Floats]
    ) -> BackgroundSums:
        """By group and outcome, where the metric counts everybody in there alike; else with the metric's weights."""
        values, code = np.unique(np.zeros(group.size) if outcome is None else outcome, return_inverse=True)
        if values.size <= FEW_OUTCOMES:
            cell = group * values.size + code.reshape(-1)
            _, first, own = np.unique(cell, return_index=True, return_inverse=True)
            own = own.reshape(-1).astype(np.int64)
            value, weight = (slope[first] for slope in slopes)
            if (value[own] == slopes[0]).all() and (weight[own] == slopes[1]).all():
                return cls(group[first], value, weight, ((own, np.ones(group.size)),))
        both = np.repeat(np.arange(int(group.max()) + 1), 2)
        is_value = np.tile([1.0, 0.0], both.size // 2)
        return cls(both, is_value, 1.0 - is_value, ((2 * group, slopes[0]), (2 * group + 1, slopes[1])))

    def totals(self, people: NDArray[np.intp], kind: NDArray[np.int64], kinds: int) -> Floats:
        """How much the people of every kind count in every sum, kinds × sums."""
        size = self.group.size
        total = np.zeros(kinds * size)
        for own, amount in self.parts:
            total += np.bincount(kind * size + own[people], amount[people], minlength=kinds * size)
        return total.reshape(kinds, size)


@dataclass(frozen=True, slots=True, eq=False)
class BackgroundChanges:
    """What leaving each background row out changes in the sums of every coalition: coalitions × rows × sums."""

    change: Floats
    sums: BackgroundSums
    rows: NDArray[np.intp]
    block: NDArray[np.int64]  # of every row: each block stands in for people of its own

    def of_contributions(self, rates: CoalitionRates, targets: Targets, coefficients: Floats) -> Floats:
        """The same in every contribution: rows × targets × values × players."""
        groups = int(self.sums.group.max()) + 1
        inside = (self.sums.group[:, None] == np.arange(groups)).astype(np.float64)
        value, weight = (
            np.einsum("mbc,cg->bgm", self.change, inside * part[:, None])
            for part in (self.sums.value, self.sums.weight)
        )
        members = group_members(targets.unions, groups)
        inverse = np.where(rates.defined, 1.0 / np.where(rates.defined, rates.weight, 1.0), 0.0)
        moved = np.einsum("jg,bgm->bjm", members, value)
        moved = (moved - rates.rate * np.einsum("jg,bgm->bjm", members, weight)) * inverse
        shared = np.einsum("vkm,bjm->bvkj", coefficients, moved, optimize=True)
        return np.asarray(np.einsum("tvj,bvkj->btvk", targets.weights, shared, optimize=True))

    def spread(self, changes: Floats) -> Spread:
        """Standard errors by the jackknife within blocks, and their degrees of freedom."""
        variance = np.zeros(changes.shape[1:])
        blocks = int(self.block[-1]) + 1
        for number in range(blocks):
            own = changes[self.block == number]
            away = own - own.mean(axis=0)
            variance += (len(own) - 1) / len(own) * (away**2).sum(axis=0)
        freedom = np.full(variance.shape, float(self.block.size - blocks))
        return Spread(np.sqrt(variance), freedom)
