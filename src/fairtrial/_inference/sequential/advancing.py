"""One more period for all streams."""

from __future__ import annotations

import math

import numpy as np

from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.sequential.claims import log_evidence
from fairtrial._inference.sequential.streams import Rule, Streams, advance_blocks


def advance(streams: Streams, cells: Floats, period: int, rule: Rule, reference: Floats, run: float) -> None:
    """One more period.

    Parameters
    ----------
    streams : Streams
        Changed in place.
    cells : array (streams, 2, 3)
        Rows, sum and sum of squares of the group and of what it is compared with.
    period : int
        Its number.
    rule : Rule
        What is asked.
    reference : array (streams, 2)
        The interval of the gap in the reference period; NaN where change is not watched.
    run : float
        Periods to a false alarm, on average at least; infinity where change is not watched.
    """
    table = np.ascontiguousarray(cells, dtype=np.float64)
    advance_blocks(streams, table, period, rule, reference, math.log(run))
    if not rule.binary:
        _note_average(streams, period, rule)


def _note_average(streams: Streams, period: int, rule: Rule) -> None:
    """Real values: the largest e-value of the average so far and when the level was first reached."""
    now = log_evidence(streams, rule)
    np.maximum(streams.top, now, out=streams.top)
    streams.crossed[(streams.crossed < 0) & (now >= rule.level)] = period
