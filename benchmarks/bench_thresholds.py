"""measure over all thresholds of a score: curves, bands, largest gaps and areas of 24 groups, against one sort."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np

from harness import Row, compare, within

METRICS = ["selection_rate", "tpr", "fpr"]
GROUPS = 24


def run(quick: bool) -> list[Row]:
    return curves(100_000 if quick else 1_000_000)


def people(rows: int) -> Any:
    """Scores without ties, an outcome and one of 24 groups."""
    import pyarrow as pa

    random = np.random.default_rng(rows)
    score = random.standard_normal(rows)
    outcome = (random.random(rows) < 1 / (1 + np.exp(-score))).astype(np.int64)
    groups = np.array([f"g{code:02d}" for code in range(GROUPS)])[random.integers(0, GROUPS, rows)]
    return pa.table({"score": score, "outcome": outcome, "group": groups})


def curves(rows: int) -> list[Row]:
    """Once the rows are read: everything that the result holds, beside one sort of them by group and score."""
    import fairtrial

    audit = fairtrial.Audit(people(rows), score="score", outcome="outcome", groups="group")
    read = audit.rows(attributes=["group"], roles=("score", "outcome"), complete=False)
    score, code = read.roles["score"], read.attributes["group"].codes

    def measured() -> Any:
        with patch.object(fairtrial.Audit, "rows", lambda *_, **__: read):
            return fairtrial.measure(audit, METRICS, thresholds="all")

    return compare(
        f"three rates at every threshold, ROC, calibration and areas, {GROUPS} groups, {rows:,} rows",
        measured,
        {
            "one sort by group and score": (lambda: np.lexsort((score, code)), within(3)),
            "one sort by score alone": (lambda: np.argsort(score, kind="stable"), None),
        },
        note="rows read beforehand",
        least=within(12),
    )
