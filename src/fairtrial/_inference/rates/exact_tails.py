"""Tail probabilities of small tables at the rates the null allows.

The score's normal tail is far too thin for a handful of people: one of one against a rate of 5% scores 4.4
standard errors. Summing the binomial probabilities at the constrained maximum (Storer and Kim 1990) is not.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from fairtrial._inference.numeric.roots import Floats

# Terms further out than this many standard deviations do not change the sum.
REACH = 8.0
# So many terms are summed at once; more tables go one chunk after the other.
MOST_TERMS = 2_000_000


def binomial_tails(k: Floats, n: Floats, rate: Floats) -> tuple[Floats, Floats]:
    """P(X >= k) and P(X <= k) for X binomial."""
    return _binomial_from(k, n, rate), _binomial_below(k, n, rate)


def contrast_tail(
    k1: Floats, n1: Floats, p1: Floats, k2: Floats, n2: Floats, p2: Floats, slope: Floats,
    ties: Floats | float = 1.0,
) -> Floats:  # fmt: skip
    """P(X1/n1 - slope X2/n2 >= observed); of tables that tie with the observed one only the share `ties` counts.

    The tail on the other side: both samples exchanged, with the inverse slope.
    """
    columns = np.broadcast_arrays(k1, n1, p1, k2, n2, p2, slope, ties)
    table = np.stack([np.ravel(column).astype(np.float64) for column in columns])
    # The sum runs over the sample with fewer likely counts.
    over_first = table[1] * table[2] * (1 - table[2]) <= table[4] * table[5] * (1 - table[5])
    tail = np.empty(table.shape[1])
    for chosen in (over_first, ~over_first):
        places = np.flatnonzero(chosen)
        if places.size:
            tail[places] = _in_chunks(table[:, places], bool(over_first[places[0]]))
    return np.minimum(tail, 1.0).reshape(columns[0].shape)


def _in_chunks(table: Floats, over_first: bool) -> Floats:
    """Tables in the order of their number of likely counts, so that a chunk's table of terms is full."""
    n, rate = (table[1], table[2]) if over_first else (table[4], table[5])
    reach = REACH * np.sqrt(n * rate * (1 - rate)) + REACH
    start, stop = np.floor(np.maximum(0.0, n * rate - reach)), np.ceil(np.minimum(n, n * rate + reach))
    width = stop - start + 1.0
    order, tail = np.argsort(width), np.empty(n.shape)
    while order.size:
        terms = np.arange(1.0, order.size + 1.0) * width[order]
        fit = max(1, int(np.searchsorted(terms, MOST_TERMS, side="right")))
        some, order = order[:fit], order[fit:]
        counts = start[some, None] + np.arange(width[some].max())
        tail[some] = _sum_terms(table[:, some, None], counts, over_first)
    return tail


def _sum_terms(table: Floats, counts: Floats, over_first: bool) -> Floats:
    k1, n1, p1, k2, n2, p2, slope, ties = table
    observed = k1 / n1 - slope * k2 / n2
    if over_first:
        mass = binomial_mass(counts, n1, p1)
        # The contrast is at least the observed one where the second count is at most this bound.
        bound = (counts / n1 - observed) * n2 / slope
        slack = 1e-9 * np.maximum(n2, 1.0) / np.maximum(np.maximum(n1, n2), 1.0)
        with_ties, without = np.floor(bound + slack), np.ceil(bound - slack) - 1.0
        inside = _binomial_below(with_ties, n2, p2)
        beyond = inside if (ties == 1.0).all() else _binomial_below(without, n2, p2)
    else:
        mass = binomial_mass(counts, n2, p2)
        bound = (observed + slope * counts / n2) * n1
        slack = 1e-9 * np.maximum(n1, 1.0) / np.maximum(np.maximum(n1, n2), 1.0)
        with_ties, without = np.ceil(bound - slack), np.floor(bound + slack) + 1.0
        inside = _binomial_from(with_ties, n1, p1)
        beyond = inside if (ties == 1.0).all() else _binomial_from(without, n1, p1)
    return np.asarray(np.sum(mass * (ties * inside + (1.0 - ties) * beyond), axis=-1))


def binomial_mass(k: Floats, n: Floats, p: Floats) -> Floats:
    left = np.maximum(n - k, 0.0)
    coefficient = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(left + 1)
    mass = np.exp(coefficient + special.xlogy(k, p) + special.xlog1py(left, -p))
    return np.where(k <= n, mass, 0.0)


def _binomial_below(k: Floats, n: Floats, p: Floats) -> Floats:
    """P(X <= k), for any real k."""
    inside = np.clip(k, 0.0, np.maximum(n - 1.0, 0.0))
    # the complement with its arguments exchanged: four times as fast as the complement itself
    middle = special.betainc(np.maximum(n - inside, 1.0), inside + 1.0, 1.0 - p)
    return np.where(k < 0, 0.0, np.where(k >= n, 1.0, middle))


def _binomial_from(k: Floats, n: Floats, p: Floats) -> Floats:
    """P(X >= k), for any real k; its own tail, since one minus the other loses small probabilities."""
    inside = np.clip(k, 1.0, np.maximum(n, 1.0))
    middle = special.betainc(inside, np.maximum(n - inside, 0.0) + 1.0, p)
    return np.where(k <= 0, 1.0, np.where(k > n, 0.0, middle))
