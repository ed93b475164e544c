"""People with survey weights or repeated rows, for the lines of measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inside.inference import Comparison, LinearGaps, Scale, UnitSums

Errors = NDArray[np.float64]
Random = np.random.Generator
Draw = Callable[[Random], tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]]


def linear(
    values: NDArray[Any],
    inside: NDArray[Any],
    weight: NDArray[Any],
    person: NDArray[Any],
    *,
    known: float | None = None,
    everyone: bool = False,
    scale: Scale = "difference",
) -> LinearGaps:
    """The gap of the people inside to the others, to everyone, or to a known number, as the package infers it."""
    sums = UnitSums.of_rows(person, np.where(inside, 0, 1), weight, values, 2)
    group = np.array([[True, False]])
    reference = np.array([[everyone, True]]) if known is None else np.zeros((1, 2), dtype=bool)
    known_rate = None if known is None else np.array([known])
    return LinearGaps(sums, Comparison(group, reference, known_rate), scale)


def survey(random: Random, *, n1: int, n2: int, rate: float, spread: float) -> Any:
    """Lognormal weights; everyone has the same rate."""
    n = n1 + n2
    values, inside = (random.random(n) < rate).astype(float), np.arange(n) < n1
    return values, inside, np.exp(spread * random.normal(size=n)), np.arange(n, dtype=np.int32)


def repeated(random: Random, *, n1: int, n2: int, rate: float, across: bool) -> Any:
    """One to five rows per person, who each have a rate of their own; rows of one group or, `across`, of both."""
    own = random.beta(3 * rate, 3 * (1 - rate), n1 + n2)
    person = np.repeat(np.arange(n1 + n2, dtype=np.int32), random.integers(1, 6, n1 + n2))
    inside = random.random(len(person)) < n1 / (n1 + n2) if across else person < n1
    return (random.random(len(person)) < own[person]).astype(float), inside, np.ones(len(person)), person
