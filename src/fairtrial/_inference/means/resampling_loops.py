"""Compiled passes behind `fairtrial._inference.means.resampled_means`: sums of drawn rows, Welch's t of each draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.numeric.roots import Floats, Integers
from fairtrial._work.compiled import njit


@njit
def sums_with_replacement(values: Floats, chosen: NDArray[np.int32]) -> tuple[Floats, Floats]:
    """Sums and sums of squares of the rows chosen in each draw."""
    draws, size = chosen.shape
    first, second = np.empty(draws), np.empty(draws)
    for draw in range(draws):
        one = 0.0
        two = 0.0
        for place in range(size):
            value = values[chosen[draw, place]]
            one += value
            two += value * value
        first[draw], second[draw] = one, two
    return first, second


@njit
def sums_without_replacement(
    values: Floats, originals: int, order: Integers, noise: Integers, picked: Floats
) -> None:
    """Per draw the sum, sum of squares, number and sum of the original members among the rows picked.

    `order` is any order of the rows and is left in another: a shuffle of a shuffle is as good. `noise` holds 32 random
    bits for each pick.
    """
    draws, size = noise.shape
    rows = values.size
    for draw in range(draws):
        one = 0.0
        two = 0.0
        members = 0.0
        theirs = 0.0
        for place in range(size):
            other = place + ((noise[draw, place] * (rows - place)) >> 32)
            row = order[other]
            order[other] = order[place]
            order[place] = row
            value = values[row]
            one += value
            two += value * value
            if row < originals:
                members += 1.0
                theirs += value
        picked[draw, 0], picked[draw, 1], picked[draw, 2], picked[draw, 3] = one, two, members, theirs


@njit
def shifted_statistics(
    picked: Floats, shift: float, size: float, other: float, spread: float, found: Floats
) -> None:
    """Welch's t of each draw when the original members of the first sample are moved by `shift`.

    Values are about the means of their own samples, so all rows add up to size * shift, their squares to spread + size
    * shift²; NaN where a draw has no variation.
    """
    for draw in range(picked.shape[0]):
        members = picked[draw, 2]
        one = picked[draw, 0] + members * shift
        two = picked[draw, 1] + 2.0 * shift * picked[draw, 3] + members * shift * shift
        rest = size * shift - one
        rest_two = spread + size * shift * shift - two
        variance = (two - one * one / size) / (size - 1.0) / size
        variance += (rest_two - rest * rest / other) / (other - 1.0) / other
        found[draw] = (one / size - rest / other) / np.sqrt(variance) if variance > 0.0 else np.nan
