"""Joint tests of several rates where counts are too small for the chi-square law.

With an expected count of 0.06 in each of ten small groups Pearson's statistic passes its 5% point 19% of the time.
Given the total, the events of the groups are hypergeometric under equal rates, whatever the common rate; at a known
rate they are binomial. So the statistic is compared with draws of exactly that law.
"""

from __future__ import annotations

import numpy as np

from fairtrial._inference.numeric.roots import Floats

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
