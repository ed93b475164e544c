"""Groups known only with a probability: three answers, each right under its own assumption, none by a threshold.

Weighted (a row counts in a group by its probability) is right when value and group are independent given the proxy;
dual (least squares of the value on the probabilities) when value and proxy are independent given the group. The bounds
need neither: in a cell of the proxy the part of the group with value 1 lies between max(0, p + y - 1) and min(p, y).
Which of the two applies is chosen on one half of the rows and estimated on the other: a branch that was chosen wrongly
only widens the bounds. Chosen on the rows it is estimated on, the interval misses always; never by single rows, where
the two collapse into the weighted answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial._inference.evidence.atoms import Comparison
from fairtrial._inference.numeric.roots import Bools, Floats

MOST_CELLS = 10  # quantile cells of the group's probability
BESIDE = 3  # and in each of them of the target's
LEAST_ROWS = 40  # of a cell
SINGULAR = 1e8  # a larger condition number: the probabilities do not tell the groups apart


class InfluenceEstimate(NamedTuple):
    """A gap or a rate with each row's influence on it."""

    value: float
    influence: Floats

    @property
    def error(self) -> float:
        return float(np.sqrt(self.influence @ self.influence))

    @property
    def df(self) -> float:
        """As many degrees of freedom as the variance is known with: few rows that carry it all are few."""
        square = self.influence**2
        total = float(square.sum())
        spread = float(square @ square) - total**2 / max(square.size, 1)
        return float(np.clip(2.0 * total**2 / spread, 1.0, square.size)) if spread > 0 else float(square.size)

    def less(self, number: float) -> InfluenceEstimate:
        return InfluenceEstimate(self.value - number, self.influence)

    def limits(self, level: float) -> tuple[float, float]:
        """By Student's t."""
        half = -float(special.stdtrit(self.df, (1.0 - level) / 2.0)) * self.error
        return self.value - half, self.value + half

    def minus(self, other: InfluenceEstimate) -> InfluenceEstimate:
        return InfluenceEstimate(self.value - other.value, self.influence - other.influence)


@dataclass(frozen=True, slots=True, eq=False)
class ProbableRows:
    """Values of 0 and 1, and every row's probability of each group; `chosen` rows choose, the others estimate."""

    value: Floats
    weights: Floats
    chosen: Bools

    @property
    def expected(self) -> Floats:
        """About how many people each group has."""
        return np.asarray(self.weights.sum(axis=0))

    def of(self, groups: Bools) -> Floats:
        """Every row's probability of being in one of the groups."""
        return np.asarray(self.weights @ groups.astype(np.float64))

    def weighted(self, groups: Bools) -> InfluenceEstimate:
        """The mean in which a row counts by its probability."""
        probability = self.of(groups)
        return _ratio(probability * self.value, probability)

    def dual(self, groups: Bools) -> InfluenceEstimate | None:
        """From least squares of the value on the probabilities; None where they do not tell the groups apart."""
        weights, total = self.weights, self.expected
        gram = weights.T @ weights
        if np.linalg.cond(gram) > SINGULAR:
            return None
        inverse = np.linalg.inv(gram)
        rates = inverse @ (weights.T @ self.value)
        leverage = np.einsum("ij,jk,ik->i", weights, inverse, weights)
        left = (self.value - weights @ rates) / np.maximum(1.0 - leverage, 0.1)
        share = np.where(groups, total, 0.0) / float(total[groups].sum())
        value = float(share @ rates)
        moved = weights @ (np.where(groups, rates - value, 0.0) / float(total[groups].sum()))
        return InfluenceEstimate(value, left * (weights @ (inverse @ share)) + moved)

    def ends(self, group: Bools, target: Bools | None) -> tuple[InfluenceEstimate, InfluenceEstimate]:
        """The smallest and the largest gap of a group to a target apart from it, to everyone, or of its rate alone."""
        own = self.of(group)
        other = None if target is None else self.of(target)
        cell = proxy_cells(own, other)
        least, most = (
            self.end(own, cell, most=False), self.end(own, cell, most=True),
        )  # fmt: skip
        if other is None:
            return least, most
        beside = self.end(other, cell, most=True), self.end(other, cell, most=False)
        return least.minus(beside[0]), most.minus(beside[1])

    def end(self, probability: Floats, cell: NDArray[np.int64], *, most: bool) -> InfluenceEstimate:
        """The smallest or the largest rate, its branches chosen on the chosen rows and estimated on the others."""
        p, y = (_means(column[self.chosen], cell[self.chosen], cell) for column in (probability, self.value))
        rest = ~self.chosen if not self.chosen.all() else self.chosen
        own, value, kind = probability[rest], self.value[rest], cell[rest]
        if most:
            part = np.where((p <= y)[kind], own, value)
        else:
            part = np.where((p + y > 1.0)[kind], own + value - 1.0, 0.0)
        return _ratio(part, own)


def _ratio(part: Floats, whole: Floats) -> InfluenceEstimate:
    total = max(float(whole.sum()), 1e-12)
    value = float(part.sum()) / total
    return InfluenceEstimate(value, (part - value * whole) / total)


def _means(values: Floats, cell: NDArray[np.int64], every: NDArray[np.int64]) -> Floats:
    """The mean of each cell; a half where nobody is."""
    cells = int(every.max(initial=0)) + 1
    count = np.bincount(cell, minlength=cells)
    total = np.bincount(cell, values, cells)
    return np.asarray(np.divide(total, count, out=np.full(cells, 0.5), where=count > 0))


def proxy_cells(own: Floats, other: Floats | None) -> NDArray[np.int64]:
    """Cells of the proxy alone: quantiles of the group's probability, and in each of them of the target's."""
    cells = int(np.clip(own.size // LEAST_ROWS, 1, MOST_CELLS))
    first = _quantile_cells(own, cells)
    if other is None or own.size < LEAST_ROWS * cells * BESIDE or np.allclose(own + other, 1.0):
        return first
    found = first * BESIDE
    for one in np.unique(first):
        inside = first == one
        found[inside] += _quantile_cells(other[inside], BESIDE)
    return found


def _quantile_cells(values: Floats, cells: int) -> NDArray[np.int64]:
    edges = np.unique(np.quantile(values, np.arange(1, cells) / cells)) if cells > 1 else np.zeros(0)
    return np.searchsorted(edges, values, side="right").astype(np.int64)


def halves(rows: int) -> Bools:
    """Which rows choose: a half of them, the same for the same number of rows."""
    chosen = np.zeros(rows, dtype=bool)
    chosen[np.random.default_rng(rows).permutation(rows)[: rows // 2]] = True
    return chosen


class ProbableGap(NamedTuple):
    """A group's gap by all three answers; `dual` is None where the probabilities do not tell the groups apart."""

    least: InfluenceEstimate
    most: InfluenceEstimate
    weighted: InfluenceEstimate
    dual: InfluenceEstimate | None


def probable_gap(rows: ProbableRows, comparison: Comparison, index: int) -> ProbableGap:
    """One group's gap to its target: other groups, everyone, or a known number."""
    group, target = comparison.member[index], comparison.reference[index]
    if comparison.known is not None:
        known = float(comparison.known[index])
        least, most = (end.less(known) for end in rows.ends(group, None))
        dual = rows.dual(group)
        return ProbableGap(
            least, most, rows.weighted(group).less(known), None if dual is None else dual.less(known)
        )
    least, most = rows.ends(group, target)
    duals = rows.dual(group), rows.dual(target)
    dual = None if duals[0] is None or duals[1] is None else duals[0].minus(duals[1])
    return ProbableGap(least, most, rows.weighted(group).minus(rows.weighted(target)), dual)
