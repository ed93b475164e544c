"""A group and a reference that share some of their members, each with others of its own: the three-part likelihood."""

from __future__ import annotations

import numpy as np

from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.rates.exact_tails import binomial_mass, binomial_tails
from fairtrial.inference.rates.laws import Bools, Law
from fairtrial.inference.rates.overlap import overlap_root
from fairtrial.inference.rates.two_rates import HALF_OF_IT, Only, bounded, share_of_ties

# Membership and value of the six cells: both, group only, reference only; each with value 1, then 0.
IN_GROUP = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
IN_REFERENCE = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 1.0])
VALUE = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])


class PartlySharedLaw(Law):
    """The difference of the two rates, from the six cells of every group (last axis)."""

    def __init__(self, cells: Floats, only: Only | None = None) -> None:
        self.counts, self.only = cells, only
        # Half a count in each cell where one is empty: the likelihood has no maximum inside otherwise.
        self.cells = cells + 0.5 * (cells.min(axis=1, keepdims=True) == 0)
        self.centre, self.error = _wald(self.cells)
        end = np.ones(self.centre.shape)
        self.ends = -end, end
        self.smallest = cells.min(axis=1)
        self.few = (self.smallest < HALF_OF_IT) & (only is None)

    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        shape = (*point.shape, VALUE.size)
        value, group, reference, cells = (
            np.broadcast_to(column, shape) for column in (VALUE, IN_GROUP, IN_REFERENCE, self.cells)
        )
        by_likelihood, by_score = (
            overlap_root(value, group, reference, cells, point, np.full(point.shape, score))
            for score in (False, True)
        )
        return bounded(by_likelihood, by_score, by_score, self.only)

    def exact_tail(self, point: Floats, chosen: Bools, *, above: bool) -> Floats:
        """The group's own binomial at the reference's rate: the shared rows make anything finer pointless."""
        cells = self.counts[chosen]
        k, n = cells @ (IN_GROUP * VALUE), cells @ IN_GROUP
        target = (cells @ (IN_REFERENCE * VALUE)) / (cells @ IN_REFERENCE)
        rate = np.clip(target + point, 0.0, 1.0)
        tail = binomial_tails(k, n, rate)[0 if above else 1]
        return tail - (1.0 - share_of_ties(self.smallest[chosen])) * binomial_mass(k, n, rate)


def _wald(cells: Floats) -> tuple[Floats, Floats]:
    """Estimate and standard error, where the search for the limits starts."""
    total = cells.sum(axis=1, keepdims=True)
    weight = cells / total
    shares = [(weight * part).sum(axis=1, keepdims=True) for part in (IN_GROUP, IN_REFERENCE)]
    means = [
        (weight * part * VALUE).sum(axis=1, keepdims=True) / share
        for part, share in zip((IN_GROUP, IN_REFERENCE), shares, strict=True)
    ]
    influence = IN_GROUP * (VALUE - means[0]) / shares[0] - IN_REFERENCE * (VALUE - means[1]) / shares[1]
    variance = (weight * influence**2).sum(axis=1) / total[:, 0]
    return (means[0] - means[1])[:, 0], np.sqrt(variance)
