"""One group's gap to its target has one estimate, one interval and one test, wherever it is shown.

`Gaps` is the one protocol of all evidence: estimates and standard errors of all compared groups, tails at any value
of the gap, limits at any level, a covariance, and the reason where there is no inference. Each kind of evidence says
`_root` or `_tails`, and `_limits`; what has no inference is blanked here, once. `SearchedGaps` finds both from signed
roots: a base law, and bounds it is never sharper than.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial._inference.numeric.roots import Bools, Floats, find_outward, secant_limits
from fairtrial._inference.ways import Scale

SMALLEST_P = 1e-300
# How far from none a limit is said to lie where another test, but not the limit's own, sets the gap apart from it.
BARELY = 1e-9
# Ratios are searched for between exp(-60) and exp(60).
LOGARITHM_ENDS = 60.0
# Where an exact bound is looked for: so much of the smooth interval's half further out.
FIRST_STEP = 0.2


@dataclass(frozen=True, slots=True)
class JointTest:
    """The statistic, its degrees of freedom (rank of the constraints), p-value and how it was computed."""

    statistic: float
    df: int
    p_value: float
    rule: str
    reason: str | None = None


class Heterogeneity(NamedTuple):
    """Does the gap differ between strata? Statistic, degrees of freedom and p-value."""

    statistic: Floats
    df: Floats
    p_value: Floats


class Gaps(ABC):
    """All groups' gaps: estimates, standard errors, rules, and inference at any value and level."""

    estimate: Floats
    error: Floats
    df: Floats
    rule: NDArray[np.str_]
    reason: list[str | None]
    scale: Scale = "difference"
    covariance: Floats | None = None  # of all gaps, where it is not that of the atoms
    people: Floats | None = None  # in each group, where that is not the number of the atoms' rows
    rates: Floats | None = None  # of group and target, where they are not those of the atoms
    carried_by: Floats | None = None  # about how many values carry a mean, where that bounds its inference
    bounded_by: str = ""  # which bounds the gaps of real values keep to
    unequal_spreads: Bools  # of those, where unequal spreads of skewed values are not covered by any bound

    def _root(self, gap: Floats) -> Floats:
        """Signed root of the test of 'the gap is `gap`', positive when the estimate is above it."""
        return signed_root(*self._tails(gap), self.df)

    def _tails(self, gap: Floats) -> tuple[Floats, Floats]:
        """One-sided p-values of 'at most gap' (small when above) and of 'at least gap'."""
        root = self._root(gap)
        return tail_of(-root, self.df), tail_of(root, self.df)

    @abstractmethod
    def _limits(self, level: Any) -> tuple[Floats, Floats]:
        """Pointwise limits at this level; some evidence takes one for each group."""

    def root(self, gap: Floats) -> Floats:
        """Signed root of the test of 'the gap is `gap`', positive when the estimate is above it."""
        return np.where(self.defined, self._root(gap), 0.0)

    def tails(self, gap: Floats) -> tuple[Floats, Floats]:
        """One-sided p-values of 'at most gap' (small when above) and of 'at least gap'."""
        above, below = self._tails(gap)
        return self._guard(above), self._guard(below)

    def limits(self, level: Floats | float) -> tuple[Floats, Floats]:
        """Pointwise limits at this level; NaN where there is no inference."""
        low, high = self._limits(level)
        return blank(low, self.defined), blank(high, self.defined)

    def certificate_limits(self, level: float) -> tuple[Floats, Floats]:
        """Limits of two one-sided tests, each at half of what is left of this level."""
        return self.limits(level)

    def kept_limits(self, level: float) -> tuple[Floats, Floats]:
        """The limits at this level, worked out once however many rows of a table ask for them."""
        kept: dict[float, tuple[Floats, Floats]] = self.__dict__.setdefault("_kept_limits", {})
        if level not in kept:
            kept[level] = self.limits(level)
        return kept[level]

    def limits_together(self, level: float, each: float) -> tuple[Floats, Floats]:
        """Limits that cover all gaps at once: `level` from their joint normal law, `each` by Bonferroni."""
        return self.limits(level)

    def why_no_limit(self, index: int) -> str:
        """Why a side of this gap's interval has no end."""
        if self.carried_by is None:
            return "the sample is too small"
        values = max(1, round(float(self.carried_by[index])))
        return f"the mean rests on about {values:,} value{'s' if values > 1 else ''}"

    @property
    def defined(self) -> Bools:
        """Groups with inference; the others carry a reason and p = 1."""
        return np.array([reason is None for reason in self.reason], dtype=bool)

    def _guard(self, p: Floats) -> Floats:
        return np.where(self.defined, np.clip(p, SMALLEST_P, 1.0), 1.0)

    def p_equal(self, gap: float | None = None) -> Floats:
        """Two-sided p-value of 'the gap is `gap`', by default of no gap."""
        value = no_gap(self.scale) if gap is None else gap
        above, below = self.tails(np.full(self.estimate.shape, value))
        return self._guard(np.minimum(1.0, 2.0 * np.minimum(above, below)))

    def p_at_most(self, gap: float) -> Floats:
        """p-value of 'the gap is at most `gap`': (4.5), and 1 when the estimate agrees with it."""
        above, _ = self.tails(np.full(self.estimate.shape, gap))
        return np.where(self.estimate > gap, above, 1.0)

    def p_at_least(self, gap: float) -> Floats:
        """p-value of 'the gap is at least `gap`', and 1 when the estimate agrees with it."""
        _, below = self.tails(np.full(self.estimate.shape, gap))
        return np.where(self.estimate < gap, below, 1.0)

    def p_inside(self, low: float, high: float) -> Floats:
        """p-value of 'the gap lies in [low, high]', valid whatever the band's width.

        The paper's half chi-square forgets that a narrow band is left on both sides:
        p = Phi(-root) + Phi(-root - width / error), with t tails where they are used. The width of a band of ratios,
        and the error of a ratio, are those of its logarithm.
        """
        if np.isinf(high):
            return self.p_at_least(low)
        if low == (-np.inf if self.scale == "difference" else 0.0):
            return self.p_at_most(high)
        outside = np.minimum(self.p_at_most(high), self.p_at_least(low))
        edge = np.where(self.estimate > high, high, low)
        root = np.abs(self.root(edge))
        with np.errstate(divide="ignore", invalid="ignore"):
            width = high - low if self.scale == "difference" else np.log(high / low)
            far = root + width / self.error
        other = self.far_tail(np.where(np.isnan(far), np.inf, far), self.estimate > high)
        inside = (self.estimate >= low) & (self.estimate <= high)
        return self._guard(np.where(inside, 1.0, np.minimum(outside + other, 1.0)))

    def joint(self) -> JointTest | None:
        """The evidence's own test that no group has a gap; None where the joint law of the finest groups tells it."""
        return None

    def bonferroni_p(self) -> float:
        """No gap in any group with inference: the smallest of their p-values times how many there are."""
        told = self.defined
        return float(min(1.0, told.sum() * self.p_equal()[told].min()))

    def far_tail(self, far: Floats, above: Bools) -> Floats:
        """The chance of a root beyond `far` on the other side than the estimate's, which is `above` or below."""
        return tail_of(-far, self.df)


class DerivedGaps(Gaps):
    """Gaps whose numbers others hold: those of weighted rows, by the law that fits them, or of models' parts."""

    inner: Gaps

    def _root(self, gap: Floats) -> Floats:
        return self.inner.root(gap)

    def _tails(self, gap: Floats) -> tuple[Floats, Floats]:
        return self.inner.tails(gap)

    def _limits(self, level: Any) -> tuple[Floats, Floats]:
        return self.inner.limits(level)


class SearchedGaps(Gaps):
    """Gaps whose limits are searched for: arrays of groups along the last axis.

    `centre` and `error` are the estimate and its standard error on the scale that is searched (of a ratio its
    logarithm), `ends` what the gap can be there. Roots are small where the data agree with a gap; they come in pairs,
    the one that counts against 'at most this' and the one that counts against 'at least this'. Where events are few
    an exact tail bounds them. The largest tail counts, and limits are the outermost.
    """

    def __init__(
        self, centre: Floats, error: Floats, ends: tuple[Floats, Floats], few: Bools | None = None,
        df: Floats | None = None, events: tuple[Floats, Floats] | Floats | None = None,
    ) -> None:  # fmt: skip
        """`events` are zero where a ratio has no limit below, and where it has none above."""
        self.centre, self.error, self.ends = centre, error, ends
        self.few = np.zeros(centre.shape, dtype=bool) if few is None else few
        self.estimate = self.to_gap(centre)
        self.df = np.full(centre.shape, np.inf) if df is None else df
        self.events = events
        self.reason = [None] * centre.size

    @abstractmethod
    def roots(self, point: Floats) -> tuple[Floats, Floats]:
        """Smooth signed roots of 'the gap is this', the smallest and the largest of all bounds."""

    def exact_tail(self, point: Floats, chosen: Bools, *, above: bool) -> Floats:
        """The exact tail of the chosen groups, as a normal one."""
        raise NotImplementedError

    def to_point(self, gap: Floats) -> Floats:
        """A gap on the scale that is searched; a tolerance may be more than two rates can differ."""
        if self.scale == "difference":
            return np.clip(gap, *self.ends)
        with np.errstate(divide="ignore"):
            return np.clip(np.log(gap), *self.ends)

    def to_gap(self, point: Floats) -> Floats:
        """Back from the scale that is searched."""
        return point if self.scale == "difference" else np.exp(point)

    def _tails(self, gap: Floats) -> tuple[Floats, Floats]:
        point = self.to_point(gap)
        lower, upper = self.roots(point)
        tails = tail_of(-lower, self.df), tail_of(upper, self.df)
        if self.few.any():
            for tail, above in zip(tails, (True, False), strict=True):
                exact = self.exact_tail(point[self.few], self.few, above=above)
                tail[self.few] = np.maximum(tail[self.few], exact)
        return tails

    def _root(self, gap: Floats) -> Floats:
        point = self.to_point(gap)
        lower, upper = self.roots(point)
        root = np.where(self.centre > point, np.maximum(lower, 0.0), np.minimum(upper, 0.0))
        if self.few.any():
            above, below = self._tails(gap)
            root = np.where(self.few, signed_root(above, below, self.df), root)
        return root

    def _limits(self, level: Floats | float) -> tuple[Floats, Floats]:
        tail = np.broadcast_to((1.0 - np.asarray(level, dtype=np.float64)) / 2.0, self.centre.shape)

        def root(point: Floats) -> Floats:
            lower, upper = self.roots(point)
            return np.stack([lower[0], upper[1]])

        critical = -quantile_of(tail, self.df)
        limits = secant_limits(root, self.centre, self.error, critical, self.ends)
        if self.few.any():
            limits = self._moved_outwards(limits, tail)
        low, high = self.to_gap(limits[0]), self.to_gap(limits[1])
        if self.scale == "ratio" and self.events is not None:
            low, high = np.where(self.events[0] > 0, low, 0.0), np.where(self.events[1] > 0, high, np.inf)
        return low, high

    def _moved_outwards(self, limits: tuple[Floats, Floats], tail: Floats) -> tuple[Floats, Floats]:
        """The limits where the exact tails of groups with few events agree as well."""
        for limit, end, above in zip(limits, self.ends, (True, False), strict=True):

            def excess(point: Floats, chosen: Bools, above: bool = above) -> Floats:
                exact = self.exact_tail(point, chosen, above=above)
                return np.asarray(quantile_of(tail[chosen]) - quantile_of(exact))

            open_ = self.few & (limit != end)
            open_[open_] = excess(limit[open_], open_) < 0
            if open_.any():
                step = (-FIRST_STEP if above else FIRST_STEP) * self.error * -quantile_of(tail)
                limit[open_] = find_outward(
                    lambda point, chosen=open_, of=excess: of(point, chosen),  # type: ignore[misc]
                    limit[open_], step[open_], end[open_],
                )  # fmt: skip
        return limits


def tail_of(root: Floats, df: Floats | float = np.inf) -> Floats:
    """P(T <= root), by Student's t where the degrees of freedom are finite."""
    infinite = np.isinf(df)
    if np.all(infinite):
        return np.asarray(special.ndtr(root))
    return np.where(infinite, special.ndtr(root), special.stdtr(np.where(infinite, 1.0, df), root))


def quantile_of(tail: Floats, df: Floats | float = np.inf) -> Floats:
    """The root with this tail below it."""
    tail = np.maximum(tail, SMALLEST_P)
    infinite = np.isinf(df)
    if np.all(infinite):
        return np.asarray(special.ndtri(tail))
    return np.where(infinite, special.ndtri(tail), special.stdtrit(np.where(infinite, 1.0, df), tail))


def signed_root(above: Floats, below: Floats, df: Floats | float = np.inf) -> Floats:
    """The root of two tails, positive where the one above is the smaller."""
    larger, smaller = np.maximum(-quantile_of(above, df), 0.0), np.minimum(quantile_of(below, df), 0.0)
    return np.where(above < below, larger, smaller)


def quadratic_form(gap: Floats, covariance: Floats) -> tuple[float, int]:
    """gap' covariance^-1 gap, and the rank of the covariance."""
    values, vectors = np.linalg.eigh(covariance)
    used = values > 1e-10 * max(float(values.max()), 1e-300)
    return float(np.sum((vectors[:, used].T @ gap) ** 2 / values[used])), int(used.sum())


def no_gap(scale: Scale) -> float:
    """The value of 'no gap'."""
    return 0.0 if scale == "difference" else 1.0


def agreeing(
    low: Floats, high: Floats, none: float, tails: tuple[Floats, Floats], tail: Floats | float
) -> tuple[Floats, Floats]:
    """Limits with 'no gap' outside exactly where its own test says so: one question, of which the laws differ a
    little."""
    low = np.where(tails[0] <= tail, np.maximum(low, none + BARELY), np.minimum(low, none))
    high = np.where(tails[1] <= tail, np.minimum(high, none - BARELY), np.maximum(high, none))
    return low, high


def blank(values: Floats, defined: Bools) -> Floats:
    return np.where(defined, values, np.nan)


def nobody(group: bool, target: bool) -> str | None:
    if group:
        return "nobody in this group meets the metric's condition"
    return "nobody in the target meets the metric's condition" if target else None


def no_ratio(target: float, partly_shared: bool) -> str | None:
    if partly_shared:
        return "the group shares some of its members with the target: only the difference is inferred"
    return "the target's rate is zero, so that there is no ratio to it" if target == 0 else None
