"""Validity of run: over a whole trial in which nothing differs, how often does anything remain after correction?

Every repeat asks several public functions about one table, and corrects over all their p-values as a trial does.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from validity.board import Cell
from validity.changes import CELLS as CHANGES
from validity.trial_max_t import CELLS as MAX_T
from validity.whole_functions import family


def _cell(name: str, design: str, n: int, kinds: tuple[str, ...], **more: Any) -> Cell:
    settings = {key: more.pop(key) for key in ("adjust", "sexes") if key in more}

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.array([float(family(random, n, kinds, **settings)) for _ in range(repeats)])

    return Cell("run", name, design, "size", run, **more)


_BOTH = "measure and transport, 11 tests, nothing differs, 500 people"


def log_losses(repeats: int, random: np.random.Generator) -> np.ndarray:
    """Calibrated scores, ten groups of 40: measure and flag ask of log loss, anything that remains is an error."""
    import pyarrow as pa

    from fairtrial import Audit, flag, measure
    from inside.trial import correct

    wrong = []
    for _ in range(repeats):
        score = random.beta(0.3, 0.7, 400)
        table = {"g": np.repeat([f"g{i}" for i in range(10)], 40), "score": score,
                 "outcome": (random.random(400) < score).astype(np.int64)}  # fmt: skip
        audit = Audit(pa.table(table), outcome="outcome", score="score", groups=["g"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = [("measure", measure(audit, "log_loss")), ("flag", flag(audit, "log_loss"))]
            wrong.append(float(any(entry.significant for entry in correct(asked, 0.05))))
    return np.array(wrong)


CELLS: list[Cell] = [
    Cell("run", "nothing remains, log loss of ten small groups", "measure and flag, 10 groups of 40, calibrated scores",
         "size", log_losses, short=0, long=600, whole_analysis=True),
    _cell("nothing remains", _BOTH, 500, ("measure", "transport"), long=5000),
    _cell("every test at its own 5%", _BOTH, 500, ("measure", "transport"), adjust=False, variant="paper",
          counterpart="nothing remains"),
    _cell("nothing remains, overlapping groups", "flag over groups and their intersections, 400 people", 400,
          ("flag",), long=20_000),
    _cell("nothing remains, a small group", "measure, a tenth of 350 people in one group", 350,
          ("measure",), sexes=(0.9, 0.1), long=20_000),
    _cell("nothing remains, discrete scores", "transport and mean scores in hundredths, 300 people", 300,
          ("transport", "scores")),
    *MAX_T,
    *CHANGES,
]  # fmt: skip
