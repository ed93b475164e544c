"""What a factor that is not in the data would have to be to overturn an adjusted gap: one number, one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairtrial._compare.disparities import Disparities
from fairtrial._compare.words import ODDS, SHARE
from fairtrial._inference.laws.gaps import no_gap
from fairtrial._inference.laws.model_gaps import ModelGaps
from fairtrial._inference.laws.strata_gaps import LinearStrataGaps, StrataGaps
from fairtrial._inference.laws.sums_gaps import MeanStrataGaps
from fairtrial._inference.rates.two_rates import TwoRates
from fairtrial._inference.sensitivity import odds_to_explain, odds_to_move, share_to_move
from fairtrial._results.column import undefined

NOTHING_SHOWN = "no gap and no certificate is shown that it could overturn"
OF_DIFFERENCES = "told of differences, not of ratios"
OF_ROWS = "not told of means of repeated people"
Ends = tuple[float, float]


def unmeasured_cells(found: Disparities, level: float, index: int) -> dict[str, Any]:
    """How strong the factor has to be, and in what that is told."""
    assert found.within is not None
    gaps, none = found.within.gaps, no_gap(found.scale)
    if gaps.reason[index] is not None:
        return _none(str(gaps.reason[index]))
    band = found.band or (none, none)
    asked = _asked(found, level, index, band)
    if asked is None:
        return _none(NOTHING_SHOWN)
    if isinstance(gaps, StrataGaps) and band == (none, none):
        table = TwoRates(*(column[index][gaps.weight[index] > 0] for column in gaps.table))
        return _told(odds_to_explain(table, (1.0 - level) / 2.0), ODDS)
    if found.scale == "ratio":
        return _none(OF_DIFFERENCES)
    reach, edges = asked
    gap = float(gaps.estimate[index])
    if isinstance(gaps, ModelGaps):
        return _told(odds_to_move(gaps.expected[index], gap, reach, edges), ODDS)
    slope = _slope(gaps, index)
    if np.isnan(slope):
        return _none(OF_ROWS)
    room = min(gap - reach[0] - edges[0], edges[1] - gap - reach[1])
    return _told(share_to_move(room, slope), SHARE)


def _asked(found: Disparities, level: float, index: int, band: Ends) -> tuple[Ends, Ends] | None:
    """How far the limits that show it lie from the gap, and between which edges; None where nothing is shown."""
    assert found.within is not None
    gaps = found.within.gaps
    gap = float(gaps.estimate[index])

    def reach(limits: tuple[Any, Any]) -> Ends:
        return gap - float(limits[0][index]), float(limits[1][index]) - gap

    shown = reach(gaps.kept_limits(level))
    if gap - shown[0] > band[1]:
        return (shown[0], 0.0), (band[1], np.inf)
    if gap + shown[1] < band[0]:
        return (0.0, shown[1]), (-np.inf, band[0])
    certified = reach(gaps.certificate_limits(round(2.0 * level - 1.0, 12)))
    if gap - certified[0] > band[0] and gap + certified[1] < band[1]:
        return certified, band
    return None


def _none(why: str) -> dict[str, Any]:
    return {"overturned_by": undefined(why), "overturned_in": None}


def _told(value: float, scale: str) -> dict[str, Any]:
    return {"overturned_by": value, "overturned_in": scale}


def _slope(gaps: StrataGaps | MeanStrataGaps | LinearStrataGaps, index: int) -> float:
    """What strata and group leave of the values, over what strata leave of who is in the group: s_y/s_d.

    NaN of means of repeated people, whose rows' squares are not kept.
    """
    if isinstance(gaps, MeanStrataGaps):
        return float(gaps.spread[index])
    if isinstance(gaps, LinearStrataGaps):
        return _weighted_slope(gaps, index)
    k1, n1, k2, n2 = (column[index] for column in gaps.table)
    events, people = k1 + k2, n1 + n2
    within = np.where(gaps.weight[index] > 0, events * (1.0 - events / people), 0.0).sum()
    return float(np.sqrt(max(within / gaps.weight[index].sum() - gaps.estimate[index] ** 2, 0.0)))


def _weighted_slope(gaps: LinearStrataGaps, index: int) -> float:
    mean, weight = gaps.mean[index], gaps.weight[index]
    if gaps.sums.binary:
        squares = (gaps.w[index] * mean * (1.0 - mean)).sum()
    elif gaps.sums.alone:
        lines = gaps._lines(index)
        side = np.where(lines.x > 0, 0, 1)
        residual = lines.residual / lines.weight + (gaps.fitted[index] - mean)[lines.stratum, side]
        squares = (lines.weight * residual**2).sum()
    else:
        return float("nan")
    apart = mean[:, 0] - mean[:, 1]
    gap = (weight * apart).sum() / weight.sum()
    return float(np.sqrt(max((squares + (weight * apart**2).sum()) / weight.sum() - gap**2, 0.0)))
