"""Intervals for one rate, and what laws of two rates are made of: deviances and the constrained maximum.

Everything takes counts (successes k of n), as arrays that broadcast, and works from k = 0 to n = 1e9.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fairtrial._inference.numeric.roots import Floats, bisect_decreasing, floats
from fairtrial._inference.ways import RateMethod

# Below this many events a normal law alone is not trusted anywhere.
SMALL_COUNT = 10


def normal_quantile(level: float) -> float:
    """Half-width of a two-sided normal interval at this level, in standard errors."""
    return float(-special.ndtri((1.0 - level) / 2.0))


def binomial_deviance(k: ArrayLike, n: ArrayLike, rate: ArrayLike) -> Floats:
    """2[k log(p/pi) + (n-k) log((1-p)/(1-pi))]: the empirical likelihood ratio of a binary metric."""
    k, n, rate = floats(k, n, rate)
    excess = k - n * rate
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # log1p of the relative excess keeps its digits at n = 1e9, where log of a ratio near 1 loses them.
        ones = np.where(k > 0, k * np.log1p(excess / (n * rate)), 0.0)
        zeros = np.where(n - k > 0, (n - k) * np.log1p(-excess / (n * (1.0 - rate))), 0.0)
    deviance = 2.0 * (ones + zeros)
    # A rate of exactly 0 or 1 is contradicted by any count on the other side.
    impossible = ((rate <= 0) & (k > 0)) | ((rate >= 1) & (k < n))
    return np.where(impossible, np.inf, np.maximum(deviance, 0.0))


def rate_interval(
    k: ArrayLike, n: ArrayLike, level: Floats | float = 0.95, method: RateMethod = "bounded"
) -> tuple[Floats, Floats]:
    """Limits for one rate; [0, 1] when there is nobody to learn from."""
    k, n = floats(k, n)
    limits = {
        "bounded": _bounded,
        "wilson": _wilson,
        "likelihood": _likelihood,
        "half-count": _half_count,
        "exact": _clopper_pearson,
    }
    if method not in limits:
        raise ValueError(f"rate_interval: 'method' must be one of {sorted(limits)}, got {method!r}.")
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = limits[method](k, n, level)
    # The exact answer at the ends is the end itself; rounding must not move it.
    low = np.where((n <= 0) | (k <= 0), 0.0, np.clip(low, 0.0, 1.0))
    high = np.where((n <= 0) | (k >= n), 1.0, np.clip(high, 0.0, 1.0))
    return low, high


def _wilson(k: Floats, n: Floats, level: Floats | float) -> tuple[Floats, Floats]:
    z = -special.ndtri((1.0 - level) / 2.0)
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * np.sqrt(k * (n - k) / n + z * z / 4)
    return centre - half, centre + half


def _bounded(k: Floats, n: Floats, level: Floats | float) -> tuple[Floats, Floats]:
    """Wilson's limits and the exact ones, the outermost: Wilson's alone miss up to .09 at 95%, and up to .14 of rare
    events."""
    one, other = _wilson(k, n, level), _clopper_pearson(k, n, level)
    exact = np.where(k > 0, other[0], 0.0), np.where(k < n, other[1], 1.0)
    return np.minimum(one[0], exact[0]), np.maximum(one[1], exact[1])


def _likelihood(k: Floats, n: Floats, level: Floats | float) -> tuple[Floats, Floats]:
    critical = special.ndtri((1.0 - level) / 2.0) ** 2
    rate = np.where(n > 0, k / np.where(n > 0, n, 1.0), 0.5)
    low = bisect_decreasing(lambda p: binomial_deviance(k, n, p) - critical, np.zeros_like(rate), rate)
    high = bisect_decreasing(lambda p: critical - binomial_deviance(k, n, p), rate, np.ones_like(rate))
    return low, high


def _half_count(k: Floats, n: Floats, level: Floats | float) -> tuple[Floats, Floats]:
    return _likelihood(k + 0.5, n + 1.0, level)


def _clopper_pearson(k: Floats, n: Floats, level: Floats | float) -> tuple[Floats, Floats]:
    tail = (1.0 - level) / 2.0
    inside_low, inside_high = np.maximum(k, 1.0), np.minimum(k, n - 1.0)
    low = special.betaincinv(inside_low, n - inside_low + 1.0, tail)
    high = special.betainccinv(inside_high + 1.0, n - inside_high, tail)
    return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)


def constrained_rates(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, delta: ArrayLike
) -> tuple[Floats, Floats]:
    """Maximum likelihood of two rates whose difference is delta (Miettinen and Nurminen 1985, the cubic)."""
    k1, n1, k2, n2, delta = floats(k1, n1, k2, n2, delta)
    total, successes = n1 + n2, k1 + k2
    with np.errstate(divide="ignore", invalid="ignore"):
        if not delta.any():
            pooled = successes / total
            return pooled, pooled
        # Dividing by the total keeps the cubic's coefficients of order one at any sample size.
        share1, share2 = n1 / total, n2 / total
        c2 = (share1 + 2 * share2) * delta - 1.0 - successes / total
        c1 = (share2 * delta - 1.0 - 2 * k2 / total) * delta + successes / total
        c0 = k2 / total * delta * (1.0 - delta)
        q = c2**3 / 27.0 - c1 * c2 / 6.0 + c0 / 2.0
        p = np.where(q >= 0, 1.0, -1.0) * np.sqrt(np.maximum(c2**2 / 9.0 - c1 / 3.0, 0.0))
        cosine = np.where(p != 0, q / np.where(p != 0, p**3, 1.0), 0.0)
        angle = (np.pi + np.arccos(np.clip(cosine, -1.0, 1.0))) / 3.0
        second = 2.0 * p * np.cos(angle) - c2 / 3.0
    low, high = np.maximum(0.0, -delta), np.minimum(1.0, 1.0 - delta)
    second = _polish(np.clip(second, low, high), low, high, k1, n1, k2, n2, delta)
    second = _at_an_end(second, low, high, k1, n1, k2, n2, delta)
    return np.clip(second + delta, 0.0, 1.0), second


def _at_an_end(
    second: Floats,
    low: Floats,
    high: Floats,
    k1: Floats,
    n1: Floats,
    k2: Floats,
    n2: Floats,
    delta: Floats,
) -> Floats:
    """An end itself where the likelihood still rises there: the cubic comes no nearer to it than 1e-8.

    Only a side whose people are all alike allows for an end; the searches for limits would follow the noise.
    """
    up, size = delta >= 0, np.abs(delta)
    at_high, at_low = np.where(up, k1 == n1, k2 == n2), np.where(up, k2 == 0, k1 == 0)
    if not (at_high | at_low).any():
        return second
    alike, k, n = np.where(up, n1, n2), np.where(up, k2, k1), np.where(up, n2, n1)
    # the score at the high end and, turned, at the low one, without the term of the side that is all alike
    rising = alike + over(k, 1 - size) - over(n - k, size)
    alike, k, n = np.where(up, n2, n1), np.where(up, k1, k2), np.where(up, n1, n2)
    falling = alike + over(n - k, 1 - size) - over(k, size)
    second = np.where(at_high & (rising >= 0), high, second)
    return np.where(at_low & (falling >= 0), low, second)


def over(count: Floats, rate: Floats) -> Floats:
    """A term of the score: nobody counts nothing, whatever the rate."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(count > 0, count / rate, 0.0)


def _polish(
    second: Floats,
    low: Floats,
    high: Floats,
    k1: Floats,
    n1: Floats,
    k2: Floats,
    n2: Floats,
    delta: Floats,
) -> Floats:
    """Two Newton steps on the score: the trigonometric root loses digits near 0 and 1."""
    for _ in range(2):
        first = second + delta
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            score = k1 / first - (n1 - k1) / (1 - first) + k2 / second - (n2 - k2) / (1 - second)
            slope = k1 / first**2 + (n1 - k1) / (1 - first) ** 2
            slope = slope + k2 / second**2 + (n2 - k2) / (1 - second) ** 2
            step = score / slope
        room = np.minimum(second - low, high - second)
        second = np.where(np.isfinite(step) & (np.abs(step) < 0.1 * room), second + step, second)
    return second


def difference_error(k1: Floats, n1: Floats, k2: Floats, n2: Floats) -> Floats:
    """Standard error of a difference of rates with half a count added on each side: never zero."""
    rates = [(k + 0.5) / (n + 1.0) for k, n in ((k1, n1), (k2, n2))]
    variance = sum(rate * (1 - rate) / (n + 1.0) for rate, n in zip(rates, (n1, n2), strict=True))
    return np.asarray(np.sqrt(variance), dtype=np.float64)


# -- Tail probabilities of small tables at the rates the null allows.
# The score's normal tail is far too thin for a handful of people: one of one against a rate of 5% scores 4.4 standard
# errors. Summing the binomial probabilities at the constrained maximum (Storer and Kim 1990) is not.
#
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


# -- Joint tests of several rates where counts are too small for the chi-square law.
# With an expected count of 0.06 in each of ten small groups Pearson's statistic passes its 5% point 19% of the time.
# Given the total, the events of the groups are hypergeometric under equal rates, whatever the common rate; at a known
# rate they are binomial. So the statistic is compared with draws of exactly that law.
#
# Below this expected number of events or of non-events in a group the chi-square law is not trusted.
SMALL_EXPECTED = 5.0
DRAWS = 9_999
# From this many rows on numpy offers no hypergeometric draws; the rarer value is then dealt out with replacement,
# which spreads the counts a little more.
MOST_HYPERGEOMETRIC = 10**9
ROUNDING = 1e-9
LEAST_VARIANCE = 1e-200  # at a known rate of next to nothing squares over variances stay numbers


def pearson(successes: Floats, sizes: Floats, rate: float) -> Floats:
    """Sum over groups (last axis) of (k - n rate)^2 / (n rate (1 - rate)); 0 where the rate is 0 or 1."""
    variance = max(rate * (1.0 - rate), LEAST_VARIANCE)
    if not 0.0 < rate < 1.0:
        return np.zeros(successes.shape[:-1])
    return np.asarray(((successes - sizes * rate) ** 2 / (sizes * variance)).sum(axis=-1))


def has_small_expectation(sizes: Floats, rate: float) -> bool:
    """Whether a group expects fewer than five events or non-events at this rate."""
    return bool(float(sizes.min()) * min(rate, 1.0 - rate) < SMALL_EXPECTED)


def drawn_pearson_p(successes: Floats, sizes: Floats, known: float | None = None, seed: int = 0) -> float:
    """p = (1 + b)/(1 + B) of Pearson's statistic: given the total, or at a known rate."""
    rng = np.random.default_rng(seed)
    rows, events = np.rint(sizes).astype(np.int64), int(np.rint(successes.sum()))
    total = int(rows.sum())
    rate = events / total if known is None else known
    seen = float(pearson(successes, sizes, rate))
    if known is not None:
        drawn = rng.binomial(rows, known, size=(DRAWS, rows.size))
    elif total < MOST_HYPERGEOMETRIC:
        drawn = rng.multivariate_hypergeometric(rows, events, size=DRAWS, method="marginals")
    else:
        # Pearson's statistic is the same for events and for non-events.
        drawn, rate = (
            rng.multinomial(min(events, total - events), rows / total, size=DRAWS),
            min(rate, 1 - rate),
        )
    far = pearson(drawn.astype(np.float64), sizes, rate)
    return float((1 + np.count_nonzero(far >= seen * (1.0 - ROUNDING))) / (1 + DRAWS))
