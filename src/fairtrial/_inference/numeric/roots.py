"""What all of stats shares: the array type, and root finding with one bracket per element."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray


# -- The root of a covariance by which normal numbers are drawn.
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


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

# 0.5**64 of a bracket no wider than a few units is below the spacing of doubles.
HALVINGS = 64
# A signed root this close to its critical value gives a limit exact to rounding.
FLAT = 1e-13
# In standard errors: limits are exact to far more digits than are ever shown.
ROOT_PRECISION = 1e-10


def floats(*values: ArrayLike) -> list[Floats]:
    """The values as float arrays of one shape, their own; a search calls this hundreds of times with few numbers."""
    given = [np.asarray(value, dtype=np.float64) for value in values]
    block = np.empty((len(given), *np.broadcast(*given).shape))
    filled = [block[place, ...] for place in range(len(given))]
    for array, value in zip(filled, given, strict=True):
        array[...] = value
    return filled


def bisect_decreasing(
    function: Callable[[Floats], Floats], low: Floats, high: Floats, halvings: int = HALVINGS
) -> Floats:
    """The point of each bracket where a decreasing function changes sign (an end when it never does).

    Illinois steps inside the bracket, a halving wherever they are slow or the function is infinite.
    """
    low, high = low.astype(float), high.astype(float)
    at_low, at_high = function(low), function(high)
    ends = np.where(at_low <= 0, low, high)
    inside = (at_low > 0) & (at_high <= 0)
    point, side, width = ends.copy(), np.zeros(low.shape), high - low
    open_ = inside.copy()
    for step in range(2 * halvings):
        if not open_.any():
            break
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            guess = high - at_high * (high - low) / (at_high - at_low)
        # every third step must have halved the bracket, or the next one does
        slow = (step % 3 == 2) & (high - low > 0.5 * width)
        width = np.where(step % 3 == 2, high - low, width)
        usable = np.isfinite(guess) & (guess > low) & (guess < high) & ~slow
        middle = np.where(usable, guess, 0.5 * (low + high))
        point = np.where(open_, middle, point)
        value = function(point)
        positive = value > 0
        at_low = np.where(positive, value, np.where(side < 0, 0.5, 1.0) * at_low)
        at_high = np.where(positive, np.where(side > 0, 0.5, 1.0) * at_high, value)
        low, high = np.where(positive, point, low), np.where(positive, high, point)
        side = np.where(positive, 1.0, -1.0)
        small = high - low <= 4e-16 * np.maximum(np.abs(low), np.abs(high))
        open_ &= ~(small | (np.abs(value) < FLAT))
    return point


def secant_limits(
    root: Callable[[Floats], Floats],
    centre: Floats,
    error: Floats,
    critical: Floats,
    ends: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """Where a decreasing, nearly linear signed root equals +critical (below) and -critical (above).

    Both limits are searched together: `root` takes points of shape (2, groups). `ends` bound the parameter;
    an end is the limit where the root never gets there.
    """
    sign = np.array([-1.0, 1.0]).reshape(2, *(1,) * centre.ndim)
    inside = np.broadcast_to(centre, (2, *centre.shape)).copy()
    end = np.stack([np.broadcast_to(side, centre.shape) for side in ends])

    def excess(point: Floats) -> Floats:
        value = -sign * root(point) - critical
        return np.where(np.isnan(value), np.inf, value)

    step = np.where(error > 0, critical * error, np.abs(end - inside) / 2.0)
    found = _secant(excess, inside, inside + sign * step, end)
    return found[0], found[1]


def find_outward(excess: Callable[[Floats], Floats], inside: Floats, step: Floats, end: Floats) -> Floats:
    """The root of `excess` (negative at `inside`, rising towards `end`) whose search starts a step away."""
    return _secant(excess, inside, inside + step, end)


def _secant(excess: Callable[[Floats], Floats], inside: Floats, guess: Floats, end: Floats) -> Floats:
    """A root of `excess` (negative at `inside`, rising towards `end`), by bracketing, then Illinois steps."""

    def bounded(point: Floats) -> Floats:
        return np.clip(point, np.minimum(inside, end), np.maximum(inside, end))

    near, far = inside.copy(), bounded(guess)
    # At the estimate itself the root is zero, so the excess is minus the critical value there.
    at_near, at_far = excess(near), excess(far)
    for _ in range(60):
        short = (at_far < 0) & (far != end)
        if not short.any():
            break
        near, at_near = np.where(short, far, near), np.where(short, at_far, at_near)
        far = np.where(short, bounded(inside + 1.6 * (far - inside)), far)
        at_far = np.where(short, excess(far), at_far)
    never = at_far < 0
    side = np.zeros(near.shape)
    point = far
    for _ in range(100):
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            point = far - at_far * (far - near) / (at_far - at_near)
        point = np.where(np.isfinite(at_far) & np.isfinite(point), point, 0.5 * (near + far))
        point = np.where(never, far, point)
        at_point = excess(point)
        closed = np.abs(far - near) <= 4e-16 * np.maximum(np.abs(far), np.abs(near))
        if np.all(never | (np.abs(at_point) < ROOT_PRECISION) | closed):
            break
        crossed = at_point >= 0
        # Illinois: an end that stays for the second time has its value halved, so that both ends close in.
        at_near = np.where(crossed, np.where(side > 0, 0.5, 1.0) * at_near, at_point)
        at_far = np.where(crossed, at_point, np.where(side < 0, 0.5, 1.0) * at_far)
        near, far = np.where(crossed, near, point), np.where(crossed, point, far)
        side = np.where(crossed, 1.0, -1.0)
    return point
