"""First stage: group values and the tests that all groups have the same rate.

Amri-Jouidel, Kemel and Mussard, "Shapley meets Rawls", Sections 3.2 and 4.1 and Appendix B.1. With v(S) the pooled
rate of the groups in S over a baseline, two groups have φ_1 − φ_2 = b_1·(p_1 − p_2)/baseline, so the test of equal
φ is that of equal rates: b_1 and the baseline cancel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial._explain.solver.coalitions import CoalitionRates, RowForm, Targets, group_members
from fairtrial._explain.solver.esl import (
    Floats,
    Masks,
    all_coalitions,
    cells_in,
    coefficients,
    tensor_coefficients,
)
from fairtrial._explain.solver.influence import Spread


class WaldTest(NamedTuple):
    """A statistic, its degrees of freedom and its p-value."""

    statistic: float
    df: int
    p_value: float


def linear_wald(matrix: Floats, rates: Floats, variances: Floats) -> WaldTest | None:
    """matrix·rates = 0 with independent rates; None when a contrast has no variance to be judged by."""
    covariance = (matrix * variances[None, :]) @ matrix.T
    rank = int(np.linalg.matrix_rank(covariance))
    if rank < matrix.shape[0]:
        return None
    estimate = matrix @ rates
    statistic = float(estimate @ np.linalg.solve(covariance, estimate))
    return WaldTest(statistic, rank, float(special.chdtrc(rank, statistic)))


def group_targets(sequences: Sequence[Floats], baseline: float) -> Targets:
    """φ_g for every group and value: weights c_g(J)/baseline on the pooled rates of the unions J."""
    groups = sequences[0].size - 1
    unions = all_coalitions(groups)[1:]
    weights = np.stack([coefficients(b, unions) / baseline for b in sequences], axis=1)
    return Targets(unions, weights)


def multi_attribute_targets(sequences: Sequence[Floats], baseline: float) -> Targets:
    """φ of every cell of several attributes (Theorem A.1) as weights on pooled rates of unions of cells."""
    levels = [b.size - 1 for b in sequences]
    tuples, product = tensor_coefficients(sequences)
    unions = np.array(
        [sum(1 << cell for cell in cells_in(levels, masks)) for masks in tuples], dtype=np.int64
    )
    return Targets(unions, (product / baseline)[:, None, :])


def pair_targets(groups: int, pairs: Sequence[tuple[int, int]], first_b: Floats, baseline: float) -> Targets:
    """b_1·(p_g − p_h)/baseline for every pair of groups, b_1 of the two-player game of that pair alone."""
    unions = np.left_shift(np.int64(1), np.arange(groups, dtype=np.int64))
    weights = np.zeros((len(pairs), first_b.size, groups))
    for t, (g, h) in enumerate(pairs):
        weights[t, :, g] = first_b / baseline
        weights[t, :, h] = -first_b / baseline
    return Targets(unions, weights)


def interaction_contrasts(levels: Sequence[int]) -> Floats:
    """Contrasts of cell rates that vanish when no attribute's gap depends on the others (full interaction).

    For one attribute: the first level minus each other. For two with two levels: p11 − p12 − p21 + p22.
    """
    matrix: Floats = np.ones((1, 1))
    for count in levels:
        differences = np.hstack([np.ones((count - 1, 1)), -np.eye(count - 1)])
        matrix = np.asarray(np.kron(matrix, differences), dtype=np.float64)
    return matrix


def merge_targets(parts: Sequence[Targets]) -> Targets:
    """Several lists of targets over one list of unions."""
    unions: Masks = np.unique(np.concatenate([part.unions for part in parts]))
    pieces = []
    for part in parts:
        widened = np.zeros((*part.weights.shape[:2], unions.size))
        for j, place in enumerate(np.searchsorted(unions, part.unions)):
            widened[:, :, place] += part.weights[:, :, j]
        pieces.append(widened)
    return Targets(unions, np.concatenate(pieces))


def baseline_of(form: RowForm, share: Floats | float, slope: Floats | None = None) -> tuple[float, Floats]:
    """The metric of a classifier that decides 1 with probability `share` for everybody, and its rows' influence.

    `slope` is the rows' influence on an estimated share (the prior), whose error moves the baseline too.
    """
    value, weight = form.at(share)
    total = float(weight.sum())
    rate = float(value.sum()) / total
    influence = (value - rate * weight) / total
    if slope is not None:
        value_slope = float((form.value1 - form.value0).sum())
        weight_slope = float((form.weight1 - form.weight0).sum())
        influence = influence + (value_slope - rate * weight_slope) / total * slope
    return rate, influence


# -- The variance that a sample of background rows brings: how much leaving each out changes every
# contribution. The contribution of a player to a gap is a mean over people and over background rows, a
# two-sample U-statistic (Hoeffding 1948): its variance has a part of the people and a part of the
# background. The jackknife of the background rows is the second part, also where decisions are cut from
# mean probabilities or a metric is not linear in the score.

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
