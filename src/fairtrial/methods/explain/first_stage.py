"""First stage: the groups' values, the test that all rates are equal, and the gap of every pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial.inference.means.from_moments import mean_difference_interval, mean_difference_p, mean_interval
from fairtrial.inference.rates.proportions import rate_interval
from fairtrial.inference.rates.two_rates import difference_interval
from fairtrial.methods.explain.solver.coalitions import Targets, coalition_rates, contributions
from fairtrial.methods.explain.solver.esl import Floats, b_sequence
from fairtrial.methods.explain.solver.esl_groups import (
    WaldTest,
    group_targets,
    has_small_count,
    homogeneity,
    interaction_contrasts,
    linear_wald,
    multi_attribute_targets,
    paper_interval,
    pooled_p,
)
from fairtrial.methods.explain.two_stage_game import Estimates, TwoStageGame, in_units_of_baseline


@dataclass(frozen=True, slots=True, eq=False)
class GapTest:
    """One pair of groups: the gap of their rates, its interval and its p-value."""

    gap: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, slots=True, eq=False)
class FirstStage:
    """Rates per group under the full coalition and what the tests say. Undefined rates are NaN."""

    count: Floats
    rate: Floats
    low: Floats
    high: Floats
    binary: bool
    omnibus: WaldTest | None
    gaps: tuple[GapTest | None, ...]
    value: Estimates  # (groups, allocations, 1)
    cells: Estimates | None  # (cells, 1, 1): the multi-stage values of several attributes
    interaction: WaldTest | None


@dataclass(frozen=True, slots=True, eq=False)
class _Rates:
    """The groups' rates under the full coalition, with what their tests are made of."""

    count: Floats
    rate: Floats  # NaN where nobody counts
    squares: Floats  # sums of squared deviations
    binary: bool

    @property
    def variance(self) -> Floats:
        return np.asarray(self.squares / np.maximum(self.count - 1.0, 1.0) / np.maximum(self.count, 1.0))


def first_stage(game: TwoStageGame, interval_kind: str) -> FirstStage:
    """Group values φ_g, the test that all rates are equal, and the gap of every pair."""
    rates = _full_rates(game)
    low, high = _rate_limits(rates, game.level)
    gaps = tuple(_gap(rates, pair, game.level, interval_kind) for pair in game.pairs)
    omnibus, interaction = None, None
    if np.isfinite(rates.rate).all():
        omnibus = _all_equal(rates, gaps)
        if game.levels:
            interaction = linear_wald(interaction_contrasts(game.levels), rates.rate, rates.variance)
    values = group_targets([allocation.groups for allocation in game.allocations], 1.0)
    return FirstStage(
        rates.count, rates.rate, low, high, rates.binary, omnibus, gaps, _decompose_whole(game, values),
        _cell_values(game), interaction,
    )  # fmt: skip


def _full_rates(game: TwoStageGame) -> _Rates:
    found = coalition_rates(game.whole, game.form, game.group, game.groups, game.singles)
    value, weight = game.form.at(game.whole[:, 0].astype(np.float64))
    counted = value[weight > 0]
    binary = bool(np.isin(counted, (0.0, 1.0)).all() and np.isin(weight, (0.0, 1.0)).all())
    squares = np.array([_squares(value, weight, game.group == g) for g in range(game.groups)])
    rate = np.where(found.defined[:, 0], found.rate[:, 0], np.nan)
    return _Rates(found.weight[:, 0], rate, squares, binary)


def _cell_values(game: TwoStageGame) -> Estimates | None:
    """The multi-stage values of the cells of several attributes."""
    if not game.levels:
        return None
    name = game.allocations[0].name
    by_attribute = [b_sequence(name if name != "given" else "shapley", size) for size in game.levels]
    return _decompose_whole(game, multi_attribute_targets(by_attribute, 1.0))


def _decompose_whole(game: TwoStageGame, targets: Targets) -> Estimates:
    """The targets themselves under the full coalition: a game with one player."""
    alone = np.ones((targets.weights.shape[1], 1, 1))
    found = contributions(game.whole, game.form, game.group, game.groups, alone, targets)
    return in_units_of_baseline(game, found, found.spread(), slice(None))


def _squares(value: Floats, weight: Floats, inside: NDArray[np.bool_]) -> float:
    """Sum of squared deviations of the counted rows."""
    counted = value[inside & (weight > 0)]
    return float(((counted - counted.mean()) ** 2).sum()) if counted.size else 0.0


def _rate_limits(rates: _Rates, level: float) -> tuple[Floats, Floats]:
    rate, count = rates.rate, rates.count
    if rates.binary:
        low, high = rate_interval(np.nan_to_num(rate * count), count, level)
    else:
        low, high = mean_interval(count, np.nan_to_num(rate), rates.squares, level)
    return np.where(np.isnan(rate), np.nan, low), np.where(np.isnan(rate), np.nan, high)


def _all_equal(rates: _Rates, gaps: tuple[GapTest | None, ...]) -> WaldTest | None:
    """The pooled chi-square; with small counts it must also be rejected by the pairs' tests (Bonferroni)."""
    if not rates.binary:
        return linear_wald(interaction_contrasts([rates.count.size]), rates.rate, rates.variance)
    successes = rates.rate * rates.count
    found = homogeneity(successes, rates.count)
    if not has_small_count(successes.tolist(), rates.count.tolist()):
        return found
    pairs = [gap.p_value for gap in gaps if gap is not None]
    return found._replace(p_value=max(found.p_value, min(1.0, len(pairs) * min(pairs))))


def _gap(rates: _Rates, pair: tuple[int, int], level: float, kind: str) -> GapTest | None:
    count, rate, (g, h) = rates.count, rates.rate, pair
    if not np.isfinite(rate[[g, h]]).all():
        return None
    gap = float(rate[g] - rate[h])
    if not rates.binary:
        moments = (count[g], rate[g], rates.squares[g], count[h], rate[h], rates.squares[h])
        low, high = mean_difference_interval(*moments, level)
        return GapTest(gap, float(low), float(high), float(mean_difference_p(*moments)))
    k1, n1, k2, n2 = (float(x) for x in (rate[g] * count[g], count[g], rate[h] * count[h], count[h]))
    p = pooled_p(k1, n1, k2, n2)
    if kind == "paper":
        return GapTest(gap, *paper_interval(k1, n1, k2, n2, level), p)
    found = difference_interval(round(k1), n1, round(k2), n2, level)
    return GapTest(gap, float(found.low), float(found.high), p)
