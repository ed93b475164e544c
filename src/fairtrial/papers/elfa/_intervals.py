"""Intervals of a number as groups, all at once: an infinite class of Remark 2, with a simultaneous bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial._errors import Fault, InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class IntervalBands:
    """Every interval from `first` to `last` of the attribute: its people, gap and limits that hold for all at once."""

    first: Floats
    last: Floats
    count: NDArray[np.int64]
    gap: Floats
    low: Floats
    high: Floats

    @property
    def excluded(self) -> NDArray[np.bool_]:
        """Intervals whose limits leave out a gap of zero: with the confidence asked for, none of them is wrong."""
        return (self.low > 0) | (self.high < 0)


def interval_bands(
    attribute: Floats, values: Floats, target: float, *, confidence_level: float = 0.95, minimum: int = 1
) -> IntervalBands:
    """Rates of all intervals of a numeric attribute less a known number, with limits that hold simultaneously.

    The class of intervals is infinite, but k distinct numbers tell only k(k + 1)/2 of them apart (it is a VC class,
    Remark 2): exact binomial limits at α over that number hold for every interval and at any sample size. The limit
    process of the paper does not: a multiplier bootstrap of it left out the truth somewhere in 14% of 600 samples of
    800 people with rate .3, and in 42% with rate .1, at a nominal 5%.

    Parameters
    ----------
    attribute, values : ndarray
        A number, and 0 or 1 (such as the outcome of those selected), for each person.
    target : float
        What the rates are compared with.
    confidence_level : float, default 0.95
        Of all limits together.
    minimum : int, default 1
        The fewest people of an interval.

    Examples
    --------
    >>> rows = np.random.default_rng(0)
    >>> age = rows.integers(18, 70, 4000)
    >>> found = interval_bands(age, rows.random(4000) < 0.3 + 0.3 * (age < 25), 0.3)
    >>> int(found.first[found.excluded].min()), bool((found.low[found.excluded] > 0).all())
    (18, True)
    """
    values = np.asarray(values, dtype=float)
    if not np.isin(values, (0.0, 1.0)).all():
        raise InputError("interval_bands", Fault("values", "must be 0 or 1"))
    places, cell = np.unique(np.asarray(attribute), return_inverse=True)
    start, stop = np.triu_indices(places.size + 1, k=1)
    count = _between(np.bincount(cell, minlength=places.size), start, stop)
    events = _between(np.bincount(cell, weights=values, minlength=places.size), start, stop)
    kept = count >= minimum
    start, stop, count, events = start[kept], stop[kept], count[kept], events[kept]
    if not count.size:
        raise InputError(
            "interval_bands",
            Fault(
                "minimum", "leaves no interval with so many people", got=minimum, cure="state a smaller one"
            ),
        )
    tail = (1.0 - confidence_level) / 2.0 / count.size
    low = np.where(events > 0, special.betaincinv(np.maximum(events, 1), count - events + 1, tail), 0.0)
    high = np.where(
        events < count, special.betaincinv(events + 1, np.maximum(count - events, 1), 1.0 - tail), 1.0
    )
    return IntervalBands(
        places[start],
        places[stop - 1],
        count.astype(np.int64),
        events / count - target,
        low - target,
        high - target,
    )


def _between(sums: NDArray[np.number], start: NDArray[np.intp], stop: NDArray[np.intp]) -> Floats:
    """Sums from place `start` up to before `stop`."""
    total = np.concatenate([[0.0], np.cumsum(sums)])
    return np.asarray(total[stop] - total[start])
