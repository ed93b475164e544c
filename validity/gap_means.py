"""Means within strata and ratios of means: errors of intervals and of no gap over shapes, power beside the usual."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from inside.inference import Atoms, Comparison, Floats, MeanStrataGaps, Sums, SumsGaps
from validity.board import Cell

Random = np.random.Generator
Run = Callable[[int, Random], NDArray[np.float64]]
SHAPES: dict[str, Callable[[Random, int], Floats]] = {
    "normal": lambda random, n: random.normal(5.0, 1.0, n),
    "exponential": lambda random, n: random.exponential(1.0, n),
    "lognormal": lambda random, n: np.exp(random.normal(0.0, 1.0, n)),
    "80% zeros": lambda random, n: (random.random(n) < 0.2) * random.exponential(1.0, n),
}


def strata(shape: str, places: int, n1: int, n2: int, factor: float = 1.0, rival: bool = False) -> Run:
    """No gap rejected where the strata's values spread one to two times as far; the group's are `factor` times."""
    member = np.array([[True, False] * places])
    stratum = np.repeat(np.arange(places), 2)

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            sizes = [(1 + s / places, n) for s in range(places) for n in (n1, n2)]
            pieces = [scale * SHAPES[shape](random, n) for scale, n in sizes]
            pieces = [piece * (factor if place % 2 == 0 else 1.0) for place, piece in enumerate(pieces)]
            if rival:
                found[i] = _least_squares(pieces, stratum) <= 0.05
            else:
                gaps = MeanStrataGaps(Atoms.of_values(pieces), Comparison(member, ~member), stratum)
                found[i] = gaps.p_equal(0.0)[0] <= 0.05
        return found

    return run


def _least_squares(pieces: list[Floats], stratum: NDArray[np.int64]) -> float:
    """The textbook's: least squares on the group and the strata's own levels."""
    y = np.concatenate(pieces)
    place = np.repeat(stratum, [piece.size for piece in pieces])
    group = np.repeat([1.0, 0.0] * (len(pieces) // 2), [piece.size for piece in pieces])
    levels = (place[:, None] == np.unique(place)).astype(float)
    design = np.column_stack([group, levels])
    beta, rest, _, _ = np.linalg.lstsq(design, y, rcond=None)
    df = y.size - design.shape[1]
    error = np.sqrt(rest[0] / df * np.linalg.inv(design.T @ design)[0, 0])
    return float(2 * stats.t.sf(abs(beta[0]) / error, df))


def ratios(shape: str, n1: int, n2: int, truth: float) -> Run:
    """The true ratio of means is outside the 95% interval."""

    def run(repeats: int, random: Random) -> Floats:
        first = Sums.of_values([truth * SHAPES[shape](random, n1) for _ in range(repeats)])
        second = Sums.of_values([SHAPES[shape](random, n2) for _ in range(repeats)])
        above, below = SumsGaps(first, second, "ratio").tails(np.full(repeats, truth))
        return np.asarray(2 * np.minimum(above, below) <= 0.05, dtype=np.float64)

    return run


_STRATA = ((5, 8, 24), (20, 2, 4), (3, 30, 30))

CELLS: list[Cell] = [
    *(
        Cell("certify", f"means within {places} strata of {n1} and {n2}, {shape}", "spread one to two times as far",
             "size", strata(shape, places, n1, n2), short=400 if shape == "lognormal" and places == 5 else 0, long=2000)
        for shape in SHAPES
        for places, n1, n2 in _STRATA
    ),
    *(
        Cell("certify", f"ratio of means, {shape}, {n1} and {n2}", f"true ratio {truth:g}", "coverage",
             ratios(shape, n1, n2, truth), short=1000 if shape == "lognormal" else 0, long=20_000)
        for shape in SHAPES
        for n1, n2, truth in ((40, 360, 1.5), (40, 40, 0.6))
    ),
    *(
        Cell("certify", f"power, means within 5 strata of 8 and 24, {shape}", f"group's values {factor:g} times",
             "power", strata(shape, 5, 8, 24, factor), nominal=least, rival=strata(shape, 5, 8, 24, factor, rival=True),
             rival_name="least squares with strata", short=0, long=2000, loses=why)
        for shape, factor, least, why in (
            ("normal", 1.1, 0.4, ""),
            ("exponential", 0.5, 0.4, "skewed values are bounded by their skewness, from sums"),
        )
    ),
]  # fmt: skip
