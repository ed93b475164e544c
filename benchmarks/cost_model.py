"""The cost model: seconds of one core from rows, key columns, groups and draws, with constants that are measured.

seconds = fixed + rows × (scan + texts × text + numbers × number + moments × value), the grouping query, which every
question asks once; what follows works on cells and is part of the fixed cost, plus groups × group and draws × draw.
No constant is taken from a question's own large runs: those are what the model is compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from cost_work import QUESTIONS

MOST_ROWS = 1_000_000  # that are read one by one
TEXTS = {"region", "race", "sex", "grade", "week"}


@dataclass(frozen=True, slots=True)
class Constants:
    """Of this machine, in seconds of one core."""

    scan: float
    text: float
    number: float
    value: float
    fixed: dict[str, float]
    draw: float
    group: dict[str, float]
    read: dict[str, float]  # per row, of questions that read rows up to MOST_ROWS of them

    def row(self, keys: Sequence[str], moments: bool) -> float:
        """What one row costs in the grouping query."""
        texts = sum(key in TEXTS for key in keys)
        return self.scan + texts * self.text + (len(keys) - texts) * self.number + moments * self.value

    def seconds(self, name: str, rows: int) -> float:
        """What a question costs; means and transport read rows up to MOST_ROWS, and ask for sums and counts above."""
        question = QUESTIONS[name]
        by_rows = self.read.get(name, 0.0) if rows <= MOST_ROWS else 0.0
        return self.fixed[name] + rows * (self.row(question.keys, bool(question.values)) + by_rows)


def fit(measured: dict[str, Any]) -> Constants:
    """The constants from bare queries of one size, and from questions about few rows."""
    lines = measured["bare"]
    design = [
        [1, sum(key in TEXTS for key in line["keys"]), sum(key not in TEXTS for key in line["keys"]), line["moments"]]
        for line in lines
    ]  # fmt: skip
    per_row = np.array([line["seconds"] for line in lines]) / measured["middle"]
    found = nnls(np.array(design, dtype=float), per_row)[0].tolist()
    without = Constants(*found, fixed={}, draw=0.0, group={}, read={})
    small, fewest = measured["small"], measured["fewest"]
    read, fixed = {}, {}
    for name, few in measured["fixed"].items():
        query = without.row(QUESTIONS[name].keys, bool(QUESTIONS[name].values))
        if name in measured["fewer_rows"]:
            slope = (few["ours"] - measured["fewer_rows"][name]["ours"]) / (small - fewest)
            read[name] = max(slope - query, 0.0)
        fixed[name] = max(few["ours"] - small * (query + read.get(name, 0.0)), 0.0)
    more, fewer = QUESTIONS["scan"].draws, 99
    draw = (measured["fixed"]["scan"]["ours"] - measured["fewer_draws"]["ours"]) / (more - fewer)
    group = {
        name: (large["seconds"] - small["seconds"]) / (large["groups"] - small["groups"])
        for name, (small, large) in measured["cells"].items()
    }
    return Constants(*found, fixed=fixed, draw=max(draw, 0.0), group=group, read=read)
