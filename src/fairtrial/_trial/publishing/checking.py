"""Whether an answer tells of few people after all: by what its columns are, never by their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fairtrial._results.column import Column
from fairtrial._results.masking import few_of, is_small
from fairtrial._results.result import Result


def tells_of_few(result: Result, limit: int) -> bool:
    """Whether a count, a part or a share in one of its tables, details or notes is of few people."""
    tables = [(result.estimates, result.columns)]
    tables += [(more.estimates, more.columns) for more in result.further_tables()]
    if any(_row_of_few(row, columns, limit) for rows, columns in tables for row in rows):
        return True
    if any(note.people is not None and 0 < note.people < limit for note in result.notes):
        return True
    return any(0 < count < limit for count in _counts(result.details, result.people_in_details))


def _row_of_few(row: Mapping[str, Any], columns: tuple[Column, ...], limit: int) -> bool:
    return is_small(row, columns, limit) or any(few_of(row, column, limit) for column in columns)


def _counts(value: Any, names: frozenset[str]) -> Iterable[int]:
    """Every count of people in the details, however deep."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if name in names and isinstance(item, int) and not isinstance(item, bool):
                yield item
            yield from _counts(item, names)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _counts(item, names)
