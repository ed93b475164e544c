"""Component tests of an improvement: is the candidate as accurate for each group, and less unfair?

Source: Auerbach, Liang, Okumura and Tabord-Meehan, "Testing the Fairness-Accuracy Improvability of Algorithms",
Section 3.2 and Appendix A. Every component is one inequality between a number of the candidate and one of the
status quo:

    accuracy   N > (1+Δ)·D        N = A1g,      D = A0g
    fairness   (1−Δ)·D > N        N = gap of the candidate, D = gap of the status quo

and its p-value is P*(T* − T ≥ T), T being the amount by which the inequality holds. The null is a union, so the
p-value of the whole is the largest one (intersection-union).

The article takes the gap as |F_r − F_b|, whose kink makes the bootstrap reject too often when gaps are one or two
standard errors from zero. The smooth form replaces it by linear inequalities: with the worst pair (a, b) of
the status quo chosen on the *training* half, (1−Δ)(F0a − F0b) > F1j − F1k for every ordered pair j ≠ k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from fairtrial.inference.numeric.cell_bootstrap import Levels

Floats = NDArray[np.float64]
Scale = Literal["ratio", "difference"]
Part = Literal["accuracy", "fairness"]
Pair = tuple[int, int]

# Two levels that are equal in exact arithmetic may differ by rounding: ties count against rejection.
TIE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One side of an inequality, a level or a gap: its estimate, bootstrap draws and influence values."""

    estimate: float
    draws: Floats
    influence: Floats

    @classmethod
    def of(cls, levels: Levels, utility: int, rule: int, plus: int, minus: int | None = None) -> Side:
        """A group's level under one rule, or its difference from another group's."""

        def picked(array: Floats) -> Floats:
            level = array[..., utility, rule, plus]
            return np.asarray(level if minus is None else level - array[..., utility, rule, minus])

        return cls(float(picked(levels.estimate)), picked(levels.draws), picked(levels.influence))


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """One inequality of the claim between the candidate and the status quo.

    Draws whose reflected status quo 2D − D* is negative count against rejection, which makes the p-value monotone in
    Δ. The article's own component (`kinked`) is left as printed.
    """

    name: str
    part: Part
    scale: Scale
    candidate: Side
    status_quo: Side
    counts: NDArray[np.int64]
    kinked: bool = False

    @property
    def tie(self) -> float:
        """What rounding alone can make of a difference of the two sides."""
        return TIE * (1.0 + abs(self.candidate.estimate) + abs(self.status_quo.estimate))

    def statistic(self, delta: float) -> float:
        """T, by how much the inequality holds (positive: it does)."""
        return float(self._statistic(self.candidate.estimate, self.status_quo.estimate, delta))

    def p_value(self, delta: float) -> float:
        """Bootstrap p-value (1+k)/(1+Q), k the draws with T* − T ≥ T; undefined draws count against rejection."""
        estimate = self.statistic(delta)
        if not math.isfinite(estimate):
            return 1.0
        draws = np.asarray(self._statistic(self.candidate.draws, self.status_quo.draws, delta))
        against = ~(draws - estimate < estimate - self.tie)
        if self.scale == "ratio" and not self.kinked:
            against |= ~(self._reflected_status_quo() >= 0)
        return float((1 + np.count_nonzero(against)) / (1 + against.size))

    def delta_method(self, delta: float) -> float | None:
        """Normal-theory p-value of the same inequality; None where its standard error is zero."""
        error = self.standard_error(delta)
        estimate = self.statistic(delta)
        if not math.isfinite(estimate) or error <= self.tie:
            return None
        return float(ndtr(-estimate / error))

    def standard_error(self, delta: float) -> float:
        """Standard error of T from the influence values of its two levels."""
        factor = 1.0 if self.scale == "difference" else (1 + delta if self.part == "accuracy" else 1 - delta)
        psi = self.candidate.influence - factor * self.status_quo.influence
        rows = float(self.counts.sum())
        return math.sqrt(float(self.counts @ psi**2)) / rows

    def largest_delta(self, level: float) -> float:
        """The Δ below which p_value(Δ) < level, read off the sorted draws: no grid, no search.

        T* − T ≥ T can be solved for Δ: p is the share of (2N−N*)/(2D−D*) at or below 1+Δ (accuracy), or at or
        above 1−Δ (fairness); negative denominators count against rejection.
        """
        size = self.candidate.draws.size
        allowed = math.ceil(level * (1 + size) - 1) - 1
        if allowed < 0 or allowed >= size or not math.isfinite(self.statistic(0.0)):
            return -math.inf
        numerator = 2 * self.candidate.estimate - self.candidate.draws
        denominator = self._reflected_status_quo()
        sign = 1.0 if self.part == "accuracy" else -1.0
        if self.scale == "difference":
            against_below, shift = sign * (numerator - denominator), 0.0
        else:
            # A reflected status quo of exactly zero leaves Δ out: such a draw is against rejection, or never is.
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(denominator > 0, sign * numerator / denominator, np.nan)
            zero = np.where(sign * numerator > 0, np.inf, -np.inf)
            against_below, shift = np.where(denominator == 0, zero, ratio), -sign
        ordered = np.sort(np.where(np.isnan(against_below), -np.inf, against_below))
        largest = float(ordered[allowed]) + shift
        # A gap cannot shrink by its whole size or more.
        return min(largest, 1.0) if self.scale == "ratio" and self.part == "fairness" else largest

    def _reflected_status_quo(self) -> Floats:
        return 2 * self.status_quo.estimate - self.status_quo.draws

    def _statistic(
        self, candidate: Floats | float, status_quo: Floats | float, delta: float
    ) -> Floats | float:
        if self.part == "accuracy":
            return candidate - ((1 + delta) * status_quo if self.scale == "ratio" else status_quo + delta)
        return (
            (1 - delta) * status_quo - candidate if self.scale == "ratio" else status_quo - delta - candidate
        )


def directed_pairs(groups: int, reference: int | None = None, direction: str = "below") -> list[Pair]:
    """The gaps that count: F_j − F_k for all ordered pairs, or only a protected group below/above a reference."""
    if reference is None:
        return [(j, k) for j in range(groups) for k in range(groups) if j != k]
    others = [j for j in range(groups) if j != reference]
    return [(reference, j) if direction == "below" else (j, reference) for j in others]


def gap_of(levels: Floats, pairs: Sequence[Pair]) -> float:
    """Unfairness of one rule: the largest directed gap, levels per group."""
    return max(float(levels[j] - levels[k]) for j, k in pairs)


def worst_pair(levels: Floats, pairs: Sequence[Pair]) -> Pair:
    """The directed pair with the largest gap; undefined levels are never the worst."""
    gaps = [levels[j] - levels[k] for j, k in pairs]
    return pairs[int(np.argmax([gap if np.isfinite(gap) else -np.inf for gap in gaps]))]


def accuracy_components(
    levels: Levels, utility: int, names: Sequence[str], *, scale: Scale, pooled: bool
) -> list[Component]:
    """T_g = A1g − (1+Δg)A0g for each group, or for everybody pooled."""
    groups = levels.estimate.shape[-1] - 1
    found = []
    for g in [groups] if pooled else range(groups):
        new, old = (Side.of(levels, utility, rule, g) for rule in (1, 0))
        found.append(Component(names[g], "accuracy", scale, new, old, levels.counts))
    return found


def smooth_fairness_components(
    levels: Levels,
    utility: int,
    names: Sequence[str],
    *,
    scale: Scale,
    pairs: Sequence[Pair],
    worst: Pair,
    one_sided: bool,
) -> list[Component]:
    """(1−Δ)(F0a − F0b) > F1j − F1k for every directed pair; one-sided also F0a − F0b > 0.

    The pair (a, b) must come from the training half. Testing (a, b) alone would miss a candidate that opens an
    equal gap elsewhere; without F0a − F0b > 0 a one-sided test rejects when there is no disparity at all.
    """
    old = Side.of(levels, utility, 0, *worst)
    sides = [(f"{names[j]} − {names[k]}", Side.of(levels, utility, 1, j, k)) for j, k in pairs]
    if one_sided:
        nothing = Side(0.0, np.zeros_like(old.draws), np.zeros_like(old.influence))
        sides.append((f"{names[worst[0]]} − {names[worst[1]]} exists", nothing))
    return [Component(name, "fairness", scale, new, old, levels.counts) for name, new in sides]


def paper_fairness_component(
    levels: Levels, utility: int, *, scale: Scale, pairs: Sequence[Pair], one_sided: bool
) -> Component:
    """The article's T_f = |F1r − F1b| − (1−Δf)|F0r − F0b|, kink included; more groups: the largest gap."""
    new, old = (_largest_gap(levels, utility, rule, pairs, one_sided) for rule in (1, 0))
    return Component("gap", "fairness", scale, new, old, levels.counts, kinked=True)


def _largest_gap(levels: Levels, utility: int, rule: int, pairs: Sequence[Pair], one_sided: bool) -> Side:
    worst = Side.of(levels, utility, rule, *worst_pair(levels.estimate[utility, rule], pairs))
    draws = np.max([Side.of(levels, utility, rule, *pair).draws for pair in pairs], 0)
    if not one_sided:
        return Side(worst.estimate, draws, worst.influence)
    influence = worst.influence if worst.estimate > 0 else np.zeros_like(worst.influence)
    return Side(max(worst.estimate, 0.0), np.maximum(draws, 0.0), influence)
