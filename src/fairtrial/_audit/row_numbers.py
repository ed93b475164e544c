"""A first column without a name that only counts the rows, as R's write.csv and pandas' to_csv put it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

ROWS = 1000  # looked at; further on it can only be a column that nobody can name
CURE = "name it; or, where it holds row numbers, write the file without them (pandas: index=False, R: row.names=FALSE)"


def counts_rows(names: Sequence[str], rows: Iterable[Sequence[str]]) -> bool:
    """Whether the first column has no name and is 0, 1, 2, … or 1, 2, 3, …

    The last row that is looked at may be cut off, and speaks only where it is the only one.
    """
    if len(names) < 2 or names[0].strip():
        return False
    numbers = [row[0] for row in islice(rows, ROWS) if row]
    seen = numbers[: max(1, len(numbers) - 1)]
    return bool(seen) and any(
        seen == [str(number) for number in range(first, first + len(seen))] for first in (0, 1)
    )
