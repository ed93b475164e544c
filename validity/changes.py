"""Lines of `fairtrial diff`: whether a gap that did not change between two audits is said to have changed."""

from __future__ import annotations

from functools import partial
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inside.direct_calls import gap_limits
from inside.inference import GapChange, PartCounts, change
from validity.board import Cell, Claim

Rates = tuple[float, float, float, float]
# people in the group and its target, in the old and in the new audit; rates of the same
DESIGNS: dict[str, tuple[tuple[int, int, int, int], Rates]] = {
    "equal sizes": ((200, 200, 200, 200), (0.3, 0.3, 0.3, 0.3)),
    "a standing gap": ((200, 400, 300, 300), (0.45, 0.25, 0.45, 0.25)),
    "both rates moved, the gap did not": ((150, 600, 150, 600), (0.2, 0.1, 0.4, 0.3)),
    "a small group": ((35, 900, 40, 900), (0.3, 0.4, 0.3, 0.4)),
    "rare events": ((400, 800, 400, 800), (0.03, 0.02, 0.03, 0.02)),
    "nobody to everybody": ((60, 60, 60, 60), (0.95, 0.05, 0.95, 0.05)),
}


def _gaps(
    repeats: int, random: np.random.Generator, sizes: tuple[int, ...], rates: tuple[float, ...], scale: Any
) -> tuple[NDArray[np.float64], ...]:
    """Estimates and 95% limits of one audit's gap, as measure gives them."""
    none = np.zeros(repeats)
    k = [random.binomial(n, rate, repeats).astype(float) for n, rate in zip(sizes, rates, strict=True)]
    parts = PartCounts(none, none, k[0], none + sizes[0], k[1], none + sizes[1])
    low, high = gap_limits(parts, 0.95, scale=scale)
    first, second = parts.rates
    with np.errstate(divide="ignore", invalid="ignore"):
        return (first - second if scale == "difference" else first / second), low, high


def changes(
    repeats: int, random: np.random.Generator, sizes: Any, rates: Any, scale: str = "difference"
) -> GapChange:
    """Old and new audits of different people; ratios by their logarithms, as the command compares them."""
    old = _gaps(repeats, random, sizes[:2], rates[:2], scale)
    new = _gaps(repeats, random, sizes[2:], rates[2:], scale)
    if scale == "ratio":
        with np.errstate(divide="ignore", invalid="ignore"):
            old, new = tuple(np.log(part) for part in old), tuple(np.log(part) for part in new)
    return change(old, new, 0.95)


def misses(repeats: int, random: np.random.Generator, sizes: Any, rates: Any) -> NDArray[np.float64]:
    """Whether the limits miss the true change."""
    found = changes(repeats, random, sizes, rates)
    truth = (rates[2] - rates[3]) - (rates[0] - rates[1])
    return np.asarray((found.low > truth + 1e-12) | (found.high < truth - 1e-12), dtype=float)


def finds(
    repeats: int, random: np.random.Generator, sizes: Any, rates: Any, scale: str = "difference"
) -> NDArray[np.float64]:
    """Whether a change is shown at 5%; what has no estimate is not tested."""
    return np.asarray(
        np.nan_to_num(changes(repeats, random, sizes, rates, scale).p_value, nan=1.0) <= 0.05, dtype=float
    )


def same_people(
    repeats: int, random: np.random.Generator, *, people: int, rate: float, alike: float, known: bool = True
) -> NDArray[np.float64]:
    """Whether a change is shown where the same two groups were decided twice; `alike` correlates the two decisions.

    `known`: whether the comparison is told that they are the same.
    """
    from scipy.special import ndtri

    shown, none = np.zeros(repeats), np.zeros(1)
    for repeat in range(repeats):
        first = random.normal(size=(2, people))
        second = alike * first + np.sqrt(1.0 - alike**2) * random.normal(size=(2, people))
        audits: list[tuple[NDArray[np.float64], ...]] = []
        for disposition in (first, second):
            k = (disposition < ndtri(rate)).sum(axis=1).astype(float)
            parts = PartCounts(none, none, none + k[0], none + people, none + k[1], none + people)
            audits.append(((k[0] - k[1]) / people + none, *gap_limits(parts, 0.95, scale="difference")))
        shown[repeat] = change(audits[0], audits[1], 0.95, known).p_value[0] <= 0.05
    return shown


def wald_finds(repeats: int, random: np.random.Generator, sizes: Any, rates: Any) -> NDArray[np.float64]:
    """The usual test: the sum of the four variances."""
    k = [random.binomial(n, rate, repeats) for n, rate in zip(sizes, rates, strict=True)]
    p = [events / n for events, n in zip(k, sizes, strict=True)]
    variance = sum(rate * (1 - rate) / n for rate, n in zip(p, sizes, strict=True))
    return np.asarray(np.abs((p[2] - p[3]) - (p[0] - p[1])) > 1.96 * np.sqrt(variance), dtype=float)


_CLAIMS: tuple[tuple[str, Claim, Any], ...] = (("limits", "coverage", misses), ("size", "size", finds))
CELLS: list[Cell] = [
    Cell("run", f"diff: {claim} of a gap that stayed, {name}", f"{sizes} people, rates {rates}", kind,
         partial(do, sizes=sizes, rates=rates), short=400, long=20_000,
         covers=("diff.low", "diff.high") if kind == "coverage" else ("diff.p_value",))
    for name, (sizes, rates) in DESIGNS.items()
    for claim, kind, do in _CLAIMS
]  # fmt: skip
CELLS += [
    Cell("run", f"diff: ratio that stayed, {name}", f"{sizes} people, rates {rates}", "size",
         partial(finds, sizes=sizes, rates=rates, scale="ratio"), short=400, long=20_000)
    for name, (sizes, rates) in DESIGNS.items()
    if isclose(rates[0] * rates[3], rates[1] * rates[2]) and name != "nobody to everybody"
]  # fmt: skip
CELLS.append(
    Cell("run", "diff: a change of 15 points", "400 people in each group and audit", "power",
         partial(finds, sizes=(400,) * 4, rates=(0.4, 0.3, 0.55, 0.3)), nominal=0.8, short=400, long=20_000,
         rival=partial(wald_finds, sizes=(400,) * 4, rates=(0.4, 0.3, 0.55, 0.3)), rival_name="Wald")
)  # fmt: skip
CELLS += [
    Cell("run", f"diff --same-people: a gap that stayed, {name}",
         f"{people} people a group, rate {rate}, decided twice", "size",
         partial(same_people, people=people, rate=rate, alike=alike), short=400, long=2000)
    for name, people, rate, alike in (
        ("against each other", 300, 0.3, -0.95), ("alike", 300, 0.3, 0.95), ("unrelated", 300, 0.3, 0.0),
        ("even rates against each other", 200, 0.5, -1.0), ("few", 60, 0.2, -0.9), ("rare", 400, 0.04, -0.9),
    )
]  # fmt: skip
