"""Empirical likelihood of means: one group against a known value, and two samples against each other.

Notation of "Empirical Likelihood-based Fairness Auditing", section 3: weights 1 / (n (1 + lambda g)).
Support points may carry counts, so a million identical rows cost one point.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fairtrial._inference.numeric.roots import Floats, floats
from fairtrial._inference.rates.proportions import normal_quantile

ROOT_TOLERANCE = 1e-13
MANY_VALUES = 2000


class ProfilePoint(NamedTuple):
    """One point of a profile likelihood: the parameter, its log ratio, and its multiplier."""

    parameter: float
    statistic: float
    multiplier: float


@dataclass(frozen=True, eq=False)
class CountedValues:
    """Distinct support points of one sample, centred at its mean, with their counts."""

    centred: Floats
    counts: Floats
    mean: float
    size: float
    variance: float

    @staticmethod
    def of(values: ArrayLike, counts: ArrayLike | None = None) -> CountedValues:
        points = np.asarray(values, dtype=float)
        if counts is None and points.size < MANY_VALUES:
            weights = np.ones_like(points)
        elif counts is None:
            # Scores and counts repeat: passes over distinct values are much shorter.
            points, repeats = np.unique(points, return_counts=True)
            weights = repeats.astype(float)
        else:
            weights = np.asarray(counts, dtype=float)
        points, weights = points[weights > 0], weights[weights > 0]
        size = float(weights.sum())
        mean = float(weights @ points / size) if size else 0.0
        centred = points - mean
        return CountedValues(
            centred, weights, mean, size, float(weights @ centred**2 / size) if size else 0.0
        )

    @property
    def constant(self) -> bool:
        """Whether all members share one value: then there is no variation to learn from."""
        return self.size == 0 or bool(np.ptp(self.centred) == 0.0)

    @cached_property
    def powers(self) -> PowerSums | None:
        """Of very many values: their power sums, from which small tilts need no pass over them."""
        return PowerSums(self.centred, self.counts, self.size) if self.centred.size >= FEWEST else None


def el_multiplier(g: Floats, counts: Floats | None = None) -> float:
    """Solve sum g / (1 + lambda g) = 0 (eq. 3.3) by Newton's method, kept where all weights are positive."""
    counts = np.ones_like(g) if counts is None else counts
    lowest, highest = float(g.min()), float(g.max())
    if not lowest < 0 < highest:
        raise ValueError("el_multiplier: zero must lie strictly inside the range of g.")
    # Every weight is at most one, which bounds lambda strictly inside its poles.
    size = float(counts.sum())
    low = -(1.0 - 1.0 / size) / highest
    high = -(1.0 - 1.0 / size) / lowest
    multiplier = float(counts @ g / (counts @ g**2))
    multiplier = min(max(multiplier, low), high)
    for _ in range(200):
        tilted = g / (1.0 + multiplier * g)
        slope = float(counts @ tilted)
        low, high = (multiplier, high) if slope > 0 else (low, multiplier)
        step = slope / float(counts @ tilted**2)
        proposal = multiplier + step
        if not low <= proposal <= high:
            proposal = 0.5 * (low + high)
        if abs(proposal - multiplier) <= ROOT_TOLERANCE * abs(proposal):
            return proposal
        multiplier = proposal
    return multiplier


def el_log_ratio(g: Floats, counts: Floats | None = None) -> float:
    """Empirical log-likelihood ratio 2 sum log(1 + lambda g); infinite when zero is outside the hull."""
    counts = np.ones_like(g) if counts is None else counts
    if g.size == 0 or not g.min() < 0 < g.max():
        return 0.0 if g.size == 0 or bool(np.all(g == 0)) else np.inf
    return max(2.0 * float(counts @ np.log1p(el_multiplier(g, counts) * g)), 0.0)


def _tilt(sample: CountedValues, multiplier: float) -> tuple[float, float]:
    """The mean (relative to the sample's) and log ratio of the weights with this multiplier.

    Solves sum 1/(1 + lambda (x - mu)) = n for mu. The harmonic mean of the denominators is concave in mu,
    so Newton's method on it converges monotonically from the right.
    """
    if multiplier == 0.0 or sample.variance == 0.0:
        return 0.0, 0.0
    if sample.powers and (found := sample.powers.solve(multiplier, sample.variance)):
        return found
    raised = 1.0 + multiplier * sample.centred
    lowest = int(np.argmin(raised))
    limit = float(raised[lowest] - sample.counts[lowest] / sample.size)
    shift = min(-(multiplier**2) * sample.variance, limit)
    for _ in range(200):
        with np.errstate(divide="ignore"):
            inverse = 1.0 / (raised - shift)
        total = float(sample.counts @ inverse)
        if not np.isfinite(total):
            # The multiplier is so large that all weight sits on one end of the sample.
            return float(sample.centred[lowest]), np.inf
        slope = float(sample.counts @ inverse**2)
        proposal = min(shift + (sample.size / total - 1.0) * total * total / (sample.size * slope), limit)
        if abs(proposal - shift) <= 1e-15 * max(1.0, abs(shift)):
            shift = proposal
            break
        shift = proposal
    statistic = 2.0 * float(sample.counts @ np.log(raised - shift))
    return shift / multiplier, max(statistic, 0.0)


def two_sample_point(first: CountedValues, second: CountedValues, multiplier: float) -> ProfilePoint:
    """Profile likelihood of the difference of two means at one multiplier.

    At the constrained maximum both samples share it with opposite signs, so the whole profile is a path
    in one number and no nuisance mean has to be searched for.
    """
    shift1, statistic1 = _tilt(first, multiplier / first.size)
    shift2, statistic2 = _tilt(second, -multiplier / second.size)
    gap = first.mean + shift1 - second.mean - shift2
    return ProfilePoint(gap, statistic1 + statistic2, multiplier)


def el_mean_limits(sample: CountedValues, critical: float) -> tuple[float, float]:
    """The means whose log ratio is at most `critical`: one root in the tilt per side, no inner solve.

    With weights proportional to 1/(1 + t x), c(t) = mean 1/(1 + t x) gives the tilted mean (1 - c)/(t c)
    and the log ratio 2 (n log c + sum log(1 + t x)).
    """
    x, counts, size = sample.centred, sample.counts, sample.size
    guess = float(np.sqrt(critical / (size * sample.variance)))

    def limit(pole: float) -> float:
        def tilt(position: float) -> float:
            return pole * position / (1.0 + position)

        def excess(position: float) -> float:
            raised = 1.0 + tilt(position) * x
            harmonic = float(counts @ (1.0 / raised)) / size
            statistic = 2.0 * float(size * np.log(harmonic) + counts @ np.log(raised))
            return float(np.sqrt(max(statistic, 0.0)) - np.sqrt(critical))

        solution = tilt(solve_increasing(excess, guess / abs(pole)))
        harmonic = float(counts @ (1.0 / (1.0 + solution * x))) / size
        return sample.mean + (1.0 - harmonic) / (solution * harmonic)

    return limit(-1.0 / float(x.min())), limit(-1.0 / float(x.max()))


def nested_point(inner: CountedValues, rest: CountedValues, multiplier: float) -> ProfilePoint:
    """Profile likelihood of 'mean of the inner part minus mean of the whole' at one multiplier.

    The gap is (1 - P)(mu_inner - mu_rest); the share P is free too and has a closed form on this path.
    """
    contrast, statistic, _ = two_sample_point(inner, rest, multiplier)
    total = inner.size + rest.size
    share = inner.size / max(total - multiplier * contrast, inner.size)
    if share >= 1.0:
        return ProfilePoint(0.0, np.inf, multiplier)
    statistic += 2.0 * inner.size * np.log(inner.size / total / share)
    statistic += 2.0 * rest.size * np.log(rest.size / total / (1.0 - share))
    return ProfilePoint((1.0 - share) * contrast, max(statistic, 0.0), multiplier)


PathPoint = Callable[[float], ProfilePoint]


def path_log_ratio(point: PathPoint, parameter: float, variance: float) -> float:
    """Log ratio of one parameter value, found on the path; infinite when the support cannot reach it."""
    estimate = point(0.0).parameter
    distance = estimate - parameter
    if distance == 0.0 or variance == 0.0:
        return 0.0 if distance == 0.0 else np.inf
    sign = float(np.sign(distance))

    def excess(size: float) -> float:
        return sign * (estimate - point(sign * size).parameter) - abs(distance)

    multiplier = solve_increasing(excess, abs(distance) / variance)
    return np.inf if np.isinf(multiplier) else point(sign * multiplier).statistic


def path_limits(point: PathPoint, critical: float, variance: float) -> tuple[float, float]:
    """The parameters whose profile log ratio is at most `critical`."""
    guess = float(np.sqrt(critical / variance))

    def limit(sign: float) -> float:
        def excess(size: float) -> float:
            return float(np.sqrt(point(sign * size).statistic) - np.sqrt(critical))

        return point(sign * solve_increasing(excess, guess)).parameter

    return limit(1.0), limit(-1.0)


def solve_increasing(function: Callable[[float], float], guess: float) -> float:
    """The positive root of an increasing function that is negative at zero; infinite when it has none.

    The functions solved are nearly linear, so Illinois steps from a good guess need about six evaluations.
    """
    low, high = 0.0, guess
    at_low, at_high = function(low), function(high)
    for _ in range(60):
        if at_high >= 0.0:
            break
        low, at_low, high = high, at_high, 2.0 * high
        at_high = function(high)
    else:
        return np.inf
    scale, side = abs(function(0.0)) or 1.0, 0
    point = high
    for _ in range(200):
        linear = (
            high - at_high * (high - low) / (at_high - at_low) if np.isfinite(at_high) else 0.5 * (low + high)
        )
        point = linear if low < linear < high else 0.5 * (low + high)
        value = function(point)
        if abs(value) <= 1e-13 * scale or high - low <= 4e-16 * high:
            break
        if value >= 0.0:
            high, at_high = point, value
            at_low *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            low, at_low = point, value
            at_high *= 0.5 if side < 0 else 1.0
            side = -1
    return point


# -- Tilted weights of one large sample by power series: no pass over its values for each tilt.
# With x the values minus their mean, a tilt t needs the means of 1/(1 + t x) and of log(1 + t x). Both are
# power series in t whose coefficients, the mean powers of x, are summed once. The largest |x| would spoil
# their convergence, so that the few farthest values are taken as they are.
FARTHEST = 1024  # values that are taken one by one
FEWEST = 4 * FARTHEST  # below it passes over all values cost no more
# |t x| of the others is at most REACH. What the series leave out is REACH^(POWERS - 1) = 2^-54 of their leading term.
REACH = 0.25
POWERS = 28
BLOCK = 8192  # values whose powers stay in the processor's cache


class Tilted(NamedTuple):
    """What one tilt gives."""

    excess: float  # mean of 1/(1 + t x), minus one
    squares: float  # mean of 1/(1 + t x)^2


class PowerSums:
    """The sums of one sample; `lowest` and `highest` are its ends, each with its count."""

    def __init__(self, centred: Floats, counts: Floats, size: float) -> None:
        order = np.argpartition(np.abs(centred), centred.size - FARTHEST)
        near, far = order[:-FARTHEST], order[-FARTHEST:]
        self.far, self.far_counts, self.size = centred[far], counts[far] / size, size
        self.radius = float(np.abs(centred[near]).max())
        sums = _power_sums(centred[near] / self.radius, counts[near])
        self.inverse = [sign * total / size for sign, total in zip(_signs(), sums, strict=True)]
        self.logs = [-term / power for power, term in enumerate(self.inverse, start=1)]
        first, last = int(np.argmin(centred)), int(np.argmax(centred))
        self.lowest = float(centred[first]), float(counts[first]) / size
        self.highest = float(centred[last]), float(counts[last]) / size

    def solve(self, multiplier: float, variance: float) -> tuple[float, float] | None:
        """Mean and log ratio as `tilt` of the sample has them; None where the series do not reach.

        The same Newton steps on the harmonic mean, written with what is left of it when one is taken off.
        """
        value, share = self.lowest if multiplier > 0 else self.highest
        limit = 1.0 + multiplier * value - share
        shift = min(-(multiplier**2) * variance, limit)
        for _ in range(200):
            tilted = self._at(multiplier / (1.0 - shift)) if shift < 1.0 else None
            if tilted is None:
                return None
            step = -(shift + tilted.excess) * (1.0 + tilted.excess) / tilted.squares
            proposal = min(shift + step, limit)
            if abs(proposal - shift) <= 1e-15 * abs(shift):
                break
            shift = proposal
        logs = self._mean_log(multiplier / (1.0 - proposal)) + math.log1p(-proposal)
        return proposal / multiplier, max(2.0 * self.size * logs, 0.0)

    def _at(self, tilt: float) -> Tilted | None:
        scaled = tilt * self.radius
        raised = 1.0 + tilt * self.far
        if abs(scaled) > REACH or raised.min() <= 0.0:
            return None
        inverse = 1.0 / raised
        excess = float(self.far_counts @ (inverse - 1.0)) + _series(self.inverse, scaled)
        # d/dt of t times the mean of 1/(1 + t x) is the mean of 1/(1 + t x)^2.
        near = _series([(power + 2) * term for power, term in enumerate(self.inverse)], scaled)
        return Tilted(excess, 1.0 + float(self.far_counts @ (inverse * inverse - 1.0)) + near)

    def _mean_log(self, tilt: float) -> float:
        return float(self.far_counts @ np.log1p(tilt * self.far)) + _series(self.logs, tilt * self.radius)


def _signs() -> list[float]:
    return [(-1.0) ** power for power in range(1, POWERS + 1)]


def _series(terms: list[float], x: float) -> float:
    """The sum of terms[k] x^(k + 1)."""
    total = 0.0
    for term in reversed(terms):
        total = (total + term) * x
    return total


def _power_sums(x: Floats, counts: Floats) -> Floats:
    """Sums of the first powers."""
    sums = np.zeros(POWERS)
    for start in range(0, x.size, BLOCK):
        part, weight = x[start : start + BLOCK], counts[start : start + BLOCK]
        power = weight.copy()
        for index in range(POWERS):
            power *= part
            sums[index] += power.sum()
    return sums


# -- The quantiles with which roots and log ratios of means are compared.
def t_quantile(df: ArrayLike, level: float) -> Floats:
    """Half-width of a two-sided t interval in standard errors."""
    (degrees,) = floats(df)
    return np.asarray(-special.stdtrit(degrees, (1.0 - level) / 2.0), dtype=np.float64)


def critical_value(df: float, level: float) -> float:
    """Quantile of the squared normal or squared t with which a log ratio is compared."""
    quantile = normal_quantile(level) if np.isinf(df) else float(t_quantile(df, level))
    return quantile**2
