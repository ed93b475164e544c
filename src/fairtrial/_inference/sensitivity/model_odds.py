"""Dorn and Guo's bounds for gaps adjusted by a model: what the gap can be where odds may be off by a factor.

The odds of being in the group, given the columns and something that nobody measured, are at most Λ times those given
the columns, and at least 1/Λ of them (Tan 2006). The mean that people on one side would have on the other is then at
most E[q + Λ(y - q)⁺ - (y - q)⁻/Λ], q the Λ/(1 + Λ) quantile given the columns (Dorn & Guo 2022); with any other q it is
larger, so that a poor q only widens. Estimated doubly robust, from the expectations that the gap itself was made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairtrial._inference.numeric.roots import Bools, Floats

if TYPE_CHECKING:
    from fairtrial._inference.laws.model_gaps import Expected

MOST_ODDS = 100.0
HALVINGS = 25


class Bounded(NamedTuple):
    """The least and the largest gap, and how much wider its error is than without such a factor."""

    least: float
    most: float
    stretch: tuple[float, float]


def bounds_at(rows: Expected, odds: float) -> Bounded:
    """The gap's ends where the odds may be off by this factor."""
    plain = _parts(rows, 1.0, 1.0).std()
    low, high = _parts(rows, odds, -1.0), _parts(rows, odds, 1.0)
    spread = plain if plain > 0 else 1.0
    return Bounded(float(low.mean()), float(high.mean()), (low.std() / spread, high.std() / spread))


def odds_to_move(rows: Expected, gap: float, reach: tuple[float, float], edges: tuple[float, float]) -> float:
    """The factor up to which both limits stay between the edges; `reach` is how far they are from the gap."""
    if not gap - reach[0] > edges[0] or not gap + reach[1] < edges[1]:
        return 1.0
    moved = gap - float(_parts(rows, 1.0, 1.0).mean())  # nothing, but for rounding

    def kept(log_odds: float) -> bool:
        found = bounds_at(rows, float(np.exp(log_odds)))
        wider = [max(1.0, one) for one in found.stretch]
        return (
            found.least + moved - wider[0] * reach[0] > edges[0]
            and found.most + moved + wider[1] * reach[1] < edges[1]
        )

    near, far = 0.0, float(np.log(MOST_ODDS))
    if kept(far):
        return MOST_ODDS
    for _ in range(HALVINGS):
        middle = 0.5 * (near + far)
        near, far = (middle, far) if kept(middle) else (near, middle)
    return float(np.exp(near))


def _parts(rows: Expected, odds: float, sign: float) -> Floats:
    """Each row's part in the largest gap (sign 1) or in the least one."""
    e = rows.chance
    first = _side(rows.value, rows.group, rows.first, (1.0 - e) / e, odds, sign)
    second = _side(rows.value, ~rows.group, rows.second, e / (1.0 - e), odds, -sign)
    return first - second


def _side(value: Floats, here: Bools, expected: Floats, others: Floats, odds: float, sign: float) -> Floats:
    """Each row's part in the extreme mean of everybody as people of this side: own values, and others' at the worst."""
    quantile, moved = _at_worst(sign * value, here, sign * expected, odds)
    # at the worst, with the quantile of its columns taken as known
    worst = quantile + odds * np.maximum(sign * value - quantile, 0.0)
    worst = worst - np.maximum(quantile - sign * value, 0.0) / odds
    return np.where(here, sign * (sign * value + others * (worst - moved)), sign * moved)


def _at_worst(value: Floats, here: Bools, expected: Floats, odds: float) -> tuple[Floats, Floats]:
    """The quantile of each row's columns, and what is expected of it at the worst."""
    share = odds / (1.0 + odds)
    ends = np.unique(value[here]) if here.any() else np.zeros(1)
    if np.isin(np.abs(ends), (0.0, 1.0)).all() and np.ptp(ends) <= 1.0:
        # 0 and 1, or 0 and -1: the quantile is one of them
        low = min(float(ends.min()), float(ends.max()) - 1.0) if ends.size == 2 else -float(ends.min() < 0)
        chance = np.clip(expected - low, 0.0, 1.0)
        upper = chance > 1.0 - share
        worst = np.where(upper, 1.0 - (1.0 - chance) / odds, odds * chance)
        return np.asarray(low + upper, dtype=np.float64), low + worst
    left = (value - expected)[here]
    quantile = float(np.quantile(left, share))
    beyond = quantile + odds * np.maximum(left - quantile, 0.0) - np.maximum(quantile - left, 0.0) / odds
    return np.asarray(expected + quantile), np.asarray(expected + float(np.mean(beyond)))
