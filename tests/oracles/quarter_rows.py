"""A quarter of a person at either end, by writing the rows down; and the changes of paired decisions by Tango.

Nothing here uses the package: means and variances are those of weighted rows, worked out one by one.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, stats


def quarter_moments(rows, low, high):
    """Mean, squared standard error and degrees of freedom of one sample joined by ¼ at both ends."""
    values = [*rows, low, high]
    weights = [1.0] * len(rows) + [0.25, 0.25]
    size = sum(weights)
    mean = sum(w * x for w, x in zip(weights, values, strict=True)) / size
    squares = sum(w * (x - mean) ** 2 for w, x in zip(weights, values, strict=True))
    return mean, squares / (size - 1) / size, size - 1


def quarter_interval(samples, signs, low, high, level=0.95):
    """Welch's interval and p-value of Σ sign·mean over samples joined by a quarter row at either end."""
    parts = [quarter_moments(rows, low, high) for rows in samples]
    centre = sum(sign * mean for sign, (mean, _, _) in zip(signs, parts, strict=True))
    variances = [sign**2 * variance for sign, (_, variance, _) in zip(signs, parts, strict=True)]
    freedom = [df for _, _, df in parts]
    total = sum(variances)
    df = total**2 / sum(v**2 / d for v, d in zip(variances, freedom, strict=True))
    half = stats.t.ppf((1 + level) / 2, df) * np.sqrt(total)
    return centre - half, centre + half, 2 * stats.t.sf(abs(centre) / np.sqrt(total), df)


def likely_share(gained, lost, size, change):
    """The share of losses that makes the table likeliest when the change is given, by searching the likelihood."""

    def minus(q):
        p = q + change
        rest = 1 - p - q
        if min(p, q, rest) < -1e-12:
            return np.inf
        terms = [(gained, p), (lost, q), (size - gained - lost, rest)]
        return -sum(n * np.log(max(x, 1e-300)) for n, x in terms if n)

    lowest, highest = max(0.0, -change), (1 - change) / 2
    return optimize.minimize_scalar(
        minus, bounds=(lowest, highest), method="bounded", options={"xatol": 1e-12}
    ).x


def tango_limits(gained, lost, size, level=0.95):
    """Where the score test of the change turns; its constrained maximum is found by searching the likelihood."""
    z = stats.norm.ppf((1 + level) / 2)

    def score(change):
        spread = 2 * likely_share(gained, lost, size, change) + change - change**2
        return (gained - lost - size * change) / np.sqrt(size * max(spread, 1e-15))

    middle = (gained - lost) / size
    low = optimize.brentq(lambda x: score(x) - z, -1 + 1e-9, middle - 1e-9)
    high = optimize.brentq(lambda x: score(x) + z, middle + 1e-9, 1 - 1e-9)
    return low, high


def mid_p_limits(gained, lost, size, level=0.95):
    """Where half of the observed table and all further ones have the tail's chance: every table written down."""
    tables = np.array([(b, c, size - b - c) for b in range(size + 1) for c in range(size + 1 - b)])
    beyond = tables[:, 0] - tables[:, 1] - (gained - lost)

    def tail(change, sign):
        q = likely_share(gained, lost, size, change)
        mass = stats.multinomial.pmf(tables, size, [q + change, q, max(1 - 2 * q - change, 0.0)])
        return mass[sign * beyond > 0].sum() + mass[beyond == 0].sum() / 2

    alpha, middle = (1 - level) / 2, (gained - lost) / size
    low = optimize.brentq(lambda x: tail(x, 1) - alpha, -0.95, middle - 1e-6, xtol=1e-9)
    high = optimize.brentq(lambda x: tail(x, -1) - alpha, middle + 1e-6, 0.95, xtol=1e-9)
    return low, high


def bonett_price_limits(gained, lost, size, level=0.95):
    """The usual standard error with one more person who gains and one more who loses."""
    people = [1.0] * (gained + 1) + [-1.0] * (lost + 1) + [0.0] * (size - gained - lost)
    half = stats.norm.ppf((1 + level) / 2) * np.std(people) / np.sqrt(len(people))
    return max(np.mean(people) - half, -1.0), min(np.mean(people) + half, 1.0)
