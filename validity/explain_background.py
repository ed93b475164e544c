"""Whether features that carry nothing are called drivers where absent features are imputed from background rows.

Groups differ in the first feature alone, and the model uses four that are independent of each other; outcomes follow
the second alone, so that groups have one base rate. What the last two contribute to the gap is 0. Their values in the
background rows are chance, which a nonlinear model turns into contributions unless the rows are known to be a sample.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from validity.board import Cell

NAMES = ("p", "q", "r", "s")


def _decide(frame: Any) -> np.ndarray:
    """A linear score cut at 0."""
    p, q, r, s = (np.asarray(frame[name], dtype=np.float64) for name in NAMES)
    return (p + q + 0.7 * r - 0.7 * s > 0.5).astype(np.float64)


def _score(frame: Any) -> np.ndarray:
    p, q, r, s = (np.asarray(frame[name], dtype=np.float64) for name in NAMES)
    return 1.0 / (1.0 + np.exp(-(p + q + 0.7 * r - 0.7 * s - 0.5)))


def drivers(
    repeats: int,
    random: np.random.Generator,
    *,
    people: int,
    metric: str = "selection_rate",
    share: float = 0.5,
    first: bool = False,
    mitigated: bool = False,
    **options: Any,
) -> np.ndarray:
    """Whether r or s is called a driver after Holm; `first`: whether p is, which carries the gap.

    `mitigated`: whether a group is said to gain or lose without r or s, which moves no group's rate.
    """
    import pyarrow as pa

    from fairtrial import Audit, explain

    found = np.zeros(repeats)
    model = _score if metric in ("mean_score", "brier") else _decide
    for repeat in range(repeats):
        group = random.random(people) < share
        values = random.normal(size=(people, 4))
        values[:, 0] += 0.5 * group
        columns: dict[str, Any] = dict(zip(NAMES, values.T, strict=True))
        chance = 1.0 / (1.0 + np.exp(-values[:, 1]))
        outcome = (random.random(people) < chance).astype(np.int64)
        table = pa.table({**columns, "g": np.where(group, "a", "b"), "y": outcome})
        audit = Audit(table, outcome="y", groups="g", features=list(NAMES))
        result = explain(
            audit, metric, model=model, target={"g": "b"}, jobs=1, seed=int(random.integers(2**31)), **options
        )
        if mitigated:
            effects = {
                change["effect"]
                for entry in result.details["pareto"]
                if entry["feature"] in ("r", "s")
                for change in entry["changes"]
            }
            found[repeat] = effects != {"not shown"}
            continue
        asked = ("p",) if first else ("r", "s")
        found[repeat] = any(row["state"] == "carries" for row in result.drivers if row["feature"] in asked)
    return found


def _line(name: str, design: str, **settings: Any) -> Cell:
    board = {key: settings.pop(key) for key in ("claim", "nominal") if key in settings}
    of_mitigation = ("explain.pareto.changes.p_adjusted",)
    return Cell(
        "explain", f"background: {name}", f"{design}; four features, two of them carry nothing",
        board.get("claim", "size"), partial(drivers, **settings), nominal=board.get("nominal", 0.05),
        short=40, long=60, whole_analysis=True,
        covers=of_mitigation if settings.get("mitigated") else ("explain.p_value", "explain.p_adjusted"),
    )  # fmt: skip


CELLS = [
    _line("15 rows, 4,000 people", "decisions averaged over 15 background rows", people=4000, background=15),
    _line("100 rows, 4,000 people", "decisions averaged over 100", people=4000),
    _line("as many rows as people", "150 people, of whom 100 are the background", people=150),
    _line("three rows", "1,000 people, decisions averaged over 3", people=1000, background=3),
    _line("a small group", "3% of 4,000 people", people=4000, share=0.03),
    _line("tpr", "2,000 people, 20 rows", people=2000, background=20, metric="tpr"),
    _line("ppv", "2,000 people, 20 rows", people=2000, background=20, metric="ppv"),
    _line("mean score", "2,000 people, 20 rows", people=2000, background=20, metric="mean_score"),
    _line("brier", "2,000 people, 20 rows", people=2000, background=20, metric="brier"),
    _line("mitigation, 15 rows", "4,000 people, a gain or loss is said", people=4000, background=15, mitigated=True),
    _line("mitigation", "1,000 people, 100 rows", people=1000, mitigated=True),
    _line("found", "4,000 people, the groups' first feature .5 apart", people=4000, first=True, claim="power",
          nominal=0.9),
]  # fmt: skip
