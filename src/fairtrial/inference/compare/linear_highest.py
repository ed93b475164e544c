"""The ratio to the highest rate of weighted rows and repeated units: as of counts, by the law of their ratios."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairtrial.inference.compare.linear_gaps import LinearGaps
from fairtrial.inference.evidence.atoms import Bools, Comparison
from fairtrial.inference.evidence.unit_sums import UnitSums
from fairtrial.inference.multiplicity import holm
from fairtrial.inference.numeric.roots import Floats


class LinearHighest(NamedTuple):
    """Per group: limits of its ratio to the highest true rate, and whether some pair shows it below the band."""

    low: Floats
    high: Floats
    below: Bools


def linear_to_highest(
    sums: UnitSums, member: Bools, band: tuple[float, float], level: float
) -> LinearHighest:
    """Pairs as in `rates.highest`: lower limits uncorrected, upper ones and the pairs' tests each with their part."""
    groups = len(member)
    low, high, below = np.ones(groups), np.ones(groups), np.zeros(groups, dtype=bool)
    pairs, p_values = [], []
    for i in range(groups):
        others = np.arange(groups) != i
        gaps = LinearGaps(
            sums, Comparison(np.repeat(member[i : i + 1], groups - 1, 0), member[others]), "ratio"
        )
        lows = gaps.limits(level)[0]
        highs = gaps.limits(1.0 - (1.0 - level) / (groups - 1.0))[1]
        # a pair without inference says nothing: no lower limit, and none from above
        low[i] = min(1.0, float(np.nan_to_num(lows, nan=0.0).min()))
        high[i] = min(1.0, float(np.nan_to_num(highs, nan=np.inf).min()))
        later = np.flatnonzero(others) > i
        pairs += [
            (i, int(j), ratio)
            for j, ratio in zip(np.flatnonzero(others)[later], gaps.estimate[later], strict=True)
        ]
        p_values.append(gaps.p_inside(*band)[later])
    adjusted = holm(np.concatenate(p_values))
    for (i, j, ratio), p in zip(pairs, adjusted, strict=True):
        if p <= 1.0 - level:
            below[i if ratio < 1.0 else j] = True
    return LinearHighest(low, high, below)
