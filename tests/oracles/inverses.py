"""What the package has no use for but its tests have: p-values, weights and errors that solve its own equations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from fairtrial.inference.means.empirical_likelihood import Sample, el_log_ratio, el_multiplier
from fairtrial.inference.means.from_moments import log_ratio_p, student_df
from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.power import detect_power
from fairtrial.inference.rates.two_rates import Only, difference_root


def el_weights(g: Floats) -> Floats:
    """The weights that maximise the likelihood under the moment condition (eq. 3.3)."""
    return 1.0 / (g.size * (1.0 + el_multiplier(g) * g))


def el_mean_p(values: ArrayLike, mean: float) -> float:
    """Two-sided p-value of 'the mean is `mean`' by empirical likelihood."""
    sample = Sample.of(values)
    if sample.constant:
        return np.nan
    return log_ratio_p(el_log_ratio(sample.centred + (sample.mean - mean)), student_df(sample))


def error_to_detect(gap: float, low: float, high: float, level: float, power: float) -> float:
    """Largest standard error with which a gap of `gap` is found outside [low, high] with this power."""
    distance = max(gap - high, low - gap)
    if distance <= 0:
        return 0.0
    return float(
        optimize.brentq(
            lambda error: detect_power(error, gap, low, high, level) - power,
            distance * 1e-6,
            distance * 10.0,
            xtol=1e-14,
        )
    )


def difference_p(
    k1: ArrayLike,
    n1: ArrayLike,
    k2: ArrayLike,
    n2: ArrayLike,
    delta: ArrayLike = 0.0,
    only: Only | None = None,
) -> Floats:
    """Two-sided p-value of 'first rate minus second = delta'."""
    return np.asarray(2.0 * special.ndtr(-np.abs(difference_root(k1, n1, k2, n2, delta, only))))
