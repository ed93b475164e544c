"""Cinelli and Hazlett's robustness value: which share of what is left unexplained a factor would have to explain.

A gap within strata with Mantel and Haenszel's weights is the coefficient of the group in a regression on the strata. A
factor left out moves it by (s_y/s_d) R_y R_d / sqrt(1 - R_d²), R_y² and R_d² the shares that it explains of what the
regression leaves of the values and of who is in the group (Cinelli & Hazlett 2020, equation 11; algebra, not a model).
The value is the share that, explained of both, moves a limit just to the edge; the interval keeps its width then.
"""

from __future__ import annotations

import math


def share_to_move(distance: float, slope: float) -> float:
    """The share of both that moves a limit so far; `slope` is s_y/s_d. Zero where it is there already.

    >>> round(share_to_move(0.0973, 0.0232 * math.sqrt(783.0)), 3)  # their example, violence in Darfur: 13.9%
    0.139
    """
    if distance <= 0:
        return 0.0
    if slope <= 0 or not math.isfinite(distance):
        return 1.0
    square = (distance / slope) ** 2
    # as a quotient: the difference of near numbers would lose its digits where little is enough
    return 2.0 * square / (square + math.sqrt(square**2 + 4.0 * square)) if square > 0 else 0.0
