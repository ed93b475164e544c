"""Second stage: every player's contribution to the groups' values, to their rates and to the gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial._explain.allocation import Allocation
from fairtrial._explain.solver.coalitions import CoalitionRates, Contributions, Targets, contributions
from fairtrial._explain.solver.esl import (
    MEMBERS,
    Floats,
    b_sequence,
    coefficients,
)
from fairtrial._explain.solver.esl_groups import interaction_contrasts, merge_targets, pair_targets
from fairtrial._explain.solver.influence import Spread
from fairtrial._explain.solver.sampled_coalitions import monte_carlo_error, sampled_coefficients
from fairtrial._explain.two_stage_game import (
    Estimates,
    TwoStageGame,
    add_error,
    estimates_of,
    in_units_of_baseline,
    value_targets,
)
from fairtrial._inference.compare.pair_gaps import PairGaps


@dataclass(frozen=True, slots=True, eq=False)
class SecondStage:
    """Contributions by allocation and player.

    `value` is C^k_g in units of the baseline; `rate` contributions to the groups' own rates; `gap` to the
    differences of rates, pair by pair (and the interaction last, for two attributes of two levels).
    """

    value: Estimates  # (groups, allocations, players)
    rate: Estimates  # (groups, allocations, players)
    gap: Estimates  # (pairs, allocations, players)
    scaled_gap: Estimates  # the same over the baseline
    removal: Estimates | None  # (groups, 1, players): change of the group's rate when the player is left out
    undefined: NDArray[np.bool_]  # (targets, allocations) in the order value, rate, gap
    monte_carlo: (
        Floats | None
    )  # (pairs, players): the gap contributions' standard error from drawing coalitions
    rates: CoalitionRates
    targets: Targets
    found: Contributions  # with the rows' influence on everything above


def second_stage(game: TwoStageGame) -> SecondStage:
    """Every player's contribution to φ_g, to each group's rate and to each gap."""
    groups, real = game.groups, len(game.allocations)
    stacked, targets = _coefficients(game), _targets(game)
    found = contributions(game.outputs, game.form, game.group, groups, stacked, targets)
    error = found.with_quarter_rows()
    chance = _monte_carlo(game, targets, found.rates)
    if chance is not None:
        error = _add_chance(error, chance, game)
    values, rates = slice(0, groups), slice(groups, 2 * groups)
    gaps = slice(2 * groups, 2 * groups + len(game.pairs) + _interactions(game))

    def estimates(part: slice, allocations: slice) -> Estimates:
        place = (part, allocations)
        return estimates_of(found, place, game.level, Spread(error.error[place], error.df[place]))

    every = slice(0, real)
    return SecondStage(
        value=in_units_of_baseline(game, found, error, (values, every), chance),
        rate=estimates(rates, every),
        gap=estimates(gaps, every),
        scaled_gap=in_units_of_baseline(game, found, error, (gaps, every), chance),
        removal=None if game.removals is None else _removal(game, estimates(rates, slice(real, None))),
        undefined=found.undefined[:, :real],
        monte_carlo=None if chance is None else chance.error[gaps],
        rates=found.rates,
        targets=targets,
        found=found,
    )


def _removal(game: TwoStageGame, found: Estimates) -> Estimates:
    """Decisions with and without a player are paired: of 0/1 decisions on the same people, Tango's score interval."""
    assert game.removals is not None
    if game.form.ratio or game.outputs.dtype != np.uint8:
        return found
    slope = game.form.value1 - game.form.value0
    change = game.outputs[:, game.removals].astype(np.float64) - game.whole
    moved = change * np.where(game.form.weight0 > 0, slope, 0.0)[:, None]
    if not np.isin(moved, (-1.0, 0.0, 1.0)).all():
        return found
    inside = (game.group[None, :] == np.arange(game.groups)[:, None]).astype(np.float64)
    gained, lost = inside @ (moved > 0), inside @ (moved < 0)
    size = np.broadcast_to((inside @ (game.form.weight0 > 0))[:, None], gained.shape)
    law = PairGaps(gained.ravel(), lost.ravel(), size.ravel())
    told = (*law.limits(game.level), law.p_equal())
    gone = np.isnan(found.value)
    parts = (part.reshape(gained.shape)[:, None] for part in told)
    low, high, p = (np.where(gone, np.nan, part) for part in parts)
    return Estimates(found.value, low, high, found.error, p)


def scaled_gap(game: TwoStageGame, stage: SecondStage, allocation: int) -> Estimates:
    """ΔC^k in units of the baseline, b_1·gap/baseline of the pair's own two-player game."""
    return stage.scaled_gap.at(allocation).times(pair_b1(game.allocations[allocation]))


def pair_b1(allocation: Allocation) -> float:
    """b_1 of the two-player game of one pair; a given sequence over more groups counts as Shapley there."""
    if allocation.name in MEMBERS:
        return float(b_sequence(allocation.name, 2)[1])
    return float(allocation.groups[1]) if allocation.groups.size == 3 else 1.0


def counted_strata(game: TwoStageGame) -> NDArray[np.int64]:
    """The group of every row that counts, −1 elsewhere: the strata of the variance."""
    if game.form.ratio:
        return game.group
    return np.where(game.form.weight0 > 0, game.group, -1)


# -- pieces ---------------------------------------------------------------------------------------------------------
def _coefficients(game: TwoStageGame) -> Floats:
    """(allocations, players, coalitions), with 'leave one player out' as a last one where it was evaluated."""
    lines = []
    for allocation in game.allocations:
        if allocation.sampled:
            assert game.sampled is not None
            lines.append(sampled_coefficients(game.sampled, _share_empty(game)))
        else:
            lines.append(coefficients(allocation.players, game.masks))
    if game.removals is not None:
        leave = np.zeros((game.players, game.masks.size))
        leave[np.arange(game.players), game.removals] += 1.0
        leave[:, game.full] -= 1.0
        lines.append(leave)
    return np.stack(lines)


def _share_empty(game: TwoStageGame) -> bool:
    """The empty coalition's rate must exist in every group to be shared out."""
    empty = game.outputs[:, 0].astype(np.float64)
    _, weight = game.form.at(empty)
    return all(float(weight[game.group == g].sum()) > 0 for g in range(game.groups))


def _targets(game: TwoStageGame) -> Targets:
    """φ_g, then the groups' own rates, then the pairs' gaps, then the 2 × 2 interaction; baseline 1."""
    values = len(game.allocations) + (1 if game.removals is not None else 0)
    first = value_targets(game, values - len(game.allocations))
    own = np.repeat(np.eye(game.groups)[:, None, :], values, axis=1)
    gaps = pair_targets(game.groups, game.pairs, np.ones(values), 1.0)
    parts = [first, Targets(game.singles, own), gaps]
    if _interactions(game):
        contrast = interaction_contrasts(game.levels)[:1, None]
        parts.append(Targets(game.singles, np.repeat(contrast, values, axis=1)))
    return merge_targets(parts)


def _interactions(game: TwoStageGame) -> int:
    return 1 if game.levels == (2, 2) else 0


def _monte_carlo(game: TwoStageGame, targets: Targets, rates: CoalitionRates) -> Spread | None:
    """Error from drawing coalitions of every target's contributions, (targets, players)."""
    if game.sampled is None:
        return None
    position = next(i for i, allocation in enumerate(game.allocations) if allocation.sampled)
    worth = targets.weights[:, position] @ rates.rate
    return monte_carlo_error(game.sampled, worth, _share_empty(game))


def _add_chance(error: Spread, chance: Spread, game: TwoStageGame) -> Spread:
    """Add the Monte-Carlo variance to the sampled allocation's."""
    position = next(i for i, allocation in enumerate(game.allocations) if allocation.sampled)
    errors, df = error.error.copy(), error.df.copy()
    joined = add_error(Spread(errors[:, position], df[:, position]), chance)
    errors[:, position], df[:, position] = joined.error, joined.df
    return Spread(errors, df)
