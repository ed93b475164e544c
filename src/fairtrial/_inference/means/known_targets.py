"""Empirical likelihood of one mean against a known value: plain, Bartlett-corrected, adjusted, balanced."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import optimize

from fairtrial._inference.means.empirical_likelihood import CountedValues, el_log_ratio, el_mean_limits
from fairtrial._inference.ways import Refinement

# Distance, in standard deviations, of the balancing points of Emerson and Owen (2009) in one dimension.
BALANCE = 1.9


def bartlett_factor(sample: CountedValues) -> float:
    """1 + b/n with b = kappa4/2 - kappa3^2/3 (DiCiccio, Hall and Romano 1991), moments standardised."""
    deviation = np.sqrt(sample.variance)
    scaled = sample.centred / deviation
    third = float(sample.counts @ scaled**3 / sample.size)
    fourth = float(sample.counts @ scaled**4 / sample.size)
    return 1.0 + max(fourth / 2.0 - third**2 / 3.0, 0.0) / sample.size


def known_log_ratio(sample: CountedValues, mean: float, refinement: Refinement = "none") -> float:
    """Log ratio of 'the mean is `mean`'; with added points it is finite for every value."""
    g = sample.centred + (sample.mean - mean)
    if refinement in ("none", "bartlett"):
        factor = bartlett_factor(sample) if refinement == "bartlett" else 1.0
        return el_log_ratio(g, sample.counts) / factor
    average = sample.mean - mean
    if refinement == "adjusted":
        # Chen, Variyath and Abraham (2008): one artificial point opposite the average.
        added = np.array([-max(1.0, np.log(sample.size) / 2.0) * average])
    else:
        # Emerson and Owen (2009): two points that keep the sample's mean where it is.
        reach = BALANCE * np.sqrt(sample.variance * sample.size / (sample.size - 1.0)) * np.sign(average)
        added = np.array([-reach, 2.0 * average + reach])
    if average == 0.0:
        return 0.0
    return el_log_ratio(np.concatenate([g, added]), np.concatenate([sample.counts, np.ones(added.size)]))


def known_limits(
    sample: CountedValues, critical: float, refinement: Refinement = "none"
) -> tuple[float, float]:
    """The means whose (refined) log ratio is at most `critical`; infinite when the ratio never gets there."""
    if refinement == "none":
        return el_mean_limits(sample, critical)
    if refinement == "bartlett":
        return el_mean_limits(sample, critical * bartlett_factor(sample))
    step = float(np.sqrt(critical * sample.variance / sample.size))
    return tuple(  # type: ignore[return-value]
        _outward(lambda mean: known_log_ratio(sample, mean, refinement) - critical, sample.mean, sign * step)
        for sign in (-1.0, 1.0)
    )


def _outward(excess: Callable[[float], float], start: float, step: float) -> float:
    """First crossing of `excess` going outwards from `start`; the adjusted ratio is bounded in small samples."""
    near, far = start, start + step
    for _ in range(60):
        if excess(far) >= 0.0:
            return float(optimize.brentq(excess, near, far, xtol=1e-14, rtol=8.9e-16))
        near, far = far, far + step
    return float(np.copysign(np.inf, step))
