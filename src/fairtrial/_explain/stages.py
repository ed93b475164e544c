"""Both stages of explain: the groups' rates and gaps, as certify gives them, then what each feature contributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._compare.sorted_groups import find_atoms
from fairtrial._explain.explained_rows import ExplainedRows
from fairtrial._explain.game import (
    Estimates,
    TwoStageGame,
    add_error,
    estimates_of,
    in_units_of_baseline,
    value_targets,
)
from fairtrial._explain.request import WHO, ExplainRequest
from fairtrial._explain.solver.coalitions import CoalitionRates, Contributions, Targets, contributions
from fairtrial._explain.solver.esl import (
    Floats,
    coefficients,
    monte_carlo_error,
    sampled_coefficients,
)
from fairtrial._explain.solver.group_values import (
    BackgroundChanges,
    WaldTest,
    interaction_contrasts,
    linear_wald,
    merge_targets,
    pair_targets,
)
from fairtrial._explain.solver.influence import LEAST_DF, QUARTER, Spread
from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.joint.joint_test import joint_test
from fairtrial._inference.laws.choose_gaps import make_gaps
from fairtrial._inference.laws.pair_gaps import PairGaps
from fairtrial._inference.numeric.roots import Bools
from fairtrial._inference.rates.proportions import rate_interval

Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True, eq=False)
class PairGap:
    """One pair of groups: the gap of their rates, its interval and its p-value, or why there are none."""

    gap: float
    low: float
    high: float
    p_value: float
    reason: str | None = None
    open_because: str = ""  # why a side of the interval has no limit

    @property
    def why_no_limit(self) -> str:
        return self.reason or f"no limit: {self.open_because}"


# How the gaps of pairs are inferred, from the groups' values, who is in them, the pairs and the level.
Gaps = Callable[[Atoms, Bools, Pairs, float], tuple[PairGap | None, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class ComparedGroups:
    """One system's rates per group and what the tests say. Undefined rates are NaN."""

    count: Floats
    rate: Floats
    low: Floats
    high: Floats
    binary: bool
    omnibus: WaldTest | None
    gaps: tuple[PairGap | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FirstStage:
    """The system that is explained and, where decisions were audited, those: the verdict is theirs."""

    explained: ComparedGroups
    audited: ComparedGroups | None
    value: Estimates  # (groups, allocations, 1): φ_g of the explained system
    interaction: WaldTest | None

    @property
    def judged(self) -> ComparedGroups:
        """What the verdict is about."""
        return self.explained if self.audited is None else self.audited

    @property
    def binary(self) -> bool:
        """Whether rates are compared throughout, of which results speak in points."""
        return self.explained.binary and self.judged.binary


def first_stage(
    game: TwoStageGame, gaps: Gaps | None = None, audited: ComparedGroups | None = None
) -> FirstStage:
    """Group values φ_g, the test that all rates are equal, and the gap of every pair."""
    atoms = _explained_atoms(game)
    found = compare_groups(atoms, np.eye(game.groups, dtype=bool), game.pairs, game.level, gaps)
    interaction = None
    if game.levels and np.isfinite(found.rate).all():
        interaction = _interaction(atoms, game)
    return FirstStage(found, audited, _decompose_whole(game, value_targets(game, 0)), interaction)


def audited_groups(
    audit: Audit, request: ExplainRequest, explained: ExplainedRows, pairs: Pairs
) -> ComparedGroups | None:
    """The groups under the audited decisions (or scores), of all rows; None where the audit has none."""
    if not audit.has("score" if request.scores else "decision"):
        return None
    attributes = tuple(dict.fromkeys(name for group in explained.groups for name in group.attributes))
    cells = audit.cells(attributes, [request.metric], who=WHO)
    member = np.array([cells.mask(group) for group in explained.groups])
    atoms = find_atoms(WHO, audit, cells, request.metric)
    return compare_groups(atoms, member, pairs, request.confidence_level, request.gaps)


def compare_groups(
    atoms: Atoms, member: Bools, pairs: Pairs, level: float, infer: Gaps | None = None
) -> ComparedGroups:
    """Rates with intervals, every pair's gap, and the test that all are equal, by the package's one inference."""
    count, rate, _ = atoms.pooled(member)
    if atoms.binary:
        low, high = rate_interval(np.nan_to_num(rate * count), count, level)
    else:
        # A mean's own interval is that of its gap to zero, as measure has it.
        zero = Comparison(member, np.zeros_like(member), np.zeros(len(count)))
        low, high = make_gaps(atoms, zero).limits(level)
    low, high = (np.where(np.isnan(rate), np.nan, limit) for limit in (low, high))
    gaps = (infer or gap_tests)(atoms, member, pairs, level)
    omnibus = _all_equal(atoms, member, gaps) if np.isfinite(rate).all() else None
    return ComparedGroups(count, rate, low, high, atoms.binary, omnibus, gaps)


def gap_tests(atoms: Atoms, member: Bools, pairs: Pairs, level: float) -> tuple[PairGap | None, ...]:
    """Every pair's gap with its interval and the level at which that touches 0."""
    first, second = (member[[pair[side] for pair in pairs]] for side in (0, 1))
    found = make_gaps(atoms, Comparison(first, second))
    low, high = found.limits(level)
    p, there = found.p_equal(0.0), (atoms.pooled(part)[0] > 0 for part in (first, second))
    known = np.logical_and(*there)
    return tuple(
        PairGap(
            float(found.estimate[t]),
            float(low[t]),
            float(high[t]),
            float(p[t]),
            found.reason[t],
            found.why_no_limit(t),
        )
        if known[t]
        else None
        for t in range(len(pairs))
    )


def _all_equal(atoms: Atoms, member: Bools, gaps: tuple[PairGap | None, ...]) -> WaldTest | None:
    """Two groups: their gap's own test. More: certify's joint test."""
    if member.shape[0] == 2:
        (gap,) = gaps
        return None if gap is None or gap.reason else WaldTest(float("nan"), 1, gap.p_value)
    found = joint_test(atoms, member, np.asarray(member.any(axis=0)), None)
    return None if found.reason else WaldTest(found.statistic, found.df, found.p_value)


def _explained_atoms(game: TwoStageGame) -> Atoms:
    """The explained system's values, group by group, among the rows that count."""
    value, weight = game.form.at(game.whole[:, 0].astype(np.float64))
    inside = [(game.group == g) & (weight > 0) for g in range(game.groups)]
    pieces = [_values(value[rows], weight[rows]) for rows in inside]
    count = np.array([float(piece.size) for piece in pieces])
    mean = np.array([piece.mean() if piece.size else 0.0 for piece in pieces])
    if all(bool(np.isin(piece, (0.0, 1.0)).all()) for piece in pieces):
        return Atoms(count, mean, count * mean * (1.0 - mean), True)
    squares = np.array([float(((piece - m) ** 2).sum()) for piece, m in zip(pieces, mean, strict=True)])
    return Atoms(count, mean, squares, False, tuple(pieces))


def _values(value: Floats, weight: Floats) -> Floats:
    """Values whose mean is the rate; where rows count in part, the rate plus each row's influence on it."""
    if value.size == 0 or (weight == 1.0).all():
        return value
    rate = value.sum() / weight.sum()
    return np.asarray(rate + (value - rate * weight) / weight.mean())


def _interaction(atoms: Atoms, game: TwoStageGame) -> WaldTest | None:
    """Whether one attribute's gap depends on the others; a quarter of a person at either end of every cell."""
    low, high = game.form.ends
    size = atoms.count + 2.0 * QUARTER
    rate = (atoms.count * atoms.mean + QUARTER * (low + high)) / size
    squares = atoms.m2 + atoms.count * (atoms.mean - rate) ** 2
    squares = squares + QUARTER * ((low - rate) ** 2 + (high - rate) ** 2)
    variance = squares / np.maximum(size - 1.0, LEAST_DF) / size
    return linear_wald(interaction_contrasts(game.levels), rate, variance)


def _decompose_whole(game: TwoStageGame, targets: Targets) -> Estimates:
    """The targets themselves under the full coalition: a game with one player."""
    alone = np.ones((targets.weights.shape[1], 1, 1))
    found = contributions(game.whole, game.form, game.group, game.groups, alone, targets)
    return in_units_of_baseline(game, found, found.with_quarter_rows(), (slice(None), slice(None)))


# -- Second stage: every player's contribution to the groups' values, to their rates and to the gaps.
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
    background: tuple[BackgroundChanges, Floats] | None  # and what each background row changes in it


def second_stage(game: TwoStageGame) -> SecondStage:
    """Every player's contribution to φ_g, to each group's rate and to each gap."""
    groups, real = game.groups, len(game.allocations)
    stacked, targets = _coefficients(game), _targets(game)
    found = contributions(game.outputs, game.form, game.group, groups, stacked, targets)
    error = found.with_quarter_rows()
    drawn = _monte_carlo(game, targets, found.rates)
    moved, chance = _chance(game, drawn, found, targets, stacked)
    if chance is not None:
        error = add_error(error, chance)
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
        monte_carlo=None if drawn is None else drawn.error[gaps],
        rates=found.rates,
        targets=targets,
        found=found,
        background=None if moved is None or game.background is None else (game.background, moved),
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
    return stage.scaled_gap.at(allocation).times(game.allocations[allocation].pair)


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


def _chance(
    game: TwoStageGame, drawn: Spread | None, found: Contributions, targets: Targets, coefficients: Floats
) -> tuple[Floats | None, Spread | None]:
    """What each background row changes, and the error from drawing background rows and coalitions, of everything."""
    moved, parts = None, []
    if game.background is not None:
        moved = game.background.of_contributions(found.rates, targets, coefficients)
        parts.append(game.background.spread(moved))
    if drawn is not None:
        position = next(i for i, allocation in enumerate(game.allocations) if allocation.sampled)
        error, df = np.zeros(found.estimate.shape), np.ones(found.estimate.shape)
        error[:, position], df[:, position] = drawn.error, drawn.df
        parts.append(Spread(error, df))
    return moved, None if not parts else parts[0] if len(parts) == 1 else add_error(*parts)
