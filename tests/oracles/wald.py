"""The Wald statistic of several estimates with any covariance, also one that is singular."""

from __future__ import annotations

import numpy as np
from scipy import special


def wald(estimate, covariance):
    """Statistic, degrees of freedom (the covariance's rank) and p-value of 'all estimates are zero'."""
    rank = int(np.linalg.matrix_rank(covariance))
    statistic = float(estimate @ np.linalg.pinv(covariance) @ estimate)
    return statistic, rank, float(special.chdtrc(rank, statistic)) if rank else float("nan")
