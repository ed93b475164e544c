"""Gaps of which some outcomes are unknown: what is refused, what stands in the tables, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells
from fairtrial._audit.groups import check_not_continuous
from fairtrial._audit.schema import UnknownOutcomes
from fairtrial._audit.unknown_outcomes import OutcomeCells, outcome_cells
from fairtrial._compare.between_ends import Bounds
from fairtrial._compare.request import Request
from fairtrial._errors import Fault, NotApplicable, Note, Set, Words
from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.evidence.members import Members
from fairtrial._inference.laws.end_gaps import EndGaps, PartlyLabelled, RateEnds, label_gaps
from fairtrial._inference.numeric.roots import Floats
from fairtrial._metrics.groups import Target
from fairtrial._metrics.values import Metric, Role
from fairtrial._results.text import counted

if TYPE_CHECKING:
    from fairtrial._compare.sorted_groups import OwnEstimate
from fairtrial._inference.laws.gaps import no_gap
from fairtrial._inference.power import Band, MeanAudits

DEPENDS = "depends on the people whose outcome is unknown"


def find_unknown(
    who: str, audit: Audit, metric: Metric, attributes: tuple[str, ...], target: Target | OwnEstimate
) -> OutcomeCells | None:
    """Who lacks an outcome that the metric needs; None where nobody does or nothing is said of such people."""
    if audit.unlabelled is None or "outcome" not in metric.needs:
        return None
    _refuse_metric(who, audit, metric)
    for name in audit.unlabelled.alike:
        check_not_continuous(who, audit, name, "unlabelled")
    found = outcome_cells(who, audit, attributes, metric, audit.unlabelled.alike)
    if not found.matters:
        return None
    faults = [*_target_faults(target)]
    faults += [
        Fault(name, "is not for audits that reckon with people without an outcome yet", cure="Leave it out")
        for name in ("weight", "unit", "pair")
        if audit.has(name)
    ]
    if faults:
        raise NotApplicable(who, faults)
    return found


def _refuse_metric(who: str, audit: Audit, metric: Metric) -> None:
    """Bounds are of rates whose every part is known but the outcome."""
    why = ""
    if audit.outcome_is_real:
        why = f"needs an outcome of 0 and 1 where some are unknown, but {audit.roles.subject('outcome')} is real-valued"
    elif not isinstance(metric.value, Role) or not (metric.value.binary or metric.value.name == "outcome"):
        why = "averages real values; what unknown outcomes may change is reckoned for rates"
    elif metric.expression is not None:
        why = "has a condition of your own, which may read outcomes that are unknown"
    if why:
        cure = Words("Leave {} out", Set("unlabelled", of="Audit"))
        raise NotApplicable(who, Fault("metric", why, subject=repr(metric.name), cure=cure))


def _target_faults(target: Target | OwnEstimate) -> list[Fault]:
    cure = Words("use {}, a reference group or a number", Set("target", "rest"))
    if not isinstance(target, Target):
        return [Fault("target", "of your own estimate is not for unknown outcomes", cure=cure)]
    if target.kind != "overall":
        return []
    required = (
        "'overall' contains the group itself: where outcomes are unknown, the largest gap to it need not lie where the "
        "group's rate is largest"
    )
    return [Fault("target", required, cure=cure)]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OutcomeBounds(Bounds):
    """The labels behind the gaps, and whom each gap leaves open."""

    assumed: UnknownOutcomes
    labels: PartlyLabelled
    decision: Floats

    @property
    def open(self) -> Floats:
        """People of each group whose unknown outcome matters."""
        member = self.comparison.member
        return np.asarray(member @ np.bincount(self.labels.atom, self.labels.open, member.shape[1]))

    def more_cells(self, index: int, level: float) -> dict[str, Any]:
        return {"unknown": int(self.open[index])}


def labels_of(found: OutcomeCells, assumed: UnknownOutcomes) -> PartlyLabelled:
    """What inference works on."""
    return PartlyLabelled(
        found.atom, found.ones, found.zeros, found.unknown, found.value1, found.given1, found.value0, found.given0,
        assumed.odds,
    )  # fmt: skip


def bound_gaps(
    request: Request, found: OutcomeCells, comparison: Comparison, atoms: Atoms
) -> tuple[EndGaps, OutcomeBounds]:
    """The gaps at both ends, and what is behind them."""
    faults = request.refuse_interval("unknown outcomes: both ends have the ordinary law of rates")
    if request.within:
        faults.append(Fault("within", "is not for unknown outcomes yet", cure="Leave it out"))
    if faults:
        raise NotApplicable(request.who, faults)
    if comparison.shared(atoms).any():
        required = "needs a reference that shares nobody with the groups compared: some outcomes are unknown"
        raise NotApplicable(request.who, Fault("target", required))
    assumed = request.audit.unlabelled
    assert assumed is not None
    labels = labels_of(found, assumed)
    gaps = label_gaps(labels, comparison, request.scale)
    return gaps, outcome_bounds(labels, comparison, assumed, found.decision, found.kinds)


def outcome_bounds(
    labels: PartlyLabelled, comparison: Comparison, assumed: UnknownOutcomes, decision: Floats, source: Cells
) -> OutcomeBounds:
    """What is behind the gaps."""
    rates = RateEnds(labels, comparison)
    least, most = ((rates.group[end].rate, rates.reference[end].rate) for end in (0, 1))
    return OutcomeBounds(
        comparison=comparison, least=least, most=most, source=source, depends=DEPENDS, assumption=assumed.words,
        assumed=assumed, labels=labels, decision=decision,
    )  # fmt: skip


def own_rates(found: OutcomeCells, assumed: UnknownOutcomes, member: Members) -> EndGaps:
    """Each group's own rate: its gap to a known zero."""
    labels = labels_of(found, assumed)
    zero = Comparison(member, member.nobody(), np.zeros(member.shape[0]))
    return label_gaps(labels, zero)


def bounds_note(bounds: OutcomeBounds) -> Note:
    """What the numbers assume, and how they are to be read."""
    text = (
        "Some outcomes are unknown. Gaps are between the least and the largest one that is possible "
        f"{bounds.assumed.words}; intervals cover every gap between the two (Imbens–Manski), and a finding or a "
        "certificate holds for all of them."
    )
    if bounds.assumed.assumed:
        text += " The data cannot show whether that is so, unless those labelled were drawn at random."
        labels = bounds.labels
        alone = int(labels.open[(labels.ones + labels.zeros) == 0].sum())
        if alone:
            text += (
                f" Of {counted(alone, 'person', 'people')} without anybody labelled alike nothing is assumed."
            )
    return Note("unknown-outcomes", text)


# -- How many unknown outcomes would have to be found out to settle a gap, drawn at random among those unknown.
# Once some of the unknown are drawn at random and labelled, the drawn stand for the others of their group
# and decision: odds of 1 are then no assumption. The gap that is planned for is the one nearest to none
# among those that are possible; where no such gap is tolerated, the middle of what is possible.
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


def needed_words(found: LabelsNeeded, gap: str, power: float) -> str:
    """'label about 400 of the 1,733 people decided 0 without an outcome, drawn at random, and it is settled …'."""
    decided = "" if found.decision is None else f" decided {found.decision} and"
    whom = f"the {found.of:,} people{decided} without an outcome"
    outcome = "certified" if found.certificate else "shown to be violated"
    drawn = "label all of" if found.labels >= found.of else f"label about {found.labels:,} of"
    chosen = "" if found.labels >= found.of else ", drawn at random,"
    return f"{drawn} {whom}{chosen} and it is settled: {outcome} with a chance of {100 * power:g}% if there is {gap}"
