"""Small cells the slow way: every prior of the grid, every count, every subset of cells, one after the other.

Nothing of the package is used; the steps are those of methods/small-cells.md.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy import optimize, stats


def priors():
    """The grid: logit of the mean from -5 to 5 by eighths, strength 30(1-u)/u at twelve midpoints u."""
    for step in range(-40, 41):
        mean = 1.0 / (1.0 + np.exp(-step / 8.0))
        for j in range(1, 13):
            u = (j - 0.5) / 12.0
            strength = 30.0 * (1.0 - u) / u
            yield mean * strength, (1.0 - mean) * strength


def _weights(n, s, without=None):
    log = [
        sum(stats.betabinom.logpmf(s[j], n[j], a, b) for j in range(len(n)) if j != without)
        for a, b in priors()
    ]
    raw = np.exp(np.array(log) - max(log))
    return raw / raw.sum()


def estimate(n, s, place):
    """Mean of the cell's rate over the weighted priors."""
    return sum(
        w * (a + s[place]) / (a + b + n[place]) for w, (a, b) in zip(_weights(n, s), priors(), strict=True)
    )


def exact_interval(n, s, place, alpha):
    """From the least to the greatest rate that Pratt's order does not reject."""
    size, own = n[place], s[place]
    if size > 200:
        return clopper_pearson(own, size, alpha)
    counts = np.arange(size + 1)
    weights = _weights(n, s, without=place)
    marginal = sum(
        w * stats.betabinom.pmf(counts, size, a, b) for w, (a, b) in zip(weights, priors(), strict=True)
    )

    def kept(p):
        chance = stats.binom.pmf(counts, size, p)
        speaks = chance / marginal
        return chance[speaks <= (1 + 1e-9) * speaks[own]].sum() > alpha

    inside = [p for p in np.arange(1, 1000) / 1000 if kept(p)]
    low, high = min(inside), max(inside)
    low = 0.0 if own == 0 and low == 0.001 else _edge(kept, low - 0.001, low)
    high = 1.0 if own == size and high == 0.999 else _edge(kept, high + 0.001, high)
    return low, high


def _edge(kept, outside, inside):
    for _ in range(50):
        middle = (outside + inside) / 2
        outside, inside = (outside, middle) if kept(middle) else (middle, inside)
    return (outside + inside) / 2


def clopper_pearson(s, n, alpha):
    """By the tails themselves."""

    def root(tail):
        return optimize.brentq(lambda p: tail(p) - alpha / 2, 0.0, 1.0, xtol=1e-14)

    low = 0.0 if s == 0 else root(lambda p: stats.binom.sf(s - 1, n, p))
    high = 1.0 if s == n else root(lambda p: stats.binom.cdf(s, n, p))
    return low, high


def exact_gap(n, s, place, alpha):
    """To everyone: step 2 at nine tenths of the error, the rest's Clopper–Pearson at one tenth."""
    low, high = exact_interval(n, s, place, 0.9 * alpha)
    people, positives = sum(n), sum(s)
    rest = clopper_pearson(positives - s[place], people - n[place], 0.1 * alpha)
    share = 1 - n[place] / people
    return share * (low - rest[1]), share * (high - rest[0])


def p_values(n, s, tolerance, side, alpha):
    """That a cell is not beyond everyone's rate by the tolerance, whatever everyone's is within its limits."""
    least, most = clopper_pearson(sum(s), sum(n), 0.1 * alpha)
    found = []
    for size, own in zip(n, s, strict=True):
        above = stats.binom.sf(own - 1, size, min(1.0, most + tolerance))
        below = stats.binom.cdf(own, size, max(0.0, least - tolerance))
        found.append({"above": above, "below": below, "outside": min(1.0, 2 * min(above, below))}[side])
    return np.array(found)


def beyond(p, chosen, alpha):
    """Closed testing itself: the smallest number of true effects in `chosen` that no rejected set contradicts.

    A set of cells is rejected when every set that contains it is, by Simes at nine tenths of the error.
    """
    every = range(len(p))

    def simes(members):
        ordered = np.sort(p[list(members)])
        return bool((ordered <= 0.9 * alpha * np.arange(1, ordered.size + 1) / ordered.size).any())

    kept = [frozenset(one) for k in range(1, len(p) + 1) for one in combinations(every, k) if not simes(one)]
    largest = max((len(set(chosen) & one) for one in kept), default=0)
    return len(chosen) - largest


def spread_squared(n, s):
    """Unbiased for the people-weighted spread of the true rates, cells of two or more."""
    cells = [(size, own) for size, own in zip(n, s, strict=True) if size >= 2]
    total = sum(size for size, _ in cells)
    centre = sum(own for _, own in cells) / total
    seen = sum(size / total * (own / size - centre) ** 2 for size, own in cells)
    noise = sum(
        (1 - size / total) * size * (own / size) * (1 - own / size) / (size - 1) for size, own in cells
    )
    return seen - noise / total


def ranks(n, s, level):
    """Best and worst rank by Clopper–Pearson limits of all cells at once."""
    limits = [clopper_pearson(own, size, 1 - level ** (1 / len(n))) for size, own in zip(n, s, strict=True)]
    best = [1 + sum(other[0] > own[1] for other in limits) for own in limits]
    worst = [len(n) - sum(other[1] < own[0] for other in limits) for own in limits]
    return best, worst


def draws_of_spread(n, s, spread, draws, generator):
    """Squared spreads when the true rates have this spread, shaped as the observed ones."""
    size = np.array([one for one in n if one >= 2])
    own = np.array([b for a, b in zip(n, s, strict=True) if a >= 2])
    share = size / size.sum()
    centre = share @ (own / size)
    away = (own / size - centre) * size / (size + 10)
    away = away - share @ away

    def rates(c):
        return np.clip(centre + c * away, 0, 1)

    def reached(c):
        found = rates(c)
        return np.sqrt(share @ (found - share @ found) ** 2) - spread

    top = 1.0
    while reached(top) < 0:
        top *= 2
    p = rates(optimize.brentq(reached, 0, top))
    counts = generator.binomial(size, p, (draws, size.size))
    return np.array([spread_squared(size, one) for one in counts])
