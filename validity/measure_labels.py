"""The detector of selective labels: false alarms at and inside its edge, exactly; what it finds; what it prevents."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.stats import binom

from inside.inference import ALIKE, SELECTIVE, labelling_p
from validity.board import Cell
from validity.measure_designs import Errors, Random

_SIZES = [(10, 10), (10, 50), (30, 30), (50, 100), (30, 200), (100, 100), (60, 400)]
_RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)


def _alarms(n1: int, n2: int) -> Any:
    """Whether each table of labelled people is called selective."""
    k1, k2 = np.meshgrid(np.arange(n1 + 1.0), np.arange(n2 + 1.0), indexing="ij")
    sizes = np.full(k1.size, float(n1)), np.full(k1.size, float(n2))
    p = labelling_p(k1.ravel(), sizes[0], k2.ravel(), sizes[1])
    return (p <= SELECTIVE).reshape(k1.shape)


def false_alarms(repeats: int, random: Random, *, ratios: tuple[float, ...]) -> Errors:
    """Exact chances of an alarm where the labelling rates have one of the ratios."""
    chances = []
    for n1, n2 in _SIZES:
        alarms = _alarms(n1, n2)
        for rate in _RATES:
            for ratio in (ratio for ratio in ratios if ratio * rate <= 1.0):
                first = binom.pmf(np.arange(n1 + 1), n1, ratio * rate)
                chances.append(float(first @ alarms @ binom.pmf(np.arange(n2 + 1), n2, rate)))
    return np.array(chances)


def found(repeats: int, random: Random, *, n: int, rate: float, ratio: float) -> Errors:
    """Whether labels that are `ratio` times as frequent for one decision are found."""
    size = np.full(repeats, float(n))
    known, others = (random.binomial(n, chance, repeats).astype(float) for chance in (ratio * rate, rate))
    return np.asarray(labelling_p(known, size, others, size) <= SELECTIVE, dtype=np.float64)


def _cell(name: str, design: str, claim: Any, run: Any, nominal: float, **more: Any) -> Cell:
    return Cell("measure", f"selective labels, {name}", design, claim, run, nominal=nominal, **more)


_GRID = "10 to 60 people with one decision, 10 to 400 with the other, 1% to all of them labelled"
CELLS = [
    _cell("false alarm, labelled alike", _GRID, "size", partial(false_alarms, ratios=(1.0,)), 0.01, exact=True),
    _cell("false alarm, ratio 1.1", _GRID, "size", partial(false_alarms, ratios=(ALIKE, 1 / ALIKE)), 0.01, exact=True),
    _cell("ratio 1.25 found", "1,000 people with each decision, 60% and 75% labelled", "power",
          partial(found, n=1000, rate=0.6, ratio=1.25), 0.9, short=2000, long=20_000),
    _cell("ratio 1.5 found", "200 people with each decision, 60% and 90% labelled", "power",
          partial(found, n=200, rate=0.6, ratio=1.5), 0.9, short=2000, long=20_000),
    _cell("labels of the approved only found", "30 people with each decision, 90% and 5% labelled", "power",
          partial(found, n=30, rate=0.05, ratio=18.0), 0.99, short=2000, long=20_000),
]  # fmt: skip
