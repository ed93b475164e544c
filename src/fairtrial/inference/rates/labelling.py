"""Is the outcome known for one decision more often than for the other? A test of the ratio of two labelling rates."""

from __future__ import annotations

import numpy as np
from scipy import special

from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.rates.two_rates import TwoRates, at_null, score_roots

ALIKE = 1.1  # labelling rates whose ratio is within 1/1.1 to 1.1 are taken as alike
SELECTIVE = 0.01  # a p-value up to this one says that labels are selective


def labelling_p(known: Floats, people: Floats, other_known: Floats, other_people: Floats) -> Floats:
    """p-values of "the ratio of the labelling rates is within [1/1.1, 1.1]": twice the smaller tail at its edge.

    By the score at the constrained maximum, its variance times N/(N-1). 1 where nobody is on one side.
    """
    above = _tail(known, people, other_known, other_people)
    below = _tail(other_known, other_people, known, people)  # a ratio below 1/1.1 is its inverse above 1.1
    p = np.minimum(1.0, 2.0 * np.minimum(above, below))
    return np.where((people > 0) & (other_people > 0), p, 1.0)


def _tail(k1: Floats, n1: Floats, k2: Floats, n2: Floats) -> Floats:
    """Of a ratio at least as large as the observed one, where the truth is 1.1."""
    root, _ = score_roots(at_null(TwoRates(k1, n1, k2, n2), np.full(np.shape(k1), ALIKE), "ratio"))
    return np.asarray(special.ndtr(-np.nan_to_num(root)))
