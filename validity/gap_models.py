"""Gaps standardised by models: size with both models right or one of them wrong, and power."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from inside.gaps import expected_chance, expected_mean
from inside.inference import FOLDS, Fit, Floats, ModelGaps, robust_parts
from validity.board import Cell

Random = np.random.Generator
Run = Callable[[int, Random], NDArray[np.float64]]


def _sees(x: Floats, model: str) -> tuple[Floats, Floats]:
    """A model that is wrong sees the size of x without its sign."""
    return (x, x**2) if model == "right" else (np.abs(x), x**2)


def _seeing(fit: Fit, columns: slice) -> Fit:
    """The fit of some of the columns."""
    return lambda design, value, asked: fit(design[:, columns], value, asked[:, columns])


def rejected(
    n: int, gap: float = 0.0, *, outcome: str = "right", group: str = "right", real: bool = False
) -> Run:
    """No gap rejected, with models that see x or only its size."""

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        found = np.zeros(repeats)
        for i in range(repeats):
            x = random.normal(size=n)
            inside = random.random(n) < 1 / (1 + np.exp(-0.7 * x))
            level = 0.8 * x + gap * inside
            y = (
                np.exp(level / 2) * random.gamma(2.0, 0.5, n)
                if real
                else (random.random(n) < 1 / (1 + np.exp(-level)))
            )
            # the first two columns are for who is in the group, the others for the outcome
            design = np.column_stack([*_sees(x, group), *_sees(x, outcome)])
            mean = _seeing(expected_mean if real else expected_chance, slice(2, 4))
            chance = _seeing(expected_chance, slice(0, 2))
            parts = robust_parts(inside, y.astype(float), design, chance, mean, np.arange(n) % FOLDS)
            found[i] = ModelGaps([parts], n).p_equal()[0] <= 0.05
        return found

    return run


def labelled(n: int, labels: int, *, gap: float = 0.0, told: bool = False) -> Run:
    """No gap rejected among people alike in a column of many labels; with `told` whether anything is said at all."""

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        found, level = np.zeros(repeats), 1.5 * np.linspace(-1.0, 1.0, labels)
        for i in range(repeats):
            label = random.integers(0, labels, n)
            inside = random.random(n) < 1 / (1 + np.exp(-level[label]))
            y = (random.random(n) < 1 / (1 + np.exp(0.5 - level[label] - gap * inside))).astype(float)
            design = (label[:, None] == np.arange(1, labels)).astype(float)
            parts = robust_parts(inside, y, design, expected_chance, expected_chance, np.arange(n) % FOLDS)
            gaps = ModelGaps([parts], n)
            found[i] = gaps.defined[0] if told else gaps.p_equal()[0] <= 0.05
        return found

    return run


_RIGHT_OR_WRONG = (("right", "right"), ("right", "wrong"), ("wrong", "right"))

CELLS: list[Cell] = [
    Cell("certify", f"adjusted by a model, {words}outcome's {outcome}, group's {group}",
         f"500 people, {differ} by x alone", "size", rejected(500, outcome=outcome, group=group, real=real),
         short=0, long=1000, whole_analysis=True)
    for real, words, differ in ((False, "", "rates differ"), (True, "skewed values, ", "means differ"))
    for outcome, group in _RIGHT_OR_WRONG
] + [
    Cell("certify", "power, adjusted by a model", "500 people, log odds 0.8 apart at the same x", "power",
         rejected(500, 0.8), nominal=0.6, short=0, long=300, whole_analysis=True),
] + [
    Cell("certify", f"adjusted by a model, {labels} labels, {n:,} rows", "group and event go with the label alone",
         "size", labelled(n, labels), short=0, long=200, whole_analysis=True)
    for labels, n in ((5, 300), (20, 1000), (50, 3000))
] + [
    Cell("certify", "adjusted by a model, how often anything is said of 100 labels and 1,000 rows",
         "ten rows for each label", "size", labelled(1000, 100, told=True), short=0, long=100, whole_analysis=True),
    Cell("certify", "power, adjusted by a model, 20 labels", "2,000 rows, log odds .8 apart", "power",
         labelled(2000, 20, gap=0.8), nominal=0.7, short=0, long=100, whole_analysis=True),
]  # fmt: skip
