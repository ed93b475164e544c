"""The quantiles with which roots and log ratios of means are compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fairtrial._inference.numeric.roots import Floats, floats
from fairtrial._inference.rates.proportions import normal_quantile


def t_quantile(df: ArrayLike, level: float) -> Floats:
    """Half-width of a two-sided t interval in standard errors."""
    (degrees,) = floats(df)
    return np.asarray(-special.stdtrit(degrees, (1.0 - level) / 2.0), dtype=np.float64)


def critical_value(df: float, level: float) -> float:
    """Quantile of the squared normal or squared t with which a log ratio is compared."""
    quantile = normal_quantile(level) if np.isinf(df) else float(t_quantile(df, level))
    return quantile**2
