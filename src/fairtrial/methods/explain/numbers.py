"""From coalition decisions to both stages' numbers. Arrays in, arrays out; the wording is elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.inference.means.from_moments import mean_difference_interval, mean_difference_p, mean_interval
from fairtrial.inference.rates.proportions import difference_interval, rate_interval
from fairtrial.methods.explain.problem import (
    Allocation,
    Baseline,
    Estimates,
    FirstStage,
    GapTest,
    Problem,
    SecondStage,
)
from fairtrial.methods.explain.solver.coalitions import (
    CoalitionRates,
    Contributions,
    RowForm,
    Targets,
    coalition_rates,
    contributions,
)
from fairtrial.methods.explain.solver.esl import MEMBERS, Floats, b_sequence, coefficients
from fairtrial.methods.explain.solver.esl_groups import (
    WaldTest,
    baseline_of,
    group_targets,
    has_small_count,
    homogeneity,
    interaction_contrasts,
    linear_wald,
    merge_targets,
    multi_attribute_targets,
    paper_interval,
    pooled_p,
)
from fairtrial.methods.explain.solver.influence import (
    Spread,
    combine,
    interval,
    spread,
    two_sided_p,
    with_estimated_scale,
)
from fairtrial.methods.explain.solver.shapley_sampling import monte_carlo_variance, sampled_coefficients


def find_baseline(kind: object, form: RowForm, outcome: Floats | None) -> Baseline:
    """A number, the metric of a coin ("random"), or of a coin that shows 1 as often as the outcome ("prior")."""
    if isinstance(kind, int | float):
        return Baseline("number", float(kind), None)
    if kind == "random":
        value, influence = baseline_of(form, 0.5)
    else:
        assert outcome is not None
        share = float(outcome.mean())
        value, influence = baseline_of(form, share, (outcome - share) / outcome.size)
    estimated = bool(np.abs(influence).max() > 1e-15)
    return Baseline(str(kind), value, influence if estimated else None)


def first_stage(problem: Problem, interval_kind: str) -> FirstStage:
    """Group values φ_g, the test that all rates are equal, and the gap of every pair."""
    whole = problem.outputs[:, problem.full][:, None]
    singles = np.left_shift(np.int64(1), np.arange(problem.groups, dtype=np.int64))
    found = coalition_rates(whole, problem.form, problem.group, problem.groups, singles)
    count, rate = found.weight[:, 0], np.where(found.defined[:, 0], found.rate[:, 0], np.nan)
    value, weight = problem.form.at(whole[:, 0].astype(np.float64))
    counted = value[weight > 0]
    binary = bool(np.isin(counted, (0.0, 1.0)).all() and np.isin(weight, (0.0, 1.0)).all())
    squares = np.array([_squares(value, weight, problem.group == g) for g in range(problem.groups)])
    low, high = _rate_limits(count, rate, squares, binary, problem.level)
    gaps = tuple(
        _gap(count, rate, squares, pair, binary, problem.level, interval_kind) for pair in problem.pairs
    )
    variance = squares / np.maximum(count - 1.0, 1.0) / np.maximum(count, 1.0)
    defined = bool(np.isfinite(rate).all())
    contrasts = np.hstack([np.ones((problem.groups - 1, 1)), -np.eye(problem.groups - 1)])
    omnibus, interaction = None, None
    if defined:
        omnibus = _all_equal(rate, count, gaps) if binary else linear_wald(contrasts, rate, variance)
        if problem.levels:
            interaction = linear_wald(interaction_contrasts(problem.levels), rate, variance)
    sequences = [allocation.groups for allocation in problem.allocations]
    cells = None
    if problem.levels:
        name = problem.allocations[0].name
        by_attribute = [b_sequence(name if name != "given" else "shapley", size) for size in problem.levels]
        cells = _decompose_whole(problem, multi_attribute_targets(by_attribute, 1.0), whole, 1)
    return FirstStage(
        count, rate, low, high, binary, omnibus, gaps,
        _decompose_whole(problem, group_targets(sequences, 1.0), whole, len(sequences)), cells, interaction,
    )  # fmt: skip


def second_stage(problem: Problem) -> SecondStage:
    """Every player's contribution to φ_g, to each group's rate and to each gap."""
    groups, pairs = problem.groups, len(problem.pairs)
    stacked, targets = _coefficients(problem), _targets(problem)
    found = contributions(problem.outputs, problem.form, problem.group, groups, stacked, targets)
    error = found.spread()
    chance = _monte_carlo(problem, targets, found.rates)
    if chance is not None:
        error = _add_chance(error, chance, problem)
    value_part = slice(0, groups)
    rate_part = slice(groups, 2 * groups)
    gap_part = slice(2 * groups, 2 * groups + pairs + _interactions(problem))
    real = len(problem.allocations)
    removal = None
    if problem.removals is not None:
        removal = _estimates(
            found.estimate[rate_part, real:], _part(error, rate_part, slice(real, None)),
            found.undefined[rate_part, real:], problem.level,
        )  # fmt: skip
    return SecondStage(
        value=_scaled(problem, found, error, value_part, real, None if chance is None else chance[value_part]),
        rate=_estimates(found.estimate[rate_part, :real], _part(error, rate_part, slice(0, real)),
                        found.undefined[rate_part, :real], problem.level),
        gap=_estimates(found.estimate[gap_part, :real], _part(error, gap_part, slice(0, real)),
                       found.undefined[gap_part, :real], problem.level),
        removal=removal,
        undefined=found.undefined[:, :real],
        monte_carlo=None if chance is None else np.sqrt(chance[gap_part]),
        rates=found.rates,
        targets=targets,
        found=found,
    )  # fmt: skip


def scaled_gap(problem: Problem, stage: SecondStage, allocation: int) -> Estimates:
    """ΔC^k in units of the baseline, b_1·gap/baseline of the pair's own two-player game."""
    factor = pair_b1(problem.allocations[allocation]) / problem.baseline.value
    gap = stage.gap
    value, low, high, error, p = (
        x[:, allocation] for x in (gap.value, gap.low, gap.high, gap.error, gap.p_value)
    )
    base = problem.baseline
    if base.influence is None:
        return Estimates(value * factor, low * factor, high * factor, error * factor, p)
    raw = stage.found.influence(allocation)[:, 2 * problem.groups :]
    moved = spread(
        with_estimated_scale(raw * factor, value * factor, base.influence, base.value), problem.group
    )
    if problem.allocations[allocation].sampled and stage.monte_carlo is not None:
        moved = _add_variance(moved, (stage.monte_carlo * factor) ** 2, problem)
    return _estimates(value * factor, moved, np.isnan(value), problem.level)


def pair_b1(allocation: Allocation) -> float:
    """b_1 of the two-player game of one pair; a given sequence over more groups counts as Shapley there."""
    if allocation.name in MEMBERS:
        return float(b_sequence(allocation.name, 2)[1])
    return float(allocation.groups[1]) if allocation.groups.size == 3 else 1.0


def counted_strata(problem: Problem) -> NDArray[np.int64]:
    """The group of every row that counts, −1 elsewhere: the strata of the variance."""
    if problem.form.ratio:
        return problem.group
    return np.where(problem.form.weight0 > 0, problem.group, -1)


# -- pieces ---------------------------------------------------------------------------------------------------------
def _coefficients(problem: Problem) -> Floats:
    """(allocations, players, coalitions), with 'leave one player out' as a last one where it was evaluated."""
    lines = []
    for allocation in problem.allocations:
        if allocation.sampled:
            assert problem.orders is not None
            lines.append(_spread_over(problem, sampled_coefficients(problem.orders, _share_empty(problem))))
        else:
            lines.append(coefficients(allocation.players, problem.masks))
    if problem.removals is not None:
        leave = np.zeros((problem.players, problem.masks.size))
        leave[np.arange(problem.players), problem.removals] += 1.0
        leave[:, problem.full] -= 1.0
        lines.append(leave)
    return np.stack(lines)


def _spread_over(problem: Problem, values: Floats) -> Floats:
    """Columns of the sampled orders' coalitions placed among all coalitions evaluated."""
    assert problem.orders is not None
    result = np.zeros((values.shape[0], problem.masks.size))
    result[:, np.searchsorted(problem.masks, problem.orders.masks)] = values
    return result


def _share_empty(problem: Problem) -> bool:
    """The empty coalition's rate must exist in every group to be shared out."""
    empty = problem.outputs[:, 0].astype(np.float64)
    _, weight = problem.form.at(empty)
    return all(float(weight[problem.group == g].sum()) > 0 for g in range(problem.groups))


def _targets(problem: Problem) -> Targets:
    """φ_g, then the groups' own rates, then the pairs' gaps, then the 2 × 2 interaction; baseline 1."""
    extra = 1 if problem.removals is not None else 0
    sequences = [allocation.groups for allocation in problem.allocations]
    first = group_targets(sequences, 1.0)
    if extra:
        padding = np.zeros((problem.groups, 1, first.unions.size))
        first = Targets(first.unions, np.concatenate([first.weights, padding], axis=1))
    values = len(sequences) + extra
    singles = np.left_shift(np.int64(1), np.arange(problem.groups, dtype=np.int64))
    own = np.repeat(np.eye(problem.groups)[:, None, :], values, axis=1)
    lines = []
    for g, h in problem.pairs:
        line = np.zeros(problem.groups)
        line[g], line[h] = 1.0, -1.0
        lines.append(line)
    if _interactions(problem):
        lines.append(interaction_contrasts(problem.levels)[0])
    gaps = np.repeat(np.array(lines)[:, None, :], values, axis=1)
    return merge_targets([first, Targets(singles, own), Targets(singles, gaps)])


def _interactions(problem: Problem) -> int:
    return 1 if problem.levels == (2, 2) else 0


def _monte_carlo(problem: Problem, targets: Targets, rates: CoalitionRates) -> Floats | None:
    """Variance over sampled orders of every target's contributions, (targets, players)."""
    if problem.orders is None:
        return None
    position = next(i for i, allocation in enumerate(problem.allocations) if allocation.sampled)
    worth = targets.weights[:, position] @ rates.rate[:, np.searchsorted(problem.masks, problem.orders.masks)]
    return monte_carlo_variance(problem.orders, worth, _share_empty(problem))


def _add_chance(error: Spread, chance: Floats, problem: Problem) -> Spread:
    """Add the Monte-Carlo variance to the sampled allocation's."""
    position = next(i for i, allocation in enumerate(problem.allocations) if allocation.sampled)
    errors, df = error.error.copy(), error.df.copy()
    joined = _add_variance(Spread(errors[:, position], df[:, position]), chance, problem)
    errors[:, position], df[:, position] = joined.error, joined.df
    return Spread(errors, df)


def _add_variance(error: Spread, chance: Floats, problem: Problem) -> Spread:
    """One more independent variance, known from the sampled pairs of orders."""
    assert problem.orders is not None
    freedom = np.where(np.isfinite(error.df), error.df, 1e12)
    both = np.stack([error.error**2, chance])
    return combine(both, np.stack([freedom, np.full_like(freedom, problem.orders.pairs - 1.0)]))


def _scaled(
    problem: Problem,
    found: Contributions,
    error: Spread,
    part: slice,
    real: int,
    chance: Floats | None = None,
) -> Estimates:
    """C^k_g in units of the baseline; an estimated baseline adds its influence."""
    base = problem.baseline
    value = found.estimate[part, :real] / base.value
    undefined = found.undefined[part, :real]
    scaled = Spread(error.error[part, :real] / base.value, error.df[part, :real])
    if base.influence is not None:
        errors, df = scaled.error.copy(), scaled.df.copy()
        for v in range(real):
            raw = found.influence(v)[:, part] / base.value
            joined = spread(with_estimated_scale(raw, value[:, v], base.influence, base.value), problem.group)
            if chance is not None and problem.allocations[v].sampled:
                joined = _add_variance(joined, chance / base.value**2, problem)
            errors[:, v], df[:, v] = joined.error, joined.df
        scaled = Spread(errors, df)
    return _estimates(value, scaled, undefined, problem.level)


def _decompose_whole(problem: Problem, targets: Targets, whole: NDArray[Any], values: int) -> Estimates:
    """The targets themselves under the full coalition: a game with one player."""
    found = contributions(
        whole, problem.form, problem.group, problem.groups, np.ones((values, 1, 1)), targets
    )
    return _scaled(problem, found, found.spread(), slice(None), values)


def _estimates(value: Floats, error: Spread, undefined: NDArray[np.bool_], level: float) -> Estimates:
    gone = np.broadcast_to(
        undefined.reshape(undefined.shape + (1,) * (value.ndim - undefined.ndim)), value.shape
    )
    value = np.where(np.abs(value) < 1e-13, 0.0, value)
    low, high = interval(value, error, level)
    p = two_sided_p(value, error)
    parts = [np.where(gone, np.nan, part) for part in (value, low, high, error.error, p)]
    return Estimates(*parts)


def _part(error: Spread, targets: slice, values: slice) -> Spread:
    return Spread(error.error[targets, values], error.df[targets, values])


def _squares(value: Floats, weight: Floats, inside: NDArray[np.bool_]) -> float:
    """Sum of squared deviations of the counted rows."""
    counted = value[inside & (weight > 0)]
    return float(((counted - counted.mean()) ** 2).sum()) if counted.size else 0.0


def _rate_limits(
    count: Floats, rate: Floats, squares: Floats, binary: bool, level: float
) -> tuple[Floats, Floats]:
    if binary:
        filled = np.nan_to_num(rate * count)
        low, high = rate_interval(filled, count, level)
    else:
        low, high = mean_interval(count, np.nan_to_num(rate), squares, level)
    return np.where(np.isnan(rate), np.nan, low), np.where(np.isnan(rate), np.nan, high)


def _all_equal(rate: Floats, count: Floats, gaps: tuple[GapTest | None, ...]) -> WaldTest:
    """The pooled chi-square; with small counts it must also be rejected by the pairs' tests (Bonferroni)."""
    found = homogeneity(rate * count, count)
    interleaved = np.column_stack([rate * count, count]).ravel()
    if not has_small_count(*interleaved.tolist()):
        return found
    pairs = [gap.p_value for gap in gaps if gap is not None]
    return found._replace(p_value=max(found.p_value, min(1.0, len(pairs) * min(pairs))))


def _gap(
    count: Floats, rate: Floats, squares: Floats, pair: tuple[int, int], binary: bool, level: float, kind: str
) -> GapTest | None:
    g, h = pair
    if not np.isfinite(rate[[g, h]]).all():
        return None
    if not binary:
        moments = (count[g], rate[g], squares[g], count[h], rate[h], squares[h])
        low, high = mean_difference_interval(*moments, level)
        gap = float(rate[g] - rate[h])
        return GapTest(gap, float(low), float(high), float(mean_difference_p(*moments)))
    k1, n1, k2, n2 = (float(x) for x in (rate[g] * count[g], count[g], rate[h] * count[h], count[h]))
    p = pooled_p(k1, n1, k2, n2)
    if kind == "paper":
        return GapTest(float(rate[g] - rate[h]), *paper_interval(k1, n1, k2, n2, level), p)
    found = difference_interval(round(k1), n1, round(k2), n2, level)
    return GapTest(float(rate[g] - rate[h]), float(found.low), float(found.high), p)
