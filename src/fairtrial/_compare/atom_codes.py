"""Which finest group each row belongs to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.cells import Cells, Rows


def atom_of_rows(cells: Cells, rows: Rows) -> NDArray[np.int64]:
    """The cell each row belongs to."""
    key, cell_key = np.zeros(rows.n, dtype=np.int64), np.zeros(len(cells.rows), dtype=np.int64)
    for position, name in enumerate(cells.attributes):
        labels = cells.labels[name]
        coded = rows.attributes[name]
        place = np.array([labels.index(label) for label in coded.labels], dtype=np.int64)
        key = key * len(labels) + place[coded.codes]
        cell_key = cell_key * len(labels) + cells.codes[:, position]
    order = np.argsort(cell_key)
    return order[np.searchsorted(cell_key[order], key)]
