"""Of very many rows, those alike in groups, decision, outcome and score are one line that stands for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells, Coded, Rows, digest_of
from fairtrial._audit.role_expressions import count_scores
from fairtrial._metrics.metric import Metric
from fairtrial._metrics.values import Role

WHO = "transport"
BY_SCORE = (None, "score", "log-odds")
LOOKED_AT = 200_000  # rows whose scores are counted first
MOST_SCORES = 20_000  # different ones among these: more are no cells


def score_cells(
    audit: Audit, distance: object, attributes: Sequence[str], metrics: Sequence[Metric], roles: Sequence[str]
) -> tuple[Rows, NDArray[np.int64]] | None:
    """One line per distinct row, and how many rows it stands for; None where the rows themselves are read.

    That is where they are few, where a person has several, where the distance is not the score's, and where nearly
    every row has a score of its own.
    """
    by_score = distance is None or (isinstance(distance, str) and distance in BY_SCORE)
    if not audit.by_sums or audit.has("unit") or not by_score or not _few_scores(audit):
        return None
    conditions = [part for metric in metrics for part in metric.conditions]
    columns = [*attributes, *(part for part in conditions if isinstance(part, str))]
    asked = [*roles, *(part.name for part in conditions if isinstance(part, Role))]
    asked += ["score"] if _has_boundary(audit) else []
    cells = audit.cells(
        list(dict.fromkeys(columns)), metrics, list(dict.fromkeys(asked)), complete=True, who=WHO
    )
    if not all(((count == 0) | (count == cells.rows)).all() for count in cells.count.values()):
        return None  # a metric's condition parts rows that are alike in all of this
    return _lines(cells), cells.rows


def _has_boundary(audit: Audit) -> bool:
    return audit.score is not None and audit.threshold is not None


def _few_scores(audit: Audit) -> bool:
    return not _has_boundary(audit) or count_scores(audit, LOOKED_AT) <= MOST_SCORES


def _lines(cells: Cells) -> Rows:
    """Cells as rows, one each."""
    coded = {
        name: Coded(cells.codes[:, place], cells.labels[name]) for place, name in enumerate(cells.attributes)
    }
    return Rows(
        n=len(cells.rows),
        attributes=coded,
        roles=dict(cells.roles),
        given={name: count > 0 for name, count in cells.count.items()},
        digest=digest_of(cells),
    )
