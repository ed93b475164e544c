"""Is the outcome known for one decision more often than for the other? A test of the ratio of two labelling rates."""

from __future__ import annotations

import numpy as np

from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.two_rates import TwoRateLaw, TwoRates

ALIKE = 1.1  # labelling rates whose ratio is within 1/1.1 to 1.1 are taken as alike
SELECTIVE = 0.01  # a p-value up to this one says that labels are selective


def labelling_p(known: Floats, people: Floats, other_known: Floats, other_people: Floats) -> Floats:
    """p-values of "the ratio of the labelling rates is within [1/1.1, 1.1]": twice the smaller tail at its edge.

    1 where nobody is on one side.
    """
    law = TwoRateLaw(TwoRates(known, people, other_known, other_people), "ratio")
    above, _ = law.tails(np.full(known.shape, ALIKE))
    _, below = law.tails(np.full(known.shape, 1.0 / ALIKE))
    p = np.minimum(1.0, 2.0 * np.minimum(above, below))
    return np.where((people > 0) & (other_people > 0), p, 1.0)
