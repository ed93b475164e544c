"""Forward cross-fitting by rows, from its description alone: deal, learn on the past, test on what comes."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

THRESHOLDS = (0.35, 0.45, 0.5, 0.55, 0.65)


def people():
    """The 120 people of the golden numbers: group, a score that learns, outcome, the status quo's decision."""
    i = np.arange(120)
    group = (i % 5 >= 3).astype(int)
    x, w = (37 * i % 120) / 120, ((53 * i + 11) % 120) / 120
    outcome = (x + 0.25 * ((29 * i % 7) / 7 - 0.5) > 0.5).astype(float)
    return group, x, outcome, (x + 0.5 * w - 0.35 * group > 0.55).astype(float)


def key(order):
    """What the rows of a group are sorted by."""
    i = np.arange(120)
    return ((7 + 4 * order) * i + 3 * order) % 121


def deal(group, sort_by, chunks):
    """One card after the other, the second group going on where the first stopped."""
    chunk, turn = np.empty(len(group), dtype=int), 0
    for g in sorted(set(group)):
        for row in sorted(np.flatnonzero(group == g), key=lambda row: sort_by[row]):
            chunk[row] = turn % chunks
            turn += 1
    return chunk


def learn(group, x, outcome, past):
    """The threshold with the least gap of selection among those nearly as accurate as the best."""
    found = []
    for threshold in THRESHOLDS:
        decided = (x > threshold).astype(float)
        right = np.mean((decided == outcome)[past])
        rates = [decided[past & (group == g)].mean() for g in (0, 1)]
        found.append((threshold, right, abs(rates[0] - rates[1])))
    best = max(right for _, right, _ in found)
    return min((f for f in found if f[1] >= best - 0.05), key=lambda f: f[2])[0]


def one_order(chunk, first, group, x, outcome, old, margin):
    """z of accuracy and of both sides of the gap on all tested rows."""
    new, sign = np.zeros(len(group)), np.zeros(len(group))
    for k in range(first, chunk.max() + 1):
        past, now = chunk < k, chunk == k
        new[now] = x[now] > learn(group, x, outcome, past)
        sign[now] = np.sign(old[past & (group == 0)].mean() - old[past & (group == 1)].mean())
    tested = chunk >= first
    gain = ((new == outcome) - (1.0 - margin) * (old == outcome))[tested]
    z = [gain.mean() / np.sqrt(gain.var(ddof=1) / gain.size)]
    for side in (-1, 1):
        value = sign * old + side * new
        a, b = (value[tested & (group == g)] for g in (0, 1))
        z.append((a.mean() - b.mean()) / np.sqrt(a.var() / a.size + b.var() / b.size))
    return z, tested, new, sign


def p_of(z):
    """From the z of every order: the weakest mean."""
    return float(norm.sf(np.mean(z, axis=0)).max())
