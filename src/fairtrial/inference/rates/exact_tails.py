"""Tail probabilities of small tables at the rates the null allows.

The score's normal tail is far too thin for a handful of people: one of one against a rate of 5% scores 4.4
standard errors. Summing the binomial probabilities at the constrained maximum (Storer and Kim 1990) is not.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.rates.proportions import constrained_rates

# Terms further out than this many standard deviations do not change the sum.
REACH = 10.0


def binomial_tails(k: Floats, n: Floats, rate: Floats) -> tuple[Floats, Floats]:
    """P(X >= k) and P(X <= k) for X binomial."""
    upper = np.where(k > 0, special.betainc(np.maximum(k, 1.0), n - np.maximum(k, 1.0) + 1.0, rate), 1.0)
    fewer = np.minimum(k, n - 1.0)
    lower = np.where(k < n, special.betaincc(fewer + 1.0, n - fewer, rate), 1.0)
    return upper, lower


def difference_tails(k1: Floats, n1: Floats, k2: Floats, n2: Floats, delta: Floats) -> tuple[Floats, Floats]:
    """P(difference >= observed) and P(difference <= observed) at the constrained maximum, table by table."""
    first, second = constrained_rates(k1, n1, k2, n2, delta)
    pairs = [
        _tails(*(float(value) for value in table))
        for table in zip(k1, n1, first, k2, n2, second, strict=True)
    ]
    stacked = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return stacked[:, 0], stacked[:, 1]


def _tails(k1: float, n1: float, p1: float, k2: float, n2: float, p2: float) -> tuple[float, float]:
    if n1 * p1 * (1 - p1) > n2 * p2 * (1 - p2):
        # The sum runs over the sample with fewer likely counts; exchanging samples exchanges the tails.
        below, above = _tails_over_first(k2, n2, p2, k1, n1, p1)
        return above, below
    return _tails_over_first(k1, n1, p1, k2, n2, p2)


def _tails_over_first(
    k1: float, n1: float, p1: float, k2: float, n2: float, p2: float
) -> tuple[float, float]:
    spread = REACH * np.sqrt(n1 * p1 * (1 - p1)) + REACH
    counts = np.arange(np.floor(max(0.0, n1 * p1 - spread)), np.ceil(min(n1, n1 * p1 + spread)) + 1.0)
    mass = _binomial_mass(counts, n1, p1)
    # Difference at least (at most) the observed one: the second count at most (at least) this bound.
    bound = n2 * (counts / n1 - (k1 / n1 - k2 / n2))
    slack = 1e-9 * max(n2, 1.0) / max(n1, n2, 1.0)
    at_most = _binomial_below(np.floor(bound + slack), n2, p2)
    at_least = _binomial_from(np.ceil(bound - slack), n2, p2)
    return min(1.0, float(mass @ at_most)), min(1.0, float(mass @ at_least))


def _binomial_mass(k: Floats, n: float, p: float) -> Floats:
    coefficient = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.asarray(np.exp(coefficient + special.xlogy(k, p) + special.xlog1py(n - k, -p)))


def _binomial_below(k: Floats, n: float, p: float) -> Floats:
    """P(X <= k), for any real k."""
    inside = np.clip(k, 0.0, n - 1.0)
    middle = special.betaincc(inside + 1.0, n - inside, p)
    return np.where(k < 0, 0.0, np.where(k >= n, 1.0, middle))


def _binomial_from(k: Floats, n: float, p: float) -> Floats:
    """P(X >= k), for any real k; its own tail, since one minus the other loses small probabilities."""
    inside = np.clip(k, 1.0, n)
    middle = special.betainc(inside, n - inside + 1.0, p)
    return np.where(k <= 0, 1.0, np.where(k > n, 0.0, middle))
