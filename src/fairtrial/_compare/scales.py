"""Ratios as the scale of a gap: their tolerance, their cells in the tables, and their words."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairtrial._errors import Fault, InputError, NotApplicable
from fairtrial._inference.compare.gaps import Gaps
from fairtrial._inference.numeric.roots import Floats
from fairtrial._results.column import undefined

Limits = tuple[Floats, Floats]
FOUR_FIFTHS = (0.8, 1.25)
RATIO_BAND = (
    "of a ratio must be a number between 0 and 1, such as 0.8 for four fifths, or two numbers [low, high]"
)


def find_ratio_band(who: str, tolerance: Any) -> tuple[float, float] | None:
    """[t, 1/t] from one number, [low, high] from two."""
    if tolerance is None:
        return None
    single = not isinstance(tolerance, list | tuple)
    values = [tolerance] if single else list(tolerance)
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if not numbers or not all(np.isfinite(value) for value in values) or len(values) > 2:
        raise InputError(who, Fault("tolerance", RATIO_BAND, got=tolerance))
    low, high = (values[0], 1.0 / values[0] if values[0] else np.inf) if single else values
    if not 0 < low <= 1 <= high:
        raise InputError(who, Fault("tolerance", RATIO_BAND, got=tolerance))
    return float(low), float(high)


def one_sided(
    band: tuple[float, float] | None, direction: str | None, scale: str
) -> tuple[float, float] | None:
    """The band with its other side open: only gaps below, or only gaps above, are looked for."""
    if band is None or direction is None:
        return band
    least = -np.inf if scale == "difference" else 0.0
    return (band[0], np.inf) if direction == "below" else (least, band[1])


def refuse_ratio_of_means(who: str, kind: str, likelihood: str) -> None:
    """Ratios of means are inferred of two samples apart, or of one and a number."""
    if kind not in ("rest", "reference", "number"):
        required = "'ratio' of means is not inferred against everyone or an estimate of your own"
        raise NotApplicable(who, Fault("scale", required, cure="Use everyone else or a reference group"))
    if likelihood != "empirical":
        raise NotApplicable(who, Fault("likelihood", "is not for ratios of means", cure="Leave it out"))


def band_p_values(gaps: Gaps, band: tuple[float, float] | None) -> Floats:
    """Of 'inside the band', or of no gap where there is none."""
    return gaps.p_equal() if band is None else gaps.p_inside(*band)


def ratio_cells(
    gaps: Gaps, differences: Gaps, level: float, index: int, limits: dict[str, Limits]
) -> dict[str, Any]:
    """A row's cells where ratios were asked for: the difference beside them, and every interval as a ratio."""
    why = gaps.reason[index]
    low, high = (side[index] for side in differences.kept_limits(level))
    cells: dict[str, Any] = {
        "scale": "ratio",
        "difference": float(differences.estimate[index]),
        "difference_low": _cell(low, differences.reason[index]),
        "difference_high": _cell(high, differences.reason[index]),
        "ratio": undefined(why) if why is not None else float(gaps.estimate[index]),
    }
    for name, (lows, highs) in limits.items():
        cells[f"{name}_low"] = _cell(lows[index], why)
        cells[f"{name}_high"] = _cell(highs[index], why)
    return cells


def _cell(value: float, why: str | None) -> Any:
    if why is not None:
        return undefined(why)
    return float(value) if np.isfinite(value) else undefined("no limit: too few events in the target")
