"""Adjusted p-values: a group is flagged at level a when its adjusted p-value is at most a."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairtrial.inference.numeric.roots import Floats


def holm(p: ArrayLike) -> Floats:
    """Holm (1979): any dependence, family-wise error."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    factors = values.size - np.arange(values.size)
    stepped = np.maximum.accumulate(factors * values[order])
    return _restore(np.minimum(stepped, 1.0), order)


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Benjamini and Hochberg (1995): false discovery rate, for independent or positively dependent tests."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    stepped = values[order] * values.size / np.arange(1, values.size + 1)
    return _restore(np.minimum(np.minimum.accumulate(stepped[::-1])[::-1], 1.0), order)


def benjamini_yekutieli(p: ArrayLike) -> Floats:
    """Benjamini and Yekutieli (2001): false discovery rate under any dependence."""
    values = np.asarray(p, dtype=float)
    harmonic = float(np.sum(1.0 / np.arange(1, values.size + 1)))
    order = np.argsort(values, kind="stable")
    stepped = values[order] * values.size * harmonic / np.arange(1, values.size + 1)
    return _restore(np.minimum(np.minimum.accumulate(stepped[::-1])[::-1], 1.0), order)


CORRECTIONS = {"bh": benjamini_hochberg, "by": benjamini_yekutieli, "holm": holm}


def _restore(stepped: Floats, order: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Floats:
    restored = np.empty_like(stepped)
    restored[order] = stepped
    return restored
