"""Intervals of a number as groups, all at once: an infinite class of Remark 2, with a simultaneous bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial._errors import Fault, InputError
from fairtrial._work import generator

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
    critical: float

    @property
    def excluded(self) -> NDArray[np.bool_]:
        """Intervals whose limits leave out a gap of zero: with the confidence asked for, none of them is wrong."""
        return (self.low > 0) | (self.high < 0)


def interval_bands(
    attribute: Floats,
    values: Floats,
    target: float,
    *,
    confidence_level: float = 0.95,
    minimum: int = 50,
    draws: int = 999,
    seed: int = 0,
) -> IntervalBands:
    """Gaps of all intervals of a numeric attribute to a known number, simultaneously by a multiplier bootstrap.

    The class of intervals is VC, so that the empirical process over it converges (Remark 2): the critical value is the
    quantile of the largest studentised deviation over all intervals with at least `minimum` people.

    Parameters
    ----------
    attribute, values : ndarray
        A number and a value (such as the outcome of those selected) for each person.
    target : float
        What the means are compared with.
    confidence_level : float, default 0.95
        Of all limits together.
    minimum : int, default 50
        The fewest people of an interval.
    draws : int, default 999
        Of the bootstrap.
    seed : int, default 0
        Same seed, same numbers.

    Examples
    --------
    >>> rows = np.random.default_rng(0)
    >>> age = rows.integers(18, 70, 2000)
    >>> found = interval_bands(age, rows.random(2000) < 0.4 + 0.3 * (age < 25), 0.4)
    >>> int(found.first[found.excluded].min()), bool((found.low[found.excluded] > 0).all())
    (18, True)
    """
    places, cell = np.unique(np.asarray(attribute), return_inverse=True)
    sums = _cell_sums(cell, np.asarray(values, dtype=float), places.size)
    start, stop = np.triu_indices(places.size + 1, k=1)
    count = _between(sums[0], start, stop)
    kept = count >= minimum
    start, stop, count = start[kept], stop[kept], count[kept]
    if not count.size:
        raise InputError(
            "interval_bands", Fault("minimum", "leaves no interval with so many people", got=minimum)
        )
    mean = _between(sums[1], start, stop) / count
    spread = np.maximum(_between(sums[2], start, stop) / count - mean**2, 0.0) * count / (count - 1.0)
    error = np.sqrt(spread / count)
    critical = _critical(sums, (start, stop), (count, mean, error), confidence_level, draws, seed)
    gap = mean - target
    return IntervalBands(
        places[start], places[stop - 1], count.astype(np.int64), gap, gap - critical * error, gap + critical * error,
        critical,
    )  # fmt: skip


def _cell_sums(cell: NDArray[np.intp], values: Floats, cells: int) -> tuple[Floats, Floats, Floats]:
    """People, sum and sum of squares at each value of the attribute."""
    weights = (np.ones_like(values), values, values**2)
    found = [np.bincount(cell, weights=weight, minlength=cells).astype(float) for weight in weights]
    return found[0], found[1], found[2]


def _between(sums: Floats, start: NDArray[np.intp], stop: NDArray[np.intp]) -> Floats:
    """Sums from place `start` up to before `stop`; of many rows at once."""
    total = np.concatenate([np.zeros((*sums.shape[:-1], 1)), np.cumsum(sums, axis=-1)], axis=-1)
    return np.asarray(total[..., stop] - total[..., start])


def _critical(
    sums: tuple[Floats, Floats, Floats],
    ends: tuple[NDArray[np.intp], NDArray[np.intp]],
    found: tuple[Floats, Floats, Floats],
    level: float,
    draws: int,
    seed: int,
) -> float:
    """The quantile of the largest studentised deviation, with normal multipliers drawn per cell."""
    n, total, squares = sums
    count, mean, error = found
    known = error > 0
    random = generator(seed, "elfa intervals")
    within = np.sqrt(np.maximum(squares - total**2 / n, 0.0))
    largest = np.empty(draws)
    for draw in range(draws):
        one = np.sqrt(n) * random.standard_normal(n.size)  # Σe per cell, and Σe·v given it
        value = total / n * one + within * random.standard_normal(n.size)
        deviation = _between(value, *ends) - mean * _between(one, *ends)
        largest[draw] = np.abs(deviation[known] / (count * error)[known]).max(initial=0.0)
    return float(np.quantile(largest, level, method="higher"))
