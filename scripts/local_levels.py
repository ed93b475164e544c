"""Print the table of local levels in src/fairtrial/_inference/rates/all_thresholds.py: minutes of one processor.

Of n people the share at or above the k-th largest score is Beta(k, n - k + 1). In each of 60,000 samples the smallest
two-sided tail over all k is taken (beyond 400 people over places that are dense at both ends); its quantiles are the
local levels, by rank, so that they hold on average over the draws.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from fairtrial._inference.rates.all_thresholds import ERRORS, SIZES

SAMPLES, BATCH, SEED = 60_000, 10_000, 20261


def places(n: int) -> NDArray[np.int64]:
    """The k looked at."""
    if n <= 400:
        return np.arange(1, n + 1)
    steps = np.rint(40 * (n / 80) ** np.linspace(0, 1, 160)).astype(np.int64)
    tail = np.unique(np.concatenate([np.arange(1, 41), steps]))
    tail = tail[tail <= n // 2]
    return np.unique(np.concatenate([tail, n + 1 - tail]))


def smallest_tails(n: int, random: np.random.Generator) -> NDArray[np.float64]:
    """The smallest two-sided tail of each sample."""
    k = places(n).astype(float)
    steps = np.diff(k, prepend=0.0)
    found = []
    for _ in range(0, SAMPLES, BATCH):
        sums = random.standard_gamma(steps, (BATCH, k.size)).cumsum(axis=1)
        share = sums / (sums[:, -1:] + random.standard_gamma(n + 1 - k[-1], (BATCH, 1)))
        tail = betainc(k, n + 1 - k, share)
        found.append(2 * np.minimum(tail, 1 - tail).min(axis=1))
    return np.sort(np.concatenate(found))


if __name__ == "__main__":
    generator = np.random.default_rng(SEED)
    for size in SIZES:
        tails = smallest_tails(size, generator)
        ranks = [max(int(error * (SAMPLES + 1)) - 1, 0) for error in ERRORS]
        print(", ".join(f"{tails[rank]:.3g}" for rank in ranks), f"# {size:,}", flush=True)
