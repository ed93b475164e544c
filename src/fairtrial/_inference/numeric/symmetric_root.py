"""The root of a covariance by which normal numbers are drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def symmetric_root(covariance: Floats) -> Floats:
    """A matrix R with R Rᵀ the covariance, which may be singular.

    The symmetric root of the correlations, by each column's own scale: neither the units of the columns nor the signs
    and the order of eigenvectors, which differ from library to library, are in what is drawn.
    """
    scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return np.asarray(scale[:, None] * root)
