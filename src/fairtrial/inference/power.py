"""How sure a sample can make us: standard errors needed to certify or to detect, and what they detect."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special


def certify_power(error: float, low: float, high: float, level: float, gap: float = 0.0) -> float:
    """Chance that the (1 - 2 alpha) interval lies inside [low, high] when the gap is `gap`."""
    critical = -float(special.ndtri(1.0 - level))
    inside = special.ndtr((high - gap) / error - critical) - special.ndtr((low - gap) / error + critical)
    return max(float(inside), 0.0)


def detect_power(error: float, gap: float, low: float, high: float, level: float) -> float:
    """Chance that 'the gap lies in [low, high]' is rejected when the gap is `gap` (band of any width)."""
    critical = interval_critical((high - low) / error, 1.0 - level)
    above = special.ndtr((gap - high) / error - critical)
    return float(above + special.ndtr((low - gap) / error - critical))


def interval_critical(width: float, alpha: float) -> float:
    """The root c with Phi(-c) + Phi(-c - width) = alpha: 1.96 for a point, 1.64 for a wide band."""
    if not np.isfinite(width):
        return -float(special.ndtri(alpha))
    return float(
        optimize.brentq(lambda c: special.ndtr(-c) + special.ndtr(-c - width) - alpha, 0.0, 40.0, xtol=1e-12)
    )


def error_to_certify(low: float, high: float, level: float, power: float, gap: float = 0.0) -> float:
    """Largest standard error with which a gap of `gap` is certified inside [low, high] with this power."""
    room = min(high - gap, gap - low)
    if room <= 0:
        return 0.0
    return float(
        optimize.brentq(
            lambda error: certify_power(error, low, high, level, gap) - power,
            room * 1e-6,
            room * 10.0,
            xtol=1e-14,
        )
    )


def smallest_detectable(error: float, low: float, high: float, level: float, power: float) -> float:
    """Distance from zero at which a gap (on the upper side) is found outside [low, high] with this power."""
    if error <= 0 or not np.isfinite(error):
        return np.nan
    if error < 1e-10 * max(abs(low), abs(high)):
        return high  # beside the band the error is nothing: whatever leaves it is found
    return float(
        optimize.brentq(
            lambda gap: detect_power(error, gap, low, high, level) - power,
            high,
            high + 20.0 * error,
            xtol=1e-12,
        )
    )
