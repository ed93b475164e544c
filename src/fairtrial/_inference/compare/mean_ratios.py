"""Ratios of means: of two samples from their sums, or of one mean to a known number."""

from __future__ import annotations

import numpy as np

from fairtrial._inference.compare.gaps import Gaps, blank
from fairtrial._inference.compare.sums_gaps import NOT_POSITIVE, SumsGaps
from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.numeric.roots import Floats


def mean_ratios(atoms: Atoms, comparison: Comparison, plain: Gaps) -> Gaps:
    """`plain` are the differences to the same targets, whose test of no gap the ratios share."""
    if comparison.known is not None:
        return KnownMeanRatios(plain, comparison.known, atoms.sums(comparison.member).mean)
    first, second = atoms.sums(comparison.member), atoms.sums(comparison.reference)
    return SumsGaps(first, second, "ratio", plain)


class KnownMeanRatios(Gaps):
    """A mean over a known number: its difference to it, in units of it."""

    def __init__(self, plain: Gaps, known: Floats, mean: Floats) -> None:
        self.scale, self.plain, self.known = "ratio", plain, known
        positive = (known > 0) & (mean > 0)
        self.reason = [
            why or (None if some else NOT_POSITIVE) for why, some in zip(plain.reason, positive, strict=True)
        ]
        with np.errstate(divide="ignore", invalid="ignore"):
            self.estimate = np.where(self.defined, mean / known, 1.0)
            self.error = np.where(self.defined, plain.error / mean, 1.0)
        self.df, self.rule, self.carried_by = plain.df, plain.rule, plain.carried_by

    def root(self, gap: Floats) -> Floats:
        return np.where(self.defined, self.plain.root(self.known * (gap - 1.0)), 0.0)

    def tails(self, gap: Floats) -> tuple[Floats, Floats]:
        above, below = self.plain.tails(self.known * (gap - 1.0))
        return self._guard(above), self._guard(below)

    def limits(self, level: float) -> tuple[Floats, Floats]:
        low, high = (1.0 + side / self.known for side in self.plain.limits(level))
        return blank(np.maximum(low, 0.0), self.defined), blank(high, self.defined)
