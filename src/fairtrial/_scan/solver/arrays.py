"""The kinds of arrays that a scan counts with."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Codes = NDArray[np.unsignedinteger[Any]]  # values' numbers, of very many cells
Keys = NDArray[np.uint32]  # places in a table


def as_codes(codes: Any) -> Codes:
    """Values' numbers in few bytes, those of one attribute lying together."""
    return np.asfortranarray(codes, dtype=_kind(int(np.max(codes, initial=0)) + 1))


def empty_codes(cells: int, attributes: int, values: int) -> Codes:
    """Room for the numbers of attributes that have at most so many values."""
    return np.empty((cells, attributes), dtype=_kind(values), order="F")


def _kind(values: int) -> np.dtype[np.unsignedinteger[Any]]:
    return np.dtype(np.uint16) if values <= 2**16 else np.dtype(np.uint32)
