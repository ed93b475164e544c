"""Lines of measure on real values: one mean, a difference, and the gap to everybody, as its table prints them."""

from __future__ import annotations

from functools import partial

import numpy as np

from inside.inference import Atoms, Comparison, Gaps, make_gaps
from validity.board import Cell
from validity.measure_designs import Errors, Random

GROUP = np.array([[True, False]])
REFERENCE = {"reference": ~GROUP, "overall": np.ones_like(GROUP), "number": np.zeros_like(GROUP)}


def gaps(first: np.ndarray, second: np.ndarray, target: str, known: float = 0.0) -> Gaps:
    """The gap of the first sample to the second, to both together, or to a known number."""
    pieces = (first, second)
    atoms = Atoms(
        np.array([float(piece.size) for piece in pieces]),
        np.array([piece.mean() for piece in pieces]),
        np.array([piece.var() * piece.size for piece in pieces]),
        False,
        pieces,
    )
    number = np.array([known]) if target == "number" else None
    return make_gaps(atoms, Comparison(GROUP, REFERENCE[target], number))


def _skewed(random: Random, n: int, spread: float) -> np.ndarray:
    """Gamma with mean 2, skewed like losses are, and this multiple of the plain spread."""
    return 2.0 + spread * (random.gamma(2.0, 1.0, n) - 2.0)


def errors(repeats: int, random: Random, *, n: tuple[int, int], target: str, interval: bool) -> Errors:
    """Misses of the interval, or rejections of the truth: equal means, the second with half the spread."""
    wrong = np.zeros(repeats)
    for i in range(repeats):
        first, second = _skewed(random, n[0], 1.0), _skewed(random, n[1], 0.5)
        found = gaps(first, second, target, known=2.0)
        if interval:
            low, high = found.limits(0.95)
            wrong[i] = not low[0] <= 0.0 <= high[0]
        else:
            wrong[i] = found.p_equal(0.0)[0] <= 0.05
    return wrong


_NAMES = {"number": "mean", "reference": "difference of means", "overall": "mean against overall"}
CELLS = [
    Cell(
        "measure",
        f"{_NAMES[target]}, {'interval' if interval else 'p-value'}",
        f"gamma, {n[0]} and {n[1]} people, half the spread",
        "coverage" if interval else "size",
        partial(errors, n=n, target=target, interval=interval),
        short=400,
        long=2000,
    )
    for target, n in (("number", (100, 100)), ("reference", (60, 90)), ("overall", (100, 200)))
    for interval in (True, False)
]
