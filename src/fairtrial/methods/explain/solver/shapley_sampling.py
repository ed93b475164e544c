"""Shapley values of many players from sampled orders, with their Monte-Carlo error.

Castro, Gómez and Tejada (2009): the Shapley value is the mean marginal contribution over all orders, so the mean
over sampled orders is unbiased. Every order is drawn with its reverse, whose error tends to have the other sign,
and the worth of the empty coalition is shared equally instead of going to whoever comes first: by symmetry and
linearity that is the same value with less noise. Each order telescopes, so contributions add up exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.explain.solver.esl import LARGEST_PLAYERS, Floats, Masks

FEWEST_PAIRS = 10


@dataclass(frozen=True, slots=True, eq=False)
class SampledOrders:
    """Orders (pairs first, then their reverses) and the distinct coalitions they visit, the empty one included."""

    orders: NDArray[np.int64]
    masks: Masks

    @property
    def players(self) -> int:
        return int(self.orders.shape[1])

    @property
    def pairs(self) -> int:
        return int(self.orders.shape[0]) // 2


def smallest_budget(players: int) -> int:
    """Coalitions needed for the fewest pairs of orders from which a Monte-Carlo error can be told."""
    return FEWEST_PAIRS * 2 * (players - 1)


def sample_orders(players: int, budget: int, random: np.random.Generator) -> SampledOrders:
    """As many pairs of orders as `budget` coalition evaluations allow (each order visits players − 1 new ones)."""
    if players > LARGEST_PLAYERS:
        raise ValueError(f"at most {LARGEST_PLAYERS} players, got {players}")
    pairs = budget // (2 * (players - 1))
    if pairs < FEWEST_PAIRS:
        raise ValueError(f"the budget must be at least {smallest_budget(players)} coalitions, got {budget}")
    forward = random.permuted(np.tile(np.arange(players), (pairs, 1)), axis=1)
    orders = np.concatenate([forward, forward[:, ::-1]])
    visited = np.cumsum(np.left_shift(np.int64(1), orders), axis=1)
    return SampledOrders(orders, np.unique(np.append(visited, np.int64(0))))


def sampled_coefficients(sampled: SampledOrders, share_empty: bool = True) -> Floats:
    """ĉ_k(S): how often k comes right before S is complete minus how often right after, over all orders."""
    after, before = _positions(sampled)
    count = sampled.orders.shape[0]
    result = np.zeros((sampled.players, sampled.masks.size))
    np.add.at(result, (sampled.orders, after), 1.0 / count)
    np.add.at(result, (sampled.orders, before), -1.0 / count)
    # masks are sorted, so the empty coalition is the first column
    result[:, 0] = result[:, 0] + 1.0 / sampled.players if share_empty else 0.0
    return result


def monte_carlo_variance(sampled: SampledOrders, worth: Floats, share_empty: bool = True) -> Floats:
    """Variance of the mean over pairs of orders, for each game (rows of `worth`) and player."""
    after, before = _positions(sampled)
    game = worth if share_empty else np.where(np.arange(worth.shape[-1]) == 0, 0.0, worth)
    marginal = game[:, after] - game[:, before]  # games, orders, positions
    by_player = np.empty_like(marginal)
    np.put_along_axis(by_player, np.broadcast_to(sampled.orders, marginal.shape), marginal, axis=2)
    pairs = sampled.pairs
    mean_of_pair = (by_player[:, :pairs] + by_player[:, pairs:]) / 2.0
    return np.asarray(mean_of_pair.var(axis=1, ddof=1) / pairs)


def _positions(sampled: SampledOrders) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Columns of the coalition after and before each player enters, per order and position."""
    visited = np.cumsum(np.left_shift(np.int64(1), sampled.orders), axis=1)
    earlier = np.concatenate([np.zeros((visited.shape[0], 1), dtype=np.int64), visited[:, :-1]], axis=1)
    return np.searchsorted(sampled.masks, visited), np.searchsorted(sampled.masks, earlier)
