"""Rosenbaum's bound for rates within strata: which odds of belonging to the group would explain the gap.

People alike in the strata may still differ in something that nobody measured. If it multiplies the odds of being in the
group by at most Γ, the events of the group in a stratum are, at the worst, noncentral hypergeometric with odds Γ: the
factor then goes exactly with the event (Rosenbaum 2002, section 4.4). Γ is the largest with which 'no gap' is still
rejected; at Γ = 1 the test is that of Cochran, Mantel and Haenszel, never sharper than with its skewness nor, where few
events are possible, than the exact law.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from fairtrial._inference.laws.gaps import tail_of
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.two_rates import TwoRates, unskewed

MOST_ODDS = 1e4
# Strata with so many possible counts of events are taken by the cumulants of the large law.
COUNTED = 60
# Up to so many possible sums of events the law of the sum is worked out.
SUMMED = 300
HALVINGS = 30


def odds_to_explain(table: TwoRates, tail: float) -> float:
    """The odds up to which no factor explains why the group's rates are above (or below) its target's.

    `table` holds the strata with people on both sides; 1 where the gap is not shown without any such factor.
    """
    expected, _, _ = cumulants(table, 0.0)
    if (table.k1 - expected).sum() < 0:
        table = TwoRates(table.n1 - table.k1, table.n1, table.n2 - table.k2, table.n2)
    near, far = 0.0, float(np.log(MOST_ODDS))
    if _tail(table, near) > tail:
        return 1.0
    if _tail(table, far) <= tail:
        return MOST_ODDS
    for _ in range(HALVINGS):
        middle = 0.5 * (near + far)
        near, far = (middle, far) if _tail(table, middle) <= tail else (near, middle)
    return float(np.exp(near))


def _tail(table: TwoRates, log_odds: float) -> float:
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
        chance, count = _law(TwoRates(*(column[few] for column in table)), log_odds)
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


def _law(table: TwoRates, log_odds: float) -> tuple[Floats, Floats]:
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
    chances, _ = _law(table, log_odds)
    law = np.ones(1)
    for chance, width in zip(chances, (high - low).astype(np.int64), strict=True):
        law = np.convolve(law, chance[: width + 1])
    place = round(float((table.k1 - low).sum()))
    return float(law[place:].sum())
