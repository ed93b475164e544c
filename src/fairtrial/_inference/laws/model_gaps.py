"""Gaps standardised by models: each row's doubly robust part, cross-fitted, and whether groups overlap enough for it.

phi = m1 - m0 + g(y - m1)/e - (1 - g)(y - m0)/(1 - e), m the outcome expected in the group and in the target and e the
chance of being of the group, each from other rows than the one it is used for (five folds). Its mean is right where
either model is: size .014 to .043, with both wrong .55 (methods/gaps.md). Their mean has the law of means.

With one model wrong the parts' own spread is too small: what the other model's coefficients owe to chance does not
cancel (.059 of rates and .074 of skewed means rejected in place of .05, the group's model wrong, 500 people). So each
row's pull on the coefficients is added to its part (the stacked estimating equations' sandwich), which leaves the mean
alone, and the gap is never sharper than with it (.044 and .051).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.laws.choose_gaps import make_gaps
from fairtrial._inference.laws.gaps import DerivedGaps, Heterogeneity
from fairtrial._inference.numeric.roots import Bools, Floats

FOLDS = 5
OVERLAP = (0.02, 0.98)  # chances of being of the group that are not thin
MOST_THIN = 0.05
LEAST_EFFECTIVE = 50.0
NEAREST = 1e-3  # of a chance to zero or one
# Rows of the smaller side for each column of the models. A hundred labels of ten rows moved a gap of none by 9 points;
# with 10 of them on either side it moved by 3, with 25 by none that 40 samples show.
LEAST_ROWS = 20.0


class Fitted(NamedTuple):
    """What a model expects of others than it learned from, and the pull of each row it learned from.

    `pull` tells how far each row moves the sum of the expectations, each times a multiple that is given.
    """

    expected: Floats
    pull: Callable[[Floats], Floats]


# from rows to learn from to what is expected of others: a chance of a 0/1 value, or a mean
Fit = Callable[[Floats, Floats, Floats], Fitted]


class Expected(NamedTuple):
    """Of each row: its side, its value, the chance of being of the group, and what is expected on either side."""

    group: Bools
    value: Floats
    chance: Floats
    first: Floats
    second: Floats


class RobustParts(NamedTuple):
    """Of one group and its target: which rows they are, each row's part in the gap, and the overlap.

    `inferred` are the parts whose spread is the gap's: with the rows' pull on the models where that spreads them more.
    """

    rows: NDArray[np.intp]
    part: Floats
    inferred: Floats
    thin: float
    effective: float
    expected: Expected
    rows_each: float  # of the smaller side, for each column of the models

    @property
    def why_not(self) -> str | None:
        if self.rows_each < LEAST_ROWS:
            return (
                f"the smaller side has {self.rows_each:.0f} rows for each label and number adjusted for, where a model "
                f"needs {LEAST_ROWS:.0f}: merge labels, or adjust by strata"
            )
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
) -> RobustParts:
    """Of rows that are of the group or of its target, by models fitted on the other folds."""
    propensity, part, pulled, first, second = (np.zeros(value.size) for _ in range(5))
    for held in range(FOLDS):
        told, rest = fold == held, fold != held
        sides = rest & group, rest & ~group
        who = chance(design[rest], group[rest].astype(np.float64), design[told])
        one, other = (mean(design[side], value[side], design[told]) for side in sides)
        propensity[told], e = who.expected, np.clip(who.expected, NEAREST, 1.0 - NEAREST)
        weights = np.where(group[told], 1.0 / e, 0.0), np.where(group[told], 0.0, 1.0 / (1.0 - e))
        above, below = weights[0] * (value[told] - one.expected), weights[1] * (value[told] - other.expected)
        first[told], second[told] = one.expected, other.expected
        part[told] = one.expected - other.expected + above - below
        pulled[rest] += who.pull(np.where(e == who.expected, -above / e - below / (1.0 - e), 0.0))
        pulled[sides[0]] += one.pull(1.0 - weights[0])
        pulled[sides[1]] += other.pull(weights[1] - 1.0)
    wider = part + pulled - pulled.mean()
    inferred = wider if wider.std() > part.std() else part
    expected = Expected(group, value, np.clip(propensity, NEAREST, 1.0 - NEAREST), first, second)
    rows_each = min(group.sum(), (~group).sum()) / (design.shape[1] + 1.0)
    return RobustParts(
        np.arange(value.size), part, inferred, *_overlap(group, propensity), expected, float(rows_each)
    )


def _overlap(group: Bools, propensity: Floats) -> tuple[float, float]:
    """The share of people with hardly anybody alike on the other side, and as how many the lesser side counts."""
    thin = float(np.mean((propensity < OVERLAP[0]) | (propensity > OVERLAP[1])))
    e = np.clip(propensity, NEAREST, 1.0 - NEAREST)
    weights = group / e, (~group) / (1.0 - e)
    effective = min(float(w.sum() ** 2 / max(float((w**2).sum()), 1e-300)) for w in weights)
    return thin, effective


class ModelGaps(DerivedGaps):
    """The mean of each group's parts, as a mean against zero; without inference where overlap is thin."""

    def __init__(self, parts: Sequence[RobustParts], rows: int) -> None:
        self.expected = [part.expected for part in parts]
        member = np.eye(len(parts), dtype=bool)
        zero = Comparison(member, np.zeros_like(member), np.zeros(len(parts)))
        self.inner = make_gaps(Atoms.of_values([part.inferred for part in parts]), zero)
        self.estimate, self.error, self.df = self.inner.estimate, self.inner.error, self.inner.df
        self.carried_by = self.inner.carried_by
        self.reason = [part.why_not or why for part, why in zip(parts, self.inner.reason, strict=True)]
        self.rule = np.full(len(parts), "doubly robust, cross-fitted")
        self.compared = np.array([1.0 - part.thin for part in parts])
        influence = np.zeros((len(parts), rows))
        for line, part in zip(influence, parts, strict=True):
            line[part.rows] = (part.inferred - part.inferred.mean()) / part.inferred.size
        self.covariance = influence @ influence.T
        none = np.zeros(len(parts))
        self.heterogeneity = Heterogeneity(none, none, none + 1.0)

    def one_sided(self, index: int) -> NDArray[np.intp]:
        """Models have no strata."""
        return np.zeros(0, dtype=np.intp)
