"""How strong a factor that nobody measured would have to be to overturn what an adjusted gap says.

Three answers, by how the gap was adjusted: a share of the variance left unexplained, odds within strata, and odds given
the columns of a model.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from fairtrial._inference.laws.gaps import tail_of
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.rates.two_rates import TwoRates, unskewed

if TYPE_CHECKING:
    from fairtrial._inference.laws.model_gaps import Expected


# -- Cinelli and Hazlett's robustness value: which share of what is left unexplained a factor would have to explain.
#
# A gap within strata with Mantel and Haenszel's weights is the coefficient of the group in a regression on the
# strata. A factor left out moves it by (s_y/s_d) R_y R_d / sqrt(1 - R_d²), R_y² and R_d² the shares that it explains
# of what the regression leaves of the values and of who is in the group (Cinelli & Hazlett 2020, equation 11;
# algebra, not a model). The value is the share that, explained of both, moves a limit just to the edge; the interval
# keeps its width then.
def share_to_move(distance: float, slope: float) -> float:
    """The share of both that moves a limit so far; `slope` is s_y/s_d. Zero where it is there already.

    >>> round(share_to_move(0.0973, 0.0232 * math.sqrt(783.0)), 3)  # their example, violence in Darfur: 13.9%
    0.139
    """
    if distance <= 0:
        return 0.0
    if slope <= 0 or not math.isfinite(distance):
        return 1.0
    square = (distance / slope) ** 2
    # as a quotient: the difference of near numbers would lose its digits where little is enough
    return 2.0 * square / (square + math.sqrt(square**2 + 4.0 * square)) if square > 0 else 0.0


# -- Rosenbaum's bound for rates within strata: which odds of belonging to the group would explain the gap.
#
# People alike in the strata may still differ in something that nobody measured. If it multiplies the odds of being in
# the group by at most Γ, the events of the group in a stratum are, at the worst, noncentral hypergeometric with odds
# Γ: the factor then goes exactly with the event (Rosenbaum 2002, section 4.4). Γ is the largest with which 'no gap'
# is still rejected; at Γ = 1 the test is that of Cochran, Mantel and Haenszel, never sharper than with its skewness
# nor, where few events are possible, than the exact law.
MOST_ODDS_OF_STRATA = 1e4
HALVINGS_OF_STRATA = 30
# Strata with so many possible counts of events are taken by the cumulants of the large law.
COUNTED = 60
# Up to so many possible sums of events the law of the sum is worked out.
SUMMED = 300


def odds_to_explain(table: TwoRates, tail: float) -> float:
    """The odds up to which no factor explains why the group's rates are above (or below) its target's.

    `table` holds the strata with people on both sides; 1 where the gap is not shown without any such factor.
    """
    expected, _, _ = cumulants(table, 0.0)
    if (table.k1 - expected).sum() < 0:
        table = TwoRates(table.n1 - table.k1, table.n1, table.n2 - table.k2, table.n2)
    near, far = 0.0, float(np.log(MOST_ODDS_OF_STRATA))
    if _tail_at(table, near) > tail:
        return 1.0
    if _tail_at(table, far) <= tail:
        return MOST_ODDS_OF_STRATA
    for _ in range(HALVINGS_OF_STRATA):
        middle = 0.5 * (near + far)
        near, far = (middle, far) if _tail_at(table, middle) <= tail else (near, middle)
    return float(np.exp(near))


def _tail_at(table: TwoRates, log_odds: float) -> float:
    """How likely so many events of the group are, or more, at these odds."""
    mean, variance, third = (of.sum() for of in cumulants(table, log_odds))
    if variance <= 0:
        return 1.0
    root = float((table.k1.sum() - mean) / np.sqrt(variance))
    skewed = float(unskewed(np.asarray(root), np.asarray(third / (6.0 * variance**1.5))))
    p = float(tail_of(np.asarray(-min(root, skewed))))
    low, high = _ends(table)
    return max(p, _exact_tail(table, log_odds)) if (high - low).sum() <= SUMMED else p


def cumulants(table: TwoRates, log_odds: float) -> tuple[Floats, Floats, Floats]:
    """Mean, variance and third cumulant of the group's events in each stratum, its margins given."""
    low, high = _ends(table)
    few = high - low <= COUNTED
    found = np.zeros((3, low.size))
    if few.any():
        chance, count = _law_of_counts(TwoRates(*(column[few] for column in table)), log_odds)
        mean = (chance * count).sum(axis=1)
        distance = count - mean[:, None]
        found[:, few] = mean, (chance * distance**2).sum(axis=1), (chance * distance**3).sum(axis=1)
    if not few.all():
        found[:, ~few] = _of_many(TwoRates(*(column[~few] for column in table)), log_odds)
    return found[0], found[1], found[2]


def _ends(table: TwoRates) -> tuple[Floats, Floats]:
    """The fewest and the most events that the group can have."""
    events = table.k1 + table.k2
    return np.maximum(0.0, events - table.n2), np.minimum(table.n1, events)


def _law_of_counts(table: TwoRates, log_odds: float) -> tuple[Floats, Floats]:
    """The chance of each possible count in each stratum, and the counts."""
    (low, high), events = _ends(table), table.k1 + table.k2
    count = low[:, None] + np.arange(float((high - low).max()) + 1.0)
    there = count <= high[:, None]
    a = np.where(there, count, low[:, None])
    n1, n2, k = table.n1[:, None], table.n2[:, None], events[:, None]
    logarithm = a * log_odds - sum(
        special.gammaln(cell + 1.0) for cell in (a, n1 - a, k - a, np.maximum(n2 - k + a, 0.0))
    )
    logarithm = np.where(there, logarithm, -np.inf)
    chance = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
    return chance / chance.sum(axis=1, keepdims=True), a


def _of_many(table: TwoRates, log_odds: float) -> Floats:
    """Cornfield's: the count at which the table has these odds, and what the four cells give to its cumulants."""
    odds, events, people = np.exp(log_odds), table.k1 + table.k2, table.n1 + table.n2
    leading = odds - 1.0
    middle = odds * (events + table.n1) + table.n2 - events
    root = np.sqrt(np.maximum(middle**2 - 4.0 * leading * odds * events * table.n1, 0.0))
    mean = 2.0 * odds * events * table.n1 / (middle + root)
    low, high = _ends(table)
    mean = np.clip(mean, low + 1e-9, high - 1e-9)
    cells = mean, events - mean, table.n1 - mean, table.n2 - events + mean
    variance = 1.0 / sum(1.0 / cell for cell in cells)
    signs = (1.0, -1.0, -1.0, 1.0)
    third = variance**3 * sum(sign / cell**2 for sign, cell in zip(signs, cells, strict=True))
    return np.stack([mean, variance * people / (people - 1.0), third])


def _exact_tail(table: TwoRates, log_odds: float) -> float:
    """The law of the sum over strata: the chance of as many events or more."""
    low, high = _ends(table)
    chances, _ = _law_of_counts(table, log_odds)
    law = np.ones(1)
    for chance, width in zip(chances, (high - low).astype(np.int64), strict=True):
        law = np.convolve(law, chance[: width + 1])
    place = round(float((table.k1 - low).sum()))
    return float(law[place:].sum())


# -- Dorn and Guo's bounds for gaps adjusted by a model: what the gap can be where odds may be off by a factor.
#
# The odds of being in the group, given the columns and something that nobody measured, are at most Λ times those
# given the columns, and at least 1/Λ of them (Tan 2006). The mean that people on one side would have on the other is
# then at most E[q + Λ(y - q)⁺ - (y - q)⁻/Λ], q the Λ/(1 + Λ) quantile given the columns (Dorn & Guo 2022); with any
# other q it is larger, so that a poor q only widens. Estimated doubly robust, from the expectations that the gap
# itself was made of.
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
