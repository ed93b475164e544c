"""Validity of run: over a whole trial in which nothing differs, how often does anything remain after correction?

Every repeat asks several public functions about one table, and corrects over all their p-values as a trial does.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from validity.board import Cell
from validity.whole_functions import family


def _cell(name: str, design: str, n: int, kinds: tuple[str, ...], **more: Any) -> Cell:
    settings = {key: more.pop(key) for key in ("adjust", "sexes") if key in more}

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.array([float(family(random, n, kinds, **settings)) for _ in range(repeats)])

    return Cell("run", name, design, "size", run, **more)


_BOTH = "measure and transport, 11 tests, nothing differs, 500 people"

CELLS: list[Cell] = [
    _cell("nothing remains", _BOTH, 500, ("measure", "transport")),
    _cell("every test at its own 5%", _BOTH, 500, ("measure", "transport"), adjust=False, variant="paper",
          counterpart="nothing remains"),
    _cell("nothing remains, overlapping groups", "flag over groups and their intersections, 400 people", 400,
          ("flag",)),
    _cell("nothing remains, a small group", "measure, a tenth of 350 people in one group", 350,
          ("measure",), sexes=(0.9, 0.1)),
    _cell("nothing remains, discrete scores", "transport and mean scores in hundredths, 300 people", 300,
          ("transport", "scores")),
]  # fmt: skip
