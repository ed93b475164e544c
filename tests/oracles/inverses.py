"""What the package has no use for but its tests have: p-values, weights and errors that solve its own equations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from inside.direct_calls import difference_root, log_ratio_p, student_df
from inside.inference import CountedValues, Floats, Only, el_log_ratio, el_multiplier


def el_weights(g: Floats) -> Floats:
    """The weights that maximise the likelihood under the moment condition (eq. 3.3)."""
    return 1.0 / (g.size * (1.0 + el_multiplier(g) * g))


def el_mean_p(values: ArrayLike, mean: float) -> float:
    """Two-sided p-value of 'the mean is `mean`' by empirical likelihood."""
    sample = CountedValues.of(values)
    if sample.constant:
        return np.nan
    return log_ratio_p(el_log_ratio(sample.centred + (sample.mean - mean)), student_df(sample))


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
