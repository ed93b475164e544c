"""How sure a sample of some size would make us, by the test that will be used.

Rates: the test itself says from which count on it would tell, at each count that the target is likely to have; the
chance of such counts is the binomial's own, so that small counts promise nothing they cannot show. Means: normal
deviates against the critical distances of the test at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy import optimize, special

from fairtrial._inference.laws.gaps import Gaps
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.rates.binary_gaps import BinaryGaps, KnownRateGaps, PartCounts
from fairtrial._inference.ways import Scale

Band = tuple[float, float]
NODES = 60
GAUSS_NODES = 64
SECTIONS = 17
# Tables that one call of the test takes before their number, and no longer the call, is what costs.
TABLES_AT_ONCE = 150
# With more expected events the steps between counts no longer show in the power.
STEPPED_EVENTS = 200.0
# Standard errors beyond which every test tells.
FURTHEST = 8.0


class CountedGaps(BinaryGaps):
    """Many tables side by side, each of two groups apart with counts of its own."""

    def __init__(self, k1: Floats, n1: Floats, k2: Floats, n2: Floats, scale: Scale = "difference") -> None:
        nobody = np.zeros(k1.shape)
        self.parts = parts = PartCounts(nobody, nobody, k1, n1, k2, n2)
        self.scale = scale
        if scale == "ratio":
            some = k2 > 0
            self.estimate = np.where(some, k1 / n1 / np.where(some, k2 / n2, 1.0), 1.0)
            self.error = self.law.error
            self.df = np.full(k1.shape, np.inf)
            self.reason = [None if there else "no events" for there in some.ravel()]
            return
        group, target = parts.rates
        self.estimate = group - target
        half1, half2 = (k1 + 0.5) / (n1 + 1.0), (k2 + 0.5) / (n2 + 1.0)
        self.error = np.sqrt(half1 * (1.0 - half1) / n1 + half2 * (1.0 - half2) / n2)
        self.df = np.full(group.shape, np.inf)
        self.reason = [None] * group.size


@dataclass(frozen=True, slots=True, eq=False)
class RateAudits:
    """Audits to come, one per entry: a group's size, and the size and rate of its target (infinite: a known rate)."""

    members: Floats
    others: Floats
    target: Floats
    nodes: int = NODES
    scale: Scale = "difference"

    def _likely(self) -> tuple[Floats, Floats, Floats]:
        """Sizes of group and target and the target's counts amid equally likely parts, audits by row."""
        from scipy.stats import binom

        shape = (self.members.size, self.nodes)
        middle = (np.arange(self.nodes) + 0.5) / self.nodes
        known = np.isinf(self.others)[:, None]
        sizes = np.where(known, 1.0, self.others[:, None])
        counts = np.where(known, 0.0, binom.ppf(middle[None, :], sizes, self.target[:, None]))
        return np.broadcast_to(self.members[:, None], shape), np.broadcast_to(sizes, shape), counts

    def first_count(self, told: Callable[[Gaps], Bools], edge: float, *, above: bool) -> Floats:
        """The smallest count of the group at which the test tells; one more than there are people where none does.

        It lies above (or below) the count with which the gap would be `edge`.
        """
        n, others, counts = self._likely()
        target = np.broadcast_to(self.target[:, None], n.shape)
        tables = np.stack([part.ravel() for part in (n, others, counts, target)], axis=1)
        different, place = np.unique(tables, axis=0, return_inverse=True)
        known = bool(np.isinf(self.others).all())
        bracket = _bracket(different, known, edge, above, self.scale)
        found = _first_counts(different, known, told, bracket, self.scale)
        return found[place.ravel()].reshape(n.shape)

    def at_least(self, count: Floats, rate: Floats) -> Floats:
        """Chance that a group of this rate has as many events or more."""
        n = self._likely()[0]
        inner = special.betainc(np.clip(count, 1.0, n), np.clip(n - count + 1.0, 1.0, None), rate[:, None])
        return np.where(count <= 0, 1.0, np.where(count > n, 0.0, inner))

    def certified(self, band: Band, alpha: float, rate: Floats, groups: int = 1) -> Floats:
        """Chance that all of so many groups of this rate, which share their target, are certified inside the band."""
        enough = self.first_count(lambda gaps: _tails(gaps, band[0])[0] <= alpha, band[0], above=True)
        too_many = self.first_count(lambda gaps: _tails(gaps, band[1])[1] > alpha, band[1], above=False)
        inside = np.maximum(self.at_least(enough, rate) - self.at_least(too_many, rate), 0.0)
        return np.asarray((inside**groups).mean(axis=1))

    def finding_counts(self, band: Band, alpha: float) -> tuple[Floats, Floats]:
        """From which count on a group is found above the band, and from which on no longer below it."""
        above = self.first_count(lambda gaps: _outside(gaps, band) <= alpha, band[1], above=True)
        below = self.first_count(lambda gaps: _outside(gaps, band) > alpha, band[0], above=False)
        return above, below

    def found(self, band: Band, alpha: float, rate: Floats) -> Floats:
        """Chance that a group of this rate is found outside the band."""
        above, below = self.finding_counts(band, alpha)
        return np.asarray((self.at_least(above, rate) + 1.0 - self.at_least(below, rate)).mean(axis=1))

    def detectable(self, band: Band, alpha: float, power: float) -> Floats:
        """The gap, towards even odds, that is found outside the band with this power; NaN where none is."""
        above, below = self.finding_counts(band, alpha)
        up = self.target <= 0.5
        near = np.where(
            up, np.clip(self.target + band[1], 0.0, 1.0), np.clip(self.target + band[0], 0.0, 1.0)
        )
        far = np.where(up, 1.0, 0.0)

        def chance(rate: Floats) -> Floats:
            upward, downward = self.at_least(above, rate), 1.0 - self.at_least(below, rate)
            return np.asarray(np.where(up[:, None], upward, downward).mean(axis=1))

        possible = chance(far) >= power
        for _ in range(40):
            middle = (near + far) / 2.0
            enough = chance(middle) >= power
            near, far = np.where(enough, near, middle), np.where(enough, middle, far)
        return np.where(possible, far - self.target, np.nan)


def _bracket(tables: Floats, known: bool, edge: float, above: bool, scale: Scale) -> tuple[Floats, Floats]:
    """Counts between which a test begins to tell: from the edge on, as far as no quantile reaches."""
    n, others, counts, target = tables.T
    rate = target if known else counts / others
    middle = n * np.clip(rate + edge if scale == "difference" else rate * edge, 0.0, 1.0)
    reach = FURTHEST * np.sqrt(n / 4.0 + (0.0 if known else n**2 / (4.0 * others))) + FURTHEST**2
    if above:
        return np.floor(middle) - 1.0, np.minimum(np.ceil(middle + reach), n + 1.0)
    return np.maximum(np.floor(middle - reach), -1.0), np.minimum(np.ceil(middle) + 1.0, n + 1.0)


def _first_counts(
    tables: Floats, known: bool, told: Callable[[Gaps], Bools], bracket: tuple[Floats, Floats], scale: Scale
) -> Floats:
    """By sections rather than halves: a test of many counts at once costs little more than of one."""
    n, others, counts, target = (column[:, None] for column in tables.T)
    low, high = (end[:, None] for end in bracket)
    sections = int(np.clip(TABLES_AT_ONCE // len(tables), 2, SECTIONS))
    share = np.arange(1, sections) / sections
    while (open_ones := high - low > 1.0).any():
        k = np.maximum(np.floor(low + share * (high - low)), np.minimum(low + 1.0, n))
        one, other, theirs, rate = (
            np.broadcast_to(part, k.shape).ravel() for part in (n, others, counts, target)
        )
        gaps = (
            KnownRateGaps(one, k.ravel(), rate, scale=scale)
            if known
            else CountedGaps(k.ravel(), one, theirs, other, scale)
        )
        tells = told(gaps).reshape(k.shape)
        steps = np.concatenate([low, k, high], axis=1)
        first = np.where(tells.any(axis=1), tells.argmax(axis=1), sections - 1)[:, None] + 1
        high = np.where(open_ones, np.take_along_axis(steps, first, axis=1), high)
        low = np.where(open_ones, np.take_along_axis(steps, first - 1, axis=1), low)
    return np.asarray(high[:, 0])


def _tails(gaps: Gaps, gap: float) -> tuple[Floats, Floats]:
    return gaps.tails(np.full(gaps.estimate.shape, gap))


def _outside(gaps: Gaps, band: Band) -> Floats:
    return gaps.p_inside(*band) if band[0] < band[1] else gaps.p_equal(band[0])


@dataclass(frozen=True, slots=True)
class MeanAudits:
    """Audits of a gap between means, by normal deviates: the errors of group and target, and the truth.

    `stretch` says how many times further than a normal quantile the test's own critical distances reach, below and
    above the estimate.
    """

    own_error: float
    target_error: float
    truth: float = 0.0
    stretch: tuple[float, float] = (1.0, 1.0)

    @property
    def error(self) -> float:
        return float(np.hypot(self.own_error, self.target_error))

    def certified(self, band: Band, alpha: float, groups: int = 1) -> float:
        """Chance that all of so many groups, which share their target, are certified inside the band."""
        critical = -float(special.ndtri(alpha)) * self.error
        low = band[0] + critical * self.stretch[0] - self.truth
        high = band[1] - critical * self.stretch[1] - self.truth
        if not low < high:
            return 0.0
        if groups == 1:
            return float(special.ndtr(high / self.error) - special.ndtr(low / self.error))
        nodes, weight = np.polynomial.hermite_e.hermegauss(GAUSS_NODES)
        shift = self.target_error * nodes
        inside = special.ndtr((high + shift) / self.own_error) - special.ndtr((low + shift) / self.own_error)
        return float(weight @ inside**groups / weight.sum())

    def found(self, band: Band, alpha: float) -> float:
        """Chance that a group is found outside the band."""
        critical = interval_critical((band[1] - band[0]) / self.error, alpha)
        above = special.ndtr((self.truth - band[1]) / self.error - critical * self.stretch[0])
        return float(above + special.ndtr((band[0] - self.truth) / self.error - critical * self.stretch[1]))


def interval_critical(width: float, alpha: float) -> float:
    """The root c with Phi(-c) + Phi(-c - width) = alpha: 1.96 for a point, 1.64 for a wide band."""
    if not np.isfinite(width):
        return -float(special.ndtri(alpha))
    return float(
        optimize.brentq(lambda c: special.ndtr(-c) + special.ndtr(-c - width) - alpha, 0.0, 40.0, xtol=1e-12)
    )


def smallest_size(chance: Callable[[Floats], Floats], power: float, stepped: float) -> int | None:
    """The smallest size from which on the chance stays at `power`; None where no size has it.

    Counts go in steps, and so does the chance where events are few: up to the size `stepped` those behind are looked
    at as well.
    """
    ends = _doubled(chance, power)
    if ends is None:
        return None
    low, high = ends
    while high - low > max(1.0, high / 5000.0):
        between = np.unique(np.round(np.linspace(low, high, SECTIONS))).astype(np.float64)
        first = int(np.argmax(chance(between) >= power))
        low, high = between[max(first - 1, 0)], between[first]
        if first == 0:
            break
    step = max(1, ceil(high / 200))
    while high < stepped:
        ahead = high + step * np.arange(1.0, 9.0)
        short = ahead[chance(ahead) < power]
        if not short.size:
            break
        high = short[-1] + 1.0
    return int(high)


def _doubled(chance: Callable[[Floats], Floats], power: float) -> tuple[float, float] | None:
    """A size without the power and twice the size with it."""
    for first in range(2, 40, 8):
        sizes = 2.0 ** np.arange(first, first + 8, dtype=np.float64)
        enough = np.flatnonzero(chance(sizes) >= power)
        if enough.size:
            high = float(sizes[enough[0]])
            return (1.0 if high == 4.0 else high / 2.0), high
    return None
