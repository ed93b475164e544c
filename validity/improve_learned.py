"""Rules that are learned: the whole function where a fairer rule is easily found and none is more accurate.

Outcomes are coin tosses that nothing predicts, so every rule is right half of the time, exactly as often as the status
quo, whose decisions differ by group. Whatever is learned closes the gap; the claim fails by the accuracy alone, and by
nothing: the hardest null hypothesis for the search.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validity.board import Cell

Floats = NDArray[np.float64]
Random = np.random.Generator


def tossed(rng: Random, people: int, known: float) -> dict[str, NDArray[Any]]:
    """Coin tosses; people who were refused have a known outcome with this chance."""
    group, x = rng.integers(0, 2, people), rng.normal(size=(2, people))
    decision = (rng.random(people) < np.array([0.35, 0.65])[group]).astype(np.int64)
    outcome = (rng.random(people) < 0.5).astype(np.float64)
    outcome[(decision == 0) & (rng.random(people) >= known)] = np.nan
    names = np.array(["a", "b"])[group]
    return {"group": names, "outcome": outcome, "decision": decision, "x0": x[0], "x1": x[1]}


def learned_errors(repeats: int, rng: Random, *, people: int, known: float = 1.0, **asked: Any) -> Floats:
    """How often something that is learned here is called as good, or better, and fairer."""
    import pyarrow as pa
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    from fairtrial import Audit
    from inside.ground import NotApplicable
    from validity.improve_asked import improve

    tried = [LogisticRegression(), LogisticRegression(C=0.01), DecisionTreeClassifier(max_depth=3)]
    found = np.zeros(repeats)
    for i in range(repeats):
        table = pa.table(tossed(rng, people, known))
        audit = Audit(
            table,
            outcome="outcome",
            decision="decision",
            groups="group",
            features=["x0", "x1"],
            missing="drop",
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = improve(
                    audit, "selection_rate", candidates=tried, everyone=True, bootstrap=199, jobs=1,
                    seed=int(rng.integers(2**31)), **asked,
                )  # fmt: skip
            except NotApplicable:  # no disparity in this sample
                continue
        found[i] = result.p_value <= 0.05
    return found


_DESIGN = "outcomes that nothing predicts, every rule exactly as accurate as now, the gap closes"
_ONE: dict[str, Any] = {"aggregate": "single"}

CELLS = [
    *(
        Cell("improve", f"learned rules, {people} people, {words}", _DESIGN, "size",
             partial(learned_errors, people=people, **asked), short=0, long=200, whole_analysis=True)
        for people, words, asked in ((400, "one split", _ONE), (1600, "one split", _ONE), (400, "seven splits", {}))
    ),
    *(
        Cell("improve", f"learned rules, outcomes of the refused known for {known:.0%}, {words}",
             f"{_DESIGN}; 600 people, one split", "size",
             partial(learned_errors, people=600, known=known, reject_inference=stated, **_ONE), short=0, long=200,
             whole_analysis=True)
        for known, words, stated in ((0.0, "odds of 1", {"odds": 1}), (0.3, "odds of 2", {"odds": 2}))
    ),
]  # fmt: skip
