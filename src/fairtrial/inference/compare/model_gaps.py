"""Gaps standardised by models: each row's doubly robust part, cross-fitted, and whether groups overlap enough for it.

phi = m1 - m0 + g(y - m1)/e - (1 - g)(y - m0)/(1 - e), m the outcome expected in the group and in the target and e the
chance of being of the group, each from other rows than the one it is used for (five folds). Its mean is right where
either model is: size .014 to .043, with both wrong .55 (methods/gaps.md). Their mean has the law of means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial.inference.compare.choose_gaps import make_gaps
from fairtrial.inference.compare.gaps import Gaps
from fairtrial.inference.evidence.atoms import Atoms, Bools, Comparison
from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.rates.strata import Heterogeneity

FOLDS = 5
OVERLAP = (0.02, 0.98)  # chances of being of the group that are not thin
MOST_THIN = 0.05
LEAST_EFFECTIVE = 50.0
NEAREST = 1e-3  # of a chance to zero or one
# from rows to learn from to what is expected of others: a chance of a 0/1 value, or a mean
Fit = Callable[[Floats, Floats, Floats], Floats]


class Parts(NamedTuple):
    """Of one group and its target: which rows they are, each row's part in the gap, and the overlap."""

    rows: NDArray[np.intp]
    part: Floats
    thin: float
    effective: float

    @property
    def why_not(self) -> str | None:
        if self.thin > MOST_THIN:
            return (
                f"{100 * self.thin:.0f}% of people have hardly anybody alike on the other side: overlap is too thin "
                "to adjust by a model"
            )
        if self.effective < LEAST_EFFECTIVE:
            return f"adjusted, one side counts as {self.effective:.0f} people: overlap is too thin"
        return None


def robust_parts(
    group: Bools, value: Floats, design: Floats, chance: Fit, mean: Fit, fold: NDArray[np.int64]
) -> Parts:
    """Of rows that are of the group or of its target, by models fitted on the other folds."""
    inside = group.astype(np.float64)
    propensity, one, other = (np.zeros(value.size) for _ in range(3))
    for held in range(FOLDS):
        told, rest = fold == held, fold != held
        propensity[told] = chance(design[rest], inside[rest], design[told])
        for side, expected in ((group, one), (~group, other)):
            learn = rest & side
            expected[told] = mean(design[learn], value[learn], design[told])
    thin = float(np.mean((propensity < OVERLAP[0]) | (propensity > OVERLAP[1])))
    e = np.clip(propensity, NEAREST, 1.0 - NEAREST)
    weights = inside / e, (1.0 - inside) / (1.0 - e)
    effective = min(float(w.sum() ** 2 / max(float((w**2).sum()), 1e-300)) for w in weights)
    part = one - other + weights[0] * (value - one) - weights[1] * (value - other)
    return Parts(np.arange(value.size), part, thin, effective)


class ModelGaps(Gaps):
    """The mean of each group's parts, as a mean against zero; without inference where overlap is thin."""

    def __init__(self, parts: Sequence[Parts], rows: int) -> None:
        member = np.eye(len(parts), dtype=bool)
        zero = Comparison(member, np.zeros_like(member), np.zeros(len(parts)))
        self.inner = make_gaps(Atoms.of_values([part.part for part in parts]), zero)
        self.estimate, self.error, self.df = self.inner.estimate, self.inner.error, self.inner.df
        self.carried_by = self.inner.carried_by
        self.reason = [part.why_not or why for part, why in zip(parts, self.inner.reason, strict=True)]
        self.rule = np.full(len(parts), "doubly robust, cross-fitted")
        self.compared = np.array([1.0 - part.thin for part in parts])
        influence = np.zeros((len(parts), rows))
        for line, part in zip(influence, parts, strict=True):
            line[part.rows] = (part.part - part.part.mean()) / part.part.size
        self.covariance = influence @ influence.T
        none = np.zeros(len(parts))
        self.heterogeneity = Heterogeneity(none, none, none + 1.0)

    def one_sided(self, index: int) -> NDArray[np.intp]:
        """Models have no strata."""
        return np.zeros(0, dtype=np.intp)

    def root(self, gap: Floats) -> Floats:
        return np.where(self.defined, self.inner.root(gap), 0.0)

    def tails(self, gap: Floats) -> tuple[Floats, Floats]:
        above, below = self.inner.tails(gap)
        return self._guard(above), self._guard(below)

    def limits(self, level: float) -> tuple[Floats, Floats]:
        low, high = self.inner.limits(level)
        return np.where(self.defined, low, np.nan), np.where(self.defined, high, np.nan)
