"""A part of the rows against the whole it belongs to: the part's share is estimated as well.

With P the part's share, p1 its rate and p2 that of the rest, the part's gap to the whole is (1 - P)(p1 - p2), and its
ratio r = p1/p2 to the rest is theta (1 - P)/(1 - theta P) when its ratio to the whole is theta. Taking the observed
share for the true one leaves out up to .30 of the ratio's error instead of .05; it is profiled, as the rates are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.laws.gaps import LOGARITHM_ENDS, SearchedGaps, quantile_of, tail_of
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.rates.proportions import binomial_deviance
from fairtrial._inference.rates.two_rates import (
    Only,
    TwoRates,
    at_null,
    estimate_and_error,
    exact_tail,
    likelihood_root,
    score_roots,
)
from fairtrial._inference.ways import Scale

# -- Profile likelihood of a group against a reference that shares members with it.
# Weights on support points; the constraints are sum w 1_G (M - theta - gap) = 0 and sum w 1_R (M - theta) = 0 with the
# reference's mean theta free. Batches of problems are solved together (first axis).
ITERATIONS = 60


class OverlapState(NamedTuple):
    """Denominators n / (weight) of the support points, the free mean, and whether it is a solution."""

    denominator: Floats
    theta: Floats
    solved: NDArray[np.bool_]


def constrained_weights(
    value: Floats, group: Floats, reference: Floats, counts: Floats, gap: Floats
) -> OverlapState:
    """Newton's method on the stationarity conditions in (lambda_G, lambda_R, theta), weights kept positive.

    The first step from lambda = 0 is the Gaussian solution, so a handful of steps suffice.
    """
    lambdas = np.zeros((*counts.shape[:-1], 2))
    theta = np.sum(counts * reference * value, axis=-1) / np.sum(counts * reference, axis=-1)
    scale = np.sum(counts, axis=-1)
    for _ in range(ITERATIONS):
        residual, jacobian, denominator = _conditions(value, group, reference, counts, gap, lambdas, theta)
        size = np.max(np.abs(residual) / scale[..., None], axis=-1)
        if np.all(size < 1e-13):
            break
        step = _solve(jacobian, -residual)
        length = _longest_step(value, group, reference, gap, lambdas, theta, step, denominator)
        lambdas = lambdas + length[..., None] * step[..., :2]
        theta = theta + length * step[..., 2]
    residual, _, denominator = _conditions(value, group, reference, counts, gap, lambdas, theta)
    solved = np.max(np.abs(residual) / scale[..., None], axis=-1) < 1e-9
    return OverlapState(denominator, theta, solved & np.all(denominator > 0, axis=-1))


def _conditions(
    value: Floats,
    group: Floats,
    reference: Floats,
    counts: Floats,
    gap: Floats,
    lambdas: Floats,
    theta: Floats,
) -> tuple[Floats, Floats, Floats]:
    """The three stationarity conditions, their Jacobian, and the weights' denominators."""
    centred = value - theta[..., None]
    g1, g2 = group * (centred - gap[..., None]), reference * centred
    l1, l2 = lambdas[..., :1], lambdas[..., 1:]
    denominator = 1.0 + l1 * g1 + l2 * g2
    weight = counts / denominator
    squared = weight / denominator
    pull = l1 * group + l2 * reference

    def total(x: Floats) -> Floats:
        return np.asarray(np.sum(x, axis=-1))

    residual = np.stack([total(weight * g1), total(weight * g2), total(weight * pull)], axis=-1)
    h11, h12, h22 = total(squared * g1 * g1), total(squared * g1 * g2), total(squared * g2 * g2)
    e1 = total(weight * group - squared * pull * g1)
    e2 = total(weight * reference - squared * pull * g2)
    corner = total(squared * pull * pull)
    rows = [[-h11, -h12, -e1], [-h12, -h22, -e2], [e1, e2, corner]]
    jacobian = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    return residual, jacobian, denominator


def _solve(matrix: Floats, right: Floats) -> Floats:
    """Batched 3 x 3 solve by cofactors; a hair of ridge where a part has no variation."""
    scale = np.abs(matrix).max(axis=(-2, -1))[..., None, None]
    ridged = matrix + 1e-14 * scale * np.diag([-1.0, -1.0, 1.0])
    first, second, third = (ridged[..., :, column] for column in range(3))
    cofactors = [np.cross(second, third), np.cross(third, first), np.cross(first, second)]
    determinant = np.sum(first * cofactors[0], axis=-1)
    return np.stack([np.sum(right * cofactor, axis=-1) / determinant for cofactor in cofactors], axis=-1)


def _longest_step(
    value: Floats,
    group: Floats,
    reference: Floats,
    gap: Floats,
    lambdas: Floats,
    theta: Floats,
    step: Floats,
    denominator: Floats,
) -> Floats:
    """The largest of 1, 1/2, 1/4 ... that keeps every weight positive and not more than tenfold."""
    length = np.ones(theta.shape)
    for _ in range(40):
        moved = lambdas + length[..., None] * step[..., :2]
        centred = value - (theta + length * step[..., 2])[..., None]
        raised = (
            1.0 + moved[..., :1] * group * (centred - gap[..., None]) + moved[..., 1:] * reference * centred
        )
        fits = np.all(raised > 0.1 * denominator, axis=-1)
        if fits.all():
            break
        length = np.where(fits, length, 0.5 * length)
    return length


def overlap_root(
    value: Floats,
    group: Floats,
    reference: Floats,
    counts: Floats,
    gap: Floats,
    score: NDArray[np.bool_],
) -> Floats:
    """Signed root of the test of 'mean of the group minus mean of the reference = gap'.

    The likelihood ratio's, or the score's where asked: distance over its standard error at the null.
    """
    total = np.sum(counts, axis=-1)
    means = [
        np.sum(counts * part * value, axis=-1) / np.sum(counts * part, axis=-1) for part in (group, reference)
    ]
    distance = means[0] - means[1] - gap
    state = constrained_weights(value, group, reference, counts, gap)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = counts / state.denominator / total[..., None]
        deviance = 2.0 * np.sum(counts * np.log(state.denominator), axis=-1)
        shares = [np.sum(weight * part, axis=-1, keepdims=True) for part in (group, reference)]
        centred = value - state.theta[..., None]
        influence = group * (centred - gap[..., None]) / shares[0] - reference * centred / shares[1]
        variance = np.sum(weight * influence**2, axis=-1) / (total - 1.0)
        by_score = distance / np.sqrt(variance)
        by_likelihood = np.sign(distance) * np.sqrt(np.maximum(deviance, 0.0))
    root = np.where(score, by_score, by_likelihood)
    # No weights meet the constraints: the gap is impossible given the support.
    return np.where(state.solved, np.where(distance == 0, 0.0, root), np.copysign(np.inf, distance))


# Golden sections of the share, to a twentieth of its standard error, and the parabolas that follow.
SECTIONS, VERTICES = 13, 4
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
# The share is looked for so many of its standard errors about the observed one.
SHARE_REACH = 12.0
TINY = 1e-12


class PartLaw(SearchedGaps):
    """The part's rate minus the whole's, or over it: the roots of rate and share together, the share profiled."""

    def __init__(self, table: TwoRates, scale: Scale, only: Only | None = None) -> None:
        self.table, self.scale, self.only = table, scale, only
        to_rest, error = estimate_and_error(table, scale)
        share = table.n1 / (table.n1 + table.n2)
        if scale == "difference":
            centre, error = (1.0 - share) * to_rest, (1.0 - share) * error
        else:
            ratio = np.exp(to_rest)
            centre = to_rest - np.log1p(share * (ratio - 1.0))
            # theta = r/(1 + P (r - 1)) changes with r and with P
            share_error = np.sqrt(share * (1.0 - share) / (table.n1 + table.n2))
            change = np.hypot((1.0 - share) * error, (ratio - 1.0) * share_error)
            error = change / (1.0 + share * (ratio - 1.0)) + TINY
        end = np.full(share.shape, 1.0 if scale == "difference" else LOGARITHM_ENDS)
        few, events = table.few & (only is None), (table.k1, table.k1 + table.k2)
        super().__init__(centre, error, (-end, end), few, events=events)

    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        _, squared = self._profile(self.table, self.centre, point)
        root = np.sign(self.centre - point) * np.sqrt(squared)
        return root, root

    def exact_tail(self, point: Floats, chosen: Bools, *, above: bool) -> Floats:
        table = self.table.take(chosen)
        share, _ = self._profile(table, self.centre[chosen], point)
        tail = exact_tail(table, self._to_rest(point, share), self.scale, above=above)
        root = np.maximum(-quantile_of(tail), 0.0)
        return np.where(root > 0, tail_of(-np.sqrt(root**2 + share_score(table, share))), tail)

    def _to_rest(self, point: Floats, share: Floats) -> Floats:
        """The gap to the rest, given that to the whole and the share."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.scale == "difference":
                return np.clip(point / (1.0 - share), -1.0, 1.0)
            theta = np.exp(point)
            ratio = np.where(theta * share < 1.0, theta * (1.0 - share) / (1.0 - theta * share), np.inf)
        return np.clip(ratio, np.exp(-LOGARITHM_ENDS), np.exp(LOGARITHM_ENDS))

    def _profile(self, table: TwoRates, centre: Floats, point: Floats) -> tuple[Floats, Floats]:
        """The share at which rates and share together are least surprising, and how surprising that is."""
        total = table.n1 + table.n2
        observed = np.broadcast_to(table.n1 / total, point.shape)
        reach = SHARE_REACH * np.sqrt(observed * (1.0 - observed) / total)
        most = 1.0 - np.abs(point) if self.scale == "difference" else np.minimum(1.0, np.exp(-point))
        low = np.maximum(np.minimum(observed - reach, 0.5 * most), TINY * most)
        high = np.maximum(np.minimum(observed + reach, most * (1.0 - TINY)), low)
        sign = np.sign(centre - point)

        def surprise(share: Floats) -> Floats:
            return self._surprise(table, self._to_rest(point, share), share, sign)

        return _least(surprise, low, high, observed)

    def _surprise(self, table: TwoRates, to_rest: Floats, share: Floats, sign: Floats) -> Floats:
        """The smallest square of the laws' roots and the share's together; a root of the other sign counts nothing."""
        null = at_null(table, to_rest, self.scale)
        score, skewed = score_roots(null)
        if self.scale == "ratio":
            # the score alone was wrong 1.65 times as often as asked at .001, and on one side 1.9 times at .005
            bounded = np.minimum(np.maximum(sign * score, 0.0), np.maximum(sign * skewed, 0.0))
            return np.asarray((score if self.only else bounded) ** 2 + share_score(table, share))
        base = likelihood_root(table, null)
        by_likelihood = np.maximum(sign * base, 0.0) ** 2 + binomial_deviance(
            table.n1, table.n1 + table.n2, share
        )
        if self.only == "likelihood":
            return np.asarray(base**2 + by_likelihood - np.maximum(sign * base, 0.0) ** 2)
        by_score = np.maximum(sign * score, 0.0)
        if self.only is None:
            by_score = np.minimum(by_score, np.maximum(sign * skewed, 0.0))
        by_score = by_score**2 + share_score(table, share)
        return by_score if self.only == "score" else np.minimum(by_likelihood, by_score)


class MirroredLaw(SearchedGaps):
    """The whole against its part: the same gap with the other sign (of a ratio: the inverse)."""

    def __init__(self, inner: SearchedGaps, ratio: bool) -> None:
        self.inner, self.ratio = inner, ratio
        self.scale = inner.scale
        super().__init__(-inner.centre, inner.error, (-inner.ends[1], -inner.ends[0]), inner.few, inner.df)

    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        lower, upper = self.inner.roots(-point)
        return -upper, -lower

    def exact_tail(self, point: Floats, chosen: Bools, *, above: bool) -> Floats:
        return self.inner.exact_tail(-point, chosen, above=not above)

    def _turned(self, gap: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return 1.0 / gap if self.ratio else -gap

    def to_point(self, gap: Floats) -> Floats:
        return -self.inner.to_point(self._turned(gap))

    def to_gap(self, point: Floats) -> Floats:
        return self._turned(self.inner.to_gap(-point))

    def _limits(self, level: Floats | float) -> tuple[Floats, Floats]:
        low, high = self.inner.limits(level)
        return self._turned(high), self._turned(low)


def share_score(table: TwoRates, share: Floats) -> Floats:
    """The squared score of the share."""
    total = table.n1 + table.n2
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = total * (table.n1 / total - share) ** 2 / (share * (1.0 - share))
    return np.where(np.isnan(squared), 0.0, squared)


def _least(
    function: Callable[[Floats], Floats], low: Floats, high: Floats, observed: Floats
) -> tuple[Floats, Floats]:
    """Where a function with one valley is least, and how small it is there: golden sections, then parabolas."""
    start = np.clip(observed, low, high)
    place = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
    value = [function(point) for point in place]
    for _ in range(SECTIONS):
        down = value[0] < value[1]
        low, high = np.where(down, low, place[0]), np.where(down, place[1], high)
        point = np.where(down, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        new = function(point)
        place = [np.where(down, point, place[1]), np.where(down, place[0], point)]
        value = [np.where(down, new, value[1]), np.where(down, value[0], new)]
    places, values = np.stack([*place, start]), np.stack([*value, function(start)])
    for step in range(VERTICES):
        order = np.argsort(values, axis=0)
        places, values = np.take_along_axis(places, order, axis=0), np.take_along_axis(values, order, axis=0)
        middle = 0.5 * (low + high)
        point = np.where(step == 0, middle, np.clip(_vertex(places, values), low, high))
        places[2], values[2] = point, function(point)
    best = np.argmin(values, axis=0)[None]
    return np.take_along_axis(places, best, axis=0)[0], np.take_along_axis(values, best, axis=0)[0]


def _vertex(place: Floats, value: Floats) -> Floats:
    """The lowest point of the parabola through three points; the best of them where it has none."""
    (a, b, c), (f, g, h) = place, value
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope, other = (g - f) / (b - a), (h - f) / (c - a)
        bend = (other - slope) / (c - b)
        vertex = 0.5 * (a + b - slope / bend)
    return np.asarray(np.where(np.isfinite(vertex) & (bend > 0), vertex, a), dtype=np.float64)
