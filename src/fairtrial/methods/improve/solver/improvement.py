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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import ndtr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fairtrial.inference.numeric.cell_bootstrap import Levels

    Floats = NDArray[np.float64]

Scale = Literal["ratio", "difference"]
Part = Literal["accuracy", "fairness"]
Pair = tuple[int, int]

# Two levels that are equal in exact arithmetic may differ by rounding: ties count against rejection.
TIE = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Component:
    """One inequality of the claim: estimates, bootstrap draws and influence values of both of its sides.

    Draws whose reflected status quo 2D − D* is negative count against rejection, which makes the p-value monotone in
    Δ. The article's own component (`kinked`) is left as printed.
    """

    name: str
    part: Part
    scale: Scale
    candidate: float
    status_quo: float
    candidate_draws: Floats
    status_quo_draws: Floats
    candidate_influence: Floats
    status_quo_influence: Floats
    counts: NDArray[np.int64]
    kinked: bool = False

    def statistic(self, delta: float) -> float:
        """T, by how much the inequality holds (positive: it does)."""
        return float(self._statistic(self.candidate, self.status_quo, delta))

    def p_value(self, delta: float) -> float:
        """Bootstrap p-value (1+k)/(1+Q), k the draws with T* − T ≥ T; undefined draws count against rejection."""
        estimate = self.statistic(delta)
        if not math.isfinite(estimate):
            return 1.0
        draws = np.asarray(self._statistic(self.candidate_draws, self.status_quo_draws, delta))
        slack = TIE * (1.0 + abs(self.candidate) + abs(self.status_quo))
        against = ~(draws - estimate < estimate - slack)
        if self.scale == "ratio" and not self.kinked:
            against |= ~(self._reflected_status_quo() >= 0)
        return float((1 + np.count_nonzero(against)) / (1 + against.size))

    def delta_method(self, delta: float) -> float | None:
        """Normal-theory p-value of the same inequality; None where its standard error is zero."""
        error = self.standard_error(delta)
        estimate = self.statistic(delta)
        if not math.isfinite(estimate) or error <= TIE * (1.0 + abs(self.candidate) + abs(self.status_quo)):
            return None
        return float(ndtr(-estimate / error))

    def standard_error(self, delta: float) -> float:
        """Standard error of T from the influence values of its two levels."""
        factor = 1.0 if self.scale == "difference" else (1 + delta if self.part == "accuracy" else 1 - delta)
        psi = self.candidate_influence - factor * self.status_quo_influence
        rows = float(self.counts.sum())
        return math.sqrt(float(self.counts @ psi**2)) / rows

    def largest_delta(self, level: float) -> float:
        """The Δ below which p_value(Δ) < level, read off the sorted draws: no grid, no search.

        T* − T ≥ T can be solved for Δ: p is the share of (2N−N*)/(2D−D*) at or below 1+Δ (accuracy), or at or
        above 1−Δ (fairness); negative denominators count against rejection.
        """
        allowed = math.ceil(level * (1 + self.candidate_draws.size) - 1) - 1
        if allowed < 0 or allowed >= self.candidate_draws.size or not math.isfinite(self.statistic(0.0)):
            return -math.inf
        numerator = 2 * self.candidate - self.candidate_draws
        denominator = self._reflected_status_quo()
        if self.scale == "difference":
            sign = 1.0 if self.part == "accuracy" else -1.0
            against_below = sign * (numerator - denominator)
            shift = 0.0
        else:
            # A reflected status quo of exactly zero leaves Δ out: such a draw is against rejection, or never is.
            sign = 1.0 if self.part == "accuracy" else -1.0
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(denominator > 0, sign * numerator / denominator, np.nan)
            zero = np.where(sign * numerator > 0, np.inf, -np.inf)
            against_below = np.where(denominator == 0, zero, ratio)
            shift = -sign
        ordered = np.sort(np.where(np.isnan(against_below), -np.inf, against_below))
        largest = float(ordered[allowed]) + shift
        # A gap cannot shrink by its whole size or more.
        return min(largest, 1.0) if self.scale == "ratio" and self.part == "fairness" else largest

    def _reflected_status_quo(self) -> Floats:
        return 2 * self.status_quo - self.status_quo_draws

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
    chosen = [groups] if pooled else list(range(groups))
    return [
        _component(levels, names[g], "accuracy", scale, _Side(utility, 1, g), _Side(utility, 0, g))
        for g in chosen
    ]


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
    status_quo = _Side(utility, 0, *worst)
    components = [
        _component(levels, f"{names[j]} − {names[k]}", "fairness", scale, _Side(utility, 1, j, k), status_quo)
        for j, k in pairs
    ]
    if one_sided:
        name = f"{names[worst[0]]} − {names[worst[1]]} exists"
        components.append(_component(levels, name, "fairness", scale, None, status_quo))
    return components


def paper_fairness_component(
    levels: Levels,
    utility: int,
    *,
    scale: Scale,
    pairs: Sequence[Pair],
    one_sided: bool,
) -> Component:
    """The article's T_f = |F1r − F1b| − (1−Δf)|F0r − F0b|, kink included; more groups: the largest gap."""
    gaps, draws, influences = [], [], []
    for rule in (1, 0):
        estimates = levels.estimate[utility, rule]
        j, k = worst_pair(estimates, pairs)
        drawn = np.max(
            [levels.draws[:, utility, rule, j] - levels.draws[:, utility, rule, k] for j, k in pairs], 0
        )
        influence = levels.influence[:, utility, rule, j] - levels.influence[:, utility, rule, k]
        gap = float(estimates[j] - estimates[k])
        if one_sided:
            gap, drawn = max(gap, 0.0), np.maximum(drawn, 0.0)
            influence = influence if gap > 0 else np.zeros_like(influence)
        gaps.append(gap)
        draws.append(drawn)
        influences.append(influence)
    return Component(
        name="gap",
        part="fairness",
        scale=scale,
        candidate=gaps[0],
        status_quo=gaps[1],
        candidate_draws=draws[0],
        status_quo_draws=draws[1],
        candidate_influence=influences[0],
        status_quo_influence=influences[1],
        counts=levels.counts,
        kinked=True,
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of an inequality: a level, or the difference of two groups' levels."""

    utility: int
    rule: int
    plus: int
    minus: int | None = None

    def of(self, array: Floats) -> Floats:
        picked = array[..., self.utility, self.rule, self.plus]
        if self.minus is not None:
            picked = picked - array[..., self.utility, self.rule, self.minus]
        return np.asarray(picked, dtype=np.float64)


def _component(
    levels: Levels, name: str, part: Part, scale: Scale, candidate: _Side | None, status_quo: _Side
) -> Component:
    zero = np.zeros_like(status_quo.of(levels.draws))
    none = np.zeros_like(status_quo.of(levels.influence))
    return Component(
        name=name,
        part=part,
        scale=scale,
        candidate=float(candidate.of(levels.estimate)) if candidate else 0.0,
        status_quo=float(status_quo.of(levels.estimate)),
        candidate_draws=candidate.of(levels.draws) if candidate else zero,
        status_quo_draws=status_quo.of(levels.draws),
        candidate_influence=candidate.of(levels.influence) if candidate else none,
        status_quo_influence=status_quo.of(levels.influence),
        counts=levels.counts,
    )
