"""People with survey weights or repeated rows, for the lines of measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Errors = NDArray[np.float64]
Random = np.random.Generator
Draw = Callable[[Random], tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]]


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
