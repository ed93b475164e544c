"""Two-by-two tables given their margins: Fisher's exact test, the odds ratio with its exact limits, and how many fewer.

Several strata (requisitions, credit bands) are pooled, never added up: given its margins each has its own
hypergeometric law, and that of their sum is the convolution of these. With one stratum it is Fisher's test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.rates.two_rates import TwoRates

NEGLIGIBLE = 1e-40  # of the largest probability; what is trimmed is added to the tails again
TIE = 1e-7  # as likely as what was seen, to the last digits
FARTHEST = 25.0  # a logarithm of odds beyond which there is no limit


class Pooled(NamedTuple):
    """How many of one group have the event, against what the margins would make one expect."""

    expected: float
    shortfall: float
    deviations: float


class Law(NamedTuple):
    """The group's events given all margins: the smallest count, and the probability of it and of those above."""

    first: int
    probability: Floats

    def tails(self, count: int) -> tuple[float, float]:
        """At most so many, at least so many."""
        place = count - self.first
        trimmed = self.probability.size * NEGLIGIBLE
        below, above = self.probability[: max(place + 1, 0)].sum(), self.probability[max(place, 0) :].sum()
        return float(min(below + trimmed, 1.0)), float(min(above + trimmed, 1.0))


def pooled(strata: TwoRates) -> Pooled:
    """Mantel and Haenszel's expectation and standard deviation over the strata; of one stratum the usual ones."""
    k1, n1, k2, n2 = strata
    people, events = n1 + n2, k1 + k2
    there = people > 1
    expected = float((n1 * events / np.maximum(people, 1.0)).sum())
    variance = (
        n1 * n2 * events * (people - events) / (np.maximum(people, 1.0) ** 2 * np.maximum(people - 1, 1))
    )
    spread = float(np.sqrt(variance[there].sum()))
    seen = float(k1.sum())
    return Pooled(expected, expected - seen, (seen - expected) / spread if spread > 0 else np.nan)


def given_margins(strata: TwoRates, log_odds: float = 0.0) -> Law:
    """The law of the group's events when the odds ratio is the same in every stratum."""
    law = Law(0, np.ones(1))
    for k1, n1, k2, n2 in zip(*(column.tolist() for column in strata), strict=True):
        law = _sum(law, _one(int(n1), int(n2), int(k1 + k2), log_odds))
    return law


def _one(n1: int, n2: int, events: int, log_odds: float) -> Law:
    low, high = max(0, events - n2), min(n1, events)
    count = np.arange(low, high + 1.0)
    logarithm = -sum(
        special.gammaln(part + 1.0) for part in (count, n1 - count, events - count, n2 - events + count)
    )
    logarithm = logarithm + count * log_odds
    return _trimmed(low, np.exp(logarithm - logarithm.max()))


def _sum(one: Law, other: Law) -> Law:
    return _trimmed(one.first + other.first, np.convolve(one.probability, other.probability))


def _trimmed(first: int, weight: Floats) -> Law:
    kept = np.flatnonzero(weight > NEGLIGIBLE * weight.max())
    inside = weight[kept[0] : kept[-1] + 1]
    return Law(first + int(kept[0]), inside / inside.sum())


def exact_p(strata: TwoRates) -> float:
    """Fisher's two-sided p-value: all counts that are no more likely than the one seen."""
    law = given_margins(strata)
    place = int(strata.k1.sum()) - law.first
    trimmed = law.probability.size * NEGLIGIBLE
    if not 0 <= place < law.probability.size:
        return trimmed
    seen = law.probability[place] * (1.0 + TIE)
    return float(min(law.probability[law.probability <= seen].sum() + trimmed, 1.0))


def odds_ratio(strata: TwoRates) -> float:
    """Mantel and Haenszel's; of one stratum the odds of the group over those of its target. NaN where undefined."""
    k1, n1, k2, n2 = strata
    people = np.maximum(n1 + n2, 1.0)
    above, below = (k1 * (n2 - k2) / people).sum(), (k2 * (n1 - k1) / people).sum()
    if below == 0:
        return np.inf if above > 0 else np.nan
    return float(above / below)


def odds_limits(strata: TwoRates, level: float) -> tuple[float, float]:
    """Exact conditional limits: each end is where the tail beyond what was seen has half of the error."""
    seen, tail = int(strata.k1.sum()), (1.0 - level) / 2.0
    lowest, highest = _range(strata)
    middle = odds_ratio(strata)
    start = float(np.log(middle)) if np.isfinite(middle) and middle > 0 else 0.0
    low, high = 0.0, np.inf
    if seen > lowest:
        low = _end(lambda log_odds: given_margins(strata, log_odds).tails(seen)[1] - tail, start)
    if seen < highest:
        high = _end(lambda log_odds: tail - given_margins(strata, log_odds).tails(seen)[0], start)
    return low, high


def _range(strata: TwoRates) -> tuple[int, int]:
    events = strata.k1 + strata.k2
    return (
        int(np.maximum(0.0, events - strata.n2).sum()),
        int(np.minimum(strata.n1, events).sum()),
    )


def _end(rising: Callable[[float], float], start: float) -> float:
    """Where a function that rises with the log odds is zero."""
    step, low, high = 0.5, start, start
    while rising(low) > 0 and low > -FARTHEST:
        low, step = low - step, 2 * step
    step = 0.5
    while rising(high) < 0 and high < FARTHEST:
        high, step = high + step, 2 * step
    if low >= high:
        return float(np.exp(low))
    return float(np.exp(optimize.brentq(rising, low, high, xtol=1e-10)))
