"""How many cells at least are beyond a tolerance, for any set chosen after looking; and where each cell can rank.

Closed testing with Simes (Goeman and others 2019) of exact p-values against everyone's rate, which is known only
within exact limits: these take a tenth of the error (Berger and Boos 1994).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.rates.proportions import rate_interval

Side = Literal["above", "below", "outside"]
EVERYONE_SHARE = 0.1  # of the error, spent on everyone's rate


@dataclass(frozen=True, slots=True)
class BeyondWhat:
    """Rates above `most` or below `least` times everyone's, or that far from it."""

    side: Side
    least: float
    most: float
    ratio: bool = False

    def edges(self, low: float, high: float) -> tuple[float, float]:
        """The rates beyond which a cell counts, whatever everyone's rate is between these."""
        least, most = (
            (low * self.least, high * self.most) if self.ratio else (low + self.least, high + self.most)
        )
        return min(max(least, 0.0), 1.0), min(max(most, 0.0), 1.0)


def beyond_p_values(
    sizes: Floats, positives: Floats, everyone: tuple[float, float], beyond: BeyondWhat, error: float
) -> Floats:
    """One p-value for each cell: that it is not beyond. `everyone` has their positives and number."""
    limits = rate_interval(everyone[0], everyone[1], 1.0 - EVERYONE_SHARE * error, "exact")
    least, most = beyond.edges(*map(float, limits))
    above = np.where(positives > 0, special.bdtrc(positives - 1, sizes.astype(np.int64), most), 1.0)
    below = special.bdtr(positives, sizes.astype(np.int64), least)
    if beyond.side == "outside":
        return np.minimum(1.0, 2.0 * np.minimum(above, below))
    return np.asarray(above if beyond.side == "above" else below)


def hommel_number(p: Floats, error: float) -> int:
    """How many of the largest p-values together Simes does not reject, at most."""
    ordered = np.sort(p)
    low, high = 0, p.size
    while low < high:  # what is not rejected of j is not rejected of fewer
        size = (low + high + 1) // 2
        largest = ordered[p.size - size :]
        rejected = bool((largest * size <= error * np.arange(1, size + 1)).any())
        low, high = (low, size - 1) if rejected else (size, high)
    return low


def at_least(p: Floats, among: Bools, error: float) -> int:
    """At least so many of the cells `among` are beyond, for every set at once; `p` are those of all cells."""
    left = (1.0 - EVERYONE_SHARE) * error
    number = hommel_number(p, left)
    chosen = np.sort(p[among])
    if not chosen.size or number == 0:
        return int(chosen.size)
    steps = np.arange(1, chosen.size + 1)
    reached = np.searchsorted(number * chosen, left * steps * (1.0 + 1e-12), side="right")
    return int(max(0, (1 - steps + reached).max()))


def rank_limits(sizes: Floats, positives: Floats, level: float) -> tuple[np.ndarray, np.ndarray]:
    """The best and the worst rank (1: the highest rate) that each cell can have, of all cells at once."""
    low, high = rate_interval(positives, sizes, level ** (1.0 / sizes.size), "exact")
    best = 1 + sizes.size - np.searchsorted(np.sort(low), high, side="right")
    worst = sizes.size - np.searchsorted(np.sort(high), low, side="left")
    return best, worst
