"""One group's gap to its target has one estimate, one interval and one test, wherever it is shown.

A `Gaps` object holds all compared groups: their signed roots (about standard normal, or Student's t where
`df` is finite) at any value of the gap, and limits at any level. `make_gaps` picks the right one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial._inference.evidence.atoms import Atoms, Bools, Comparison, find_reasons, gap_errors
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.binary_gaps import (
    FEW_EVENTS,
    SMALLEST_P,
    PartCounts,
    gap_limits,
    gap_root,
    gap_tails,
    no_gap,
    ratio_errors,
)
from fairtrial._inference.rates.laws import Law, signed_root
from fairtrial._inference.rates.proportions import binomial_deviance, binomial_tails, rate_interval
from fairtrial._inference.ways import RateMethod, Scale

# How far from one a limit of a ratio is said to lie where the difference, but not the ratio, is set apart from none.
BARELY = 1e-9
RATE_RULES = {"bounded": "score and exact tails", "wilson": "score (Wilson)"}


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

    @abstractmethod
    def root(self, gap: Floats) -> Floats:
        """Signed root of the test of 'the gap is `gap`', positive when the estimate is above it."""

    @abstractmethod
    def limits(self, level: float) -> tuple[Floats, Floats]:
        """Pointwise limits at this level; NaN where there is no inference."""

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

    def tails(self, gap: Floats) -> tuple[Floats, Floats]:
        """One-sided p-values of 'at most gap' (small when above) and of 'at least gap'."""
        root = self.root(gap)
        infinite = np.isinf(self.df)
        finite = np.where(infinite, 1.0, self.df)
        above = np.where(infinite, special.ndtr(-root), special.stdtr(finite, -root))
        below = np.where(infinite, special.ndtr(root), special.stdtr(finite, root))
        return self._guard(above), self._guard(below)

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

    def far_tail(self, far: Floats, above: Bools) -> Floats:
        """The chance of a root beyond `far` on the other side than the estimate's, which is `above` or below."""
        infinite = np.isinf(self.df)
        return np.where(infinite, special.ndtr(-far), special.stdtr(np.where(infinite, 1.0, self.df), -far))


class LawGaps(Gaps):
    """Gaps whose evidence has one law: weights, repeated people, strata, pairs."""

    law: Law

    def root(self, gap: Floats) -> Floats:
        return np.where(self.defined, self.law.root(gap), 0.0)

    def tails(self, gap: Floats) -> tuple[Floats, Floats]:
        above, below = self.law.tails(gap)
        return self._guard(above), self._guard(below)

    def limits(self, level: float) -> tuple[Floats, Floats]:
        low, high = self.law.limits(level)
        return blank(low, self.defined), blank(high, self.defined)


class BinaryGaps(Gaps):
    """Rates against an estimated target, from counts alone: `fairtrial._inference.rates` has the laws."""

    def __init__(self, atoms: Atoms, comparison: Comparison, scale: Scale = "difference") -> None:
        self.scale = scale
        self.parts = parts = part_counts(atoms, comparison)
        group, target = parts.rates
        self.reason = [nobody(a, b) for a, b in zip(np.isnan(group), np.isnan(target), strict=True)]
        if scale == "difference":
            self.estimate = np.nan_to_num(group - target)
            self.error, _ = gap_errors(atoms, comparison)
        else:
            shared = parts.shape == "partial"
            facts = zip(self.reason, target, shared, strict=True)
            self.reason = [why or no_ratio(rate, partly) for why, rate, partly in facts]
            with np.errstate(divide="ignore", invalid="ignore"):
                self.estimate = np.where(self.defined, group / target, 1.0)
            self.error = ratio_errors(parts)
        self.df = np.full(group.shape, np.inf)
        base = "likelihood ratio" if scale == "difference" else "score"
        self.rule = np.where(parts.small, f"{base}, {FEW_EVENTS}", base)

    def root(self, gap: Floats) -> Floats:
        return gap_root(self.parts, gap, scale=self.scale)

    def limits(self, level: float) -> tuple[Floats, Floats]:
        low, high = self.any_limits(level)
        return blank(low, self.defined), blank(high, self.defined)

    def any_limits(self, level: float) -> tuple[Floats, Floats]:
        """Limits also where the estimate does not exist: a target without events leaves a ratio a lower limit."""
        low, high = gap_limits(self.parts, level, scale=self.scale)
        if self.scale == "ratio":
            low, high = self._agreeing(low, high, (1.0 - level) / 2.0)
        return low, high

    def _agreeing(self, low: Floats, high: Floats, tail: float) -> tuple[Floats, Floats]:
        """A ratio of one is outside exactly where no difference is: one question, of which the laws differ a little."""
        above, below = gap_tails(self.parts, np.zeros(low.shape))
        low = np.where(above <= tail, np.maximum(low, 1.0 + BARELY), np.minimum(low, 1.0))
        high = np.where(below <= tail, np.minimum(high, 1.0 - BARELY), np.maximum(high, 1.0))
        return low, high

    def tails(self, gap: Floats) -> tuple[Floats, Floats]:
        above, below = gap_tails(self.parts, gap, self.scale)
        if self.scale == "ratio" and (same := np.asarray(gap) == 1.0).any():
            plain = gap_tails(self.parts, np.zeros(above.shape))
            above, below = np.where(same, plain[0], above), np.where(same, plain[1], below)
        return self._guard(above), self._guard(below)


class KnownRateGaps(Gaps):
    """Rates against a known number, from counts."""

    def __init__(
        self, count: Floats, successes: Floats, target: Floats, method: RateMethod = "bounded",
        scale: Scale = "difference",
    ) -> None:  # fmt: skip
        self.count, self.successes, self.target = count, successes, target
        self.method, self.scale = method, scale
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = successes / count
            half = (successes + 0.5) / (count + 1.0)
            spread = np.where((successes == 0) | (successes == count), half * (1 - half), rate * (1 - rate))
            self.error = np.sqrt(spread / count)
        if scale == "ratio":
            self.error = np.sqrt(1.0 / (successes + 0.5) - 1.0 / (count + 1.0))
        self.estimate = self._gap(np.where(count > 0, np.nan_to_num(rate), target))
        self.df = np.full(count.shape, np.inf)
        self.rule = np.full(count.shape, RATE_RULES.get(method, method))
        self.reason = [nobody(bool(n == 0), False) for n in count]

    def _gap(self, rate: Floats) -> Floats:
        return rate - self.target if self.scale == "difference" else rate / self.target

    def _rate(self, gap: Floats) -> Floats:
        rate = self.target + gap if self.scale == "difference" else self.target * gap
        return np.clip(rate, 0.0, 1.0)

    def root(self, gap: Floats) -> Floats:
        return self._plain_root(gap) if self.method == "likelihood" else signed_root(*self.tails(gap))

    def _plain_root(self, gap: Floats) -> Floats:
        null = self._rate(gap)
        count, successes = self.count, self.successes
        if self.method == "half-count":
            count, successes = count + 1.0, successes + 0.5
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = successes / count - null
            if self.method in ("likelihood", "half-count"):
                root = np.sign(distance) * np.sqrt(binomial_deviance(successes, count, null))
            else:
                root = distance / np.sqrt(null * (1.0 - null) / count)
        return np.where(distance == 0, 0.0, np.nan_to_num(root, posinf=np.inf, neginf=-np.inf))

    def limits(self, level: float) -> tuple[Floats, Floats]:
        low, high = rate_interval(self.successes, self.count, level, self.method)
        return blank(self._gap(low), self.defined), blank(self._gap(high), self.defined)

    def tails(self, gap: Floats) -> tuple[Floats, Floats]:
        """Normal tails, never thinner than the binomial's own.

        Both exact and cheap, so no count is too large for it: with 100 people at 10% the score alone would reject
        'at least 10%' with probability .072 at the 5% level.
        """
        root = self._plain_root(gap)
        above, below = special.ndtr(-root), special.ndtr(root)
        if self.method != "likelihood":
            exact = binomial_tails(self.successes, np.maximum(self.count, 1.0), self._rate(gap))
            above, below = np.maximum(above, exact[0]), np.maximum(below, exact[1])
            if self.method == "exact":
                above, below = exact
        return self._guard(np.asarray(above)), self._guard(np.asarray(below))


class EuclideanGaps(Gaps):
    """Euclidean likelihood: distance over its standard error, with Welch's degrees of freedom."""

    def __init__(self, atoms: Atoms, comparison: Comparison) -> None:
        target = comparison.known if comparison.known is not None else atoms.pooled(comparison.reference)[1]
        self.estimate = np.nan_to_num(atoms.pooled(comparison.member)[1] - target)
        self.error, self.df = gap_errors(atoms, comparison)
        self.reason = find_reasons(atoms, comparison)
        self.rule = np.full(self.estimate.shape, "euclidean likelihood")

    def root(self, gap: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.defined, (self.estimate - gap) / self.error, 0.0)

    def limits(self, level: float) -> tuple[Floats, Floats]:
        half = -special.stdtrit(self.df, (1.0 - level) / 2.0) * self.error
        return blank(self.estimate - half, self.defined), blank(self.estimate + half, self.defined)


def part_counts(atoms: Atoms, comparison: Comparison) -> PartCounts:
    """Counts of the three parts of every group and its reference."""
    counts = np.stack([atoms.successes, atoms.count], axis=1)
    columns: list[Floats] = []
    for part in comparison.parts:
        columns += [*(part @ counts).T]
    return PartCounts(*columns)


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
