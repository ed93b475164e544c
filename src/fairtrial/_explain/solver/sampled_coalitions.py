"""Shapley values of many players from few coalitions: what is exact is evaluated, the rest drawn in pairs.

The empty coalition, every player alone, all but one, and all are evaluated. They give
a_k = ½[(v(k) − v(∅)) + (v(N) − v(N∖k))], which is the Shapley value of any game without interactions of three or more
players. What is left, r(S) = v(S) − v(∅) − Σ_{k∈S} a_k, is a game of its own whose coalitions of 2 … n−2 players are
drawn with chances proportional to 1/(s(n−s)) within sizes (Lundberg and Lee 2017), each with its complement
(Covert and Lee 2021). Each pair gives an unbiased estimate, so their spread is the Monte-Carlo error, and every
estimate adds up to v(N). All of it is linear in the worths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial._explain.solver.esl import (
    LARGEST_PLAYERS,
    Floats,
    Masks,
    b_sequence,
    coalition_sizes,
    coefficients,
)
from fairtrial._explain.solver.influence import Spread

# Fewer pairs do not tell the Monte-Carlo error: with 8 of 11 features' the intervals missed .13, with 24 .055.
FEWEST_PAIRS = 24
# Drawn where no budget is given.
USUAL_PAIRS = 64


@dataclass(frozen=True, slots=True, eq=False)
class SampledCoalitions:
    """One coalition of every drawn pair, and all distinct coalitions evaluated, sorted, the empty one first."""

    players: int
    drawn: Masks
    masks: Masks

    @property
    def pairs(self) -> int:
        return int(self.drawn.size)

    @property
    def whole(self) -> int:
        return (1 << self.players) - 1


def budget_for(players: int, pairs: int) -> int:
    """Coalitions to evaluate for so many pairs, the empty one not counted."""
    return 2 * players + 1 + 2 * pairs


def sample_coalitions(players: int, budget: int, random: np.random.Generator) -> SampledCoalitions:
    """As many pairs as `budget` evaluations allow."""
    if not 4 <= players <= LARGEST_PLAYERS:
        raise ValueError(f"from 4 to {LARGEST_PLAYERS} players can be sampled, got {players}")
    pairs = (budget - budget_for(players, 0)) // 2
    if pairs < FEWEST_PAIRS:
        raise ValueError(f"the budget must be at least {budget_for(players, FEWEST_PAIRS)}, got {budget}")
    chance = _size_weights(players)
    sizes = random.choice(np.arange(2, players - 1), pairs, p=chance / chance.sum())
    order = random.permuted(np.tile(np.arange(players), (pairs, 1)), axis=1)
    first = np.arange(players)[None, :] < sizes[:, None]
    drawn = np.where(first, np.left_shift(np.int64(1), order), 0).sum(axis=1)
    whole, alone = (1 << players) - 1, np.left_shift(np.int64(1), np.arange(players, dtype=np.int64))
    fixed = np.concatenate([np.array([0, whole], dtype=np.int64), alone, whole - alone])
    return SampledCoalitions(players, drawn, np.unique(np.concatenate([fixed, drawn, whole - drawn])))


def sampled_coefficients(sampled: SampledCoalitions, share_empty: bool = True) -> Floats:
    """ĉ_k(S) of every player (rows) on the worths of the coalitions evaluated (columns).

    The empty coalition's worth is shared out equally, as in the exact values where it counts as nothing; without
    `share_empty` it is taken to be worth nothing.
    """
    base, members = _without_interactions(sampled, share_empty), _members(sampled)
    chosen = _exact_part(sampled)
    signs, places, others = _pairs(sampled)
    half = 0.5 * signs / sampled.pairs
    np.add.at(chosen.T, places, half)
    np.add.at(chosen.T, others, -half)
    result = base + chosen - (chosen @ members) @ base
    if share_empty:
        result[:, 0] += 1.0 / sampled.players - chosen[:, 1:].sum(axis=1)
    else:
        result[:, 0] = 0.0
    return np.asarray(result)


def monte_carlo_error(sampled: SampledCoalitions, worth: Floats, share_empty: bool = True) -> Spread:
    """Standard error of the mean over the drawn pairs, for each game (rows of `worth`) and player.

    A few pairs carry most of what is left, so the error's degrees of freedom are those that the estimates' fourth
    moments leave to their variance, not the number of pairs.
    """
    game = worth - worth[:, :1] if share_empty else np.where(np.arange(worth.shape[1]) == 0, 0.0, worth)
    additive = game @ _without_interactions(sampled, share_empty).T
    left = game - additive @ _members(sampled).T
    signs, places, others = _pairs(sampled)
    estimates = 0.5 * (left[:, places] - left[:, others])[:, :, None] * signs[None]  # games, pairs, players
    pairs = sampled.pairs
    deviation = estimates - estimates.mean(axis=1, keepdims=True)
    second, fourth = (deviation**2).mean(axis=1), (deviation**4).mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = fourth.sum(axis=1, keepdims=True) / (second**2).sum(axis=1, keepdims=True)
        excess = np.fmax(np.nan_to_num(np.fmax(shared, fourth / second**2)) - 3.0, 0.0)
    df = 2.0 / (2.0 / (pairs - 1.0) + excess / pairs)
    return Spread(np.sqrt(second / (pairs - 1.0)), df)


def _size_weights(players: int) -> Floats:
    sizes = np.arange(2, players - 1)
    return np.asarray(1.0 / (sizes * (players - sizes)))


def _members(sampled: SampledCoalitions) -> Floats:
    """1 where a player (column) is in a coalition (row)."""
    return ((sampled.masks[:, None] >> np.arange(sampled.players)[None, :]) & 1).astype(np.float64)


def _exact_part(sampled: SampledCoalitions) -> Floats:
    """Shapley's own coefficients on the sizes 1, n − 1 and n, which are evaluated in full."""
    sizes = coalition_sizes(sampled.masks, sampled.players)
    inside = np.isin(sizes, (1, sampled.players - 1, sampled.players))
    return np.where(inside, coefficients(b_sequence("shapley", sampled.players), sampled.masks), 0.0)


def _without_interactions(sampled: SampledCoalitions, share_empty: bool) -> Floats:
    """a_k as coefficients on the worths."""
    players, masks = sampled.players, sampled.masks
    result = np.zeros((players, masks.size))
    rows, alone = np.arange(players), np.left_shift(np.int64(1), np.arange(players, dtype=np.int64))
    result[rows, np.searchsorted(masks, alone)] += 0.5
    result[rows, np.searchsorted(masks, sampled.whole - alone)] -= 0.5
    result[:, -1] += 0.5
    result[:, 0] -= 0.5 if share_empty else 0.0
    return result


def _pairs(sampled: SampledCoalitions) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """c_k(S) over the chance of drawing S, (pairs, players), and the columns of the coalitions and complements.

    For k in S it is Z(n − s), for the others −Zs; the complement has the same with the sign turned.
    """
    players = sampled.players
    inside = ((sampled.drawn[:, None] >> np.arange(players)[None, :]) & 1).astype(np.float64)
    signs = _size_weights(players).sum() * (players * inside - inside.sum(axis=1, keepdims=True))
    places, others = (
        np.searchsorted(sampled.masks, part) for part in (sampled.drawn, sampled.whole - sampled.drawn)
    )
    return signs, places, others
