"""Whether an estimate changed between two samples of different people, from each one's estimate and limits alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairtrial.inference.numeric.roots import Floats


class Change(NamedTuple):
    """New minus old, with limits at the samples' own level, and the two-sided p-value of no change."""

    estimate: Floats
    low: Floats
    high: Floats
    p_value: Floats


def change(old: tuple[ArrayLike, ...], new: tuple[ArrayLike, ...], level: float) -> Change:
    """The difference of two independent estimates from (estimate, low, high) of each.

    Limits are those of Zou and Donner (2008, Statistics in Medicine 27): the squares of the distances from
    the estimates to the limits that point the same way add up, so that skewed limits stay skewed. The p-value is
    that of the level at which a limit meets zero, were the distances to grow with the normal quantile.

    Parameters
    ----------
    old, new : tuple
        Estimates with their lower and upper limits, each a number or an array.
    level : float
        Of all these limits.
    """
    from scipy import special  # as in multiplicity: nobody who only starts the server waits for it

    first, low_1, high_1 = (np.asarray(part, dtype=np.float64) for part in old)
    second, low_2, high_2 = (np.asarray(part, dtype=np.float64) for part in new)
    estimate = second - first
    down = np.hypot(second - low_2, high_1 - first)
    up = np.hypot(high_2 - second, first - low_1)
    toward_zero = np.where(estimate >= 0, down, up)
    quantile = float(special.ndtri(0.5 + level / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.where(toward_zero > 0, quantile * np.abs(estimate) / toward_zero, np.inf)
    root = np.where(estimate == 0, 0.0, root)
    p_value = np.clip(2.0 * special.ndtr(-root), 1e-300, 1.0)
    return Change(estimate, estimate - down, estimate + up, p_value)
