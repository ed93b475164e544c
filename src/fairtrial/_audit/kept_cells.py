"""Cells that several questions ask of one audit, counted once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fairtrial._audit.cells import Cells
from fairtrial._metrics.metric import Metric

Question = tuple[Any, ...]


@dataclass(slots=True, eq=False)
class KeptCells:
    """What was counted of one audit whose data stay as they are; a copy of it may be cut otherwise, and has nothing."""

    owner: object
    answers: list[tuple[Question, Sequence[Metric], Cells]] = field(default_factory=list)

    def find(
        self, audit: object, question: Question, metrics: Sequence[Metric], count: Callable[[], Cells]
    ) -> Cells:
        """The same cells as before, or those that are counted now."""
        if audit is not self.owner:
            return count()
        for asked, about, cells in self.answers:
            if asked == question and len(about) == len(metrics) and all(map(_same, about, metrics)):
                return _own(cells)
        found = count()
        self.answers.append((question, tuple(metrics), found))
        return _own(found)


def _same(one: Metric, other: Metric) -> bool:
    return one is other  # roles in a metric do not compare as values do


def _own(cells: Cells) -> Cells:
    """Methods add to what was left out."""
    return replace(cells, left_out=dict(cells.left_out))
