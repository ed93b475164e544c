"""The kinds of arrays that a scan counts with."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Codes = NDArray[np.uint16]  # values' numbers, of very many cells
