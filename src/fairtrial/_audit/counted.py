"""Rows alike as one line with their number: few lines are asked what counts rows, however many rows there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

COUNT = "\x1frows"
MOST_LINES = 200_000
TRIED = 100_000  # rows that tell whether there are many alike


@dataclass(frozen=True, slots=True)
class Counted:
    """A table, and its column that says how many rows each line stands for.

    Only what counts rows can be asked of it: rates of decisions and outcomes, not means of real values.
    """

    table: Any
    column: str


def count_alike(rows: nw.LazyFrame[Any], columns: Sequence[str]) -> Counted | None:
    """The distinct rows with how often each is there; None where hardly any are alike."""
    distinct = rows.head(TRIED).unique().select(nw.len()).collect().item()
    if distinct > TRIED // 2:
        return None
    table = rows.group_by(*columns).agg(nw.len().alias(COUNT)).collect("pyarrow").to_native()
    return Counted(table, COUNT) if len(table) <= MOST_LINES else None
