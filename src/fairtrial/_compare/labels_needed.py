"""How many unknown outcomes would have to be found out to settle a gap, drawn at random among those unknown.

Once some of the unknown are drawn at random and labelled, the drawn stand for the others of their group and decision:
odds of 1 are then no assumption. The gap that is planned for is the one nearest to none among those that are possible;
where no such gap is tolerated, the middle of what is possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial._compare.outcome_bounds import OutcomeBounds
from fairtrial._inference.compare.end_gaps import EndGaps
from fairtrial._inference.compare.gaps import no_gap
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.power import Band, MeanAudits
from fairtrial._results.column import undefined

LEAST = 10  # labels of each kind of people at least: a share is hardly known from fewer
ROUNDED_SHARE = 0.1  # shares nearer to 0 or 1 are planned for as this one
NOT_ENOUGH = "knowing every outcome would not be enough: the sample is too small for this tolerance"


@dataclass(frozen=True, slots=True)
class LabelsNeeded:
    """How many of how many unknown outcomes, and for which gap that is planned."""

    labels: int
    of: int
    gap: float
    certificate: bool
    decision: int | None  # the only decision among the unknown


def labels_needed(
    bounds: OutcomeBounds, gaps: EndGaps, index: int, band: Band, alpha: float, power: float
) -> LabelsNeeded | None:
    """None where no number of labels is enough."""
    plan = _Plan(bounds, gaps, index)
    gap = float(np.clip(no_gap(gaps.scale), plan.ends[0], plan.ends[1]))
    certificate = band[0] < gap < band[1]
    if not certificate:
        gap = (plan.ends[0] + plan.ends[1]) / 2.0
    chance = plan.chance(gap, band, alpha, certificate=certificate)
    total = int(plan.open.sum())
    if chance(1.0) < power:
        return None
    low, high = 0, total
    while high - low > max(1, total // 500):
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle / total) >= power else (middle, high)
    fewest = plan.open[plan.open > 0].min()
    labels = min(total, max(high, int(np.ceil(LEAST * total / fewest))))
    return LabelsNeeded(labels, total, gap, certificate, plan.decision)


class _Plan:
    """One group with its target: who is unknown there, and what the gap would be."""

    def __init__(self, bounds: OutcomeBounds, gaps: EndGaps, index: int) -> None:
        self.bounds, self.scale = bounds, gaps.scale
        self.ends = float(gaps.least.estimate[index]), float(gaps.most.estimate[index])
        comparison, labels = bounds.comparison, bounds.labels
        self.sides = [comparison.member[index : index + 1], comparison.reference[index : index + 1]]
        self.known = None if comparison.known is None else float(comparison.known[index])
        own, other = (side[0][labels.atom] for side in self.sides)
        self.open = np.where(own | other, labels.open, 0.0)
        shares = labels.share(most=False), labels.share(most=True)
        self.least, self.most = (np.where(own, shares[end], shares[1 - end]) for end in (0, 1))

    @property
    def decision(self) -> int | None:
        found = np.unique(self.bounds.decision[self.open > 0])
        return int(found[0]) if found.size == 1 and np.isfinite(found[0]) else None

    def _rates(self, share: Floats) -> tuple[Floats, Floats]:
        """Rates and people of both sides where so many of the unknown have outcome 1."""
        sums = [self.bounds.labels.sums(side, share) for side in self.sides]
        people = np.array([max(float(side[1][0]), 1e-9) for side in sums])
        return np.array([float(side[0][0]) for side in sums]) / people, people

    def _gap(self, share: Floats) -> float:
        own, other = self._rates(share)[0]
        other = other if self.known is None else self.known
        return float(own - other) if self.scale == "difference" else float(own / max(other, 1e-9))

    def _share(self, gap: float) -> Floats:
        """The unknown people's shares, the same way between both ends for all, with which the gap is this."""
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2.0
            below = self._gap((1 - middle) * self.least + middle * self.most) < gap
            low, high = (middle, high) if below else (low, middle)
        return np.asarray((1 - low) * self.least + low * self.most)

    def chance(self, gap: float, band: Band, alpha: float, *, certificate: bool) -> Any:
        """The chance to settle, by the part of the unknown that is labelled."""
        fixed, drawn = self._variances(np.clip(self._share(gap), ROUNDED_SHARE, 1.0 - ROUNDED_SHARE))
        ends, truth = band, gap
        if self.scale == "ratio":
            with np.errstate(divide="ignore"):
                ends, truth = (float(np.log(band[0])), float(np.log(band[1]))), float(np.log(gap))

        def chance(part: float) -> float:
            audits = MeanAudits(float(np.sqrt(fixed + drawn / part)), 0.0, truth)
            return audits.certified(ends, alpha) if certificate else audits.found(ends, alpha)

        return chance

    def _variances(self, share: Floats) -> tuple[float, float]:
        """Of the gap (of a ratio its logarithm): what is there already, and what the drawn add, by the part drawn."""
        labels = self.bounds.labels
        rates, people = self._rates(share)
        fixed = drawn = 0.0
        for side, rate, size in zip(self.sides, rates, people, strict=True):
            inside = side[0][labels.atom]
            if not inside.any():
                continue
            one, zero = labels.value1 - rate * labels.given1, labels.value0 - rate * labels.given0
            known = labels.ones * one**2 + labels.zeros * zero**2
            known = known + labels.unknown * (share * one + (1 - share) * zero) ** 2
            guess = labels.unknown * share * (1 - share) * (one - zero) ** 2
            scaled = size if self.scale == "difference" else size * max(rate, 1e-9)
            fixed += float(known[inside].sum()) / scaled**2
            drawn += float(guess[inside].sum()) / scaled**2
        return fixed, drawn


def needed_cell(found: LabelsNeeded | None) -> Any:
    return undefined(NOT_ENOUGH) if found is None else found.labels


def needed_words(found: LabelsNeeded, gap: str, power: float) -> str:
    """'label about 400 of the 1,733 people decided 0 without an outcome, drawn at random, and it is settled …'."""
    decided = "" if found.decision is None else f" decided {found.decision} and"
    whom = f"the {found.of:,} people{decided} without an outcome"
    outcome = "certified" if found.certificate else "shown to be violated"
    drawn = "label all of" if found.labels >= found.of else f"label about {found.labels:,} of"
    chosen = "" if found.labels >= found.of else ", drawn at random,"
    return f"{drawn} {whom}{chosen} and it is settled: {outcome} with a chance of {100 * power:g}% if there is {gap}"
