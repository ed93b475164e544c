"""One group's rows as linear forms of their decisions, and the variance of what is made of them.

A group's people are joined by a quarter of a person at either end of what is possible: the variance of few rows that
hardly differ says nothing, and a group that shows no variance must not pass for one that is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial._explain.solver.esl import Floats

# How much of a person stands at either end of what is possible, in every group.
QUARTER = 0.25
LEAST_DF = 0.5
# Up to this many columns one Gram matrix is cheaper than products pair by pair.
LARGEST_GRAM = 160


@dataclass(frozen=True, slots=True, eq=False)
class GroupForms:
    """One group's rows and their forms (rows, forms, values, players).

    The influence of row i on target t is Σ_u mix[t, v, u]·forms[i, u, v, k] − weight_i·centre[t, v, k].
    """

    rows: NDArray[np.intp]
    forms: Floats
    mix: Floats  # (targets, values, forms)
    weight: Floats  # (rows,)
    centre: Floats  # (targets, values, players)
    ends: Floats  # (2, forms, values, players): of somebody at either end of what is possible
    size: Floats  # (values, players): how many people the forms rest on, the half person at the ends included
    shrink: float  # what the half person makes of a row's share in its group


def group_variance(part: GroupForms, quarter_rows: bool = False) -> Floats:
    """n/(n−1)·Σ(influence − mean)² of one group's rows, (targets, values, players); NaN below two plain rows."""
    size, forms, values, players = part.forms.shape
    flat = part.forms.reshape(size, forms * values * players)
    if quarter_rows:
        ends = part.ends.reshape(2, -1)
        middle = (flat.sum(axis=0) + QUARTER * ends.sum(axis=0)) / (size + 2.0 * QUARTER)
        moments = _moments(np.sqrt(QUARTER) * (ends - middle), forms)
        scale = part.shrink**2 * part.size / np.maximum(part.size - 1.0, LEAST_DF)
    elif size < 2:
        return np.full((part.mix.shape[0], values, players), np.nan)
    else:
        middle, scale = flat.mean(axis=0), np.full((values, players), size / (size - 1))
        moments = np.zeros((forms, forms, values * players))
    moments = moments + _moments(flat - middle, forms)
    result = np.zeros((part.mix.shape[0], values, players))
    for u in range(forms):
        for w in range(u, forms):
            twice = 1.0 if u == w else 2.0
            mixed = (part.mix[:, :, u] * part.mix[:, :, w])[:, :, None]
            result += twice * mixed * moments[u, w].reshape(values, players)[None]
    return np.asarray(np.maximum(result, 0.0) * scale)


def _moments(deviation: Floats, forms: int) -> Floats:
    """Σ_i d_iu·d_iw for every pair of forms u, w and column: one Gram matrix, or pair by pair when it is large."""
    columns = deviation.shape[1] // forms
    if deviation.shape[1] <= LARGEST_GRAM:
        gram = (deviation.T @ deviation).reshape(forms, columns, forms, columns)
        return np.asarray(np.einsum("ucwc->uwc", gram))
    shaped = deviation.reshape(-1, forms, columns)
    result = np.zeros((forms, forms, columns))
    for u in range(forms):
        for w in range(u, forms):
            result[u, w] = np.einsum("ic,ic->c", shaped[:, u], shaped[:, w])
    return result
