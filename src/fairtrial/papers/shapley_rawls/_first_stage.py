"""First stage as published: the pooled test of Proposition B.1 and the interval with the same variance."""

from __future__ import annotations

import numpy as np
from scipy import special

from fairtrial._explain.stages import PairGap, Pairs, gap_tests
from fairtrial._inference.evidence.atoms import Atoms
from fairtrial._inference.numeric.roots import Bools
from fairtrial._inference.rates.proportions import normal_quantile


def pooled_z(k1: float, n1: float, k2: float, n2: float) -> tuple[float, float]:
    """Z of Proposition B.1 and its two-sided p-value; 0 and 1 when everybody or nobody succeeds."""
    pooled = (k1 + k2) / (n1 + n2)
    variance = pooled * (1.0 - pooled) * (1.0 / n1 + 1.0 / n2)
    if variance <= 0:
        return 0.0, 1.0
    z = (k1 / n1 - k2 / n2) / np.sqrt(variance)
    return float(z), float(2.0 * special.ndtr(-abs(z)))


def paper_interval(k1: float, n1: float, k2: float, n2: float, level: float) -> tuple[float, float]:
    """The paper's interval for the gap, with the variance pooled as if the null were true.

    It is kept to reproduce the paper's tables; away from the null it does not hold its level.
    """
    pooled = (k1 + k2) / (n1 + n2)
    half = normal_quantile(level) * np.sqrt(pooled * (1.0 - pooled) * (1.0 / n1 + 1.0 / n2))
    gap = k1 / n1 - k2 / n2
    return float(gap - half), float(gap + half)


def paper_gaps(atoms: Atoms, member: Bools, pairs: Pairs, level: float) -> tuple[PairGap | None, ...]:
    """Every pair's gap of rates by the pooled variance, for the interval as for the test; means as certify has them."""
    if not atoms.binary:
        return gap_tests(atoms, member, pairs, level)
    count, rate, _ = atoms.pooled(member)
    found: list[PairGap | None] = []
    for g, h in pairs:
        if not (count[g] and count[h]):
            found.append(None)
            continue
        table = (float(rate[g] * count[g]), float(count[g]), float(rate[h] * count[h]), float(count[h]))
        gap = table[0] / table[1] - table[2] / table[3]
        found.append(PairGap(gap, *paper_interval(*table, level), pooled_z(*table)[1]))
    return tuple(found)
